"""Methods under traces of real phones."""
