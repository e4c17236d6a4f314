"""Experiments: built from settings, run round by round, stored in a run folder."""
