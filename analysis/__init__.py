"""Reads run folders, and compares algorithms in a table and a picture."""
