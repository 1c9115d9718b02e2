"""Changes of the bodies of a world, many at once: plain functions over its columns.

Each checks everything first, then commits one `Change`. The caller holds the guard, and has turned actors into rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.change import Change
from broadphase.errors import quoted
from broadphase.shapes.records import records_of
from broadphase.world.actor import Actor
from broadphase.world.values import (
    BODY_TYPES,
    BOUNDARIES,
    as_places,
    as_rotations,
    as_table,
    as_whole_numbers,
    numbers_of_names,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from broadphase.world.actor import Actors
    from broadphase.world.broad_phase import BroadPhase
    from broadphase.world.columns import Columns

__all__ = ["data_of_rows", "insert", "move", "remove", "set_asleep", "set_filters", "set_ignored", "set_shapes"]


def insert(
    columns: Columns,
    broad: BroadPhase,
    actors: Actors,
    shapes: Any,
    places: NDArray[np.float64],
    motion: tuple[Any, Any, Any],
    body_type: Any,
    boundary: Any,
    layer: Any,
    mask: Any,
    rare: dict[str, Any],
    actor: Actor | None = None,
    data: Any = None,
) -> NDArray[np.int32]:
    """Add rows at checked places, (n, d), and return them.

    `motion` are velocities, rotations and angular velocities, `rare` what few bodies need. `actor` is that of a
    single row, which has `data`; without it, `data` are those of all rows.
    """
    d, count = columns.dim, len(places)
    speeds = None if motion[0] is None else as_table(motion[0], "velocities", (d,), count)
    turns = None if motion[1] is None else as_rotations(motion[1], "rotations", d, count)
    spins = _angular(motion[2], d, count)
    types = numbers_of_names(body_type, "body_type", count, BODY_TYPES)
    rare = columns.checked_rare(rare, count)
    if (limits := _boundaries(columns, boundary, types, count)) is not None:
        rare["boundaries"] = limits
    if not columns.closed and "ccd" in rare and rare["ccd"].any():
        raise ValueError("ccd=True needs a world with touching=True")
    named = columns.layers if layer is None else columns.layers.with_names(layer)
    layers = masks = None
    if mask is not None or columns.rows.mask is not None:
        masks = named.bits_of_rows(mask, count, "mask")
    if layer is not None or masks is not None or columns.rows.layer is not None:
        layers = named.bits_of_rows(layer, count, "layer")
    try:
        records = records_of(shapes, count, d, columns.geometries)
        columns.take_up_writes()
        rows = columns.free_rows(count)
        columns.fill(rows, records, types, places, speeds, turns, spins)
        if (
            actor is not None and named is columns.layers and layers is None and not rare
            and broad.index is None and columns.can_append(rows) and actors.append(actor, columns, data)
        ):  # fmt: skip
            return rows
        change = Change()
        columns.insert(change, rows, records)
        columns.set_bits(change, rows, layers, masks)
        for name, values in rare.items():
            columns.set_rare(change, name, rows, values)
        if named is not columns.layers:
            change.assign(columns, layers=named)
        broad.note(change, rows, is_new=True)
        if actor is not None:
            actors.attach(change, actor, int(rows[0]), data)
        elif data is not None:
            for row, one in zip(rows.tolist(), data, strict=True):
                if one is not None:
                    actors.attach(change, Actor(), row, one)
        change.commit()
    finally:
        columns.geometries.drop_unused()
    return rows


def remove(columns: Columns, broad: BroadPhase, actors: Actors, rows: Any) -> None:
    """Remove rows."""
    numbers = columns.rows.distinct(rows)
    if columns.geometries:
        columns.settle()  # the contacts of the last frame may need them
    change = Change()
    columns.remove(change, numbers)
    change.flag(columns.renewed, True, numbers)
    columns.note_removal(change)
    broad.note(change, numbers, is_new=False)
    actors.forget(change, columns.rows.handles(numbers))
    change.commit()
    columns.geometries.drop_unused()


def move(columns: Columns, rows: Any, positions: Any, rotations: Any, velocities: Any, angular_velocities: Any) -> None:
    """Put rows elsewhere, or give them other velocities; None leaves what it is for."""
    numbers = columns.rows.distinct(rows)
    d, count = columns.dim, len(numbers)
    places = None if positions is None else as_places(positions, "positions", d, count)
    turns = None if rotations is None else as_rotations(rotations, "rotations", d, count)
    speeds = None if velocities is None else as_table(velocities, "velocities", (d,), count)
    spins = _angular(angular_velocities, d, count)
    columns.take_up_writes()
    change = Change()
    if places is not None or turns is not None:
        columns.displace(change, numbers)
    if places is not None:
        change.write(columns.positions, places, numbers)
    if turns is not None:
        change.write(columns.with_rotations(), turns, numbers)
    if speeds is not None:
        change.write(columns.velocities, speeds, numbers)
    if spins is not None:
        change.write(columns.with_angular_velocities(), spins, numbers)
    if speeds is not None or spins is not None:
        change.assign(columns, writes=columns.writes + 1)
    change.commit()


def set_shapes(columns: Columns, broad: BroadPhase, rows: Any, shapes: Any) -> None:
    """Give rows other shapes."""
    numbers = columns.rows.distinct(rows)
    columns.settle()
    try:
        records = records_of(shapes, len(numbers), columns.dim, columns.geometries)
        change = Change()
        # Where the world saw them last: a row that has moved since is still to be noticed.
        columns.set_shapes(change, numbers, records)
        columns.count_geometries(change, used=records, released=columns.seen.store.records(numbers))
        broad.mark(numbers)
        change.commit()
    finally:
        columns.geometries.drop_unused()


def set_filters(columns: Columns, rows: Any, layer: Any, mask: Any, group: Any) -> None:
    """Give rows other layers, masks or groups; None leaves what it is for."""
    numbers = columns.rows.distinct(rows)
    count = len(numbers)
    groups = None if group is None else as_whole_numbers(group, "group", count, np.int64)
    named = columns.layers if layer is None else columns.layers.with_names(layer)
    layers = None if layer is None else named.bits_of_rows(layer, count, "layer")
    masks = None if mask is None else named.bits_of_rows(mask, count, "mask")
    change = Change()
    columns.set_bits(change, numbers, layers, masks)
    if groups is not None:
        columns.set_rare(change, "groups", numbers, groups)
    change.flag(columns.changed, True, numbers)
    change.assign(columns, layers=named)
    change.commit()


def set_asleep(columns: Columns, rows: Any, asleep: bool) -> None:
    """Let rows sleep, or wake them."""
    numbers = columns.rows.known(rows)
    change = Change()
    columns.set_rare(change, "asleep", numbers, np.full(len(numbers), asleep))
    change.assign(columns, version=columns.version + 1)
    change.commit()


def set_ignored(columns: Columns, pairs: NDArray[Any], ignored: bool) -> None:
    """Never report pairs of rows, (k, 2), first < second; or report them again."""
    rows = columns.rows.known(pairs.ravel())
    change = Change()
    columns.set_ignored(change, rows.reshape(-1, 2), ignored)
    change.flag(columns.changed, True, rows)
    change.commit()


def data_of_rows(data: Any, count: int) -> list[Any] | None:
    """Return the objects of so many bodies as a list."""
    if data is None:
        return None
    if isinstance(data, str | bytes | Mapping) or not isinstance(data, Iterable):
        raise TypeError(f"data must be a sequence of {count} objects, one for each body, not {quoted(data)}")
    objects = list(data)
    if len(objects) != count:
        raise ValueError(f"data has {len(objects)} objects, but there are {count} bodies")
    return objects


def _boundaries(columns: Columns, given: Any, types: NDArray[np.uint8], count: int) -> NDArray[np.uint8] | None:
    """Give the boundaries of new rows; None where those of the world hold for all rows."""
    if given is None:
        return None if columns.boundaries is None else columns.defaults("boundaries", types)
    limits = numbers_of_names(given, "boundary", count, BOUNDARIES)
    if columns.bounds is None and limits.any():
        raise ValueError(f'boundary="{BOUNDARIES[int(limits.max())]}" needs the bounds of the world')
    return limits


def _angular(values: Any, dim: int, count: int) -> NDArray[np.float64] | None:
    return None if values is None else as_table(values, "angular_velocities", () if dim == 2 else (3,), count)
