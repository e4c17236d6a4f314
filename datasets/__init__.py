"""Federated data sets. Installed as `f3ast_tff.datasets`; a folder of its own in the checkout."""

from .synthetic import synthetic

__all__ = ["synthetic"]
