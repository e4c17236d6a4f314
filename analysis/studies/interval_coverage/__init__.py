"""How often intervals over draws hold the mean."""
