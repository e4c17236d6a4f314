"""Bias of averaged LoRA factors under absence: closed forms of one round and of two.

W = W_0 + s B A. Client k returns A_k = A + a_k and B_k = B + b_k, and counts with weight w_k: with
p_k X_k / r_k, X_k being 1 if k is there and r fixed, or with p_k X_k over the sum of those there. A
bias is the mean change of W less the change of the same scheme with everyone present (w = p). A
round without clients leaves W as it is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

SCHEMES = ("factors", "changes", "exact", "a_frozen", "b_frozen")


@dataclass(frozen=True)
class Round:
    """State of a round and its clients' changes.

    Attributes:
        a: A, `float64 [r, n]`.
        b: B, `float64 [m, r]`.
        of_a: a_k, `float64 [N, r, n]`.
        of_b: b_k, `float64 [N, m, r]`.
        scale: s.
    """

    a: np.ndarray
    b: np.ndarray
    of_a: np.ndarray
    of_b: np.ndarray
    scale: float = 1.0

    @property
    def products(self) -> np.ndarray:
        """Changes of the clients' products, s (B_k A_k - B A), `float64 [N, m, n]`."""
        theirs = (self.b + self.of_b) @ (self.a + self.of_a)
        return self.scale * (theirs - self.b @ self.a)

    def linear(self, scheme: str) -> np.ndarray:
        """Change of W per unit of each client's weight, of first order; `float64 [N, m, n]`.

        Args:
            scheme: `"exact"` (FedEx-LoRA; FLoRA, with B = 0), `"a_frozen"` (FFA-LoRA, RoLoRA's odd
                rounds), `"b_frozen"` (RoLoRA's even rounds), or `"changes"`.
        """
        if scheme == "exact":
            return self.products
        with_b, with_a = self.of_b @ self.a, self.b @ self.of_a
        parts = {"a_frozen": with_b, "b_frozen": with_a, "changes": with_b + with_a}
        return self.scale * parts[scheme]


@dataclass(frozen=True)
class Moments:
    """Moments of the weights of a round.

    Attributes:
        mean: E w_k, `float64 [N]`.
        second: E w_i w_j, `float64 [N, N]`.
        empty: Chance of a round without clients.
    """

    mean: np.ndarray
    second: np.ndarray
    empty: float = 0.0

    @classmethod
    def over_rates(
        cls, p: np.ndarray, r: np.ndarray, together: np.ndarray, empty: float
    ) -> Moments:
        """Moments of p_k X_k / r_k.

        Args:
            p: Shares, `float64 [N]`.
            r: Rates that divide them, `float64 [N]`.
            together: E X_i X_j, `float64 [N, N]`, the chances pi on its diagonal.
            empty: See the class.
        """
        q = p / r
        return cls(q * np.diag(together), np.outer(q, q) * together, empty)

    @classmethod
    def of_independent(cls, p: np.ndarray, r: np.ndarray, pi: np.ndarray) -> Moments:
        """The same for independent clients of chances pi, `float64 [N]`."""
        together = np.outer(pi, pi)
        np.fill_diagonal(together, pi)
        return cls.over_rates(p, r, together, float(np.prod(1 - pi)))

    @classmethod
    def of_sets(cls, weights: np.ndarray, chances: np.ndarray) -> Moments:
        """Moments by enumeration: weights of each set, `float64 [sets, N]`, and its chance."""
        empty = float(chances[~weights.any(axis=1)].sum())
        return cls(chances @ weights, np.einsum("s,si,sj->ij", chances, weights, weights), empty)


def weights_of_sets(p: np.ndarray, masks: np.ndarray, r: np.ndarray | None = None) -> np.ndarray:
    """Returns the weights of each set, `float64 [sets, N]`: p / r, or the plain mean without r."""
    if r is not None:
        found: np.ndarray = masks * p / r
        return found
    total = (masks * p).sum(axis=1, keepdims=True)
    mean: np.ndarray = np.divide(masks * p, total, out=np.zeros(masks.shape), where=total > 0)
    return mean


def one_round(scheme: str, now: Round, p: np.ndarray, moments: Moments) -> np.ndarray:
    """Returns the bias of a round's change of W, `float64 [m, n]`.

    Args:
        scheme: One of `SCHEMES`.
        now: The round.
        p: Shares of sum 1, `float64 [N]`.
        moments: Moments of the weights.
    """
    excess = moments.second - np.outer(p, p)
    if scheme == "factors":
        theirs = np.einsum("ij,imr,jrn->mn", excess, now.b + now.of_b, now.a + now.of_a)
        return now.scale * (theirs + moments.empty * now.b @ now.a)
    found = np.tensordot(moments.mean - p, now.linear(scheme), axes=1)
    if scheme == "changes":
        found = found + now.scale * np.einsum("ij,imr,jrn->mn", excess, now.of_b, now.of_a)
    return found


def change(scheme: str, now: Round, weights: np.ndarray) -> np.ndarray:
    """Returns the change of W by weights `float64 [sets, N]`, `float64 [sets, m, n]`."""
    if scheme not in ("factors", "changes"):
        return np.tensordot(weights, now.linear(scheme), axes=1)
    a, b = (np.tensordot(weights, of, axes=1) for of in (now.of_a, now.of_b))
    total = weights.sum(axis=1)[:, None, None]
    keep = np.where(total > 0, total, 1.0) if scheme == "factors" else 1.0
    return now.scale * ((keep * now.b + b) @ (keep * now.a + a) - now.b @ now.a)


def deviation(scheme: str, now: Round, weights: np.ndarray, chances: np.ndarray) -> float:
    """Returns the root of E |change of W less its mean|^2, by enumeration; see `change`."""
    found = change(scheme, now, weights)
    centred = found - np.tensordot(chances, found, axes=1)
    return float(np.sqrt(chances @ (centred**2).sum(axis=(1, 2))))


def linear_deviation(scheme: str, now: Round, moments: Moments) -> float:
    """Returns the same by moments: sum_ij Cov(w_i, w_j) <P_i, P_j>, for schemes linear in w."""
    each = now.linear(scheme).reshape(len(moments.mean), -1)
    covariance = moments.second - np.outer(moments.mean, moments.mean)
    return float(np.sqrt(np.sum(covariance * (each @ each.T))))


@dataclass(frozen=True)
class Chains:
    """Independent two-state chains of the clients, and their weights p / r.

    Attributes:
        p: Shares, `float64 [N]`.
        r: Rates that divide them, `float64 [N]`.
        pi: Chances in the long run, `float64 [N]`.
        rho: Correlations from round to round, `float64 [N]`.
    """

    p: np.ndarray
    r: np.ndarray
    pi: np.ndarray
    rho: np.ndarray

    @property
    def everyone(self) -> Chains:
        """Everyone present, with weights p."""
        one = np.ones(len(self.p))
        return Chains(self.p, one, one, 0 * one)

    def tables(self) -> np.ndarray:
        """Chances of what two rounds need of a client, `float64 [N, 4, 4]`.

        A round needs nothing (0), the client (1), its absence (2), or both (3), which has chance 0.
        """
        both = self.pi**2 + self.rho * self.pi * (1 - self.pi)
        found = np.zeros((len(self.pi), 4, 4))
        found[:, 0, 0], found[:, 1, 1] = 1, both
        found[:, 0, 1] = found[:, 1, 0] = self.pi
        found[:, 0, 2] = found[:, 2, 0] = 1 - self.pi
        found[:, 1, 2] = found[:, 2, 1] = self.pi - both
        found[:, 2, 2] = 1 - 2 * self.pi + both
        return found


@dataclass(frozen=True)
class LocalWork:
    """Changes of the averaged values z that are affine in z: g_k + H_k (z - z_0).

    Exact for one gradient step on quadratic losses where one factor is fixed; else of first order.

    Attributes:
        start: z_0, `float64 [d]`.
        first: g_k, `float64 [N, d]`.
        slope: H_k, `float64 [N, d, d]`.
    """

    start: np.ndarray
    first: np.ndarray
    slope: np.ndarray


def two_rounds(work: LocalWork, chains: Chains, *, factors: bool = False) -> np.ndarray:
    """Returns the excess of the second moments of z after two rounds, `float64 [d + 1, d + 1]`.

    It is E (1, z)(1, z)^T less the same with everyone present: row 0 holds the bias of z, the rest
    that of products of its coordinates, so of B A if z holds B and A. z after two rounds is a
    polynomial in the weights; the mean of each pair of its terms is a product over the clients. So
    it takes N^4 N steps, and is for tens of clients.

    Args:
        work: The clients' work.
        chains: Availability.
        factors: Whether z = sum_k w_k z_k, not z + sum_k w_k (z_k - z).
    """
    found: np.ndarray = _moments(work, chains, factors) - _moments(work, chains.everyone, factors)
    return found


def product_bias(excess: np.ndarray, rows: int, rank: int, scale: float = 1.0) -> np.ndarray:
    """Returns the bias of s B A, `float64 [m, n]`, for z = (B, A), both row by row.

    Args:
        excess: The result of `two_rounds`.
        rows: m, the rows of B.
        rank: r.
        scale: s.
    """
    size = 1 + rows * rank
    pairs = excess[1:size, size:].reshape(rows, rank, rank, -1)
    bias: np.ndarray = scale * np.einsum("mrrn->mn", pairs)
    return bias


def _moments(work: LocalWork, chains: Chains, factors: bool) -> np.ndarray:
    n, eye, z0, q = len(chains.p), np.eye(len(work.start)), work.start, chains.p / chains.r
    ids, none = np.arange(n), np.zeros((1, n), int)
    there, absent = np.eye(n, dtype=int), np.full((1, n), 2)
    first, second = np.tile(there, (n, 1)), np.repeat(there, n, axis=0)
    j, k = np.repeat(ids, n), np.tile(ids, n)
    one = np.ones(1)
    # Of each group of terms: needs of round 1, of round 2, product of q, coefficient.
    if factors:
        kept = z0 + work.first
        cross = np.einsum("tde,te->td", (eye + work.slope)[j], kept[k])
        terms = [
            (first, second, q[j] * q[k], cross),
            (np.repeat(none, n, 0), there, q, work.first - work.slope @ z0),
            (np.repeat(absent, n, 0), there, q, (eye + work.slope) @ z0),
            (there, np.repeat(absent, n, 0), q, kept),
            (absent, absent, one, z0[None]),
        ]
    else:
        cross = np.einsum("tde,te->td", work.slope[j], work.first[k])
        terms = [
            (first, second, q[j] * q[k], cross),
            (there, np.repeat(none, n, 0), q, work.first),
            (np.repeat(none, n, 0), there, q, work.first),
            (none, none, one, z0[None]),
        ]
    # In front, the constant 1.
    terms = [(none, none, one, np.zeros((1, len(z0)))), *terms]
    in_1, in_2, factor, values = (np.concatenate(part) for part in zip(*terms))
    values = np.concatenate([np.eye(1, len(values)).T, values], axis=1)
    needs_1, needs_2 = (needs[:, None] | needs[None] for needs in (in_1, in_2))
    means = chains.tables()[ids, needs_1, needs_2].prod(axis=2) * np.outer(factor, factor)
    found: np.ndarray = values.T @ means @ values
    return found
