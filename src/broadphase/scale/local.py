"""The engine for one machine: boxes by tile on disk or in memory, tiles joined by threads."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.errors import InvalidBoxError
from broadphase.scale.clock import Clock
from broadphase.scale.ids import are_apart, check_ids
from broadphase.scale.joining import StoppedError, TileJoin, tile_name, write_pairs
from broadphase.scale.output import OTHERWISE
from broadphase.scale.parallel import in_parallel
from broadphase.scale.planning import Plan, divide
from broadphase.scale.report import Report
from broadphase.scale.spill import Spill, made
from broadphase.scale.tiles import WIDE, pair_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from broadphase.progress import Told
    from broadphase.scale.columns import BoxSet
    from broadphase.scale.output import Output
    from broadphase.scale.source import Piece, Source, Stretch

__all__ = ["Run", "Sizes", "find_pairs", "plan_of", "tile_rows"]

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
    before = output.stored_report
    if before is not None:
        return before
    return _LocalRun(sources, output, Clock(), progress, plan=plan, memory=memory, workers=workers).result()


def _chosen_plan(
    sources: list[Source], output: Output | None, plan: Plan | None, sizes: Sizes, workers: int
) -> tuple[Plan, int]:
    """Return the plan of a run, that of an earlier run if there was one, and how many rows are read at a time."""
    stored = output.stored_plan if output else None
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


class Run:
    """One run over one set of boxes or two, on any engine: its plan is made or found, and in the end its report.

    `memory` is that of one machine, on which `at_a_time` of the `workers` run (None: all of them).
    """

    def __init__(
        self,
        sources: list[Source],
        output: Output | None,
        stages: Clock,
        progress: Told,
        *,
        plan: Plan | None,
        memory: int,
        workers: int,
        at_a_time: int | None = None,
    ) -> None:
        self.sources, self.output, self.stages, self.progress = sources, output, stages, progress
        self.workers, self.columns = workers, sources[0].columns
        self.rows = sum(source.box_count for source in sources)
        self.finished = frozenset() if output is None else frozenset(output.finished)
        progress("plan", 0, self.rows)
        with stages.measure("plan"):
            self.row_bytes = max(source.row_bytes for source in sources)
            self.sizes = Sizes.of(memory, at_a_time or workers, self.rows, self.row_bytes)
            self.plan, self.piece_rows = _chosen_plan(sources, output, plan, self.sizes, workers)
        progress("plan", self.rows, self.rows)
        self.schema = pair_schema(sources[0].schema, sources[-1].schema, self.columns)

    def report(
        self, counts: NDArray[np.int64], lines: Iterable[dict[str, Any]], spilled: int, busy: dict[str, float]
    ) -> Report:
        """Return the report, from the boxes of each tile, wide ones last, and what was recorded of each."""
        lines = list(lines)
        return Report(
            pair_count=sum(line["pairs"] for line in lines),
            box_count=self.rows,
            tiles=self.plan.tile_count,
            copies=int(counts.sum()) - self.rows,
            wide=int(counts[WIDE]),
            seconds_by_stage=self.stages.seconds,
            busy_seconds=busy,
            bytes_by_stage={"assign": spilled, "join": sum(line["bytes"] for line in lines)},
            resumed_tiles=len(self.finished),
        )


class _LocalRun(Run):
    output: Output

    def result(self) -> Report:
        self.stopped = threading.Event()
        self.clock = Clock()
        folder = None if self.sizes.in_memory else self.output.scratch
        self.spills = [
            Spill(self.plan, self.columns, folder and made(folder / f"set-{k}"), self.clock)
            for k in range(len(self.sources))
        ]
        with self.stages.measure("assign"):
            spilled = self._assign()
            self._check_ids()
        with self.stages.measure("join"):
            counts: NDArray[np.int64] = np.sum([spill.counts() for spill in self.spills], axis=0)
            self._join_all(counts)
        busy = {what: self.clock.seconds[what] for what in _STEPS if what in self.clock.seconds}
        report = self.report(counts, self.output.finished.values(), spilled, busy)
        self.output.store_report(report)
        return report

    # Boxes by tile

    def _assign(self) -> int:
        work = [
            (source, spill, stretch)
            for source, spill in zip(self.sources, self.spills, strict=True)
            for stretch in source.stretches(self.piece_rows)
            if not spill.has(stretch.number)
        ]
        rows = sum(stretch.rows for _, _, stretch in work)

        def add(task: tuple[Source, Spill, Stretch]) -> tuple[int, int]:
            source, spill, stretch = task
            last: list[Piece] = []

            def pieces() -> Iterator[BoxSet]:
                for piece in self.clock.each("read", source.read(stretch, self.piece_rows)):
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
            if self.columns.id is None or are_apart(spill.ids) or (mark is not None and mark.exists()):
                continue
            check_ids(spill.every_id, source.box_count, self.sizes.tile_rows * self.workers, source)
            if mark is not None:
                mark.touch()  # or each run that goes on would look at all ids again

    # Pairs by tile

    def _join_all(self, counts: NDArray[np.int64]) -> None:
        tiles = [*np.argsort(-counts[:-1], kind="stable").tolist(), WIDE]  # the largest first, so that all end together
        rest = [tile for tile in tiles if tile_name(tile) not in self.finished]
        total = int(counts.sum())
        done = total - int(counts[rest].sum())

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

        for tile, file, pairs in in_parallel(join, rest, self.workers, self.stopped):
            self.output.finish(tile_name(tile), file, pairs)
            done += int(counts[tile])
            self.progress("join", done, total)
