"""Algorithms, one method a file: which selection, which aggregation, which server optimizer."""
