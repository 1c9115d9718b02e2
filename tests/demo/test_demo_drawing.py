"""What the demo draws: figures, solids, colours, lines, and where its cameras are."""

import re
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import broadphase as bp
from broadphase.demo import Simulation, drawing, meshes
from broadphase.demo.cameras import Cameras, matrix_of, viewpoint
from broadphase.demo.colours import (
    APART,
    BACKGROUND,
    CELLS,
    QUERIED,
    SELECTED,
    TOUCHING,
    colours_of_cells,
    css,
    faded,
    linear,
)
from broadphase.demo.drawing import cells_to_draw, sweep_lines
from broadphase.demo.panel import figures_html, summary_html
from broadphase.demo.scenes import SCENES, scene_named
from broadphase.methods import METHOD_NAMES

NAMES = [scene.name for scene in SCENES]
SMALL = {"boxes_10k": 500, "boxes_100k": 500, "clusters": 500}


def small(name, **options):
    return Simulation(name, count=SMALL.get(name), **options)


IDS = ("title", "text", "factor", "headline", "method", "why", "count", "broad", "narrow", "tests", "brute", "pairs")
IDS += ("hits", "events", "depth", "fps")


@pytest.mark.parametrize("method", ["auto", "brute_force", "octree"])
def test_html_shows_every_figure(method):
    simulation = Simulation("rectangles", method=method)
    simulation.tick()
    figures = simulation.figures()
    text = summary_html("<Title>", "a & b", figures, pages=1) + figures_html(figures, paused=True)
    for name in IDS:
        assert f'id="bp-{name}"' in text
    assert "&lt;Title&gt;" in text
    assert "a &amp; b" in text
    assert ("no test saved</p>" in text) == (method == "brute_force")
    assert "fewer tests" in text or method == "brute_force"
    assert ">paused<" in text
    assert 'id="bp-details"' not in text


def test_table_says_why_more_pairs_touch_than_were_tested():
    simulation = Simulation("machine_gun")
    for _ in range(60):
        simulation.tick()
    figures = simulation.figures()
    assert figures.hits > figures.exact_tests
    assert "two bodies that stood still keep their answer" in figures_html(figures, paused=False)
    alike = replace(figures, hits=figures.exact_tests)
    assert "stood still" not in figures_html(alike, paused=False)
    on_the_way = replace(figures, on_the_way=7)
    assert "7 were met on the way of a fast body" in figures_html(on_the_way, paused=False)


def test_page_says_how_many_pages_share_it_and_how_the_method_works():
    for method in METHOD_NAMES[1:]:
        simulation = Simulation("rectangles", method=method)
        simulation.tick()
        figures = simulation.figures()
        assert re.fullmatch(r"[A-Z][^.]+ (compared|them|again)( with every other one)?\.", figures.why), figures.why
        assert "pages show" not in summary_html("", "", figures, pages=1)
        assert "Drawn" not in summary_html("", "", figures)
        drawn = summary_html("", "", figures, drawn=True, link="a=1&b=2")
        structure = next(row.drawn for row in bp.METHODS if row.name == method)
        assert structure in drawn
        assert re.fullmatch(r"Drawn: [^.]+\.", structure)
        assert '<i hidden id="bp-link">a=1&amp;b=2</i>' in drawn
        assert "3 pages show this simulation" in summary_html("", "", figures, pages=3)


SOLIDS = {
    "box": meshes.box,
    "ball": lambda: meshes.ball(2),
    "coarse ball": lambda: meshes.ball(1),
    "capsule": meshes.capsule,
    "coarse capsule": lambda: meshes.capsule(0.4, 8),
    "knot": meshes.knot,
}


@pytest.mark.parametrize("name", SOLIDS)
def test_solids_are_closed_and_face_outwards(name):
    pytest.importorskip("trimesh")
    vertices, faces = SOLIDS[name]()
    assert (vertices.dtype, faces.dtype) == (np.float32, np.uint32)
    corners = vertices[faces].astype(float)
    _, same = np.unique(vertices.round(5), axis=0, return_inverse=True)
    edges = same.reshape(-1)[faces][:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)
    there, back = (set(map(tuple, way.tolist())) for way in (edges, edges[:, ::-1]))
    assert there == back
    volume = np.einsum("ij,ij->i", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])).sum() / 6
    assert volume > 0
    if name != "knot":
        np.testing.assert_allclose(vertices.max(axis=0), 0.5, atol=1e-6)
        np.testing.assert_allclose(vertices.min(axis=0), -0.5, atol=1e-6)
    else:
        assert np.abs(vertices).max() < 10


def test_capsule_is_straight_between_its_ends():
    pytest.importorskip("trimesh")
    x, y, z = meshes.capsule(share=0.3).vertices.T.astype(float)
    assert np.hypot(x, z)[np.abs(y) < 0.2 + 1e-6] == pytest.approx(0.5)
    ends = np.abs(y) > 0.2 + 1e-6
    assert ends.any()
    assert np.hypot(np.hypot(x, z) / 0.5, (np.abs(y) - 0.2) / 0.3)[ends] == pytest.approx(1)


@pytest.mark.parametrize("make", [meshes.tile, meshes.disc])
def test_flat_solids_have_no_face_below(make):
    pytest.importorskip("trimesh")
    vertices, faces = make()
    corners = vertices[faces].astype(float)
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert (normals[:, 2] >= -1e-9).all()
    assert normals[:, 2].max() > 0
    assert np.abs(vertices).max() == pytest.approx(0.5)


@pytest.mark.parametrize("settings", [{}, {"axis": 1}, {"axis": (1, 1)}])
def test_sweep_is_drawn_beside_the_scene_with_its_voids(settings):
    simulation = Simulation("rectangles", method=bp.SweepAndPrune.options(**settings), count=12)
    simulation.tick()
    stage, boxes = simulation.stage, simulation.stage.world.boxes
    sweep = simulation.examination(outline=True).sweep
    lines, colours = sweep_lines(stage, sweep)
    corners = np.array([[box[i, 0], box[j, 1]] for box in boxes for i in (0, 1) for j in (0, 1)]) @ sweep.direction
    spans = corners.reshape(-1, 4)
    np.testing.assert_allclose(sweep.ends, np.stack([spans.min(axis=1), spans.max(axis=1)], axis=1))
    order = np.argsort(sweep.ends[:, 0])
    begins, so_far = sweep.ends[order, 0], np.maximum.accumulate(sweep.ends[order, 1])
    gaps = np.flatnonzero(begins[1:] > so_far[:-1])
    assert len(gaps)
    np.testing.assert_allclose(sweep.voids, np.stack([so_far[gaps], begins[gaps + 1]], axis=1))
    blue, yellow, grey = (lines[(colours == one).all(axis=1)] for one in (QUERIED, SELECTED, APART))
    assert (len(blue), len(yellow), len(grey)) == (len(gaps) + 1, 2 * len(gaps), 12)
    covered = sum(np.linalg.norm(end - begin) for begin, end in blue)
    assert covered == pytest.approx(np.ptp(sweep.ends) - np.diff(sweep.voids).sum())
    outside = ((lines < stage.bounds[0]) | (stage.bounds[1] < lines)).any(axis=-1)
    assert outside.all()
    assert simulation.examination(outline=True).outline is not None


def test_cells_with_bodies_come_first_and_deep_ones_are_brightest(monkeypatch):
    boxes = np.array([[[0, 0], [8, 8]], [[0, 0], [4, 4]], [[4, 4], [8, 8]], [[8, 8], [8, 9]], [[1, 1], [2, 2]]], float)
    kept, strength = cells_to_draw(boxes, np.array([0, 1, 1, 1, 2], np.int32), np.array([1, 4, 4, -1]))
    assert kept.tolist() == [2, 0, 4, 1]
    assert strength[2] > strength[3] > strength[0] == strength[1]
    monkeypatch.setattr(drawing, "MOST_CELLS", 2)
    assert cells_to_draw(boxes, np.array([0, 1, 1, 1, 2], np.int32), np.array([1, 4, 4, -1]))[0].tolist() == [4, 1]
    assert cells_to_draw(boxes[:0], np.empty(0, np.int32), np.empty(0, np.int64))[0].tolist() == []
    ends = faded(np.array([[255, 255, 255], TOUCHING], np.uint8), np.array([0.0, 1.0]))
    assert ends.tolist() == [list(BACKGROUND), list(TOUCHING)]


def test_colours_of_neighbouring_cells_differ():
    colours = colours_of_cells(np.array([-1, 0, 1, 2, 3]))
    assert colours[0].tolist() == list(APART)
    assert all(colour in CELLS.tolist() for colour in colours[1:].tolist())
    assert len(np.unique(colours_of_cells(np.arange(64)), axis=0)) > 4
    assert css(TOUCHING) == "#d55e00"
    assert linear(np.array([0, 255, 128], np.uint8)).tolist() == [0, 255, 55]


@pytest.mark.parametrize("name", [scene.name for scene in SCENES if scene.camera in ("still", "orbit")])
@pytest.mark.parametrize("aspect", [0.5, 2.0])
def test_viewpoint_sees_the_whole_world(name, aspect):
    scene, stage = scene_named(name), small(name).stage
    half = stage.extent * stage.scale / 2
    corners = np.array(list(np.ndindex(2, 2, 2))) * 2 * half - half
    for angle in np.linspace(0, 7, 5):
        looking = SimpleNamespace(fov=1.3, aspect=aspect, up_direction=(0, 1, 0))
        looking.position, looking.look_at = viewpoint(scene.camera, stage, angle, looking)
        seen = np.c_[corners, np.ones(8)] @ matrix_of(looking).T
        assert (np.abs(seen[:, :2] / seen[:, 3:]) <= 1.1).all()
        assert (seen[:, 3] > 0).all()


def test_near_camera_orbits_on_the_same_path_within_reach_of_the_swarms():
    stage, looking = small("clusters").stage, SimpleNamespace(fov=1.3, aspect=1.5)
    for angle in np.linspace(0, 7, 5):
        near, far = (viewpoint(path, stage, angle, looking)[0] for path in ("near", "orbit"))
        np.testing.assert_allclose(np.cross(near, far), 0.0, atol=1e-9)
        assert 0.5 < np.linalg.norm(near) / np.linalg.norm(far) < 0.9


def test_flying_camera_begins_behind_the_gun_and_looks_back_at_it_from_the_far_end():
    stage = Simulation("machine_gun").stage
    muzzle = stage.to_view([100.0, 150.0, 6.0]).astype(float)
    ahead = np.array([0.0, 0.0, 1.0])
    for angle, way in ((0.0, 1), (np.pi, -1)):
        place, target = viewpoint("fly", stage, angle, None)
        looking = (target - place) / np.linalg.norm(target - place)
        assert looking @ ahead * way > 0.9
        to_muzzle = (muzzle - place) / np.linalg.norm(muzzle - place)
        assert way == 1 or looking @ to_muzzle > 0.95
    assert abs(viewpoint("fly", stage, 0.0, None)[0] - muzzle).max() < 0.5


def test_flying_camera_stays_within_and_turns_smoothly():
    stage = Simulation("machine_gun").stage
    half = stage.extent * stage.scale / 2
    path = [viewpoint("fly", stage, angle, None) for angle in np.linspace(0, 4 * np.pi, 2000)]
    places, targets = (np.array(part) for part in zip(*path, strict=True))
    assert (np.abs(places) <= half).all()
    ahead = (targets - places) / np.linalg.norm(targets - places, axis=1, keepdims=True)
    assert (ahead[1:] * ahead[:-1]).sum(axis=1).min() > 0.99
    assert np.abs(np.diff(places, axis=0)).max() < 0.05


def test_camera_looks_at_a_new_scene_whatever_the_browser_reported_before():
    viser = pytest.importorskip("viser")
    sent = []

    def send(message):
        # The browser reports where it looked before this came.
        sent.append(message)
        camera._state.look_at = before.copy()

    client = SimpleNamespace(
        atomic=nullcontext, client_id=0, _websock_connection=SimpleNamespace(queue_message=send), camera=None
    )
    client.camera = camera = viser.CameraHandle(client)
    camera._state.fov, camera._state.image_width, camera._state.image_height = 1.0, 900, 480
    camera._state.update_timestamp, camera._state.up_direction = 1.0, np.array([0.0, 1.0, 0.0])
    camera._state.position, before = np.array([9.0, 4.0, 9.0]), np.zeros(3)
    server = SimpleNamespace(
        on_client_connect=lambda do: None, get_clients=lambda: {0: client}, initial_camera=SimpleNamespace()
    )
    cameras = Cameras(server, lambda name, do: None)
    for name in ("spheres", "rectangles"):
        simulation = Simulation(name)
        cameras.set_stage(simulation.scene.camera, simulation.stage)
        before = camera._state.look_at
        targets = [message.look_at for message in sent if hasattr(message, "look_at")]
        assert targets[-1] == pytest.approx([0, 0, 0], abs=0.01)
