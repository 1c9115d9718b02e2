"""The engine for one machine: boxes by tile on disk or in memory, tiles joined by threads."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.errors import InvalidBoxError
from broadphase.scale.clock import Clock
from broadphase.scale.ids import check_ids
from broadphase.scale.joining import StoppedError, TileJoin, tile_name, write_pairs
from broadphase.scale.output import OTHERWISE
from broadphase.scale.parallel import in_parallel
from broadphase.scale.planning import Plan, divide
from broadphase.scale.report import Report
from broadphase.scale.spill import Spill, made
from broadphase.scale.tiles import WIDE, pair_schema

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from broadphase.progress import Told
    from broadphase.scale.columns import BoxSet
    from broadphase.scale.output import Output
    from broadphase.scale.source import Piece, Source, Stretch

__all__ = ["Sizes", "chosen_plan", "find_pairs", "plan_of", "tile_rows"]

_STEPS = ("read", "assign", "spill", "load", "join", "write")
_LEAST_ROWS, _MOST_ROWS = 1 << 14, 1 << 20
_PIECE_ROWS = 1 << 16  # what a core's own cache holds
_ROWS_PER_RUN = 1 << 13  # in files: that many take longer to read than to find
_LEAST_ROWS_PER_RUN = 256
_JOIN_BYTES = 96  # of a box while it is joined, besides itself: the copies of the methods, and row numbers
_PAIR_BYTES = 64  # of a pair while it is written
_TILES_PER_WORKER = 4
_HEADROOM = 1.25  # samples and tiles are never quite even


@dataclass(frozen=True)
class Sizes:
    """How much of the input is held at a time.

    `piece_rows` boxes are read and divided at a time by each worker; `tile_rows` boxes of a tile can be joined by one;
    `chunk_pairs` pairs are written at a time. `in_memory`: whether all boxes by tile stay in memory.
    """

    piece_rows: int
    tile_rows: int
    chunk_pairs: int
    in_memory: bool

    @classmethod
    def of(cls, memory: int, workers: int, rows: int, row_bytes: float) -> Sizes:
        """Divide the memory among what needs it."""
        in_memory = 1.5 * rows * row_bytes <= 0.35 * memory
        each = (0.35 if in_memory else 0.7) * memory / workers
        chunk = int(np.clip(each / 4 / _PAIR_BYTES, _LEAST_ROWS, _MOST_ROWS))
        piece = int(np.clip(each / (6 * row_bytes), _LEAST_ROWS, _PIECE_ROWS if in_memory else _MOST_ROWS))
        return cls(piece, tile_rows(each - chunk * _PAIR_BYTES, row_bytes), chunk, in_memory)


def find_pairs(
    sources: list[Source], output: Output, *, memory: int, workers: int, plan: Plan | None, progress: Told
) -> Report:
    """Find the pairs of one set of boxes or of two, on so many threads, in so many bytes of memory.

    `plan` None: made from a sample. `progress` is called with a stage, the rows that are done in it, and all rows.
    """
    before = output.stored_report()
    if before is not None:
        return before
    stages = Clock()
    rows = sum(source.box_count for source in sources)
    progress("plan", 0, rows)
    with stages.measure("plan"):
        sizes = Sizes.of(memory, workers, rows, max(source.row_bytes for source in sources))
        plan, piece_rows = chosen_plan(sources, output, plan, sizes, workers)
    progress("plan", rows, rows)
    return _Run(sources, output, plan, sizes, workers, progress).report(rows, piece_rows, stages)


def chosen_plan(
    sources: list[Source], output: Output | None, plan: Plan | None, sizes: Sizes, workers: int
) -> tuple[Plan, int]:
    """Return the plan of a run, that of an earlier run if there was one, and how many rows are read at a time."""
    stored = output.stored_plan() if output else None
    if output and stored:
        if plan is not None and plan.digest != stored[0].digest:
            raise FileExistsError(f"{output.place} holds results of another plan; {OTHERWISE}")
        return stored
    rows = sum(source.box_count for source in sources)
    # Several tiles for each worker, so that all end at about the same time.
    most = min(sizes.tile_rows, max(rows / (_TILES_PER_WORKER * workers), _LEAST_ROWS))
    plan = plan or plan_of([source.sample() for source in sources], rows, most)
    # Many tiles: larger pieces, so that their runs are worth writing.
    piece_rows = min(sizes.piece_rows, max(_PIECE_ROWS, _ROWS_PER_RUN * plan.tile_count))
    piece_rows = max(piece_rows, min(_LEAST_ROWS_PER_RUN * plan.tile_count, _MOST_ROWS))
    if output:
        output.store_plan(plan, piece_rows)
    return plan, piece_rows


def tile_rows(memory: float, row_bytes: float) -> int:
    """Return how many boxes can be joined in so many bytes."""
    return max(_LEAST_ROWS, int(memory / (2 * row_bytes + _JOIN_BYTES)))


def plan_of(corners: list[tuple[NDArray[Any], NDArray[Any]]], rows: int, most: float) -> Plan:
    """Divide space for the boxes of one set or two, judged by samples, so that few tiles have more than `most`."""
    lower, upper = (np.concatenate([sample[side] for sample in corners]) for side in (0, 1))
    return divide(lower, upper, rows, most / _HEADROOM)


class _Run:
    """One run over one set of boxes or two."""

    def __init__(
        self, sources: list[Source], output: Output, plan: Plan, sizes: Sizes, workers: int, progress: Told
    ) -> None:
        self.sources, self.output, self.plan, self.sizes = sources, output, plan, sizes
        self.workers, self.progress = workers, progress
        self.columns = sources[0].columns
        self.stopped = threading.Event()
        self.schema = pair_schema(sources[0].schema, sources[-1].schema, self.columns)
        folder = None if sizes.in_memory else output.scratch
        self.clock = Clock()
        self.spills = [
            Spill(plan, self.columns, folder and made(folder / f"set-{k}"), self.clock) for k in range(len(sources))
        ]

    def report(self, rows: int, piece_rows: int, stages: Clock) -> Report:
        with stages.measure("assign"):
            spilled = self._assign(piece_rows)
            self._check_ids()
        with stages.measure("join"):
            counts = np.array([spill.counts() for spill in self.spills])
            resumed = len(self.output.finished)
            self._join_all(counts)
        done = self.output.finished.values()
        report = Report(
            pair_count=sum(line["pairs"] for line in done),
            box_count=rows,
            tiles=self.plan.tile_count,
            copies=int(counts.sum()) - rows,
            wide=int(counts[:, WIDE].sum()),
            seconds_by_stage=stages.seconds,
            bytes_by_stage={"assign": spilled, "join": sum(line["bytes"] for line in done)},
            busy_seconds={what: self.clock.seconds[what] for what in _STEPS if what in self.clock.seconds},
            resumed_tiles=resumed,
        )
        self.output.store_report(report)
        return report

    # Boxes by tile

    def _assign(self, piece_rows: int) -> int:
        work = [
            (source, spill, stretch)
            for source, spill in zip(self.sources, self.spills, strict=True)
            for stretch in source.stretches(piece_rows)
            if not spill.has(stretch.number)
        ]
        rows = sum(stretch.rows for _, _, stretch in work)

        def add(task: tuple[Source, Spill, Stretch]) -> tuple[int, int]:
            source, spill, stretch = task
            last: list[Piece] = []

            def pieces() -> Iterator[BoxSet]:
                for piece in self.clock.each("read", source.read(stretch, piece_rows)):
                    if self.stopped.is_set():
                        raise StoppedError
                    last[:] = [piece]
                    yield piece.boxes

            try:
                return spill.add(stretch.number, pieces()), stretch.rows
            except InvalidBoxError as error:
                raise last[0].named(error) from None

        spilled = done = 0
        self.progress("assign", 0, rows)
        for size, count in in_parallel(add, work, self.workers, self.stopped):
            spilled, done = spilled + size, done + count
            self.progress("assign", done, rows)
        return spilled

    def _check_ids(self) -> None:
        for source, spill in zip(self.sources, self.spills, strict=True):
            mark = None if spill.folder is None else spill.folder / "ids-checked"
            if self.columns.id is None or spill.ids.are_apart() or (mark is not None and mark.exists()):
                continue
            check_ids(spill.every_id, source.box_count, self.sizes.tile_rows * self.workers, source)
            if mark is not None:
                mark.touch()  # or each run that goes on would look at all ids again

    # Pairs by tile

    def _join_all(self, counts: NDArray[np.int64]) -> None:
        met = counts[:, :-1].sum(axis=0)
        tiles = [*np.argsort(-met, kind="stable").tolist(), WIDE]  # the largest first, so that all end together
        names = {tile: tile_name(tile) for tile in tiles}
        total = int(met.sum() + counts[:, WIDE].sum())
        done = sum(int(counts[:, tile].sum()) for tile in tiles if names[tile] in self.output.finished)

        search = TileJoin(
            self.spills,
            tile_rows=self.sizes.tile_rows,
            chunk_pairs=self.sizes.chunk_pairs,
            scratch=self.output.scratch,
            stopped=self.stopped,
            clock=self.clock,
        )
        self.progress("join", done, total)

        def join(tile: int) -> tuple[int, str | None, int]:
            return tile, *write_pairs(self.output.place, tile, search.pairs_of(tile), self.schema, self.clock)

        rest = [tile for tile in tiles if names[tile] not in self.output.finished]
        for tile, file, pairs in in_parallel(join, rest, self.workers, self.stopped):
            self.output.finish(names[tile], file, pairs)
            done += int(counts[:, tile].sum())
            self.progress("join", done, total)
