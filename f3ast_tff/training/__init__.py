"""The round loop, metrics, checkpoints and the run folder."""
