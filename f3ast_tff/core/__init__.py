"""Data, local training, randomness, errors and files; imports no framework."""
