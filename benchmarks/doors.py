"""Search for scenes on which a drop-in, or `join`, is slower than what it stands in for, or gives another answer.

Scenes are drawn at random: kinds, sizes on a log scale, densities, mixes, streams of changes. Each is answered by both,
the answers are compared, and both are timed in turns, by the time of the processor, which other programs do not
disturb much. The report has a line for each door: how many scenes are below 0.95 and below 0.9 of the library's speed,
and the worst, by its seed. Calls that are longer by a microsecond at most count as equal. What is slower is timed once
more, for longer. Scenes below 0.9 are listed.

    python -m benchmarks.doors                      # two hours
    python -m benchmarks.doors --quick              # five minutes, smaller scenes
    python -m benchmarks.doors --seed 417 shapely   # one scene of each door of shapely, by its seed
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

import broadphase as bp
from benchmarks.cliffs.detections import plain_greedy
from benchmarks.measuring import median_times, one_core
from benchmarks.tables import show_table

MICROSECOND = 1e-3  # in milliseconds
MEANT, LEAST = 0.95, 0.9  # ratios


@dataclass(frozen=True, slots=True)
class Scene:
    """Two calls that do the same, and what they do it with."""

    what: str
    ours: Callable[[], Any]
    theirs: Callable[[], Any]
    are_alike: Callable[[Any, Any], bool]


@dataclass(frozen=True, slots=True)
class Result:
    """How a scene went: the library's time to ours, in milliseconds each."""

    door: str
    seed: int
    what: str
    ours: float
    theirs: float

    @property
    def ratio(self) -> float:
        """Return the library's time to ours; 1 where ours is longer by a microsecond at most."""
        return max(self.theirs / self.ours, 1.0) if self.ours - self.theirs <= MICROSECOND else self.theirs / self.ours


def main() -> int:
    """Draw and measure scenes, and print the report."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.doors", description="Drop-ins on scenes at random.")
    parser.add_argument("doors", nargs="*", metavar="DOOR", help=f"beginnings of {', '.join(DOORS)}; default: all")
    parser.add_argument("--quick", action="store_true", help="five minutes")
    parser.add_argument("--seconds", type=float, help="time to spend (default: 7200; 300 with --quick)")
    parser.add_argument("--seed", type=int, help="this scene alone")
    chosen = parser.parse_args()
    doors = [name for name in DOORS if not chosen.doors or any(name.startswith(one) for one in chosen.doors)]
    if not doors:
        parser.error(f"no door begins with {chosen.doors[0]!r}; there are {', '.join(DOORS)}")
    most = 4.0 if chosen.quick else 5.0
    seconds = chosen.seconds or (300.0 if chosen.quick else 7200.0)
    results, wrong = list[Result](), list[str]()
    with one_core():
        for door, seed in turns(doors, chosen.seed, seconds):
            try:
                result = measured(door, seed, most)
            except ImportError:
                doors.remove(door)
                print(f"left out: {door}, whose library is not installed", file=sys.stderr)
                continue
            if isinstance(result, str):
                wrong.append(result)
                print(result, file=sys.stderr)
            else:
                results.append(result)
    columns = ("door", "scenes", "below 0.95", "below 0.9", "worst", "ours", "theirs", "seed", "scene")
    show_table(columns, [line(door, results) for door in doors], "Doors", left=1)
    for one in sorted(results, key=lambda result: result.ratio):
        if one.ratio < LEAST:
            print(f"{one.ratio:.2f} of the speed: {one.door}, seed {one.seed}, {one.ours * 1000:,.1f} µs: {one.what}")
    print(f"{len(results)} scenes, {len(wrong)} with another answer")
    return 1 if wrong else 0


def turns(doors: list[str], seed: int | None, seconds: float) -> Iterator[tuple[str, int]]:
    """Give each door in turn a new seed until the time is over; or all of them one seed."""
    if seed is not None:
        yield from [(door, seed) for door in doors]
        return
    end, number = time.monotonic() + seconds, 0
    while doors and time.monotonic() < end:
        for door in list(doors):
            yield door, number
        number += 1


def measured(door: str, seed: int, most: float) -> Result | str:
    """Answer a scene by both and time them; a sentence if the answers differ.

    Parameters
    ----------
    door : str
    seed : int
    most : float
        Power of ten of the largest size.
    """
    scene = DOORS[door](np.random.default_rng(seed), most)
    if not scene.are_alike(scene.ours(), scene.theirs()):
        return f"{door}, seed {seed}: another answer: {scene.what}"
    calls = {"ours": scene.ours, "theirs": scene.theirs}

    def timed(budget: float) -> Result:
        found = median_times(calls, budget=budget, least=5, clock=time.process_time)
        return Result(door, seed, scene.what, found["ours"].milliseconds, found["theirs"].milliseconds)

    first = timed(0.2)
    return first if first.ratio >= MEANT else max(first, timed(0.6), key=lambda result: result.ratio)


def line(door: str, results: list[Result]) -> list[str]:
    """Return the cells of a door."""
    own = [result for result in results if result.door == door]
    if not own:
        return [door, "0", *[""] * 7]
    worst = min(own, key=lambda result: result.ratio)
    below = [str(sum(result.ratio < least for result in own)) for least in (MEANT, LEAST)]
    times = [f"{one * 1000:,.0f} µs" for one in (worst.ours, worst.theirs)]
    return [door, str(len(own)), *below, f"{worst.ratio:.2f}", *times, str(worst.seed), worst.what]


def size(rng: np.random.Generator, most: float, least: float = 0.0) -> int:
    """Draw a size on a log scale, up to a power of ten."""
    return round(10 ** rng.uniform(least, most))


# ---- shapely ----


def geometries(rng: np.random.Generator, kind: str, count: int, side: float) -> Any:
    """Draw points, boxes, lines, discs, stars, rings with a hole or pairs of these, in a square."""
    shapely: Any = import_module("shapely")
    center = rng.random((count, 2)) * side
    reach = rng.uniform(0.2, 1.5, (count, 1)) if rng.random() < 0.7 else np.exp(rng.normal(0, 1.2, (count, 1)))
    if kind == "points":
        return shapely.points(center)
    if kind == "boxes":
        return shapely.box(*(center - reach).T, *(center + reach).T)
    if kind == "lines":
        steps = rng.normal(0, 0.5, (count, int(rng.integers(2, 9)), 2)) * reach[:, np.newaxis]
        return shapely.linestrings(center[:, np.newaxis] + np.cumsum(steps, axis=1))
    if kind == "discs":
        return shapely.buffer(shapely.points(center), reach[:, 0], quad_segs=int(rng.integers(2, 10)))
    turn = np.linspace(0, 2 * np.pi, 2 * int(rng.integers(3, 40)), endpoint=False)
    spread = np.where(np.arange(len(turn)) % 2, 1.0, rng.uniform(0.3, 0.9))
    rings = np.stack([spread * np.cos(turn), spread * np.sin(turn)], axis=1) * reach[:, np.newaxis]
    stars = shapely.polygons(rings + center[:, np.newaxis])
    return stars if kind == "stars" else shapely.difference(stars, shapely.buffer(shapely.points(center), 0.1))


KINDS = ("points", "boxes", "lines", "discs", "stars", "rings")
PREDICATES = (
    *(None, "intersects", "within", "contains", "covers", "covered_by"),
    *("touches", "overlaps", "crosses", "contains_properly", "dwithin"),
)


def shapely_query(rng: np.random.Generator, most: float) -> Scene:
    """Make a tree and query it once, or query one that is there."""
    predicate = PREDICATES[int(rng.integers(len(PREDICATES)))]
    given = {"predicate": predicate, **({"distance": float(rng.uniform(0.1, 2))} if predicate == "dwithin" else {})}
    return _asked_scene(rng, most, "query", given, str(predicate))


def shapely_nearest(rng: np.random.Generator, most: float) -> Scene:
    """Find what is nearest in a new tree, or in one that is there."""
    options: tuple[dict[str, Any], ...] = (
        *({}, {"all_matches": False}, {"exclusive": True}, {"max_distance": float(rng.uniform(0.1, 3))}),
    )
    given = options[int(rng.integers(len(options)))]
    return _asked_scene(rng, most, "query_nearest", given, f"nearest {given or ''}")


def _asked_scene(rng: np.random.Generator, most: float, name: str, given: dict[str, Any], asked: str) -> Scene:
    kinds_of_tree: list[Any] = [import_module(name) for name in ("broadphase.adapters.shapely", "shapely")]
    count, others = size(rng, most, 1), size(rng, most - 0.5)
    side = max(count, 1) ** 0.5 * rng.uniform(0.7, 4)
    kinds = [str(rng.choice(KINDS)) for _ in range(2)]
    tree, inputs = (geometries(rng, kind, n, side) for kind, n in zip(kinds, (count, others), strict=True))
    makes = rng.random() < 0.5
    what = f"{'a new tree' if makes else 'a tree'} of {count} {kinds[0]}, {others} {kinds[1]}, {asked}"
    if makes:
        ours, theirs = (partial(_made_and_asked, kind.STRtree, tree, name, inputs, given) for kind in kinds_of_tree)
    else:
        ours, theirs = (partial(getattr(kind.STRtree(tree), name), inputs, **given) for kind in kinds_of_tree)
    return Scene(what, ours, theirs, np.array_equal)


def _made_and_asked(kind: Any, tree: Any, name: str, inputs: Any, given: dict[str, Any]) -> Any:
    return getattr(kind(tree), name)(inputs, **given)


def shapely_period(rng: np.random.Generator, most: float) -> Scene:
    """Join frames of the whole world across the antimeridian, beside a join of three moved copies of the left one."""
    geopandas, shapely = (import_module(name) for name in ("geopandas", "shapely"))
    drop_in: Any = import_module("broadphase.adapters.shapely")
    count, others = size(rng, max(most, 3), 3), size(rng, max(most - 0.5, 2), 2)
    kinds = [str(rng.choice(KINDS)) for _ in range(2)]
    scale = float(rng.uniform(0.3, 3)) * max(count, others) ** -0.5
    places: list[Any] = []
    for kind, n in zip(kinds, (count, others), strict=True):
        made = geometries(rng, kind, n, 180 / scale)
        places.append(_in_degrees(made, scale))
    predicate = PREDICATES[1 + int(rng.integers(len(PREDICATES) - 3))]
    what = f"{count} {kinds[0]}, {others} {kinds[1]}, {predicate}, in degrees"

    def ours() -> Any:
        left, right = (_frame(geopandas, made, np.arange(len(made))) for made in places)
        joined = drop_in.sjoin(left, right, predicate=predicate, period=(360, None))
        return joined[["row_left", "row_right"]].to_numpy()

    def theirs() -> Any:
        moved = [shapely.transform(places[0], lambda at, k=k: at + np.array((k, 0))) for k in (0.0, 360.0, -360.0)]
        rows = np.tile(np.arange(len(places[0])), 3)
        left, right = _frame(geopandas, np.concatenate(moved), rows), _frame(geopandas, places[1], np.arange(others))
        joined = drop_in.own("sjoin")(left, right, predicate=predicate)
        return joined[["row_left", "row_right"]].drop_duplicates().to_numpy()

    return Scene(what, ours, theirs, lambda one, other: {*map(tuple, one)} == {*map(tuple, other)})


def _in_degrees(made: Any, scale: float) -> Any:
    """Stretch geometries of a square over all longitudes and half of the latitudes."""
    shapely: Any = import_module("shapely")
    return shapely.transform(made, lambda at: at * (2 * scale, scale) - (180, 90))


def _frame(geopandas: Any, made: Any, rows: Any) -> Any:
    return geopandas.GeoDataFrame({"row": rows}, geometry=np.array(made, object))


# ---- rtree ----


def rtree_stream(rng: np.random.Generator, most: float) -> Scene:
    """Insert, query and delete in some order, as labels are placed and agents move; or load boxes first."""
    kinds: list[Any] = [import_module(name).Index for name in ("broadphase.adapters.rtree", "rtree.index")]
    count = size(rng, most - 1.5)
    weights = rng.dirichlet(np.ones(5)) * (1, 1, 0.5, 0.3, 0.5)
    weights /= weights.sum()
    steps = rng.choice(5, 2 * count + 1, p=weights)
    low = rng.random((len(steps), 2)) * max(count, 1) ** 0.5 * rng.uniform(1, 4)
    corners = np.concatenate([low, low + rng.uniform(0.1, 2, low.shape)], axis=1)
    boxes, picks, most_results = corners.tolist(), rng.random(len(steps)).tolist(), int(rng.integers(1, 9))
    begin, ends = str(rng.choice(("nothing", "a stream", "arrays"))), bool(rng.random() < 0.15)
    loaded = 0 if begin == "nothing" else count
    ids = np.arange(loaded) + len(steps)

    def run(kind: Any) -> list[Any]:
        if begin == "arrays" and loaded:
            index = kind((ids, corners[:loaded, :2], corners[:loaded, 2:]))
        else:
            index = kind([(number, box, None) for number, box in zip(ids.tolist(), boxes, strict=False)])
        there, answers = list[int](), list[Any]()
        for number, (step, box, pick) in enumerate(zip(steps.tolist(), boxes, picks, strict=True)):
            if step == 0:
                index.insert(number, box)
                there.append(number)
            elif step == 1:
                answers.append(sorted(index.intersection(box)))
            elif step == 2 and there:
                gone = there.pop(int(pick * len(there)))
                index.delete(gone, boxes[gone])
            elif step == 3:
                answers.append(index.count(box))
            elif step == 4:
                answers.append(sorted(index.nearest(box, most_results)))
        if ends:
            answers.append(sorted(id for _, children, _ in index.leaves() for id in children))
        return answers

    shares = ", ".join(f"{share:.2f}" for share in weights)
    what = f"{begin} of {loaded} boxes, {len(steps)} steps: insert, intersection, delete, count, nearest {shares}"
    what += ", leaves" if ends else ""
    return Scene(what, partial(run, kinds[0]), partial(run, kinds[1]), lambda a, b: a == b)


# ---- ASE ----


def ase_lists(rng: np.random.Generator, most: float) -> Scene:
    """List the neighbors of atoms once, or keep lists of atoms that move."""
    kinds: list[Any] = [import_module(name) for name in ("broadphase.adapters.ase", "ase.neighborlist")]
    count = size(rng, most - 1)
    spacing, neighbors = float(rng.uniform(1.5, 4)), float(10 ** rng.uniform(-0.5, 1.5))
    reach = spacing * (neighbors / 4.19) ** (1 / 3)
    side = spacing * max(count, 1) ** (1 / 3)
    cell = np.diag(side * rng.uniform(0.7, 1.4, 3)) + side * rng.choice((0.0, 0.0, 0.3)) * rng.uniform(-1, 1, (3, 3))
    pbc = rng.random(3) < rng.choice((0.0, 0.5, 1.0))
    scaled = rng.random((count, 3)) * (rng.choice((1.0, 3.0)) if count < 100 else 1.0)
    places, elements = scaled @ cell, rng.integers(1, 4, count)
    given = str(rng.choice(("neighbor_list", "primitive_neighbor_list", "NeighborList", "get_neighbors")))
    if given.endswith("_list"):
        letters = str(rng.choice(("ij", "i", "ijd", "ijS", "d", "ijdDS")))
        by = str(rng.choice(("one cutoff", "cutoffs by atom", "cutoffs by element")))
        cutoff: Any = reach
        if by == "cutoffs by atom":
            cutoff = rng.uniform(0.3, 0.6, count) * reach
        elif by == "cutoffs by element":
            cutoff = {(one, two): reach * float(rng.uniform(0.5, 1)) for one in (1, 2, 3) for two in range(one, 4)}
        itself = bool(rng.random() < 0.3)
        if given == "neighbor_list":
            atoms = import_module("ase").Atoms(elements, places, cell=cell, pbc=pbc)
            arguments: tuple[Any, ...] = (letters, atoms, cutoff, itself)
        else:
            uses_scaled = bool(rng.random() < 0.5)
            arguments = (letters, pbc, cell, scaled if uses_scaled else places, cutoff, elements, itself, uses_scaled)
        what = f"{given} {letters!r} of {count} atoms, {by}, some {neighbors:.1f} neighbors, {pbc.sum()} axes repeat"
        listed = [partial(getattr(kind, given), *arguments) for kind in kinds]
        return Scene(what, listed[0], listed[1], _are_same_neighbors)
    flags = {name: bool(rng.random() < 0.5) for name in ("sorted", "self_interaction", "bothways")}
    radii, skin = rng.uniform(0.4, 0.5, count) * reach, float(rng.uniform(0, 0.2)) * reach
    atoms = import_module("ase").Atoms(elements, places, cell=cell, pbc=pbc)
    steps = 1 if count > 300 else int(rng.integers(1, 6))
    moves = rng.normal(0, rng.uniform(0, 0.1) * reach, (steps, count, 3))
    asked = rng.integers(-count, count, min(count, 100)).tolist()

    def run(kind: Any) -> list[Any]:
        near, answers = kind.NeighborList(radii, skin, **flags), list[Any]()
        for move in moves:
            atoms.positions = places + move
            near.update(atoms)
            answers += neighbors_of(near)
        return answers

    def neighbors_of(near: Any) -> list[Any]:
        return [near.get_neighbors(atom) for atom in asked]

    calls: list[Callable[[], Any]] = [partial(run, kind) for kind in kinds]
    if given == "get_neighbors":
        lists = [kind.NeighborList(radii, skin, **flags) for kind in kinds]
        for near in lists:
            near.update(atoms)
        calls = [partial(neighbors_of, near) for near in lists]
    names = ", ".join(name for name, is_set in flags.items() if is_set)
    what = f"{given} of {count} atoms, {names or 'no flags'}, {steps} steps, some {neighbors:.1f} neighbors"
    return Scene(f"{what}, {pbc.sum()} axes repeat", calls[0], calls[1], _are_same_lists)


def _are_same_neighbors(one: Any, other: Any) -> bool:
    """Compare arrays of pairs in any order, integers exactly."""
    both = []
    for found in (one, other):
        arrays = sorted(found if isinstance(found, tuple) else (found,), key=lambda part: part.dtype.kind == "f")
        columns = np.concatenate([part if part.ndim == 2 else part[:, np.newaxis] for part in arrays], axis=1)
        both.append(columns[np.lexsort(columns.T[::-1])] if len(columns) else columns)
    return both[0].shape == both[1].shape and np.allclose(both[0], both[1], rtol=1e-9, atol=1e-9)


def _are_same_lists(one: Any, other: Any) -> bool:
    """Compare neighbors and shifts of some atoms in any order."""
    both = [[sorted(np.column_stack(near).tolist()) for near in found] for found in (one, other)]
    return both[0] == both[1]


# ---- mesa ----


def mesa_space(rng: np.random.Generator, most: float) -> Scene:
    """Query a space of agents, or move them, and query in between."""
    modules: list[Any] = [
        import_module("broadphase.adapters.mesa"),
        import_module("mesa.experimental.continuous_space"),
    ]
    count, torus, dimension = 1 + size(rng, most), bool(rng.random() < 0.5), int(rng.integers(1, 4))
    side, k = 100.0, min(int(rng.integers(1, 12)), count - 1)
    radius = float(side * (10 ** rng.uniform(-1, 2.5) / count / 3) ** (1 / dimension))
    rows, chosen = rng.integers(0, count, 30).tolist(), round(10 ** rng.uniform(0, min(np.log10(count), 2.5)))

    def moved(space: Any) -> list[Any]:
        answers = list[Any]()
        for row, point in zip(rows, points, strict=True):
            answers.append(space.active_agents[row].get_neighbors_in_radius(radius))
            space.active_agents[row].position = point
        return answers

    def removed(space: Any) -> list[Any]:
        agents = [space.active_agents[row] for row in sorted(set(rows[: count // 2]))]
        answers = list[Any]()
        for agent, point in zip(agents, points, strict=False):
            agent.remove()
            answers.append(space.get_agents_in_radius(point, radius))
        return answers

    work: dict[str, Callable[[Any], Any]] = {
        "get_agents_in_radius": lambda space: [space.get_agents_in_radius(point, radius) for point in points],
        "get_k_nearest_agents": lambda space: [space.get_k_nearest_agents(point, k) for point in points],
        "get_neighbors_in_radius": lambda space: space.active_agents[0].get_neighbors_in_radius(radius),
        "get_nearest_neighbors": lambda space: space.active_agents[0].get_nearest_neighbors(k - 1),
        "calculate_distances": lambda space: space.calculate_distances(points[0])[0],
        "distances of some": lambda space: space.calculate_distances(points[0], space.active_agents[:chosen])[0],
        "differences": lambda space: space.calculate_difference_vector(points[0]),
        "differences of some": lambda space: space.calculate_difference_vector(points[0], space.active_agents[:chosen]),
        "position": lambda space: space.active_agents[0].position.copy(),
        "in_bounds": lambda space: space.in_bounds(points[0]),
        "torus_correct": lambda space: space.torus_correct(points[0] * 3),
        "agents that move": moved,
        "agents that are made and removed": removed,
    }
    does = str(rng.choice([*work, "older space"]))
    makes, is_older = does == "agents that are made and removed", does == "older space"
    dimension, count = 2 if is_older else dimension, min(count, 500) if makes else count
    rows = [row % count for row in rows]
    places, points = (rng.random((n, dimension)) * side for n in (count, 30))
    what = f"{does}, {count} agents, {dimension}-d, {'torus' if torus else 'plane'}, radius {radius:.2f}, k {k}"
    calls: list[Callable[[], Any]]
    if is_older:
        kinds = [modules[0].LegacyContinuousSpace, import_module("mesa.space").ContinuousSpace]
        given = places, points, rows, radius
        calls = [partial(_moved_in_older_space, _older_space(kind, side, torus, places), *given) for kind in kinds]
    elif makes:
        calls = [partial(lambda module: removed(_space(module, side, torus, places)), module) for module in modules]
    else:
        calls = [partial(work[does], _space(module, side, torus, places)) for module in modules]
    return Scene(f"{what}, {chosen} chosen", calls[0], calls[1], lambda one, other: bool(_plain(one) == _plain(other)))


def _space(module: Any, side: float, torus: bool, places: Any) -> Any:
    model = import_module("mesa").Model(seed=1)
    space = module.ContinuousSpace([[0, side]] * places.shape[1], torus, model.random, len(places))
    for place in places:
        module.ContinuousSpaceAgent(space, model).position = place
    return space


def _older_space(kind: Any, side: float, torus: bool, places: Any) -> Any:
    mesa: Any = import_module("mesa")
    space, model = kind(side, side, torus), mesa.Model(seed=1)
    for place in places.tolist():
        space.place_agent(mesa.Agent(model), tuple(place))
    return space


def _moved_in_older_space(space: Any, places: Any, points: Any, rows: list[int], radius: float) -> list[Any]:
    answers, agents = list[Any](), list(space._agent_to_index)
    for row, point in zip(rows, points.tolist(), strict=True):
        answers.append(space.get_neighbors(point, radius))
        space.move_agent(agents[row], tuple(point))
        answers.append(space.get_neighbors(agents[row].pos, radius, False))
        answers.append((space.get_distance(point, places[0]), space.get_heading(tuple(point), tuple(places[0]))))
    return answers


def _plain(answer: Any) -> Any:
    """Turn answers of a space into numbers; agents and their distances are in any order."""
    if isinstance(answer, tuple) and isinstance(answer[0], list):
        return sorted(zip((agent.unique_id for agent in answer[0]), answer[1].tolist(), strict=True))
    if isinstance(answer, list):
        return [one.unique_id if hasattr(one, "unique_id") else _plain(one) for one in answer]
    return np.hstack(answer).tolist() if isinstance(answer, tuple) else np.asarray(answer).tolist()


# ---- SciPy ----


def scipy_tree(rng: np.random.Generator, most: float) -> Scene:
    """Query a tree of points, new or old, in a periodic box or in open space."""
    kinds: list[Any] = [import_module(name).cKDTree for name in ("broadphase.adapters.scipy", "scipy.spatial")]
    count, places, dimension = size(rng, most), size(rng, most - 0.5), int(rng.integers(2, 4))
    side = max(count, 1) ** (1 / dimension)
    spread = str(rng.choice(("even", "even", "clusters", "few spots", "one spot")))
    points, asked = (rng.random((n, dimension)) * side for n in (count, places))
    if spread == "clusters":
        points = points[rng.integers(0, 1 + count // 20, count)] + rng.normal(0, 0.3, points.shape)
    elif spread != "even":
        points = points[rng.integers(0, 1 + count // 8, count) if spread == "few spots" else np.zeros(count, int)]
    radius, k = float(rng.uniform(0.3, 2.0)), int(rng.integers(1, 9))
    box = {"boxsize": side} if rng.random() < 0.25 and spread != "clusters" else {}
    work: dict[str, Callable[[Any], Any]] = {
        "query": lambda tree: tree.query(asked, min(k, count))[0],
        "query_ball_point": lambda tree: tree.query_ball_point(asked, radius),
        "query_pairs": lambda tree: tree.query_pairs(radius, output_type="ndarray"),
        "counts": lambda tree: tree.query_ball_point(asked, radius, return_length=True),
        "count_neighbors": lambda tree: tree.count_neighbors(tree, radius),
    }
    name = str(rng.choice(list(work)))
    if name == "query_pairs" and spread in ("few spots", "one spot"):
        name = "count_neighbors"  # not so many pairs
    alike: dict[str, Callable[[Any, Any], bool]] = {
        "query": np.allclose,
        "query_ball_point": lambda a, b: all(sorted(i) == sorted(j) for i, j in zip(a, b, strict=True)),
        "query_pairs": lambda a, b: sorted(map(tuple, a.tolist())) == sorted(map(tuple, b.tolist())),
        "counts": np.array_equal,
        "count_neighbors": np.array_equal,
    }
    do, makes = work[name], rng.random() < 0.5
    if makes:
        ours, theirs = (partial(_made_and_done, kind, points, box, do) for kind in kinds)
    else:
        ours, theirs = (partial(do, kind(points, **box)) for kind in kinds)
        for _ in range(6):
            ours()
    what = f"{'a new tree' if makes else 'a tree'} of {count} points, {spread}, {dimension}-d, {name}, {places} places"
    return Scene(f"{what}, {radius:.2f}{', periodic' if box else ''}", ours, theirs, alike[name])


def _made_and_done(kind: Any, points: Any, box: dict[str, Any], do: Callable[[Any], Any]) -> Any:
    return do(kind(points, **box))


# ---- pygame ----


def pygame_groups(rng: np.random.Generator, most: float) -> Scene:
    """Collide groups, a sprite and a group, or a rect and a group."""
    pygame: Any = import_module("pygame")
    kinds: list[Any] = [import_module("broadphase.adapters.pygame"), pygame.sprite]
    odd: Any = type("Odd", (pygame.sprite.Sprite,), {"rect": property(lambda sprite: sprite.kept)})
    counts = [size(rng, most - 1.5) for _ in range(2)]
    side = max(counts) ** 0.5 * rng.uniform(10, 60) + 30
    share = float(rng.choice((0.0, 0.0, 0.1, 1.0)))

    def sprite() -> Any:
        is_odd = rng.random() < share
        made: Any = odd() if is_odd else pygame.sprite.Sprite()
        rect = pygame.Rect(*rng.integers(0, int(side), 2).tolist(), *rng.integers(4, 30, 2).tolist())
        setattr(made, "kept" if is_odd else "rect", rect)
        return made

    sprites = [[sprite() for _ in range(count)] for count in counts]
    groups = [[kind.Group(*some) for some in sprites] for kind in kinds]
    names = ("groupcollide", "spritecollide", "spritecollideany")
    of_lists = ("collidelist", "collidelistall", "collideobjects", "collideobjectsall")
    name = str(rng.choice((*names, *of_lists)))
    if name in of_lists:
        rect = sprites[0][0].rect
        ours = partial(getattr(groups[0][1], name), rect)
        theirs = partial(_of_list, getattr(rect, name), groups[1][1], "list" in name)
    elif name == "groupcollide":
        ours, theirs = (partial(kind.groupcollide, *both, 0, 0) for kind, both in zip(kinds, groups, strict=True))
    else:
        given = (False,) if name == "spritecollide" else ()
        sprite_and_group = zip(kinds, groups, strict=True)
        ours, theirs = (partial(getattr(kind, name), sprites[0][0], both[1], *given) for kind, both in sprite_and_group)
    what = f"{name} of {counts[0]} and {counts[1]} sprites, {share} of them with a rect of their own"
    return Scene(what, ours, theirs, lambda a, b: a == b)


def _of_list(call: Callable[[Any], Any], group: Any, reads: bool) -> Any:
    return call([one.rect for one in group] if reads else group.sprites())


# ---- arcade ----


def arcade_sprites(rng: np.random.Generator, most: float) -> Scene:
    """Ask a list for the sprites at a sprite, a point or a rectangle, or move the sprites of a spatial hash."""
    os.environ.setdefault("ARCADE_HEADLESS", "True")
    modules: list[Any] = [import_module(name) for name in ("broadphase.adapters.arcade", "arcade")]
    arcade, count = modules[1], size(rng, most - 0.5)
    side, share = count**0.5 * rng.uniform(5, 60) + 30, float(rng.choice((0.0, 0.3, 1.0)))
    places, turns = (rng.random((count + 8, 2)) * side).round(int(rng.choice((0, 9)))), rng.random(count + 8)
    sides = rng.integers(4, 40, (count + 8, 2)).tolist()

    def made() -> list[Any]:
        sprites = []
        for (x, y), turn, (width, height) in zip(places.tolist(), turns.tolist(), sides, strict=True):
            sprites.append(arcade.SpriteSolidColor(width, height, center_x=x, center_y=y))
            if turn < share:
                sprites[-1].angle = 360 * turn / share
        return sprites

    def listed(sprites: list[Any]) -> Any:
        found = arcade.SpriteList(lazy=True)
        found.extend(sprites)
        return found

    name = str(
        rng.choice(
            (
                *("check_for_collision_with_list", "check_for_collision_with_lists", "get_closest_sprite"),
                *("get_sprites_at_point", "get_sprites_at_exact_point", "get_sprites_in_rect", "SpatialHash"),
            )
        )
    )
    cell = int(rng.integers(16, 200))
    what = f"{name}, {count} sprites, {share} of them turned"
    if name == "SpatialHash":
        both = [made() for _ in modules]
        lists = [listed(sprites[:-8]) for sprites in both]
        modules[0].SpatialHash.of(lists[0], cell)
        lists[1].enable_spatial_hashing(cell)
        numbers = {one: number for sprites in lists for number, one in enumerate(sprites)}
        far = bool(rng.random() < 0.5)
        there = (places[::-1] if far else places + 2.0).tolist()

        def play(sprites: Any, asking: list[Any]) -> list[Any]:
            """Move all away and back, with queries after both."""
            found, hashed = [], sprites.spatial_hash
            for to in (there, places.tolist()):
                for one, place in zip(sprites, to, strict=False):
                    one.position = tuple(place)
                found += [hashed.get_sprites_near_sprite(one) for one in asking]
                found += [hashed.get_sprites_near_point(one.position) for one in asking]
            return found

        def of_numbers(found: list[Any]) -> list[Any]:
            return [sorted(numbers[one] for one in some) for some in found]

        ours, theirs = (partial(play, sprites, both[number][-8:]) for number, sprites in enumerate(lists))
        what += f", cells of {cell}, {'far' if far else 'near'} moves"
        return Scene(what, ours, theirs, lambda a, b: of_numbers(a) == of_numbers(b))
    sprites = made()
    one, asked = sprites[-1], listed(sprites[:-8])
    is_hashed = bool(rng.random() < 0.4)
    if is_hashed:
        asked.enable_spatial_hashing(cell)
        what += f", cells of {cell}"
    x, y = one.position
    given: dict[str, tuple[Any, ...]] = {
        "check_for_collision_with_list": (one, asked, 1 if is_hashed else 3),
        "check_for_collision_with_lists": (one, [asked, listed(sprites[-8:])], 1 if is_hashed else 3),
        "get_closest_sprite": (one, asked),
        "get_sprites_at_point": ((x, y), asked),
        "get_sprites_at_exact_point": (sprites[int(rng.integers(len(sprites)))].position, asked),
        "get_sprites_in_rect": (arcade.LBWH(x, y, *(rng.random(2) * side * 0.7).tolist()), asked),
    }
    if name == "check_for_collision_with_lists" and is_hashed:
        given[name] = (one, [asked, asked], 1)
    ours, theirs = (partial(getattr(module, name), *given[name]) for module in modules)
    return Scene(what, ours, theirs, lambda a, b: a == b)


# ---- trimesh ----


def trimesh_managers(rng: np.random.Generator, most: float) -> Scene:
    """Move objects of a manager and ask which collide, or how far they are apart."""
    trimesh: Any = import_module("trimesh")
    import_module("fcl")
    modules: list[Any] = [import_module(name) for name in ("broadphase.adapters.trimesh", "trimesh.collision")]
    create = trimesh.creation
    shapes = {
        "box": create.box(),
        "ball": create.icosphere(int(rng.integers(1, 3))),
        "ring": create.torus(1.0, 0.3, major_sections=int(rng.integers(8, 33)), minor_sections=8),
        "boxes": trimesh.util.concatenate([create.box(), create.box().apply_translation([1.5, 0, 0])]),
    }
    kinds = sorted(rng.choice(list(shapes), int(rng.integers(1, 4)), replace=False).tolist())
    count = size(rng, most - 1.7, 0.3)
    width = count ** (1 / 3) * rng.uniform(0.7, 4)

    def pose() -> Any:
        matrix = trimesh.transformations.rotation_matrix(rng.random() * 6, rng.standard_normal(3))
        matrix[:3, 3] = rng.random(3) * width
        return np.float32(matrix).astype(np.float64)  # as `add_object` of trimesh rounds it

    meshes = [shapes[kinds[number % len(kinds)]] for number in range(count)]
    managers = [module.CollisionManager() for module in modules]
    others = [module.CollisionManager() for module in modules]
    for number, mesh in enumerate(meshes):
        place, another = pose(), pose()
        for manager, other in zip(managers, others, strict=True):
            manager.add_object(str(number), mesh, place)
            if number < 8:
                other.add_object(str(number), mesh, another)
    moved = [0, 1, count][int(rng.integers(3))]
    steps = [[(str(number), pose()) for number in range(moved)] for _ in range(2)]
    name = str(rng.choice(("in_collision", "min_distance"))) + str(rng.choice(("_internal", "_single", "_other")))
    options: dict[str, bool] = {"return_name" if name == "min_distance_single" else "return_names": rng.random() < 0.7}
    if rng.random() < 0.4:
        options["return_data"] = True
    single = shapes[kinds[0]], pose()

    def play(manager: Any, other: Any) -> list[Any]:
        given = single if name.endswith("_single") else (other,) if name.endswith("_other") else ()
        found = []
        for step in steps:
            for which, place in step:
                manager.set_transform(which, place)
            found.append(getattr(manager, name)(*given, **options))
        return found

    ours, theirs = (partial(play, *pair) for pair in zip(managers, others, strict=True))
    asked = ", ".join(option for option, is_set in options.items() if is_set)
    what = f"{name}({asked}), {count} of {', '.join(kinds)}, {width:.1f} wide, {moved} moved"
    return Scene(what, ours, theirs, partial(_same_steps, name.startswith("min_distance")))


def _same_steps(are_distances: bool, ours: list[Any], theirs: list[Any]) -> bool:
    """Whether steps have the same answers: collisions, faces of contacts; distances, and who is as near as that."""
    for our, their in zip(ours, theirs, strict=True):
        (a, *ours_more), (b, *theirs_more) = (one if isinstance(one, tuple) else (one,) for one in (our, their))
        if are_distances:
            if not (max(a, b) <= 0 or abs(a - b) <= 1e-5 * max(1.0, abs(b))):
                return False
            continue
        if a != b or len(ours_more) != len(theirs_more):
            return False
        for x, y in zip(ours_more, theirs_more, strict=True):
            if isinstance(x, list):
                faces = [Counter(frozenset(contact._inds.items()) for contact in some) for some in (x, y)]
                if faces[0] != faces[1]:
                    return False
            elif x != y:
                return False
    return True


# ---- Detections ----


def nms(rng: np.random.Generator, most: float) -> Scene:
    """Suppress boxes of a detector, float32, beside a plain greedy loop in C++."""
    count, threshold = size(rng, min(most, 4.3)), float(rng.uniform(0.2, 0.95))
    kind = str(rng.choice(("clusters", "one spot", "spread", "sizes")))
    center, sides = rng.random((count, 2)) * max(count, 1) ** 0.5 * rng.uniform(2, 40), rng.uniform(5, 30, (count, 2))
    if kind == "clusters":
        objects = rng.integers(0, max(count // int(rng.integers(3, 60)), 1), count)
        center = center[objects] + rng.normal(0, 2, center.shape)
        sides = sides[objects] * rng.uniform(0.8, 1.25, sides.shape)
    elif kind == "one spot":
        center %= 5
    elif kind == "sizes":
        sides = np.exp(rng.normal(1, 1.5, sides.shape))
    boxes = np.concatenate([center - sides / 2, center + sides / 2], axis=1).astype(np.float32)
    scores = rng.random(count).astype(np.float32)
    what = f"{count} boxes, {kind}, {threshold:.2f}"
    return Scene(
        what,
        partial(bp.nms, boxes, scores, threshold),
        partial(plain_greedy(), boxes, scores, threshold),
        np.array_equal,
    )


# ---- Tables ----


def tables(rng: np.random.Generator, most: float) -> Scene:
    """Join two tables as bioframe does, or events with what came before as pandas does."""
    pandas, bioframe = import_module("pandas"), import_module("bioframe")
    work = str(rng.choice(("overlap", "count_overlaps", "setdiff", "closest", "merge_asof")))
    counts = [size(rng, most, 0.3) for _ in range(2)]
    names = np.array([f"chr{number}" for number in range(1, 2 + int(rng.integers(24)))])
    length, longest = max(counts) * int(rng.integers(1, 2000)), 1 + int(10 ** rng.uniform(0, 4))
    frames = []
    for count in counts:
        start = np.sort(rng.integers(0, length, count)) if rng.random() < 0.5 else rng.integers(0, length, count)
        ends = {"start": start, "end": start + rng.integers(1, longest + 1, count)}
        frames.append(
            pandas.DataFrame({"chrom": names[rng.integers(0, len(names), count)], **ends, "row": range(count)})
        )
    left, right = frames
    genes: Any = {"lower": "start", "upper": "end", "by": "chrom", "closed": "left"}
    near: Any = {"how": "nearest", "distance": True}
    k = int(rng.integers(1, 4))
    direction = str(rng.choice(("backward", "forward")))
    # Of several at one time, pandas takes the last before and the first behind, and join the first.
    right_times = right.drop_duplicates(["chrom", "start"]) if work == "merge_asof" else right
    calls: dict[str, tuple[dict[str, Any], Callable[[], Any], str]] = {
        "overlap": ({}, lambda: bioframe.overlap(left, right, how="inner"), "row_"),
        "count_overlaps": ({"count": True}, lambda: bioframe.count_overlaps(left, right), "count"),
        "setdiff": ({"how": "anti"}, lambda: bioframe.setdiff(left, right), "row"),
        "closest": (near | {"k": k}, lambda: bioframe.closest(left, right, k=k), "distance"),
        "merge_asof": (
            near | {"direction": direction, "lower": "start", "upper": "start"},
            lambda: pandas.merge_asof(
                left.sort_values("start"), right_times.sort_values("start"), on="start", by="chrom",
                direction=direction, suffixes=("", "_right"),
            ),
            "row_right",
        ),
    }  # fmt: skip
    options, theirs, compared = calls[work]
    mine = {"row_": "row_right"}.get(compared, compared)

    def are_alike(one: Any, other: Any) -> bool:
        values = [
            [x["row"].to_numpy(), x[name].astype(float).fillna(-1)] for x, name in ((one, mine), (other, compared))
        ]
        first, second = (np.stack(x)[:, np.lexsort(x[::-1])] for x in values)
        return np.array_equal(first, second)

    what = f"{work}, {counts[0]} and {counts[1]} rows of {longest} at most, {len(names)} keys, {length} long, k={k}"
    return Scene(what, partial(bp.join, left, right_times, **genes | options), theirs, are_alike)


DOORS: dict[str, Callable[[np.random.Generator, float], Scene]] = {
    "arcade": arcade_sprites,
    "ase": ase_lists,
    "mesa": mesa_space,
    "nms": nms,
    "pygame": pygame_groups,
    "rtree": rtree_stream,
    "scipy": scipy_tree,
    "shapely": shapely_query,
    "shapely nearest": shapely_nearest,
    "shapely period": shapely_period,
    "tables": tables,
    "trimesh": trimesh_managers,
}


if __name__ == "__main__":
    sys.exit(main())
