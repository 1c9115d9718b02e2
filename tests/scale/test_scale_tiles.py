"""Tiles: each pair belongs to exactly one of them, whatever the plan."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

import broadphase as bp
from broadphase import scale
from broadphase.scale.planning import divide
from broadphase.testing import oracle

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
pc = pytest.importorskip("pyarrow.compute", reason="pyarrow is not installed")


def columns_of(dim: int, **options: Any) -> scale.BoxColumns:
    return scale.BoxColumns(
        lower=tuple(f"low{k}" for k in range(dim)), upper=tuple(f"high{k}" for k in range(dim)), **options
    )


def table_of(boxes: np.ndarray, ids: Any = None, **more: Any) -> Any:
    corners = {f"{side}{k}": boxes[:, s, k] for s, side in enumerate(("low", "high")) for k in range(boxes.shape[2])}
    return pa.table({"id": np.arange(len(boxes)) if ids is None else ids, **corners, **more})


def plan_at(dim: int, planes: list[tuple[int, float]]) -> scale.Plan:
    """A complete tree of these planes, as many as fill one; NaN: no plane."""
    depth = (len(planes) + 1).bit_length() - 1
    count = 2**depth - 1
    reached = [True] + [False] * (2 * count)
    for node, (_, at) in enumerate(planes[:count]):
        reached[2 * node + 1] = reached[node]
        reached[2 * node + 2] = reached[node] and not math.isnan(at)
    last = np.array(reached[count:])
    leaves = np.where(last, np.cumsum(last) - 1, -1).astype(np.int32)
    axis = np.array([axis % dim for axis, _ in planes[:count]], np.int32)
    return scale.Plan(dim, np.array([at for _, at in planes[:count]], np.float64), axis, leaves)


def of_tile(table: Any, tile: int) -> Any:
    return table.filter(pa.array(table.column("tile").to_numpy() == tile))


def pairs_of_all_tiles(
    table: Any, plan: scale.Plan, columns: scale.BoxColumns, other: Any = None
) -> list[tuple[Any, Any]]:
    own = scale.assign(table, plan, columns)
    theirs = None if other is None else scale.assign(other, plan, columns)
    found = [scale.join(of_tile(own, -1), plan, -1, columns, right=None if theirs is None else of_tile(theirs, -1))]
    for tile in range(plan.tile_count):
        more = {} if theirs is None else {"right": of_tile(theirs, tile), "right_wide": of_tile(theirs, -1)}
        found.append(scale.join(of_tile(own, tile), plan, tile, columns, left_wide=of_tile(own, -1), **more))
    whole = pa.concat_tables(found)
    return list(zip(whole["first"].to_pylist(), whole["second"].to_pylist(), strict=True))


def plain_pairs(boxes: np.ndarray, other: np.ndarray | None = None, touching: bool = True) -> list[tuple[int, int]]:
    """All pairs, from every box compared with every other one."""
    second = boxes if other is None else other
    lower = np.maximum(boxes[:, None, 0], second[None, :, 0])
    upper = np.minimum(boxes[:, None, 1], second[None, :, 1])
    meet = np.all(lower <= upper if touching else lower < upper, axis=2)
    if other is None:
        meet = np.triu(meet, 1)
    return [(int(i), int(j)) for i, j in np.argwhere(meet)]


numbers = st.integers(-4, 4).map(float)


@st.composite
def cases(draw: st.DrawFn) -> tuple[np.ndarray, scale.Plan]:
    """Boxes and planes on a small lattice: corners lie on planes, boxes are points, equal, infinite or very wide."""
    dim = draw(st.integers(1, 4))
    count = draw(st.integers(0, 12))
    ends = st.one_of(numbers, st.sampled_from([-math.inf, math.inf]))
    corners = draw(st.lists(st.tuples(ends, ends), min_size=count * dim, max_size=count * dim))
    boxes = np.array([sorted(pair) for pair in corners], np.float64).reshape(count, dim, 2).transpose(0, 2, 1).copy()
    planes = st.tuples(st.integers(0, 3), st.one_of(numbers, st.just(math.nan), st.just(0.5)))
    size = draw(st.sampled_from([0, 1, 3, 7, 31]))
    plan = plan_at(dim, draw(st.lists(planes, min_size=size, max_size=size)))
    return boxes.astype(draw(st.sampled_from([np.float32, np.float64]))), plan


@given(cases(), st.booleans())
def test_any_plan_gives_each_pair_once(case: tuple[np.ndarray, scale.Plan], touching: bool) -> None:
    boxes, plan = case
    columns = columns_of(plan.dim, touching=touching)
    assert sorted(pairs_of_all_tiles(table_of(boxes), plan, columns)) == plain_pairs(boxes, touching=touching)
    other = boxes[::-2].copy()
    found = pairs_of_all_tiles(table_of(boxes), plan, columns, table_of(other))
    assert sorted(found) == plain_pairs(boxes, other, touching=touching)


@given(cases())
def test_assign_gives_each_box_to_the_tiles_that_it_meets(case: tuple[np.ndarray, scale.Plan]) -> None:
    boxes, plan = case
    assume(np.all(plan.bounds[:, 0] < plan.bounds[:, 1]))
    assigned = scale.assign(table_of(boxes), plan, columns_of(plan.dim))
    found = sorted(zip(assigned["id"].to_pylist(), assigned["tile"].to_pylist(), strict=True))
    expected = []
    for row, (lower, upper) in enumerate(boxes.astype(np.float64)):
        begin, end = plan.bounds[:, 0], plan.bounds[:, 1]
        meets = np.all((begin <= upper) & ((lower < end) | (end == math.inf)), axis=1)
        tiles = np.flatnonzero(meets).tolist()
        expected += [(row, tile) for tile in (tiles if len(tiles) <= plan.most_copies else [-1])]
    assert found == sorted(expected)


def test_bounds_leave_no_gap_and_do_not_overlap() -> None:
    plan = plan_at(2, [(0, 0.0), (1, 1.0), (1, -1.0), (0, -3.0), (0, math.nan), (1, 5.0), (0, 2.0)])
    points = np.random.default_rng(0).integers(-6, 7, (500, 2)).astype(float)
    inside = [np.all((points >= lower) & (points < upper), axis=1) for lower, upper in plan.bounds]
    assert np.array_equal(np.sum(inside, axis=0), np.ones(500))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("dim", [1, 2, 3, 4])
def test_plan_of_a_sample_gives_each_pair_once(dim: int, dtype: Any) -> None:
    rng = np.random.default_rng(dim)
    lower = rng.random((1500, dim))
    size = 0.3 * rng.random((1500, dim)) ** 5
    lower[:30], size[:30] = -1.0, 3.0
    boxes = np.stack([lower, lower + size], axis=1).astype(dtype)
    boxes[100:200] = boxes[100]
    plan = divide(boxes[::3, 0], boxes[::3, 1], len(boxes), 60)
    assert plan.tile_count > 10
    assert len(scale.assign(table_of(boxes), plan, columns_of(dim)).filter(pc.field("tile") == -1)) >= 30
    assert sorted(pairs_of_all_tiles(table_of(boxes), plan, columns_of(dim))) == plain_pairs(boxes)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_margin_is_rounded_as_pairs_rounds_it(dtype: Any) -> None:
    rng = np.random.default_rng(5)
    lower = rng.integers(0, 40, (300, 2)) / 10
    boxes = np.stack([lower, lower + rng.integers(0, 4, (300, 2)) / 10], axis=1).astype(dtype)
    plan = plan_at(2, [(0, 2.0), (1, 1.9), (1, 2.1)])
    found = pairs_of_all_tiles(table_of(boxes), plan, columns_of(2, margin=0.1))
    half = dtype(0.05)
    assert sorted(found) == plain_pairs(np.stack([boxes[:, 0] - half, boxes[:, 1] + half], axis=1))


def test_planes_between_two_floats_give_each_pair_once() -> None:
    """Coordinates must not be rounded to the type of the boxes where they are compared with planes."""
    rng = np.random.default_rng(6)
    near = np.float32(0.1) + np.arange(-3, 4, dtype=np.float32) * np.float32(2.0**-27)
    lower = rng.choice(near, (200, 2)).astype(np.float32)
    boxes = np.stack([lower, lower + np.float32(2.0**-26)], axis=1)
    plan = plan_at(2, [(0, 0.1), (1, 0.1), (1, 0.1 + 2.0**-40)])
    assert sorted(pairs_of_all_tiles(table_of(boxes), plan, columns_of(2))) == plain_pairs(boxes)


def test_filters_and_kept_columns_follow_their_boxes() -> None:
    rng = np.random.default_rng(7)
    lower = rng.random((400, 2))
    boxes = np.stack([lower, lower + 0.1], axis=1)
    batch, group = rng.integers(0, 3, 400), rng.integers(-2, 3, 400)
    layer, mask = rng.integers(1, 8, 400).astype(np.uint64), rng.integers(1, 8, 400).astype(np.uint64)
    ids = [f"body {row:03d}" for row in rng.permutation(400)]
    table = table_of(boxes, ids, b=batch, g=group, l=layer, m=mask, weight=rng.random(400))
    columns = columns_of(2, keep=("weight", "b"), batch="b", group="g", layer="l", mask="m")
    plan = divide(boxes[:, 0], boxes[:, 1], 400, 40)
    assigned = scale.assign(table, plan, columns)
    whole = pa.concat_tables(
        scale.join(of_tile(assigned, tile), plan, tile, columns, left_wide=of_tile(assigned, -1))
        for tile in range(plan.tile_count)
    )
    expected = []
    bits = (layer[:, None] & mask[None, :] != 0) & (layer[None, :] & mask[:, None] != 0)
    same = (group[:, None] == group[None, :]) & (group[:, None] != 0)
    allowed = np.where(same, group[:, None] > 0, bits) & (batch[:, None] == batch[None, :])
    weights = dict(zip(ids, table["weight"].to_pylist(), strict=True))
    for i, j in plain_pairs(boxes):
        if allowed[i, j]:
            one, two = sorted([ids[i], ids[j]])
            expected.append((one, two, weights[one], weights[two]))
    names = ("first", "second", "first_weight", "second_weight")
    assert sorted(zip(*(whole[name].to_pylist() for name in names), strict=True)) == sorted(expected)
    assert whole["first_b"].equals(whole["second_b"])


@pytest.mark.parametrize("city", [0.0, 0.1, 0.9])
def test_tiles_of_a_sample_are_even_where_the_density_is_not(city: float) -> None:
    rng = np.random.default_rng(11)
    far = (1 - rng.random((40_000, 1))) ** -1.0
    lower = far * rng.standard_normal((40_000, 2))
    lower[: int(city * 40_000)] = 7 + 1e-3 * rng.standard_normal((int(city * 40_000), 2))
    lower = lower[rng.permutation(40_000)]
    plan = divide(lower[:8000], lower[:8000], 40_000, 40_000 / 100)
    counts = np.diff(plan.tiling.assign(lower, lower, plan.most_copies)[0])
    assert plan.tile_count >= 100
    assert counts.sum() == 40_000
    assert counts.max() <= 2.5 * counts.mean()


def test_plan_comes_back_from_json_as_it_was() -> None:
    lower = np.random.default_rng(8).normal(size=(500, 3))
    plan = divide(lower, lower + 0.01, 500, 20)
    again = scale.Plan.from_json(plan.to_json())
    assert again.digest == plan.digest
    assert np.array_equal(again.bounds, plan.bounds)


def test_plan_that_was_used_is_sent_to_other_processes() -> None:
    plan = plan_at(2, [(0, 0.5), (1, math.nan), (1, 2.0)])
    assert plan.tile_count == 3
    again = pickle.loads(pickle.dumps(plan))
    assert again.digest == plan.digest
    assert np.array_equal(again.bounds, plan.bounds)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", "not a plan"),
        ("[1]", "not a plan"),
        ("{", "not a plan"),
        ('{"kind": "broadphase plan", "dim": 2, "at": [0.5], "axis": [2], "leaves": [0, 1]}', "along no axis"),
        ('{"kind": "broadphase plan", "dim": 2, "at": [0.5], "axis": [0], "leaves": [0, 0]}', "not numbered"),
        ('{"kind": "broadphase plan", "dim": 2, "at": [0.5], "axis": [0], "leaves": [0, 9]}', "not numbered"),
        ('{"kind": "broadphase plan", "dim": 2, "at": [0.5, 1], "axis": [0, 0], "leaves": [0, 1]}', "binary tree"),
        ('{"kind": "broadphase plan", "dim": 7, "at": [], "axis": [], "leaves": [0]}', "binary tree"),
    ],
)
def test_plan_of_wrong_json_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        scale.Plan.from_json(text)


def test_assign_names_the_row_of_a_bad_box() -> None:
    boxes = np.zeros((30, 2, 2))
    boxes[17, 0, 1] = math.nan
    with pytest.raises(bp.errors.InvalidBoxError, match=r"row 17: lower\[1\] is NaN") as error:
        scale.assign(table_of(boxes), plan_at(2, []), columns_of(2))
    assert error.value.row == 17


def test_columns_that_are_missing_or_of_another_kind_are_named() -> None:
    table = table_of(np.zeros((2, 2, 2)), ["a", "b"], text=["x", "y"])
    plan = plan_at(2, [])
    with pytest.raises(bp.errors.FileFormatError, match="low9"):
        scale.assign(table, plan, scale.BoxColumns(lower=("low0", "low9"), upper=("high0", "high1")))
    with pytest.raises(bp.errors.FileFormatError, match="column text holds string, not numbers"):
        scale.assign(table, plan, scale.BoxColumns(lower=("low0", "text"), upper=("high0", "high1")))
    with pytest.raises(bp.errors.FileFormatError, match="column text holds string, not integers"):
        scale.assign(table, plan, columns_of(2, batch="text"))


def test_column_of_the_name_of_ours_or_named_twice_is_refused() -> None:
    plan = plan_at(1, [])
    table = table_of(np.zeros((2, 2, 1)), tile=pa.array([7, 8]))
    with pytest.raises(ValueError, match="the table has a column tile, the name of the column of tiles: rename it"):
        scale.assign(table, plan, columns_of(1, keep=("tile",)))
    assert scale.assign(table, plan, columns_of(1)).column("tile").to_pylist() == [0, 0]
    with pytest.raises(ValueError, match=r"a column is named twice in keep=\['tile', 'tile'\]"):
        columns_of(1, keep=("tile", "tile"))


def test_damaged_tables_are_refused_by_column() -> None:
    plan = plan_at(1, [])
    key = pa.DictionaryArray.from_arrays(pa.array([0, 9], pa.int8()), pa.array(["a", "b"]), safe=False)
    table = table_of(np.zeros((2, 2, 1)), name=key)
    columns = columns_of(1, keep=("name",))
    for call, title in (
        (lambda: scale.assign(table, plan, columns), "the table"),
        (lambda: scale.join(table, plan, 0, columns), "left"),
    ):
        with pytest.raises(ValueError, match=f"^{title}, column 'name': the Arrow data is damaged"):
            call()


def test_join_refuses_tiles_that_there_are_not() -> None:
    with pytest.raises(ValueError, match="tile must be from -1 to 0, not 1"):
        scale.join(table_of(np.zeros((1, 2, 2))), plan_at(2, []), 1, columns_of(2))


def test_oracle_of_these_tests_agrees_with_the_public_one() -> None:
    rng = np.random.default_rng(9)
    lower = rng.integers(0, 9, (60, 2)).astype(float)
    boxes = np.stack([lower, lower + rng.integers(0, 3, (60, 2))], axis=1)
    assert plain_pairs(boxes) == [tuple(pair) for pair in np.asarray(oracle.pairs(boxes)).tolist()]
