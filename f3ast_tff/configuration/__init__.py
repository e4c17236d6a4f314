"""The layer that knows flags and files: settings, and the parts built from them."""
