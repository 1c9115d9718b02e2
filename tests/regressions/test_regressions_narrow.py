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


def test_mesh_and_shape_too_small_to_be_told_apart_overlap_in_both_orders_or_in_none():
    # A box of 1e-309 at the border of a face of 1e-297, where the boxes of the mesh's tree decided, in floats.
    vertices = [
        [-4.307754178339732e-298, 7.40069459124716e-298, -1.5326962957014087e-297],
        [7.525523075884847e-298, 2.2644183235421123e-298, -1.6382451145871717e-297],
        [7.201606704299558e-298, 1.1919090326541291e-297, -3.8200751213361136e-299],
        [8.536405401654403e-298, 1.1678021021308678e-297, -2.4864639302132133e-297],
        [-2.2889600288941926e-297, 4.233045565907764e-298, -6.759754692307964e-298],
    ]
    box_at = [8.156117085499252e-296, -1.7049732821605823e-296, -1.2108100529649543e-295]
    mesh_at = [8.22788305993569e-296, -1.7473013983795965e-296, -1.1981867295578214e-295]
    box = bp.Shapes([bp.Box(1e-309, 5e-310, 1e-312)], [box_at])
    mesh = bp.Mesh(vertices, [[0, 1, 2], [2, 3, 4]])
    for step in (0.0, *np.linspace(-1e-297, 1e-297, 20)):
        placed = bp.Shapes([mesh], [np.add(mesh_at, step)])
        assert len(bp.overlaps(box, placed)) == len(bp.overlaps(placed, box)), step


def test_triangles_that_are_lines_up_to_rounding_do_not_touch_one_behind_the_other():
    first = [[0.73, -0.34, 0.99], [0.8099999999999999, -0.18, 1.23], [0.9299999999999999, 0.06, 1.5899999999999999]]
    second = [[1.27, 0.74, 2.61], [1.31, 0.82, 2.73], [1.59, 1.3800000000000003, 3.57]]
    shapes = bp.Shapes([bp.Triangle(first), bp.Triangle(second)], np.zeros((2, 3)))
    assert len(bp.overlaps(shapes)) == 0
    apart = np.linalg.norm(np.subtract(second[0], first[2]))
    np.testing.assert_allclose(bp.distance(shapes, pairs=[[0, 1]]), apart, atol=1e-12)


def test_polygon_with_an_edge_of_almost_no_length_overlaps_a_disc():
    sliver = [[0, 0], [0, 5e-324], [0.05, 0.0375], [4.49254901803, 3.36941176512], [4.49255065363, 3.36941300022]]
    shapes = bp.Shapes([bp.ConvexPolygon(sliver), bp.Circle(1.904)], [[0, 0], [4.938, 3.703]])
    assert bp.overlaps(shapes).tolist() == [[0, 1]]
