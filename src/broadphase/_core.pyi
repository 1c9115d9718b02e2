from collections.abc import Sequence
import enum
from typing import Annotated

import numpy
from numpy.typing import NDArray


def simd_levels() -> list[str]:
    """
    SIMD levels that this build has and this processor runs, weakest first.
    """

def simd_level() -> str:
    """The SIMD level in use."""

def set_simd_level(name: str) -> None:
    """Use this SIMD level from now on."""

class InvalidBoxes(ValueError):
    pass

class TooManyPairs(RuntimeError):
    pass

class Method(enum.Enum):
    auto = 0

    brute_force = 1

    sweep_and_prune = 2

    grid = 3

    linear_tree = 4

    bvh = 5

class PairFilter:
    def __init__(self, layer: tuple[Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None], mask: tuple[Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None], group: tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None], static: tuple[Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)] | None], shared: tuple[Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None], ignored: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None) -> None: ...

class PairStream:
    def __init__(self, method: Method, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], other_lower: Annotated[NDArray, dict(device='cpu', writable=False)] | None, other_upper: Annotated[NDArray, dict(device='cpu', writable=False)] | None, touching: bool, margin: float, filter: object | None, workers: int) -> None: ...

    def next(self, wanted: int) -> object: ...

def pairs(method: Method, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], other_lower: Annotated[NDArray, dict(device='cpu', writable=False)] | None, other_upper: Annotated[NDArray, dict(device='cpu', writable=False)] | None, touching: bool, margin: float, filter: PairFilter | None, workers: int, sort: bool, limit: int) -> object: ...

def first_invalid(lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)]) -> int:
    """The first row with NaN or lower > upper; -1 if there is none."""

def keep_boxes(lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, corners: Annotated[NDArray, dict(shape=(None, None, None), order='C', device='cpu')]) -> None:
    """
    Copy boxes to rows of an array of shape (n, 2, d) and the same dtype; None: to the first ones.
    """

class BlockIndex:
    pass

class QueryFilter:
    def __init__(self, row_layer: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], row_mask: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], query_layer: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], query_mask: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

def query_boxes(index: BlockIndex, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], asked_lower: Annotated[NDArray, dict(device='cpu', writable=False)], asked_upper: Annotated[NDArray, dict(device='cpu', writable=False)], filter: QueryFilter | None, workers: int) -> object: ...

def query_balls(index: BlockIndex, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], centers: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], radii: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], filter: QueryFilter | None, workers: int) -> object: ...

def nearest(index: BlockIndex, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], points: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], wanted: int, farthest: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], filter: QueryFilter | None, workers: int) -> object: ...

def sweep_first(index: BlockIndex, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], from_lower: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], from_upper: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], motion: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], limit: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], is_ray: bool, filter: QueryFilter | None, workers: int) -> object: ...

def sweep_any(index: BlockIndex, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], from_lower: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], from_upper: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], motion: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], limit: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], is_ray: bool, filter: QueryFilter | None, workers: int) -> object: ...

def sweep_all(index: BlockIndex, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], from_lower: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], from_upper: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], motion: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], limit: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], is_ray: bool, filter: QueryFilter | None, workers: int) -> object: ...

def query_convex(index: BlockIndex, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], region_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], axes: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], least: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], most: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], around_lower: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], around_upper: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], filter: QueryFilter | None, workers: int) -> object: ...

class Bvh(BlockIndex):
    def __init__(self, dimension: int) -> None: ...

    def build(self, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], workers: int = 1) -> None: ...

    def insert(self, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], workers: int = 1) -> None: ...

    def update(self, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], workers: int = 1) -> None: ...

    def remove(self, rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def pairs(self, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], touching: bool, filter: PairFilter | None, workers: int, sort: bool, limit: int) -> object: ...

    def count(self, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], touching: bool, filter: PairFilter | None, workers: int) -> int: ...

    def stats(self) -> dict: ...

    def outline(self) -> tuple: ...

    def validate(self, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> str: ...

    @property
    def memory_bytes(self) -> int: ...

class SweepIndex:
    def __init__(self, dimension: int, along: str, axis: int, weights: Sequence[float]) -> None: ...

    def build(self, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def insert(self, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def update(self, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def remove(self, rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def arrange(self, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)]) -> None: ...

    def pairs(self, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], touching: bool, filter: PairFilter | None, workers: int, sort: bool, limit: int) -> object: ...

    def count(self, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], touching: bool, filter: PairFilter | None, workers: int) -> int: ...

    def query_rows(self, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], asked: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], workers: int) -> object: ...

    def query(self, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], asked_lower: Annotated[NDArray, dict(device='cpu', writable=False)], asked_upper: Annotated[NDArray, dict(device='cpu', writable=False)], workers: int) -> object: ...

    def void_borders(self, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)]) -> object: ...

    def direction(self) -> object: ...

    def stats(self) -> dict: ...

    def validate(self, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> str: ...

    @property
    def memory_bytes(self) -> int: ...

def report(lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], other_lower: Annotated[NDArray, dict(device='cpu', writable=False)] | None, other_upper: Annotated[NDArray, dict(device='cpu', writable=False)] | None) -> dict: ...

def count(method: Method, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], other_lower: Annotated[NDArray, dict(device='cpu', writable=False)] | None, other_upper: Annotated[NDArray, dict(device='cpu', writable=False)] | None, touching: bool, margin: float, filter: PairFilter | None, workers: int) -> int: ...
