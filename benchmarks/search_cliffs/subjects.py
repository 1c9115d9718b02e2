"""The calls that are measured: how each is made of a case, and which features it may have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from inspect import signature
from typing import Any

import numpy as np

import broadphase as bp
from benchmarks.search_cliffs.cases import SCENES, Array, Case, boxes_of, chosen, keys_of, layers_of, pair_options
from broadphase.index.queries import QUERIES
from broadphase.testing.recipes import from_centers

Call = Callable[[], Any]

SIZES = (1000, 4000, 16_000, 64_000, 256_000)


@dataclass(frozen=True, slots=True)
class Work:
    """A call, the rows that it is given, another way to the answer, and the rows of output if not of the result."""

    call: Call
    given: int
    peer: Call | None = None
    output: int | None = None


def search(case: Case) -> Work:
    """Search for pairs of boxes, of one set or of two."""
    boxes, name = boxes_of(case), case.subject
    options, given = pair_options(case, boxes)
    sets: tuple[Array, ...] = (boxes,)
    if "two sets" in case.features:
        other = (
            boxes.copy()
            if case.features["two sets"] == "equal"
            else boxes_of(replace(case.without("scene"), n=len(boxes)))
        )
        sets = boxes, other
        of_rows = {"layer", "mask", "group", "static", "ignore_shared", "batch"}
        options = {key: (of, of) if key in of_rows else of for key, of in options.items()}
    if name.startswith("Index."):
        period = {"period": options.pop("period")} if "period" in options else {}
        keys = {"batch": options.pop("batch")} if "batch" in options and len(sets) == 1 else {}
        index = bp.Index(boxes, **period, **keys)
        call: Callable[..., Any] = partial(getattr(index, name.removeprefix("Index.")), *sets[1:], **options)
    else:
        call = partial(getattr(bp, name), *sets, **options)
    return Work((lambda: [len(part) for part in call()]) if "iter" in name else call, sum(map(len, sets)) + given)


def joined(case: Case) -> Work:
    """Join a table of boxes with itself or with another."""
    pandas = import_module("pandas")
    tables = []
    for one in (case, replace(case.without("scene"), seed=case.seed + 1)):
        boxes = boxes_of(one)
        columns = {f"{end}{axis}": boxes[:, place, axis] for place, end in enumerate("ab") for axis in range(case.dim)}
        tables.append(pandas.DataFrame(columns | keys_of(case, len(boxes))))
    names = [[f"{end}{axis}" for axis in range(case.dim)] for end in "ab"]
    more: dict[str, Any] = {"closed": case.features["closed"]} if "closed" in case.features else {}
    if "period" in case.features:
        more["period"] = 2.0 if case.features["period"] == "wide" else 1.0
    more |= {"by": "batch"} if "batch" in case.features else {}
    more |= {"lower": names[0], "upper": names[1], "how": case.kind}
    return Work(partial(bp.join, *tables, **more), sum(map(len, tables)))


def suppressed(case: Case) -> Work:
    """Suppress boxes, or lower their scores."""
    off, boxes = case.features, boxes_of(case, crowds=case.subject == "nms")
    n = len(boxes)
    scores = case.rng("scores").random(n)
    if "scores" in off:
        sides = {"equal": np.ones(n), "by place": boxes[:, 0, 0], "by size": boxes[:, 1, 0] - boxes[:, 0, 0]}[
            off["scores"]
        ]
        scores = sides - min(0.0, np.nanmin(sides))
    more: dict[str, Any] = keys_of(case, n) | {
        name: off[name] for name in ("metric", "decay", "min_score") if name in off
    }
    threshold = off.get("threshold", 0.5)
    if case.kind == "turned":
        middles, sides = boxes.mean(axis=1), boxes[:, 1] - boxes[:, 0]
        boxes = np.column_stack([middles, sides, case.rng("turned").random(n)])
        more["form"] = "cxcywhr"
    if case.subject == "nms":
        return Work(partial(bp.nms, boxes, scores, threshold, **more), n)
    return Work(partial(bp.soft_nms, boxes, scores, threshold=threshold, **more), n)


def near(case: Case) -> Work:
    """Find points within a cutoff."""
    off, boxes = case.features, boxes_of(case)
    points, n = boxes.mean(axis=1), len(boxes)
    size = 1e-30 if off.get("scene") == "tiny" else 1.0
    width = 0.5 * (case.density / n) ** (1 / case.dim) * size
    cutoff: Any = width * {"none": 0.0, "tiny": 1e-3}.get(off.get("reach", ""), 1.0)
    by_row = case.rng("cutoffs")
    if "cutoffs" in off:
        spreads = {"by row": 0.1, "log-normal": 1.0, "wide": 3.0}
        cutoff = np.minimum(np.exp(by_row.normal(0, spreads[off["cutoffs"]], n)) * width / 8, 2 * width)
    more: dict[str, Any] = keys_of(case, n) | {name: off[name] for name in ("sort", "workers") if name in off}
    if "cell" in off and case.dim == 3:
        more["cell"] = (np.eye(3) + (np.tri(3, k=-1) * 0.4 if off["cell"] == "slanted" else 0)) * size
        more["cell"][2] *= 0.05 if off["cell"] == "thin" else 1.0
    peer = None
    if not more and np.isscalar(cutoff):
        tree = import_module("scipy.spatial").cKDTree
        peer = lambda: tree(points).query_pairs(cutoff, output_type="ndarray")  # noqa: E731
    if case.subject == "neighbors":
        return Work(partial(bp.neighbors, points, cutoff, **more), n, peer)
    kept, cell = (
        bp.NeighborList(cutoff, skin=0.1 * width, **{name: of for name, of in more.items() if name != "cell"}),
        more.get("cell"),
    )
    return Work(partial(kept.update, points, cell), n, peer)


def index_of(case: Case) -> tuple[Any, Array]:
    """Make an index in its state, and return the boxes in it."""
    off, boxes = case.features, boxes_of(case)
    n, state, rng = len(boxes), off.get("state", ""), case.rng("state")
    options: dict[str, Any] = layers_of(case, boxes) | keys_of(case, n)
    if "period" in off:
        options["period"] = [2.0 if off["period"] == "wide" else 1.0] * case.dim
    if state == "inserted":
        several = np.array_split(np.arange(n), 10)
        index = getattr(bp, case.kind)(
            boxes[several[0]], **{name: of[several[0]] if name != "period" else of for name, of in options.items()}
        )
        for rows in several[1:]:
            index.insert(boxes[rows], **{name: of[rows] for name, of in options.items() if name != "period"})
        return index, boxes
    index = getattr(bp, case.kind)(boxes, **options)
    if state == "half removed":
        index.remove(rng.permutation(n)[: n // 2])
    elif state == "one moved far":
        index.move([n // 2], boxes[n // 2 :][:1] + 1e3)
    elif state:
        width = np.nan_to_num(boxes[:, 1] - boxes[:, 0], posinf=0.0)[:, np.newaxis]
        for _ in range(3):
            boxes = (
                boxes + rng.normal(0, 0.1, boxes[:, :1].shape) * width
                if state == "moved a little"
                else rng.permutation(boxes)
            )
            index.update(boxes.astype(case.dtype))
    return index, boxes


def changed(case: Case) -> Work:
    """Make an index, or change one, there and back."""
    name = case.subject.partition(".")[2]
    if not name:
        boxes = boxes_of(case)
        options = layers_of(case, boxes) | keys_of(case, len(boxes))
        return Work(partial(getattr(bp, case.kind), boxes, **options), len(boxes))
    index, boxes = index_of(case)
    n = len(boxes)
    rows = np.sort(case.rng("rows").permutation(n)[: max(1, n // 10)]).astype(np.int32)
    if "state" in case.features:
        rows = rows[np.isin(rows, index.rows)] if hasattr(index, "rows") else rows
    width = np.median(boxes[:, 1, 0] - boxes[:, 0, 0])
    step = {"none": 0.0, "slow": 0.01, "fast": 100.0}.get(case.features.get("speed", ""), 0.3) * width
    moved = [
        (boxes + sign * step * case.rng("moves").choice([-1, 1], (n, 1, case.dim))).astype(case.dtype)
        for sign in (0, 1)
    ]

    def call() -> int:
        for to in moved[::-1]:
            if name == "update":
                index.update(to)
            elif name == "move":
                index.move(rows, to[rows])
            elif name == "changes":
                index.move(rows, to[rows])
                index.changes()
            elif len(to) and to is moved[0]:
                index.remove(index.insert(to[rows]))
        return 0

    if name == "changes":
        index.changes()
    return Work(call, n if name == "update" else len(rows) if name != "changes" else n)


def world_of(case: Case, boxes: Array | None = None) -> tuple[Any, Array]:
    """Make a world in its state, of boxes that are drawn before; return those that its bodies had at first."""
    off, d = case.features, case.dim
    if boxes is None:
        boxes = boxes_of(replace(case, dtype="float64"))
    n, rng = len(boxes), case.rng("world")
    middles, sizes = boxes.mean(axis=1), boxes[:, 1] - boxes[:, 0]
    usual = float(np.median(sizes))
    if not np.isfinite(boxes).all():
        raise ValueError("bodies are finite")
    margin = {"none": 0.0, "size": usual}.get(off.get("world margin", ""))
    boundary = off.get("boundary", "none")
    bounds = None if boundary == "none" else [middles.min(axis=0) - 3 * usual, middles.max(axis=0) + 3 * usual]
    world = bp.World(dim=d, margin=margin, boundary=boundary, bounds=bounds)
    speed = usual * {"none": 0.0, "slow": 0.01, "fast": 3.0}.get(off.get("speed", ""), 0.2)
    velocities = rng.normal(size=(n, d)) * speed
    if "still" in off:
        velocities[chosen(case, "still", boxes)] = 0.0
    more: dict[str, Any] = keys_of(case, n)
    more |= {name: chosen(case, name, boxes) for name in ("ccd", "sensor") if name in off}
    if "mask" in off:
        for layer in ("found", "other"):
            world.layer(layer)
        more["layer"] = np.where(chosen(case, "mask", boxes), "found", "other").tolist()
    if "static" in off:
        more["body_type"] = np.where(chosen(case, "static", boxes), "static", "dynamic").tolist()
        velocities[chosen(case, "static", boxes)] = 0.0
    rows = world.add_many(shape_of(case, sizes), middles, velocities=velocities, **more)
    if "wide static" in off:
        world.layer("wide")
        spans = np.tile([2 * np.ptp(middles, axis=0) + usual, middles.mean(axis=0)], (off["wide static"], 1, 1))
        world.add_many(bp.AABB(spans[:, 0]), spans[:, 1], body_type="static", layer="wide", mask="wide")
    if off.get("state") == "half removed":
        world.remove(rows[rng.permutation(n)[: n // 2]])
    if "asleep" in off:
        world.sleep(rows[chosen(case, "asleep", boxes)])
    return world, boxes


def shape_of(case: Case, sizes: Array) -> Any:
    """Make a shape for each row, of some sizes."""
    flat = case.dim == 2
    if case.kind == "ball":
        return (bp.Circle if flat else bp.Sphere)(sizes.min(axis=1) / 2)
    if case.kind in ("box", "turned box"):
        return (bp.Rectangle if flat else bp.Box)(*sizes.T)
    if case.kind == "capsule":
        ends = np.zeros((2, *sizes.shape))
        ends[0, :, 0], ends[1, :, 0] = -sizes[:, 0] / 4, sizes[:, 0] / 4
        return bp.Capsule(ends[0], ends[1], sizes[:, 0] / 4)
    if case.kind == "aabb":
        return bp.AABB(sizes)
    points, faces = import_module("benchmarks.robots").ball(1 if case.kind == "hull" else 2)
    points = points * float(np.median(sizes)) / 2
    if flat:
        angles = np.arange(7) * 2 * np.pi / 7
        return bp.ConvexPolygon(np.column_stack([np.cos(angles), np.sin(angles)]) * float(np.median(sizes)) / 2)
    return bp.ConvexHull(points) if case.kind == "hull" else bp.Mesh(points, faces)


def stepped(case: Case) -> Work:
    """Step a world, whose bodies go to and fro; or make and step it for the first time; or change it before a step."""
    name = case.subject.removeprefix("World.")
    world, boxes = world_of(case)
    n = world.body_count if hasattr(world, "body_count") else len(boxes)
    rows = np.flatnonzero(case.rng("rows").random(len(boxes)) < 0.1)
    rests = "asleep" in case.features
    if name == "first step":
        return Work(lambda: len(world_of(case, boxes)[0].step(0.0).enter), len(boxes))
    for _ in range(3):
        world.step(1.0)
    if name != "step" and case.features.get("state") == "half removed":
        raise ValueError("rows are free")
    places = np.array(world.positions)

    def call() -> int:
        if name == "move":
            world.move(rows, places[rows])
        elif name == "add and remove":
            shape = shape_of(replace(case, kind="ball"), np.full((len(rows), case.dim), 1e-6))
            world.remove(world.add_many(shape, places[rows]))
        elif name == "set_filters":
            world.set_filters(rows, group=np.zeros(len(rows), np.int64))
        elif not rests:
            np.negative(world.velocities, out=world.velocities)
        world.step(1.0)
        return len(world.pairs)

    return Work(call, n)


def queried(case: Case) -> Work:
    """Query an index or a world."""
    kind, _, name = case.subject.partition(".")
    off, d = case.features, case.dim
    target, boxes = world_of(case) if kind == "World" else index_of(case)
    if kind == "World":
        target.step(0.0)
    rng, q = case.rng("queries"), min(len(boxes), 50 if name in ("frustum", "lidar") else 1000)
    boxes = np.clip(np.nan_to_num(boxes.astype(np.float64), posinf=1.0, neginf=0.0), -1e12, 1e12)
    at = rng.integers(0, len(boxes), q)
    sides = (boxes[at, 1] - boxes[at, 0]) / 2
    sides = np.maximum(sides, np.median(sides)) * {"none": 0.0, "tiny": 1e-3, "large": 4.0}.get(
        off.get("reach", ""), 1.0
    )
    places = boxes[at].mean(axis=1) + rng.uniform(-0.5, 0.5, (q, d)) * sides
    extent = np.quantile(boxes, 0.95) - np.quantile(boxes, 0.05)
    where = off.get("places", "")
    if where in ("outside", "far away"):
        places = np.median(boxes) + rng.uniform(-2, 2, (q, d)) * extent * (1 if where == "outside" else 1e6)
    elif where:
        places = {
            "one spot": places[:1].repeat(q, axis=0),
            "at lower corners": boxes[at, 0],
            "ascending": places[np.argsort(places[:, 0])],
        }[where]
    directions = rng.normal(size=(q, d))
    directions /= np.linalg.norm(directions, axis=1)[:, np.newaxis]
    if "rays" in off:
        directions = np.eye(d)[rng.integers(0, d, q)] if off["rays"] == "along axes" else directions * 1e-8
    width = np.median(sides)
    walls = np.concatenate([np.tile(np.eye(d), (q, 1, 1)), np.tile(-np.eye(d), (q, 1, 1))], axis=1)
    offsets = np.concatenate([-(places - 3 * sides), places + 3 * sides], axis=1)[:, :, np.newaxis]
    turns = rng.random(q) if d == 2 else rng.normal(size=(q, 4))
    ball = shape_of(replace(case, kind="ball"), np.full((1, d), 2 * width + 1e-300)) if d in (2, 3) else None
    takes = signature(getattr(target, name)).parameters
    by_name = {
        "boxes": from_centers(places, sides, np.float64),
        **dict.fromkeys(("points", "centers", "origins", "positions"), places),
        "radii": sides.max(axis=1),
        "half_sizes": sides,
        "rotations": turns,
        "directions": directions if name != "lidar" else np.linspace(0, 6, 60) if d == 2 else directions[:40],
        "motions": directions * 20 * width,
        "planes": np.concatenate([walls, offsets], axis=2),
        "shape": ball,
        "k": min(off.get("k", 1), len(boxes)),
    }
    arguments = {parameter: by_name[parameter] for parameter in takes if parameter in by_name}
    arguments |= {"max_distance": 10 * width} if "short" in off else {}
    arguments |= {"rows": np.unique(at)} if name == "lidar" else {}
    if "mask" in off:
        arguments["mask"] = "found" if kind == "World" else 2
    if "batch" in off:
        arguments["batch"] = case.rng("keys").permutation(keys_of(case, len(boxes))["batch"])[:q]
    if "ignore" in off:
        arguments["ignore"] = rng.integers(0, len(boxes), (q, off["ignore"]))
    peer = None
    if (
        kind == "Index"
        and off.get("scene") == "points"
        and not {"mask", "batch", "ignore", "period", "state"} & set(off)
    ):
        tree = import_module("scipy.spatial").cKDTree(boxes[:, 0])
        peer = {
            "nearest": lambda: tree.query(places, arguments["k"]),
            "query_ball": lambda: tree.query_ball_point(places, arguments["radii"]),
        }.get(name)
    call = partial(getattr(target, name), **arguments)
    for _ in range(3):  # an index that is queried often may keep its boxes in another way
        call()
    return Work(call, q * (60 if name == "lidar" else arguments.get("k", 1)), peer)


def placed(case: Case) -> Work:
    """Compare placed shapes: pairs of them, of one set or of two."""
    off, name = case.features, case.subject
    boxes = boxes_of(replace(case, dtype="float64"))
    n, sizes = len(boxes), boxes[:, 1] - boxes[:, 0]
    if not np.isfinite(boxes).all():
        raise ValueError("shapes are finite")
    rng, usual = case.rng("shapes"), float(np.median(sizes))
    turns: Any = None
    if "turned" in off:
        turns = np.full(n, np.pi / 2) if case.dim == 2 else np.tile([1.0, 0, 0, 1.0], (n, 1))
    elif case.kind not in ("ball", "box"):
        turns = rng.random(n) * 6 if case.dim == 2 else rng.normal(size=(n, 4))
    shapes = bp.Shapes(shape_of(case, sizes), boxes.mean(axis=1), turns)
    sets: tuple[Any, ...] = (shapes,)
    if "shift" in off:
        moved = boxes.mean(axis=1) + (1e-9 * usual if off["shift"] == "1e-9" else 0.0)
        sets = shapes, bp.Shapes(shape_of(case, sizes), moved, turns)
    reach = usual * {"none": 0.0, "tiny": 1e-3, "large": 2.0}.get(off.get("reach", ""), 0.2)
    if name in ("clearances", "clashes"):
        within = usual * {"part": 0.1, "size": 1.0}.get(off.get("clearance", ""), 0.0)
        if name == "clearances":
            apart: Any = partial(bp.clearances, max_distance=reach)
            return Work(partial(apart, *sets), n)
        tolerance = usual * {"part": 0.01, "large": 3.0}.get(off.get("tolerance", ""), 0.0)
        return Work(partial(bp.clashes, *sets, clearance=within, tolerance=tolerance), n)
    if name == "contacts":
        return Work(partial(bp.contacts, *sets), n)
    # Those that do not touch cost little, and are half of them in a plain case, but none where shapes are in one place.
    touching = name == "contacts of pairs"
    pairs = bp.overlaps(*sets) if touching else bp.pairs(*[one.boxes for one in sets])
    more: dict[str, Any] = {"pairs": pairs}
    more |= {"max_distance": reach} if name == "distance" and "reach" in off else {}
    if name.startswith("time_of_impact"):
        more |= {"motions": rng.normal(size=(len(pairs), case.dim)) * usual}
        if name.endswith("turns"):
            more |= {"angular_motions": np.full(len(pairs), 1.0) if case.dim == 2 else rng.normal(size=(len(pairs), 3))}
    return Work(partial(getattr(bp, name.split()[0]), *sets, **more), len(pairs) + 1)


def robot(case: Case) -> Work:
    """Move an arm among obstacles, both so thin that in a plain case it mostly comes to some only on its way.

    What is given are the obstacles whose boxes meet those of links, in each of nine configurations on the way to the
    first contact: the rest of the way costs nothing.
    """
    off, boxes = case.features, boxes_of(replace(case, dtype="float64", density=1e-4 * case.density))
    if not np.isfinite(boxes).all():
        raise ValueError("shapes are finite")
    sizes = boxes[:, 1] - boxes[:, 0]
    shapes = bp.Shapes(shape_of(case, sizes), boxes.mean(axis=1))
    obstacles, index = bp.Obstacles(shapes), bp.Index(shapes.boxes)
    thick = 0.01 * np.sqrt(1000 / case.n)
    links = [bp.Link("0", bp.Sphere(2 * thick), None, "revolute", (0, 0, 1), (0.5, 0.5, 0.5), limits=(-3, 3))]
    for number in range(1, 6):
        limb, axis = bp.Capsule((0, 0, 0), (0, 0, 0.1), thick), (0, number % 2, 1 - number % 2)
        links.append(bp.Link(str(number), limb, str(number - 1), "revolute", axis, (0, 0, 0.1), limits=(-3, 3)))
    arm, q = bp.Articulated(links), case.rng("q").uniform(-3, 3, (500, 6))
    if "places" in off:
        q.sort(axis=0)
    name = case.subject.removeprefix("Articulated.")
    on_the_way = [q]
    call = partial(getattr(arm, name), q, obstacles)
    if name in ("first_contact", "edges_collide"):
        q = q[:100]
        call = partial(getattr(arm, name), q, q + 0.2, obstacles)
        shares = np.minimum(arm.first_contact(q, q + 0.2, obstacles), 1.0)[:, np.newaxis]
        on_the_way = [q + part * shares for part in np.linspace(0, 0.2, 9)]
    candidates = sum(len(index.query(arm.placed(one).boxes).rows) for some in on_the_way for one in some)
    return Work(call, candidates + sum(map(len, on_the_way)), output=0)


def faces(case: Case) -> Work:
    """Compare the triangles of a mesh."""
    boxes = boxes_of(replace(case, dtype="float64"))
    weights = case.rng("corners").random((len(boxes), 3, 3))
    corners = boxes[:, :1] + weights * (boxes[:, 1:] - boxes[:, :1])
    return Work(
        partial(bp.triangle_pairs, (corners.reshape(-1, 3), np.arange(3 * len(boxes)).reshape(-1, 3))), len(boxes)
    )


@dataclass(frozen=True, slots=True)
class Subject:
    """How a case is made, which features it may have, how large it may be, of how many axes, and its kinds."""

    make: Callable[[Case], Work]
    features: tuple[str, ...]
    most: int = SIZES[-1]
    dims: tuple[int, ...] = (2, 2, 3, 3, 1, 4)
    kinds: tuple[str, ...] = ("",)


FEATURES: dict[str, tuple[Any, ...]] = {
    "scene": SCENES,
    "order": ("rows of cells", "copy behind", "ascending", "descending"),
    "two sets": ("alike", "equal"),
    "mask": ("none", "one", "few", "tenth", "half", "corner", "all"),
    "group": ("two", "own"),
    "static": ("one", "half", "all"),
    "ignore_pairs": ("few", "half", "all"),
    "ignore_shared": (1, 4, 16, 64, 128),
    "ignore": (1, 16),
    "batch": ("two", "many", "own"),
    "period": ("tight", "wide"),
    "margin": ("tiny", "size"),
    "touching": (False,),
    "closed": ("left", "neither"),
    "sort": (True,),
    "chunk": (10, 100, 100_000),  # of 1: a row of pairs.py
    "workers": (2,),
    "state": ("half removed", "moved a little", "moved far", "one moved far", "inserted"),
    "places": ("outside", "one spot", "at lower corners", "far away", "ascending"),
    "reach": ("none", "tiny", "large"),
    "k": (8, 64),
    "short": (True,),
    "rays": ("along axes", "short directions"),
    "cell": ("cubic", "slanted", "thin"),
    "cutoffs": ("by row", "log-normal", "wide"),
    "threshold": (0.0, 0.1, 0.9, 1.0),
    "scores": ("equal", "by place", "by size"),
    "decay": ("linear",),
    "min_score": (0.0,),
    "metric": ("ios",),
    "tolerance": ("part", "large"),
    "clearance": ("part", "size"),
    "shift": ("equal", "1e-9"),
    "turned": ("quarter",),
    "speed": ("none", "slow", "fast"),
    "ccd": ("one", "half", "all"),
    "asleep": ("one", "half", "all"),
    "still": ("half", "all"),
    "boundary": ("wrap", "bounce"),
    "world margin": ("none", "size"),
    "wide static": (1, 100),
    "sensor": ("half", "all"),
}
#: What only takes pairs away: a case is measured by all that there are without.
FILTERS = ("mask", "group", "static", "ignore_pairs", "ignore_shared", "ignore", "batch")

_BY_PAIR = ("two sets", "mask", "group", "static", "ignore_pairs", "ignore_shared", "batch", "margin", "touching")
_ASKED = ("state", "mask", "batch", "ignore", "places", "reach")
_MOTIONS = (
    "ccd",
    "asleep",
    "still",
    "static",
    "boundary",
    "world margin",
    "wide static",
    "speed",
    "sensor",
    "batch",
    "mask",
)
_BY_PARAMETER = (("k", "k"), ("max_distance", "short"), ("directions", "rays"))
_TREES = ("Index", "Index", "BVH", "Octree", "LinearTree")
_BODIES = ("ball", "ball", "box", "hull")
_SHAPES = ("ball", "box", "turned box", "capsule", "hull", "mesh")


def own_features(query: str) -> tuple[str, ...]:
    """Return the features of what only some queries take."""
    takes = signature(getattr(bp.World, query)).parameters
    return tuple(feature for parameter, feature in _BY_PARAMETER if parameter in takes)


SUBJECTS: dict[str, Subject] = {
    "pairs": Subject(search, (*_BY_PAIR, "period", "sort", "workers")),
    "count_pairs": Subject(search, (*_BY_PAIR, "period", "workers")),
    "iter_pairs": Subject(search, (*_BY_PAIR, "period", "chunk"), 16_000),
    "explain": Subject(search, ("period",)),
    "Index.pairs": Subject(search, (*_BY_PAIR, "period", "sort")),
    "Index.count_pairs": Subject(search, (*_BY_PAIR, "period")),
    "join": Subject(joined, ("closed", "batch", "period"), 64_000, (1, 2, 3), ("inner", "left")),
    "join nearest": Subject(joined, ("batch",), 64_000, (1,), ("nearest",)),
    "nms": Subject(suppressed, ("threshold", "scores", "metric", "batch"), 64_000, (2,), ("", "turned")),
    "soft_nms": Subject(
        suppressed, ("threshold", "scores", "decay", "min_score", "batch"), 16_000, (2,), ("", "turned")
    ),
    "neighbors": Subject(near, ("cell", "cutoffs", "reach", "batch", "sort", "workers"), dims=(2, 3)),
    "NeighborList": Subject(near, ("cell", "reach", "sort"), 64_000, (2, 3)),
    "Index": Subject(changed, ("mask", "batch"), kinds=_TREES),
    **{
        f"Index.{name}": Subject(changed, ("state", "speed"), 64_000, kinds=_TREES)
        for name in ("update", "move", "insert")
    },
    "Index.changes": Subject(changed, ("speed",), 64_000, kinds=("BVH",)),
    **{
        f"Index.{row.name}": Subject(queried, (*_ASKED, *own_features(row.name), "period"), 64_000, (2, 3), _TREES)
        for row in QUERIES
    },
    **{
        f"World.{name}": Subject(stepped, ("state", *_MOTIONS), 16_000, (2, 3), (*_BODIES, "aabb"))
        for name in ("step", "first step", "move", "add and remove", "set_filters")
    },
    **{
        f"World.{name}": Subject(queried, (*_ASKED, *own_features(name), "boundary", "static"), 16_000, (2, 3), _BODIES)
        for name in (*(row.name for row in QUERIES if row.in_worlds), "query_shape")
    },
    "World.lidar": Subject(queried, ("state", "mask", "static", "short"), 16_000, (2, 3), _BODIES),
    **{
        name: Subject(placed, ("shift", "turned", "reach"), 4000, (2, 3, 3) if name != "clearances" else (3,), _SHAPES)
        for name in ("overlaps", "contacts", "contacts of pairs", "distance", "clearances")
    },
    **{
        name: Subject(placed, ("shift", "turned"), 1000, (2, 3), _SHAPES)
        for name in ("time_of_impact", "time_of_impact of turns")
    },
    "clashes": Subject(placed, ("shift", "turned", "clearance", "tolerance"), 4000, (3,), _SHAPES),
    **{
        f"Articulated.{name}": Subject(robot, ("places",), 4000, (3,), ("ball", "box", "hull", "mesh"))
        for name in ("collides", "clearance", "edges_collide", "first_contact")
    },
    "triangle_pairs": Subject(faces, (), 64_000, (3,)),
}


def drawn(seed: int) -> Case:
    """Draw a case."""
    rng = np.random.default_rng(seed)
    name = str(rng.choice(list(SUBJECTS)))
    one = SUBJECTS[name]
    sizes = [size for size in SIZES if size <= one.most]
    n, dim, kind = (int(rng.choice(sizes)), int(rng.choice(one.dims)), str(rng.choice(one.kinds)))
    features = {}
    for feature in ("scene", "order", *one.features):
        value = FEATURES[feature][int(rng.integers(len(FEATURES[feature])))]
        share = {"scene": 0.7, "order": 0.25}.get(feature, 1.2 / max(1, len(one.features)))
        if rng.random() < share and (feature != "period" or kind in ("", "Index")):
            features[feature] = value
    return Case(name, seed, n, dim, str(rng.choice(["float64", "float64", "float32"])), kind, features=features)


def work_of(case: Case) -> Work:
    """Make what is called."""
    return SUBJECTS[case.subject].make(case)
