"""F3AST, Fig. 1: the achievable rates of two clients."""
