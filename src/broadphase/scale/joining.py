"""The pairs of one tile after the other, in bounded memory whatever a tile holds."""

from __future__ import annotations

import math
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase import _native
from broadphase.scale.clock import Clock
from broadphase.scale.columns import arrow
from broadphase.scale.planning import Plan, divide
from broadphase.scale.spill import Spill, made
from broadphase.scale.tiles import WIDE, portions

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from broadphase.scale.columns import BoxColumns, BoxSet
    from broadphase.scale.places import Place

__all__ = ["StoppedError", "TileJoin", "tile_name", "write_pairs"]

_SPLIT_WORTHWHILE = 0.8
_SAMPLE = 1 << 16


class StoppedError(Exception):
    """Another thread has failed, or Ctrl-C was pressed."""


@dataclass(eq=False)
class TileJoin:
    """Finds the pairs of tiles, of one set or of two; tiles that are too large are divided again, in `scratch`.

    `tile_rows` boxes can be joined at a time, `chunk_pairs` pairs are yielded at a time. `stopped` ends the search by
    StoppedError; `clock` counts the time of ``load`` and ``join``.
    """

    spills: list[Spill]
    tile_rows: int
    chunk_pairs: int
    scratch: Path
    stopped: threading.Event
    clock: Clock = field(default_factory=Clock)

    @property
    def columns(self) -> BoxColumns:
        """What the columns mean."""
        return self.spills[0].columns

    def pairs_of(self, tile: int) -> Iterator[Any]:
        """Yield tables of the pairs that belong to a tile; pairs of WIDE are of wide boxes with each other."""
        if tile == WIDE:
            return self._within(self.spills, WIDE, None)
        return self._all_of(self.spills, tile, self.spills[0].plan.bounds[tile])

    def _all_of(self, spills: list[Spill], tile: int, region: NDArray[Any] | None) -> Iterator[Any]:
        """Yield the pairs of a tile: of its boxes with each other, and with the wide ones."""
        yield from self._within(spills, tile, region)
        sides = ((0, 0),) if len(spills) == 1 else ((0, 1), (1, 0))
        for own, other in sides:
            for wide in spills[other].blocks(WIDE, self.tile_rows // 2):
                near = _meeting(wide, region, self.columns.margin)
                if len(near) == 0:
                    continue
                for block in spills[own].blocks(tile, self.tile_rows // 2):
                    first, second = (block, near) if own <= other else (near, block)
                    yield from self._portions(first, second, region)

    def _within(self, spills: list[Spill], tile: int, region: NDArray[Any] | None) -> Iterator[Any]:
        """Yield the pairs of the boxes of a tile; where they are too many, of parts of it."""
        counts = [spill.count(tile) for spill in spills]
        if min(counts) == 0:
            return
        if sum(counts) <= self.tile_rows:
            with self.clock.measure("load"):
                loaded = [spill.load(tile) for spill in spills]
            yield from self._portions(loaded[0], loaded[1] if len(loaded) > 1 else None, region)
            return
        with _divided(spills, tile, sum(counts), self.tile_rows, self.scratch) as parts:
            if parts is not None:
                plan, below = parts
                for part in range(plan.tile_count):
                    yield from self._all_of(below, part, _common(region, plan.bounds[part]))
                yield from self._within(below, WIDE, region)
                return
        yield from self._block_by_block(spills, tile, region)

    def _block_by_block(self, spills: list[Spill], tile: int, region: NDArray[Any] | None) -> Iterator[Any]:
        """Yield the pairs of boxes that no plane divides: each block of them with each other one."""
        rows = self.tile_rows // 2
        for k, block in enumerate(spills[0].blocks(tile, rows)):
            if len(spills) == 1:
                yield from self._portions(block, None, region)
            for m, other in enumerate(spills[-1].blocks(tile, rows)):
                if len(spills) == 2 or m > k:
                    yield from self._portions(block, other, region)

    def _portions(self, first: BoxSet, second: BoxSet | None, region: NDArray[Any] | None) -> Iterator[Any]:
        one_set = len(self.spills) == 1
        found = portions(first, second, region, self.columns, one_set=one_set, chunk=self.chunk_pairs)
        for table in self.clock.each("join", found):
            if self.stopped.is_set():
                raise StoppedError
            yield table


def tile_name(tile: int) -> str:
    """Return the name of a tile in the output."""
    return "wide" if tile == WIDE else f"{tile:06d}"


def write_pairs(
    place: Place, tile: int, tables: Iterable[Any], schema: Any, clock: Clock | None = None
) -> tuple[str | None, int]:
    """Write the pairs of a tile to a file of their own, if there are any; return its name, and how many pairs."""
    parquet = arrow("parquet")
    found = iter(tables)
    table = next(found, None)
    if table is None:
        return None, 0
    file = f"pairs-{tile_name(tile)}.parquet"
    count = 0
    # Numbers that ascend by steps, as ids of pairs nearly do, take half the bytes and half the time of lz4.
    ids = [name for name in ("first", "second") if arrow().types.is_int64(schema.field(name).type)]
    texts = [one.name for one in schema if arrow().types.is_large_string(one.type)]
    options = {
        "compression": {one.name: "none" if one.name in ids else "lz4" for one in schema},
        "column_encoding": dict.fromkeys(ids, "DELTA_BINARY_PACKED"),
        "use_dictionary": texts,
    }
    clock = clock or Clock()
    with place.writing(file) as unfinished, parquet.ParquetWriter(unfinished, schema, **options) as writer:
        while table is not None:
            with clock.measure("write"):
                writer.write_table(table.cast(schema))
            count += table.num_rows
            table = next(found, None)
    return file, count


def _common(region: NDArray[Any] | None, part: NDArray[Any]) -> NDArray[Any]:
    if region is None:
        return part
    return np.stack([np.maximum(region[0], part[0]), np.minimum(region[1], part[1])])


def _meeting(boxes: BoxSet, region: NDArray[Any] | None, margin: float) -> BoxSet:
    if region is None:
        return boxes
    lower, upper = boxes.grown(margin)
    below = (lower < region[1]) | (region[1] == np.inf)
    return boxes.take(np.flatnonzero(np.all(below & (upper >= region[0]), axis=1)))


@contextmanager
def _divided(
    spills: list[Spill], tile: int, rows: int, tile_rows: int, scratch: Path
) -> Iterator[tuple[Plan, list[Spill]] | None]:
    """Divide the boxes of a tile among smaller ones, on disk; None where that would help little."""
    share = max(1.0, rows / _SAMPLE)
    samples = []
    for spill in spills:
        for run, _ in spill.runs(tile):
            sampled: Any = _native.sample_rows(len(run.corners), math.ceil(len(run.corners) / share))
            samples.append(run.corners[sampled])
    corners = np.concatenate(samples)
    plan = divide(corners[:, 0], corners[:, 1], rows, tile_rows / 2)
    if plan.tile_count == 1:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="part-", dir=scratch) as folder:
        below = []
        for k, spill in enumerate(spills):
            below.append(Spill(plan, spill.columns, made(Path(folder) / f"set-{k}")))
            for number, (run, _) in enumerate(spill.runs(tile)):
                below[k].add(number, iter([run]))
        largest = int(np.sum([spill.counts() for spill in below], axis=0).max())
        yield (plan, below) if largest <= _SPLIT_WORTHWHILE * rows else None
