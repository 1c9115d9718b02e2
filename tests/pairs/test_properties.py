"""Properties that hold for any boxes, looked for with Hypothesis."""

import numpy as np
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as hnp

import broadphase as bp
from broadphase.testing import assert_same_pairs, oracle
from cases import METHOD_NAMES, check_pairs

methods = st.sampled_from(METHOD_NAMES)
margins = st.sampled_from([0.0, 0.5, 1.0, 0.1])


@st.composite
def boxes_of(draw, elements, dtype, max_boxes=40, dimension=None):
    """Draw boxes with corners from `elements`, put in order."""
    n = draw(st.integers(0, max_boxes))
    d = dimension or draw(st.integers(1, 4))
    corners = draw(hnp.arrays(dtype, (n, 2, d), elements=elements, fill=st.nothing()))
    return np.sort(corners, axis=1)


small_integers = st.integers(-6, 6).map(float)
float32s = st.floats(width=32, allow_nan=False)
float64s = st.floats(allow_nan=False)
lattices = boxes_of(small_integers, np.float64) | boxes_of(small_integers, np.float32)
any_boxes = lattices | boxes_of(float32s, np.float32, 20) | boxes_of(float64s, np.float64, 20)


def grown_by_one(boxes):
    return np.stack([boxes[:, 0] - 1, boxes[:, 1] + 1], axis=1)


@given(any_boxes, st.booleans())
@settings(max_examples=150)
def test_any_boxes_give_the_pairs_of_the_oracle(boxes, touching):
    check_pairs(boxes, touching=touching)


@given(st.data())
@settings(max_examples=100)
def test_any_two_sets_give_the_pairs_of_the_oracle(data):
    dimension = data.draw(st.integers(1, 4))
    boxes = data.draw(boxes_of(float64s | small_integers, np.float64, 20, dimension))
    other = data.draw(boxes_of(float64s | small_integers, np.float64, 20, dimension))
    check_pairs(boxes, other, touching=data.draw(st.booleans()))


@given(lattices, margins, st.booleans())
@settings(max_examples=80)
def test_any_margin_gives_the_pairs_of_the_oracle(boxes, margin, touching):
    check_pairs(boxes, margin=margin, touching=touching)


@given(lattices, methods, st.data())
@settings(max_examples=80)
def test_any_filters_give_the_pairs_of_the_oracle(boxes, method, data):
    n = len(boxes)

    def values(elements, dtype, shape=n):
        return data.draw(hnp.arrays(dtype, shape, elements=elements))

    options = {
        "layer": values(st.integers(0, 7), np.uint64),
        "mask": values(st.integers(0, 7), np.uint64),
        "group": values(st.integers(-2, 2), np.int64),
        "static": values(st.booleans(), bool),
        "ignore_shared": values(st.integers(0, 20), np.int64, (n, 2)),
    }
    chosen = {name: options[name] for name in data.draw(st.sets(st.sampled_from(sorted(options))))}
    check_pairs(boxes, methods=[method], **chosen)


@given(any_boxes, methods, st.randoms(use_true_random=False))
@settings(max_examples=60)
def test_permuted_boxes_have_the_permuted_pairs(boxes, method, random):
    order = np.array(random.sample(range(len(boxes)), len(boxes)), int)
    found = bp.pairs(boxes[order], method=method)
    back = np.sort(order[found].reshape(-1, 2), axis=1)
    assert_same_pairs(back, bp.pairs(boxes, method=method))


@given(lattices, methods, st.integers(0, 18))
@settings(max_examples=60)
def test_boxes_moved_by_a_power_of_two_keep_their_pairs(boxes, method, exponent):
    # Small integers plus 2**18 are exact in float32, so that nothing is rounded.
    assert_same_pairs(bp.pairs(boxes + boxes.dtype.type(2**exponent), method=method), bp.pairs(boxes, method=method))


@given(lattices, methods, st.integers(-100, 100))
@settings(max_examples=60)
def test_boxes_scaled_by_a_power_of_two_keep_their_pairs(boxes, method, exponent):
    assert_same_pairs(bp.pairs(np.ldexp(boxes, exponent), method=method), bp.pairs(boxes, method=method))


@given(any_boxes, methods)
@settings(max_examples=60)
def test_mirrored_boxes_keep_their_pairs(boxes, method):
    assert_same_pairs(bp.pairs(-boxes[:, ::-1], method=method), bp.pairs(boxes, method=method))


@given(any_boxes, methods, st.randoms(use_true_random=False))
@settings(max_examples=60)
def test_axes_in_another_order_keep_the_pairs(boxes, method, random):
    order = random.sample(range(boxes.shape[2]), boxes.shape[2])
    assert_same_pairs(bp.pairs(boxes[:, :, order], method=method), bp.pairs(boxes, method=method))


@given(any_boxes, methods, st.integers(0, 39))
@settings(max_examples=60)
def test_a_grown_box_loses_no_pair(boxes, method, row):
    row %= max(1, len(boxes))
    grown = boxes.copy()
    grown[row : row + 1] = grown_by_one(grown[row : row + 1])
    before, after = oracle.pairs(boxes), bp.pairs(grown, method=method)
    assert set(map(tuple, before)) <= set(map(tuple, after))


@given(any_boxes, methods)
@settings(max_examples=60)
def test_doubled_boxes_have_every_pair_four_times_and_their_twins(boxes, method):
    n = len(boxes)
    twice = np.concatenate([boxes, boxes])
    pairs = bp.pairs(boxes, method=method)
    i, j = pairs[:, 0], pairs[:, 1]
    rows = np.arange(n)
    expected = [(i, j), (i, j + n), (j, i + n), (i + n, j + n), (rows, rows + n)]
    assert_same_pairs(
        bp.pairs(twice, method=method), np.concatenate([np.stack(columns, axis=1) for columns in expected])
    )


@given(any_boxes, methods, st.integers(0, 40))
@settings(max_examples=60)
def test_a_set_cut_in_two_has_the_pairs_of_the_parts_and_between_them(boxes, method, cut):
    one, two = boxes[:cut], boxes[cut:]
    parts = [
        bp.pairs(one, method=method),
        bp.pairs(two, method=method) + len(one),
        bp.pairs(one, two, method=method) + np.array([0, len(one)]),
    ]
    assert_same_pairs(np.concatenate(parts), bp.pairs(boxes, method=method))


@given(boxes_of(st.floats(width=32, allow_nan=False), np.float32), methods)
@settings(max_examples=60)
def test_float32_boxes_as_float64_have_the_same_pairs(boxes, method):
    assert_same_pairs(bp.pairs(boxes.astype(np.float64), method=method), bp.pairs(boxes, method=method))


@given(any_boxes, methods)
@settings(max_examples=60)
def test_interiors_that_meet_are_among_the_boxes_that_touch(boxes, method):
    meeting = set(map(tuple, bp.pairs(boxes, method=method, touching=False)))
    assert meeting <= set(map(tuple, bp.pairs(boxes, method=method)))
