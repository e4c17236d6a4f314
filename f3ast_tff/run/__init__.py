"""Experiments: built from settings, run round by round, with user objects as components."""
