"""How things come into the world, change, and go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.shapes import Geometries, records_of
from broadphase.world.given import as_flags, as_places, as_table, as_turns, as_whole_numbers
from broadphase.world.kinds import KINDS
from broadphase.world.world_events import WorldEvents

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["WorldEdits"]


class WorldEdits(WorldEvents):
    """Changes to the rows of the world: all is checked before anything is done."""

    def _insert(
        self,
        shapes: Any,
        positions: Any,
        velocities: Any,
        rotations: Any,
        spins: Any,
        kind: Any,
        layer: Any,
        mask: Any,
        group: Any,
        sensor: Any,
        fast: Any,
        every: Any,
    ) -> NDArray[np.int32]:
        """Add rows; all is checked before anything is changed."""
        columns, d = self._columns, self.dim
        places = as_places(positions, "positions", d)
        count = len(places)
        turns = None if rotations is None else as_turns(rotations, "rotations", d, count)
        pace = None if velocities is None else as_table(velocities, "velocities", (d,), count)
        spin = None if spins is None else as_table(spins, "spins", () if d == 2 else (3,), count)
        kinds = _kinds_of(kind, count)
        seldom = {
            "groups": as_whole_numbers(group, "group", count, np.int64),
            "sensors": as_flags(sensor, "sensor", count),
            "fast": as_flags(fast, "fast", count),
            "every": as_whole_numbers(every, "every", count, np.int32, least=1),
        }
        geometries = Geometries(columns.geometries)
        records = records_of(shapes, count, d, geometries)
        bits = [
            None if value is None and kept is None else self._layers.bits_of_rows(value, count, name)
            for name, value, kept in zip(("layer", "mask"), (layer, mask), columns.rows.bits, strict=True)
        ]
        if columns.rows.living < columns.slots:
            self._settle()  # shapes of removed rows make room
        if bits[0] is not None or bits[1] is not None:
            self._keep_layers()
            bits[0] = self._layers.bits_of_rows(None, count, "layer") if bits[0] is None else bits[0]
        nowhere = np.zeros((count, 2, d))
        rows = columns.rows.insert(columns.rows.checked(nowhere, *bits))
        self._moving = None
        try:
            columns.reserve()
            columns.shapes.set(rows, *records)
            columns.geometries = geometries
            columns.positions[rows] = places
            columns.velocities[rows] = 0.0 if pace is None else pace
            if turns is not None or columns.rotations is not None or spin is not None:
                columns.with_rotations()[rows] = _unturned(d) if turns is None else turns
            if spin is not None or columns.spins is not None:
                columns.with_spins()[rows] = 0.0 if spin is None else spin
            columns.kinds[rows] = kinds
            for name, values in seldom.items():
                columns.set_seldom(name, rows, values)
            columns.set_seldom("asleep", rows, np.zeros(count, np.bool_))
            columns.place(rows)
            self._broad_phase.inserted(rows)
        except BaseException:
            columns.rows.withdraw(rows)
            columns.changed[rows[rows < len(columns.changed)]] = 0
            self._moving = None
            raise
        return rows

    def _remove(self, rows: NDArray[np.int32]) -> None:
        columns = self._columns
        self._memory.note_removal(columns.rows.generation)
        self._broad_phase.removed(rows)
        self._ignored.forget(rows)
        columns.rows.remove(rows)
        columns.renewed[rows] = 1
        columns.changed[rows] = 0
        columns.velocities[rows] = 0.0
        self._moving = None

    def _put(
        self,
        rows: NDArray[np.int32],
        places: NDArray[np.float64] | None,
        turns: NDArray[np.float64] | None,
        pace: NDArray[np.float64] | None,
        spin: NDArray[np.float64] | None,
    ) -> None:
        columns = self._columns
        if turns is not None or spin is not None:
            columns.with_rotations()
        if spin is not None:
            columns.with_spins()
        if places is not None or turns is not None:
            self._displaced.append(rows)
        for name, values in (("positions", places), ("rotations", turns), ("velocities", pace), ("spins", spin)):
            if values is not None:
                getattr(columns, name)[rows] = values

    def _reshape(self, rows: NDArray[np.int32], shapes: Any) -> None:
        columns = self._columns
        geometries = Geometries(columns.geometries)
        records = records_of(shapes, len(rows), self.dim, geometries)
        self._settle()
        before: Any = columns.shapes.records(rows)
        try:
            columns.shapes.set(rows, *records)
        except BaseException:
            columns.shapes.set(rows, *before)  # which there is room for
            columns.place_where_seen(rows)
            raise
        columns.geometries = geometries
        # Where the world saw them last: a row that has moved since is still to be noticed.
        columns.place_where_seen(rows)

    def _set_filters(self, rows: NDArray[np.int32], layer: Any, mask: Any, group: Any) -> None:
        columns, count = self._columns, len(rows)
        groups = None if group is None else as_whole_numbers(group, "group", count, np.int64)
        layers = None if layer is None else self._layers.bits_of_rows(layer, count, "layer")
        masks = None if mask is None else self._layers.bits_of_rows(mask, count, "mask")
        if layers is not None or masks is not None:
            self._keep_layers()
        columns.rows.set_filters(rows, layers, masks)
        if groups is not None:
            columns.set_seldom("groups", rows, groups)
        columns.changed[rows] = 1

    def _keep_layers(self) -> None:
        """Write down that rows are in the layer "default", as masks see it; to the index, none would mean all."""
        if self._columns.rows.layer is None:
            self._columns.rows.set_filters(self.rows, self.layers[self.rows], None)


def _unturned(dimension: int) -> Any:
    return 0.0 if dimension == 2 else np.array([1.0, 0.0, 0.0, 0.0])


def _kinds_of(kind: Any, count: int) -> NDArray[np.uint8]:
    if isinstance(kind, str):
        kind = [kind]
    names = np.asarray(kind)
    if names.dtype.kind == "U":
        unknown = [name for name in names.ravel().tolist() if name not in KINDS]
        if unknown:
            raise ValueError(f"kind must be one of {', '.join(KINDS)}, not {unknown[0]!r}")
        names = np.array([KINDS.index(name) for name in names.ravel().tolist()])
    return as_whole_numbers(names[0] if names.shape == (1,) else names, "kind", count, np.uint8, most=len(KINDS) - 1)
