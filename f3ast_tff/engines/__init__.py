"""Engines execute rounds. Import only the engine in use; each imports another framework."""

from f3ast_tff.engines.engine import EMPTY_ROUND, ClientScores, Engine, RoundOutcome

__all__ = ["EMPTY_ROUND", "ClientScores", "Engine", "RoundOutcome"]
