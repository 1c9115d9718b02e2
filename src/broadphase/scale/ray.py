"""The engine for many machines: the boxes by tile in Ray's object store, tiles joined by Ray's tasks.

One task reads a stretch of the input, gives its boxes to tiles, and returns one object for each group of tiles; another
gets the objects of one group and finds the pairs of its tiles. Ray places the tasks, moves the objects, writes those to
disk that do not fit into memory, and repeats what is lost with a process or a machine.
"""

from __future__ import annotations

import functools
import itertools
import os
import sys
import tempfile
import threading
import time
import uuid
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.errors import FileFormatError, InvalidBoxError, quoted
from broadphase.extras import import_extra
from broadphase.scale.clock import Clock
from broadphase.scale.columns import BoxColumns, BoxSet, arrow
from broadphase.scale.ids import are_apart, id_range, keys_of, keys_that_repeat, name_duplicate, shares_of
from broadphase.scale.joining import TileJoin, tile_name, write_pairs
from broadphase.scale.local import Run, Sizes
from broadphase.scale.source import Part, Source, open_source
from broadphase.scale.spill import Spill, made
from broadphase.scale.tiles import WIDE, assigned
from broadphase.workers import worker_count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from broadphase.progress import Told
    from broadphase.scale.output import Output
    from broadphase.scale.places import Place
    from broadphase.scale.planning import Plan
    from broadphase.scale.report import Report
    from broadphase.scale.source import Stretch

__all__ = ["Cluster", "connected", "find_pairs", "open_input"]

_STRETCHES_PER_WORKER = 4
_GROUPS_PER_WORKER = 4
_LEAST_ROWS = 1 << 14  # of a stretch
_GROUP_BYTES = 256e6  # of boxes that one task joins
_SUBMITTED = 3  # tasks for each processor: the next ones wait where their input is
_PATIENCE = 60.0  # seconds
_LEAST_STORE = 100_000_000  # bytes; Ray takes no fewer than 75 MiB
_QUIET = {"include_dashboard": False, "log_to_driver": False, "logging_level": "ERROR"}


def _ray(module: str = "ray") -> Any:
    return import_extra(module, purpose='engine="ray"', extra="ray")


@dataclass(frozen=True)
class Cluster:
    """A connection to Ray.

    `workers` tasks run at a time, `workers_of_machine` on one machine. `limit` tasks may run or wait at a time; None: a
    few for each processor. It took `seconds` to start or to connect.
    """

    ray: Any
    workers: int
    limit: int | None
    workers_of_machine: int
    seconds: float

    def run(self, work: Callable[..., Any], tasks: Sequence[tuple[Any, ...]], returns: int = 1) -> Iterator[Any]:
        """Run a function on each of the arguments; yield the number of a task and what it has returned, as they end.

        Of several returns, the first is fetched; the others stay in the object store, and are yielded as references.
        """
        remote = _remote(_run).options(num_returns=returns, name=work.__name__)
        running: dict[Any, tuple[int, list[Any]]] = {}
        following = iter(enumerate(tasks))
        try:
            while True:
                most = self.limit or _SUBMITTED * _processors(self.ray)  # of now: clusters grow
                while len(running) < most:
                    number, arguments = next(following, (-1, ()))
                    if number < 0:
                        break
                    objects = remote.remote(work, returns, *arguments)
                    objects = [objects] if returns == 1 else objects
                    running[objects[0]] = number, objects
                if not running:
                    return
                for first in self.ray.wait(list(running))[0]:
                    facts = self.ray.get(first)
                    if isinstance(facts, _Failure):
                        raise facts.error
                    number, objects = running.pop(first)
                    yield (number, facts, *objects[1:])
        finally:
            # After an error or Ctrl-C, tasks must not write while the caller cleans up. They are not cancelled, since
            # ray.cancel aborts this process if a task ends at the same time ("Tried to complete task that was not
            # pending", Ray 2.60); there are few.
            if running:
                self.ray.wait(list(running), num_returns=len(running), timeout=_PATIENCE)


@dataclass(frozen=True)
class _Failure:
    error: Exception


def _run(work: Callable[..., Any], returns: int, *arguments: Any) -> Any:
    try:
        return work(*arguments)
    except Exception as error:  # as a value: Ray would wrap it, print it, and lose it on the way to its clients
        failure = _Failure(error)
        return failure if returns == 1 else [failure, *[None] * (returns - 1)]


def _remote(work: Callable[..., Any]) -> Any:
    context = _ray().get_runtime_context()
    return _task(work, context.get_node_id(), context.get_job_id())


@functools.lru_cache(maxsize=16)
def _task(work: Callable[..., Any], node: str, job: str) -> Any:
    """Make a task of a function, once in a connection: Ray keeps each to the end of it."""
    return _ray().remote(work)


@contextmanager
def connected(address: str | None, workers: int, memory: int, *, to_stay: bool) -> Iterator[Cluster]:
    """Use the Ray that this process is connected to, or connect to one, or start one on this machine for the time."""
    begin = time.perf_counter()
    ray = _ray()
    if address is not None and not isinstance(address, str):
        raise TypeError(f"address must be a str, not {quoted(address)}")
    count = worker_count(workers)
    is_ours = not ray.is_initialized()
    if not is_ours and address not in (None, "auto"):
        raise ValueError(
            f"Ray is connected already; leave address={quoted(address)} away, or call ray.shutdown() first"
        )
    if is_ours and to_stay:
        raise ValueError("output=None gives a data set, which ends with Ray: call ray.init() first, or name an output")
    if is_ours:
        address = address or os.environ.get("RAY_ADDRESS") or "local"
        more = {"num_cpus": count, "object_store_memory": max(memory // 2, _LEAST_STORE)} if address == "local" else {}
        with _environment(RAY_USAGE_STATS_ENABLED="0", RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO="0"):
            ray.init(address, **more, **_QUIET)
    try:
        total = _processors(ray)
        of_machine = max(int(node["Resources"].get("CPU", 0)) for node in ray.nodes() if node["Alive"])
        limit = None if workers == -1 or address == "local" else count
        at_a_time = max(1, min(total, limit or total))
        yield Cluster(ray, at_a_time, limit, max(1, min(of_machine, at_a_time)), time.perf_counter() - begin)
    finally:
        if is_ours:
            ray.shutdown()


def _processors(ray: Any) -> int:
    return max(1, int(ray.cluster_resources().get("CPU", 1)))


@contextmanager
def _environment(**variables: str) -> Iterator[None]:
    missing = {name: value for name, value in variables.items() if name not in os.environ}
    os.environ.update(missing)
    try:
        yield
    finally:
        for name in missing:
            os.environ.pop(name, None)


def find_pairs(
    sources: list[Source], output: Output | None, *, cluster: Cluster, memory: int, plan: Plan | None, progress: Told
) -> Report:
    """Find the pairs of one set of boxes or of two on a cluster; see `local.find_pairs`.

    `output` is a folder that all machines share, or None for a data set of Ray; `memory` is that of each machine.
    """
    before = output.stored_report if output else None
    if before is not None:
        return before
    loading = [_remote(_load).remote() for _ in range(cluster.workers)]
    stages = Clock()
    stages.seconds["start"] = cluster.seconds
    run = _RayRun(
        sources, output, stages, progress, plan=plan, memory=memory // 2, workers=cluster.workers,
        at_a_time=cluster.workers_of_machine,
    )  # fmt: skip
    with stages.measure("start"):
        cluster.ray.get(loading)
    return run.result(cluster)


class _RayRun(Run):
    def result(self, cluster: Cluster) -> Report:
        self.cluster = cluster
        self.bytes = self.rows * self.row_bytes
        tiles = [tile for tile in range(self.plan.tile_count) if tile_name(tile) not in self.finished]
        count = max(_GROUPS_PER_WORKER * self.workers, int(self.bytes / _GROUP_BYTES))
        self.groups = [group.tolist() for group in np.array_split(tiles, min(count, len(tiles)))] if tiles else []
        with self.stages.measure("assign"):
            divided = self._divide()
        with self.stages.measure("join"):
            counts: NDArray[np.int64] = np.sum([boxes.counts for boxes in divided], axis=0)
            lines, tables = self._join(divided, counts)
        report = self.report(counts, lines, int(counts.sum() * self.bytes / max(self.rows, 1)), {})
        if self.output is not None:
            self.output.place.delete_unfinished()  # of processes that were lost
            self.output.store_report(report)
            return report
        data = _ray("ray.data")
        return replace(report, dataset=data.from_arrow_refs(tables))

    # Boxes by tile

    def _divide(self) -> list[_Divided]:
        put = self.cluster.ray.put
        rows = max(int(self.rows / (_STRETCHES_PER_WORKER * self.workers)), _LEAST_ROWS)
        rows = min(rows, self.sizes.tile_rows)
        job = put((self.plan, [np.array(group) for group in self.groups]))
        found = []
        done = 0
        self.progress("assign", 0, self.rows)
        for source in self.sources:
            stretches = source.stretches(rows)
            reader = put(replace(source, parts=()))
            ranges: list[tuple[int, int] | None] = []
            boxes = _Divided(np.zeros(self.plan.tile_count + 1, np.int64), chunks=[[] for _ in stretches])
            wides: dict[int, Any] = {}
            tasks = [(job, reader, stretch, min(self.piece_rows, rows)) for stretch in stretches]
            for number, facts, wide, *chunks in self.cluster.run(_assign, tasks, 2 + len(self.groups)):
                counts, parts = facts
                ranges += parts
                boxes.counts += counts
                boxes.chunks[number] = chunks
                if counts[WIDE]:
                    wides[number] = wide
                done += stretches[number].rows
                self.progress("assign", done, self.rows)
            if wides:
                boxes.wide = [_remote(_gather).remote(*(wides[number] for number in sorted(wides)))]
            if source.columns.id is not None and not are_apart(ranges):
                self._check_ids(source, rows)
            found.append(boxes)
        return found

    def _check_ids(self, source: Source, rows: int) -> None:
        """Check that no id occurs twice: each task looks at the ids whose keys are its share."""
        columns = source.columns
        ids = replace(source, columns=BoxColumns(columns.id, columns.lower[:1], columns.upper[:1]))
        shares = max(self.workers, int(8 * source.box_count / _GROUP_BYTES))
        reader = self.cluster.ray.put(replace(ids, parts=()))
        tasks = [(reader, stretch, rows, shares) for stretch in ids.stretches(rows)]
        keys = [some for _, _, *some in self.cluster.run(_keys, tasks, 1 + shares)]
        twice = [some for _, some in self.cluster.run(keys_that_repeat, list(zip(*keys, strict=True)))]
        if any(len(some) for some in twice):
            name_duplicate(ids, np.concatenate(twice))

    # Pairs by tile

    def _join(self, divided: list[_Divided], counts: NDArray[np.int64]) -> tuple[list[dict[str, Any]], list[Any]]:
        """Find the pairs of all tiles; return the facts of each, and their tables if there is no output."""
        job = self.cluster.ray.put(
            _Job(
                self.plan,
                self.columns,
                self.schema,
                self.sizes,
                None if self.output is None else self.output.place,
                None if self.output is None else self.output.shared_scratch,
            )
        )
        work = [
            (
                int(counts[group].sum()),
                group,
                [[*boxes.wide, *(chunks[k] for chunks in boxes.chunks)] for boxes in divided],
            )
            for k, group in enumerate(self.groups)
        ]
        work.sort(key=lambda one: -one[0])  # the largest first, so that all end together
        if tile_name(WIDE) not in self.finished:
            work.append((int(counts[WIDE]), [WIDE], [boxes.wide for boxes in divided]))
        tasks = [(job, tiles, [len(some) for some in chunks], *itertools.chain(*chunks)) for _, tiles, chunks in work]
        done, total = 0, sum(count for count, _, _ in work)
        self.progress("join", 0, total)
        lines, tables = [], []
        for number, found, *table in self.cluster.run(_join, tasks, 2 if self.output is None else 1):
            lines += [self._finish(*line) for line in found]
            tables += table
            done += work[number][0]
            self.progress("join", done, total)
        return lines if self.output is None else list(self.output.finished.values()), tables

    def _finish(self, tile: int, file: str | None, pairs: int, size: int) -> dict[str, Any]:
        if self.output is not None:
            try:
                size = self.output.finish(tile_name(tile), file, pairs)
            except FileNotFoundError:
                raise FileNotFoundError(
                    f"{self.output.place}: another machine has written {file}, and this one does not find it; "
                    "output must be a folder that all machines of the cluster share, or an address"
                ) from None
        return {"pairs": pairs, "bytes": size}


@dataclass(eq=False)
class _Divided:
    """The boxes of one set by tile.

    `counts`, (tiles + 1,), are how many meet each, wide ones last. `wide` are references to chunks of wide boxes, and
    `chunks`, for each stretch, to those of each group of tiles.
    """

    counts: NDArray[np.int64]
    wide: list[Any] = field(default_factory=list)
    chunks: list[list[Any]] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class _Job:
    plan: Plan
    columns: BoxColumns
    schema: Any
    sizes: Sizes
    place: Place | None
    scratch: Path | None


# The tasks. Their chunks are lists of an index and boxes, as in `Spill.put`.


def _load() -> None:
    for module in ("dataset", "fs", "parquet"):
        arrow(module)


def _assign(job: tuple[Plan, list[NDArray[np.int64]]], source: Source, stretch: Stretch, rows: int) -> list[Any]:
    """Read one stretch; return what is to be known of it, a chunk of wide boxes, and one for each group of tiles."""
    plan, groups = job
    counts = np.zeros(plan.tile_count + 1, np.int64)
    ranges = []
    wides: list[tuple[NDArray[np.int64], BoxSet]] = []
    found: list[list[tuple[NDArray[np.int64], BoxSet]]] = [[] for _ in groups]
    for piece in source.read(stretch, rows):
        boxes = piece.boxes
        ranges.append(id_range(boxes.ids))
        try:
            offsets, homes, order, wide = assigned(boxes, plan, source.columns.margin)
        except InvalidBoxError as error:
            raise piece.named(error) from None
        met = np.diff(offsets)
        counts[:-1] += met
        counts[WIDE] += len(wide)
        if len(wide):
            wides.append((np.array([[WIDE, len(wide), len(wide)]]), boxes.take(wide)))
        for group, chunk in zip(groups, found, strict=True):
            tiles = group[met[group] > 0]
            if len(tiles):
                chosen = [order[offsets[tile] : offsets[tile + 1]] for tile in tiles.tolist()]
                index = np.stack([tiles, homes[tiles], met[tiles]], axis=1)
                chunk.append((index, boxes.take(np.concatenate(chosen))))
    return [(counts, ranges), wides, *found]


def _gather(*chunks: list[tuple[NDArray[np.int64], BoxSet]]) -> list[tuple[NDArray[np.int64], BoxSet]]:
    boxes = BoxSet.concatenated([some for chunk in chunks for _, some in chunk])
    return [(np.array([[WIDE, len(boxes), len(boxes)]]), boxes)]


def _join(job: _Job, tiles: list[int], lengths: list[int], *chunks: list[tuple[NDArray[np.int64], BoxSet]]) -> Any:
    """Find the pairs of some tiles, from the chunks of one set, then of the other; write them, or return a table."""
    spills = []
    rest = iter(chunks)
    for length in lengths:
        spill = Spill(job.plan, job.columns, None)
        for index, boxes in itertools.chain.from_iterable(itertools.islice(rest, length)):
            spill.put(index, boxes)
        spills.append(spill)
    search = TileJoin(
        spills,
        tile_rows=job.sizes.tile_rows,
        chunk_pairs=job.sizes.chunk_pairs,
        scratch=made(job.scratch or Path(tempfile.gettempdir())),
        stopped=threading.Event(),
    )
    if job.place is not None:
        return [(tile, *write_pairs(job.place, tile, search.pairs_of(tile), job.schema), 0) for tile in tiles]
    found = [table.cast(job.schema) for tile in tiles for table in search.pairs_of(tile)]
    table = arrow().concat_tables(found) if found else job.schema.empty_table()
    return [(tiles[0], None, table.num_rows, table.nbytes)], table


def _keys(source: Source, stretch: Stretch, rows: int, shares: int) -> list[Any]:
    keys = np.concatenate([keys_of(piece.boxes.ids) for piece in source.read(stretch, rows)])
    share = shares_of(keys, shares)
    return [None, *(keys[share == k] for k in range(shares))]


# Data sets of Ray


class DatasetSource(Source):
    """The boxes of a data set of Ray; the fragment of a part is a reference to a table."""

    def _batches(self, part: Part, rows: int) -> Iterator[Any]:
        table = _ray().get(part.fragment).select(self.columns.names)
        yield from table.to_batches(max_chunksize=rows)

    def _sample_of(self, part: Part, most: int) -> tuple[NDArray[Any], NDArray[Any]]:
        # Where the table is, or it would be copied to this machine.
        lower, upper = _ray().get(_remote(_sample).remote(replace(self, parts=()), part, most))
        return lower, upper


def _sample(source: DatasetSource, part: Part, most: int) -> tuple[NDArray[Any], NDArray[Any]]:
    return Source._sample_of(source, part, most)


def open_input(boxes: Any, columns: BoxColumns, cluster: Cluster) -> Source:
    """Find the boxes of files, as `open_source`, or of a data set of Ray, which is run to its end."""
    data = sys.modules.get("ray.data")
    if data is None or not isinstance(boxes, data.Dataset):
        return open_source(boxes, columns)
    return _open_dataset(boxes, columns, cluster)


def _open_dataset(dataset: Any, columns: BoxColumns, cluster: Cluster) -> Source:
    context = dataset.context
    context.enable_progress_bars, shown = False, context.enable_progress_bars
    try:
        tables = dataset.to_arrow_refs()
    finally:
        context.enable_progress_bars = shown
    name = "the data set"
    parts: list[Part] = []
    row = 0
    is_float32 = True
    facts = dict(cluster.run(_facts, [(table,) for table in tables]))
    for number, table in enumerate(tables):
        rows, schema = facts[number]
        if rows == 0:
            continue
        columns.check(schema, name)
        schema = arrow().schema([schema.field(column) for column in columns.names])
        is_float32 = is_float32 and columns.is_float32(schema)
        parts.append(Part(name, row, rows, schema, table))
        row += rows
    if not parts:
        raise FileFormatError(f"{name} is empty")
    dtype = np.dtype(np.float32 if is_float32 else np.float64)
    return DatasetSource(parts, columns, parts[0].schema, dtype, uuid.uuid4().hex)


def _facts(table: Any) -> tuple[int, Any]:
    return table.num_rows, table.schema
