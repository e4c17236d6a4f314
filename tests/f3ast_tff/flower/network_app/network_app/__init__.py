"""A federation on a real network that meets faults; see `test_network.py`."""
