"""The engine in plain NumPy: nothing to install, nothing to compile; training of one's own."""
