"""Defects of contacts that were found once: each test failed before its defect was mended."""

import numpy as np
import pytest

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


def test_triangle_a_billionth_as_high_as_long_meets_a_point_with_its_sharp_corner_on_time():
    corners = [
        [0.48823529411764699, 0.48823529374203645, 0.48823529411764699],
        [0.49038701481126074, 0.49038701443730554, 0.49038701481291608],
        [0.49021373922757339, 0.49021373885196284, 0.49021373922757339],
    ]
    motion = [-0.27650769894874927, -0.27650769830007638, -0.27650769894874927]
    shapes = bp.Shapes([bp.Triangle(corners), bp.Point()], [[0, 0, 0], [0.328125] * 3])
    found = bp.time_of_impact(shapes, pairs=[[0, 1]], motions=motion)
    np.testing.assert_allclose(found.times, 0.57904465, atol=1e-8)  # it was 9e-8 too early


def test_polygon_with_an_edge_of_almost_no_length_overlaps_a_disc():
    sliver = [[0, 0], [0, 5e-324], [0.05, 0.0375], [4.49254901803, 3.36941176512], [4.49255065363, 3.36941300022]]
    shapes = bp.Shapes([bp.ConvexPolygon(sliver), bp.Circle(1.904)], [[0, 0], [4.938, 3.703]])
    assert bp.overlaps(shapes).tolist() == [[0, 1]]


def test_triangle_that_slides_past_a_point_along_its_edge_meets_it_before_it_has_passed():
    corners = [
        [0.40081800745765189, 1.2444767145309701],
        [-0.30628877372889568, 0.53736993334442251],
        [-0.080795064470765399, 0.8920168301557837],
    ]
    shapes = bp.Shapes([bp.Triangle(corners[::-1]), bp.Point()], [[0, 0], [-0.029422523538091716, 0.81423618353519622]])
    motion = [-0.70710678118662562, -0.70710678118667536]
    time = bp.time_of_impact(shapes, pairs=[[0, 1]], motions=motion).times[0]
    assert 0.6082 < time < 0.60846  # in fractions, they touch from 0.608259 to 0.608452; 0.609177 was found


def impact(first, second, motion, dim):
    return bp.time_of_impact(bp.Shapes([first, second], np.zeros((2, dim))), pairs=[[0, 1]], motions=motion)


def test_circle_that_slides_along_a_segment_meets_it_before_it_has_passed():
    segment = bp.Segment([-39084.7224711811, 588973.86669639393], [-39084.78868573199, 588974.86450180248])
    circle = bp.Circle(0.40396105241566477, offset=[-0.72940762113818391, 0.2483041513312475])
    found = impact(segment, circle, [61792.827438568456, -931173.23306624265], 2)
    assert 0.632507 < found.times[0] < 0.6325081  # while it slides; 0.6325085 was found, 0.17 beyond


def test_normal_of_an_impact_far_from_the_origin_is_not_that_of_rounding():
    first = bp.Capsule([148030895.6701259, 5835412697.6171904], [148030895.6701259, 5835412696.6171904], 1.7e-16)
    second = bp.Capsule([148030895.55034173, 5835412696.3246593], [148030895.17140418, 5835412695.3992367], 1.3e-9)
    found = impact(first, second, [-0.37893739534196041, -0.9254223092250643], 2)
    np.testing.assert_allclose(found.normals[0], [-1, 0], atol=1e-6)  # it was (-0.06, 1), against the motion


def test_shapes_that_touch_but_for_rounding_have_the_normal_of_their_distance():
    circle = bp.Circle(1.1584293005621236, offset=[-1.3297705579388499, -0.53522870062877126])
    end = np.array([0.23942807028639262, -0.43894669284428406])
    found = impact(circle, bp.Capsule(end, -end, 0.26526502664266954), [4.97474622432e-09, -9.07016725477e-09], 2)
    np.testing.assert_allclose(found.times, 0)
    np.testing.assert_allclose(found.normals[0], [0.87789338, 0.47885614], atol=1e-7)  # it was that of the motion


def test_point_that_grazes_a_ball_meets_it_where_it_is():
    point = bp.Point(offset=[0.55162797441216027, 0.014982071343381791, -0.098921460220222801])
    ball = bp.Sphere(0.45772348727425755, offset=[0.093904487137902684, 0.014982071343381791, -0.098921460220222801])
    time = impact(point, ball, [-8.5649027482702497e-11, 796279.33935028093, 536572.61257063269], 3).times[0]
    assert time < 1e-12 or time == np.inf  # 1.3e-6 was found, 0.87 from the ball


def test_point_that_meets_the_end_of_a_segment_has_the_rest_of_it_in_front():
    begin = np.array([-0.81197465823040205, 0.020687186566847468, 1.0251877261238005])
    end = np.array([-0.51914640326901818, -0.14783774738923267, 0.08399116868674239])
    point = bp.Point(offset=[-1.4765070953833579, 0.021673864784939129, 0.31792773815048792])
    motion = [0.95736069211433961, -0.16951161217417179, -0.23393656946374555]
    found = impact(point, bp.Segment(begin, end), motion, 3)
    assert found.normals[0] @ (begin - end) > -1e-9  # it was -0.53


def test_capsule_beside_the_face_of_a_box_touches_it_at_the_edge_that_is_near():
    # An end is 1e-10 outside a side of the face: the normal is nearly that of the face, and no part is below it.
    box, capsule = bp.AABB([2, 2, 2]), bp.Capsule([1 + 1e-10, 0.4, 1.1], [2, 0.4, 1.5], 0.3)
    found = bp.contacts(bp.Shapes([box, capsule], np.zeros((2, 3))))
    assert found.counts.tolist() == [1]
    np.testing.assert_allclose(found.points[0, 0], [1, 0.4, 0.9], atol=1e-3)  # it was another edge


def test_ray_past_the_border_of_a_hull_hardly_thicker_than_rounding_misses_it():
    corners = np.array([[-0.38, -7, 0.41], [0.02, -6.7, -0.12], [-0.01, 8.1, -0.36], [-0.24, 5.5, -0.12]]) * [
        1,
        1e-12,
        1,
    ]
    hull = bp.Shapes([bp.ConvexHull(corners)], [[0, 0, 0]])
    origin = np.array([-437.44736948490737, -9424.605527914633, 2017.5374773554054])
    direction = np.array([0.046388502156589406, 1.0, -0.21402941588664692])
    assert bp.raycast(hull, [origin], [direction], rows=[0]).rows.tolist() == [-1]  # it was 0.09 beside


def test_contact_of_a_compound_that_touches_but_for_rounding_is_never_of_negative_depth():
    # The disc touches the box by squares, and is 1e-16 from it by roots; the point is as far away, and comes first.
    disc = bp.Circle(0.7380193433228347, offset=[2.114932633280905, 2.7290151170763094])
    box, point = bp.AABB([2, 2], offset=[1, 1]), bp.AABB([0, 0], offset=[-1.1102230246251565e-16, 1])
    found = bp.contacts(bp.Shapes([bp.Compound([point, disc]), box], np.zeros((2, 2))))
    assert found.counts.tolist() == [1]
    np.testing.assert_array_equal(found.depths, [0])  # it was -1.1e-16


def test_point_that_slides_along_a_polygon_with_an_edge_of_almost_no_length_meets_it():
    sliver = bp.ConvexPolygon([[0, 0], [5e-324, 0], [0.05, 0.0375], [2.05, 1.5375000040326172]])
    start = np.array([3.2, 2.4000000033249496])
    time = impact(bp.Point(offset=start), sliver, -start, 2).times[0]
    np.testing.assert_allclose(time, 0.9677621783, atol=1e-9)  # it was 0.5, the quotient of two numbers of 5e-324


@pytest.mark.parametrize("tiny", [1.7e-162, 2.5e-162, 1e-160])
def test_edge_whose_squared_length_is_lost_to_rounding_decides_nothing(tiny):
    polygon, disc = bp.ConvexPolygon([[0, 0], [tiny, 0], [1, 1], [-1, 1]]), bp.Circle(1, offset=[0, -3])
    shapes = bp.Shapes([disc, polygon, bp.Circle(1, offset=[0, -0.5])], np.zeros((3, 2)))
    np.testing.assert_allclose(bp.distance(shapes, pairs=[[0, 1], [2, 1]]), [2, -0.5])  # 1.3 was found
    np.testing.assert_allclose(impact(disc, polygon, [0, 4], 2).times, [0.5])  # 0.53 was found
    np.testing.assert_allclose(bp.contacts(shapes, pairs=[[2, 1]]).points[0, 0], [0, 0.25])


def test_polygon_with_an_edge_of_the_smallest_number_overlaps_what_reaches_into_it():
    # Beside that edge, products are whole multiples of 5e-324: the other seemed farther outside than its own corners.
    dented = bp.ConvexPolygon([[0, 0], [5e-324, 5e-324], [1.4, 1.1], [0, 1]])
    shapes = bp.Shapes([dented, bp.ConvexPolygon([[0.6, 0.48], [0.6, -1], [3, -1]])], np.zeros((2, 2)))
    assert bp.overlaps(shapes).tolist() == [[0, 1]]
    np.testing.assert_allclose(bp.distance(shapes, pairs=[[0, 1]]), -0.00674, atol=1e-5)


def test_contact_of_a_steep_capsule_beside_a_face_is_below_its_end():
    # The end is 0.0003 beside the face, so that the normal leans by less than a thousandth; the capsule was cut off at
    # the face's side, and its deepest point lost.
    end = np.array([-0.155, -0.0054, -0.03])
    lower, upper = np.array([-1.02, -0.0051, -0.044]), np.array([-0.537, 0.4545, 0.9078])
    capsule = bp.Shapes([bp.Capsule([0, 0, 0], end, 0.89)], [[0, 0, 0]])
    box = bp.Shapes([bp.Box(*(upper - lower))], [(lower + upper) / 2])
    between = np.array([upper[0], lower[1], end[2]]) - end
    normal, apart = between / np.linalg.norm(between), np.linalg.norm(between)
    for first, second, sign in ((capsule, box, 1), (box, capsule, -1)):
        found = bp.contacts(first, second)
        np.testing.assert_allclose(found.normals[0], sign * normal, atol=1e-9)
        np.testing.assert_allclose(found.depths[0], 0.89 - apart, atol=1e-12)
        np.testing.assert_allclose(found.points[0, 0], end + normal * (0.89 + apart) / 2, atol=1e-9)


def test_contact_of_a_capsule_that_lies_beyond_the_end_of_an_edge_is_at_both_ends():
    # Capsule and edge are parallel but for 0.0014 rad, and the lines cross far beyond both: the contact was there, 0.3
    # from the box.
    size = np.array([1.441796008407392, 1.8359377855088408, 1.6004021867514442])
    box = bp.Shapes([bp.AABB(size)], [[0, 0, 0]])
    start = [0.7199449994203543, 2.1915230643425128, 0.9178141817433187]
    end = [0.721198004203696, 0.9179688937544204, 0.9165406269563373]
    capsule = bp.Shapes([bp.Capsule(start, end, 0.2925)], [[0, 0, 0]])
    for first, second in ((capsule, box), (box, capsule)):
        found = bp.contacts(first, second)
        np.testing.assert_allclose(found.points[0, 0, :2], size[:2] / 2, atol=1e-3)


def test_contact_of_a_capsule_above_the_corner_of_a_triangle_is_there():
    # The normal leans by 0.0015: the long side, which ends far from the corner, was taken for the outermost.
    corners = np.array([[0.36356, 0.98099, 0.7219], [-0.36356, 0.98099, 0.7219], [0.36356, -0.98099, 0.7219]])
    capsule = bp.Capsule([-0.4439, 1.69345, 1.17982], [0.36456, 0.98099, 1.17972], 0.6355)
    found = bp.contacts(bp.Shapes([capsule, bp.Triangle(corners)], np.zeros((2, 3))))
    np.testing.assert_allclose(found.points[0, 0, :2], corners[0, :2], atol=2e-3)


@pytest.mark.parametrize("aside", [1e-9, -1e-9])
def test_contact_of_a_capsule_hardly_beside_the_corner_of_a_hull_is_there(aside):
    start = np.array([-0.1555131440019964, 0.9312359046643022, 0.9645167467525735])
    end = np.array([0.3784484391053267, 0.3055291161573844, 0.9645167467525735])
    x, y, z = end[0] - 1e-9, end[1] + aside, 0.7477
    hull = bp.ConvexHull([[x, y, z], [-x, y, z], [x, -y, z], [0, 0, -2 * z]])
    found = bp.contacts(bp.Shapes([bp.Capsule(start, end, 0.25661), hull], np.zeros((2, 3))))
    np.testing.assert_allclose(found.points[0, 0, :2], [x, y], atol=1e-8)  # it was below the middle of the capsule


@pytest.mark.parametrize("other", ["box", "triangle", "capsule", "hull"])
def test_contacts_of_capsules_just_beside_a_corner_are_where_both_are_deepest(other):
    # The end is above a corner but for as much as a hundredth, and the capsule flat, upright, or between these.
    rng, count, beyond = np.random.default_rng(0), 4000, 1e-5
    half = rng.uniform(0.25, 1, (count, 3))
    above = rng.uniform(0.05, 0.5, count)
    shift = rng.choice([0, 1e-12, 1e-9, 1e-6, 1e-4, 1e-3, 1e-2], (count, 2)) * rng.choice([-1, 1], (count, 2))
    end = half + np.column_stack([shift, above])
    way = np.column_stack([rng.normal(size=(count, 2)), rng.choice([0, 1e-4, 1e-3, 1e-2, 0.5, 3, 1e3], count)])
    start = end + rng.uniform(0.05, 2, (count, 1)) * way / np.linalg.norm(way, axis=1, keepdims=True)
    radius = above + rng.uniform(0.01, 0.3, count)
    far, near, deep = half * [-1, 1, 1], half * [1, -1, 1], half * [0, 0, -2]
    others = {
        "box": [bp.Box(*size) for size in 2 * half],
        "triangle": [bp.Triangle(corners) for corners in np.stack([half, far, near], axis=1)],
        "capsule": [bp.Capsule(*ends, 0.01) for ends in zip(half, far, strict=True)],
        "hull": [bp.ConvexHull(corners) for corners in np.stack([half, far, near, deep], axis=1)],
    }[other]
    nowhere = np.zeros((count, 3))
    capsules = bp.Shapes([bp.Capsule(*one) for one in zip(start, end, radius, strict=True)], nowhere)
    found = bp.contacts(
        capsules, others := bp.Shapes(others, nowhere), pairs=np.repeat(np.arange(count), 2).reshape(-1, 2)
    )
    rows = np.arange(len(found.depths))
    for shapes, side, which in ((capsules, 1, 0), (others, -1, 1)):
        out = found.points[:, 0] + side * found.normals * (found.depths / 2 + beyond)[:, np.newaxis]
        points = bp.Shapes([bp.Point()] * len(rows), out)
        left = bp.distance(points, shapes, pairs=np.column_stack([rows, found.pairs[:, which]]))
        assert left.min() > 0
        assert left.max() < (2e-4 if shapes is capsules else 2e-3)


def test_contacts_with_the_tip_of_a_very_narrow_triangle_are_not_beyond_it():
    # A triangle 6e-7 long and 2e-13 high on another one along the same line: what rounding may add to the place of a
    # side of the first, as far as its corners and those of the second are from 0, reached beyond its tip.
    at, tip, far = 0.876470588235294, 0.87647093555297306, 1.4538208574249198
    small = [[at] * 3, [tip, tip, 0.8764709355367496], [0.87647059274584294] * 3]
    long = [[at] * 3, [far] * 3, [0.87647093239174578, 0.87647093239174578, 0.87647093236051787]]
    shapes = bp.Shapes([bp.Triangle(small), bp.Triangle(long)], np.zeros((2, 3)))
    found = bp.contacts(shapes)
    points = found.points[0, : found.counts[0]]
    assert len(points) > 0
    pairs = [(k, 0) for k in range(len(points))]
    points = bp.Shapes([bp.Point()] * len(points), points)
    assert bp.distance(points, shapes, pairs=pairs).max() < 1e-9
