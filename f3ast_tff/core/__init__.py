"""Data, local training, rates, choosing, randomness, errors; no files, no framework."""
