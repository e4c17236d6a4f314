"""What a run leaves behind: folder, checkpoints, sealed results, history, loggers."""
