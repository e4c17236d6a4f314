"""Methods for clients that come and go, on Synthetic(1,1)."""
