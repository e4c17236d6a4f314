"""Theorems of the papers measured on quadratics whose optimum and constants are known."""
