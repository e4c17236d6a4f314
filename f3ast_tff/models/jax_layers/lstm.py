"""Layers of long short-term memory over whole sequences, time first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

# Steps that an accelerator executes as one iteration of a loop.
_CHUNK = 8


class Layer(NamedTuple):
    """Weights of a layer: K `[features, 4 units]`, R `[units, 4 units]`, b `[4 units]`."""

    kernel: Any
    recurrent: Any
    bias: Any


class _Slopes(NamedTuple):
    """Factors of dz that need no later step: dz is (dc, dc, dc, dh) times `gates`.

    Attributes:
        of_c: dc over dh.
        gates: Of i, f, g and o.
        f: dc of the step before over dc.
    """

    of_c: Any
    gates: tuple[Any, Any, Any, Any]
    f: Any


@jax.custom_vjp
def lstm(x: Any, layers: Sequence[Layer]) -> Any:
    """Runs Keras's LSTM layers, each on the outputs of the one below, from zero states.

    Let z = x_t K + h_{t-1} R + b, cut into i, f, g, o, and s the logistic function. Then
    c_t = s(f) c_{t-1} + s(i) tanh(g) and h_t = s(o) tanh(c_t). Only h R is inside the loop. The
    gradient is written out, so that the gradients of K, R and b are each one product over all
    steps, not a sum inside the loop, and the backward loop has no transcendental function.

    A CPU runs layer after layer. On an accelerator, where starting a kernel takes longer than its
    arithmetic, all layers step together, each a chunk of steps behind the one below; the products
    of a step form one batch.

    Args:
        x: `[length, batch, features]`.
        layers: The layers, from below; all have as many units.

    Returns:
        h of the last layer, `[length, batch, units]`.
    """
    return _forward(x, layers)[0]


def _forward(x: Any, layers: Sequence[Layer]) -> tuple[Any, Any]:
    values = lax.platform_dependent(x, layers, cpu=_by_layer, default=_together)
    return values[-1][0], (x, layers, values)


def _by_layer(x: Any, layers: Sequence[Layer]) -> list[tuple[Any, ...]]:
    """Of each layer h, c, i, f, g and o at all steps, `[length, batch, units]` each."""
    found = []
    for layer in layers:
        # A product per gate takes half the time for few rows on a CPU.
        parts = _gates(layer.recurrent)

        def step(state: Any, z: Any, parts: Any = parts) -> tuple[Any, Any]:
            h, _ = state
            return _cell(state, [own + h @ part for own, part in zip(_gates(z), parts)])

        projected = x @ layer.kernel + layer.bias
        zero = jnp.zeros((projected.shape[1], layer.recurrent.shape[0]), projected.dtype)
        found.append(lax.scan(step, (zero, zero), projected)[1])
        x = found[-1][0]
    return found


def _cell(state: tuple[Any, Any], z: Sequence[Any]) -> tuple[tuple[Any, Any], tuple[Any, ...]]:
    """The next h and c, and h, c, i, f, g and o."""
    _, c = state
    i, f, g, o = _activated(z)
    c = f * c + i * g
    h = o * jnp.tanh(c)
    return (h, c), (h, c, i, f, g, o)


def _activated(z: Sequence[Any]) -> tuple[Any, Any, Any, Any]:
    i, f, o = (jax.nn.sigmoid(z[gate]) for gate in (0, 1, 3))
    return i, f, jnp.tanh(z[2]), o


def _together(x: Any, layers: Sequence[Layer]) -> list[tuple[Any, ...]]:
    """As `_by_layer`: in iteration k layer l is at chunk k - l."""
    recurrent = jnp.stack([layer.recurrent for layer in layers])
    length, batch = x.shape[:2]
    units = recurrent.shape[1]
    projected = _chunks(x @ layers[0].kernel + layers[0].bias)
    number = len(projected)
    zero = jnp.zeros((len(layers), batch, units), x.dtype)
    # Without input, the state of a layer stays zero.
    waiting = jnp.zeros((len(layers) - 1, *projected.shape[1:]), x.dtype)

    def chunk(carry: tuple[Any, Any], here: tuple[Any, Any]) -> tuple[Any, Any]:
        state, above = carry
        first, has_begun = here
        inputs = jnp.concatenate([first[None], above])
        steps = []
        for t in range(_CHUNK):
            state = _cell(state, _gates(inputs[:, t] + state[0] @ recurrent))[0]
            steps.append(state)
        h, c = (jnp.stack(each, axis=1) for each in zip(*steps))
        above = [low @ layer.kernel + layer.bias for low, layer in zip(h, layers[1:])]
        above = jnp.array(above).reshape(waiting.shape)
        return (state, jnp.where(has_begun, above, 0)), (h, c)

    padded = jnp.pad(projected, ((0, len(layers) - 1), *[(0, 0)] * 3))
    has_begun = np.tri(len(padded), len(layers) - 1, dtype=bool)[..., None, None, None]
    both = lax.scan(chunk, ((zero, zero), waiting), (padded, has_begun))[1]
    found = []
    for i, layer in enumerate(layers):
        h, c = (each[i : i + number, i].reshape(-1, batch, units)[:length] for each in both)
        # One product over all steps again takes less time than to keep the gates of each.
        gates = _gates(x @ layer.kernel + layer.bias + _before(h) @ layer.recurrent)
        found.append((h, c, *_activated(gates)))
        x = h
    return found


def _chunks(values: Any) -> Any:
    """Cuts `[length, ...]` into `[chunks, _CHUNK, ...]`, with zeros at the end."""
    missing = -len(values) % _CHUNK
    padded = jnp.pad(values, ((0, missing), *[(0, 0)] * (values.ndim - 1)))
    return padded.reshape(-1, _CHUNK, *values.shape[1:])


def _backward(residuals: Any, dh: Any) -> tuple[Any, list[Layer]]:
    x, layers, values = residuals
    # Transposed outside the loop, as XLA's product with a transpose is 10 times slower on a CPU.
    transposed = [(layer.kernel.T, layer.recurrent.T) for layer in layers]
    slopes = [_slopes(of_layer) for of_layer in values]
    dz = lax.platform_dependent(dh, transposed, slopes, cpu=_back_by_layer, default=_back_together)
    gradients = []
    for below, (h, *_), of_layer in zip([x, *(h for h, *_ in values[:-1])], values, dz):
        before = _before(h)
        gradients.append(
            Layer(
                kernel=jnp.einsum("lbf,lbz->fz", below, of_layer),
                recurrent=jnp.einsum("lbu,lbz->uz", before, of_layer),
                bias=of_layer.sum(axis=(0, 1)),
            )
        )
    return dz[0] @ transposed[0][0], gradients


def _slopes(values: tuple[Any, ...]) -> _Slopes:
    _, c, i, f, g, o = values
    squashed = jnp.tanh(c)
    gates = g * i * (1 - i), _before(c) * f * (1 - f), i * (1 - g**2), squashed * o * (1 - o)
    return _Slopes(o * (1 - squashed**2), gates, f)


def _before(values: Any) -> Any:
    """Values of the step before, `[length, ...]`; zeros before the first."""
    return jnp.concatenate([jnp.zeros_like(values[:1]), values[:-1]])


def _back_by_layer(
    dh: Any, transposed: Sequence[tuple[Any, Any]], slopes: Sequence[_Slopes]
) -> list[Any]:
    """Of each layer dz at all steps, `[length, batch, 4 units]`."""
    found: list[Any] = []
    for (kernel, recurrent), of_layer in zip(reversed(transposed), reversed(slopes)):
        zero = jnp.zeros_like(dh[0])

        def step(
            state: tuple[Any, Any], here: tuple[Any, _Slopes], recurrent: Any = recurrent
        ) -> tuple[Any, Any]:
            (dh_next, dc_next), (dh_here, slopes) = state, here
            of_i, of_f, of_g, of_o = slopes.gates
            dh = dh_here + dh_next
            dc = dc_next + dh * slopes.of_c
            dz = jnp.concatenate([dc * of_i, dc * of_f, dc * of_g, dh * of_o], axis=1)
            return (dz @ recurrent, dc * slopes.f), dz

        dz = lax.scan(step, (zero, zero), (dh, of_layer), reverse=True)[1]
        found.insert(0, dz)
        dh = dz @ kernel
    return found


def _back_together(
    dh: Any, transposed: Sequence[tuple[Any, Any]], slopes: Sequence[_Slopes]
) -> list[Any]:
    """As `_back_by_layer`: layer l is as many chunks behind the last as layers are between."""
    # A product for each gate, `[layers, 4, units, units]`: one long product of few rows is slow.
    recurrent = jnp.stack([across.reshape(4, -1, across.shape[1]) for _, across in transposed])
    length, batch, units = dh.shape
    last = len(slopes) - 1
    dh = _chunks(dh)
    number = len(dh)

    def delayed(*of_layers: Any) -> Any:
        """Chunks of all layers, `[iterations, layers, _CHUNK, batch, units]`."""
        each = [_chunks(values) for values in of_layers]
        pads = [((layer, last - layer), *[(0, 0)] * 3) for layer in range(last + 1)]
        return jnp.stack([jnp.pad(v, pad) for v, pad in zip(each, pads)], axis=1)

    def chunk(carry: tuple[Any, ...], here: tuple[Any, ...]) -> tuple[Any, Any]:
        products, dc, above = carry
        top, of_c, gates, f = here
        dh_here = jnp.concatenate([above, top[None]])
        steps: list[Any] = []
        for t in reversed(range(_CHUNK)):
            dh = dh_here[:, t] + sum(products[:, gate] for gate in range(4))
            dc = dc + dh * of_c[:, t]
            dz = jnp.stack([dc, dc, dc, dh], axis=1) * gates[:, :, t]
            products, dc = dz @ recurrent, dc * f[:, t]
            steps.insert(0, dz)
        found = jnp.stack(steps, axis=2)
        below = [_joined(dz) @ kernel for dz, (kernel, _) in zip(found[1:], transposed[1:])]
        return (products, dc, jnp.array(below).reshape(above.shape)), found

    top = jnp.pad(dh, ((last, 0), *[(0, 0)] * 3))
    of_c, each_gate, f = jax.tree_util.tree_map(delayed, *slopes)
    zero = jnp.zeros((last + 1, batch, units), dh.dtype)
    waiting = jnp.zeros((last, *dh.shape[1:]), dh.dtype)
    begin = jnp.zeros((last + 1, 4, batch, units), dh.dtype), zero, waiting
    values = top, of_c, jnp.stack(each_gate, axis=2), f
    found = lax.scan(chunk, begin, values, reverse=True)[1]
    return [
        _joined(jnp.moveaxis(found[i : i + number, i], 1, 0).reshape(4, -1, batch, units))[:length]
        for i in range(last + 1)
    ]


def _joined(gates: Any) -> Any:
    """Turns `[4, ..., units]` into `[..., 4 units]`."""
    return jnp.concatenate(list(gates), axis=-1)


def _gates(z: Any) -> list[Any]:
    units = z.shape[-1] // 4
    return [z[..., gate * units : (gate + 1) * units] for gate in range(4)]


lstm.defvjp(_forward, _backward)
