"""What the server makes of the updates of a cohort, and what it remembers."""
