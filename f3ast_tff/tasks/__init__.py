"""Tasks, one a file: who holds which data, what a model reads of it, published values."""
