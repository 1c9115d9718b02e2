"""Defects of contacts that were found once: each test failed before its defect was mended."""

import numpy as np

import broadphase as bp


def test_contact_of_a_flat_polygon_with_a_point_like_rectangle_lies_on_both():
    # Of one line but for rounding: the normal of the edge between the two in front, which is far from the point, is as
    # good as any, but the contact is not at that edge.
    flat = [(0.0, 0.0), (0.4, 2.95), (0.8, 5.9), (0.8000000000000002, 5.9), (0.39999999999999997, 2.9500000000000006)]
    found = bp.contacts(bp.Shapes(bp.ConvexPolygon(flat), [[0, 0]]), bp.Shapes(bp.Rectangle(0, 0), [[0, 0]]))
    assert found.counts.tolist() == [1]
    np.testing.assert_allclose(found.points[0, 0], [0, 0], atol=1e-14)
    np.testing.assert_allclose(found.depths, 0, atol=1e-14)
