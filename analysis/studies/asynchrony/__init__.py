"""Asynchronous and synchronous methods at equal seconds."""
