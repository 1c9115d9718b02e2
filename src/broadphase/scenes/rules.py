"""What happens in a scene besides motion: bodies are added step by step, and removed where they touch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from broadphase.scenes.groups import MOST_BODIES

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from numpy.typing import NDArray

    from broadphase.scenes.values import Table

__all__ = ["Emit", "Remove", "read_rule"]


@dataclass(frozen=True, slots=True)
class Emit:
    """Bodies of a group are added at intervals.

    Attributes
    ----------
    group : str
        Name of the group.
    count, interval : int
        `count` bodies are added every `interval` steps.
    start, stop : int
        The first are added before step `start`, and none before step `stop` or later.
    """

    group: str
    count: int
    interval: int
    start: int
    stop: int | None

    def is_due(self, step: int) -> bool:
        """Return True if bodies are added before this step."""
        return (
            self.start <= step and (self.stop is None or step < self.stop) and (step - self.start) % self.interval == 0
        )


@dataclass(frozen=True, slots=True)
class Remove:
    """Bodies are removed when they enter contact with bodies of certain layers.

    Attributes
    ----------
    layers : tuple of str
        Layers of the bodies that are removed.
    touching : tuple of str
        Layers of the other bodies.
    """

    layers: tuple[str, ...]
    touching: tuple[str, ...]

    def rows(self, pairs: NDArray[np.int32], layers: NDArray[np.uint64], bits: Mapping[str, int]) -> NDArray[np.int32]:
        """Return the rows to remove among pairs that enter contact, by the layer bits of each; one may occur twice."""
        doomed, touching = (
            (layers[pairs] & np.uint64(sum({bits[name] for name in names}))) != 0
            for names in (self.layers, self.touching)
        )
        rows: NDArray[np.int32] = pairs[doomed & touching[:, ::-1]]
        return rows


def read_rule(table: Table, groups: Collection[str], layers: Collection[str]) -> Emit | Remove:
    """Read a table ``[[rule]]``; `groups` and `layers` are the names that exist."""
    rule: Emit | Remove
    if "emit" in table:
        rule = Emit(
            group=table.string("emit", choices=groups),
            count=table.integer("count", 1, least=1, most=MOST_BODIES),
            interval=table.integer("interval", 1, least=1),
            start=table.integer("start", 0),
            stop=table.integer("stop", None),
        )
    elif "remove" in table:
        rule = Remove(table.strings("remove", choices=layers), table.strings("touching", choices=layers))
    else:
        table.take("emit", None)
        table.take("remove", None)
        table.finish()
        raise table.wrong("emit or remove", "one of the two keys is required")
    table.finish()
    return rule
