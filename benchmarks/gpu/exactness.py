"""Everything that `broadphase.gpu` returns on a device, compared with the CPU's core: arrays of NumPy in and out."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

import broadphase as bp
from benchmarks.gpu.devices import require
from benchmarks.gpu.parts import Record, Setting, Task
from benchmarks.gpu.scenes import on_device
from broadphase import gpu
from broadphase.testing import SCENES, make_scene, moving

if TYPE_CHECKING:
    from numpy.typing import NDArray

DTYPES = ("float32", "float64")
DIMENSIONS = (2, 3)
#: Scenes that stand for all where there is no time for all.
SOME = ("uniform", "lognormal", "clusters", "sticks", "lattice", "infinite", "outliers", "huge_tiny", "half_identical")
#: Boxes that are compared one by one, and boxes that have a tree: on both sides of what `pairs` chooses by.
FEW, MANY = 700, 3000


def tasks(setting: Setting) -> list[Task]:
    """Return the tasks, those first that others leave no time for."""
    require(setting.device)
    made: list[tuple[str, Any]] = [("pairs: every scene, float32", partial(scenes, "float32"))]
    made += [(f"pairs: every option, {d} axes, {t}", partial(options, d, t)) for d in DIMENSIONS for t in DTYPES]
    made += [(f"pairs: batches, {dtype}", partial(batches, dtype)) for dtype in DTYPES]
    made += [("pairs: capacity and limit", capacities), ("pairs: 0 to 33 boxes", few_boxes)]
    made += [("pairs: boxes that are none", invalid_boxes), ("pairs: scales", scales)]
    made += [("pairs: random lattices", lattices), ("pairs: many times, and by threads", many_times)]
    made += [("index: batches and ignored rows", batches_and_ignored), ("index: 0 to 3 boxes, far and huge", odd_boxes)]
    made += [("index: capacity", query_capacities), ("index: history, 3 axes, float32", partial(history, 3, "float32"))]
    made += [(f"neighbors: {d} axes, {t}", partial(near_points, d, t)) for d in (2, 3) for t in DTYPES]
    made += [("neighbors: batches and capacity", near_batches), ("neighbors: many points", many_points)]
    made += [("pairs: every scene, float64", partial(scenes, "float64")), ("pairs: large scenes", large)]
    made += [("index: history, 3 axes, float64", partial(history, 3, "float64"))]
    made += [(f"index: history, 2 axes, {dtype}", partial(history, 2, dtype)) for dtype in DTYPES]
    return [Task(name, partial(run, setting=setting)) for name, run in made]


def lattice(rng: np.random.Generator, n: int, dim: int, dtype: str, reach: int) -> NDArray[Any]:
    """Make boxes with small integer corners: touching, duplicates, zero size and minus zero are common."""
    lower = rng.integers(-reach, reach + 1, (n, dim))
    boxes = np.stack([lower, lower + rng.integers(0, 3, (n, dim))], axis=1).astype(dtype)
    boxes[(boxes == 0) & (rng.random(boxes.shape) < 0.5)] = -0.0
    return boxes


def reach_of(n: int, dim: int) -> int:
    """Return the reach at which a lattice of n boxes has some pairs for each box."""
    return max(1, int((n / 2) ** (1 / dim) / 2))


def check_pairs(
    record: Record, setting: Setting, label: str, boxes: Any, other: Any = None, **chosen: Any
) -> NDArray[np.int32]:
    """Compare pairs, sorted pairs and their number; return the right ones."""
    expected = np.asarray(bp.pairs(boxes, other, sort=True, workers=-1, **chosen))
    with record.case(label):
        found = gpu.pairs(boxes, other, device=setting.device, sort=True, **chosen)
        record.equal(found, expected, f"{label}, sorted")
        record.same_pairs(gpu.pairs(boxes, other, device=setting.device, **chosen), expected, label)
        count = gpu.count_pairs(boxes, other, device=setting.device, **chosen)
        record.equal(count, len(expected), f"{label}, count")
    return expected


# Pairs ----------------------------------------------------------------------------------------------------------------


def scenes(dtype: str, record: Record, setting: Setting) -> None:
    """Try all scenes, with few boxes and with many, of one set and of two."""
    for name, scene in on_device().items():
        sizes: tuple[int, ...] = (FEW, 1500 if scene.quadratic else 20_000)
        if setting.quick:
            sizes = (MANY // 2,) if dtype == "float32" else (FEW // 4,)
        for n in sizes:
            boxes = make_scene(name, n, dtype=dtype)
            check_pairs(record, setting, f"{name}, {n}", boxes)
            check_pairs(record, setting, f"{name}, {n}, two sets", boxes[: n // 4], boxes[n // 4 :])
            if not setting.quick:
                check_pairs(record, setting, f"{name}, {n}, two sets the other way", boxes[n // 4 :], boxes[: n // 4])


def drawn_options(rng: np.random.Generator, n: int, m: int | None = None) -> dict[str, Any]:
    """Draw one value of each option, for one set of n boxes or for two of n and m."""

    def both(make: Any) -> Any:
        return make(n) if m is None else (make(n), make(m))

    return {
        "touching": False,
        "margin": 0.5,
        "layer": both(lambda k: rng.integers(0, 2**63, k, dtype=np.uint64) * 2),
        "mask": both(lambda k: rng.integers(0, 4, k) - 1),
        "group": both(lambda k: rng.integers(-2, 3, k).astype(np.int8)),
        "static": both(lambda k: rng.random(k) < 0.6),
        "ignore_shared": both(lambda k: rng.integers(0, 2 * k, (k, 2))),
        "batch": both(lambda k: rng.integers(-3, 4, k)),
    }


def options(dim: int, dtype: str, record: Record, setting: Setting) -> None:
    """Try each option by itself, some together, and all, of few boxes and of many, of one set and of two."""
    rng = np.random.default_rng(dim)
    for n in (FEW // 4, FEW) if setting.quick else (FEW, MANY):
        boxes, other = (lattice(rng, k, dim, dtype, reach_of(n, dim)) for k in (n, n // 2 + 1))
        one, two = drawn_options(rng, n), drawn_options(rng, n, n // 2 + 1)
        for names in ([], *([name] for name in one), ["touching", "margin"], ["layer", "mask", "group"], list(one)):
            label = f"{n}, {' '.join(names)}"
            check_pairs(record, setting, label, boxes, **{name: one[name] for name in names})
            check_pairs(record, setting, f"{label}, two sets", boxes, other, **{name: two[name] for name in names})
        for value in (0, 5, -1, 2**64 - 1):
            check_pairs(record, setting, f"layer and mask {value} for all", boxes, layer=value, mask=np.arange(n))


def batches(dtype: str, record: Record, setting: Setting) -> None:
    """Try scenes of one size, small and large, and uneven ones by keys."""
    rng = np.random.default_rng(5)
    for dim in DIMENSIONS:
        for size, count in ((1, 40), (2, 40), (7, 40), (60, 40), (256, 3), (257, 3), (1000, 3)):
            if setting.quick and size > 257:
                continue
            boxes = lattice(rng, count * size, dim, dtype, reach_of(size, dim)).reshape(count, size, 2, dim)
            other = lattice(rng, count * 11, dim, dtype, 2).reshape(count, 11, 2, dim)
            label = f"{count} scenes of {size}, {dim} axes"
            check_pairs(record, setting, label, boxes)
            check_pairs(record, setting, f"{label}, mask", boxes, mask=rng.integers(0, 4, count * size))
            check_pairs(record, setting, f"{label}, two sets", boxes, other)
            check_pairs(record, setting, f"{label}, two sets the other way", other, boxes)
        names = np.array([-(2**63), -5, 0, 1, 2, 3, 2**40, 2**63 - 1])
        keys = rng.permutation(np.repeat(names, [400, 1, 2, 300, 0, 7, 33, 900]))
        others = rng.permutation(np.repeat(names, [3, 60, 2, 200, 5, 0, 1, 90]))
        boxes, other = (lattice(rng, len(k), dim, dtype, reach_of(500, dim)) for k in (keys, others))
        check_pairs(record, setting, f"keys, {dim} axes", boxes, batch=keys)
        check_pairs(record, setting, f"keys, {dim} axes, two sets", boxes, other, batch=(keys, others))
        check_pairs(record, setting, f"each its own key, {dim} axes", boxes, batch=np.arange(len(boxes)))
        check_pairs(record, setting, f"one key, {dim} axes", boxes, batch=4)


def capacities(record: Record, setting: Setting) -> None:
    """Give room for fewer pairs than there are, for all, and for more."""
    for n in (FEW, MANY):
        boxes = make_scene("uniform", n)
        for scenes_of in (boxes, boxes.reshape(n // 50, 50, 2, 3)):
            expected = bp.pairs(scenes_of, sort=True)
            total = len(expected)
            known = {tuple(pair) for pair in expected.tolist()}
            for room in (0, 1, total // 2, total - 1, total, total + 1, 2 * total + 100):
                for sort in (False, True):
                    label = f"{n}, capacity {room} for {total}, sort={sort}"
                    with record.case(label):
                        found, count = gpu.pairs(scenes_of, device=setting.device, capacity=room, sort=sort)
                        kept = min(room, total)
                        record.equal(count, total, f"{label}, count")
                        record.equal(found[kept:], np.full((room - kept, 2), -1), f"{label}, padding")
                        if room >= total:
                            record.same_pairs(found[:kept], expected, label)
                            if sort:
                                record.equal(found[:kept], expected, label)
                        else:
                            pairs = {tuple(pair) for pair in found[:kept].tolist()}
                            record.equal(len(pairs & known), kept, f"{label}, pairs that are right")
            with record.case("max_pairs"):
                record.equal(len(gpu.pairs(scenes_of, device=setting.device, max_pairs=total)), total, "max_pairs")
                refused = False
                try:
                    gpu.pairs(scenes_of, device=setting.device, max_pairs=total - 1)
                except bp.errors.TooManyPairsError:
                    refused = True
                record.equal(refused, True, "max_pairs of one less is refused")


def few_boxes(record: Record, setting: Setting) -> None:
    """Try 0 to 33 boxes."""
    rng = np.random.default_rng(1)
    for dtype in DTYPES:
        for n in (0, 1, 2, 3, 31, 32, 33):
            boxes = lattice(rng, n, 3, dtype, 2)
            check_pairs(record, setting, f"{n}, {dtype}", boxes)
            check_pairs(record, setting, f"{n}, {dtype}, each its own key", boxes, batch=np.arange(n))
            for m in (0, 1, 2, 33):
                check_pairs(record, setting, f"{n} and {m}, {dtype}", boxes, lattice(rng, m, 3, dtype, 2))


def invalid_boxes(record: Record, setting: Setting) -> None:
    """Give NaN and lower > upper: an error with the row, or a count of -1 - row."""
    for n in (FEW, MANY):
        good = make_scene("uniform", n)
        for row, corner, value in ((0, 0, np.nan), (n // 2, 1, np.nan), (n - 1, 0, 5.0), (n - 1, 0, np.inf)):
            boxes = good.copy()
            boxes[row, corner, 1] = value
            for arguments in ((boxes,), (boxes, good), (good, boxes)):
                label = f"{n} boxes, {value} in row {row}, {len(arguments)} sets"
                with record.case(label):
                    named = -1
                    try:
                        gpu.pairs(*arguments, device=setting.device)
                    except bp.errors.InvalidBoxError as error:
                        named = error.row
                    record.equal(named, row, f"{label}, the row of the error")
                    told = gpu.pairs(*arguments, device=setting.device, capacity=10)
                    record.equal(int(told.count), -1 - row, f"{label}, the count")
        check_pairs(record, setting, "good boxes after bad ones", good)


def scales(record: Record, setting: Setting) -> None:
    """Find the same pairs at any scale, up to the ends of what numbers can be."""
    n = FEW if setting.quick else MANY
    for dtype, extremes in (("float32", (-140, -100, 100)), ("float64", (-1060, -500, 500, 1010))):
        for name in ("lattice", "outliers", "infinite", "sticks"):
            boxes = make_scene(name, n, dtype=dtype)
            right = bp.pairs(boxes, sort=True)
            for exponent in (-60, 60, *extremes):
                if exponent not in (-60, 60) and name != "lattice":
                    continue
                scaled = boxes * np.dtype(dtype).type(2.0**exponent)
                found = check_pairs(record, setting, f"{name} × 2^{exponent}, {dtype}", scaled)
                record.equal(found, right, f"{name} × 2^{exponent}, {dtype}, as without")


def lattices(record: Record, setting: Setting) -> None:
    """Draw lattices and options."""
    for seed in range(30 if setting.quick else 300):
        rng = np.random.default_rng([31, seed])
        dim, dtype = int(rng.integers(2, 4)), str(rng.choice(DTYPES))
        n, m = (int(k) for k in rng.integers(1, 2500 if seed % 4 == 0 else 200, 2))
        boxes = lattice(rng, n, dim, dtype, reach_of(n, dim) + 1)
        other = lattice(rng, m, dim, dtype, reach_of(n, dim) + 1) if seed % 2 else None
        drawn = drawn_options(rng, n, None if other is None else m)
        chosen = {name: value for name, value in drawn.items() if rng.random() < 0.3}
        check_pairs(record, setting, f"seed {seed}, {dim} axes, {dtype}, {' '.join(chosen)}", boxes, other, **chosen)


def many_times(record: Record, setting: Setting) -> None:
    """Search the same boxes again and again, and different ones by four threads at once: a race would show."""
    boxes = make_scene("uniform", 2000 if setting.quick else 100_000)
    expected = bp.pairs(boxes, sort=True, workers=-1)
    for turn in range(5 if setting.quick else 40):
        record.same_pairs(gpu.pairs(boxes, device=setting.device), expected, f"turn {turn}")
    sets = [make_scene("clusters", FEW + 900 * k, seed=k) for k in range(4)]
    right = [bp.pairs(one, sort=True) for one in sets]
    found: list[list[Any]] = [[] for _ in sets]

    def work(k: int) -> None:
        for _ in range(5 if setting.quick else 25):
            found[k].append(gpu.pairs(sets[k], device=setting.device, sort=True))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(len(sets))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k, results in enumerate(found):
        record.equal(len(results), 5 if setting.quick else 25, f"calls of thread {k}")
        for one in results:
            record.equal(one, right[k], f"thread {k}")


def large(record: Record, setting: Setting) -> None:
    """Try scenes of a million boxes."""
    n = 4000 if setting.quick else 1_000_000
    for name in ("uniform", "lognormal", "sticks", "giant"):
        check_pairs(record, setting, f"{name}, {n}", make_scene(name, n))
    check_pairs(record, setting, f"uniform, {n // 4}, float64", make_scene("uniform", n // 4, dtype="float64"))
    boxes = make_scene("uniform", n)
    check_pairs(record, setting, f"uniform, {n}, two sets", boxes[: n // 5], boxes[n // 5 :])
    check_pairs(record, setting, f"uniform, {n}, keys", boxes, batch=np.arange(n) % 7)


# Index ----------------------------------------------------------------------------------------------------------------


def in_dimension(name: str, n: int, dim: int, dtype: str, seed: int = 7) -> NDArray[Any]:
    """Make a scene, and leave out axes, or add some from the next seed."""
    boxes = make_scene(name, n, seed=seed, dtype=dtype)
    while boxes.shape[2] < dim:
        seed += 1
        boxes = np.concatenate([boxes, make_scene(name, n, seed=seed, dtype=dtype)], axis=2)
    return in_range(np.ascontiguousarray(boxes[:, :, :dim]))


def in_range(boxes: NDArray[Any]) -> NDArray[Any]:
    """Replace numbers that an index on a device does not take, below 1e-130 and above 1e150, by 0 and that limit."""
    if boxes.dtype == np.float32:
        return boxes
    sizes = np.clip(np.where(np.abs(boxes) < 1e-130, 0.0, np.abs(boxes)), None, 1e150)
    return np.where(np.isinf(boxes), boxes, np.copysign(sizes, boxes)).astype(boxes.dtype)


def frames(name: str, n: int, dim: int, dtype: str, is_short: bool) -> Iterator[tuple[str, NDArray[Any], bool | None]]:
    """Yield boxes that move a little, leap, and stay, and whether the tree is to be built again."""
    boxes = in_dimension(name, n, dim, dtype)
    finite = np.isfinite(boxes).all(axis=(1, 2))
    span = float(np.ptp(boxes[finite])) if finite.any() else 1.0
    rng = np.random.default_rng(9)
    yield "at first", boxes, None
    for step in range(1 if is_short else 3):
        shift = (rng.random((n, 1, dim)) - 0.5) * span * 0.02
        boxes = (boxes + shift).astype(dtype)
        yield f"moved {step}", boxes, (None, False, True)[step % 3]
    yield "leapt", rng.permutation(boxes), None
    yield "leapt, not built", rng.permutation(boxes), False
    if not is_short:
        alike = boxes.copy()
        alike[: len(boxes) // 4] = boxes[0]
        yield "a quarter alike", alike, None
        yield "apart again", boxes, None


def queries_of(boxes: NDArray[Any], count: int, seed: int) -> dict[str, Any]:
    """Draw queries near boxes: boxes, points, radii and rays, of both dtypes."""
    rng = np.random.default_rng(seed)
    n, dim = len(boxes), boxes.shape[2]
    finite = np.clip(np.where(np.isfinite(boxes), boxes, 0.0), -1e30, 1e30)
    sizes = np.abs(finite[:, 1] - finite[:, 0])
    rows = rng.integers(0, max(n, 1), count) if n else np.zeros(0, int)
    size = sizes[rows] if n else np.zeros((count, dim))
    places = (finite[rows, 0] if n else np.zeros((count, dim))) + rng.random((len(size), dim)) * size * 1.5
    regions = np.stack([places - size * rng.random(size.shape), places + size * rng.random(size.shape)], axis=1)
    ways = rng.normal(size=places.shape)
    ways[: len(ways) // 4] *= rng.random((len(ways) // 4, dim)) < 0.4  # along axes, and of no length
    # On the borders of boxes, exactly.
    points = places.copy()
    points[::3] = finite[rows[::3], rng.integers(0, 2, len(points[::3]))] if n else 0.0
    return {
        "regions": regions.astype(boxes.dtype),
        "double regions": regions.astype("float64"),
        "points": points.astype("float64"),
        "single points": points.astype("float32"),
        "radii": size.max(axis=1, initial=0.0) * rng.random(len(size)),
        "ways": ways,
        "lengths": np.where(rng.random(len(size)) < 0.5, np.inf, size.max(axis=1, initial=0.0) * 20),
    }


def check_index(
    record: Record, label: str, index: Any, boxes: NDArray[Any], tree: Any, asked: dict[str, Any], **where: Any
) -> None:
    """Compare all answers of an index with those of a tree of the CPU."""
    with record.case(label):
        pairs = tree.pairs(sort=True)
        record.equal(index.pairs(sort=True), pairs, f"{label}, pairs")
        record.same_pairs(index.pairs(), pairs, f"{label}, pairs in any order")
        record.equal(index.count_pairs(), len(pairs), f"{label}, count of pairs")
    points, singles, radii = asked["points"], asked["single points"], asked["radii"]
    for name, arguments in (
        ("query", (asked["regions"],)),
        ("query", (asked["double regions"],)),
        ("query_points", (points,)),
        ("query_points", (singles,)),
        ("query_ball", (points, radii)),
        ("query_ball", (singles, float(radii.max(initial=0.0)))),
    ):
        with record.case(f"{label}, {name}"):
            found, right = getattr(index, name)(*arguments, **where), getattr(tree, name)(*arguments, **where)
            record.equal(found.offsets, right.offsets, f"{label}, offsets of {name}")
            record.equal(found.rows, right.rows, f"{label}, rows of {name}")
    more: list[tuple[str, tuple[Any, ...]]] = [
        ("nearest", (points,)),
        ("nearest", (singles, 5)),
        ("nearest", (points, 3, radii)),
        ("raycast", (points, asked["ways"])),
        ("raycast", (singles, asked["ways"], asked["lengths"])),
        ("raycast", (points, asked["ways"][:1].repeat(len(points), 0).astype("float32"), 1.0)),
    ]
    for name, given in more:
        with record.case(f"{label}, {name}"):
            found, right = getattr(index, name)(*given, **where), getattr(tree, name)(*given, **where)
            record.equal(found.rows, right.rows, f"{label}, rows of {name}")
            record.equal(found.distances, right.distances, f"{label}, distances of {name}")
            if name == "raycast":
                record.equal(index.raycast_any(*given, **where), right.rows >= 0, f"{label}, raycast_any")


def history(dim: int, dtype: str, record: Record, setting: Setting) -> None:
    """Let boxes move, leap, and become alike, and ask all kinds of queries after each update."""
    count = 40 if setting.quick else 600
    names = SOME[:6] if setting.quick else tuple(SCENES) if dim == 3 else SOME
    for name in names:
        is_long = name in ("uniform", "clusters") and not setting.quick
        n = 300 if setting.quick or SCENES[name].quadratic else 5000 if is_long else 1500
        index: Any = None
        for step, boxes, rebuild in frames(name, n, dim, dtype, not is_long):
            label = f"{name}, {step}"
            with record.case(label):
                if index is None:
                    index = gpu.Index(boxes, device=setting.device)
                else:
                    index.update(boxes, rebuild=rebuild)
                check_index(record, label, index, boxes, bp.BVH(boxes), queries_of(boxes, count, 3))


def batches_and_ignored(record: Record, setting: Setting) -> None:
    """Query one batch, of even and uneven ones, and leave out one row of each query."""
    rng = np.random.default_rng(11)
    for dim, dtype in ((2, "float64"), (3, "float32")):
        count, size = (5, 40) if setting.quick else (60, 50)
        boxes = lattice(rng, count * size, dim, dtype, reach_of(size, dim))
        asked = queries_of(boxes, 40 if setting.quick else 600, 4)
        number = len(asked["points"])
        for form, keys in (("scenes", np.repeat(np.arange(count), size)), ("keys", rng.integers(-2, 40, len(boxes)))):
            label = f"{form}, {dim} axes"
            with record.case(label):
                given = boxes.reshape(count, size, 2, dim) if form == "scenes" else boxes
                index = gpu.Index(given, batch=None if form == "scenes" else keys, device=setting.device)
                tree = bp.BVH(boxes, batch=keys)
                check_index(record, label, index, boxes, tree, asked, batch=rng.choice(keys, number))
                check_index(record, f"{label}, one key", index, boxes, tree, asked, batch=int(keys[0]))
        # In a tree of the CPU, a row that a query ignores has a layer of its own, which the query has no bit for.
        ignored = rng.integers(-1, 60, number)
        layer = np.full(len(boxes), 1 << 62)
        layer[:60] = 1 << np.arange(60)
        mask = np.where(ignored >= 0, ~(np.int64(1) << np.maximum(ignored, 0)), np.int64(-1))
        index, tree = gpu.Index(boxes, device=setting.device), bp.BVH(boxes, layer=layer)
        points, ways = asked["points"], asked["ways"]
        for name, arguments in (
            ("query", (asked["regions"],)),
            ("query_points", (points,)),
            ("query_ball", (points, asked["radii"])),
            ("nearest", (points, 4)),
            ("raycast", (points, ways)),
        ):
            with record.case(f"ignored rows, {name}"):
                found = getattr(index, name)(*arguments, ignore=ignored)
                right = getattr(tree, name)(*arguments, mask=mask)
                for part in found._fields:
                    record.equal(getattr(found, part), getattr(right, part), f"ignored rows, {part} of {name}")
                if name == "raycast":
                    hits = index.raycast_any(points, ways, ignore=ignored)
                    record.equal(hits, right.rows >= 0, "ignored rows, raycast_any")


def odd_boxes(record: Record, setting: Setting) -> None:
    """Try few boxes, boxes far away, and boxes at the ends of what numbers can be."""
    for dtype in DTYPES:
        for n in (0, 1, 2, 3):
            boxes = lattice(np.random.default_rng(n), n, 3, dtype, 1)
            asked = queries_of(boxes if n else np.zeros((1, 2, 3), dtype), 30, 5)
            with record.case(f"{n} boxes"):
                index = gpu.Index(boxes, device=setting.device)
                check_index(record, f"{n} boxes, {dtype}", index, boxes, bp.BVH(boxes), asked)
        for name, factor in (("outliers", 1.0), ("huge_tiny", 1.0), ("lattice", 2.0**-60), ("lattice", 2.0**60)):
            boxes = in_range(make_scene(name, FEW, dtype=dtype) * np.dtype(dtype).type(factor))
            with record.case(name):
                index = gpu.Index(boxes, device=setting.device)
                label = f"{name} × {factor:g}, {dtype}"
                check_index(record, label, index, boxes, bp.BVH(boxes), queries_of(boxes, 60, 6))


def query_capacities(record: Record, setting: Setting) -> None:
    """Give room for fewer rows than queries find, for all, and for more; one query finds everything."""
    boxes = make_scene("uniform", FEW if setting.quick else 20_000)
    asked = queries_of(boxes, 50 if setting.quick else 2000, 7)
    everything = np.array([[[-9.0] * 3, [9.0] * 3]], boxes.dtype)
    index, tree = gpu.Index(boxes, device=setting.device), bp.BVH(boxes)
    for label, regions in (("many", asked["regions"]), ("one for everything", everything)):
        right = tree.query(regions)
        total = len(right.rows)
        with record.case(label):
            record.equal(index.query(regions).rows, right.rows, f"{label}, rows")
            for room in (0, 1, total - 1, total, total + 7):
                found = index.query(regions, capacity=room)
                record.equal(found.count, total, f"{label}, count with room for {room}")
                kept = min(room, total)
                record.equal(found.rows[kept:], np.full(room - kept, -1), f"{label}, padding with room for {room}")
                record.equal(found.offsets[-1], kept, f"{label}, last offset with room for {room}")
                if room >= total:
                    record.equal(found.rows[:kept], right.rows, f"{label}, rows with room for {room}")
                    record.equal(found.offsets, right.offsets, f"{label}, offsets with room for {room}")


# Neighbors ------------------------------------------------------------------------------------------------------------


def check_near(
    record: Record, setting: Setting, label: str, points: Any, cutoff: float, other: Any = None, **cell: Any
) -> None:
    """Compare near points: pairs, distances, vectors and shifts, of half and full lists, and with room for all."""
    for full in (False, True):
        chosen: dict[str, Any] = {**cell, "full": full, "distances": True, "vectors": True, "shifts": True}
        with record.case(label):
            right = bp.neighbors(points, cutoff, other, sort=True, workers=-1, **chosen)
            found = gpu.neighbors(points, cutoff, other, sort=True, device=setting.device, **chosen)
            for name, one, two in zip(right._fields, found, right, strict=True):
                if two is not None:
                    record.equal(one, two, f"{label}, {name}, full={full}")
            again = gpu.neighbors(points, cutoff, other, device=setting.device, **chosen)
            record.equal(sorted_rows(again), sorted_rows(right), f"{label}, not sorted, full={full}")
            total = len(right.pairs)
            padded = gpu.neighbors(points, cutoff, other, device=setting.device, capacity=total + 3, **chosen)
            record.equal(padded.count, total, f"{label}, count, full={full}")
            record.equal(padded.pairs[total:], np.full((3, 2), -1), f"{label}, padding, full={full}")
            kept = [None if one is None or np.ndim(one) == 0 else one[:total] for one in padded]
            record.equal(sorted_rows(type(padded)(*kept)), sorted_rows(right), f"{label}, padded, full={full}")


def sorted_rows(found: Any) -> NDArray[np.float64]:
    """Return pairs with their shifts and distances as rows of a table, in order."""
    table = np.column_stack([found.pairs, found.shifts, found.distances, found.vectors])
    return np.asarray(table[np.lexsort(table[:, ::-1].T)], np.float64)


def near_points(dim: int, dtype: str, record: Record, setting: Setting) -> None:
    """Try open space, cells of all kinds, a cutoff longer than the cell, points outside, and two sets."""
    n = 150 if setting.quick else 2500
    rng = np.random.default_rng(dim)
    unit = (n / 3) ** (-1 / dim)  # about a dozen neighbors within it
    points, other = (rng.random((k, dim)).astype(dtype) for k in (n, n // 3))
    skewed = np.eye(dim) + np.triu(rng.normal(size=(dim, dim)), 1) * 0.7
    turned = np.linalg.qr(rng.normal(size=(dim, dim)))[0] @ np.diag([1.0, 0.7, 1.9][:dim])
    some = np.arange(dim) % 2 == 0
    for label, given, cutoff, cell in (
        ("open", points, unit, {}),
        ("cube", points, unit, {"cell": np.ones(dim)}),
        ("cuboid, some axes", points, unit, {"cell": np.linspace(1, 1.3, dim), "periodic": some}),
        ("skewed", points, unit, {"cell": skewed}),
        ("turned", points, unit, {"cell": turned}),
        ("turned, some axes", points, unit, {"cell": turned, "periodic": ~some}),
        ("outside of the cell", points * 9 - 4, unit, {"cell": skewed}),
        ("a longer cutoff than the cell", points[:30], 1.3, {"cell": skewed * 0.8}),
        ("on a lattice", np.round(points * 8) / 8, 0.125, {"cell": np.ones(dim)}),
        ("two clusters far apart", np.concatenate([points, points + 1e6]), unit, {}),
        ("one point", points[:1], 1.0, {"cell": np.ones(dim)}),
        ("no points", points[:0], 1.0, {}),
    ):
        check_near(record, setting, f"{label}, {dim} axes", np.ascontiguousarray(given, dtype), cutoff, **cell)
    check_near(record, setting, f"two sets, {dim} axes", points, unit, other, cell=skewed)
    check_near(record, setting, f"two sets, open, {dim} axes", points, unit, other)


def near_batches(record: Record, setting: Setting) -> None:
    """Try many small systems in one call, each with its cell, and room for fewer pairs than there are."""
    rng = np.random.default_rng(2)
    count, size = (6, 20) if setting.quick else (80, 40)
    points = rng.random((count, size, 3))
    cells = np.eye(3) * (1 + rng.random((count, 1, 1)))
    keys = rng.integers(0, count, count * size)
    flat = points.reshape(-1, 3)
    check_near(record, setting, "systems of one size, open", points, 0.3)
    check_near(record, setting, "systems of one size, one cell", points, 0.3, cell=[1, 1, 1])
    check_near(record, setting, "systems of one size, each its cell", points, 0.3, cell=cells)
    check_near(record, setting, "keys, each its cell", flat, 0.3, cell=cells, batch=keys)
    check_near(record, setting, "keys, open", flat, 0.3, batch=keys - 3)
    total = len(bp.neighbors(flat, 0.1, cell=[1, 1, 1]).pairs)
    for room in (0, 1, total - 1, total, total + 1):
        with record.case(f"room for {room} of {total}"):
            found = gpu.neighbors(flat, 0.1, cell=[1, 1, 1], device=setting.device, capacity=room)
            record.equal(found.count, total, f"count, room for {room}")
            record.equal(int((found.pairs[:, 0] >= 0).sum()), min(room, total), f"pairs, room for {room}")


def many_points(record: Record, setting: Setting) -> None:
    """Try a few hundred thousand points."""
    n = 2000 if setting.quick else 200_000
    points = np.random.default_rng(0).random((n, 3))
    cutoff = (40 / n / 4.19) ** (1 / 3)
    for label, cell in (("open", None), ("periodic", np.ones(3))):
        with record.case(label):
            chosen: dict[str, Any] = {"cell": cell, "distances": True, "shifts": True, "sort": True}
            right = bp.neighbors(points, cutoff, workers=-1, **chosen)
            found = gpu.neighbors(points, cutoff, device=setting.device, **chosen)
            for name, one, two in zip(right._fields, found, right, strict=True):
                if two is not None:
                    record.equal(one, two, f"{label}, {name}")


def steps_of(name: str, n: int, count: int) -> list[NDArray[Any]]:
    """Return a scene that moves, frame by frame."""
    scene = moving(name, n)
    return [scene.boxes, *(scene.step() for _ in range(count - 1))]
