"""The engine for one machine: boxes by tile on disk or in memory, tiles joined by threads."""

from __future__ import annotations

import tempfile
import threading
import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.errors import InvalidBoxError
from broadphase.files import replacing
from broadphase.io.extras import import_extra
from broadphase.scale.columns import arrow
from broadphase.scale.ids import IdRanges, check_ids
from broadphase.scale.planning import Plan, divide
from broadphase.scale.report import Report
from broadphase.scale.spill import Spill
from broadphase.scale.tiles import WIDE, pair_schema, portions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from broadphase.scale.columns import BoxSet
    from broadphase.scale.output import Output
    from broadphase.scale.source import Piece, Source, Stretch

__all__ = ["Sizes", "find_pairs"]

_LEAST_ROWS, _MOST_ROWS = 1 << 14, 1 << 20
_PIECE_ROWS = 1 << 16  # what a core's own cache holds
_ROWS_PER_RUN = 256
_JOIN_BYTES = 96  # of a box while it is joined, besides itself: the copies of the methods, and row numbers
_PAIR_BYTES = 64  # of a pair while it is written
_TILES_PER_WORKER = 4
_SPLIT_WORTHWHILE = 0.8
_SAMPLE = 1 << 16
_HEADROOM = 1.25  # samples and tiles are never quite even


@dataclass(frozen=True)
class Sizes:
    """How much of the input is held at a time.

    Attributes
    ----------
    piece_rows : int
        Boxes that are read and divided at a time, by each worker.
    tile_rows : int
        Boxes of a tile that one worker can join.
    chunk_pairs : int
        Pairs that are written at a time.
    in_memory : bool
        Whether all boxes by tile stay in memory.
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
        piece = int(np.clip(each / (6 * row_bytes), _LEAST_ROWS, _PIECE_ROWS))
        return cls(piece, tile_rows(each - chunk * _PAIR_BYTES, row_bytes), chunk, in_memory)


def find_pairs(
    sources: list[Source],
    output: Output,
    *,
    memory: int,
    workers: int,
    plan: Plan | None,
    progress: Callable[[str, int, int], None],
) -> Report:
    """Find the pairs of one set of boxes or of two.

    Parameters
    ----------
    sources : list of Source
        One set or two.
    output : Output
        Where the pairs go.
    memory : int
        Bytes.
    workers : int
        Threads.
    plan : Plan, optional
        The tiles. Default: made from a sample.
    progress : callable
        Called with a stage, the rows of the input that are done in it, and how many there are.

    Returns
    -------
    Report
    """
    before = output.stored_report()
    if before is not None:
        return before
    begin = time.perf_counter()
    rows = sum(source.box_count for source in sources)
    sizes = Sizes.of(memory, workers, rows, max(source.row_bytes for source in sources))
    stored = output.stored_plan()
    if stored is not None:
        if plan is not None and plan.digest != stored[0].digest:
            raise ValueError(f"{output.folder} holds results of another plan; use another folder, or resume=False")
        plan, piece_rows = stored
    else:
        # Several tiles for each worker, so that all end at about the same time.
        most = min(sizes.tile_rows, max(rows / (_TILES_PER_WORKER * workers), _LEAST_ROWS))
        plan = plan or plan_of([source.sample() for source in sources], rows, most)
        # Many tiles: larger pieces, so that their runs are worth writing.
        piece_rows = max(sizes.piece_rows, min(_ROWS_PER_RUN * plan.tile_count, _MOST_ROWS))
        output.store_plan(plan, piece_rows)
    seconds = {"plan": time.perf_counter() - begin}
    run = _Run(sources, output, plan, sizes, workers, progress)
    return run.report(rows, piece_rows, seconds)


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
        self,
        sources: list[Source],
        output: Output,
        plan: Plan,
        sizes: Sizes,
        workers: int,
        progress: Callable[[str, int, int], None],
    ) -> None:
        self.sources, self.output, self.plan, self.sizes = sources, output, plan, sizes
        self.workers, self.progress = workers, progress
        self.columns = sources[0].columns
        self.stopped = threading.Event()
        self.schema = pair_schema(sources[0].schema, self.columns)
        self.ids = [IdRanges() for _ in sources]
        folder = None if sizes.in_memory else output.scratch
        self.spills = [Spill(plan, self.columns, folder and made(folder / f"set-{k}")) for k in range(len(sources))]

    def report(self, rows: int, piece_rows: int, seconds: dict[str, float]) -> Report:
        begin = time.perf_counter()
        spilled = self._assign(piece_rows)
        self._check_ids()
        seconds["assign"] = time.perf_counter() - begin
        begin = time.perf_counter()
        counts = np.array([spill.counts() for spill in self.spills])
        resumed = len(self.output.finished)
        self._join_all(counts)
        seconds["join"] = time.perf_counter() - begin
        done = self.output.finished.values()
        wide = int(counts[:, WIDE].sum())
        report = Report(
            pair_count=sum(line["pairs"] for line in done),
            box_count=rows,
            tiles=self.plan.tile_count,
            copies=int(counts.sum()) - rows,
            wide=wide,
            seconds_by_stage=seconds,
            bytes_by_stage={"assign": spilled, "join": sum(line["bytes"] for line in done)},
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
            ranges = self.ids[self.sources.index(source)]

            def pieces() -> Iterator[BoxSet]:
                for piece in source.read(stretch, piece_rows):
                    if self.stopped.is_set():
                        raise _StoppedError
                    last[:] = [piece]
                    ranges.add(piece.boxes.ids)
                    yield piece.boxes

            try:
                return spill.add(stretch.number, pieces()), stretch.rows
            except InvalidBoxError as error:
                _, _, reason = str(error).partition(": ")
                raise InvalidBoxError(f"{last[0].describe(error.row)}: {reason}", error.row) from None

        spilled = done = 0
        for size, count in self._in_parallel(add, work):
            spilled, done = spilled + size, done + count
            self.progress("assign", done, rows)
        return spilled

    def _check_ids(self) -> None:
        for source, spill, ranges in zip(self.sources, self.spills, self.ids, strict=True):
            if self.columns.id is not None and not (ranges.are_apart() and not spill.is_resumed):
                check_ids(spill.ids, source.box_count, self.sizes.tile_rows * self.workers, source)

    # Pairs by tile

    def _join_all(self, counts: NDArray[np.int64]) -> None:
        met = counts[:, :-1].sum(axis=0)
        tiles = [*np.argsort(-met, kind="stable").tolist(), WIDE]  # the largest first, so that all end together
        names = {tile: "wide" if tile == WIDE else f"{tile:06d}" for tile in tiles}
        total = int(met.sum() + counts[:, WIDE].sum())
        done = sum(int(counts[:, tile].sum()) for tile in tiles if names[tile] in self.output.finished)

        def join(tile: int) -> tuple[int, str | None, int]:
            return tile, *self._write(names[tile], self._tile(tile))

        for tile, file, pairs in self._in_parallel(join, [t for t in tiles if names[t] not in self.output.finished]):
            self.output.finish(names[tile], file, pairs)
            done += int(counts[:, tile].sum())
            self.progress("join", done, total)

    def _tile(self, tile: int) -> Iterator[Any]:
        if tile == WIDE:
            return self._within(self.spills, WIDE, None)
        return self._all_of(self.spills, tile, self.plan.bounds[tile])

    def _all_of(self, spills: list[Spill], tile: int, region: NDArray[Any] | None) -> Iterator[Any]:
        """Yield the pairs of a tile: of its boxes with each other, and with the wide ones."""
        yield from self._within(spills, tile, region)
        sides = ((0, 0),) if len(spills) == 1 else ((0, 1), (1, 0))
        for own, other in sides:
            for wide in spills[other].blocks(WIDE, self.sizes.tile_rows // 2):
                near = _meeting(wide, region, self.columns.margin)
                if len(near) == 0:
                    continue
                for block in spills[own].blocks(tile, self.sizes.tile_rows // 2):
                    first, second = (block, near) if own <= other else (near, block)
                    yield from self._portions(first, second, region)

    def _within(self, spills: list[Spill], tile: int, region: NDArray[Any] | None) -> Iterator[Any]:
        """Yield the pairs of the boxes of a tile; where they are too many, of parts of it."""
        counts = [spill.count(tile) for spill in spills]
        if min(counts) == 0:
            return
        if sum(counts) <= self.sizes.tile_rows:
            yield from self._portions(spills[0].load(tile), spills[1].load(tile) if len(spills) > 1 else None, region)
            return
        with _divided(spills, tile, sum(counts), self.sizes, self.output) as parts:
            if parts is not None:
                plan, below = parts
                for part in range(plan.tile_count):
                    yield from self._all_of(below, part, _common(region, plan.bounds[part]))
                yield from self._within(below, WIDE, region)
                return
        yield from self._block_by_block(spills, tile, region)

    def _block_by_block(self, spills: list[Spill], tile: int, region: NDArray[Any] | None) -> Iterator[Any]:
        """Yield the pairs of boxes that no plane divides: each block of them with each other one."""
        rows = self.sizes.tile_rows // 2
        for k, block in enumerate(spills[0].blocks(tile, rows)):
            if len(spills) == 1:
                yield from self._portions(block, None, region)
            for m, other in enumerate(spills[-1].blocks(tile, rows)):
                if len(spills) == 2 or m > k:
                    yield from self._portions(block, other, region)

    def _portions(self, first: BoxSet, second: BoxSet | None, region: NDArray[Any] | None) -> Iterator[Any]:
        one_set = len(self.sources) == 1
        for table in portions(first, second, region, self.columns, one_set=one_set, chunk=self.sizes.chunk_pairs):
            if self.stopped.is_set():
                raise _StoppedError
            yield table

    def _write(self, name: str, tables: Iterable[Any]) -> tuple[str | None, int]:
        """Write pairs to a file of their own, if there are any; return its name, and how many pairs."""
        parquet = import_extra("pyarrow.parquet", purpose="broadphase.scale", extra="scale")
        found = iter(tables)
        table = next(found, None)
        if table is None:
            return None, 0
        file = f"pairs-{name}.parquet"
        count = 0
        texts = [one.name for one in self.schema if arrow().types.is_large_string(one.type)]
        with (
            replacing(self.output.folder / file) as unfinished,
            parquet.ParquetWriter(unfinished, self.schema, compression="lz4", use_dictionary=texts) as writer,
        ):
            while table is not None:
                writer.write_table(table.cast(self.schema))
                count += table.num_rows
                table = next(found, None)
        return file, count

    def _in_parallel(self, work: Callable[[Any], Any], tasks: Iterable[Any]) -> Iterator[Any]:
        """Yield the result of each task, as they end; stop all at the first error, or at Ctrl-C."""
        with ThreadPoolExecutor(self.workers, thread_name_prefix="broadphase") as pool:
            running: set[Future[Any]] = {pool.submit(work, task) for task in tasks}
            try:
                while running:
                    # With a limit, or Ctrl-C would not be seen on Windows.
                    ended, running = wait(running, timeout=0.5, return_when=FIRST_COMPLETED)
                    for one in ended:
                        yield one.result()
            except BaseException:
                self.stopped.set()
                pool.shutdown(cancel_futures=True)
                raise


class _StoppedError(Exception):
    """Another thread has failed, or Ctrl-C was pressed."""


def made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _common(region: NDArray[Any] | None, part: NDArray[Any]) -> NDArray[Any]:
    """Return what two regions have in common."""
    if region is None:
        return part
    return np.stack([np.maximum(region[0], part[0]), np.minimum(region[1], part[1])])


def _meeting(boxes: BoxSet, region: NDArray[Any] | None, margin: float) -> BoxSet:
    """Return the boxes that meet a region."""
    if region is None:
        return boxes
    lower, upper = boxes.grown(margin)
    below = (lower < region[1]) | (region[1] == np.inf)
    return boxes.take(np.flatnonzero(np.all(below & (upper >= region[0]), axis=1)))


@contextmanager
def _divided(
    spills: list[Spill], tile: int, rows: int, sizes: Sizes, output: Output
) -> Iterator[tuple[Plan, list[Spill]] | None]:
    """Divide the boxes of a tile among smaller ones, on disk; None where that would help little."""
    step = max(1, rows // _SAMPLE)
    samples = [run.corners[::step] for spill in spills for run, _ in spill.runs(tile)]
    corners = np.concatenate(samples)
    plan = divide(corners[:, 0], corners[:, 1], rows, sizes.tile_rows / 2)
    if plan.tile_count == 1:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="part-", dir=output.scratch) as folder:
        below = []
        for k, spill in enumerate(spills):
            below.append(Spill(plan, spill.columns, made(Path(folder) / f"set-{k}")))
            for number, (run, _) in enumerate(spill.runs(tile)):
                below[k].add(number, iter([run]))
        largest = int(np.sum([spill.counts() for spill in below], axis=0).max())
        yield (plan, below) if largest <= _SPLIT_WORTHWHILE * rows else None
