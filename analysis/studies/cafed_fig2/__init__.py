"""CA-Fed, Fig. 2: convergence speed against bias, for several kappa^2."""
