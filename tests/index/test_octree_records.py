"""What an octree says of each intersection, and objects bounded by spheres."""

import numpy as np
import pytest

import broadphase as bp
from broadphase.testing import assert_same_pairs, make_scene, oracle


def test_record_says_where_along_which_normal_and_how_deep():
    tree = bp.Octree([[0, 0, 0, 4, 4, 4], [1, 3, 1, 2, 6, 2]])
    (record,) = tree.records()
    assert (record["first"], record["second"]) == (0, 1)
    assert record["position"].tolist() == [1.5, 3.5, 1.5]
    assert record["normal"].tolist() == [0, 1, 0]
    assert record["depth"] == 1
    assert record["cell"] == 0


def test_records_are_those_of_the_pairs():
    boxes = make_scene("uniform", 1500, dtype="float64")
    tree = bp.Octree(boxes)
    records = tree.records()
    assert_same_pairs(np.stack([records["first"], records["second"]], axis=1), oracle.pairs(boxes))
    moved = boxes[records["second"]] + (records["normal"] * records["depth"][:, np.newaxis])[:, np.newaxis]
    first = boxes[records["first"]]
    gap = np.maximum(first[:, 0] - moved[:, 1], moved[:, 0] - first[:, 1]).max(axis=1)
    assert np.abs(gap).max() < 1e-12, "moved by the depth, they only touch"
    assert (records["cell"] >= 0).all()


def test_record_is_the_same_whichever_way_round_its_boxes_are_named():
    boxes = np.concatenate([make_scene("uniform", 800), make_scene("uniform", 800)[:200]])
    tree = bp.Octree(boxes)
    records = tree.records()
    swapped = tree.records(np.stack([records["second"], records["first"]], axis=1))
    for name in ("position", "depth", "cell"):
        assert (swapped[name] == records[name]).all()
    assert (swapped["normal"] == -records["normal"]).all()
    assert (swapped["first"] == records["second"]).all()


def test_record_of_a_cell_is_the_smaller_one_of_the_two():
    tree = bp.Octree([[0, 0, 8, 8], [1, 1, 1.5, 1.5]], minimum=1, leaf_capacity=1, looseness=1)
    (record,) = tree.records()
    outline = tree.outline()
    assert outline.level[record["cell"]] == 1
    assert outline.upper[record["cell"]].tolist() == [4, 4]


def test_records_of_unbounded_boxes_are_numbers():
    whole = [[-np.inf] * 2, [np.inf] * 2]
    tree = bp.Octree(np.array([whole, [[0, 0], [1, 1]], whole]))
    records = tree.records()
    assert len(records) == 3
    assert np.isfinite(records["position"]).all()
    assert not np.isnan(records["depth"]).any()


def test_handlers_of_both_boxes_are_called_with_their_own_view():
    tree = bp.Octree([[0, 0, 4, 4], [3, 1, 5, 3], [9, 9, 9, 9]])
    seen = []
    handlers = {row: lambda record, row=row: seen.append((row, record.copy())) for row in (1, 2)}
    assert tree.each_record(handlers) == 1
    ((row, record),) = seen
    assert (row, record["first"], record["second"], record["normal"].tolist()) == (1, 1, 0, [-1, 0])
    assert tree.each_record(lambda record: None) == 2


def test_ray_records_say_where_which_face_and_how_far():
    tree = bp.Octree([[4, 0, 5, 1], [7, 0, 8, 1], [-1, 0, 1, 1]])
    hits = tree.ray_records([[0, 0.5], [4.5, 9]], [[3, 0], [0, -2]])
    assert hits["ray"].tolist() == [0, 0, 0, 1]
    assert hits["row"].tolist() == [2, 0, 1, 0]
    assert hits["distance"].tolist() == [0, 4, 7, 8]
    assert hits["position"].tolist() == [[0, 0.5], [4, 0.5], [7, 0.5], [4.5, 1]]
    assert hits["normal"].tolist() == [[0, 0], [-1, 0], [-1, 0], [0, 1]]
    nearest = tree.ray_records([[2, 0.5], [0, 50]], [[3, 0], [1, 0]], nearest=True)
    assert (nearest["ray"].tolist(), nearest["row"].tolist()) == ([0], [0])


def test_spheres_alone_have_the_boxes_of_the_spheres():
    rng = np.random.default_rng(4)
    centers, radii = rng.random((500, 3)), rng.uniform(0.01, 0.1, 500)
    tree = bp.Octree.from_spheres(centers, radii)
    assert_same_pairs(tree.pairs(), oracle.pairs(bp.boxes.from_spheres(centers, radii)))
    distance = np.linalg.norm(centers[:, np.newaxis] - centers, axis=2)
    expected = np.argwhere(np.triu(distance <= radii[:, np.newaxis] + radii, 1)).astype(np.int32)
    assert_same_pairs(tree.pairs(by="sphere"), expected)
    tree.validate()


def test_objects_may_have_a_box_or_a_sphere_or_both():
    unbounded = [[-np.inf, -np.inf], [np.inf, np.inf]]
    boxes = np.array([unbounded, [[0, 0], [1, 1]], [[0.9, 0.9], [3, 3]]])
    tree = bp.Octree(boxes, spheres=([[-0.5, -0.5], [0, 0], [2, 2]], [1, np.inf, 1]))
    assert tree.boxes_of([0]).tolist() == [[[-1.5, -1.5], [0.5, 0.5]]]
    assert tree.pairs(sort=True).tolist() == [[0, 1], [1, 2]]
    assert tree.pairs(sort=True, by="sphere").tolist() == [[0, 1]], "the sphere of 2 does not reach the box of 1"
    row = tree.insert(None, spheres=([[2.5, 2.5]], [0.1]))
    assert tree.pairs(sort=True, by="sphere").tolist() == [[0, 1], [2, row[0]]]
    tree.move([0], None, spheres=([[9, 9]], 1))
    assert tree.pairs(sort=True, by="sphere").tolist() == [[2, row[0]]]


@pytest.mark.parametrize(
    "spheres", [([[0.0, 0]], [-1]), ([[np.nan, 0]], [1]), ([[0.0, 0]], [np.inf]), ([[0.0, 0]], [1, 2]), [[0, 0]]]
)
def test_wrong_spheres_are_refused(spheres):
    with pytest.raises(ValueError, match=r"sphere|radius|row 0"):
        bp.Octree(None, spheres=spheres)


def test_records_of_a_pair_are_equal_whichever_row_is_named_first():
    tree = bp.Octree([[0, 0, 4, 4], [3, 1, 5, 3], [1, 3, 2, 6]])
    pairs = tree.pairs(sort=True)
    for one, other in zip(tree.records(pairs), tree.records(pairs[:, ::-1]), strict=True):
        assert one == other
        assert (one != other) is False
        assert hash(one) == hash(other)
        assert (one["normal"] == -other["normal"]).all()
    assert len({*tree.records(pairs), *tree.records(pairs[:, ::-1])}) == len(pairs) == 2
    first, second = tree.records(pairs)
    assert first != second
    assert first != "a record"
    changed = first.copy()
    changed["depth"] += 1
    assert changed != first
    seen = []
    tree.each_record(seen.append)
    assert len(seen) == 4
    assert len(set(seen)) == 2


def test_records_of_rays_hold_the_ray_and_the_distance():
    tree = bp.Octree([[4, 0, 5, 1], [7, 0, 8, 1]])
    hits = tree.ray_records([[0, 0.5], [9, 0.25]], [[2, 0], [-1, 0]])
    assert hits["ray"].tolist() == [0, 0, 1, 1]
    assert hits["origin"].tolist() == [[0, 0.5]] * 2 + [[9, 0.25]] * 2
    assert hits["direction"].tolist() == [[2, 0]] * 2 + [[-1, 0]] * 2
    unit = hits["direction"] / np.linalg.norm(hits["direction"], axis=1, keepdims=True)
    assert np.allclose(hits["origin"] + hits["distance"][:, np.newaxis] * unit, hits["position"])
