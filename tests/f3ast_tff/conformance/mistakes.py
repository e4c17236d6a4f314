"""Plug-ins with a mistake each, and the property that names it."""

from __future__ import annotations

# Of each mistake: kind, the function or attribute that has it, the property, words of its line.
MISTAKES = {
    "forgotten state": (
        "algorithm",
        "saved_arrays",
        "def saved_arrays(self): return {}",
        "state is whole",
        ("counts is not restored", "name nothing"),
    ),
    "a slip in the name of saved_arrays": (
        "algorithm",
        "saved_array",
        "def saved_array(self): return {'counts': self.counts}\ndel Mine.saved_arrays",
        "state is whole",
        ("Is saved_array meant to be saved_arrays?",),
    ),
    "a number that is no array": (
        "algorithm",
        "saved_arrays",
        "def saved_arrays(self): return {'counts': self.counts, 'turn': self.turn}",
        "state is whole",
        ("Mine: saved turn is 0: must be an array",),
    ),
    "a number as a part": (
        "algorithm",
        "saved_parts",
        "def saved_parts(self): return {'turn': self.turn}",
        "state is whole",
        ("Mine: saved turn is 0: must be an array",),
    ),
    "the order of a set": (
        "algorithm",
        "select",
        "def select(self, now):\n"
        "    names = {f'client {k}' for k in np.flatnonzero(now.available)}\n"
        "    return now.constraint.admit([int(name[7:]) for name in names])",
        "a run repeats",
        ("a run in another process", "sets of texts"),
    ),
    "np.random": (
        "algorithm",
        "select",
        "def select(self, now):\n"
        "    return now.constraint.admit(np.random.permutation(np.flatnonzero(now.available)))",
        "same seed, same choice",
        ("now.generator(seed)",),
    ),
    "state moved in select": (
        "algorithm",
        "select",
        "def select(self, now):\n"
        "    self.turn += 1\n"
        "    there = np.flatnonzero(now.available)\n"
        "    return now.constraint.admit(np.roll(there, self.turn))",
        "select moves no state",
        ("select moves turn",),
    ),
    "negative weights": (
        "algorithm",
        "weigh",
        "def weigh(self, now, ids, delivered):\n"
        "    return Cohort(ids[delivered], self.p[ids[delivered]] - 0.09)",
        "weights at least 0",
        ("weight -0.0",),
    ),
    "a mask handed on changed": (
        "algorithm",
        "select",
        "def select(self, now):\n"
        "    mask = now.available\n"
        "    mask.flags.writeable = True\n"
        "    mask[0] = False\n"
        "    return now.constraint.admit(np.flatnonzero(mask))",
        "inputs stay",
        ("select changed now.available",),
    ),
    "more than K": (
        "algorithm",
        "select",
        "def select(self, now): return np.flatnonzero(now.available)",
        "same seed, same choice",
        ("round 1",),
    ),
    "needs the round before": (
        "availability",
        "mask",
        "def mask(self, t):\n"
        "    if t not in self.seen:\n"
        "        draws = np.random.default_rng((self.seed, t)).random(self.num_clients)\n"
        "        self.last = self.seen[t] = self.last ^ (draws < 0.3)\n"
        "    return self.seen[t].copy()",
        "function of the round",
        ("asked for first",),
    ),
    "one array for all masks": (
        "availability",
        "mask",
        "def mask(self, t):\n"
        "    draws = np.random.default_rng((self.seed, t)).random(self.num_clients)\n"
        "    self.kept[:] = draws < 0.5\n"
        "    return self.kept",
        "masks are handed over",
        ("round 2 changed",),
    ),
    "a wrong long-run share": (
        "availability",
        "stationary",
        "stationary = np.full(12, 0.6)",
        "long-run shares",
        ("stationary says 0.600",),
    ),
    "nobody": (
        "availability",
        "mask",
        "def mask(self, t): return np.zeros(self.num_clients, bool)",
        "long-run shares",
        ("nobody is available",),
    ),
    "a message by the order of clients": (
        "aggregation",
        "memory",
        "memory = property(lambda self: Turns())\nMine.combine = Aggregation.combine",
        "order does not matter",
        ("falling ids",),
    ),
    "a combine by the order of rows": (
        "aggregation",
        "combine",
        "def combine(self, updates, weights): return updates[0]",
        "order does not matter",
        ("",),
    ),
    "a delivery by the place in the cohort": (
        "delivery",
        "arrivals",
        "def arrivals(self, t, ids):\n"
        "    draws = generator(3, 'mine', t).random(len(ids))\n"
        "    return Arrivals(draws < 0.5, draws, 1.0)",
        "order of the asked",
        ("other delivered in round 1", "draws[ids]"),
    ),
    "delivered, and never there": (
        "delivery",
        "arrivals",
        "def arrivals(self, t, ids):\n"
        "    draws = generator(3, 'mine', t).random(12)[ids]\n"
        "    return Arrivals(draws < 2, np.where(draws < 0.5, draws, np.inf), 1.0)",
        "order of the asked",
        ("never arrives",),
    ),
    "delivered after the round": (
        "delivery",
        "arrivals",
        "def arrivals(self, t, ids):\n"
        "    return Arrivals(np.ones(len(ids), bool), np.full(len(ids), 5.0), 1.0)",
        "order of the asked",
        ("after 5 s in a round of 1 s",),
    ),
    "a clock of updates alone": (
        "delivery",
        "arrivals",
        "def arrivals(self, t, ids):\n"
        "    return Arrivals(np.ones(len(ids), bool), np.ones(len(ids)), np.nan)",
        "order of the asked",
        ("a round of nan s and an update after 1.0 s",),
    ),
    "nothing delivered": (
        "delivery",
        "arrivals",
        "def arrivals(self, t, ids):\n"
        "    return Arrivals(np.zeros(len(ids), bool), np.full(len(ids), np.inf), 1.0)",
        "order of the asked",
        ("no update is delivered",),
    ),
    "a limit above the largest": (
        "constraint",
        "largest_k",
        "largest_k = 3",
        "limits as it says",
        ("K_2 is 4",),
    ),
    "another mean limit": (
        "constraint",
        "mean_k",
        "mean_k = 2.0",
        "limits as it says",
        ("mean_k says 2.000",),
    ),
    "a limit of nobody": (
        "constraint",
        "limit",
        "def limit(self, t): return RoundConstraint(0)",
        "limits as it says",
        ("k = 0: must be at least 1",),
    ),
    "a score of the first client": (
        "score_of",
        "score",
        "def score(self, means, ids, higher_is_better): return means[0]",
        "score of the clients",
        ("in another order",),
    ),
    "a score that is no number": (
        "score_of",
        "score",
        "def score(self, means, ids, higher_is_better): return None",
        "score of the clients",
        ("returned NoneType",),
    ),
    "a score that is NaN": (
        "score_of",
        "score",
        "def score(self, means, ids, higher_is_better): return np.nan",
        "score of the clients",
        ("it is nan",),
    ),
    "no FederatedData": (
        "task",
        "build",
        "def build(self): return self.draws().normal(size=(60, 3))",
        "data by draw",
        ("has no train",),
    ),
    "data by the hash of a text": (
        "task",
        "draws",
        "def draws(self): return generator(hash('draw') % 2**32, 'mine')",
        "a run repeats",
        ("its data are others in another process",),
    ),
    "another number of clients than it publishes": (
        "task",
        "published",
        "published = {**Mine.published, 'num_clients': 7}",
        "a run repeats",
        ("num_clients = 7: must be 12",),
    ),
    "one argument less": (
        "availability",
        "mask",
        "def mask(self): return np.ones(self.num_clients, bool)",
        "function of the round",
        ("plug-in mine: mask() takes 1 positional argument but 2 were given",),
    ),
    "data that np.random draws": (
        "task",
        "draws",
        "def draws(self): return np.random",
        "data by draw",
        ("generator(self.data_seed",),
    ),
    "one data set for all draws": (
        "task",
        "draws",
        "def draws(self): return generator(0, 'mine')",
        "data by draw",
        ("does not change the data",),
    ),
    "a form with another rate": (
        "server_optimizer",
        "in_numpy",
        "def in_numpy(self, gradients, moments, *, step, learning_rate):\n"
        "    return self.learning_rate * gradients, moments",
        "forms agree",
        ("step 1 of in_jax",),
    ),
    "a combine that makes NaN": (
        "aggregation",
        "combine",
        "def combine(self, updates, weights):\n"
        "    return weights @ (updates / np.linalg.norm(updates, axis=1, keepdims=True))",
        "finite stays finite",
        ("zero update",),
    ),
    "a default argument that all share": (
        "algorithm",
        "__init__",
        "def __init__(self, p, seed, counts=np.zeros(12)):\n"
        "    self.p, self.seed, self.counts, self.turn = p, seed, counts, 0",
        "same seed, same choice",
        ("a default argument",),
    ),
    "a state that is no copy": (
        "algorithm",
        "state",
        "def state(self): return {'counts': self.counts}",
        "state is whole",
        ("not copies",),
    ),
    "the order of a dictionary": (
        "algorithm",
        "restore",
        "def __init__(self, p, seed): self.p, self.counts, self.seen = p, np.zeros(len(p)), {}\n"
        "def select(self, now):\n"
        "    order = [*self.seen, *(k for k in range(len(self.p)) if k not in self.seen)]\n"
        "    return now.constraint.admit([k for k in order[::-1] if now.available[k]])\n"
        "def weigh(self, now, ids, delivered):\n"
        "    self.seen.update(dict.fromkeys(ids.tolist()))\n"
        "    self.counts[ids] = 1\n"
        "    return Cohort(ids[delivered], self.p[ids[delivered]])\n"
        "def restore(self, state):\n"
        "    self.counts[:] = state['counts']\n"
        "    self.seen = dict.fromkeys(np.flatnonzero(self.counts).tolist())\n"
        "Mine.__init__, Mine.select, Mine.weigh = __init__, select, weigh",
        "state is whole",
        ("seen is not restored",),
    ),
    "seed and round added": (
        "availability",
        "mask",
        "def mask(self, t): return np.random.default_rng(self.seed + t).random(12) < 0.5",
        "another seed",
        ("round t + 1 of this one",),
    ),
    "a seed that objects share": (
        "availability",
        "mask",
        "def __init__(self, num_clients, seed): Mine.num_clients, Mine.seed = num_clients, seed\n"
        "Mine.__init__ = __init__\n"
        "def mask(self, t): return np.random.default_rng((Mine.seed, t)).random(12) < 0.5",
        "another seed",
        ("share something",),
    ),
    "late by the place in the cohort": (
        "delivery",
        "arrivals",
        "def arrivals(self, t, ids):\n"
        "    m, rounds = len(ids), generator(3, 'mine', t).integers(0, 4, len(ids))\n"
        "    return Arrivals(np.ones(m, bool), np.full(m, np.nan), np.nan, rounds=rounds)\n"
        "Mine.is_late = True",
        "order of the asked",
        ("other rounds in round",),
    ),
    "a server's value that is lost": (
        "aggregation",
        "combine_round",
        "Turns.has_messages, Turns.message = False, Memory.message\n"
        "Turns.server_vectors = {'last': 'zero'}\n"
        "Mine.memory = property(lambda self: Turns())\n"
        "def combine_round(self, gathered): return gathered.weights @ gathered.updates, {}",
        "a run repeats",
        ("must return Delta and the server's values, last",),
    ),
    "a mean that is a sum": (
        "aggregation",
        "normalise",
        "normalise = True",
        "order does not matter",
        ("weights twice as large",),
    ),
    "ids as places": (
        "score_of",
        "score",
        "def score(self, means, ids, higher_is_better): return float(np.median(means[ids]))",
        "score of the clients",
        ("IndexError",),
    ),
    "a spread of one client": (
        "score_of",
        "score",
        "def score(self, means, ids, higher_is_better):\n"
        "    return ((means - means.mean()) ** 2).sum() / (len(means) - 1)",
        "score of the clients",
        ("1 of them",),
    ),
    "a score that takes no NaN": (
        "score_of",
        "score",
        "def score(self, means, ids, higher_is_better): return float(max(map(round, 9 * means)))",
        "score of the clients",
        ("cannot convert float NaN",),
    ),
    "the best so far": (
        "score_of",
        "score",
        "SEEN = []\n"
        "def score(self, means, ids, higher_is_better):\n"
        "    SEEN.append(float(np.max(means)))\n"
        "    return max(SEEN)",
        "score of the clients",
        ("asked later", "must keep nothing"),
    ),
    "a sum over the rounds": (
        "score_of",
        "score",
        "SEEN = []\n"
        "def score(self, means, ids, higher_is_better):\n"
        "    SEEN.append(float(np.median(means)))\n"
        "    return sum(SEEN)",
        "a run repeats",
        ("its test_mine_accuracy is",),
    ),
    "draws that go on": (
        "task",
        "draws",
        "DRAWS = generator(0, 'mine')\ndef draws(self): return DRAWS",
        "a run goes on",
        ("its data are others when built again",),
    ),
    "no moments from in_numpy": (
        "server_optimizer",
        "in_numpy",
        "def in_numpy(self, gradients, moments, *, step, learning_rate):\n"
        "    return learning_rate * gradients",
        "a run repeats",
        ("in_numpy must return a pair",),
    ),
    "no transformation": (
        "server_optimizer",
        "in_jax",
        "def in_jax(self, learning_rate): pass",
        "forms agree",
        ("in_jax returned NoneType",),
    ),
    "NaN where the gradient is 0": (
        "server_optimizer",
        "in_numpy",
        "def in_numpy(self, gradients, moments, *, step, learning_rate):\n"
        "    return learning_rate * gradients / np.abs(gradients), moments",
        "forms agree",
        ("step 3 of in_numpy, along [0. 0.",),
    ),
    "attackers that np.random draws": (
        "attack",
        "sent",
        "def sent(self, update, client, now, seed): return np.random.normal(size=update.shape)",
        "a run repeats",
        ("its model ends",),
    ),
    "a mean over the batch": (
        "model",
        "apply",
        "def apply(weights, inputs):\n"
        "    return (inputs - inputs.mean(0)) @ weights['kernel'] + weights['bias']",
        "example by itself",
        ("the others of its batch",),
    ),
}
# The same of plug-ins that may be right.
DOUBTS = {
    "a seed that does nothing": (
        "algorithm",
        "select",
        "def select(self, now):\n"
        "    draws = np.random.default_rng(now.number)\n"
        "    return now.constraint.admit(draws.permutation(np.flatnonzero(now.available)))",
        "another seed",
        ("two seeds choose the same",),
    ),
    "a cache without the seed": (
        "constraint",
        "limit",
        "def limit(self, t): return RoundConstraint(2 + t % 3)",
        "another seed",
        ("such as a cache",),
    ),
    "a spread without a direction": (
        "score_of",
        "score",
        "def score(self, means, ids, higher_is_better): return float(np.std(means))",
        "score of the clients",
        ("higher_is_better is not declared",),
    ),
    "a form that reads the first rate": (
        "server_optimizer",
        "in_numpy",
        "def in_numpy(self, gradients, moments, *, step, learning_rate):\n"
        "    return self.learning_rate * gradients, moments\n"
        "def in_jax(self, learning_rate):\n"
        "    import optax\n"
        "    return optax.sgd(self.learning_rate)\n"
        "Mine.in_jax = in_jax",
        "forms agree",
        ("another rate takes the same step",),
    ),
    "messages that are not finite": (
        "aggregation",
        "memory",
        "Turns.message = lambda self, client, update, losses, now: (update + np.inf, 1.0)\n"
        "memory = property(lambda self: Turns())\nMine.combine = Aggregation.combine",
        "a run repeats",
        ("not finite, and left out",),
    ),
    "a model that never moves": (
        "aggregation",
        "combine",
        "def combine(self, updates, weights): return 0 * weights @ updates",
        "a run repeats",
        ("no update moves the model",),
    ),
    "softmax before the loss": (
        "model",
        "apply",
        "def apply(weights, inputs):\n"
        "    import jax\n"
        "    return jax.nn.softmax(inputs @ weights['kernel'] + weights['bias'])",
        "example by itself",
        ("the loss takes logits",),
    ),
    "a parameter that does nothing": (
        "task",
        "__doc__",
        "__doc__ = ''",
        "parameters reach",
        ("mine_idle",),
    ),
}
