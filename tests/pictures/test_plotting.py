"""`bp.plot`: everything is drawn, where it is, and in the right colour."""

import numpy as np
import pytest

import broadphase as bp
from cases import run_script
from index_cases import CAPABILITIES, CLASSES

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

from matplotlib import pyplot  # noqa: E402  # after the backend is chosen
from matplotlib.collections import EllipseCollection, LineCollection, PolyCollection  # noqa: E402
from matplotlib.colors import to_hex  # noqa: E402

from broadphase.plotting import ink  # noqa: E402
from broadphase.plotting.pieces import edges_of, hull_faces, unit_form  # noqa: E402

BOXES = np.array([[[0, 0], [2, 2]], [[1, 1], [3, 3]], [[5, 0], [6, 1]]], np.float64)

DRAWN = [name for name in CLASSES if "outline" in CAPABILITIES[name]]  # those that have cells


@pytest.fixture(autouse=True)
def close_figures():
    yield
    pyplot.close("all")


def parts(axes, kind):
    return [part for part in axes.collections if type(part) is kind]


def colours(axes):
    return {to_hex(part.get_facecolor()[0]) for part in axes.collections if len(part.get_facecolor())}


def all_kinds_2d():
    capsule = bp.Capsule((-1, 0), (1, 0), 0.5)
    hexagon = [[np.cos(turn), np.sin(turn)] for turn in np.arange(6) * np.pi / 3]
    compound = bp.Compound([bp.Circle(0.4, offset=(0, 1)), bp.Rectangle(2, 1)])
    kinds = [bp.Circle(1), capsule, bp.Rectangle(2, 1), bp.Rectangle(2, 1), bp.ConvexPolygon(hexagon), compound]
    return [*kinds, bp.Triangle([[0, 0], [1, 0], [0, 1]]), bp.Segment((0, 0), (1, 1)), bp.Point()]


def all_kinds_3d():
    compound = bp.Compound([bp.Sphere(0.4, offset=(0, 1, 0)), bp.Box(2, 1, 1)])
    points = np.random.default_rng(1).normal(size=(20, 3))
    kinds = [bp.Sphere(1), bp.Capsule((0, 0, -1), (0, 0, 1), 0.5), bp.Box(2, 1, 1), bp.Box(2, 1, 1), compound]
    kinds += [bp.ConvexHull(points), bp.Mesh(np.eye(3), [[0, 1, 2]]), bp.Triangle(np.eye(3))]
    return [*kinds, bp.Segment((0, 0, 0), (1, 1, 1)), bp.Point()]


def test_import_of_the_package_does_not_import_matplotlib():
    assert run_script("import sys, broadphase; print('matplotlib' in sys.modules)").strip() == "False"


def test_boxes_are_drawn_where_they_are():
    axes = bp.plot(BOXES)
    outlines = [path.get_extents().get_points() for part in parts(axes, PolyCollection) for path in part.get_paths()]
    assert sorted(outline.tolist() for outline in outlines) == sorted(BOXES.tolist())
    assert axes.get_aspect() == 1.0


def test_pairs_colour_overlapping_boxes_and_draw_lines_on_request():
    assert colours(bp.plot(BOXES)) == {ink.TOUCHING, ink.APART}
    assert not parts(bp.plot(BOXES), LineCollection)
    assert colours(bp.plot(BOXES, pairs=False)) == {ink.APART}
    lines = parts(bp.plot(BOXES, pairs=True), LineCollection)[0]
    assert [line.tolist() for line in lines.get_segments()] == [[[1, 1], [2, 2]]]
    lines = parts(bp.plot(BOXES, pairs=[[0, 2]]), LineCollection)[0]
    assert [line.tolist() for line in lines.get_segments()] == [[[1, 1], [5.5, 0.5]]]


def test_pairs_of_unknown_rows_or_shape_raise():
    with pytest.raises(ValueError, match="row 9 does not exist"):
        bp.plot(BOXES, pairs=[[0, 9]])
    with pytest.raises(ValueError, match=r"shape \(m, 2\)"):
        bp.plot(BOXES, pairs=[0, 1])


@pytest.mark.parametrize("name", DRAWN)
def test_cells_of_an_index_are_drawn_by_level(name):
    lower = np.random.default_rng(3).random((60, 2))
    index = getattr(bp, name)((lower, lower + 0.05))
    outline = index.outline()
    cells = [part for part in parts(bp.plot(index, cells=True), PolyCollection) if part.get_zorder() == 3]
    assert [len(part.get_paths()) for part in cells] == np.bincount(outline.level)[::-1].tolist()
    deepest = int(outline.level.max())
    cells = [part for part in parts(bp.plot(index, cells=deepest), PolyCollection) if part.get_zorder() == 3]
    assert [len(part.get_paths()) for part in cells] == [np.count_nonzero(outline.level == deepest)]
    with pytest.raises(ValueError, match="level 99 does not exist"):
        bp.plot(index, cells=99)


@pytest.mark.parametrize("kind", [bp.Octree, bp.LinearTree])
def test_numbers_in_z_order_are_written_into_the_cells_of_a_small_tree(kind):
    lower = np.random.default_rng(4).random((20, 2)) * 60
    options = {"minimum": 1, "leaf_capacity": 2, "looseness": 1} if kind is bp.Octree else {"depth": 3}
    tree = kind((lower, lower + 1), **options)
    outline, cells = tree.outline(), tree.cells()
    written = sorted(int(text.get_text()) for text in bp.plot(tree, cells=True).texts)
    listed = set(zip(cells.level.tolist(), cells.number.tolist(), strict=True))
    assert len(written) == len(outline.level)
    assert set(written) <= {number for _, number in listed}
    if kind is bp.Octree:
        assert written == sorted(cells.number.tolist())
    many = np.random.default_rng(4).random((3000, 2))
    assert not bp.plot(kind((many, many + 0.001)), cells=True).texts


@pytest.mark.parametrize("axis", [0, 1, (1.0, -2.0), (-1.0, 0.3)])
def test_axis_of_a_sweep_has_a_mark_for_each_end_and_its_voids_beside_the_picture(axis):
    boxes = np.array([[0, 0, 2, 2], [1, 1, 3, 3], [8, 8, 9, 9], [np.inf, 0, np.inf, 1]], np.float64)[:3]
    sweep = bp.SweepAndPrune(boxes, axis=axis)
    voids, line, begins, ends = (
        np.array(part.get_segments()) for part in parts(bp.plot(sweep, cells=True), LineCollection)[-4:]
    )
    assert (len(voids), len(line), len(begins), len(ends)) == (len(sweep.void_borders), 1, 3, 3)
    across = np.array([-sweep.direction[1], sweep.direction[0]])
    level = line[0] @ across
    assert np.allclose(level[0], level[1])
    beside = boxes.reshape(-1, 2) @ across - level[0]
    assert (beside > 0).all() or (beside < 0).all()
    marks = np.concatenate([begins, ends])[:, 0] @ sweep.direction
    assert np.allclose(np.sort(marks), sweep.delimiters().values)
    assert np.allclose(np.sort((voids @ sweep.direction).ravel()), np.sort(sweep.void_borders.ravel()))


def test_index_with_removed_rows_draws_the_remaining_ones():
    index = bp.BVH(BOXES)
    index.remove(0)
    axes = bp.plot(index, labels=True)
    assert [text.get_text() for text in axes.texts] == ["1", "2"]
    assert colours(axes) == {ink.APART}


def test_cells_of_boxes_raise_and_suggest_an_index():
    with pytest.raises(TypeError, match=r"bp\.BVH"):
        bp.plot(BOXES, cells=True)


def test_world_draws_its_shapes_and_touching_pairs():
    world = bp.World(dim=2, bounds=[[-9, -9], [9, 9]], boundary="bounce")
    world.add_many(bp.Circle([1, 2]), [[0, 0], [2, 0]])
    world.add(bp.Rectangle(1, 4), position=(6, 0), body_type="static")
    assert colours(bp.plot(world)) == {ink.APART, ink.STATIC}
    world.step()
    axes = bp.plot(world, contacts=True, legend=True, title="three")
    discs = parts(axes, EllipseCollection)
    assert [to_hex(disc.get_facecolor()[0]) for disc in discs] == [ink.TOUCHING]
    assert discs[0].get_offsets().tolist() == [[2, 0], [0, 0]]  # the larger one below
    assert axes.get_xlim()[0] <= -9
    assert axes.get_title(loc="left") == "three"
    labels = [text.get_text() for text in axes.figure.legends[0].get_texts()]
    assert labels == ["touching", "static", "contacts"]
    assert bp.plot(world, legend=True, ax=axes).get_legend() is not None


def test_rotated_shapes_are_drawn_rotated_and_aabbs_are_not():
    quarter = bp.Shapes([bp.Rectangle(4, 2), bp.AABB((4, 2), offset=(5, 0))], [[0, 0], [0, 0]], np.pi / 2)
    outlines = [path.get_extents() for part in parts(bp.plot(quarter), PolyCollection) for path in part.get_paths()]
    assert sorted((round(outline.width, 9), round(outline.height, 9)) for outline in outlines) == [(2, 4), (4, 2)]
    assert sorted(round(outline.y0, 9) for outline in outlines) == [-2, 4]


@pytest.mark.parametrize(("dimension", "kinds"), [(2, all_kinds_2d()), (3, all_kinds_3d())])
def test_every_shape_lies_within_its_box(dimension, kinds, tmp_path):
    rng = np.random.default_rng(5)
    turns = rng.normal(size=len(kinds)) if dimension == 2 else rng.normal(size=(len(kinds), 4))
    shapes = bp.Shapes(kinds, rng.normal(size=(len(kinds), dimension)) * 3, turns)
    from broadphase.plotting.pieces import pieces_of

    pieces = pieces_of(shapes).placed(shapes.positions, shapes.rotations)
    assert set(pieces.rows.tolist()) == set(range(len(kinds)))
    reach = np.full((len(kinds), 2, dimension), [[np.inf], [-np.inf]])
    for form, which in pieces.by_form():
        for row, corners in zip(pieces.rows[which], pieces.vertices(form, which), strict=True):
            reach[row] = np.minimum(reach[row, 0], corners.min(axis=0)), np.maximum(reach[row, 1], corners.max(axis=0))
    sizes = shapes.boxes[:, 1] - shapes.boxes[:, 0]
    assert (reach[:, 0] >= shapes.boxes[:, 0] - 1e-9).all()
    assert (reach[:, 1] <= shapes.boxes[:, 1] + 1e-9).all()
    # Round shapes are polygons here, and the boxes of hulls and meshes are those of their rotated bounds.
    is_tight = np.array([not isinstance(shape, bp.ConvexHull | bp.Mesh) for shape in kinds])
    assert (reach[:, 1] - reach[:, 0] >= 0.93 * sizes - 1e-9)[is_tight].all()
    axes = bp.plot(shapes, pairs=False)
    axes.figure.savefig(tmp_path / "shapes.svg")
    axes.figure.savefig(tmp_path / "shapes.png")


@pytest.mark.parametrize("as_index", [False, True])
def test_rays_end_where_they_hit(as_index):
    rays = ([[-1, 0.5], [-1, 9]], [[2, 0], [1, 0]])
    axes = bp.plot(bp.BVH(BOXES) if as_index else BOXES, rays=rays)
    ways = [line.tolist() for part in parts(axes, LineCollection) for line in part.get_segments()]
    assert ways[0] == [[-1, 0.5], [0, 0.5]]
    assert len(ways) == 2
    shapes = bp.Shapes(bp.Circle(1), [[0, 0], [4, 0]])
    ways = [line.tolist() for part in parts(bp.plot(shapes, rays=([9, 0], [-1, 0])), LineCollection)
            for line in part.get_segments()]  # fmt: skip
    assert ways == [[[9, 0], [5, 0]]]


@pytest.mark.parametrize("option", ["cells", "pairs", "contacts", "rays"])
def test_space_is_drawn_into_3d_axes(option, tmp_path):
    world = bp.World(dim=3, method="octree")
    world.add_many(bp.Box(2, 2, 2), np.random.default_rng(1).random((20, 3)) * 9)
    world.step()
    given = {"rays": ([[-3, 4, 4]], [[1, 0, 0]])}.get(option, True)
    axes = bp.plot(world, labels=True, legend=True, **{option: given})
    assert axes.name == "3d"
    axes.figure.savefig(tmp_path / "space.png")
    assert len(bp.plot(np.zeros((4, 6))).collections) == 1


def test_given_axes_are_drawn_into():
    _, axes = pyplot.subplots()
    assert bp.plot(BOXES, ax=axes) is axes
    with pytest.raises(ValueError, match="projection"):
        bp.plot(np.zeros((1, 6)), ax=axes)


@pytest.mark.parametrize("nothing", [np.empty((0, 4)), bp.World(2), bp.BVH(np.empty((0, 2, 2)))], ids=["a", "b", "c"])
def test_empty_input_is_an_empty_picture(nothing, tmp_path):
    bp.plot(nothing, pairs=True).figure.savefig(tmp_path / "nothing.svg")


def test_boxes_with_four_axes_raise():
    with pytest.raises(ValueError, match="4-dimensional"):
        bp.plot(np.zeros((1, 8)))


def test_hull_faces_enclose_all_points():
    points = np.random.default_rng(2).normal(size=(200, 3))
    faces = hull_faces(points)
    a, b, c = (points[faces[:, place]] for place in range(3))
    normals = np.cross(b - a, c - a)
    assert (np.einsum("fd,pd->fp", normals, points) <= (normals * a).sum(axis=1)[:, None] + 1e-9).all()
    assert len(faces) == 2 * len(np.unique(faces)) - 4  # Euler
    cube = unit_form("box", 3)
    assert len(hull_faces(cube.vertices)) == len(cube.faces)


@pytest.mark.parametrize("size", [(10, 10), (30, 10), (10, 40), (9, 9, 9)])
def test_legend_and_labels_of_axes_lie_within_the_picture(size):
    lower = np.random.default_rng(7).random((20, len(size))) * size
    figure = bp.plot((lower, lower + 1), pairs=True, labels=True, legend=True, title="boxes").figure
    figure.canvas.draw()
    width, height = figure.get_size_inches()
    room = figure.legends[0].get_window_extent().transformed(figure.dpi_scale_trans.inverted())
    assert room.x1 <= width
    assert room.y0 >= 0
    if len(size) == 2:
        drawn = figure.get_tightbbox()
        assert drawn.x0 >= 0
        assert drawn.y0 >= 0
        assert drawn.x1 <= width
        assert drawn.y1 <= height


@pytest.mark.parametrize("dim", [2, 3])
def test_row_numbers_are_above_the_lines_of_pairs_and_have_a_border(dim):
    boxes = np.stack([np.zeros((3, dim)), np.ones((3, dim))], axis=1)
    axes = bp.plot(boxes, pairs=True, labels=True)
    numbers = [text for text in axes.texts if text.get_text().isdigit()]
    assert len(numbers) == 3
    assert all(text.get_path_effects() for text in numbers)
    others = [piece.get_zorder() for piece in axes.collections]
    assert min(text.get_zorder() for text in numbers) > max(others)
    dots = len(axes.collections)
    assert len(bp.plot(boxes, pairs=True).collections) == dots + 1  # where no number is, a dot ends a line


INF, HUGE = np.inf, 1.7e308
LARGE_BOXES = {
    "one endless": [[-INF, 0, INF, 1]],
    "all of the plane": [[-INF, -INF, INF, INF]],
    "endless and others": [[-INF, 0, INF, 1], [0, 0, 1, 1], [3, -INF, 4, 2]],
    "huge": [[-HUGE, 0, HUGE, 1]],
    "huge and others": [[-HUGE, -HUGE, HUGE, HUGE], [0, 0, 1, 1]],
    "far away": [[HUGE / 2, 0, HUGE, 1], [0, 0, 1, 1]],
    "a place at infinity": [[INF, INF, INF, INF], [0, 0, 1, 1]],
    "large": [[-1e99, -1e99, 1e99, 1e99], [0, 0, 1, 1]],
    "all equal": [[2, 3, 4, 5]] * 5,
    "one point": [[2, 3, 2, 3]],
    "tiny": [[0, 0, 5e-324, 5e-324]],
}


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("kind", [np.array, *(getattr(bp, name) for name in DRAWN)])
@pytest.mark.parametrize("name", LARGE_BOXES)
def test_boxes_of_any_size_are_drawn_within_the_picture(name, kind, dim, tmp_path):
    boxes = np.array(LARGE_BOXES[name], float).reshape(-1, 2, 2)
    if dim == 3:
        boxes = np.concatenate([boxes, boxes[..., :1]], axis=2)
    what = kind(boxes)
    cells = kind is not np.array and bool(len(what.outline().level))
    ax = bp.plot(what, pairs=True, cells=cells, labels=True)
    ax.figure.savefig(tmp_path / "boxes.png")
    for axis in "xyz"[:dim]:
        low, high = getattr(ax, f"get_{axis}lim")()
        assert np.isfinite([low, high]).all()
        assert low < high
        known = boxes[..., "xyz".index(axis)]
        known = known[np.abs(known) < 1e100]
        assert not len(known) or (low <= known.min() and known.max() <= high)


def test_endless_box_covers_the_picture():
    ax = bp.plot([[-INF, 0, INF, 1], [2, 0, 5, 4]])
    corners = np.concatenate([path.vertices for path in ax.collections[0].get_paths()])
    low, high = ax.get_xlim()
    assert corners[:, 0].min() <= low
    assert corners[:, 0].max() >= high


def test_box_with_nan_is_named_by_its_row():
    with pytest.raises(bp.errors.InvalidBoxError, match=r"row 1.*NaN"):
        bp.plot([[0, 0, 1, 1], [0, np.nan, 1, 1]], pairs=False)


def test_rays_at_endless_boxes_end_where_they_hit(tmp_path):
    ax = bp.plot([[-INF, 5, INF, INF]], rays=([[0, 0], [1, 9]], [[0, 1], [1, 0]]))
    ax.figure.savefig(tmp_path / "rays.png")
    assert np.isfinite([*ax.get_xlim(), *ax.get_ylim()]).all()


@pytest.mark.parametrize("d", [2, 3])
def test_edges_of_a_box_are_all_its_edges(d):
    lines = edges_of(np.array([[[0.0] * d, [1, 2, 3][:d]]]))
    assert lines.shape == (4 if d == 2 else 12, 2, d)
    lengths = np.abs(lines[:, 1] - lines[:, 0])
    assert ((lengths > 0).sum(axis=1) == 1).all()
    assert lengths.sum() == {2: 6, 3: 24}[d]
    assert len(np.unique(np.sort(lines, axis=1).reshape(len(lines), -1), axis=0)) == len(lines)
