"""Experiments: built from settings, run round by round, kept in a run folder."""
