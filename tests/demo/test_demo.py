"""The demo without its page: scenes, figures, queries."""

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import broadphase as bp
from broadphase.demo.drawing import Bodies
from broadphase.demo.examination import all_pairs_of, cells_of, examine
from broadphase.demo.panel import comparison, figures_html, headline
from broadphase.demo.reel import MOST_KEPT, Reel
from broadphase.demo.scenes import SCENES, scene_named
from broadphase.demo.simulation import Simulation
from broadphase.methods import METHOD_NAMES

NAMES = [scene.name for scene in SCENES]
SMALL = {"boxes_10k": 500, "boxes_100k": 500, "clusters": 500}


def small(name, **options):
    return Simulation(name, count=SMALL.get(name), **options)


class Clock:
    """A clock that tests set."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


@pytest.mark.parametrize("name", NAMES)
def test_every_scene_steps_and_reports_figures(name):
    simulation = small(name)
    before = simulation.stage.positions(simulation.rows)
    for _ in range(5):
        frame = simulation.tick()
    figures = simulation.figures()
    assert frame.number == 5
    assert figures.count == len(simulation.stage.world) == len(simulation.rows)
    assert figures.brute_force_tests == figures.count * (figures.count - 1) // 2
    assert 0 < figures.tests < figures.brute_force_tests
    assert figures.used in METHOD_NAMES
    assert figures.why
    assert figures.depth >= 1
    assert figures.parts >= 1
    after = simulation.stage.positions(simulation.rows)
    assert after.dtype == np.float32
    assert not np.array_equal(before, after[: len(before)])


@pytest.mark.parametrize("name", NAMES)
def test_every_scene_fits_into_the_picture(name):
    simulation = small(name)
    for _ in range(3):
        simulation.tick()
    stage, rows = simulation.stage, simulation.rows
    places, sizes = stage.positions(rows), stage.sizes(rows)
    assert np.abs(places).max() <= 5.6
    assert sizes.shape == places.shape
    assert (sizes[:, : stage.dim][stage.forms(rows) != 3] >= 0).all()
    turns = stage.rotations(rows)
    np.testing.assert_allclose(np.linalg.norm(turns, axis=1), 1.0, atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_sizes_in_the_picture_are_those_of_the_shapes(name):
    simulation = small(name, size=0.5)
    simulation.tick()
    stage, rows = simulation.stage, simulation.rows
    unturned = stage.rotations(rows)[:, 0] == 1
    shown = unturned & (stage.forms(rows) != 3)
    boxes = stage.to_view(stage.world.boxes[rows])
    d = stage.dim
    np.testing.assert_allclose(
        stage.sizes(rows)[shown, :d], (boxes[:, 1] - boxes[:, 0])[shown, :d], rtol=1e-3, atol=1e-5
    )
    np.testing.assert_allclose(stage.positions(rows)[shown, :d], boxes.mean(axis=1)[shown, :d], atol=1e-4)


@pytest.mark.parametrize("method", METHOD_NAMES)
def test_all_methods_find_the_same_touching_pairs(method):
    simulation = Simulation("rectangles", method=method)
    reference = Simulation("rectangles", method="brute_force")
    for _ in range(5):
        frame, right = simulation.tick(), reference.tick()
        np.testing.assert_array_equal(frame.pairs, right.pairs)


@pytest.mark.parametrize("name", ["rectangles", "machine_gun", "mesh"])
def test_method_switched_while_running_changes_figures_and_no_events(name):
    simulation, reference = small(name), small(name)
    tests = {}
    for method in METHOD_NAMES:
        simulation.method = method
        frame, right = simulation.tick(), reference.tick()
        np.testing.assert_array_equal(frame.enter, right.enter)
        figures = simulation.figures()
        assert figures.method == method
        assert method in ("auto", figures.used)
        tests[method] = figures.tests / figures.brute_force_tests
    assert tests["brute_force"] == 1
    assert tests["octree"] < 0.25


def test_method_switched_while_paused_reports_its_tests_at_once():
    simulation = Simulation("rectangles")
    simulation.tick()
    simulation.paused = True
    simulation.method = "linear_tree"
    assert 1000 < simulation.figures().tests < 499_500


def test_settings_of_a_method_reach_the_world_and_the_figures():
    tight = bp.Octree.options(leaf_capacity=1, looseness=1)
    simulation, usual = Simulation("rectangles", method=tight), Simulation("rectangles", method="octree")
    simulation.tick()
    usual.tick()
    assert simulation.stage.world.method == tight
    figures = simulation.figures()
    assert (figures.method, figures.used, figures.tuning) == ("octree", "octree", "")
    assert figures.parts > 2 * usual.figures().parts
    simulation.start("rectangles", count=300)
    assert simulation.stage.world.method == tight
    for method in ("auto", bp.Index.options(workers=2)):
        simulation.method = method
        simulation.tick()
        assert simulation.figures().method == "auto"
    with pytest.raises(ValueError, match="two corners of 2 numbers, not of 3"):
        simulation.method = bp.Octree.options(bounds=[[0] * 3, [1] * 3])
    assert simulation.tick() is not None


def test_self_tuning_depth_is_seen():
    simulation = Simulation("spheres", method=bp.LinearTree.options(tuning="origin", tune_every=5))
    seen = []
    for _ in range(11):
        simulation.tick()
        simulation.examination(fresh=True)
        seen.append((simulation.figures().depth, simulation.figures().tuning))
    assert [int(text.split()[0]) for _, text in seen] == [depth for depth, _ in seen]
    assert [text.split("next in ")[1] for _, text in seen] == [f"{left})" for left in (5, 4, 3, 2, 1) * 2 + (5,)]
    assert len({depth for depth, _ in seen}) > 1


@pytest.mark.parametrize("method", METHOD_NAMES)
def test_page_compares_the_method_with_brute_force_and_says_which_is_quicker(method):
    simulation = Simulation("spheres", method=method)
    simulation.tick()
    figures = simulation.figures()
    assert figures.rival == ("grid" if figures.used == "brute_force" else "brute_force")
    assert figures.own_ms > 0 < figures.rival_ms
    quicker = figures.used if figures.own_ms < figures.rival_ms else figures.rival
    assert f"Here {quicker} is " in comparison(figures)
    assert comparison(replace(figures, rival="")) == ""
    assert Simulation("boxes_10k", method=method, count=6000).figures().rival == ""


@pytest.mark.parametrize("method", ["auto", "octree", "brute_force"])
def test_update_takes_at_least_both_phases_and_exact_tests_are_those_of_the_step(method):
    simulation = Simulation("spheres", method=method)
    for _ in range(5):
        frame = simulation.tick()
        figures = simulation.figures()
    assert figures.update_ms > figures.broad_ms + figures.narrow_ms > 0
    if method == "brute_force":
        assert (
            figures.exact_tests
            == figures.tests
            == figures.brute_force_tests
            == figures.count * (figures.count - 1) // 2
        )
        assert "the shapes of all" in headline(figures)[1]
    else:
        assert figures.exact_tests == frame.stats["tests"] > 0


def test_brute_force_with_many_bodies_tests_only_their_boxes():
    simulation = Simulation("boxes_10k", method="brute_force", count=2001)
    frame = simulation.tick()
    figures = simulation.figures()
    assert figures.exact_tests == frame.stats["tests"] < figures.tests == 2001 * 2000 // 2
    assert "the boxes of all" in headline(figures)[1]


def test_all_pairs_of_rows_have_the_shapes_that_the_world_finds_touching():
    rng = np.random.default_rng(3)
    world = bp.World(dim=3)
    for shape in (bp.Sphere(0.6), bp.Box(1, 1, 1), bp.Capsule((-0.5, 0, 0), (0.5, 0, 0), 0.3)):
        world.add_many(shape, rng.uniform(0, 5, (30, 3)))
    world.remove([0, 40, 89])
    frame = world.step()
    every = all_pairs_of(world.rows)
    assert len(every) == 87 * 86 // 2
    assert len(frame.pairs)
    np.testing.assert_array_equal(bp.overlaps(world.shapes, pairs=every), frame.pairs)
    assert all_pairs_of(np.empty(0, np.int32)).shape == (0, 2)


def test_tick_while_paused_moves_nothing():
    simulation = Simulation("spheres")
    simulation.tick()
    simulation.paused = True
    before = simulation.stage.positions(simulation.rows)
    assert simulation.tick() is None
    np.testing.assert_array_equal(simulation.stage.positions(simulation.rows), before)
    assert simulation.frame.number == 1


@pytest.mark.parametrize("name", ["rectangles", "machine_gun"])
def test_scene_started_while_paused_is_evaluated_in_place(name):
    simulation, reference = Simulation("spheres"), small(name)
    simulation.tick()
    simulation.paused = True
    simulation.start(name)
    figures = simulation.figures()
    assert figures.hits == len(simulation.frame.pairs) > 0
    assert figures.update_ms > figures.broad_ms > 0
    assert figures.pairs >= figures.exact_tests > 0
    assert len(simulation.touching_rows())
    before = reference.stage.positions(reference.rows)
    np.testing.assert_array_equal(simulation.stage.positions(simulation.rows), before)
    assert simulation.tick() is None


def test_history_leaves_out_pauses():
    clock = Clock()
    simulation = Simulation("rectangles", clock=clock)
    for seconds in np.arange(0, 20, 0.25):
        clock.now = seconds
        simulation.paused = 2 <= seconds < 18
        simulation.tick()
    times, *_ = simulation.history()
    assert times[0] == pytest.approx(-3.75)
    assert np.diff(times).max() == pytest.approx(0.25)
    assert simulation.figures().fps == pytest.approx(4)


def test_clusters_stay_together():
    simulation = Simulation("clusters", speed=4.0)
    hits = [len(simulation.tick().pairs) for _ in range(450)]  # half a minute
    assert min(hits[-100:]) > 0.7 * hits[0]


def test_speed_scales_the_motion_of_a_step():
    ways = []
    for speed in (0.5, 1.0):
        simulation = small("boxes_10k", speed=speed)
        before = simulation.stage.world.positions.copy()
        simulation.tick()
        ways.append(simulation.stage.world.positions - before)
    # Those near a border are reflected.
    assert np.median(np.abs(ways[1] - 2 * ways[0])) < 1e-9
    with_rules = Simulation("machine_gun", speed=0.0)
    with_rules.tick()
    people = with_rules.stage.world.velocities.any(axis=1)
    before = with_rules.stage.world.positions.copy()
    with_rules.tick()
    np.testing.assert_array_equal(with_rules.stage.world.positions[: len(before)][people], before[people])


def test_start_without_arguments_keeps_the_settings():
    simulation = Simulation("rectangles", method="grid", size=2.0)
    simulation.start(count=50)
    assert (len(simulation.stage.world), simulation.size, simulation.method) == (50, 2.0, "grid")
    assert simulation.stage.world.method == "grid"
    simulation.start(size=1.0)
    assert len(simulation.stage.world) == 50
    simulation.start("spheres")
    assert len(simulation.stage.world) == 300
    simulation.start(count=10**9)
    assert simulation.count == scene_named("spheres").counts[1]


def test_start_that_fails_keeps_the_running_scene():
    simulation = Simulation("rectangles")
    for wrong in ("no_such_scene", "no_such_file.toml"):
        with pytest.raises((ValueError, FileNotFoundError), match="no_such"):
            simulation.start(wrong)
    with pytest.raises(ValueError, match="unknown method 'magic'"):
        simulation.method = "magic"
    with pytest.raises(ValueError, match="unknown method 'magic'"):
        Simulation("rectangles", method="magic")
    assert simulation.tick().number == 1


def test_scene_file_is_drawn_with_its_sizes(tmp_path):
    path = tmp_path / "balls.toml"
    path.write_text(
        'title = "Balls"\n[world]\ndim = 3\n'
        '[[group]]\nname = "balls"\ncount = 20\nvelocity = { from = -1, to = 1 }\n'
        'shape = { type = "sphere", radius = { from = 1, to = 2 }, offset = [0, 3, 0] }\n'
        'place = { how = "uniform", in = [[0, 0, 0], [50, 50, 50]] }\n'
        '[[group]]\nname = "bars"\ncount = 5\nrotation = "random"\n'
        'shape = { type = "box", x = 1, y = 2, z = 6 }\n'
        'place = { how = "uniform", in = [[0, 0, 0], [50, 50, 50]] }\n'
    )
    simulation = Simulation(str(path), count=50)
    simulation.tick()
    assert simulation.scene.title == "Balls"
    assert len(simulation.rows) == 50
    stage = simulation.stage
    bars = simulation.rows[stage.forms(simulation.rows) == 0]
    np.testing.assert_allclose(stage.sizes(bars) / stage.scale, np.tile([1, 2, 6], (len(bars), 1)), rtol=1e-5)


@pytest.mark.parametrize("d", [2, 3])
def test_rotated_bodies_are_drawn_where_their_boxes_are(d, tmp_path):
    path, offset = tmp_path / "turn.toml", [3, 0, 0][:d]
    velocity = "1.0" if d == 2 else "[0, 0, 1.0]"
    path.write_text(
        f'title = "Turn"\n[world]\ndim = {d}\n'
        + "".join(
            f'[[group]]\nname = "{shape}"\ncount = 3\nangular_velocity = {velocity}\n'
            f'shape = {{ type = "{shape}", {size}, offset = {offset} }}\n'
            f'place = {{ how = "uniform", in = [{[0] * d}, {[20] * d}] }}\n'
            for shape, size in (("circle" if d == 2 else "sphere", "radius = 1"), ("aabb", f"size = {[1, 4, 2][:d]}"))
        )
    )
    simulation = Simulation(str(path))
    for _ in range(20):
        simulation.tick()
    stage, rows = simulation.stage, simulation.rows
    centers = stage.to_view(stage.world.boxes[rows].mean(axis=1))
    np.testing.assert_allclose(stage.positions(rows), centers, atol=1e-4)
    assert len(np.unique(stage.rotations(rows)[3:], axis=0)) == 1
    assert (stage.rotations(rows)[3:] == [1, 0, 0, 0]).all()


def test_bullets_made_by_rules_have_their_sizes_and_names():
    simulation = Simulation("machine_gun")
    for _ in range(40):
        simulation.tick()
    rows = simulation.rows
    bullets = rows[simulation.stage.world.layers[rows] == simulation.stage.world.layer("bullets")]
    assert len(bullets) > 10
    np.testing.assert_allclose(simulation.stage.sizes(bullets) / simulation.stage.scale, 0.8, rtol=1e-5)
    assert "bullets" in simulation.stage.name(int(bullets[0]))


def test_octree_keeps_cells_where_bullets_fly():
    simulation = Simulation("machine_gun", method="octree")
    for _ in range(120):
        simulation.tick()
    figures = simulation.figures()
    assert 0 < figures.cells_freed < 30
    assert 'id="bp-kept"' in figures_html(figures, paused=False)


def test_history_holds_ten_seconds():
    clock = Clock()
    simulation = small("clusters", clock=clock)
    for seconds in np.arange(0, 30, 0.25):
        clock.now = seconds
        simulation.tick()
    times, broad, narrow = simulation.history()
    assert times[0] >= -10
    assert times[-1] == 0
    assert (np.diff(times) > 0).all()
    assert len(times) == len(broad) == len(narrow) == 41
    assert simulation.figures().fps == pytest.approx(4)
    assert len(simulation.history(points=10)[0]) <= 11


def test_raycast_in_3d_names_the_body_hit():
    simulation = Simulation("spheres")
    simulation.tick()
    place = simulation.stage.positions(simulation.rows)[7]
    eye = place + np.array([0, 0, 20])
    picked = simulation.raycast(eye, [0, 0, -1])
    stage = simulation.stage
    world_hit = stage.world.raycast([stage.to_world(eye)], [0, 0, -1])
    assert picked.row == world_hit.rows[0]
    assert picked.name == f"spheres {picked.row}"
    assert picked.touching == (simulation.frame.pairs == picked.row).any(axis=1).sum()
    assert np.linalg.norm(picked.normal) == pytest.approx(1)
    assert simulation.raycast([0, 0, 20], [0, 0, 1]) is None


@pytest.mark.parametrize("method", METHOD_NAMES)
def test_every_method_answers_every_query_of_the_page(method):
    simulation = Simulation("spheres", method=method)
    simulation.tick()
    place = simulation.stage.positions(simulation.rows)[7]
    reference = Simulation("spheres", method="bvh")
    reference.tick()
    right = reference.raycast(place + np.array([0, 0, 20]), [0, 0, -1])
    assert simulation.raycast(place + np.array([0, 0, 20]), [0, 0, -1]).row == right.row
    assert simulation.stage.world.method == method
    assert simulation.raycast([0, 0, 20], [0, 0, 1]) is None
    for ball in (False, True):
        rows = simulation.query([0, 0, 0], 3.0, ball=ball)
        np.testing.assert_array_equal(rows, reference.query([0, 0, 0], 3.0, ball=ball))
    assert len(simulation.select(camera(), [0, 0, 1, 1], [1, 1])) == len(simulation.rows)
    assert len(simulation.look(camera()).rows) == len(simulation.rows)
    assert simulation.tick().number == 2


def test_raycast_in_2d_names_the_body_hit():
    simulation = Simulation("rectangles")
    simulation.tick()
    place = simulation.stage.positions(simulation.rows)[3]
    eye = np.array([1.0, 2.0, 9.0])
    picked = simulation.raycast(eye, place - eye)
    assert picked.row in simulation.stage.world.query_points([simulation.stage.world.positions[3]]).rows
    np.testing.assert_allclose(picked.position[:2], simulation.stage.world.positions[3], atol=1e-3)
    assert simulation.raycast(eye, [1, 0, 0]) is None
    assert simulation.raycast(eye, [1, 0, -0.001]) is None


def test_raycast_in_2d_where_bodies_overlap_names_the_one_on_top():
    simulation = Simulation("rectangles", count=400, size=4.0)
    simulation.tick()
    stage, boxes = simulation.stage, simulation.stage.world.boxes
    scene = SimpleNamespace(add_batched_meshes_simple=lambda *_, **__: SimpleNamespace())
    bodies = Bodies(scene, stage)
    bodies.draw(simulation.rows, np.zeros((len(boxes), 3), np.uint8))
    crowded = 0
    for place in np.random.default_rng(8).uniform(boxes[:, 0].min(axis=0), boxes[:, 1].max(axis=0), (200, 2)):
        there = np.flatnonzero(((boxes[:, 0] <= place) & (place <= boxes[:, 1])).all(axis=1))
        crowded += len(there) > 1
        picked = simulation.raycast([*stage.to_view(place)[:2], 9.0], [0, 0, -1])
        if len(there):
            assert picked.row == there[np.argmax(bodies._heights[there])]
        else:
            assert picked is None
    assert crowded > 50


def test_body_that_is_selected_in_2d_covers_those_drawn_at_its_height():
    simulation = Simulation("rectangles", count=400, size=4.0)
    simulation.tick()
    sent = {}
    tiles = SimpleNamespace()
    scene = SimpleNamespace(
        add_batched_meshes_simple=lambda *_, **some: sent.update(positions=some["batched_positions"].copy()) or tiles
    )
    bodies = Bodies(scene, simulation.stage)
    rows, colours = simulation.rows, np.zeros((400, 3), np.uint8)
    heights = simulation.stage.heights(rows)
    chosen = np.array([173], np.int32)
    assert np.count_nonzero(heights == heights[173]) > 1
    bodies.draw(rows, colours, None, chosen)
    assert (sent["positions"][173, 2] > np.delete(sent["positions"][:, 2], 173)).all()
    bodies.draw(rows, colours, None, np.array([5], np.int32))  # the same bodies: only what changes is sent
    assert (tiles.batched_positions[5, 2] > np.delete(tiles.batched_positions[:, 2], 5)).all()
    bodies.draw(rows, colours)
    np.testing.assert_array_equal(tiles.batched_positions[:, 2], heights)


def test_label_is_above_the_body_it_names():
    for name in ("rectangles", "spheres"):
        stage = Simulation(name, count=50).stage
        rows = np.arange(50, dtype=np.int32)
        tops = stage.to_view(stage.world.boxes[:, 1])[:, 1]
        places = np.array([stage.label_place(row) for row in rows])
        assert (places[:, 1] >= tops - 1e-5).all()
        np.testing.assert_allclose(places[:, [0, 2]], stage.positions(rows)[:, [0, 2]])


def camera(eye=(0, 0, 16)):
    return bp.cameras.perspective(1.0, 1.5, 0.01, 1000) @ bp.cameras.look_at(eye, [0, 0, 0])


@pytest.mark.parametrize("name", ["rectangles", "spheres"])
def test_select_finds_the_bodies_in_the_rectangle(name):
    simulation = Simulation(name)
    simulation.tick()
    stage = simulation.stage
    rows = simulation.select(camera(), [0.5, 0.0, 1.0, 1.0], [1, 1])  # the right half
    places = stage.positions(simulation.rows)
    sizes = stage.sizes(simulation.rows)
    inside = simulation.rows[places[:, 0] > sizes[:, 0]]
    outside = simulation.rows[places[:, 0] < -sizes[:, 0]]
    assert np.isin(inside, rows).all()
    assert not np.isin(outside, rows).any()
    assert len(simulation.select(camera(), [0, 0, 1, 1], [1, 1])) == len(simulation.rows)


def test_look_finds_visible_bodies_and_levels_of_detail():
    simulation = Simulation("machine_gun")
    simulation.tick()
    seen = simulation.look(camera((0, 0, 3)))
    figures = simulation.figures()
    assert figures.drawn == len(seen.rows) > 0
    assert figures.drawn + figures.culled == figures.count
    assert sum(figures.details) == figures.drawn
    assert ">full / medium / low detail<" in figures_html(figures, paused=False)
    assert set(np.unique(seen.levels)) <= {0, 1, 2}
    with pytest.raises(ValueError, match="3D scene"):
        Simulation("rectangles").look(camera())


@pytest.mark.parametrize("name", ["rectangles", "spheres"])
@pytest.mark.parametrize("is_ball", [True, False])
def test_query_ball_or_box_finds_rows_that_meet_it(name, is_ball):
    simulation = Simulation(name)
    simulation.tick()
    rows = simulation.query([1.0, 1.0, 0.0], 4.0, ball=is_ball)
    assert 0 < len(rows) < len(simulation.rows)
    d = simulation.stage.dim
    away = np.abs(simulation.stage.positions(rows)[:, :d] - np.array([1, 1, 0])[:d])
    assert (away <= 2 + simulation.stage.sizes(rows)[:, :d] / 2 + 1e-5).all()


@pytest.mark.parametrize("method", METHOD_NAMES)
@pytest.mark.parametrize("name", ["rectangles", "spheres"])
def test_body_moved_while_paused_lights_what_is_tested_for_it(name, method):
    simulation = Simulation(name, method=method)
    simulation.tick()
    simulation.paused = True
    stage = simulation.stage
    simulation.move(3, stage.positions(np.array([8]))[0])
    boxes, places = stage.world.boxes, stage.world.positions
    np.testing.assert_allclose(places[3], places[8], atol=1e-4)
    cells, tested, candidates, hits = simulation.searched(3)
    meets = ((boxes[:, 0] <= boxes[3, 1]) & (boxes[3, 0] <= boxes[:, 1])).all(axis=1)
    assert set(candidates.tolist()) == set(np.flatnonzero(meets).tolist()) - {3}
    pairs = simulation.frame.pairs
    assert set(hits.tolist()) == set(pairs[(pairs == 3).any(axis=1)].ravel().tolist()) - {3}
    assert 8 in hits
    assert np.isin(hits, candidates).all()
    assert 3 not in tested
    assert (len(cells) == 0) == (simulation.figures().used == "brute_force")
    simulation.move(3, [1e6, 0, 0])  # a hand beyond the walls
    assert places[3][0] <= stage.bounds[1, 0]
    simulation.paused = False
    simulation.tick()
    assert (np.diff(simulation.history()[0]) >= 0).all()


def test_reel_keeps_the_last_seconds_as_a_replay_page():
    simulation = Simulation("rectangles", count=30)
    reel = Reel(simulation.stage.world, "Some <rectangles>")
    with pytest.raises(ValueError, match="nothing to save"):
        reel.page()
    kept = []
    for seconds in range(0, 45, 5):
        reel.add(simulation.tick(), float(seconds))
        kept.append(int(re.search(rb'"frames":(\d+)', reel.page())[1]))
    assert kept == [1, 2, 3, 4, 3, 4, 3, 4, 3]
    assert b"Some &lt;rectangles&gt;" in reel.page()


def test_reel_keeps_nothing_of_many_bodies():
    simulation = Simulation("boxes_10k", count=MOST_KEPT + 1)
    reel = Reel(simulation.stage.world, "")
    reel.add(simulation.tick(), 0.0)
    with pytest.raises(ValueError, match="more than 5,000"):
        reel.page()


def test_touching_rows_are_those_of_the_frame():
    simulation = Simulation("rectangles")
    assert len(simulation.touching_rows()) == 0
    frame = simulation.tick()
    np.testing.assert_array_equal(simulation.touching_rows(), np.unique(frame.pairs))


@pytest.mark.parametrize("method", METHOD_NAMES)
def test_cells_contain_the_positions_in_them(method):
    simulation = Simulation("rectangles", method=method)
    simulation.tick()
    outline = simulation.examination(outline=True).outline
    for _ in range(20):
        simulation.tick()
    simulation.examination(outline=True, fresh=True)  # has other cells
    cells = simulation.cells(outline)
    assert len(cells) == 1000
    if outline is None:
        assert method == "brute_force"
        assert (cells == -1).all()
        return
    places = simulation.stage.world.positions[simulation.rows]
    kept = cells >= 0
    assert kept.any()
    assert (outline.lower[cells[kept]] <= places[kept]).all()
    assert (places[kept] <= outline.upper[cells[kept]]).all()


def test_cells_of_finds_the_deepest_cell():
    outline = bp.index.Outline(
        np.array([[0.0, 0], [0, 0], [5, 5]]), np.array([[9.0, 9], [4, 4], [9, 9]]), np.array([0, 1, 1], np.int32)
    )
    assert cells_of(outline, [[1, 1], [4.5, 1], [6, 6], [20, 0]]).tolist() == [1, 0, 2, -1]


def test_examination_takes_at_most_a_tenth_of_the_time():
    clock = Clock()
    simulation = Simulation("rectangles", clock=clock)
    simulation.tick()
    first = simulation.examination()
    assert simulation.examination(fresh=True) is not first
    simulation._examining = 1.0
    second = simulation.examination()
    clock.now = 5.0
    assert simulation.examination() is second
    clock.now = 11.0
    assert simulation.examination() is not second


def test_examination_of_a_mostly_static_world_describes_the_tree():
    simulation = Simulation("mesh", count=20)
    for _ in range(5):
        simulation.tick()
    looked = examine(simulation.stage.world, simulation.frame, outline=True)
    assert looked.used == "bvh"
    assert 8 * 20 <= looked.tests < 20 * len(simulation.rows)
    assert looked.tests >= simulation.frame.stats["candidates"]
    assert "20 of" in looked.why
    assert len(looked.outline.level) == looked.parts
