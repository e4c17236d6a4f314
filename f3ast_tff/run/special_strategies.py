"""Strategies wrapped for limits on the selection."""

from __future__ import annotations

from f3ast_tff.availability.round_clients import Population
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.methods.parts.aggregation import Aggregation
from f3ast_tff.methods.parts.algorithm import StrategyContext
from f3ast_tff.methods.parts.strategy import Strategy
from f3ast_tff.methods.parts.wrappers import OfThosePresent, Separated
from f3ast_tff.settings.configuration import Settings
from f3ast_tff.settings.groups import SelectionConfig


def wrapped(
    strategy: Strategy,
    limits: SelectionConfig,
    world: StrategyContext,
    aggregation: Aggregation,
    settings: Settings,
) -> Strategy:
    """Returns a strategy wrapped for `client_share_of` and `selection_separation`.

    Raises:
        ParameterError: If the population changes and a component cannot handle that.
    """
    if limits.client_share_of == "present":
        present = _changing_population(world, aggregation, settings)
        strategy = OfThosePresent(strategy, present, world.p, world.constraint.mean_k)
    if limits.selection_separation:
        strategy = Separated(strategy, limits.selection_separation, world.num_clients)
    return strategy


def _changing_population(
    world: StrategyContext, aggregation: Aggregation, settings: Settings
) -> Population:
    name, who, population = "client_share_of", settings.availability, world.availability
    if not isinstance(population, Population):
        raise ParameterError(name, "present", f"clients of {who} neither join nor leave")
    if aggregation.memory is not None:
        allowed = f"aggregation {settings.aggregation} remembers clients that have left"
        raise ParameterError(name, "present", allowed)
    return population
