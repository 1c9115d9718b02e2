"""Random shapes of the plane, for the core and, as points, lines and polygons with a radius, for Shapely."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import shapely

from broadphase import _native
from broadphase.shapes.kinds import RECORDS, ShapeKind
from shape_cases import CORNERED

KINDS = (*(kind.name.lower() for kind in CORNERED[2]), "compound")
ANGULAR = ("oriented_box", "compound")  # whose corners are rounded


class Style(NamedTuple):
    """How shapes are made."""

    name: str
    lattice: bool = False  # small whole numbers: touching, lying on one line, and coinciding are common
    size: float = 1.0
    away: float = 0.0  # from the origin
    flat: float = 1.0  # how thin, along a slanting line
    other: float = 1.0  # size of the second shape of a pair, relative to the first

    @property
    def tolerance(self) -> float:
        """What rounding may do to a distance."""
        return 1e-13 * (16 * self.size * max(self.other, 1) + self.away)


STYLES = (
    Style("lattice", lattice=True),
    Style("anywhere"),
    Style("needles", flat=1e-9),
    Style("far away", away=1e6),
    Style("tiny and huge", size=1e6, other=1e-12),
    Style("tiny", size=1e-6),
    Style("huge lattice", lattice=True, size=2.0**20),
)


class Simple(NamedTuple):
    """Simple shapes of any kinds: records for the core, and what they are."""

    kinds: np.ndarray  # (n,)
    records: list[np.ndarray]
    corners: list[np.ndarray]  # (k, 2) of each
    radii: np.ndarray  # (n,)

    @property
    def cores(self) -> np.ndarray:
        """Geometries for Shapely: convex hulls, which are points and lines where there is no area."""
        lengths = [len(corners) for corners in self.corners]
        return shapely.convex_hull(
            shapely.multipoints(shapely.points(np.concatenate(self.corners)), indices=at(lengths))
        )


class Cases(NamedTuple):
    """Shapes of one kind: in a store of the core, and as simple parts."""

    store: _native.ShapeStore
    parts: Simple
    owner: np.ndarray  # of each part: its shape, ascending


def at(lengths: list[int]) -> np.ndarray:
    return np.repeat(np.arange(len(lengths)), lengths)


def make(rng: np.random.Generator, kind: str, count: int, style: Style, scale: float = 1.0) -> Cases:
    """Make shapes of a kind."""
    number = ShapeKind[kind.upper()]
    is_compound = number == ShapeKind.COMPOUND
    many = rng.integers(1, 4, count) if is_compound else np.ones(count, dtype=int)
    owner = np.repeat(np.arange(count), many)
    kinds = rng.choice(CORNERED[2], len(owner)) if is_compound else np.full(count, number)
    parts = _simple(rng, kinds, style, scale)
    records = parts.records
    if is_compound:
        headed = [np.concatenate([[k, len(r)], r]) for k, r in zip(kinds, records, strict=True)]
        starts = np.searchsorted(owner, np.arange(count + 1))
        records = [np.concatenate(headed[i:j]) for i, j in pairwise(starts)]
    return Cases(stored(number, records), parts, owner)


def stored(kind: int, records: list[np.ndarray]) -> _native.ShapeStore:
    """Put records of a kind into a store, where they are."""
    count, rows = len(records), np.arange(len(records), dtype=np.int32)
    store = _native.ShapeStore(2, None)
    sizes = np.array([len(record) for record in records], dtype=np.int32)
    store.set(rows, np.full(count, kind, dtype=np.uint8), sizes, np.concatenate(records))
    store.place(rows, np.zeros((count, 2)), None, np.zeros((count, 2)), None, np.zeros((count, 2, 2)))
    return store


def _simple(rng: np.random.Generator, kinds: np.ndarray, style: Style, scale: float) -> Simple:
    unit = style.size * scale
    slant = np.array([[0.8, 0.6], [-0.6 * style.flat, 0.8 * style.flat]]) if style.flat != 1 else np.eye(2)

    def numbers(n: int) -> np.ndarray:
        return (rng.integers(0, 9, (n, 2)) if style.lattice else rng.uniform(0, 8, (n, 2))) * unit @ slant + style.away

    def length() -> float:
        return unit * (int(rng.integers(0, 3)) if style.lattice else float(rng.uniform(0, 2))) * style.flat

    records, corners, radii = [], [], np.zeros(len(kinds))
    for row, kind in enumerate(kinds):
        layout = RECORDS[ShapeKind(kind)]
        if layout.is_open:
            core = _polygon(rng, numbers)
            record = core.ravel()
        elif layout.has_halves:
            centre, half = numbers(1)[0], np.array([length(), length() / style.flat])
            u, v = np.eye(2)
            if layout.has_axes:
                angle = np.pi / 4 * rng.integers(0, 8) if style.lattice else rng.uniform(0, 7)
                u = np.array([np.cos(angle), np.sin(angle)])
                v = np.array([-u[1], u[0]])
            record = np.concatenate([centre, half, *([u, v] if layout.has_axes else [])])
            core = centre + [s * half[0] * u + t * half[1] * v for s in (-1, 1) for t in (-1, 1)]
        else:
            core = numbers(layout.points)
            radii[row] = length() if layout.lengths else 0.0
            record = np.append(core, radii[row : row + layout.lengths])
        records.append(record)
        corners.append(core)
    return Simple(kinds, records, corners, radii)


def _polygon(rng: np.random.Generator, numbers) -> np.ndarray:
    """Give the hull of some points; now and then a corner twice, or one in the middle of an edge, or no area."""
    hull = shapely.convex_hull(shapely.multipoints(numbers(int(rng.integers(3, 9)))))
    corners = shapely.get_coordinates(hull)
    if hull.geom_type == "Polygon":
        corners = corners[:-1] if shapely.is_ccw(hull.exterior) else corners[:0:-1]
    while len(corners) < 3 or rng.random() < 0.1:
        k = int(rng.integers(len(corners)))
        also = (corners[k] + corners[(k + 1) % len(corners)]) / 2 if rng.random() < 0.5 else corners[k]
        corners = np.insert(corners, k + 1, also, axis=0)
    return corners


class PartPairs(NamedTuple):
    """Every part of the first shape of each pair with every part of the second."""

    pair: np.ndarray  # which pair, ascending
    first: np.ndarray
    second: np.ndarray  # parts
    reach: np.ndarray  # sum of the radii
    differences: np.ndarray  # geometries: a point of the second less a point of the first, the radii left aside

    def least(self, values: np.ndarray) -> np.ndarray:
        """Give the least value of each pair."""
        return np.minimum.reduceat(values, np.searchsorted(self.pair, np.arange(self.pair[-1] + 1)))


def part_pairs(a: Cases, b: Cases) -> PartPairs:
    """Take pairs apart: shape k of one and shape k of the other."""
    count = a.owner[-1] + 1
    of_a, of_b = np.bincount(a.owner), np.bincount(b.owner)
    pair = np.repeat(np.arange(count), of_a * of_b)
    place = np.arange(len(pair)) - np.repeat(np.cumsum(of_a * of_b) - of_a * of_b, of_a * of_b)
    first = (np.cumsum(of_a) - of_a)[pair] + place // of_b[pair]
    second = (np.cumsum(of_b) - of_b)[pair] + place % of_b[pair]
    p, q = a.parts, b.parts
    all_differences = [
        (q.corners[j][None] - p.corners[i][:, None]).reshape(-1, 2) for i, j in zip(first, second, strict=True)
    ]
    hulls = shapely.convex_hull(
        shapely.multipoints(
            shapely.points(np.concatenate(all_differences)), indices=at([len(some) for some in all_differences])
        )
    )
    return PartPairs(pair, first, second, p.radii[first] + q.radii[second], hulls)


def part_distances(parts: PartPairs, places: np.ndarray) -> np.ndarray:
    """Give the signed distance of each two parts when the first is moved by its row of `places`."""
    points = shapely.points(places)
    outside = shapely.distance(points, parts.differences)
    area = (shapely.get_type_id(parts.differences) == shapely.GeometryType.POLYGON) & (outside == 0)
    inside = np.zeros(len(points))
    inside[area] = shapely.distance(points[area], shapely.boundary(parts.differences[area]))
    return outside - inside - parts.reach


def signed_distance(parts: PartPairs, places: np.ndarray) -> np.ndarray:
    """Give the signed distance of each pair when the first is moved by its row of `places`."""
    return parts.least(part_distances(parts, places[parts.pair]))
