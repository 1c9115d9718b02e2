"""A few boxes against many: cells of the few, and one pass over the many, against the oracle."""

import numpy as np
import pytest

import broadphase as bp
from broadphase import _native
from broadphase.errors import InvalidBoxError, InvalidBoxWarning, TooManyPairsError
from broadphase.testing import assert_same_pairs, oracle

METHODS = ("auto", "grid")
MANY = 8192  # from so many on, and 64 times as many as the few: FewCells::suit


def spread(n, d, size, rng):
    lower = rng.random((n, d))
    return np.concatenate([lower, lower + 2 * size * rng.random((n, d))], axis=1)


def as_points(boxes, rng):
    boxes[:, boxes.shape[1] // 2 :] = boxes[:, : boxes.shape[1] // 2]


def heavy_tailed(boxes, rng):
    d = boxes.shape[1] // 2
    boxes[:, d:] = boxes[:, :d] + 0.005 * rng.pareto(1.1, (len(boxes), 1))


def in_a_spot(boxes, rng):
    d = boxes.shape[1] // 2
    boxes[:] = np.tile(0.5 + 1e-3 * rng.random((len(boxes), d)), 2) + np.repeat([0, 1e-3], d)


def all_the_same(boxes, rng):
    boxes[:] = boxes[0]


def some_huge(boxes, rng):
    boxes[:: max(1, len(boxes) // 3)] = np.repeat([-10, 10], boxes.shape[1] // 2)


def infinite(boxes, rng):
    d = boxes.shape[1] // 2
    boxes[rng.random(boxes.shape) < 0.05] = np.inf
    boxes[:, :d] = np.where(np.isinf(boxes[:, :d]) & (rng.random((len(boxes), d)) < 0.9), -np.inf, boxes[:, :d])
    boxes[:, d:] = np.maximum(boxes[:, d:], boxes[:, :d])


def one_far(boxes, rng):
    boxes[-1] *= 1e30


def aside(boxes, rng):
    boxes += 3


def on_a_lattice(boxes, rng):
    boxes[:] = np.round(boxes * 32) / 32


def enormous(boxes, rng):
    boxes[:] = (boxes - 0.5) * 3e38


KINDS = (
    as_points,
    heavy_tailed,
    in_a_spot,
    all_the_same,
    some_huge,
    infinite,
    one_far,
    aside,
    on_a_lattice,
    enormous,
)


def made(n, d, dtype, kind, rng, size=0.02):
    boxes = spread(n, d, size, rng)
    if kind is not None:
        kind(boxes, rng)
    return boxes.astype(dtype)


def is_by_cells_of_few(few, many):
    return "a few boxes" in bp.explain(few, many).reason


def check(few, many, *, methods=METHODS, workers=(1, 3), **options):
    swapped = {
        name: value[::-1] if isinstance(value, tuple) else value[:, ::-1] if name == "ignore_pairs" else value
        for name, value in options.items()
    }
    expected = oracle.pairs(few, many, **options)
    for method in methods:
        found = bp.pairs(few, many, method=method, **options)
        assert_same_pairs(found, expected, f"{method} {sorted(options)}")
        other = bp.pairs(many, few, method=method, **swapped)
        assert_same_pairs(other[:, ::-1], expected, f"{method}, many first {sorted(options)}")
        assert np.array_equal(bp.pairs(few, many, method=method, sort=True, **options), expected)
        assert bp.count_pairs(few, many, method=method, **options) == len(expected)
        for count in workers:
            assert np.array_equal(bp.pairs(few, many, method=method, workers=count, **options), found)
    return expected


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("kind", [None, *KINDS], ids=lambda kind: kind.__name__ if kind else "even")
def test_few_of_every_kind_among_many_of_every_kind_equal_the_oracle(kind, d, dtype):
    rng = np.random.default_rng(d)
    for of_many in (None, *KINDS):
        n = 7 if kind is of_many is in_a_spot else int(rng.choice([7, 40, 128]))  # all pairs of these overlap
        both_enormous = enormous in (kind, of_many)
        few = made(n, d, dtype, enormous if both_enormous else kind, rng)
        many = made(MANY + int(rng.integers(0, 70)), d, dtype, enormous if both_enormous else of_many, rng)
        touching, margin = bool(rng.integers(2)), 0.0 if both_enormous else float(rng.choice([0, 0.01]))
        check(few, many, touching=touching, margin=margin, workers=(3,))


@pytest.mark.parametrize("d", [2, 3])
def test_few_of_few_numbers_equal_the_oracle(d):
    rng = np.random.default_rng(5)
    for n in (0, 1, 2, 3, 127, 128, 129):
        for count in (MANY - 1, MANY, MANY + 1, 10_000):
            few, many = made(n, d, "float32", None, rng), made(count, d, "float32", None, rng)
            check(few, many, methods=("auto",), workers=(2,))


def test_few_are_chosen_where_they_are_few():
    rng = np.random.default_rng(6)
    for d in (2, 3):
        for dtype in ("float32", "float64"):
            many = made(50_000, d, dtype, None, rng, 0.005)
            for n in (2, 30, 700):
                few = made(n, d, dtype, None, rng, 0.005)
                assert is_by_cells_of_few(few, many)
                assert is_by_cells_of_few(many, few)
    assert not is_by_cells_of_few(made(1000, 2, "float64", None, rng), made(20_000, 2, "float64", None, rng))
    intervals = [made(n, 1, "float64", None, rng).reshape(n, 2, 1) for n in (30, 20_000)]
    assert not is_by_cells_of_few(*intervals)
    assert not is_by_cells_of_few(made(30, 4, "float64", None, rng), made(20_000, 4, "float64", None, rng))


def test_few_boxes_that_are_rows_of_the_many_equal_the_oracle():
    rng = np.random.default_rng(7)
    many = made(20_000, 3, "float64", on_a_lattice, rng, 0.01)
    check(many[::200], many)
    check(many[::200], many, touching=False)


def test_lists_of_all_lengths_and_tasks_of_many_pairs_equal_the_oracle():
    rng = np.random.default_rng(8)
    many = made(40_000, 2, "float32", None, rng, 0.3)
    few = made(300, 2, "float32", None, rng, 0.05)
    few[:150, :2], few[:150, 2:] = 0.5, 0.52
    expected = check(few, many, workers=(2,))
    assert len(expected) > 1 << 20


def test_few_with_every_filter_equal_the_oracle():
    rng = np.random.default_rng(9)
    few, many = made(60, 3, "float32", some_huge, rng, 0.05), made(12_000, 3, "float32", None, rng, 0.05)
    sizes = len(few), len(many)
    filters = {
        "layer": tuple(rng.integers(1, 4, n).astype(np.uint64) for n in sizes),
        "mask": tuple(rng.integers(1, 4, n).astype(np.uint64) for n in sizes),
        "group": tuple(rng.integers(-2, 3, n) for n in sizes),
        "static": tuple(rng.random(n) < 0.5 for n in sizes),
        "ignore_shared": tuple(rng.integers(0, 9, (n, 2)) for n in sizes),
    }
    for name, value in filters.items():
        assert len(check(few, many, workers=(2,), **{name: value})) > 0
    check(few, many, **filters, margin=0.01)
    ignored = oracle.pairs(few, many)[::3]
    check(few, many, ignore_pairs=ignored)


def test_few_in_batches_and_in_a_periodic_cell_equal_other_methods():
    rng = np.random.default_rng(10)
    few, many = made(80, 2, "float64", None, rng), made(30_000, 2, "float64", None, rng)
    keys = np.arange(80) % 2, np.arange(30_000) % 2
    for options in ({"batch": keys}, {"period": [1.0, 1.0]}, {"period": [None, 0.7]}):
        expected = bp.pairs(few, many, method="sweep_and_prune", sort=True, **options)
        assert len(expected) > 0
        assert np.array_equal(bp.pairs(few, many, sort=True, **options), expected)


def test_chunks_of_few_are_those_of_all_pairs():
    rng = np.random.default_rng(11)
    few, many = made(90, 3, "float32", some_huge, rng, 0.03), made(20_000, 3, "float32", None, rng, 0.03)
    assert is_by_cells_of_few(few, many)
    chunks = list(bp.iter_pairs(few, many, chunk=1000))
    assert np.array_equal(np.concatenate(chunks), bp.pairs(few, many))
    with pytest.raises(TooManyPairsError):
        bp.pairs(few, many, max_pairs=10_000)


@pytest.mark.parametrize("flaw", ["nan", "inverted"])
@pytest.mark.parametrize("row", [0, 63, 8191, 12_345, 19_999])
def test_invalid_boxes_among_the_many_are_named(flaw, row):
    rng = np.random.default_rng(12)
    few, many = made(20, 2, "float32", None, rng), made(20_000, 2, "float32", aside, rng)
    for at in (row, 19_999):
        many[at, 3] = np.nan if flaw == "nan" else -5
    for call in (bp.pairs, bp.count_pairs, lambda a, b: list(bp.iter_pairs(a, b))):
        for first, second, name in ((few, many, "other"), (many, few, "boxes")):
            with pytest.raises(InvalidBoxError, match=rf"{name}.*{row}\b"):
                call(first, second)
    with pytest.raises(InvalidBoxError):
        bp.pairs(few, many, max_pairs=0)


def test_invalid_boxes_among_the_few_are_named():
    rng = np.random.default_rng(13)
    few, many = made(20, 3, "float64", None, rng), made(20_000, 3, "float64", None, rng)
    few[7, 1] = np.nan
    with pytest.raises(InvalidBoxError, match=r"boxes.*\b7\b"):
        bp.pairs(few, many)
    with pytest.warns(InvalidBoxWarning):
        found = bp.pairs(few, many, invalid="skip", sort=True)
    kept = np.delete(np.arange(20), 7)
    expected = oracle.pairs(few[kept], many)
    expected[:, 0] = kept[expected[:, 0]]
    assert np.array_equal(found, expected)


def test_few_where_the_sample_misleads_equal_the_oracle():
    rng = np.random.default_rng(14)
    many, few = made(10_000, 2, "float64", in_a_spot, rng), made(100, 2, "float64", in_a_spot, rng)
    few[:, [0, 2]] += 1.1e-3  # beside the others, and not along the second axis
    many[_native.planned_rows(len(many))] += 3
    check(few, many)


def test_queries_of_an_index_of_boxes_by_a_few_equal_the_oracle():
    rng = np.random.default_rng(15)
    few, many = made(30, 3, "float32", None, rng), made(20_000, 3, "float32", None, rng)
    expected = oracle.pairs(few, many)
    for index in (bp.Grid(many), bp.SweepAndPrune(many), bp.Index(many)):
        found = index.query(few)
        assert np.array_equal(np.stack([found.query_rows, found.rows], axis=1), expected)
