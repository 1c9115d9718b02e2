"""All ordered pairs of types of shapes, in hard positions: finite, symmetric, and as the oracle has it."""

import numpy as np
import pytest

import broadphase as bp
from shape_pairs import FORMS, ORDERED, TYPES, check_pairs


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("d", [2, 3])
def test_distances_contacts_and_overlaps_of_any_two_types_agree(d, form):
    total = 0
    for dim, first, second in ORDERED:
        # Each pair is checked in both orders; only in this form the second is drawn by the first.
        if dim == d and (form == "corners" or TYPES[d].index(first) <= TYPES[d].index(second)):
            total += check_pairs(d, first, second, form, 0, 8, 1)
    assert total > 50


@pytest.mark.parametrize("in_world", [False, True])
def test_boxes_turned_by_quarters_are_upright_boxes_with_their_sides_exchanged(in_world):
    rng = np.random.default_rng(5)
    places, sizes = rng.random((60, 3)) * 4, rng.uniform(0.3, 1.5, (60, 3))
    quarters = np.tile([1.0, 0, 0, 1.0], (60, 1))  # about z
    turned = bp.Shapes(bp.Box(sizes), places, quarters)
    upright = bp.Shapes(bp.Box(sizes[:, [1, 0, 2]]), places)
    if in_world:
        worlds = [bp.World(dim=3), bp.World(dim=3)]
        worlds[0].add_many(bp.Box(sizes), places, rotations=quarters)
        worlds[1].add_many(bp.Box(sizes[:, [1, 0, 2]]), places)
        found, wanted = (world.step(0.0).enter.tolist() for world in worlds)
        assert found == wanted
        assert len(found) > 20
        return
    found, wanted = bp.contacts(turned), bp.contacts(upright)
    assert np.array_equal(found.pairs, wanted.pairs)
    assert len(found.pairs) > 20
    for name in ("depths", "normals", "counts", "points"):
        assert np.array_equal(getattr(found, name), getattr(wanted, name), equal_nan=True), name
    assert np.array_equal(turned.boxes, upright.boxes)
