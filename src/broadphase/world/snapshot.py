"""Snapshots: everything that decides what a world does from now on, as a JSON header and named arrays, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from broadphase.change import Change
from broadphase.errors import quoted
from broadphase.index.options import IndexOptions
from broadphase.shapes import ConvexHull, HeightField, Mesh, PointCloud
from broadphase.shapes.kinds import RECORDS, ShapeKind, layout_of
from broadphase.shapes.parameters import LARGEST
from broadphase.shapes.records import Geometries, Records, geometry_places
from broadphase.world.columns import COLUMNS
from broadphase.world.layers import Layers
from broadphase.world.snapshot_format import as_json, pack, unpack
from broadphase.world.values import is_rotation

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import TypeAlias

    from numpy.typing import DTypeLike, NDArray

    from broadphase import _native
    from broadphase.shapes.solids import Geometry
    from broadphase.world.actor import Actor, Actors
    from broadphase.world.broad_phase import BroadPhase
    from broadphase.world.columns import Columns

    ActorClasses: TypeAlias = Mapping[str | int, type[Actor]]
    Arrays = dict[str, NDArray[Any]]
    Floats = NDArray[np.float64]

__all__ = ["Contents", "give_classes", "read", "restore", "to_bytes"]

_LAST_GENERATION = 2**31 - 1  # as in index/rows.py: above it, a row is never used again
# What the header must have, in this order, and the types and limits of it.
_HEADER: dict[str, tuple[tuple[type, ...], range | None]] = {
    "dim": ((int,), range(2, 4)),
    "method": ((str, dict), None),
    "boundary": ((str,), None),
    "margin": ((int, float, type(None)), None),
    "workers": ((int,), range(-1, 2**31)),
    "touching": ((bool,), None),
    "number": ((int,), range(2**62)),
    "slots": ((int,), range(2**31 - 63)),
    "removals": ((bool,), None),
    "quiet_steps": ((int,), range(2**31)),
    "layers": ((dict,), None),
}
_OPTIONS = ("dim", "method", "boundary", "margin", "workers", "touching")  # those of them that are given to `World`


class Contents(NamedTuple):
    """What a snapshot holds: the options of the world, its header and arrays, and the data of actors."""

    options: dict[str, Any]
    about: dict[str, Any]
    arrays: Arrays
    data: Any  # unchecked


def to_bytes(columns: Columns, core: _native.World, broad: BroadPhase, data: dict[int, Any]) -> bytes:
    """Give a world as bytes, with the data of the actors of some rows."""
    about, arrays = _describe(columns, core, broad)
    kept = sorted(data.items())
    for row, value in kept:
        as_json(value, f"the data of row {row}")
    return pack({"world": about, "data": [[row, value] for row, value in kept]}, arrays)


def read(data: bytes | bytearray | memoryview) -> Contents:
    """Take bytes apart; other or damaged ones raise ValueError, which says what is wrong."""
    about, arrays = unpack(data)
    if not isinstance(about, dict) or set(about) != {"world", "data"}:
        raise ValueError("not a snapshot of a world: the header must have the keys world and data")
    return Contents(_options_of(about["world"], arrays), about["world"], arrays, about["data"])


def _describe(columns: Columns, core: _native.World, broad: BroadPhase) -> tuple[dict[str, Any], Arrays]:
    """Describe a world: options and counts, as JSON, and arrays, which may be views of what the world has.

    Equal states give equal descriptions: what cannot be observed is left out or made equal, such as values of rows that
    are not in use, and columns of defaults. A shape of a custom type raises TypeError, which names it.
    """
    slots, alive = columns.slots, columns.rows.alive[: columns.slots]
    about = {
        "dim": columns.dim,
        "method": broad.given.describe() if isinstance(broad.given, IndexOptions) else str(broad.given),
        "boundary": columns.boundary,
        "margin": broad.margin,
        "workers": broad.workers,
        "touching": columns.closed,
        "number": core.number,
        "slots": slots,
        "removals": columns.generation_then is not None,
        "quiet_steps": core.quiet_steps,
        "layers": columns.layers.state(),
    }
    arrays: Arrays = {"time": np.array(core.time), "alive": alive, "generation": columns.rows.generation[:slots]}
    if columns.bounds is not None:
        arrays["bounds"] = columns.bounds
    arrays |= _described_columns(columns, alive)
    for name in ("changed", "renewed"):
        arrays[name] = getattr(columns, name)[:slots]
    if columns.generation_then is not None:
        arrays["generation_then"] = columns.rows.generation[:slots].copy()
        rows = np.unique(core.touching)
        arrays["generation_then"][rows] = columns.generation_then[rows]
    arrays["touching"] = core.touching
    arrays["waiting"], arrays["waiting_since"], arrays["waiting_dropped"] = core.waiting
    if columns.ignored is not None:
        arrays["ignored"] = columns.ignored
    displaced = np.flatnonzero(columns.displaced).astype(np.int32)
    if len(displaced):
        arrays["displaced"] = displaced
    records: Any = columns.seen.store.records(columns.rows.numbers)
    kinds, sizes, numbers = records
    custom = np.flatnonzero(kinds == ShapeKind.CUSTOM)
    if len(custom):  # a file cannot hold their test
        row = int(columns.rows.numbers[custom[0]])
        name = type(columns.view[row]).__name__
        raise TypeError(f"a snapshot cannot hold custom shapes, and row {row} is a {name}: remove these bodies first")
    places = geometry_places(kinds, sizes)
    used, first, which = np.unique(numbers[places], return_index=True, return_inverse=True)
    order = np.argsort(first)  # numbered by first use, whatever became of others
    renumbered = np.empty(len(used))
    renumbered[order] = np.arange(len(used))
    numbers[places] = renumbered[which]
    arrays["shape_kinds"], arrays["shape_sizes"], arrays["shape_numbers"] = kinds, sizes, numbers
    return about, arrays | _packed(cast("Geometry", columns.geometries[int(one)]) for one in used[order])


def _options_of(about: Any, arrays: Arrays) -> dict[str, Any]:
    """Give the arguments that the world was made with, checked as far as `World` does not do that."""
    is_header = isinstance(about, dict) and tuple(about) == tuple(_HEADER)
    _require(is_header, f"the header must have the keys {', '.join(_HEADER)}")
    for key, (types, limits) in _HEADER.items():
        value = about[key]
        fits = type(value) in types and (limits is None or value in limits)
        _require(fits and (key, value) != ("workers", 0), f"{key} cannot be {quoted(value)}")
    bounds = _Stored(arrays).maybe("bounds", np.float64, (2, about["dim"]))
    options = {key: about[key] for key in _OPTIONS}
    if isinstance(about["method"], dict):
        try:
            options["method"] = IndexOptions.of(about["method"])
        except (ValueError, TypeError) as error:
            _require(False, f"method: {error}")
    return {"bounds": bounds} | options


def restore(columns: Columns, core: _native.World, actors: Actors, found: Contents) -> None:
    """Fill a world that was just made by the options with what a snapshot holds.

    Arrays that are missing, too many, of a wrong shape, or contradict each other raise ValueError. The world is of no
    use then.
    """
    about = found.about
    stored, slots = _Stored(found.arrays), about["slots"]
    stored.maybe("bounds", np.float64, (2, columns.dim))
    time = float(stored.take("time", np.float64, ()))
    _require(bool(np.isfinite(time)), f"time cannot be {time}")
    core.quiet_steps = about["quiet_steps"]
    columns.layers = Layers.from_state(about["layers"])
    alive = stored.take("alive", np.bool_, (slots,))
    generation = stored.take("generation", np.int64, (slots,))
    _require(((generation >= 1) & (generation <= _LAST_GENERATION + 1)).all(), "generation is out of range")
    _require((generation[alive] <= _LAST_GENERATION).all(), "generation of a row in use is past the last")
    columns.rows.restore(alive, generation)
    columns.reserve()
    _restore_columns(stored, columns, alive)

    kinds = stored.take("shape_kinds", np.uint8, (columns.rows.living,))
    sizes = stored.take("shape_sizes", np.int32, (columns.rows.living,))
    numbers = stored.take("shape_numbers", np.float64, (None,))
    columns.geometries.extend(_unpacked(stored))
    _checked_records(kinds, sizes, numbers, columns.dim, columns.geometries)
    for placement in (columns.seen, columns.spare):  # also where the last rows are free
        placement.store.extend(slots)
    rows, records, change = columns.rows.numbers, Records(kinds, sizes, numbers), Change()
    columns.count_geometries(change, used=records)
    columns.set_shapes(change, rows, records)
    try:
        change.commit()
    except ValueError as error:
        _require(False, f"shape_kinds, shape_sizes and shape_numbers: {error}")
    _require(
        len(columns.geometries.references) == len(columns.geometries), "shape_numbers does not name each hull and mesh"
    )
    for name in ("changed", "renewed"):
        flags = stored.take(name, np.uint8, (slots,))
        _require((flags <= 1).all(), f"{name} has flags other than 0 and 1")
        getattr(columns, name)[:slots] = flags
    _require(not columns.changed[:slots][~alive].any(), "changed names a row that is not in use")
    _restore_memory(columns, core, stored, about["removals"], about["number"])
    stored.finish()
    core.number, core.time = about["number"], time
    _check_data(found.data, alive)
    actors.give_data(dict(found.data))


def give_classes(columns: Columns, actors: Actors, given: ActorClasses) -> None:
    """Give rows actors of these classes, by row or by name of a layer; they keep the data."""
    classes: dict[int, type[Actor]] = {}
    for which, kind in sorted(given.items(), key=lambda item: not isinstance(item[0], str)):
        if isinstance(which, str):
            bit, rows = np.uint64(columns.layers.bits(which, "actors")), columns.rows.numbers
            rows = rows[(columns.rare("layer")[rows] & bit) != 0]
        else:
            rows = columns.rows.known(which)
        classes.update(dict.fromkeys(rows.tolist(), kind))
    for row, kind in classes.items():
        data, change = actors.get(row).data, Change()
        actors.attach(change, [actors.prepare(kind)], np.array([row], np.int32), [data])
        change.commit()


def _check_data(data: Any, alive: NDArray[np.bool_]) -> None:
    """Check the data of actors, a list of rows in use and values; ValueError for anything else."""
    before = -1
    if not isinstance(data, list):
        raise ValueError("the data of a snapshot is not a list")
    for entry in data:
        if not isinstance(entry, list) or len(entry) != 2 or type(entry[0]) is not int or entry[1] is None:
            raise ValueError("the data of a snapshot is not a list of rows and values")
        if not before < entry[0] < len(alive) or not alive[entry[0]]:
            raise ValueError(f"the data of a snapshot names row {entry[0]}, which is not in use")
        before = entry[0]


def _restore_columns(stored: _Stored, columns: Columns, alive: NDArray[np.bool_]) -> None:
    found: Arrays = {}
    for name, column in COLUMNS.items():
        blank = columns.blank(name)
        values = stored.maybe(name, blank.dtype, (len(alive), *blank.shape))
        if values is None:
            _require(not column.is_always, f"{name} is missing")
            continue
        _require(bool((values[~alive] == blank).all()), f"{name} of unused rows")
        _require(column.may_hold(values), f"{name} is out of range")
        found[name] = values
    _require(("rotations" in found) == ("seen_rotations" in found), "rotations without seen_rotations")
    if "rotations" in found or "angular_velocities" in found:
        columns.with_rotations()
    if "angular_velocities" in found:
        columns.with_angular_velocities()
    for name, values in found.items():
        owner, attribute = columns.owner_of(name)
        kept = getattr(owner, attribute)
        if kept is None:
            setattr(owner, attribute, values)
        else:
            kept[: len(alive)] = values
    _require(columns.boundaries is None or columns.bounds is not None, "boundaries without bounds")
    _require(columns.closed or columns.ccd is None or not columns.ccd.any(), "ccd with open boxes")
    if columns.dim == 3 and columns.seen.rotations is not None:
        _require(bool(is_rotation(columns.seen.rotations).all()), "seen_rotations has a zero quaternion")


def _restore_memory(columns: Columns, core: _native.World, stored: _Stored, removals: bool, number: int) -> None:
    slots, alive = columns.slots, columns.rows.alive[: columns.slots]
    renewed = columns.renewed[:slots].view(np.bool_)
    there = alive | renewed
    _require(removals or not renewed.any(), "renewed has rows, and removals is false")
    core.set_touching(_checked_pairs(stored.take("touching", np.int32, (None, 2)), "touching", there), slots)
    waiting = _checked_pairs(stored.take("waiting", np.int32, (None, 2)), "waiting", there)
    since = stored.take("waiting_since", np.int64, (len(waiting),))
    dropped = stored.take("waiting_dropped", np.uint8, (len(waiting),))
    _require(((since >= 1) & (since <= number)).all(), "waiting_since has a step that has not been")
    _require((dropped <= 1).all(), "waiting_dropped has flags other than 0 and 1")
    core.waiting = waiting, since, dropped
    if removals:
        then = stored.take("generation_then", np.int64, (slots,))
        _require(((then >= 1) & (then <= columns.rows.generation[:slots])).all(), "generation_then is out of range")
        _require(np.array_equal(then[~renewed], columns.rows.generation[:slots][~renewed]), "generation_then differs")
        columns.generation_then = then
    ignored = stored.maybe("ignored", np.int32, (None, 2))
    if ignored is not None:
        columns.ignored = _checked_pairs(ignored, "ignored", alive)
    displaced = stored.maybe("displaced", np.int32, (None,))
    if displaced is not None and len(displaced):
        _require((np.diff(displaced) > 0).all(), "displaced is not in order")
        _require(displaced[0] >= 0 and displaced[-1] < slots and bool(alive[displaced].all()), "displaced: no such row")
        columns.displaced[displaced], columns.has_displaced = 1, True


# Columns that are stored together. Without layers, rows are in the layer "default"; beside masks, none would mean all.
_TOGETHER = {"rotations": {"rotations", "seen_rotations"}, "mask": {"layer", "mask"}}


def _described_columns(columns: Columns, alive: NDArray[np.bool_]) -> Arrays:
    """Give the columns, but for those that exist only because somebody looked."""
    arrays: Arrays = {}
    needed = set()
    for name, column in COLUMNS.items():
        owner, attribute = columns.owner_of(name)
        if (kept := getattr(owner, attribute)) is None:
            continue
        blank = columns.blank(name)
        values = arrays[name] = np.where(alive.reshape(-1, *[1] * blank.ndim), kept[: len(alive)], blank)
        if name == "boundaries":
            blank = columns.defaults(name, columns.body_types[: len(alive)])
        if column.is_always or (values != blank)[alive].any():
            needed |= _TOGETHER.get(attribute, {name})
    return {name: values for name, values in arrays.items() if name in needed}


def _packed(geometries: Iterable[Geometry]) -> Arrays:
    """Give what geometries are made of, by number."""
    arrays: Arrays = {}
    for number, geometry in enumerate(geometries):
        if isinstance(geometry, Mesh):
            arrays[f"mesh_vertices_{number}"], arrays[f"mesh_faces_{number}"] = geometry.vertices, geometry.faces
        elif isinstance(geometry, HeightField):
            arrays[f"field_heights_{number}"] = geometry.heights
            arrays[f"field_grid_{number}"] = np.array([*geometry.cell, geometry.bottom])
        elif isinstance(geometry, PointCloud):
            arrays[f"cloud_points_{number}"] = geometry.points
            arrays[f"cloud_radius_{number}"] = np.array([geometry.radius])
        else:
            arrays[f"hull_points_{number}"] = geometry.vertices
    return arrays


def _unpacked(stored: _Stored) -> list[Geometry]:
    """Make the geometries of a snapshot."""
    geometries: list[Geometry] = []
    while True:
        number = len(geometries)
        points = stored.maybe(f"hull_points_{number}", np.float64, (None, 3))
        vertices = stored.maybe(f"mesh_vertices_{number}", np.float64, (None, 3))
        heights = stored.maybe(f"field_heights_{number}", np.float64, (None, None))
        cloud = stored.maybe(f"cloud_points_{number}", np.float64, (None, 3))
        if points is None and vertices is None and heights is None and cloud is None:
            return geometries
        name = f"hull_points_{number}"
        try:
            if points is not None:
                geometries.append(ConvexHull(points))
            elif cloud is not None:
                name = f"cloud_points_{number} and cloud_radius_{number}"
                radius = stored.take(f"cloud_radius_{number}", np.float64, (1,))
                geometries.append(PointCloud(cloud, float(radius[0])))
            elif heights is not None:
                name = f"field_heights_{number} and field_grid_{number}"
                dx, dy, bottom = stored.take(f"field_grid_{number}", np.float64, (3,)).tolist()
                geometries.append(HeightField(heights, (dx, dy), bottom))
            else:
                name = f"mesh_vertices_{number} and mesh_faces_{number}"
                faces = stored.take(f"mesh_faces_{number}", np.int32, (None, 3))
                geometries.append(Mesh(cast("Floats", vertices), faces))
        except ValueError as error:
            _require(False, f"{name}: {error}")


def _require(holds: Any, fault: str) -> None:
    """Raise ValueError unless something holds."""
    if not holds:
        raise ValueError(f"the snapshot is inconsistent: {fault}")


class _Stored:
    """The arrays of a snapshot, each of which is taken once."""

    def __init__(self, arrays: dict[str, NDArray[Any]]) -> None:
        self._arrays = dict(arrays)

    def maybe(self, name: str, dtype: DTypeLike, shape: tuple[int | None, ...]) -> NDArray[Any] | None:
        """Take an array of a dtype and a shape, None in it for any length; None if there is no such array."""
        array = self._arrays.pop(name, None)
        if array is None:
            return None
        fits = array.ndim == len(shape) and all(
            wanted in (None, length) for wanted, length in zip(shape, array.shape, strict=True)
        )
        if array.dtype != dtype or not fits:
            _require(False, f"{name} is {array.dtype} of shape {array.shape}")
        return array

    def take(self, name: str, dtype: DTypeLike, shape: tuple[int | None, ...]) -> NDArray[Any]:
        """Take an array that must be there."""
        array = self.maybe(name, dtype, shape)
        if array is None:
            raise ValueError(f"the snapshot has no array {quoted(name)}")
        return array

    def finish(self) -> None:
        """Refuse arrays that have not been taken."""
        _require(not self._arrays, f"there are arrays {', '.join(map(repr, self._arrays))}")


def _checked_pairs(pairs: NDArray[np.int32], name: str, there: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Check pairs of rows, first < second, each once, of rows that are there; give them as two columns."""
    if len(pairs):
        _require(pairs.min() >= 0 and pairs.max() < len(there), f"{name} has a row that does not exist")
        _require((pairs[:, 0] < pairs[:, 1]).all(), f"{name} has a pair whose first row is not the lesser")
        _require(bool(there[pairs].all()), f"{name} has a row that is not in use")
        keys = (pairs[:, 0].astype(np.int64) << 32) | pairs[:, 1]
        _require((np.diff(keys) > 0).all(), f"{name} is not in order, or has a pair twice")
    return np.ascontiguousarray(pairs.T).T


def _checked_records(
    kinds: NDArray[np.uint8], sizes: NDArray[np.int32], numbers: Floats, dimension: int, geometries: Geometries
) -> None:
    """Check the numbers of shapes; that there are as many as there should be is checked where they are kept."""
    # False for NaN, too. Rotated and moved by an offset, numbers may be somewhat larger than users may give.
    _require((np.abs(numbers) <= 10 * LARGEST).all(), "shape_numbers has one that is not finite, or too large")
    _require((sizes >= 0).all() and int(sizes.sum(dtype=np.int64)) == len(numbers), "shape_sizes do not add up")
    begins = np.cumsum(sizes, dtype=np.int64) - sizes
    storable = [kind for kind in ShapeKind if kind != ShapeKind.CUSTOM]  # a file cannot hold the test of a type
    _require(np.isin(kinds, storable).all(), "shape_kinds has an unknown type")
    for kind in storable:
        some = kinds == kind
        for size in np.unique(sizes[some]).tolist():
            records = numbers[begins[some & (sizes == size)][:, np.newaxis] + np.arange(size)]
            if RECORDS[kind].has_parts:
                _check_compounds(records, dimension)
            elif RECORDS[kind].is_kept_elsewhere:
                _check_geometries(kind, records, geometries)
            else:
                _check_lengths(kind, records, dimension)


def _check_lengths(kind: ShapeKind, records: Floats, dimension: int) -> None:
    lengths = records[:, layout_of(kind, dimension, records.shape[1]).lengths]
    _require(not (lengths < 0).any(), f"shape_numbers: a {kind.name.lower()} has a negative length")


def _check_compounds(records: Floats, dimension: int) -> None:
    """Check compounds of one length, those that have the same parts together."""
    while len(records):
        first, heads, parts = records[0], [], []
        at = 0
        while at + 2 <= len(first):
            kind, size = first[at], first[at + 1]
            _require(kind in tuple(ShapeKind), "shape_numbers: a compound has a part of an unknown type")
            _require(
                0 <= size <= len(first) - at - 2 and size == int(size),
                "shape_numbers: a compound has a part of an impossible size",
            )
            heads += [at, at + 1]
            parts.append((ShapeKind(int(kind)), slice(at + 2, at + 2 + int(size))))
            at += 2 + int(size)
        alike = (records[:, heads] == first[heads]).all(axis=1)
        for part, where in parts:
            if not (RECORDS[part].has_parts or RECORDS[part].is_kept_elsewhere):
                _check_lengths(part, records[alike, where], dimension)
        records = records[~alike]


def _check_geometries(kind: ShapeKind, records: Floats, geometries: Geometries) -> None:
    """Check hulls, or meshes: which they are, and the boxes around them."""
    _require(records.shape[1] >= 7, f"shape_sizes: a {kind.name.lower()} has too few numbers")
    for number in np.unique(records[:, 0]).tolist():
        _require(number == int(number) and int(number) in geometries, f"shape_numbers names geometry {number:g}")
        geometry = cast("Geometry", geometries[int(number)])
        _require(geometry.kind == kind, f"shape_numbers: geometry {number:g} is no {kind.name.lower()}")
        corners = geometry.bounds.reshape(-1)
        boxes = records[records[:, 0] == number, -6:]
        _require((boxes == corners).all(), f"shape_numbers: geometry {number:g} has another size")
