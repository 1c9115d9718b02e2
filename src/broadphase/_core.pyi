from collections.abc import Callable, Sequence
import enum
from typing import Annotated, Any, overload

import numpy
import numpy.typing
from numpy.typing import NDArray


def set_leak_warnings(on: bool) -> None:
    """
    Say whether the interpreter's end lists the objects of this module that are left; for tests.
    """

def simd_levels() -> list[str]:
    """SIMD levels of this build that this processor supports, weakest first."""

def simd_level() -> str:
    """The SIMD level in use."""

def set_simd_level(name: str) -> None:
    """Select the SIMD level."""

def watch(watcher: object | None) -> object:
    """
    Call ``watcher(done, total)`` now and then while this thread searches; None: no longer. Returns the one before.
    """

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

    octree = 6

class AutoCosts:
    """What "auto" expects calls, boxes and pairs to cost: for `make tune`."""

    @property
    def brute_force_call(self) -> float: ...

    @brute_force_call.setter
    def brute_force_call(self, arg: float, /) -> None: ...

    @property
    def brute_force_box(self) -> float: ...

    @brute_force_box.setter
    def brute_force_box(self, arg: float, /) -> None: ...

    @property
    def pair_for_each_axis(self) -> float: ...

    @pair_for_each_axis.setter
    def pair_for_each_axis(self, arg: float, /) -> None: ...

    @property
    def interval_box(self) -> float: ...

    @interval_box.setter
    def interval_box(self, arg: float, /) -> None: ...

    @property
    def interval_box_of_doubles(self) -> float: ...

    @interval_box_of_doubles.setter
    def interval_box_of_doubles(self, arg: float, /) -> None: ...

    @property
    def sweep_call(self) -> float: ...

    @sweep_call.setter
    def sweep_call(self, arg: float, /) -> None: ...

    @property
    def sweep_box(self) -> float: ...

    @sweep_box.setter
    def sweep_box(self, arg: float, /) -> None: ...

    @property
    def sweep_box_for_each_axis(self) -> float: ...

    @sweep_box_for_each_axis.setter
    def sweep_box_for_each_axis(self, arg: float, /) -> None: ...

    @property
    def sweep_box_with_run(self) -> float: ...

    @sweep_box_with_run.setter
    def sweep_box_with_run(self, arg: float, /) -> None: ...

    @property
    def sweep_box_of_doubles(self) -> float: ...

    @sweep_box_of_doubles.setter
    def sweep_box_of_doubles(self, arg: float, /) -> None: ...

    @property
    def sweep_short_run(self) -> float: ...

    @sweep_short_run.setter
    def sweep_short_run(self, arg: float, /) -> None: ...

    @property
    def sweep_pair(self) -> float: ...

    @sweep_pair.setter
    def sweep_pair(self, arg: float, /) -> None: ...

    @property
    def sweep_rounded_run(self) -> float: ...

    @sweep_rounded_run.setter
    def sweep_rounded_run(self, arg: float, /) -> None: ...

    @property
    def sweep_blocks_run(self) -> float: ...

    @sweep_blocks_run.setter
    def sweep_blocks_run(self, arg: float, /) -> None: ...

    @property
    def sweep_blocks_met(self) -> float: ...

    @sweep_blocks_met.setter
    def sweep_blocks_met(self, arg: float, /) -> None: ...

    @property
    def grid_call(self) -> float: ...

    @grid_call.setter
    def grid_call(self, arg: float, /) -> None: ...

    @property
    def grid_quantiles(self) -> float: ...

    @grid_quantiles.setter
    def grid_quantiles(self, arg: float, /) -> None: ...

    @property
    def grid_filed_together(self) -> float: ...

    @grid_filed_together.setter
    def grid_filed_together(self, arg: float, /) -> None: ...

    @property
    def grid_filed_box(self) -> float: ...

    @grid_filed_box.setter
    def grid_filed_box(self, arg: float, /) -> None: ...

    @property
    def grid_blur_chance(self) -> float: ...

    @grid_blur_chance.setter
    def grid_blur_chance(self, arg: float, /) -> None: ...

    @property
    def grid_blur_ranked(self) -> float: ...

    @grid_blur_ranked.setter
    def grid_blur_ranked(self, arg: float, /) -> None: ...

    @property
    def few_box(self) -> float: ...

    @few_box.setter
    def few_box(self, arg: float, /) -> None: ...

    @property
    def few_row_for_each_axis(self) -> float: ...

    @few_row_for_each_axis.setter
    def few_row_for_each_axis(self, arg: float, /) -> None: ...

    @property
    def few_listed(self) -> float: ...

    @few_listed.setter
    def few_listed(self, arg: float, /) -> None: ...

    @property
    def few_test(self) -> float: ...

    @few_test.setter
    def few_test(self, arg: float, /) -> None: ...

    @property
    def few_wide_for_each_axis(self) -> float: ...

    @few_wide_for_each_axis.setter
    def few_wide_for_each_axis(self, arg: float, /) -> None: ...

    @property
    def bvh_call(self) -> float: ...

    @bvh_call.setter
    def bvh_call(self, arg: float, /) -> None: ...

    @property
    def bvh_box(self) -> float: ...

    @bvh_box.setter
    def bvh_box(self, arg: float, /) -> None: ...

    @property
    def bvh_box_of_nested_scales(self) -> float: ...

    @bvh_box_of_nested_scales.setter
    def bvh_box_of_nested_scales(self, arg: float, /) -> None: ...

    @property
    def bvh_pair(self) -> float: ...

    @bvh_pair.setter
    def bvh_pair(self, arg: float, /) -> None: ...

auto_costs: AutoCosts = ...

without_auto_costs: dict = ...

class PairFilter:
    def __init__(self, layer: tuple[Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None], mask: tuple[Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None], group: tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None], static: tuple[Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)] | None], shared: tuple[Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None], ignored: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, has_order: bool, batch: tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None]) -> None: ...

    def allows(self, first: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], second: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> object:
        """Whether each pair passes the filter."""

    few_shared: int = 6

class BatchedRows:
    def __init__(self, first: tuple[int, Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, int], second: tuple[int, Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, int] | None) -> None: ...

    @property
    def key_count(self) -> int: ...

class PlacedBoxes:
    @staticmethod
    def in_cell(lower: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], upper: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], period: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> PlacedBoxes: ...

    def others(self, lower: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], upper: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> PlacedBoxes: ...

    def placed(self) -> tuple: ...

    def keep(self, queries: PlacedBoxes, found: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], workers: int) -> object: ...

class PairStream:
    def __init__(self, method: Method, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], other_lower: Annotated[NDArray, dict(device='cpu', writable=False)] | None, other_upper: Annotated[NDArray, dict(device='cpu', writable=False)] | None, touching: bool, margin: float, filter: object | None, batches: object | None, workers: int, period: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None) -> None: ...

    def next(self, wanted: int) -> object: ...

def pairs(method: Method, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], other_lower: Annotated[NDArray, dict(device='cpu', writable=False)] | None, other_upper: Annotated[NDArray, dict(device='cpu', writable=False)] | None, touching: bool, margin: float, filter: PairFilter | None, batches: BatchedRows | None, workers: int, sort: bool, limit: int, period: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None) -> object: ...

def planned_rows(count: int) -> object:
    """The rows of one set that the first plan of a search is made by."""

def report(lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], other_lower: Annotated[NDArray, dict(device='cpu', writable=False)] | None, other_upper: Annotated[NDArray, dict(device='cpu', writable=False)] | None, batches: BatchedRows | None, period: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None) -> dict: ...

def count(method: Method, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], other_lower: Annotated[NDArray, dict(device='cpu', writable=False)] | None, other_upper: Annotated[NDArray, dict(device='cpu', writable=False)] | None, touching: bool, margin: float, filter: PairFilter | None, batches: BatchedRows | None, workers: int, period: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None) -> int: ...

def join(method: Method, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], query_lower: Annotated[NDArray, dict(device='cpu', writable=False)], query_upper: Annotated[NDArray, dict(device='cpu', writable=False)], workers: int) -> object: ...

class Hold:
    """
    What ``with guard.reading:`` and its like hold; for one ``with`` statement.
    """

    def __enter__(self) -> None: ...

    def __exit__(self, type: object | None, error: object | None, traceback: object | None) -> None: ...

class Guard:
    """Many readers or one writer of an index or a world; others are refused."""

    def __init__(self, name: str = 'index') -> None: ...

    @property
    def reading(self) -> Hold:
        """What a query runs in; RuntimeError while a change runs."""

    @property
    def changing(self) -> Hold:
        """
        What a change runs in; RuntimeError while a query or another change runs.
        """

    @property
    def is_changing(self) -> bool:
        """Whether a change runs."""

    @property
    def changes(self) -> int:
        """How many changes have begun."""

    @property
    def building(self) -> Hold:
        """
        What a query builds in: other threads wait, and the thread that builds is refused.
        """

def first_invalid(lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], workers: int = 1) -> int:
    """The first row with NaN or lower > upper; -1 if there is none."""

def check_rows(rows: Annotated[NDArray, dict(shape=(None,), device='cpu', writable=False)], alive: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)], slots: int) -> int:
    """
    The position of the first row that is not in use; -1 if all are and they ascend, -2 if they do not.
    """

def next_rows(alive: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)], generation: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], slots: int, first: int, last_generation: int, count: int) -> object:
    """
    The rows of new boxes: the free ones from `first` on, the lowest first, then new ones.
    """

def first_rows(count: int, workers: int) -> object:
    """The rows 0 to count - 1."""

def sample_rows(count: int, most: int) -> object:
    """
    Up to `most` of `count` rows, ascending: one of each of as many equal stretches, by a fixed hash.
    """

def regions_of_planes(planes: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], must_span: bool = False) -> object:
    """
    Regions between planes, (q, p, d + 1): offsets, axes, least, most, lower and upper corners around. Where their normals must span all directions, the number of the first region whose do not.
    """

def regions_of_boxes(centers: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], half_sizes: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], rotations: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> object:
    """
    The same of oriented boxes; rotations are angles, quaternions or matrices, a row each, or one for all.
    """

class Forest:
    """A tree for each key."""

    def __init__(self, dimension: int) -> None: ...

    def build(self, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], keys: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], workers: int) -> None:
        """Replace all trees by those of these rows; keys are by row."""

    def follow(self, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], alive: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)], keys: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], workers: int) -> None:
        """
        Let the trees follow what has become of these rows. After an exception, they must be built again.
        """

    @property
    def packed_count(self) -> int:
        """How many trees were packed so far."""

    @property
    def memory_bytes(self) -> int: ...

class BlockIndex:
    pass

class KeyedQueries(BlockIndex):
    def __init__(self, forest: object, keys: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

class QueryFilter:
    def __init__(self) -> None: ...

    def set_layers(self, row_layer: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], row_mask: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], query_layer: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], query_mask: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], version: int) -> None: ...

    def set_ignored(self, rows: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None: ...

    def set_sight(self, points: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], headings: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], angles: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], places: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], edges: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None) -> None: ...

    def set_sight_of_boxes(self, points: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], headings: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], angles: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)]) -> None: ...

def query_boxes(index: BlockIndex, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], query_lower: Annotated[NDArray, dict(device='cpu', writable=False)], query_upper: Annotated[NDArray, dict(device='cpu', writable=False)], filter: QueryFilter | None, workers: int, loosely: bool = False) -> object: ...

def query_balls(index: BlockIndex, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], centers: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], radii: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], filter: QueryFilter | None, workers: int) -> object: ...

def nearest(index: BlockIndex, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], points: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], wanted: int, farthest: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], filter: QueryFilter | None, workers: int) -> object: ...

def sweep_first(index: BlockIndex, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], from_lower: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], from_upper: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], motion: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], limit: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], is_ray: bool, filter: QueryFilter | None, workers: int) -> object: ...

def sweep_any(index: BlockIndex, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], from_lower: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], from_upper: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], motion: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], limit: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], is_ray: bool, filter: QueryFilter | None, workers: int) -> object: ...

def sweep_all(index: BlockIndex, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], from_lower: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], from_upper: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], motion: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], limit: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], is_ray: bool, filter: QueryFilter | None, workers: int) -> object: ...

def query_convex(index: BlockIndex, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], region_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], axes: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], least: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], most: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], around_lower: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], around_upper: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], filter: QueryFilter | None, workers: int) -> object: ...

class FewQueries:
    """
    A few queries of an index; NotImplemented where the general way must answer.
    """

    def __init__(self, guard: object, index: object, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], layer: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, mask: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, alive: Annotated[NDArray, dict(device='cpu', writable=False)], results: tuple, seconds: dict) -> None: ...

    def query(self, boxes: object | None, options: dict) -> object: ...

    def query_points(self, points: object | None, options: dict) -> object: ...

    def query_ball(self, centers: object | None, radii: object | None, options: dict) -> object: ...

    def query_obb(self, centers: object | None, half_sizes: object | None, rotations: object | None, options: dict) -> object: ...

    def frustum(self, matrix: object | None, planes: object | None, depth: object | None, options: dict) -> object: ...

    def nearest(self, points: object | None, k: object | None, max_distance: object | None, rows: object | None, exclude_self: object, options: dict) -> object: ...

    def raycast(self, origins: object | None, directions: object | None, max_distance: object | None, options: dict) -> object: ...

    def raycast_all(self, origins: object | None, directions: object | None, max_distance: object | None, options: dict) -> object: ...

    def raycast_any(self, origins: object | None, directions: object | None, max_distance: object | None, options: dict) -> object: ...

    def shapecast(self, boxes: object | None, motions: object | None, options: dict) -> object: ...

class FewBodies:
    """
    A few queries of a world; NotImplemented where the general way must answer.
    """

    def __init__(self, guard: object, columns: object, broad: object, tree: object, bounds: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, far: object | None, limits: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, actors: object, world: object, results: tuple, hit: object, shape: object) -> None: ...

    @property
    def is_current(self) -> bool: ...

    def follow(self, broad: object) -> bool:
        """
        Let the index follow bodies that have moved; false where more than that has changed.
        """

    def query(self, boxes: object | None, options: dict) -> object: ...

    def query_points(self, points: object | None, options: dict) -> object: ...

    def query_ball(self, centers: object | None, radii: object | None, options: dict) -> object: ...

    def query_obb(self, centers: object | None, half_sizes: object | None, rotations: object | None, options: dict) -> object: ...

    def query_shape(self, shape: object | None, positions: object | None, rotations: object | None, options: dict) -> object: ...

    def shapecast(self, shape: object | None, positions: object | None, motions: object | None, rotations: object | None, options: dict) -> object: ...

    def frustum(self, matrix: object | None, planes: object | None, depth: object, options: dict) -> object: ...

    def nearest(self, points: object | None, k: object | None, max_distance: object | None, rows: object | None, exclude_self: object | None, options: dict) -> object: ...

    def raycast(self, origins: object | None, directions: object | None, max_distance: object | None, options: dict) -> object: ...

    def raycast_all(self, origins: object | None, directions: object | None, max_distance: object | None, options: dict) -> object: ...

    def raycast_any(self, origins: object | None, directions: object | None, max_distance: object | None, options: dict) -> object: ...

class BruteForceIndex(BlockIndex):
    def __init__(self, dimension: int) -> None: ...

    def build(self, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def insert(self, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def update(self, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def remove(self, rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def stats(self) -> dict: ...

    def validate(self, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> str: ...

    @property
    def memory_bytes(self) -> int: ...

    def pairs(self, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], touching: bool, filter: PairFilter | None, workers: int, sort: bool, limit: int) -> object: ...

    def count(self, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], touching: bool, filter: PairFilter | None, workers: int) -> int: ...

class SweepIndex:
    def __init__(self, dimension: int, along: str, axis: int, weights: Sequence[float], workers: int) -> None: ...

    def build(self, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def insert(self, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def update(self, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def remove(self, rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def arrange(self, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)]) -> None: ...

    def pairs(self, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], touching: bool, filter: PairFilter | None, workers: int, sort: bool, limit: int) -> object: ...

    def count(self, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], touching: bool, filter: PairFilter | None, workers: int) -> int: ...

    def query_rows(self, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], queries: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], workers: int) -> object: ...

    def query(self, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], query_lower: Annotated[NDArray, dict(device='cpu', writable=False)], query_upper: Annotated[NDArray, dict(device='cpu', writable=False)], workers: int) -> object: ...

    def void_borders(self, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)]) -> object: ...

    def direction(self) -> object: ...

    def stats(self) -> dict: ...

    def outline(self) -> tuple: ...

    def validate(self, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> str: ...

    @property
    def memory_bytes(self) -> int: ...

class BoxCells:
    def __init__(self, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], workers: int) -> None: ...

    def find(self, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], query_lower: Annotated[NDArray, dict(device='cpu', writable=False)], query_upper: Annotated[NDArray, dict(device='cpu', writable=False)], workers: int) -> object: ...

    @property
    def memory_bytes(self) -> int: ...

def boxes_of_query(lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], query_lower: Annotated[NDArray, dict(device='cpu', writable=False)], query_upper: Annotated[NDArray, dict(device='cpu', writable=False)]) -> float: ...

def describe_grid(lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], closely: bool) -> dict: ...

class LinearTree(BlockIndex):
    def __init__(self, dimension: int, flat: bool, covered: bool, depth: int, most_depth: int, low: Sequence[float], high: Sequence[float], workers: int) -> None: ...

    def build(self, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def insert(self, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def update(self, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def remove(self, rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def stats(self) -> dict: ...

    def validate(self, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> str: ...

    @property
    def memory_bytes(self) -> int: ...

    def pairs(self, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], touching: bool, filter: PairFilter | None, workers: int, sort: bool, limit: int) -> object: ...

    def count(self, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], touching: bool, filter: PairFilter | None, workers: int) -> int: ...

    @property
    def is_settled(self) -> bool:
        """Whether it may be asked for anything but queries."""

    def cells_of(self, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)]) -> tuple: ...

    def outline(self) -> tuple: ...

    @property
    def depth(self) -> int: ...

    @property
    def leaf_share(self) -> float: ...

    @property
    def bounds(self) -> tuple: ...

def morton_number(cell: Sequence[int]) -> int: ...

def morton_cell(number: int, dimension: int) -> list[int]: ...

def levels_to_common(a: int, b: int, dimension: int) -> int: ...

def level_start(level: int, dimension: int) -> int: ...

class BvhQuality(enum.Enum):
    fast = 0

    balanced = 1

    sah = 2

class Bvh(BlockIndex):
    def __init__(self, dimension: int, quality: BvhQuality = BvhQuality.balanced) -> None: ...

    def build(self, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], workers: int = 1) -> None: ...

    def insert(self, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], workers: int = 1) -> None: ...

    def update(self, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], workers: int = 1) -> None: ...

    def remove(self, rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def stats(self) -> dict: ...

    def validate(self, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> str: ...

    @property
    def memory_bytes(self) -> int: ...

    def pairs(self, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], touching: bool, filter: PairFilter | None, workers: int, sort: bool, limit: int) -> object: ...

    def count(self, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], touching: bool, filter: PairFilter | None, workers: int) -> int: ...

    def optimize(self) -> int: ...

    def changes(self, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], touching: bool, workers: int, reports: list) -> None: ...

    def outline(self) -> tuple: ...

class Octree(BlockIndex):
    def __init__(self, dimension: int, minimum: float, looseness: float, leaf_capacity: int, world_lower: Sequence[float], world_upper: Sequence[float]) -> None: ...

    def build(self, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def insert(self, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def update(self, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def remove(self, rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def stats(self) -> dict: ...

    def validate(self, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> str: ...

    @property
    def memory_bytes(self) -> int: ...

    def pairs(self, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], touching: bool, filter: PairFilter | None, workers: int, sort: bool, limit: int) -> object: ...

    def count(self, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], touching: bool, filter: PairFilter | None, workers: int) -> int: ...

    def settle(self, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], workers: int) -> None: ...

    def pack(self, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)]) -> None: ...

    def pack_for_pairs(self, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)]) -> None: ...

    def world(self) -> tuple: ...

    def outline(self) -> tuple: ...

    def cells_of(self, rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> object: ...

    @property
    def pending(self) -> int: ...

    @property
    def is_settled(self) -> bool: ...

    @property
    def needs_build(self) -> bool: ...

    @property
    def needs_packing(self) -> bool: ...

    @property
    def is_crowded(self) -> bool: ...

def keep_allowed(rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], filter: QueryFilter, workers: int) -> object: ...

def keep_near(rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], centers: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], radii: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], filter: QueryFilter | None, workers: int) -> object: ...

def keep_convex(rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], region_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], axes: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], least: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], most: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], around_lower: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], around_upper: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], filter: QueryFilter | None, workers: int) -> object: ...

class Vertices:
    """Vertices of a hull or a mesh, (k, 3), for its box in any rotation."""

    def __init__(self, vertices: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None: ...

    @property
    def memory_bytes(self) -> int: ...

class VerticesByNumber:
    """Vertices by the numbers that records have for geometries."""

    def __init__(self) -> None: ...

    def put(self, number: int, vertices: object | None) -> None: ...

class ShapeStore:
    def __init__(self, dimension: int, vertices: VerticesByNumber | None) -> None: ...

    @property
    def dimension(self) -> int: ...

    def set(self, rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], kinds: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], sizes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], numbers: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def set_boxes(self, boxes: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)]) -> None: ...

    def extend(self, count: int) -> None: ...

    def clear(self, rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def placed(self, row: int) -> object: ...

    def records(self, rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> object: ...

    def place(self, rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], positions: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], rotations: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, seen_positions: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], seen_rotations: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')] | None, boxes: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None: ...

    @property
    def memory_bytes(self) -> int: ...

def shape_overlaps(a: ShapeStore, b: ShapeStore, first: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], second: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, boxes_a: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None = None, boxes_b: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None = None) -> object: ...

def shape_touching(shapes: ShapeStore, first: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], second: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], boxes: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, workers: int) -> object: ...

def shape_distances(a: ShapeStore, b: ShapeStore, first: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], second: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None) -> object: ...

def shape_contacts(a: ShapeStore, b: ShapeStore, first: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], second: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None) -> object: ...

def shape_impacts(a: ShapeStore, b: ShapeStore, first: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], second: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], motions: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None) -> object: ...

def shape_turning_impacts(a: ShapeStore, b: ShapeStore, first: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], second: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], motions: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], targets: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)]) -> object: ...

def overlap_of_two(a: ShapeStore, boxes_a: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], b: ShapeStore, boxes_b: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)]) -> object: ...

def geometry_overlap_of_two(a: ShapeStore, geometries_a: KeptGeometries, b: ShapeStore, geometries_b: KeptGeometries) -> object: ...

def distance_of_two(a: ShapeStore, geometries_a: KeptGeometries, b: ShapeStore, geometries_b: KeptGeometries, within: float) -> object: ...

def shape_rays(shapes: ShapeStore, rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], origins: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], directions: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)]) -> object: ...

def first_outside(numbers: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], least: float, most: float) -> int: ...

def rotation_matrices(dimension: int, rotations: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)]) -> object: ...

def moved_records(kind: int, dimension: int, records: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], shifts: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, matrices: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None) -> object: ...

def geometry(vertices: object, faces: object | None) -> object: ...

def surely_have_inside(points: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> bool: ...

class MeshTree:
    @property
    def memory_bytes(self) -> int: ...

class MeshSolid:
    @property
    def is_closed(self) -> bool: ...

    @property
    def memory_bytes(self) -> int: ...

class Polytope:
    def __init__(self, points: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None: ...

    @property
    def memory_bytes(self) -> int: ...

class HeightField:
    def __init__(self, heights: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], dx: float, dy: float, bottom: float) -> None: ...

    @property
    def memory_bytes(self) -> int: ...

class CloudTree:
    def __init__(self, points: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], radius: float) -> None: ...

    @property
    def memory_bytes(self) -> int: ...

class KeptGeometries:
    """What the core keeps of hulls and meshes by number, looked up once."""

    def __init__(self, prepared: list) -> None: ...

def mesh_trees(meshes: list, workers: int) -> list: ...

def mesh_solids(trees: list, workers: int) -> list: ...

def geometry_overlaps(a: ShapeStore, geometries_a: list, b: ShapeStore, geometries_b: list, first: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], second: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None) -> object: ...

def geometry_faces(a: ShapeStore, geometries_a: list, b: ShapeStore, geometries_b: list, first: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], second: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], most: int) -> object: ...

def geometry_distances(a: ShapeStore, geometries_a: list, b: ShapeStore, geometries_b: list, first: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], second: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, within: float, workers: int) -> object: ...

def mesh_clearances(a: ShapeStore, geometries_a: list, solids_a: list, b: ShapeStore, geometries_b: list, solids_b: list, first: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], second: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], within: float, workers: int) -> object: ...

def solid_distances(a: ShapeStore, geometries_a: list, solids_a: list, b: ShapeStore, geometries_b: list, solids_b: list, first: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], second: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], within: float, workers: int) -> object: ...

def mesh_depths(a: ShapeStore, geometries_a: list, solids_a: list, b: ShapeStore, geometries_b: list, solids_b: list, first: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], second: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], workers: int) -> object: ...

def mesh_duplicates(a: ShapeStore, given_a: list, boxes_a: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], b: ShapeStore, given_b: list, boxes_b: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], first: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], second: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], tolerance: float) -> object: ...

def geometry_contacts(a: ShapeStore, geometries_a: list, b: ShapeStore, geometries_b: list, first: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], second: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None) -> object: ...

def geometry_impacts(a: ShapeStore, geometries_a: list, b: ShapeStore, geometries_b: list, first: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], second: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], motions: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None) -> object: ...

def geometry_turning_impacts(a: ShapeStore, geometries_a: list, b: ShapeStore, geometries_b: list, first: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], second: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], motions: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], targets: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)]) -> object: ...

def geometry_rays(shapes: ShapeStore, geometries: list, rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], origins: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], directions: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], workers: int) -> object: ...

def ray_crossings(shapes: ShapeStore, geometries: list, rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], origins: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], directions: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], given: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], limits: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], workers: int) -> object: ...

def triangle_pairs(vertices: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], faces: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], other_vertices: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], other_faces: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], first: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], second: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], touching: bool, workers: int) -> object: ...

class SceneMesh:
    """
    A surface of triangles; or a convex solid, and the same a little smaller.
    """

    @overload
    def __init__(self, surface: object, bounds: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None: ...

    @overload
    def __init__(self, solid: object, bounds: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], smaller: object, bounds_of_smaller: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None: ...

class MeshScene:
    """Hulls and meshes that move; pairs of those that have not are kept."""

    def __init__(self) -> None: ...

    def put(self, slot: int, shape: object, transform: object | None) -> bool:
        """
        Put a shape into a slot; False, and nothing has changed, if the matrix is not a rotation.
        """

    def remove(self, slot: int) -> None: ...

    @property
    def version(self) -> int: ...

    @property
    def tested(self) -> int:
        """How many pairs of its own have been tested so far."""

    def any_hit(self) -> bool: ...

    def all_hits(self) -> object:
        """Pairs of slots that collide, (m, 2), the lower one first."""

    def hits_with(self, other: MeshScene, all: bool) -> list:
        """Pairs that collide: all, or one if there is any."""

    def nearest(self, of: int) -> tuple:
        """
        (distance, slot, slot, face, face) of the nearest two, or with the one of a slot unless that is -1.
        """

    def nearest_to(self, other: MeshScene) -> tuple: ...

    def witness(self, other: MeshScene, nearest: tuple[float, int, int, int, int]) -> tuple: ...

    def contacts(self, other: MeshScene, pairs: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], most: int) -> tuple: ...

    def frames(self, slots: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> object: ...

class Obstacles:
    def __init__(self, shapes: ShapeStore, rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], geometries: list) -> None: ...

    @property
    def memory_bytes(self) -> int: ...

class Articulated:
    def __init__(self, parents: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], joints: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], axes: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], positions: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], rotations: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], scales: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], part_links: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], part_kinds: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], part_sizes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], numbers: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], geometries: list, vertices: VerticesByNumber, meet_obstacles: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], pairs: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None: ...

    def poses(self, values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> object: ...

    def collides(self, values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], obstacles: Obstacles | None, padding: float, workers: int) -> object: ...

    def clearance(self, values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], obstacles: Obstacles | None, within: float, workers: int) -> object: ...

    def edges_collide(self, begin: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], end: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], obstacles: Obstacles | None, padding: float, tolerance: float, workers: int) -> object: ...

    def first_contact(self, begin: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], end: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], obstacles: Obstacles | None, padding: float, tolerance: float, workers: int) -> object: ...

def fill(seen: ShapeStore, spare: ShapeStore, rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], kinds: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], sizes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], numbers: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], types: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], places: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], speeds: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, turns: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, spins: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, positions: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], velocities: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], rotations: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')] | None, angular_velocities: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')] | None, seen_positions: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], seen_rotations: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')] | None, boxes: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], body_types: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')], stale: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """Write to rows that are not in use what bodies begin with."""

def sticking_out(boxes: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], bounds: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], moves: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> object:
    """Rows of boxes that are not wholly within the bounds."""

def bounce(positions: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], velocities: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], boxes: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], bounds: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> object:
    """
    Reflect rows into the bounds in place, and their velocities; which of the rows have changed.
    """

def wrap(positions: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], bounds: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], moves: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> object:
    """
    Move rows into the half-open bounds in place, by multiples of their size; which are others now.
    """

def near_and_far(shapes: ShapeStore, moved: ShapeStore, boxes: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], positions: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], rotations: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, bounds: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], alive: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> object:
    """
    A box around the bodies near a periodic world; None, or what is far away, at its images there.
    """

def points_near(points: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], bounds: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> object:
    """Move points to a periodic world by whole periods."""

def boxes_as_shapes(corners: object, bounds: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, bodies: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], alive: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> object:
    """
    Move boxes to a periodic world, or cut them off beyond all bodies where they are larger than shapes.
    """

def radius_of_everything(bounds: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> float:
    """
    From which radius on a ball, with its images, leaves out no place of a periodic world.
    """

def left_boxes(boxes: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], kept: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], behind: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], alive: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)], slots: int) -> object:
    """Rows that are behind and whose boxes are not within those kept."""

def enlarged_boxes(boxes: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, share: float, length: float) -> object:
    """
    Boxes of some rows, or of all, larger on both sides by a share of their extents and by a length.
    """

def periodic_pairs(boxes: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], bounds: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], counts: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], changed: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, filter: PairFilter | None, keys: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, any_width: bool, workers: int) -> object:
    """
    Pairs of which one overlaps another image of the other; the first row that is too wide, or -1.
    """

class StepLimits:
    """When a step does what: for tests."""

    @property
    def few(self) -> float: ...

    @few.setter
    def few(self, arg: float, /) -> None: ...

    @property
    def steps_before_a_tree(self) -> int: ...

    @steps_before_a_tree.setter
    def steps_before_a_tree(self, arg: int, /) -> None: ...

    @property
    def rows_for_a_tree(self) -> int: ...

    @rows_for_a_tree.setter
    def rows_for_a_tree(self, arg: int, /) -> None: ...

    @property
    def rows_for_near_pairs(self) -> int: ...

    @rows_for_near_pairs.setter
    def rows_for_near_pairs(self, arg: int, /) -> None: ...

    @property
    def steady(self) -> float: ...

    @steady.setter
    def steady(self, arg: float, /) -> None: ...

    @property
    def followed(self) -> float: ...

    @followed.setter
    def followed(self, arg: float, /) -> None: ...

step_limits: StepLimits = ...

class StepFound:
    """What a step found; arrays are made when they are looked at."""

    @property
    def number(self) -> int: ...

    @property
    def time(self) -> float: ...

    @property
    def touching(self, /) -> numpy.typing.NDArray[numpy.int32]: ...

    @property
    def enter(self, /) -> numpy.typing.NDArray[numpy.int32]: ...

    @property
    def exit(self, /) -> numpy.typing.NDArray[numpy.int32]: ...

    @property
    def left(self, /) -> numpy.typing.NDArray[numpy.int32]: ...

    @property
    def is_dropped(self) -> bool: ...

    @property
    def enter_at(self, /) -> numpy.typing.NDArray[numpy.int64]: ...

    @property
    def exit_handles(self, /) -> numpy.typing.NDArray[numpy.int64]: ...

    @property
    def removed_handles(self, /) -> numpy.typing.NDArray[numpy.int64]: ...

    @property
    def impacts(self, /) -> tuple[Any, Any, Any]: ...

    @property
    def stats(self, /) -> dict[str, Any]: ...

class StepSearch:
    """How the steps of a world find pairs."""

    def __init__(self, name: object, method: Method, keeps_nothing: bool, workers: int, limits: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, refuses_outside: bool = False) -> None: ...

class World:
    """The steps of a world, whose columns it borrows."""

    def __init__(self, columns: object, rows: object, dimension: int, bounds: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, boundary: int, closed: bool) -> None: ...

    def step(self, dt: float, drops: bool | None, are_all_in_core: bool, search: StepSearch, behind: Any, answers: Any) -> StepFound:
        """Do a step: all of it, or nothing."""

    def look(self, behind: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')] | None, answers: object) -> None:
        """Place the shapes of all rows where the rows are."""

    def add_body(self, kind: object, record: object, position: object, velocity: object | None, rotation: object | None, angular_velocity: object | None, type: int, boundary: int, layer: int, mask: int, rare: tuple, actor: object, world: object, data: object | None, hooks: int, is_held: bool, actors: object, index: object | None, settle: object, view: object | None) -> bool:
        """
        Take one row into use; false, and nothing has changed, for what is not usual.
        """

    def remove_body(self, row: int, then: object | None, actors: object, index: object | None) -> bool:
        """
        Take one row out of use; false, and nothing has changed, for what is not usual.
        """

    def let_go(self) -> None:
        """Let go of arrays that longer ones have replaced."""

    def set_touching(self, pairs: object, rows: int) -> None: ...

    def forget_near(self) -> None: ...

    @property
    def touching(self, /) -> numpy.typing.NDArray[numpy.int32]: ...

    @property
    def waiting(self, /) -> tuple[Any, Any, Any]: ...

    @waiting.setter
    def waiting(self, arg: tuple[Any, Any, Any], /) -> None: ...

    @property
    def quiet_steps(self) -> int: ...

    @quiet_steps.setter
    def quiet_steps(self, arg: int, /) -> None: ...

    @property
    def memory_bytes(self) -> int: ...

    @property
    def number(self) -> int: ...

    @number.setter
    def number(self, arg: int, /) -> None: ...

    @property
    def time(self) -> float: ...

    @time.setter
    def time(self, arg: float, /) -> None: ...

    @property
    def found(self, /) -> StepFound | None: ...

class BodiesInTree:
    """The bodies of a world as one call of a query reads them."""

    def __init__(self, tree: object | None, shapes: object, boxes: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], geometries: object, filter: object | None, limits: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, version: int) -> None: ...

def body_first_hits(bodies: BodiesInTree, origins: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], directions: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], limits: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], workers: int) -> object: ...

def body_any_hits(bodies: BodiesInTree, origins: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], directions: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], limits: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], workers: int) -> object: ...

def body_all_hits(bodies: BodiesInTree, origins: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], directions: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], limits: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], workers: int) -> object: ...

def body_nearest(parts: list, bounds: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, points: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], wanted: int, limits: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], workers: int) -> object: ...

class QueryImages:
    """The images of queries in a periodic world."""

    @property
    def begins(self) -> object: ...

    @property
    def shifts(self) -> object: ...

    @property
    def boxes(self) -> object: ...

class Sought:
    """What queries of a world look for."""

    @staticmethod
    def of_boxes(corners: object) -> Sought: ...

    @staticmethod
    def of_points(places: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> Sought: ...

    @staticmethod
    def of_balls(centers: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], radii: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Sought: ...

    @staticmethod
    def of_shapes(store: object, boxes: object, geometries: object) -> Sought: ...

    @property
    def count(self) -> int: ...

    @property
    def boxes(self) -> object: ...

    def images(self, around: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], bounds: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], bodies: int, is_everywhere: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, few: float, worth_halving: float) -> object: ...

def body_overlaps(bodies: BodiesInTree, sought: Sought, images: QueryImages | None, found: object | None, by_their_boxes: bool, workers: int) -> object: ...

def body_regions(bodies: BodiesInTree, region_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], axes: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], least: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], most: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], around_lower: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], around_upper: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], found: object | None, workers: int) -> object: ...

def body_impacts(bodies: BodiesInTree, sought: Sought, motions: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], found: object | None, workers: int) -> object: ...

class CoherentPairs:
    """Pairs of boxes that move a little from one search to the next."""

    def __init__(self) -> None: ...

    def pairs(self, method: Method, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], living: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, touching: bool, filter: PairFilter | None, workers: int, sort: bool, limit: int) -> object:
        """Pairs, if near ones serve; None: search, and note how many there are."""

    def note(self, count: int) -> None: ...

    @property
    def uses(self) -> int: ...

    @property
    def tests(self) -> int:
        """Near pairs, each of which a search tests."""

    @property
    def memory_bytes(self) -> int: ...

def test_queue(dimension: int, first: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], second: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], is_tight: bool, waiting_first: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], waiting_second: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], waiting_since: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], waiting_dropped: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], boxes: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], changed: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], renewed: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], rows: int, ranks: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, bits: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, number: int, is_sorted: bool) -> object:
    """
    Pairs in lexicographic order, since when each waits, which are idle, the order of their tests, and where each priority ends.
    """

def test_weights(shapes: ShapeStore, alive: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> object:
    """How long tests with each row take, roughly; 0: no time."""

def parted_pairs(first: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], second: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], flags: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> object:
    """Pairs without a flagged row; pairs with one."""

def shape_touching_in_time(shapes: ShapeStore, first: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], second: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], order: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], seconds: float, workers: int) -> object:
    """
    Test pairs until the time is up: how many were tested, and those that overlap.
    """

def left_pairs(first: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], second: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], since: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], is_idle: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], is_tested: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], last_first: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], last_second: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], renewed: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], rows: int, is_sorted: bool) -> object:
    """
    What was not tested, since when, and what of it touched after the last step.
    """

def commit(arrays: list, dictionaries: list, items: list = [], shapes: list = [], workers: int = 1) -> None:
    """
    Write (to, from) or (to, from, rows), where `from` is an array, a flag, None for zeros, an int64 for all, or lower and upper corners, without rows those of the first ones; then update (to, from) dictionaries, items and shapes: all of it, or nothing.
    """

def write_row(array: object, row: int, numbers: object, columns: dict | None = None, displaced: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')] | None = None) -> bool:
    """
    Write a few finite numbers to a row; false, and nothing is written, where they are something else.
    """

def deliver(queue: object, function: object, argument: object) -> object:
    """
    Take the first entry from a deque and call a function, with no signal in between.
    """

class RatioTo(enum.Enum):
    union = 0

    smaller = 1

    union_less_distance = 2

class Decay(enum.Enum):
    linear = 0

    gaussian = 1

def overlap_ratios(boxes: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], others: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], first: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], second: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], measure: RatioTo) -> object: ...

def few_overlap(boxes: Annotated[NDArray, dict(shape=(None, 2, None), order='C', device='cpu', writable=False)], few: float) -> bool: ...

def nms(boxes: Annotated[NDArray, dict(shape=(None, 2, None), order='C', device='cpu', writable=False)], scores: Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)], keys: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, pairs: Annotated[NDArray[numpy.int32], dict(shape=(None, 2), device='cpu', writable=False)] | None, threshold: float, measure: RatioTo, workers: int) -> object:
    """
    Of contiguous boxes, float32 or float64, and scores, which may be uint64 too.
    """

def soft_nms(boxes: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], scores: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], keys: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, pairs: Annotated[NDArray[numpy.int32], dict(shape=(None, 2), device='cpu', writable=False)] | None, decay: Decay, parameter: float, least: float, workers: int) -> object: ...

class RotatedBoxes:
    def __init__(self, numbers: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], is_in_degrees: bool) -> None: ...

    def enclosing(self) -> object: ...

    def ratios(self, others: RotatedBoxes, first: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], second: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], measure: RatioTo) -> object: ...

    def meet(self, others: RotatedBoxes, first: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], second: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], touching: bool) -> object: ...

    def nms(self, scores: Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)], keys: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, pairs: Annotated[NDArray[numpy.int32], dict(shape=(None, 2), device='cpu', writable=False)] | None, threshold: float, measure: RatioTo, workers: int) -> object: ...

    def soft_nms(self, scores: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], keys: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, pairs: Annotated[NDArray[numpy.int32], dict(shape=(None, 2), device='cpu', writable=False)] | None, decay: Decay, parameter: float, least: float, workers: int) -> object: ...

@overload
def padded_values(values: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], width: int, fill: int) -> object: ...

@overload
def padded_values(values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], width: int, fill: float) -> object:
    """The first so many values of each query, filled up behind the last."""

def padded_groups(group_of: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], count: int, width: int) -> tuple:
    """
    The first so many members of each group, -1 behind the last, and how many there are.
    """

def united_answers(rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], more_rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], more_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], owners: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple:
    """
    The answers of queries and of more queries, each of which has an owner among the first; each row once.
    """

def least_of_each(rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], queries: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], limits: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], wanted: int) -> tuple:
    """
    The least values of each query within its limit, and their rows; each row once.
    """

class Tiling:
    def __init__(self, at: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], axis: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], leaves: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], dimension: int) -> None: ...

    @property
    def tiles(self) -> int: ...

    def assign(self, lower: Annotated[NDArray, dict(device='cpu', writable=False)], upper: Annotated[NDArray, dict(device='cpu', writable=False)], most: int) -> object: ...

def interval_pairs(first: tuple[Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None], second: tuple[Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None] | None, key_count: int, touching: bool, filter: PairFilter | None, workers: int, sort: bool, limit: int) -> object: ...

def count_intervals(first: tuple[Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None], second: tuple[Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None] | None, key_count: int, touching: bool, filter: PairFilter | None, workers: int) -> int: ...

def count_each_interval(first: tuple[Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None], second: tuple[Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None], key_count: int, touching: bool) -> object:
    """How many of the second each of the first is in a pair with."""

def nearest_intervals(first: tuple[Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None], second: tuple[Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None], key_count: int, before: bool, behind: bool) -> tuple:
    """
    The nearest of the second to each of the first, -1 for none, and the gap between them.
    """

def near_intervals(first: tuple[Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None], second: tuple[Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None], key_count: int, before: bool, behind: bool, k: int, ties: bool, farthest: float, whole_farthest: int, limit: int) -> tuple:
    """
    The k nearest of the second to each of the first: offsets, rows and gaps.
    """

def merged_intervals(columns: tuple[Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None], key_count: int, gap: object | None, workers: int) -> tuple:
    """
    The intervals that clusters cover, the first row of each, and how many rows there are.
    """

def number_clusters(columns: tuple[Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None], key_count: int, gap: object | None, workers: int) -> object: ...

def covered_lengths(first: tuple[Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None], second: tuple[Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None], key_count: int, workers: int) -> object: ...

def pieces_of_intervals(first: tuple[Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None], second: tuple[Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray, dict(device='cpu', writable=False)], Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None], key_count: int, cuts: bool, workers: int) -> tuple:
    """What the second set leaves of the first, and the row of each piece."""

def number_names(capsules: list, titles: list) -> object:
    """
    Number the names in Arrow streams: an array each, and how many there are; None for other data. ValueError names by its title the stream whose data is damaged.
    """

def rows_of_column(column: Annotated[NDArray, dict(shape=(None,), device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], workers: int) -> object:
    """Copy rows of an array of unsigned numbers, in this order."""

class GeosFunctions:
    """What is called of the GEOS that shapely has loaded."""

    def __init__(self, find: Callable) -> None: ...

def are_geometries(geos: GeosFunctions, objects: object) -> bool:
    """Whether all objects of an array are geometries or None."""

def geometry_bounds(geos: GeosFunctions, geometries: object) -> tuple:
    """
    The box of each geometry, NaN for None and empty ones; its type, -1 for None; and whether all boxes are finite.
    """

def features_meet(geos: GeosFunctions, geometries: object, one: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], other: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], reach: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None) -> object:
    """
    Of pairs of geometries, whether they meet, or are at most so far apart: 0 no, 1 yes, 2 in doubt.
    """

def features_relate(geos: GeosFunctions, geometries: object, one: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], other: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], with_validity: bool) -> tuple:
    """
    Of pairs of lines and valid areas: 0 apart, 1 the first inside, 2 the second inside, 3 areas overlap, 4 a line crosses an area, 5 the boundary of the first, an area, is met, 6 in doubt; and which geometries of 3 and 4 are surely valid areas, if that is wanted.
    """

def places_in_areas(geos: GeosFunctions, geometries: object, area: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], bounds: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], point: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], is_point: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], reach: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None) -> object:
    """
    Where points, by their boxes, are in areas: 0 outside, 1 inside or within reach, 2 on the boundary, 3 in doubt.
    """

def points_in_areas(geos: GeosFunctions, geometries: object, bounds: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], point_bounds: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], points: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], meanings: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], by_point: bool) -> tuple:
    """
    Pairs of an area, in this order, and a point, a row of the boxes; or of a point and an area, by point. By what a place as of places_in_areas means: those that mean 1, and those that mean 2.
    """

def overlap_areas(geos: GeosFunctions, geometries: object, one: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], other: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple:
    """
    How much area pairs of geometries have in common if they are valid, NaN for what is not read; and which geometries matter and are not surely valid.
    """

def pairs_in_order(one: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], other: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], both_ways: bool, visited: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], row_count: int) -> object:
    """
    Pairs of rows, as they are or both ways, by the first, and then as the second ones are visited.
    """

class StrTree:
    """The STR tree that GEOS makes of boxes."""

    def __init__(self, bounds: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], capacity: int) -> None: ...

    @property
    def is_open(self) -> bool:
        """Whether equal centers leave its order to the sort that GEOS uses."""

    def visited(self) -> object:
        """The rows in the order in which GEOS visits them."""

class NearestKind(enum.Enum):
    """Which of the nearest rows are wanted."""

    ALL = 0

    FIRST = 1

    LAST = 2

    SOME_AND_EQUAL = 3

    SOME = 4

def nearest_features(geos: GeosFunctions, tree: StrTree, geometries: object, queries: object, bounds: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], are_in_boxes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], kind: NearestKind, k: int, most: float, leaves_out_equal: bool) -> object:
    """
    Numbers of queries, the rows nearest to them, and distances; None where GEOS cannot measure one.
    """

class ManyImages(ValueError):
    pass

class NeighborRules:
    def longer_by(self, skin: float) -> NeighborRules: ...

def neighbor_rules(points: int, two_sets: bool, cutoffs: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, kinds: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, other_kinds: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, ignored: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None) -> NeighborRules: ...

def neighbors(points: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], others: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, keys: tuple[int, Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, int] | None, other_keys: tuple[int, Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, int] | None, cells: Annotated[NDArray[numpy.float64], dict(shape=(None, 3, 3), order='C', device='cpu', writable=False)], periodic: Annotated[NDArray[numpy.bool_], dict(shape=(None, 3), order='C', device='cpu', writable=False)], cutoff: float, reaches: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, other_reaches: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, larger: bool, rules: NeighborRules | None, distances: bool, vectors: bool, shifts: bool, by_point: bool, both: bool, sorted: bool, workers: int, headings: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, angles: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, nearest: int | None) -> tuple: ...

def nearest_table(offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], distances: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], vectors: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, shifts: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, width: int) -> tuple: ...

def nearest_neighbors(points: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], others: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, keys: tuple[int, Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, int] | None, other_keys: tuple[int, Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, int] | None, cells: Annotated[NDArray[numpy.float64], dict(shape=(None, 3, 3), order='C', device='cpu', writable=False)], periodic: Annotated[NDArray[numpy.bool_], dict(shape=(None, 3), order='C', device='cpu', writable=False)], cutoff: float, wanted: int, distances: bool, vectors: bool, shifts: bool, workers: int) -> tuple: ...

def lattices(cells: Annotated[NDArray[numpy.float64], dict(shape=(None, 3, 3), order='C', device='cpu', writable=False)], periodic: Annotated[NDArray[numpy.bool_], dict(shape=(None, 3), order='C', device='cpu', writable=False)]) -> tuple: ...

class NeighborCandidates:
    def __len__(self) -> int: ...

    def near(self, points: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], jumps: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, keys: tuple[int, Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, int] | None, cells: Annotated[NDArray[numpy.float64], dict(shape=(None, 3, 3), order='C', device='cpu', writable=False)], periodic: Annotated[NDArray[numpy.bool_], dict(shape=(None, 3), order='C', device='cpu', writable=False)], cutoff: float, rules: NeighborRules | None, distances: bool, vectors: bool, shifts: bool, by_point: bool, workers: int) -> tuple: ...

def neighbor_candidates(points: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], keys: tuple[int, Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, int] | None, cells: Annotated[NDArray[numpy.float64], dict(shape=(None, 3, 3), order='C', device='cpu', writable=False)], periodic: Annotated[NDArray[numpy.bool_], dict(shape=(None, 3), order='C', device='cpu', writable=False)], cutoff: float, rules: NeighborRules | None, both: bool, sorted: bool, workers: int) -> NeighborCandidates: ...

def motion(points: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], before: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], keys: tuple[int, Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, int] | None, cells_before: Annotated[NDArray[numpy.float64], dict(shape=(None, 3, 3), order='C', device='cpu', writable=False)], back: Annotated[NDArray[numpy.float64], dict(shape=(None, 3, 3), order='C', device='cpu', writable=False)] | None, inverses: Annotated[NDArray[numpy.float64], dict(shape=(None, 3, 3), order='C', device='cpu', writable=False)] | None, limit: float, rounding: float, workers: int) -> tuple: ...

def read_boxes(stream: object, dimension: int, interleaved: bool, is_flat: bool, copy: object, other: object) -> tuple:
    """
    Ids, corners and kept objects of a stream of (id, coordinates, object).
    """

def set_of_pairs(pairs: Annotated[NDArray[numpy.int32], dict(shape=(None, 2), device='cpu', writable=False)], count: int) -> object:
    """A set of (first, second)."""

def dict_of_pairs(pairs: Annotated[NDArray[numpy.int32], dict(shape=(None, 2), device='cpu', writable=False)], values: list, count: int) -> object:
    """A dict of values by (first, second)."""

def lists_of(rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], sizes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], count: int) -> object:
    """Rows divided into lists of these sizes."""

def within(places: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], points: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], radii: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple:
    """The rows of each query within its radius, and how many these are."""

def entries_in(entries: list, corners: object, within: bool) -> list:
    """Which entries (id, corners, object) overlap a box, or lie within it."""

def nearest_to_box(rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], boxes: Annotated[NDArray[numpy.float64], dict(shape=(None, 2, None), order='C', device='cpu', writable=False)], corners: object, most: int) -> object:
    """
    The nearest of some rows to a box, with all that are as far as the last.
    """

def pairs_by_atom(pairs: Annotated[NDArray[numpy.int32], dict(shape=(None, 2), device='cpu', writable=False)], distances: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, vectors: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, shifts: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, count: int, radii: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, selves: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, both: bool, ascending: bool, with_first: bool) -> tuple:
    """
    Pairs by their atoms: starts, first and second rows, distances, vectors and shifts.
    """

def places_of(agents: list) -> object:
    """Attributes `pos`, if all are tuples of two floats."""

class MovingPoints:
    """
    Positions that are written one at a time between queries for those around a place.
    """

    def __init__(self, dimension: int, is_private: bool) -> None: ...

    def adopt(self, array: object | None, owner: object | None) -> bool: ...

    def note(self, row: int) -> None: ...

    def note_all(self) -> None: ...

    def move(self, row: int, to: object | None, bounds: object | None) -> bool: ...

    def within(self, items: list, point: object | None, row: int, radius: object | None, repeats: bool, size: object | None) -> object: ...

    def nearest(self, items: list, point: object | None, row: int, count: int, repeats: bool, size: object | None) -> object: ...

    def squared_within(self, items: list, point: object | None, radius: float, limit: float, is_apart: bool, repeats: bool, size: object | None) -> object: ...

    @property
    def comparisons(self) -> int: ...

    @property
    def noted(self) -> int: ...

def lidar(bodies: BodiesInTree, rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], positions: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], rotations: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, directions: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], limits: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], seen: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], keys: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, is_any_number: bool, is_single: bool, workers: int) -> object:
    """
    Distances and rows, (n, b), and the row of a custom shape that decides one of them, or -1. None if there is no tree and some may see too many bodies.
    """
