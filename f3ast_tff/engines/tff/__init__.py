"""The reference engine: learning processes of TensorFlow Federated."""
