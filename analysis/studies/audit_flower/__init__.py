"""Whom the models of Flower's own strategies are of when clients come and go."""
