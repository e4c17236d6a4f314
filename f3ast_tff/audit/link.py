"""Between a strategy, whose model is of named arrays, and the world, which sees one of them."""

from __future__ import annotations

from f3ast_tff.audit.arrays import Form
from f3ast_tff.audit.world import WEIGHTS, Model, Reply, World


class Link:
    """Asks the world's clients for replies of all arrays.

    Attributes:
        first: The first model, of all arrays.
    """

    def __init__(self, world: World, form: Form, model: Model) -> None:
        """Begins with a model of the world.

        Args:
            world: The clients.
            form: How the strategy's model is made of arrays.
            model: The world's model.
        """
        self._world, self._form = world, form
        self._vector = model[WEIGHTS]
        self.first = {**form.whole(self._vector), **self._others(model, WEIGHTS, *form.keys)}

    def ask(self, client: int, sent: Model) -> list[tuple[Reply, Model]]:
        """Returns a client's replies, each with all arrays that it got; late ones are dropped."""
        replies = self._world.ask([client], self._seen(sent), drops_late=True)
        return [
            (
                each,
                {
                    **self._form.replied(sent, each.sent[WEIGHTS], each.model[WEIGHTS]),
                    **self._others(each.model, WEIGHTS),
                },
            )
            for each in replies
        ]

    def loss(self, client: int, sent: Model) -> float:
        """Returns the loss of a client."""
        return self._world.loss(client, self._seen(sent))

    def close(self, model: Model) -> None:
        """Ends a round with the strategy's model; an array that is not returned stays."""
        if not {*self._form.keys} & {*model}:
            raise ValueError(f"returns arrays {', '.join(model)}, not {', '.join(self._form.keys)}")
        seen = self._seen(model)
        self._vector = seen[WEIGHTS]
        self._world.close({**self._form.vectors(model, self._vector.size), **seen})

    def _seen(self, arrays: Model) -> Model:
        """The world's model of some arrays."""
        form = self._form
        vector = form.vectors(arrays, self._vector.size).get(form.key, self._vector)
        return {WEIGHTS: vector, **self._others(arrays, *form.keys)}

    @staticmethod
    def _others(arrays: Model, *keys: str) -> Model:
        return {key: value for key, value in arrays.items() if key not in keys}
