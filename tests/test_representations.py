"""How results look: short, whatever their size, and as tables in Jupyter."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

import broadphase as bp

RNG = np.random.default_rng(6)
DISCS = bp.Shapes(bp.Circle(0.05), RNG.random((300, 2)))
BOXES = bp.boxes.from_points(RNG.random((500, 2)), 0.05)
INDEX = bp.Index(BOXES)
CUBES = bp.Shapes(bp.Box(1, 1, 1), RNG.random((40, 3)) * 3)


def stepped_world():
    world = bp.World(dim=2, bounds=[[0, 0], [9, 9]])
    world.add_many(bp.Circle(0.5), RNG.random((50, 2)) * 9)
    world.step(0.1)
    return world


MAKERS = {
    "Contacts": lambda: bp.contacts(DISCS),
    "Clashes": lambda: bp.clashes(CUBES),
    "Neighbors": lambda: bp.neighbors(RNG.random((200, 3)), 0.2, full=True, distances=True),
    "Nearest": lambda: INDEX.nearest(RNG.random((100, 2)), k=3),
    "RayHits": lambda: INDEX.raycast(RNG.random((100, 2)), RNG.normal(size=(100, 2))),
    "RayHitsAll": lambda: INDEX.raycast_all(RNG.random((100, 2)), RNG.normal(size=(100, 2))),
    "ShapeRayHitsAll": lambda: bp.raycast(bp.Circle(1), RNG.normal(size=(100, 2)), (1, 0), every=True),
    "QueryResult": lambda: INDEX.query(BOXES),
    "Outline": lambda: INDEX.outline(),
    "Changes": lambda: bp.Index(BOXES).changes(),
    "Index": lambda: INDEX,
    "IndexStats": lambda: INDEX.stats(),
    "Explanation": lambda: bp.explain(BOXES),
    "World": stepped_world,
    "Frame": lambda: stepped_world().frame,
}


@pytest.mark.parametrize("name", MAKERS)
def test_result_is_short_in_text_and_a_table_in_jupyter(name):
    result = MAKERS[name]()
    assert type(result).__name__ == name
    assert len(repr(result)) < 1000
    html = result._repr_html_()
    assert len(html) < 5000
    table = ElementTree.fromstring(html)  # well formed
    assert table.tag == "table"
    assert len({len(row) for row in table.iter("tr")}) == 1  # as many cells in each row
    assert "\n" not in repr(result) or name == "Changes"


def test_small_arrays_are_shown_as_they_are_and_large_ones_by_shape():
    small = bp.index.Nearest(np.array([[4, 2]], np.int32), np.array([[0.5, 2.0]]))
    assert repr(small) == "Nearest(rows=array([[4, 2]], dtype=int32), distances=array([[0.5, 2. ]]))"
    large = bp.index.Nearest(np.zeros((7, 3), np.int32), np.zeros((7, 3)))
    assert repr(large) == "Nearest(rows=<int32 of shape (7, 3)>, distances=<float64 of shape (7, 3)>)"
    assert "7 rows" in large._repr_html_()


def test_table_of_queries_shows_the_first_lists():
    result = bp.index.QueryResult(np.arange(12, dtype=np.int32), np.array([0, 2, 2, 4, 6, 8, 10, 12]))
    cells = re.findall("<td>(.*?)</td>", result._repr_html_())
    assert cells == ["0", "[0, 1]", "1", "[]", "2", "[2, 3]", "3", "[4, 5]", "4", "[6, 7]", "…", "…"]
    assert repr(bp.index.QueryResult(np.zeros(99, np.int32), np.array([0, 99]))).startswith(
        "QueryResult(rows=<int32 of"
    )


def test_text_in_a_table_is_escaped():
    stats = type(INDEX.stats())({"method": "<script>"})
    assert "<script>" not in stats._repr_html_()


def test_texts_and_lists_of_neighbors_are_shown_in_words():
    assert "kinds=<str of shape " in repr(bp.clashes(CUBES))
    near = bp.NeighborList(0.3, skin=0.1)
    near.update([[0.1, 0.1], [0.9, 0.1]], [1, 1])
    assert repr(near) == "<NeighborList of cutoff 0.3 and skin 0.1: 1 searches in 1 updates>"
