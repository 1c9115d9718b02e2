"""Whether everything in a world is consistent."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from broadphase import _native
from broadphase.narrow.row_pairs import overlap_mask
from broadphase.searches import pairs
from broadphase.world.columns import COLUMNS
from broadphase.world.values import STATIC, keys_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from broadphase.world.broad_phase import BroadPhase
    from broadphase.world.columns import Columns, Placement

    Pairs: TypeAlias = NDArray[np.int32]

__all__ = ["faults"]


def faults(columns: Columns, core: _native.World, broad: BroadPhase) -> Iterator[str]:
    """Describe what is inconsistent in a world."""
    yield from filter(None, [columns.rows.fault()])
    yield from _column_faults(columns)
    yield from _placement_faults(columns, columns.seen, columns.rows.numbers)
    settled = columns.rows.numbers[columns.stale[columns.rows.numbers] == 0]
    yield from _placement_faults(columns, columns.spare, settled)
    yield from _index_faults(columns, broad)
    yield from _memory_faults(columns, core, broad)


def _column_faults(columns: Columns) -> Iterator[str]:
    slots, capacity = columns.slots, len(columns.rows.corners)
    if columns.seen.boxes is not columns.rows.corners:
        yield "the boxes that are seen are not those of the rows"
    arrays = {name: value for name, value in vars(columns).items() if name not in ("ignored", "generation_then")}
    for placement in ("seen", "spare"):
        kept = arrays.pop(placement)
        arrays |= {f"{placement}.{name}": getattr(kept, name) for name in ("boxes", "positions", "rotations")}
    for name, column in arrays.items():
        if isinstance(column, np.ndarray) and name != "bounds" and len(column) != capacity:
            yield f"the array {name} has {len(column)} rows, not {capacity}"
    turned = [columns.rotations, columns.seen.rotations, columns.spare.rotations]
    if any(one is None for one in turned) != all(one is None for one in turned):
        yield "some arrays of rotations exist, and others do not"
    if columns.angular_velocities is not None and columns.rotations is None:
        yield "there are angular velocities and no rotations"
    for name, column in COLUMNS.items():
        owner, attribute = columns.owner_of(name)
        values = getattr(owner, attribute)
        if values is not None and not column.may_hold(values[columns.rows.numbers]):
            yield f"{name} is out of range"
    dead = ~columns.rows.alive
    if columns.changed[dead].any():
        yield f"row {np.argmax(dead & (columns.changed != 0))} is removed, and has changed"
    if columns.displaced[dead].any() or (columns.displaced.any() and not columns.has_displaced):
        yield "a row is removed, and put elsewhere, or it is forgotten that there are such"
    if columns.renewed[dead & (columns.rows.generation <= 1)].any():
        yield "a row is marked as removed, and was not"
    ignored = columns.ignored
    if ignored is not None and not (_is_ordered(ignored, slots) and columns.rows.alive[ignored].all()):
        yield "the ignored pairs are out of order, or of removed rows"


def _placement_faults(columns: Columns, placement: Placement, rows: NDArray[np.int32]) -> Iterator[str]:
    """Compare shapes with others that are placed at the same poses."""
    kept: Any = placement.store
    again: Any = _native.ShapeStore(columns.dim, columns.geometries.vertices)
    again.set(rows, *kept.records(rows))
    positions, boxes = placement.positions.copy(), placement.boxes.copy()
    rotations = None if placement.rotations is None else placement.rotations.copy()
    if not np.isfinite(positions[rows]).all() or (rotations is not None and not np.isfinite(rotations[rows]).all()):
        yield "a row was seen at a position or rotation that is not finite"
    again.place(rows, positions, rotations, positions.copy(), None if rotations is None else rotations.copy(), boxes)
    for row in rows.tolist():
        if boxes[row].tobytes() != placement.boxes[row].tobytes():
            yield f"row {row} has the box {placement.boxes[row].tolist()}, not {boxes[row].tolist()}"
        if not np.array_equal(again.placed(row), kept.placed(row)):
            yield f"the shape of row {row} is not where it was seen last"


def _index_faults(columns: Columns, broad: BroadPhase) -> Iterator[str]:
    index, rows = broad.index, columns.rows.numbers
    if index is None:
        return
    known, pending = index.rows, broad.pending()
    for is_new, some in pending:
        known = np.union1d(known, some) if is_new else np.setdiff1d(known, some)
    if not np.array_equal(known, rows):
        yield "the index has other rows"
        return
    rows = rows[broad.behind[rows] == 0]
    for _, some in pending:
        rows = np.setdiff1d(rows, some)
    boxes, around = columns.seen.boxes[rows], index.boxes_of(rows)
    out = ~((around[:, 0] <= boxes[:, 0]) & (boxes[:, 1] <= around[:, 1])).all(axis=1)
    if out.any():
        yield f"row {rows[np.argmax(out)]} is outside its box in the index"


def _memory_faults(columns: Columns, core: _native.World, broad: BroadPhase) -> Iterator[str]:
    slots = columns.slots
    for name, known in (("touching", core.touching), ("waiting", core.waiting[0])):
        if not _is_ordered(known, slots):
            yield f"the pairs of {name} are out of order, or of rows that do not exist"
    if columns.generation_then is None and columns.renewed[:slots].any():
        yield "rows were removed, and the handles they had are not remembered"
    touching = core.touching
    touching = touching[~(columns.renewed[touching].any(axis=1))]
    if not columns.rows.alive[touching].all():
        yield "a pair touches of which one row is removed"
    # Pairs that have not changed since the last step, and were tested then, are as a search for all pairs finds them.
    if columns.period_bounds is not None or columns.rare("ccd").any():
        return  # they may touch across the boundary, or have touched on their way
    known = touching[_is_settled(columns, core, touching)]
    found = _found_now(columns, broad)
    found = found[_is_settled(columns, core, found)]
    wrong = np.setxor1d(keys_of(known), keys_of(found))
    if len(wrong):
        fault = "does not touch" if np.isin(wrong[0], keys_of(found)) else "touches"
        yield f"pair ({wrong[0] >> 32}, {wrong[0] & 0xFFFF_FFFF}) {fault}, by what the core remembers"


def _is_settled(columns: Columns, core: _native.World, some: Pairs) -> NDArray[np.bool_]:
    changed = columns.changed.view(np.bool_)
    waits = np.isin(keys_of(some), keys_of(core.waiting[0]))
    return ~(changed[some[:, 0]] | changed[some[:, 1]] | waits)


def _found_now(columns: Columns, broad: BroadPhase) -> Pairs:
    """Find all pairs that touch and may, in lexicographic order, without what the world remembers."""
    rows = columns.rows.numbers
    rows = rows[~broad.is_dropped(rows)]
    static = columns.body_types[: columns.slots] == STATIC
    wanted = replace(columns.filters(), static=static).of_rows([rows], [columns.slots])
    found = rows[pairs(columns.seen.boxes[rows], touching=columns.closed, sort=True, **wanted.given())]
    shapes = columns.view
    first, second = np.ascontiguousarray(found.T)
    touching: Pairs = found[overlap_mask(shapes, shapes, first, second, boxes_overlap=True)]
    return touching


def _is_ordered(pairs: Pairs, slots: int) -> bool:
    keys = keys_of(pairs)
    ordered = bool((keys[1:] > keys[:-1]).all() and (pairs[:, 0] < pairs[:, 1]).all() and (pairs >= 0).all())
    return ordered and bool((pairs < slots).all())
