"""Boxes by tile: each stretch of the input is divided once, and kept in memory or in a file until it is joined."""

from __future__ import annotations

import os
import zipfile
import zlib
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.arguments import undamaged
from broadphase.errors import FileFormatError, clipped
from broadphase.scale.clock import Clock
from broadphase.scale.columns import BoxSet, arrow
from broadphase.scale.ids import id_range
from broadphase.scale.tiles import WIDE, assigned

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from broadphase.scale.columns import BoxColumns
    from broadphase.scale.planning import Plan

__all__ = ["Spill", "made"]


class Spill:
    """The boxes of one set, by tile.

    A **chunk** has the boxes of one stretch of the input: for each tile that they meet a run of boxes, those first
    whose lower corners lie in the tile. In a folder, a chunk is a file with a record batch of Arrow for each run, and
    an index that is written last: a chunk without one is not there. No folder: chunks stay in memory.

    `ids` are the ranges of ids in the chunks that are there; `clock` counts the time of ``assign`` and ``spill``.
    """

    def __init__(self, plan: Plan, columns: BoxColumns, folder: Path | None, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self.plan = plan
        self.columns = columns
        self.folder = folder
        self.ids: list[tuple[int, int] | None] = []
        self._schema: Any = None  # of the record batches in files
        # Of each chunk: tile, boxes that come first, and boxes of each run, and where it begins and ends in a file; the
        # runs, or None if they are in a file.
        self._chunks: dict[int, tuple[NDArray[np.int64], list[BoxSet] | None]] = {}
        self._counted = 0, np.zeros(plan.tile_count + 1, np.int64)  # of how many chunks

    def has(self, number: int) -> bool:
        """Return whether a chunk is there, perhaps from an earlier run."""
        if number not in self._chunks and self.folder is not None and self._index_path(number).exists():
            # Of a damaged index, the boxes are read again.
            with suppress(zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, KeyError, TypeError):
                self._open(number)
        return number in self._chunks

    def _open(self, number: int) -> None:
        """Take over a chunk of an earlier run, if its file is whole; any error if its index is damaged."""
        with self._index_path(number).open("rb") as stream, np.load(stream) as index:
            size, runs, ids, ascending = (index[name] for name in ("bytes", "runs", "ids", "ascending"))
            schema = arrow().ipc.read_schema(arrow().py_buffer(index["schema"].tobytes()))
        ends = np.append(0, runs[:, 4])
        is_right = (
            runs.dtype == np.int64
            and runs.shape[1] == 5
            and bool(np.isin(runs[:, 0], np.arange(WIDE, self.plan.tile_count)).all())
            and bool(((runs[:, 1] >= 0) & (runs[:, 1] <= runs[:, 2]) & (runs[:, 3] == ends[:-1])).all())
            and bool((np.diff(ends) >= 0).all())
            and ends[-1] == size == self._path(number).stat().st_size
        )
        if is_right:
            ranges = [(int(first), int(last)) for first, last in ids]
            self._schema = schema
            self._keep(number, runs, None, [*ranges, *([] if ascending else [None])])

    def _keep(
        self, number: int, index: NDArray[np.int64], runs: list[BoxSet] | None, ids: list[tuple[int, int] | None]
    ) -> None:
        self.ids += ids
        self._chunks[number] = index, runs

    def add(self, number: int, pieces: Iterator[BoxSet]) -> int:
        """Divide a chunk; return the bytes that it takes."""
        found: list[tuple[int, int, int]] = []
        ranges: list[tuple[int, int] | None] = []
        runs: list[BoxSet] = []
        ends = [0]
        with nullcontext() if self.folder is None else self._path(number).open("wb") as stream:
            for boxes in pieces:
                ranges.append(id_range(boxes.ids))
                with self.clock.measure("assign"):
                    divided = list(self._runs(boxes))
                found += [entry for entry, _ in divided]
                if stream is None:
                    runs += [run for _, run in divided]
                    continue
                with self.clock.measure("spill"):
                    for _, run in divided:
                        batch = run.to_batch()
                        self._schema = batch.schema
                        ends.append(ends[-1] + stream.write(batch.serialize()))
        index = np.array(found, np.int64).reshape(-1, 3)
        if self.folder is None:
            self._keep(number, index, runs, ranges)
            return sum(run.corners.nbytes for run in runs)
        index, size = np.column_stack([index, ends[:-1], ends[1:]]), ends[-1]
        unfinished = self._index_path(number).with_suffix(".part")
        with unfinished.open("wb") as stream:
            apart = np.array([one for one in ranges if one], np.int64).reshape(-1, 2)
            schema = np.frombuffer(self._schema.serialize(), np.uint8)
            np.savez(stream, runs=index, bytes=size, ids=apart, ascending=None not in ranges, schema=schema)
        os.replace(unfinished, self._index_path(number))
        self._keep(number, index, None, ranges)
        return size

    def put(self, index: NDArray[np.int64], boxes: BoxSet) -> None:
        """Add a chunk that is divided already: its index, with tile, homes and boxes of each run, and all its boxes."""
        ends = np.cumsum(index[:, 2]).tolist()
        runs = [boxes.slice(end - count, end) for end, count in zip(ends, index[:, 2].tolist(), strict=True)]
        self._chunks[len(self._chunks)] = index, runs

    def _runs(self, boxes: BoxSet) -> Iterator[tuple[tuple[int, int, int], BoxSet]]:
        offsets, homes, rows, wide = assigned(boxes, self.plan, self.columns.margin)
        if len(wide):
            yield (WIDE, len(wide), len(wide)), boxes.take(wide)
        if len(rows) == 0:
            return
        ordered = boxes.take(rows)
        for tile in np.flatnonzero(np.diff(offsets)).tolist():
            begin, end = int(offsets[tile]), int(offsets[tile + 1])
            yield (tile, int(homes[tile]), end - begin), ordered.slice(begin, end)

    def counts(self) -> NDArray[np.int64]:
        """Return how many boxes meet each tile; the last number is that of wide boxes."""
        if self._counted[0] != len(self._chunks):
            counts = np.zeros(self.plan.tile_count + 1, np.int64)
            for index, _ in self._chunks.values():
                np.add.at(counts, index[:, 0], index[:, 2])
            self._counted = len(self._chunks), counts
        return self._counted[1]

    def count(self, tile: int) -> int:
        """Return how many boxes meet a tile."""
        return int(self.counts()[tile])

    def blocks(self, tile: int, rows: int) -> Iterator[BoxSet]:
        """Yield the boxes of a tile, about so many at a time."""
        waiting: list[BoxSet] = []
        count = 0
        for run, _ in self.runs(tile):
            for begin in range(0, len(run), rows):
                part = run.slice(begin, min(len(run), begin + rows))
                if waiting and count + len(part) > rows:
                    yield BoxSet.concatenated(waiting)
                    waiting, count = [], 0
                waiting.append(part)
                count += len(part)
        if waiting:
            yield BoxSet.concatenated(waiting)

    def every_id(self) -> Iterator[Any]:
        """Yield the id of each box, once: those of a tile where its lower corner lies, and of wide ones."""
        for tile in range(WIDE, self.plan.tile_count):
            for run, homes in self.runs(tile):
                yield run.slice(0, homes).ids

    def load(self, tile: int) -> BoxSet:
        """Return all boxes of a tile that has some, those first whose lower corners lie in it."""
        runs = list(self.runs(tile))
        heads = [run.slice(0, homes) for run, homes in runs if homes]
        return BoxSet.concatenated(heads + [run.slice(homes, len(run)) for run, homes in runs if homes < len(run)])

    def runs(self, tile: int) -> Iterator[tuple[BoxSet, int]]:
        """Yield the runs of a tile, and how many boxes of each have their lower corner in it."""
        for number in sorted(self._chunks):
            index, kept = self._chunks[number]
            found = np.flatnonzero(index[:, 0] == tile)
            if len(found) == 0:
                continue
            if kept is not None:
                yield from ((kept[run], int(index[run, 1])) for run in found)
                continue
            with self._path(number).open("rb", buffering=0) as stream:
                for _, homes, rows, begin, end in index[found].tolist():
                    stream.seek(begin)
                    yield self._read(number, stream.read(end - begin), rows), homes

    def _read(self, number: int, data: bytes, rows: int) -> BoxSet:
        try:
            batch = arrow().ipc.read_record_batch(data, self._schema)
            undamaged(batch, "a run", is_utf8=False)
            if batch.num_rows != rows:
                raise ValueError(f"{batch.num_rows} boxes instead of {rows}")
        except (ValueError, OSError, NotImplementedError) as error:  # errors of Arrow are of these
            raise FileFormatError(
                f"{self._path(number)} is damaged ({clipped(str(error))}); delete its folder, and call again"
            ) from None
        return BoxSet.from_batch(batch, self.columns)

    def _path(self, number: int) -> Path:
        assert self.folder is not None
        return self.folder / f"chunk-{number:06d}.arrow"

    def _index_path(self, number: int) -> Path:
        return self._path(number).with_suffix(".npz")


def made(folder: Path) -> Path:
    """Make a folder unless it is there."""
    folder.mkdir(parents=True, exist_ok=True)
    return folder
