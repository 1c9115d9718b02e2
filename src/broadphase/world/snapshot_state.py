"""What a snapshot has to say of a world: out of the world, and checked into another one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.shapes.records import Geometries
from broadphase.workers import worker_count
from broadphase.world.columns import SELDOM, unturned
from broadphase.world.layers import ALL_BITS, Layers
from broadphase.world.snapshot_checks import Stored, checked_pairs, checked_records, require
from broadphase.world.snapshot_shapes import pack_geometries, unpack_geometries

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from broadphase.world.columns import Columns
    from broadphase.world.world import World

    Arrays = dict[str, NDArray[Any]]

__all__ = ["describe", "options_of", "restore"]

_LAST_GENERATION = 2**31 - 1  # as in index/rows.py: above it, a row is never used again
_KEYS = ("dimension", "method", "border", "margin", "workers", "steps", "slots", "removals", "quiet_steps", "layers")


def describe(world: World) -> tuple[dict[str, Any], Arrays]:
    """Say all that decides what a world does from now on, in one way for one state.

    What nobody can see is left out or made equal: values of rows that are not in use, columns that say nothing.

    Returns
    -------
    about : dict
        Options and counts, as JSON.
    arrays : dict of str to ndarray
        The rest. May be views of what the world has.
    """
    columns, memory, search = world._columns, world._memory, world._broad_phase
    slots, alive = columns.slots, columns.rows.alive[: columns.slots]
    about = {
        "dimension": columns.dimension,
        "method": search.method,
        "border": world._border,
        "margin": search.margin,
        "workers": search.workers,
        "steps": world._number,
        "slots": slots,
        "removals": memory.generations is not None,
        "quiet_steps": search.steps_with_few_changes,
        "layers": world._layers.state(),
    }
    arrays: Arrays = {"time": np.array(world._time), "alive": alive, "generation": columns.rows.generation[:slots]}
    if world._bounds is not None:
        arrays["bounds"] = world._bounds
    for name, blank in _blanks(columns).items():
        column = _column(columns, name)
        if column is not None:
            values = np.where(alive.reshape(-1, *[1] * (column.ndim - 1)), column[:slots], blank)
            if name in ("layer", "mask") or _says_something(columns, name, alive, blank):
                arrays[name] = values
    for name in ("changed", "renewed"):
        arrays[name] = getattr(columns, name)[:slots]
    if memory.generations is not None:
        arrays["generation_then"] = columns.rows.generation[:slots].copy()
        rows = np.unique(memory.touching)
        arrays["generation_then"][rows] = memory.generations[rows]
    arrays["touching"], arrays["again"] = memory.touching, memory.again
    if world._ignored.pairs is not None:
        arrays["ignored"] = world._ignored.pairs
    if world._displaced:
        rows = np.unique(np.concatenate(world._displaced))
        arrays["displaced"] = rows[alive[rows]].astype(np.int32)
    if len(world._gone):
        arrays["gone"] = world._gone
    records: Any = columns.shapes.records(world.rows)
    arrays["shape_kinds"], arrays["shape_sizes"], arrays["shape_numbers"] = records
    return about, arrays | pack_geometries(columns.geometries)


def options_of(about: Any, arrays: Arrays) -> dict[str, Any]:
    """Give the arguments that the world was made with, all but checked: `World` does that.

    Raises
    ------
    ValueError
        The header is not that of a world.
    """
    require(isinstance(about, dict) and tuple(about) == _KEYS, f"the header must have the keys {', '.join(_KEYS)}")
    for key, kinds in {
        "dimension": (int,),
        "method": (str,),
        "border": (str,),
        "margin": (int, float, type(None)),
        "workers": (int,),
        "steps": (int,),
        "slots": (int,),
        "removals": (bool,),
        "quiet_steps": (int,),
        "layers": (dict,),
    }.items():
        require(type(about[key]) in kinds, f"{key} cannot be {about[key]!r}")
    require(about["dimension"] in (2, 3), f"dimension cannot be {about['dimension']}")
    require(0 <= about["steps"] < 2**63, f"steps cannot be {about['steps']}")
    require(0 <= about["quiet_steps"] < 2**31, f"quiet_steps cannot be {about['quiet_steps']}")
    require(0 <= about["slots"] <= 2**31 - 64, f"slots cannot be {about['slots']}")
    bounds = Stored(arrays).maybe("bounds", np.float64, (2, about["dimension"]))
    worker_count(about["workers"])
    return {"dim": about["dimension"], "bounds": bounds} | {
        key: about[key] for key in ("method", "border", "margin", "workers")
    }


def restore(world: World, about: dict[str, Any], arrays: Arrays) -> None:
    """Fill a world that was just made by the options with what a snapshot says.

    Raises
    ------
    ValueError
        Arrays are missing, too many, of a wrong shape, or contradict each other. The world is of no use then.
    """
    stored, columns, slots = Stored(arrays), world._columns, about["slots"]
    stored.maybe("bounds", np.float64, (2, columns.dimension))
    world._number, world._time = about["steps"], float(stored.take("time", np.float64, ()))
    world._broad_phase.steps_with_few_changes = about["quiet_steps"]
    world._layers = Layers.from_state(about["layers"])
    alive = stored.take("alive", np.bool_, (slots,))
    generation = stored.take("generation", np.int64, (slots,))
    require(bool(((generation >= 1) & (generation <= _LAST_GENERATION + 1)).all()), "a generation is out of range")
    require(bool((generation[alive] <= _LAST_GENERATION).all()), "a row is used that has been used up")
    columns.rows.restore(alive, generation)
    columns.reserve()
    _restore_columns(stored, columns, alive)

    kinds, sizes = (
        stored.take(name, dtype, (columns.rows.living,))
        for name, dtype in (("shape_kinds", np.uint8), ("shape_sizes", np.int32))
    )
    numbers = stored.take("shape_numbers", np.float64, (None,))
    columns.geometries = Geometries(unpack_geometries(stored))
    checked_records(kinds, sizes, numbers, columns.dimension, columns.geometries)
    rows = columns.rows.numbers
    columns.shapes.set(rows, kinds, sizes, numbers)
    columns.place_where_seen(rows)
    for name in ("changed", "renewed"):
        flags = stored.take(name, np.uint8, (slots,))
        require(bool((flags <= 1).all()), f"{name} has flags other than 0 and 1")
        getattr(columns, name)[:slots] = flags
    require(not columns.changed[:slots][~alive].any(), "a row has changed that is not in use")
    _restore_memory(world, stored, about["removals"])
    stored.finish()


def _restore_columns(stored: Stored, columns: Columns, alive: NDArray[np.bool_]) -> None:
    slots = len(alive)
    for name, blank in _blanks(columns).items():
        shape = (slots, *np.shape(blank))
        dtype = np.asarray(blank).dtype
        values = stored.maybe(name, dtype, shape)
        if values is None:
            require(name not in ("positions", "velocities", "seen_positions", "kinds"), f"{name} is missing")
            continue
        require(np.array_equal(values[~alive], np.broadcast_to(blank, values[~alive].shape)), f"{name} of unused rows")
        if name in ("layer", "mask"):
            setattr(columns.rows, name, values)
        else:
            setattr(columns, name, values)
    require((columns.rotations is None) == (columns.seen_rotations is None), "rotations without seen_rotations")
    if columns.spins is not None:  # what has a spin has a rotation, too, be it none yet
        columns.with_rotations()
    require(bool((columns.kinds <= 2).all()), "a kind of row is unknown")
    require(columns.every is None or bool((columns.every >= 1).all()), "every is less than 1")
    require(bool(np.isfinite(columns.seen_positions).all()), "a row was seen nowhere")
    if columns.seen_rotations is not None:
        require(bool(np.isfinite(columns.seen_rotations).all()), "a row was seen turned by no number")
        if columns.dimension == 3:
            require(bool(columns.seen_rotations.any(axis=1).all()), "a row was seen turned by a quaternion of length 0")


def _restore_memory(world: World, stored: Stored, removals: bool) -> None:
    columns, memory = world._columns, world._memory
    slots, alive = columns.slots, columns.rows.alive[: columns.slots]
    renewed = columns.renewed[:slots].view(np.bool_)
    there = alive | renewed
    require(removals or not renewed.any(), "rows were removed, and none was")
    memory.touching = checked_pairs(stored.take("touching", np.int32, (None, 2)), "touching", there, in_order=True)
    memory.starts = np.searchsorted(memory.touching[:, 0], np.arange(slots + 1)).astype(np.uint32)
    memory.again = checked_pairs(stored.take("again", np.int32, (None, 2)), "again", there, in_order=False)
    if removals:
        then = stored.take("generation_then", np.int64, (slots,))
        require(
            bool(((then >= 1) & (then <= columns.rows.generation[:slots])).all()), "generation_then is out of range"
        )
        require(np.array_equal(then[~renewed], columns.rows.generation[:slots][~renewed]), "generation_then differs")
        memory.generations = then
    ignored = stored.maybe("ignored", np.int32, (None, 2))
    if ignored is not None:
        world._ignored.pairs = checked_pairs(ignored, "ignored", alive, in_order=True)
    displaced = stored.maybe("displaced", np.int32, (None,))
    if displaced is not None and len(displaced):
        require(bool((np.diff(displaced) > 0).all()), "displaced is not in order")
        require(displaced[0] >= 0 and displaced[-1] < slots and bool(alive[displaced].all()), "displaced: no such row")
        world._displaced.append(displaced)

    gone = stored.maybe("gone", np.int64, (None,))
    if gone is not None:
        rows = gone & 0xFFFF_FFFF
        require(bool(((gone >= 0) & (rows < slots)).all()), "gone has a row that does not exist")
        require(bool((gone >> 32 < columns.rows.generation[rows]).all()), "gone has a row that is still there")
        world._gone = gone


def _blanks(columns: Columns) -> dict[str, Any]:
    """Say what each column has in rows that are not in use, or were given nothing."""
    d = columns.dimension
    still, turn = np.zeros(d), unturned(1, d)[0]
    return {
        "positions": still,
        "velocities": still,
        "seen_positions": still,
        "kinds": np.uint8(0),
        "rotations": turn,
        "seen_rotations": turn,
        "spins": np.float64(0) if d == 2 else np.zeros(3),
        "layer": np.uint64(1),
        "mask": np.uint64(ALL_BITS),
    } | {name: dtype(value) for name, (dtype, value) in SELDOM.items()}


def _column(columns: Columns, name: str) -> NDArray[Any] | None:
    found: NDArray[Any] | None = getattr(columns.rows if name in ("layer", "mask") else columns, name)
    return found


def _says_something(columns: Columns, name: str, alive: NDArray[np.bool_], blank: Any) -> bool:
    """Whether a column is kept: those that exist only because somebody looked are as good as none."""
    if name in ("positions", "velocities", "seen_positions", "kinds"):
        return True
    names = ("rotations", "seen_rotations") if "rotations" in name else (name,)
    parts = [_column(columns, one) for one in names]
    return any(part is not None and (part[: len(alive)][alive] != blank).any() for part in parts)
