"""CA-Fed, Figs. 1a and 1d."""
