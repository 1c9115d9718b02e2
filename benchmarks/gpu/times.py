"""Times on a device: broadphase and others at the same work, in turns, with their results compared.

A time is that of a call by itself, as `Clock` says. "in a graph" is one replay of a CUDA graph of the call.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

import broadphase as bp
from benchmarks.gpu.devices import Clock, put, taken, warp
from benchmarks.gpu.exactness import steps_of
from benchmarks.gpu.parts import Record, Setting, Skip, Task
from benchmarks.gpu.peers import WarpBvh, WarpHashGrid, WarpRays, nvalchemi, torch_all_pairs, vesin
from benchmarks.measuring import Timing
from benchmarks.tables import factor
from broadphase import gpu
from broadphase.testing import make_scene

if TYPE_CHECKING:
    from numpy.typing import NDArray

WORK = "At work"
CROSSOVER = "When it pays: from how many boxes on"
BUDGET = 2.0  # seconds for the runs of one work


def tasks(setting: Setting) -> list[Task]:
    """Return the tasks."""
    million, many = (3000, 1000) if setting.quick else (1_000_000, 100_000)
    made: list[tuple[str, Any]] = [
        ("pairs of a million", partial(pairs_of, "uniform", million, 1.5, 3.0)),
        *(
            (f"pairs of {name}", partial(pairs_of, name, many, 0.4, None))
            for name in ("uniform", "lognormal", "clusters")
        ),
        ("environments", environments),
        ("rays", rays),
        ("lidars", lidars),
        ("neighbors", partial(neighbors, "HashGrid and vesin")),
        ("update", update),
        ("crossover", crossover),
        ("pairs of a million doubles", partial(pairs_of, "uniform", million, None, None, dtype="float64")),
        ("neighbors by nvalchemi", partial(neighbors, "nvalchemi")),  # last: it compiles for half a minute
    ]
    return [Task(name, partial(run, setting=setting)) for name, run in made]


@dataclass(frozen=True, slots=True)
class Contestant:
    """One way to do a work.

    Attributes
    ----------
    name : str
        In the table.
    call : callable
        What is timed.
    answer : callable
        ``answer(result)`` turns the result of the call into what is compared, in host memory.
    slowest : float or None
        Most milliseconds that it may take.
    least : float or None
        How many times as long as another contestant it must take at least; if less than 1, at most.
    against : str
        That other one. Default: the first.
    is_cold : bool
        Whether its data are out of the cache before each run.
    """

    name: str
    call: Callable[[], Any]
    answer: Callable[[Any], Any] | None = None
    slowest: float | None = None
    least: float | None = None
    against: str = ""
    is_cold: bool = True


def compete(
    record: Record,
    setting: Setting,
    work: str,
    contestants: list[Contestant],
    reference: Any,
    judge: Callable[[Any, Any], str],
    unit: str,
) -> None:
    """Compare the results of all, time them in turns, and add their lines to the table.

    Times are also given in those of the first contestant that can do it. One that cannot has the reason in its line.
    """
    clock = Clock(setting)
    verdicts: dict[str, str] = {}
    for one in contestants:
        is_ours = one.name.startswith("broadphase")
        try:
            found = one.call()
            verdict = "" if one.answer is None else judge(one.answer(found), reference)
            del found
            if is_ours and one.answer is not None:
                record.compared += 1
                if verdict != "exact":
                    record.fail(f"{work}, {one.name}", verdict)
        except Skip as reason:
            verdict = f"skipped: {str(reason).partition(':')[0]}"
        except Exception as error:
            verdict = f"failed: {type(error).__name__}: {(str(error).splitlines() or [''])[0][:80]}"
            if is_ours:
                record.fail(f"{work}, {one.name}", verdict)
        verdicts[one.name] = verdict
    able = [one for one in contestants if not verdicts[one.name].startswith(("skipped", "failed"))]
    budget = 0.02 if setting.quick else BUDGET
    timings: dict[str, Timing] = {}
    for is_cold in (True, False):
        calls = {one.name: one.call for one in able if one.is_cold is is_cold}
        if calls:
            timings |= clock.times(calls, budget * len(calls) / max(len(able), 1), is_cold=is_cold)
    for one in contestants:
        timing = timings.get(one.name)
        base = timings.get(able[0].name)
        ratio = timing.milliseconds / base.milliseconds if timing and base else None
        must = ""
        if timing and not setting.quick:
            if one.slowest is not None:
                must = f"≤ {one.slowest:g} ms: {'met' if timing.milliseconds <= one.slowest else 'MISSED'}"
            other = timings.get(one.against or able[0].name)
            if one.least is not None and other is not None and other is not timing:
                times = timing.milliseconds / other.milliseconds
                is_met = times >= one.least if one.least >= 1 else times <= one.least
                of = f" of {one.against}" if one.against else ""
                must = f"{'≥' if one.least >= 1 else '≤'} {one.least:g} ×{of}: {factor(times)}, "
                must += "met" if is_met else "MISSED"
        record.row(
            WORK,
            work=work,
            by=one.name,
            ms=timing.milliseconds if timing else None,
            quickest=timing.quickest if timing else None,
            runs=timing.runs if timing else None,
            **{"× the first": ratio},
            result=verdicts[one.name] if verdicts[one.name] != "exact" else f"exact: {unit}",
            must=must,
        )


def keys_of(pairs: Any) -> NDArray[np.int64]:
    """Pack each pair, smaller row first, into one integer, and sort them."""
    rows = np.asarray(pairs).astype(np.int64).reshape(-1, 2)
    keys = (rows.min(axis=1) << 32) | rows.max(axis=1) if len(rows) else np.empty(0, np.int64)
    keys.sort()
    return keys


def judge_pairs(found: Any, right: NDArray[np.int64]) -> str:
    """Say which pairs are missing or extra."""
    keys = keys_of(found)
    if np.array_equal(keys, right):
        return "exact"
    missing, extra = len(np.setdiff1d(right, keys)), len(np.setdiff1d(keys, right))
    return f"{missing} missing, {extra} extra, {len(keys) - len(np.unique(keys))} twice"


def judge_equal(found: Any, right: Any) -> str:
    """Say how many of the numbers differ."""
    found, right = np.asarray(found), np.asarray(right)
    if found.shape != right.shape:
        return f"{found.size:,} where {right.size:,} are right"
    wrong = int((found != right).sum())
    return f"{wrong:,} of {found.size:,} differ" if wrong else "exact"


def judge_count(found: int, right: int) -> str:
    """Say how many pairs there are too many or too few."""
    return "exact" if found == right else f"{found - right:+,} of {right:,} pairs"


def padded_answer(found: Any) -> NDArray[Any]:
    """Return the pairs of a padded result."""
    pairs = taken(found.pairs)
    return pairs[: int(taken(found.count).reshape(()))]


def in_a_graph(setting: Setting, call: Callable[[], Any]) -> Callable[[], Any]:
    """Return a call that replays a graph of a call; the first replays are the ones that Warp allocates for."""
    setting.require_cuda()
    wp = warp()
    call()
    with wp.ScopedDevice(setting.device), wp.ScopedCapture() as capture:
        result = call()

    def replay() -> Any:
        wp.capture_launch(capture.graph)
        return result

    return replay


def late(make: Callable[[], Callable[[], Any]]) -> Callable[[], Any]:
    """Return a call that is made when it is first called, so that what it cannot do is its own failure."""
    made: list[Callable[[], Any]] = []

    def call() -> Any:
        if not made:
            made.append(make())
        return made[0]()

    return call


# Works ----------------------------------------------------------------------------------------------------------------


def pairs_of(
    scene: str,
    n: int,
    slowest: float | None,
    least: float | None,
    record: Record,
    setting: Setting,
    dtype: str = "float32",
) -> None:
    """Find all pairs of one set."""
    boxes = make_scene(scene, n, dtype=dtype)
    right = keys_of(bp.pairs(boxes, workers=-1))
    room = int(1.25 * len(right)) + 100
    given = put(boxes, "warp", setting)
    padded = partial(gpu.pairs, given, capacity=room)
    bvh = WarpBvh(boxes, room, setting)
    contestants = [
        Contestant("broadphase", partial(gpu.pairs, given), taken, slowest=slowest),
        Contestant("broadphase, sorted", partial(gpu.pairs, given, sort=True), taken),
        Contestant("broadphase, padded", padded, padded_answer),
        Contestant("broadphase, padded, in a graph", late(lambda: in_a_graph(setting, padded)), padded_answer),
        Contestant("broadphase, of torch", late(lambda: partial(gpu.pairs, put(boxes, "torch", setting))), taken),
        Contestant("warp.Bvh lbvh", bvh, bvh.pairs, least=least, against="broadphase, padded"),
        Contestant(
            "warp.Bvh lbvh, in a graph",
            late(lambda: in_a_graph(setting, bvh)),
            bvh.pairs,
            least=least,
            against="broadphase, padded, in a graph",
        ),
        Contestant("warp.Bvh cubql", late(lambda: WarpBvh(boxes, room, setting, "cubql")), bvh.pairs),
    ]
    work = f"{n:,} boxes, {scene}" + (", float64" if dtype == "float64" else "")
    compete(record, setting, work, contestants, right, judge_pairs, f"{len(right):,} pairs")


def environments(record: Record, setting: Setting) -> None:
    """Find the pairs of boxes of discs in many small worlds."""
    count, size = (20, 50) if setting.quick else (4096, 50)
    rng = np.random.default_rng(0)
    half = 0.5 * np.sqrt(4 / size) / 2  # two pairs a box
    centers = rng.random((count, size, 1, 2))
    boxes = np.concatenate([centers - half, centers + half], axis=2).astype(np.float32)
    flat = boxes.reshape(-1, 2, 2)
    right = keys_of(bp.pairs(boxes, workers=-1))
    room = int(1.25 * len(right)) + 100
    given = put(boxes, "warp", setting)
    padded = partial(gpu.pairs, given, capacity=room)
    groups = np.repeat(np.arange(count), size)
    bvh = WarpBvh(flat, room, setting, groups=groups)

    def of_torch(found: Any) -> NDArray[Any]:
        rows = taken(found)
        return np.asarray(rows[:, 1:] + size * rows[:, :1])

    graph = late(lambda: in_a_graph(setting, padded))
    contestants = [
        Contestant("broadphase, padded, in a graph", graph, padded_answer, slowest=0.1),
        Contestant("broadphase, the same, data in the cache", graph, padded_answer, is_cold=False),
        Contestant("broadphase, padded", padded, padded_answer),
        Contestant("broadphase", partial(gpu.pairs, given), taken),
        Contestant("broadphase, keys in place of equal sizes", partial(
            gpu.pairs, put(flat, "warp", setting), batch=put(groups, "warp", setting)), taken),
        Contestant("warp.Bvh groups", bvh, bvh.pairs),
        Contestant("warp.Bvh groups, in a graph", late(lambda: in_a_graph(setting, bvh)), bvh.pairs),
        Contestant("torch, all pairs", late(lambda: partial(torch_all_pairs, put(boxes, "torch", setting))), of_torch),
    ]  # fmt: skip
    work = f"{count:,} × {size} boxes of discs"
    compete(record, setting, work, contestants, right, judge_pairs, f"{len(right):,} pairs")


def unit_vectors(rng: np.random.Generator, count: int) -> NDArray[np.float32]:
    """Draw directions."""
    ways = rng.normal(size=(count, 3))
    return np.asarray(ways / np.linalg.norm(ways, axis=1, keepdims=True), np.float32)


def rays(record: Record, setting: Setting) -> None:
    """Find the first box on each ray, in a tree that is kept."""
    n, count = (1000, 2000) if setting.quick else (100_000, 1_000_000)
    boxes = make_scene("uniform", n)
    rng = np.random.default_rng(0)
    origins, ways = rng.random((count, 3), np.float32), unit_vectors(rng, count)
    right = bp.BVH(boxes).raycast(origins, ways, workers=-1).rows
    index = gpu.Index(put(boxes, "warp", setting))
    start, way = put(origins, "warp", setting), put(ways, "warp", setting)
    first = WarpRays(WarpBvh(boxes, 1, setting), origins, ways)
    best = late(lambda: WarpRays(WarpBvh(boxes, 1, setting, "sah"), origins, ways))
    contestants = [
        Contestant("broadphase Index.raycast", partial(index.raycast, start, way), lambda found: taken(found.rows)),
        Contestant("broadphase Index.raycast_any", partial(index.raycast_any, start, way)),
        Contestant("wp.bvh_query_ray, lbvh", first, lambda found: taken(found[0]), least=1.0),
        Contestant("wp.bvh_query_ray, sah of the CPU", best, lambda found: taken(found[0])),
    ]
    work = f"{count:,} rays, {n:,} boxes"
    compete(record, setting, work, contestants, right, judge_equal, f"{int((right >= 0).sum()):,} hits")


def lidars(record: Record, setting: Setting) -> None:
    """Cast rays from one body of each of many small worlds, which does not see itself."""
    count, size, beams = (20, 50, 16) if setting.quick else (4096, 50, 64)
    rng = np.random.default_rng(0)
    centers = rng.random((count, size, 1, 3)) * [10, 10, 0]
    boxes = np.concatenate([centers - 0.3, centers + 0.3], axis=2).astype(np.float32)
    flat = boxes.reshape(-1, 2, 3)
    origins = np.repeat(centers[:, 0], beams, axis=1).astype(np.float32)
    angles = np.linspace(0, 2 * np.pi, beams, endpoint=False)
    way = np.stack([np.cos(angles), np.sin(angles), 0 * angles], axis=1).astype(np.float32)
    ways = np.ascontiguousarray(np.broadcast_to(way, (count, beams, 3)))
    own = np.ascontiguousarray(np.broadcast_to(size * np.arange(count)[:, None], (count, beams)))
    # In a tree of the CPU, the bodies with the lidars are in a layer that the rays do not see.
    layer = np.where(np.arange(len(flat)) % size == 0, 2, 1)
    worlds = np.repeat(np.arange(count), size)
    tree = bp.BVH(flat, layer=layer, batch=worlds)
    key = np.repeat(np.arange(count), beams)
    right = tree.raycast(origins.reshape(-1, 3), ways.reshape(-1, 3), mask=1, batch=key, workers=-1).rows
    given = put(boxes, "warp", setting)
    index = gpu.Index(given)
    asked = [put(one, "warp", setting) for one in (origins, ways)]
    ignored = put(own, "warp", setting)
    bvh = WarpBvh(flat, 1, setting, groups=worlds)
    peer = WarpRays(bvh, origins.reshape(-1, 3), ways.reshape(-1, 3), key, own.reshape(-1))
    cast = partial(index.raycast, *asked, ignore=ignored)

    def moved() -> Any:
        index.update(given)
        return cast()

    def rows(found: Any) -> NDArray[Any]:
        return taken(found[0]).reshape(-1)

    def rebuilt() -> Any:
        bvh.bvh.rebuild()
        return peer()

    work = f"{count:,} × {beams} rays of lidars, {size} boxes each"
    contestants = [
        Contestant("broadphase Index.raycast", cast, rows),
        Contestant("broadphase Index.raycast, in a graph", late(lambda: in_a_graph(setting, cast)), rows),
        Contestant("wp.bvh_query_ray, groups", peer, rows, least=1.0),
        Contestant("wp.bvh_query_ray, groups, in a graph", late(lambda: in_a_graph(setting, peer)), rows),
    ]
    compete(record, setting, work, contestants, right, judge_equal, f"{int((right >= 0).sum()):,} hits")
    contestants = [
        Contestant("broadphase Index.update and raycast", moved, rows),
        Contestant("broadphase, the same in a graph", late(lambda: in_a_graph(setting, moved)), rows),
        Contestant("wp.Bvh.refit and bvh_query_ray", peer.updated, rows),
        Contestant("wp.Bvh.rebuild and bvh_query_ray", rebuilt, rows),
        Contestant("wp.Bvh.refit, in a graph", late(lambda: in_a_graph(setting, peer.updated)), rows),
    ]
    unit = f"{int((right >= 0).sum()):,} hits"
    compete(record, setting, f"{work}, after a move", contestants, right, judge_equal, unit)


def neighbors(by: str, record: Record, setting: Setting) -> None:
    """Find 40 neighbors of each point in a periodic cube: each pair once, with its distance and shift."""
    n = 3000 if setting.quick else 1_000_000
    cutoff = 1.0
    side = float((n * 4 / 3 * np.pi / 40) ** (1 / 3))
    points = (np.random.default_rng(0).random((n, 3)) * side).astype(np.float32)
    right = len(bp.neighbors(points, cutoff, cell=[side] * 3, workers=-1).pairs)
    room = int(1.1 * right) + 100
    given = put(points, "warp", setting)
    chosen: dict[str, Any] = {"cell": [side] * 3, "distances": True, "shifts": True}
    padded = partial(gpu.neighbors, given, cutoff, capacity=room, **chosen)
    grid = WarpHashGrid(points, side, cutoff, room, setting)

    def of_torch() -> Any:
        return put(points, "torch", setting)

    def count_of(found: Any) -> int:
        return int(taken(found[0]).reshape(-1)[0])

    contestants = [
        Contestant("broadphase", partial(gpu.neighbors, given, cutoff, **chosen), lambda one: len(taken(one.pairs))),
        Contestant("broadphase, padded", padded, lambda found: int(taken(found.count).reshape(()))),
        Contestant("broadphase, rows only", partial(gpu.neighbors, given, cutoff, cell=[side] * 3)),
        Contestant("warp.HashGrid, float32", grid, count_of, least=2.0, against="broadphase, padded"),
        Contestant("vesin", late(lambda: partial(vesin, of_torch().double(), side, cutoff)), lambda one: len(one[0])),
    ]
    if by == "nvalchemi":
        contestants[2:] = [
            Contestant("nvalchemi, list", late(
                lambda: partial(nvalchemi, of_torch(), side, cutoff, 64, as_list=True)), lambda one: one[0].shape[1]),
            Contestant("nvalchemi, matrix", late(
                lambda: partial(nvalchemi, of_torch(), side, cutoff, 64, as_list=False))),
        ]  # fmt: skip
    work = f"{n:,} points × 40 neighbors, periodic"
    compete(record, setting, work, contestants, right, judge_count, f"{right:,} pairs")


def update(record: Record, setting: Setting) -> None:
    """Let boxes move by up to a tenth of their size: the index against a search from scratch."""
    n = 3000 if setting.quick else 1_000_000
    frames = steps_of("uniform", n, 3)
    given = [put(boxes, "warp", setting) for boxes in frames]
    index = gpu.Index(given[0])
    turn = {"index": 0, "scratch": 0}
    order = (0, 1, 2, 1)

    def following(name: str) -> Any:
        turn[name] += 1
        return given[order[turn[name] % len(order)]]

    def updated() -> Any:
        index.update(following("index"))
        return index.pairs()

    for _ in range(len(order) - 1):
        updated()
    record.equal(
        taken(_updated_sorted(index, given[2])), bp.pairs(frames[2], sort=True, workers=-1), "pairs after an update"
    )
    contestants = [
        Contestant("broadphase, from scratch", lambda: gpu.pairs(following("scratch"))),
        Contestant("broadphase, Index.update and pairs", updated, least=0.8),
        Contestant("broadphase, Index.update alone", lambda: index.update(following("index"))),
        Contestant("broadphase, Index.update, built anew", lambda: index.update(following("index"), rebuild=True)),
        Contestant("broadphase, Index.pairs alone", index.pairs),
    ]
    work = f"{n:,} boxes that move a little"
    compete(record, setting, work, contestants, None, judge_equal, "")
    record.row(WORK, work=work, by=f"the tree was built {index.build_count} times; growth {index.growth:.2f} octaves")


def _updated_sorted(index: Any, boxes: Any) -> Any:
    index.update(boxes)
    return index.pairs(sort=True)


def crossover(record: Record, setting: Setting) -> None:
    """Tell from how many boxes on it pays, with the boxes on the device and with copies there and back."""
    wp = warp()
    clock = Clock(setting)
    for n in (100, 1000) if setting.quick else (1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000):
        boxes = make_scene("uniform", n)
        given = put(boxes, "warp", setting)
        room = 3 * n
        calls: dict[str, Callable[[], Any]] = {
            "on the device": partial(gpu.pairs, given),
            "with copies": partial(gpu.pairs, boxes, device=setting.device),
        }
        if setting.is_cuda:
            calls["in a graph"] = in_a_graph(setting, partial(gpu.pairs, given, capacity=room))
        found = clock.times(calls, 0.02 if setting.quick else 0.5)
        wp.synchronize_device(setting.device)
        cells = {f"ms, {name}": timing.milliseconds for name, timing in found.items()}
        for workers in (1, -1):
            cells[f"ms, CPU, {'one thread' if workers == 1 else 'all cores'}"] = on_host(boxes, workers, setting)
        record.row(CROSSOVER, boxes=n, **cells)


def on_host(boxes: NDArray[Any], workers: int, setting: Setting) -> float:
    """Return the median milliseconds of the core."""
    samples: list[float] = []
    end = time.perf_counter() + (0.02 if setting.quick else 0.4)
    while len(samples) < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        bp.pairs(boxes, workers=workers)
        samples.append((time.perf_counter() - start) * 1e3)
    return statistics.median(samples)
