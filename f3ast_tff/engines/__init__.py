"""Engines: what executes a round. Import the one you want; each brings its own framework."""

from f3ast_tff.engines.engine import EMPTY_ROUND, ClientScores, Engine, RoundOutcome

__all__ = ["EMPTY_ROUND", "ClientScores", "Engine", "RoundOutcome"]
