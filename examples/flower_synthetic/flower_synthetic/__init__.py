"""F3AST in Flower: Synthetic(1,1) on nodes that come and go, in NumPy."""
