"""Clients that attack: who, what they change, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from f3ast_tff import simulate
from f3ast_tff.attacks import AttackConfig, LabelFlip, Noise, SignFlip
from f3ast_tff.attacks.attack import Attack
from f3ast_tff.availability import IndependentAvailability
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.methods.parts.memory import Client, Gathered, RoundContext
from f3ast_tff.methods.sum_and_mean import WeightedSum
from f3ast_tff.settings.resolve import resolve
from tests.f3ast_tff.engines.test_local_work import DATA
from tests.f3ast_tff.engines.test_messages import plugin
from tests.f3ast_tff.methods.small_world import small_world

SMALL: dict[str, Any] = {"num_clients": 10, "clients_per_round": 4, "rounds": 6, "eval_every": 6}
NOW = RoundContext(np, np.int32(3), 0.5, 1.0, np.zeros(4, np.float32), 2)


def by(config: AttackConfig, *ids: int) -> Attack:
    return Attack(config, ids, seed=5)


def sender(k: int) -> Client:
    return Client({}, share=0.5, steps=1, weight=1.0, id=np.int32(k))


def test_noise_is_as_long_as_the_update_and_drawn_by_seed_round_and_client() -> None:
    update = np.linspace(-1, 2, 4000).astype(np.float32)
    noise = Noise(attack_scale=3.0)
    found = noise.sent(update, sender(1), NOW, seed=5)
    assert np.linalg.norm(found) == pytest.approx(3 * np.linalg.norm(update), rel=1e-5)
    np.testing.assert_array_equal(found, noise.sent(update, sender(1), NOW, seed=5))
    others = [
        noise.sent(update, sender(2), NOW, seed=5),
        noise.sent(update, sender(1), NOW, seed=6),
        noise.sent(update, sender(1), NOW._replace(round_number=np.int32(4)), seed=5),
    ]
    for other in (update, *others):
        # Of independent numbers; three standard errors are 3 / sqrt(4000).
        assert abs(np.corrcoef(found, other)[0, 1]) < 0.05
    parts = found / found.std()
    assert abs(parts.mean()) < 0.05 and abs((parts**4).mean() - 3) < 0.4


def test_noise_is_the_same_in_jax() -> None:
    import jax.numpy as jnp

    update = np.linspace(-1, 2, 50).astype(np.float32)
    in_jax = Noise().sent(jnp.asarray(update), sender(1), NOW._replace(xp=jnp), seed=5)
    np.testing.assert_allclose(in_jax, Noise().sent(update, sender(1), NOW, seed=5), atol=2e-6)


def test_flipped_labels_are_the_attackers_alone() -> None:
    data = by(LabelFlip(), 0, 2).poisoned(DATA)
    classes = DATA.num_classes
    for k in range(DATA.train.num_clients):
        before, after = DATA.train.client(k)[1], data.train.client(k)[1]
        expected = classes - 1 - before if k in (0, 2) else before
        np.testing.assert_array_equal(after, expected)
    assert data.test is DATA.test and data.train.labels.dtype == DATA.train.labels.dtype
    assert LabelFlip().labels(np.array([-1, 3]), 10).tolist() == [-1, 6]
    with pytest.raises(ParameterError, match="attack = label_flip: must be another"):
        LabelFlip().labels(np.array([0.5]), 0)


@pytest.mark.parametrize(
    ("who", "expected"), [("seldom", (1, 4)), ("often", (0, 2)), ("random", None)]
)
def test_who_attacks(who: str, expected: tuple[int, ...] | None) -> None:
    """Of five clients with data, two: 0.4 * 5. Client 5 has none."""
    pi = np.array([0.9, 0.2, 0.8, 0.5, 0.1, 0.05])
    world = small_world(IndependentAvailability(pi, seed=1), sizes=np.array([3, 4, 5, 6, 7, 0]))
    found = SignFlip(attack_share=0.4, attackers=who).build(world).ids
    assert len(found) == 2 and 5 not in found
    assert found == (expected or found)
    drawn = {SignFlip(attack_share=0.4).build(small_world(seed=seed)).ids for seed in range(20)}
    assert len(drawn) > 5


@pytest.mark.long
@pytest.mark.parametrize("attack", ["sign_flip", "noise", "label_flip"])
def test_engines_agree_and_a_run_without_attack_is_what_it_was(attack: str) -> None:
    plain = simulate(engine="host", **SMALL)
    none = simulate(engine="host", attack="none", **SMALL)
    found = [simulate(engine=name, attack=attack, **SMALL) for name in ("host", "fused")]
    for one, other, honest, same in zip(*(r.weights for r in (*found, plain, none))):
        np.testing.assert_allclose(one, other, atol=1e-5)
        np.testing.assert_array_equal(honest, same)
        assert np.abs(one - honest).max() > 1e-3
    assert found[0].selection["attacks"].sum() == 2
    assert "attacks" not in plain.selection


def test_centred_clipping_bounds_what_attackers_do() -> None:
    """Ten clients, one sends 1e4 times its update: the mean moves as far, the clip by tau / m."""
    rng = np.random.default_rng(0)
    updates = rng.normal(size=(10, 6)).astype(np.float32) * 0.01
    updates[0] *= -1e4
    rule: Any = plugin("centred_clip", centred_tau=0.1)
    gathered = Gathered(
        updates=updates,
        weights=np.ones(10, np.float32),
        ids=np.arange(10),
        round_number=1,
        model=np.zeros(6, np.float32),
        server={"last": np.zeros(6, np.float32)},
        kept={},
    )
    delta, server = rule.combine_round(gathered)
    honest = updates[1:].sum(axis=0) / 10
    assert np.linalg.norm(delta - honest) == pytest.approx(0.01, rel=1e-4)
    np.testing.assert_array_equal(server["last"], delta)


def test_what_is_refused_once_the_world_is_known() -> None:
    with pytest.raises(ParameterError, match="of 10 clients with data none would attack"):
        simulate(attack="noise", attack_share=0.01, engine="host", **SMALL)
    masks = np.ones((4, 10), bool)
    with pytest.raises(ParameterError, match="and its clip"):
        clip: dict[str, Any] = {"algorithm": "fedawe", "fedawe_clip": 0.1, "engine": "host"}
        simulate(attack="noise", availability=masks, **clip, **SMALL)


def test_without_an_attack_nothing_of_it_is_in_a_run() -> None:
    configuration = resolve({"attack": "none"})
    assert "attack" not in configuration.settings and configuration.settings.attack is None
    assert "attack" not in configuration.identity and "attack" not in configuration.configs
    named = resolve({"attack": "noise", "attackers": "seldom"})
    assert "attack-noise" in named.settings.run.run_name
    assert named.identity["attack"] == "noise" and named.identity["attackers"] == "seldom"
    assert by(LabelFlip(), 0).around(WeightedSum()) == WeightedSum()
