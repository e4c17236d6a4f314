"""Scripts that build, test and document the suite."""
