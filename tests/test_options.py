"""Options that functions share: spelled once for type checkers and for calls, and refused by name where unknown."""

import inspect
from dataclasses import fields

import numpy as np
import pytest

import broadphase as bp
from broadphase import options
from broadphase.index.box_index import BoxIndex, IndexKeywords
from broadphase.index.queries import QUERIES
from index_cases import CLASSES
from query_cases import arguments_of

BOXES = np.array([[[0.0, 0.0], [2.0, 2.0]], [[1.0, 1.0], [3.0, 3.0]], [[8.0, 8.0], [9.0, 9.0]]])
QUERY = {"by": None, "workers": None, "layer": None, "mask": None, "batch": None, "ignore": None}
GIVEN = arguments_of(BOXES, np.ones((3, 2)))


def defaults_of(function):
    return {one.name: one.default for one in inspect.signature(function).parameters.values()}


@pytest.mark.parametrize("name", [row.name for row in QUERIES])
def test_signature_of_a_query_shows_the_options(name):
    for kind in (bp.BVH, bp.World) if name != "shapecast" else (bp.BVH,):
        assert QUERY.items() <= defaults_of(getattr(kind, name)).items()
        assert "options" not in defaults_of(getattr(kind, name))
    assert (
        {*options.QueryKeywords.__annotations__}
        == {*QUERY}
        == {one.name for one in fields(options.QueryOptions)} - {"own", "_sight"}
    )


def test_signatures_of_searches_for_pairs_show_their_options():
    common = {*options.PairFilterKeywords.__annotations__, "workers", "touching"}
    for function in (bp.pairs, bp.count_pairs, bp.iter_pairs, bp.BVH.pairs, bp.BVH.iter_pairs, bp.BVH.changes):
        shown = defaults_of(function)
        assert common <= shown.keys()
        assert shown["touching"] is True
    assert defaults_of(bp.pairs)["workers"] == 1
    assert defaults_of(bp.BVH.pairs)["workers"] is None  # those of the index


@pytest.mark.parametrize("name", CLASSES)
def test_signature_of_an_index_class_shows_the_options_of_all(name):
    shown, usual = defaults_of(getattr(bp, name)), defaults_of(BoxIndex)
    assert {option: shown[option] for option in IndexKeywords.__annotations__} == {
        option: usual[option] for option in IndexKeywords.__annotations__
    }


@pytest.mark.parametrize("name", [row.name for row in QUERIES])
def test_unknown_option_of_a_query_is_refused_by_name(name):
    index = bp.BVH(BOXES)
    index.query(BOXES)
    for number in range(2):  # on the fast path too
        with pytest.raises(TypeError, match=rf"^{name}\(\) got an unexpected keyword argument 'layers'"):
            getattr(index, name)(**GIVEN[name], layers=number)


@pytest.mark.parametrize("name", ["pairs", "count_pairs", "iter_pairs", "changes"])
def test_unknown_option_of_a_search_for_pairs_is_refused_by_name(name):
    wrong = rf"^{name}\(\) got an unexpected keyword argument 'layers'"
    with pytest.raises(TypeError, match=wrong):
        getattr(bp.BVH(BOXES), name)(layers=1)
    for boxes in (BOXES, (BOXES[:, :, :1] * 10).astype(np.int64)):
        if name != "changes":
            with pytest.raises(TypeError, match=wrong):
                getattr(bp, name)(boxes, layers=1)


@pytest.mark.parametrize("name", CLASSES)
def test_workers_of_an_index_are_those_of_its_queries_by_default(name):
    boxes = np.random.default_rng(1).random((3000, 2, 2))
    boxes.sort(axis=1)
    alone, together = getattr(bp, name)(boxes), getattr(bp, name)(boxes, workers=3)
    assert together._threads == 3
    np.testing.assert_array_equal(alone.query(boxes).rows, together.query(boxes).rows)
    np.testing.assert_array_equal(alone.pairs(sort=True), together.pairs(sort=True, workers=None))
    np.testing.assert_array_equal(together.query(boxes, workers=1).offsets, together.query(boxes, workers=-1).offsets)
    with pytest.raises(ValueError, match="workers"):
        getattr(bp, name)(boxes, workers=0)
    with pytest.raises(ValueError, match="workers"):
        together.query(boxes[:1], workers=0)
    made = getattr(bp, name).options(workers=3).make(boxes[:5])
    assert made._threads == 3
