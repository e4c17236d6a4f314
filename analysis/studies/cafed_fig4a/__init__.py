"""CA-Fed, Fig. 4a: how fast estimates of availability and correlation converge."""
