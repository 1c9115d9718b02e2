"""What the tests of indexes share: every class, awkward scenes, questions that touch them, and the comparison."""

import zlib
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

import broadphase as bp
from broadphase.index.queries import QUERIES
from broadphase.methods import METHODS
from broadphase.testing import assert_same_pairs, oracle
from cases import lattice
from oracles import queries as query_oracle
from oracles.queries import assert_same_answers
from query_cases import AWKWARD

# Every class of index, and what the registry says of it.
CAPABILITIES = {row.index_class: row.capabilities for row in METHODS}
CAPABILITIES["Index"] = CAPABILITIES["BVH"]  # which it is, for all that it does not answer otherwise
CLASSES = tuple(CAPABILITIES)


# Scenes ------------------------------------------------------------------------------------------------------------


def identical(rng: np.random.Generator, n: int, dimension: int) -> np.ndarray:
    return np.repeat(lattice(rng, 1, dimension, "float64"), n, axis=0)


def points(rng: np.random.Generator, n: int, dimension: int) -> np.ndarray:
    return np.repeat(rng.integers(-3, 4, (n, 1, dimension)).astype(float), 2, axis=1)


def infinite(rng: np.random.Generator, n: int, dimension: int) -> np.ndarray:
    boxes = lattice(rng, n, dimension, "float64")
    boxes = np.where(
        rng.random(boxes.shape) < rng.choice([0.05, 0.4]), rng.choice([-np.inf, np.inf], boxes.shape), boxes
    )
    return np.sort(boxes, axis=1)


def nested(rng: np.random.Generator, n: int, dimension: int) -> np.ndarray:
    size = np.repeat(rng.permutation(n).astype(float)[:, None], dimension, axis=1)
    return np.stack([-size, size + rng.integers(0, 2, (n, dimension))], axis=1)


def giants(rng: np.random.Generator, n: int, dimension: int) -> np.ndarray:
    boxes = lattice(rng, n, dimension, "float64", 20)
    few = rng.random(n) < 0.2
    boxes[few] = np.sort(rng.integers(-40, 40, (int(few.sum()), 2, dimension)), axis=1)
    return boxes


def line(rng: np.random.Generator, n: int, dimension: int) -> np.ndarray:
    boxes = np.zeros((n, 2, dimension))
    axis = rng.integers(dimension)
    boxes[:, :, axis] = np.sort(rng.integers(0, max(n, 1), (n, 1)) + rng.integers(0, 3, (n, 2)), axis=1)
    return boxes


def scattered(rng: np.random.Generator, n: int, dimension: int) -> np.ndarray:
    lower = rng.random((n, dimension))
    return np.stack([lower, lower + rng.exponential(0.1, (n, dimension))], axis=1)


def clustered(rng: np.random.Generator, n: int, dimension: int) -> np.ndarray:
    lower = rng.normal(0, 1, (n, dimension)) * 10.0 ** rng.integers(-4, 3, (n, 1))
    return np.stack([lower, lower + np.abs(lower) * rng.random((n, dimension))], axis=1)


def octaves(rng: np.random.Generator, n: int, dimension: int) -> np.ndarray:
    """Boxes at distances of 2^-300 to 2^300, and a third of them more than floats can tell apart beside the others."""
    sizes = np.ldexp(1 + rng.random((n, 1)), rng.integers(-300, 300, (n, 1)))
    lower = rng.uniform(-1, 1, (n, dimension)) * sizes
    boxes = np.stack([lower, lower + sizes * rng.random((n, dimension))], axis=1)
    crowd = rng.random(n) < 0.3
    boxes[crowd] = 0.5 + scattered(rng, int(crowd.sum()), dimension) * 1e-9
    return boxes


def far_clusters(rng: np.random.Generator, n: int, dimension: int) -> np.ndarray:
    """Clusters of boxes, some of which only touch, too far apart for floats in one frame."""
    return lattice(rng, n, dimension, "float64") + rng.integers(0, 4, (n, 1, 1)) * 2.0**40


def shifted(by: float, rng: np.random.Generator, n: int, dimension: int) -> np.ndarray:
    return lattice(rng, n, dimension, "float64") + by


def scaled(exponent: int, rng: np.random.Generator, n: int, dimension: int) -> np.ndarray:
    return np.ldexp(lattice(rng, n, dimension, "float64"), exponent)


def generator(*parts: Any) -> np.random.Generator:
    """A generator for a test, seeded by words and numbers."""
    return np.random.default_rng([zlib.crc32(str(part).encode()) for part in parts])


def any_bits(rng: np.random.Generator, n: int, dimension: int) -> np.ndarray:
    """Corners of random bits, as float32 has them: every exponent, denormals, infinities."""
    bits = rng.integers(0, 2**32, (n, 2, dimension), np.uint64).astype(np.uint32).view(np.float32)
    return np.sort(np.where(np.isnan(bits), 0, bits).astype(np.float64), axis=1)


Scene = Callable[[np.random.Generator, int, int], np.ndarray]
SCENES: dict[str, Scene] = {
    "lattice": partial(shifted, 0.0),
    "identical": identical,
    "points": points,
    "infinite": infinite,
    "nested": nested,
    "giants": giants,
    "line": line,
    "scattered": scattered,
    "clustered": clustered,
    "octaves": octaves,
    "far_clusters": far_clusters,
    "any_bits": any_bits,
    "far": partial(shifted, 1e6),
    "very_far": partial(shifted, 1e15),
    "large": partial(scaled, 100),
    "small": partial(scaled, -100),
    "huge": partial(scaled, 1000),
    "tiny": partial(scaled, -1000),
}
FLOAT64_ONLY = ("octaves", "far_clusters", "very_far", "huge", "tiny")  # in float32 they are points or infinite


def scene(name: str, rng: np.random.Generator, n: int, dimension: int, dtype: str = "float64") -> np.ndarray:
    return SCENES[name](rng, n, dimension).astype(dtype)


# Questions ---------------------------------------------------------------------------------------------------------


class Asker:
    """Makes questions that touch a scene: of its own coordinates, and of what lies between and around them."""

    def __init__(self, rng: np.random.Generator, boxes: np.ndarray) -> None:
        self.rng = rng
        self.dimension = boxes.shape[2]
        corners = boxes.astype(np.float64).reshape(-1, self.dimension)
        self.pools = [np.unique(np.append(axis[np.isfinite(axis)][:400], 0.0)) for axis in corners.T]
        if all(len(pool) > 1 for pool in self.pools):
            self.pools = [pool[pool != 0] if rng.random() < 0.8 else pool for pool in self.pools]
        self.extent = max(float(np.ptp(pool)) for pool in self.pools) or 1.0

    def places(self, count: int) -> np.ndarray:
        """Points (count, d), finite."""
        rng = self.rng
        columns = []
        for pool in self.pools:
            one, other = rng.choice(pool, (2, count))
            between = one / 2 + other / 2
            off = one + rng.normal(0, 0.3, count) * self.extent
            columns.append(np.choose(rng.choice(4, count, p=[0.5, 0.2, 0.2, 0.1]), [one, between, off, off * 2 - one]))
        return np.nan_to_num(np.stack(columns, axis=1), posinf=0.0, neginf=0.0)

    def boxes(self, count: int, endless: float = 0.1) -> np.ndarray:
        """Boxes (count, 2, d), some without width, some without end, of either dtype."""
        rng = self.rng
        corners = np.stack([self.places(count), self.places(count)], axis=1)
        corners = np.where(rng.random((count, 1, 1)) < 0.2, corners[:, :1], corners)
        corners = np.where(
            rng.random(corners.shape) < endless / 4, rng.choice([-np.inf, np.inf], corners.shape), corners
        )
        with np.errstate(over="ignore", under="ignore"):
            return np.sort(corners, axis=1).astype(rng.choice(["float32", "float64"]))

    def lengths(self, count: int) -> np.ndarray:
        """Numbers (count,) from 0 on, of which many are exactly as far as something is."""
        gaps = np.abs(self.places(count) - self.places(count))[
            np.arange(count), self.rng.integers(0, self.dimension, count)
        ]
        return np.where(self.rng.random(count) < 0.15, 0.0, gaps)

    def motions(self, origins: np.ndarray) -> np.ndarray:
        """Vectors (count, d): along an axis, to some place, anywhere, or none; of any length."""
        rng = self.rng
        count = len(origins)
        motion = self.places(count) - origins
        along = np.eye(self.dimension)[rng.integers(0, self.dimension, count)]
        motion = np.where(rng.random((count, 1)) < 0.3, motion * along, motion)
        anywhere = rng.normal(size=motion.shape) * self.extent
        motion = np.where(rng.random((count, 1)) < 0.2, anywhere, motion)
        return np.where(rng.random((count, 1)) < 0.05, 0.0, motion)

    def turns(self, count: int) -> np.ndarray:
        rng, dimension = self.rng, self.dimension
        turns = np.linalg.qr(rng.normal(size=(count, dimension, dimension)))[0]
        return np.where(rng.random((count, 1, 1)) < 0.3, np.eye(dimension)[rng.permutation(dimension)], turns)

    def matrix(self) -> np.ndarray:
        """A view of a part of the scene."""
        rng, dimension = self.rng, self.dimension
        if dimension == 2:
            projection = np.eye(3)
            projection[:2, :2] = self.turns(1)[0] * rng.uniform(0.5, 4)
        elif rng.random() < 0.5:
            projection = bp.cameras.orthographic(*rng.normal(size=6)) @ bp.cameras.look_at(
                rng.normal(size=3), [0, 0, 0]
            )
        else:
            eye, far = rng.normal(0, 1, 3), rng.choice([2.0, np.inf])
            projection = bp.cameras.perspective(rng.uniform(0.3, 2), 1.2, 0.05, far) @ bp.cameras.look_at(
                eye, rng.normal(0, 0.3, 3)
            )
        exponent = int(np.frexp(self.extent)[1])
        matrix = projection.copy()
        middle = np.ldexp(self.places(1)[0], -exponent)
        matrix[:, -1] -= projection[:, :-1] @ middle
        matrix[:, :-1] = np.ldexp(matrix[:, :-1], -exponent)
        return matrix

    def planes(self) -> np.ndarray:
        normals = self.rng.normal(size=(int(self.rng.integers(1, 7)), self.dimension))
        through = self.places(len(normals))
        planes = np.column_stack([normals, -(normals * through).sum(axis=1)])
        return np.ldexp(planes, -np.frexp(np.abs(planes).max(axis=1, keepdims=True))[1])


ALL, FLAT_AND_SOLID = (1, 2, 3, 4), (2, 3)
NEEDED = {row.name: row.capability for row in QUERIES}


def question(name: str) -> tuple[str, tuple[int, ...], Callable[[Asker, int], tuple[Any, ...]], Callable[..., Any]]:
    """Capability, dimensions, what to ask with, and the oracle."""
    needed = NEEDED[name.removesuffix("_planes")]
    return needed, FLAT_AND_SOLID if needed == "convex" else ALL, AWKWARD[name], getattr(query_oracle, name)


QUESTIONS = {name: question(name) for name in AWKWARD}


def ask(index: Any, name: str, arguments: tuple[Any, ...], **options: Any) -> Any:
    if name == "frustum_planes":
        return index.frustum(planes=arguments[0], **options)
    return getattr(index, name)(*arguments, **options)


# A question with its answer: name in `QUESTIONS`, what to ask with, options, what the oracle says.
Asked = tuple[str, tuple[Any, ...], dict[str, Any], Any]


ANSWERED: dict[tuple[Any, ...], tuple[list[Asked], Any]] = {}
MOST_ANSWERED = 1000


def make_questions(
    rng: np.random.Generator,
    boxes: np.ndarray,
    *,
    count: int = 12,
    rows: np.ndarray | None = None,
    bits: tuple[Any, Any] | None = None,
) -> list[Asked]:
    """Make some of every kind of question that has an answer in the dimension of the boxes.

    `rows` are their numbers; `bits` their layers and masks, and then the questions have some too.

    Most tests do the same to every class: what the oracle has answered once, for the same boxes and the same state of
    the generator, is not computed again.
    """
    given = [boxes, rows, *(bits or (None, None))]
    key = (str(rng.bit_generator.state), count, *(None if one is None else (one.shape, one.tobytes()) for one in given))
    if key not in ANSWERED:
        made = answered_questions(rng, boxes, count, rows, bits)
        if len(ANSWERED) >= MOST_ANSWERED:
            ANSWERED.pop(next(iter(ANSWERED)))
        ANSWERED[key] = made, rng.bit_generator.state
    made, rng.bit_generator.state = ANSWERED[key]
    return made


def answered_questions(
    rng: np.random.Generator,
    boxes: np.ndarray,
    count: int,
    rows: np.ndarray | None,
    bits: tuple[Any, Any] | None,
) -> list[Asked]:
    """Make questions, and let the oracle answer them."""
    asker = Asker(rng, boxes)
    made = []
    for name, (_, dimensions, make, answer) in QUESTIONS.items():
        if boxes.shape[2] not in dimensions:
            continue
        arguments = make(asker, count)
        options: dict[str, Any] = {"workers": int(rng.integers(1, 4))}
        layers = None
        if bits is not None:
            number = 1 if name.startswith("frustum") else count
            options["layer"], options["mask"] = rng.integers(0, 8, (2, number)).astype(np.uint64)
            layers = (*bits, options["layer"], options["mask"])
        made.append((name, arguments, options, answer(boxes, *arguments, rows=rows, layers=layers)))
    return made


@cache
def questions_of_scene(kind: str, n: int, dimension: int, dtype: str) -> tuple[np.ndarray, list[Asked]]:
    """Make a scene and questions to it, the same for every class."""
    rng = generator(kind, n, dimension, dtype)
    boxes = scene(kind, rng, n, dimension, dtype)
    boxes.setflags(write=False)
    return boxes, make_questions(rng, boxes)


def questions_of(index: Any) -> list[str]:
    """Names in `QUESTIONS` of what an index can be asked."""
    capabilities = CAPABILITIES[type(index).__name__]
    return [name for name, (need, axes, *_) in QUESTIONS.items() if need in capabilities and index.dim in axes]


# Comparison --------------------------------------------------------------------------------------------------------


def check_questions(index: Any, questions: list[Asked], label: str) -> None:
    """Compare the answers to those questions that the index takes."""
    able = questions_of(index)
    for name, arguments, options, expected in questions:
        if name in able:
            assert_same_answers(ask(index, name, arguments, **options), expected, f"{label} {name}")


def check_with_the_oracle(index: Any, rng: np.random.Generator, label: str, *, count: int = 12) -> None:
    """Ask some of every kind of question about the boxes of an index as they are now."""
    check_questions(index, make_questions(rng, index.boxes_of(), count=count, rows=index.rows), label)


def check_pairs_of(index: Any, label: str, **options: Any) -> None:
    """Compare the pairs of an index with the oracle; filters are by row."""
    rows = index.rows
    living = {name: value if np.ndim(value) == 0 else value[rows] for name, value in options.items()}
    expected = rows[oracle.pairs(index.boxes_of(), **living)]
    assert_same_pairs(index.pairs(**options), expected, f"{label} pairs {sorted(options)}")
    assert index.count_pairs(**options) == len(expected), label


def random_filters(rng: np.random.Generator, slots: int) -> dict[str, Any]:
    """Options of `pairs`, by row."""
    options = {
        "touching": bool(rng.random() < 0.5),
        "margin": float(rng.choice([0.0, 0.5, 1.0])),
        "layer": rng.integers(0, 8, slots).astype(np.uint64),
        "mask": rng.integers(0, 8, slots).astype(np.uint64),
        "group": rng.integers(-2, 3, slots),
        "static": rng.random(slots) < 0.5,
    }
    return {name: value for name, value in options.items() if rng.random() < 0.5}
