"""Which reading moves the result; see `page.md`."""
