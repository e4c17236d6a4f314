"""Tasks: who holds which data, what a model reads of it, published values."""
