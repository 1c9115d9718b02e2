"""Arrays of other libraries in and out, on their streams, with work queued before, and in CUDA graphs.

On a stream, boxes are overwritten behind work that takes long. Whoever reads them on another stream, or too early,
finds the pairs of the boxes that were there before.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

import broadphase as bp
from benchmarks.gpu.devices import LIBRARIES, library, put, require, taken, warp
from benchmarks.gpu.exactness import queries_of
from benchmarks.gpu.parts import Record, Setting, Task
from broadphase import gpu
from broadphase.testing import make_scene

if TYPE_CHECKING:
    from numpy.typing import NDArray

ROUNDS = 100  # replays of each graph


def tasks(setting: Setting) -> list[Task]:
    """Return the tasks."""
    require(setting.device)
    made: list[tuple[str, Any]] = [(f"arrays of {name}", partial(arrays, name)) for name in LIBRARIES]
    made += [(f"stream of {name}", partial(streams, name)) for name in ("torch", "cupy", "warp")]
    made += [("two streams of torch in turns", two_streams), ("work of JAX before", work_of_jax)]
    for name in ("torch", "warp", "cupy"):
        made += [(f"graph of {name}: {what}", partial(graphs, name, what)) for what in WORKS]
    made += [("no memory", no_memory)]
    return [Task(name, partial(run, setting=setting)) for name, run in made]


# Arrays ---------------------------------------------------------------------------------------------------------------


def arrays(name: str, record: Record, setting: Setting) -> None:
    """Give arrays in all forms to all that takes them: the results are of the library, on the device, and right."""
    library(name, setting)

    def on(array: NDArray[Any]) -> Any:
        return put(np.ascontiguousarray(array), name, setting)

    def is_of_library(found: Any, label: str) -> None:
        record.equal(type(found).__module__.partition(".")[0] in (name, f"{name}lib"), True, f"{label}: of {name}")
        record.equal(is_on(found, setting), True, f"{label}: on the device")

    def check(found: Any, expected: Any, label: str) -> None:
        is_of_library(found, label)
        record.equal(taken(found), expected, label)

    for dtype in ("float32", "float64"):
        boxes = make_scene("uniform", 3000, dtype=dtype)
        expected = bp.pairs(boxes, sort=True)
        wide = np.zeros((3000, 2, 5), dtype)
        wide[:, :, 1:4] = boxes
        forms = {
            "(n, 2, d)": on(boxes),
            "(n, 2 d)": on(boxes.reshape(-1, 6)),
            "corners": (on(boxes[:, 0]), on(boxes[:, 1])),
            "strided": on(wide)[:, :, 1:4],
            "scenes": on(boxes.reshape(1, -1, 2, 3)),
        }
        for form, given in forms.items():
            with record.case(f"{form}, {dtype}"):
                check(gpu.pairs(given, sort=True), expected, f"{form}, {dtype}")
                found, count = gpu.pairs(given, capacity=len(expected) + 5, sort=True)
                is_of_library(found, form)
                record.equal(taken(found)[: len(expected)], expected, f"{form}, {dtype}, padded")
                record.equal(int(taken(count).reshape(())), len(expected), f"{form}, {dtype}, count")
        with record.case(f"options, {dtype}"):
            keys = np.arange(3000) % 5
            right = bp.pairs(boxes, sort=True, batch=keys, mask=keys, group=-keys)
            found = gpu.pairs(on(boxes), sort=True, batch=on(keys), mask=on(keys), group=on(-keys))
            check(found, right, f"options, {dtype}")
            check(gpu.pairs(on(boxes[:0])), np.empty((0, 2), np.int32), f"no boxes, {dtype}")
        if setting.is_cuda:  # elsewhere, arrays on the CPU are searched by the core
            with record.case(f"broadphase.pairs, {dtype}"):
                check(bp.pairs(on(boxes), sort=True), expected, f"broadphase.pairs, {dtype}")
                record.equal(bp.count_pairs(on(boxes)), len(expected), f"broadphase.count_pairs, {dtype}")
        with record.case(f"index, {dtype}"):
            asked = queries_of(boxes, 300, 1)
            index, tree = gpu.Index(on(boxes)), bp.BVH(boxes)
            check(index.pairs(sort=True), expected, f"index, {dtype}, pairs")
            points, ways = asked["points"], asked["ways"]
            for query, given in (
                ("query", (asked["regions"],)),
                ("query_points", (points,)),
                ("query_ball", (points, asked["radii"])),
                ("nearest", (points,)),
                ("raycast", (points, ways)),
            ):
                answer, right = getattr(index, query)(*map(on, given)), getattr(tree, query)(*given)
                for part in answer._fields:
                    check(getattr(answer, part), getattr(right, part), f"index, {dtype}, {part} of {query}")
            hits = tree.raycast(points, ways).rows >= 0
            check(index.raycast_any(on(points), on(ways)), hits, f"index, {dtype}, raycast_any")
            index.update(on(boxes[::-1]))
            check(index.pairs(sort=True), bp.pairs(boxes[::-1], sort=True), f"index, {dtype}, pairs after an update")
        with record.case(f"neighbors, {dtype}"):
            points = np.ascontiguousarray(boxes.mean(axis=1))
            chosen: dict[str, Any] = {"cell": np.ones(3), "distances": True, "shifts": True, "sort": True}
            near, nearby = bp.neighbors(points, 0.1, **chosen), gpu.neighbors(on(points), 0.1, **chosen)
            for part in ("pairs", "offsets", "distances", "shifts"):
                check(getattr(nearby, part), getattr(near, part), f"neighbors, {dtype}, {part}")


def is_on(array: Any, setting: Setting) -> bool:
    """Return whether an array is on the device."""
    device = getattr(array, "device", None)
    text = str(device() if callable(device) else device).lower()
    if type(array).__module__.startswith("cupy"):
        return f"cuda device {setting.device.partition(':')[2] or 0}" in text
    return text.startswith(setting.device.partition(":")[0])


# Streams --------------------------------------------------------------------------------------------------------------


class Side:
    """A stream beside the default one of a library, and what is done on it."""

    def __init__(self, name: str, setting: Setting) -> None:
        setting.require_cuda()
        self.name, self.setting = name, setting
        self.module: Any = library(name, setting)
        wp = warp()
        self._device = require(setting.device)
        self._large: Any = None
        if name == "torch":
            self.stream = self.module.cuda.Stream(self._device.ordinal)
        elif name == "cupy":
            self.stream = self.module.cuda.Stream(non_blocking=True)
        else:
            self.stream = wp.Stream(self._device)
        if name != "warp":
            self._large = put(np.random.default_rng(0).random((4096, 4096), np.float32), name, setting)

    def entered(self) -> AbstractContextManager[Any]:
        """Make the stream the current one, as the library does."""
        if self.name == "torch":
            context: AbstractContextManager[Any] = self.module.cuda.stream(self.stream)
        elif self.name == "cupy":
            context = self.stream
        else:
            context = self.module.ScopedStream(self.stream)
        return context

    def put(self, array: NDArray[Any]) -> Any:
        """Copy an array to the device."""
        return put(array, self.name, self.setting)

    def work_long(self) -> None:
        """Queue work of some milliseconds on the current stream."""
        if self.name != "warp":
            for _ in range(10):
                self._large @ self._large
            return
        from benchmarks.gpu import kernels

        result = self.module.empty(1 << 16, dtype=float, device=self._device)
        self.module.launch(kernels.spin, 1 << 16, inputs=[1 << 17, result], device=self._device)

    def overwrite(self, target: Any, source: Any) -> None:
        """Copy one array over another on the current stream."""
        if self.name == "torch":
            target.copy_(source)
        elif self.name == "cupy":
            target[...] = source
        else:
            self.module.copy(target, source)

    def wait(self) -> None:
        """Wait for all that was queued on the device."""
        warp().synchronize_device(self._device)


def streams(name: str, record: Record, setting: Setting) -> None:
    """Overwrite boxes on a stream, behind long work, and then search them on it."""
    side = Side(name, setting)
    before, after = (make_scene("uniform", 20_000, seed=seed) for seed in (1, 2))
    right = bp.pairs(after, sort=True)
    points = np.ascontiguousarray(after.mean(axis=1))
    near = bp.neighbors(points, 0.04)
    first, second = side.put(before), side.put(after)
    spots = side.put(points)
    room = len(right) + 1000
    index = gpu.Index(first)
    gpu.pairs(first, capacity=room, sort=True)
    nearest = bp.BVH(after).nearest(points)
    hits = bp.BVH(after).raycast(points, points - 0.5, 0.1)
    ways = side.put(points - 0.5)
    side.wait()
    for turn in range(10):
        with record.case(f"turn {turn}"):
            boxes, moved = side.put(before), side.put(np.zeros_like(points))
            side.wait()
            with side.entered():
                side.work_long()
                side.overwrite(boxes, second)
                side.overwrite(moved, spots)
                padded = gpu.pairs(boxes, capacity=room, sort=True)
                index.update(boxes)
                closest = index.nearest(moved)
                rays = index.raycast(moved, ways, 0.1)
                close = gpu.neighbors(moved, 0.04, capacity=len(near.pairs) + 10)
                exact = gpu.pairs(boxes, sort=True)
                # What was given is overwritten at once; results must be of what was there when they were asked for.
                side.overwrite(boxes, first)
                side.overwrite(moved, ways)
            side.wait()
            record.equal(taken(padded.pairs)[: len(right)], right, f"turn {turn}, padded")
            record.equal(taken(exact), right, f"turn {turn}, of exact size")
            record.equal(taken(closest.rows), nearest.rows, f"turn {turn}, nearest rows")
            record.equal(taken(closest.distances), nearest.distances, f"turn {turn}, distances of the nearest")
            record.equal(taken(rays.rows), hits.rows, f"turn {turn}, rays")
            record.same_pairs(taken(close.pairs)[: len(near.pairs)], near.pairs, f"turn {turn}, neighbors")


def two_streams(record: Record, setting: Setting) -> None:
    """Search on two streams at once, each with its boxes."""
    sides = [Side("torch", setting) for _ in range(2)]
    sets = [make_scene("uniform", 30_000 + 10_000 * k, seed=k) for k in range(2)]
    right = [bp.pairs(boxes, sort=True) for boxes in sets]
    given = [side.put(boxes) for side, boxes in zip(sides, sets, strict=True)]
    sides[0].wait()
    found: list[list[Any]] = [[], []]
    for turn in range(40):
        for k, side in enumerate(sides):
            with side.entered():
                if turn % 10 == 0:
                    side.work_long()
                found[k].append(gpu.pairs(given[k], capacity=len(right[k]), sort=True))
    sides[0].wait()
    for k, results in enumerate(found):
        for turn, one in enumerate(results):
            record.equal(taken(one.pairs), right[k], f"stream {k}, turn {turn}")


def work_of_jax(record: Record, setting: Setting) -> None:
    """Give boxes that JAX has not finished."""
    setting.require_cuda()
    jax = library("jax", setting)
    before, after = (make_scene("uniform", 20_000, seed=seed) for seed in (1, 2))
    right = bp.pairs(after, sort=True)
    large = put(np.random.default_rng(0).random((4096, 4096), np.float32), "jax", setting)

    def long_work(large: Any, old: Any, new: Any) -> Any:
        for _ in range(10):
            large = large @ large * 1e-3
        return jax.numpy.where(jax.numpy.isnan(large[0, 0]), old, new)

    worked = jax.jit(long_work)
    first, second = (put(boxes, "jax", setting) for boxes in (before, after))
    worked(large, first, second).block_until_ready()
    for turn in range(10):
        with record.case(f"turn {turn}"):
            boxes = worked(large, first, second)
            found = gpu.pairs(boxes, capacity=len(right), sort=True)
            record.equal(taken(found.pairs + 0), right, f"turn {turn}, padded")
            boxes = worked(large, first, second)
            record.equal(taken(gpu.pairs(boxes, sort=True)), right, f"turn {turn}, of exact size")


# Graphs ---------------------------------------------------------------------------------------------------------------


def frames_of(n: int, count: int, *, scenes: int = 0) -> list[NDArray[Any]]:
    """Return boxes, frame by frame, all different; with `scenes`, in so many scenes."""
    frames = [make_scene("uniform", n, seed=seed) for seed in range(count)]
    return [boxes.reshape(scenes, -1, 2, 3) for boxes in frames] if scenes else frames


WORKS = ("pairs", "sorted pairs", "scenes", "index", "neighbors")


def graphs(name: str, what: str, record: Record, setting: Setting) -> None:
    """Record a call, and replay it with other boxes each time; other calls, and `release`, go on between."""
    side = Side(name, setting)
    count = 10  # frames, which come round again
    frames = frames_of(5000, count, scenes=100 if what == "scenes" else 0)
    boxes = side.put(frames[0])
    given = [side.put(frame) for frame in frames]
    others = side.put(make_scene("uniform", 40_000, seed=99))
    extra, expected = work_of(what, side, frames)
    side.wait()

    def call() -> Any:
        return extra(boxes)

    with record.case("recording"):
        result, replay = recorded(side, call)
        for turn in range(ROUNDS):
            k = (7 * turn + 3) % count
            with side.entered():
                side.overwrite(boxes, given[k])
                replay()
                if turn % 9 == 4:
                    gpu.pairs(others)
                if turn % 30 == 17:
                    gpu.release()
            side.wait()
            expected(record, result, k, f"replay {turn}")


def work_of(
    what: str, side: Side, frames: list[NDArray[Any]]
) -> tuple[Callable[[Any], Any], Callable[[Record, Any, int, str], None]]:
    """Return what is recorded, and what compares its result with the right one of a frame."""
    if what == "neighbors":
        points = [np.ascontiguousarray(frame[:, 0]) for frame in frames]
        chosen: dict[str, Any] = {"cell": [1.5] * 3, "shifts": True, "distances": True}
        lists = [bp.neighbors(one, 0.06, sort=True, **chosen) for one in points]
        room = 2 * max(len(one.pairs) for one in lists)

        def near(boxes: Any) -> Any:
            return gpu.neighbors(boxes[:, 0], 0.06, capacity=room, sort=True, **chosen)

        def check_near(record: Record, found: Any, k: int, label: str) -> None:
            right, total = lists[k], len(lists[k].pairs)
            record.equal(int(taken(found.count).reshape(())), total, f"{label}, count")
            for part in ("pairs", "distances", "shifts"):
                record.equal(taken(getattr(found, part))[:total], getattr(right, part), f"{label}, {part}")

        return near, check_near
    right = [bp.pairs(frame, sort=True) for frame in frames]
    room = 2 * max(map(len, right))
    if what == "index":
        index = gpu.Index(side.put(frames[0]))
        origins = np.random.default_rng(3).random((2000, 3))
        ways = origins[::-1] - 0.5
        start, way = side.put(np.ascontiguousarray(origins)), side.put(np.ascontiguousarray(ways))
        hits = [bp.BVH(frame).raycast(origins, ways) for frame in frames]

        def updated(boxes: Any) -> Any:
            index.update(boxes)
            return index.pairs(capacity=room), index.raycast(start, way)

        def check_index(record: Record, found: Any, k: int, label: str) -> None:
            padded, rays = found
            total = len(right[k])
            record.equal(int(taken(padded.count).reshape(())), total, f"{label}, count")
            record.same_pairs(taken(padded.pairs)[:total], right[k], f"{label}, pairs")
            record.equal(taken(rays.rows), hits[k].rows, f"{label}, rows of rays")
            record.equal(taken(rays.distances), hits[k].distances, f"{label}, distances of rays")

        return updated, check_index
    sort = what != "pairs"

    def padded_pairs(boxes: Any) -> Any:
        return gpu.pairs(boxes, capacity=room, sort=sort)

    def check_pairs(record: Record, found: Any, k: int, label: str) -> None:
        total = len(right[k])
        pairs = taken(found.pairs)
        record.equal(int(taken(found.count).reshape(())), total, f"{label}, count")
        record.equal(pairs[total:], np.full((room - total, 2), -1), f"{label}, padding")
        if sort:
            record.equal(pairs[:total], right[k], label)
        else:
            record.same_pairs(pairs[:total], right[k], label)

    return padded_pairs, check_pairs


def recorded(side: Side, call: Callable[[], Any]) -> tuple[Any, Callable[[], None]]:
    """Record a call in a graph of the library, and return its result and what replays it."""
    module = side.module
    if side.name == "torch":
        call()
        graph = module.cuda.CUDAGraph()
        with module.cuda.graph(graph):
            result = call()
        return result, graph.replay
    if side.name == "warp":
        with side.entered():
            call()
            with module.ScopedCapture(stream=side.stream) as capture:
                result = call()
        return result, partial(module.capture_launch, capture.graph)
    with side.entered():
        call()
        side.stream.begin_capture()
        try:
            result = call()
        finally:
            graph = side.stream.end_capture()
    return result, graph.launch


def no_memory(record: Record, setting: Setting) -> None:
    """Ask for more than the device has: a MemoryError, and the next call goes on."""
    setting.require_cuda()
    torch = library("torch", setting)
    boxes = make_scene("uniform", 3000)
    given = put(boxes, "torch", setting)
    fraction = 0.02
    torch.cuda.set_per_process_memory_fraction(fraction)
    total = torch.cuda.get_device_properties(0).total_memory
    with record.case("no memory"):
        refused = False
        try:
            gpu.pairs(given, capacity=int(total * fraction) // 8 + 1)
        except MemoryError:
            refused = True
        record.equal(refused, True, "a result that does not fit")
        record.equal(taken(gpu.pairs(given, sort=True)), bp.pairs(boxes, sort=True), "the next call")
    torch.cuda.set_per_process_memory_fraction(1.0)
