"""TensorFlow Federated learning processes: client work, aggregator, finalizer."""
