"""What happens in a scene beside moving: actors are made step by step, and removed where they touch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from numpy.typing import NDArray

    from broadphase.scenes.table import Table

__all__ = ["Emit", "Remove", "read_rule"]


@dataclass(frozen=True, slots=True)
class Emit:
    """Actors of a group are made, again and again.

    Attributes
    ----------
    group : str
        Its name.
    count, every : int
        So many, every so many steps.
    start, stop : int
        The step before which the first ones are made, and the one before which none are made any longer.
    """

    group: str
    count: int
    every: int
    start: int
    stop: int | None

    def is_due(self, step: int) -> bool:
        """Say whether it is time, before the step of this number."""
        return self.start <= step and (self.stop is None or step < self.stop) and (step - self.start) % self.every == 0


@dataclass(frozen=True, slots=True)
class Remove:
    """Actors are removed when they begin to touch certain others.

    Attributes
    ----------
    layers : tuple of str
        Who is removed.
    touching : tuple of str
        By whose touch.
    """

    layers: tuple[str, ...]
    touching: tuple[str, ...]

    def rows(self, pairs: NDArray[np.int32], layers: NDArray[np.uint64], bits: Mapping[str, int]) -> NDArray[np.int32]:
        """Give the rows that are to go, some perhaps twice.

        Parameters
        ----------
        pairs : ndarray, shape (m, 2)
            Who has begun to touch.
        layers : ndarray of uint64
            Bits of the layers of each row.
        bits : mapping of str to int
            The bit of each layer.
        """
        doomed, touching = (
            (layers[pairs] & np.uint64(sum({bits[name] for name in names}))) != 0
            for names in (self.layers, self.touching)
        )
        gone: NDArray[np.int32] = pairs[doomed & touching[:, ::-1]]
        return gone


def read_rule(table: Table, groups: Collection[str], layers: Collection[str]) -> Emit | Remove:
    """Read a table ``[[rule]]``.

    Parameters
    ----------
    table : Table
        What the file has.
    groups, layers : collection of str
        The names that there are.

    Returns
    -------
    Emit or Remove

    Raises
    ------
    ValueError
        Something is wrong with it; names the key.
    """
    rule: Emit | Remove
    if "emit" in table:
        rule = Emit(
            group=table.text("emit", choices=groups),
            count=table.whole("count", 1, least=1),
            every=table.whole("every", 1, least=1),
            start=table.whole("start", 0),
            stop=table.whole("stop", None),
        )
    elif "remove" in table:
        rule = Remove(table.texts("remove", choices=layers), table.texts("touching", choices=layers))
    else:
        table.take("emit", None)
        table.take("remove", None)
        table.finish()
        raise table.wrong("emit or remove", "one of them must say what the rule does")
    table.finish()
    return rule
