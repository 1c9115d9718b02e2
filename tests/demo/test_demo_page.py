"""The page of the demo without a browser: it starts, listens, sends, is quiet when paused, and stops."""

import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from types import SimpleNamespace

import numpy as np
import pytest

import broadphase as bp
from broadphase import cli
from broadphase.demo import Simulation, race as races, start_demo
from broadphase.demo.meshes import Triangles, ball
from broadphase.errors import MissingExtraError

pytest.importorskip("viser")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")

PATIENCE = 30.0


def until(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


@pytest.fixture(scope="module")
def page():
    page = start_demo("rectangles", count=200)
    yield page
    page.stop()


@pytest.fixture(autouse=True)
def afresh(request):
    if "page" in request.fixturenames:
        page = request.getfixturevalue("page")
        page.controls.pause.value = False
        until(lambda: not page.simulation.paused)


def sent(page):
    return page._server._websock_server.get_message_buffer().message_counter


def answer(page):
    return re.sub("<[^>]+>", "", page.controls.answer.content)


def test_page_started_serves_and_steps(page):
    with urllib.request.urlopen(page.url, timeout=PATIENCE) as reply:
        assert b"<html" in reply.read(2000).lower()
    until(lambda: page.simulation.frame is not None)  # it may not have made its first step yet
    number = page.simulation.frame.number
    until(lambda: page.simulation.frame.number > number + 3)
    until(lambda: 'id="bp-hits"' in page._figures.content)


def test_page_by_default_listens_on_this_machine_only(page):
    assert page._server.get_host() == "127.0.0.1"
    assert page.url.startswith("http://localhost:")


def test_method_chosen_while_running_is_used_and_shown(page):
    for method in ("octree", "brute_force", "auto"):
        page.controls.method.value = method
        until(lambda method=method: page.simulation.method == method)
        until(lambda method=method: f">{method}" in page._summary.content)


def test_page_paused_sends_nothing(page):
    page.controls.pause.value = True
    until(lambda: page.simulation.paused and ">paused<" in page._figures.content)

    def sends_nothing():
        before = sent(page)
        time.sleep(0.5)
        return sent(page) == before

    until(sends_nothing)
    assert sends_nothing()
    page.controls.pause.value = False
    until(lambda: not sends_nothing())


def test_every_control_has_its_effect(page):
    controls, simulation = page.controls, page.simulation
    controls.count.value = 100
    until(lambda: len(simulation.stage.world) == 100)
    controls.size.value = 2.0
    until(lambda: simulation.size == 2.0)
    controls.speed.value = 0.5
    until(lambda: simulation.speed == 0.5)
    controls.cells.value = controls.contacts.value = True
    controls.method.value = "linear_tree"
    until(lambda: {"cells", "normals", "contact points"} <= set(page._overlays._handles))
    controls.colour.value = "cell"
    controls.cells.value = controls.contacts.value = False
    until(lambda: not {"cells", "normals", "contact points"} & set(page._overlays._handles))
    controls.query.value = "box"
    until(lambda: "query box" in page._overlays._handles and answer(page).startswith("Drag the box"))
    controls.query.value = "ball"
    until(lambda: "query ball" in page._overlays._handles and "query box" not in page._overlays._handles)
    controls.query.value = "none"
    until(lambda: page._pointing._probe is None and answer(page).startswith("Click a body"))
    controls.size.value, controls.speed.value, controls.colour.value = 1.0, 1.0, "state"


def test_click_and_rectangle_show_what_they_found(page):
    page.controls.pause.value = True
    until(lambda: page.simulation.paused)
    simulation = page.simulation
    place = simulation.stage.positions(simulation.rows)[0]
    eye = place + np.array([0, 0, 9])
    page.request("click", lambda: page._pointing.click(SimpleNamespace(ray_origin=eye, ray_direction=[0, 0, -1])))
    until(lambda: answer(page).startswith("The ray hit rectangles"))
    until(lambda: "label" in page._overlays._handles)
    page.request("click", lambda: page._pointing.click(SimpleNamespace(ray_origin=eye, ray_direction=[0, 0, 1])))
    until(lambda: answer(page) == "The ray hit nothing.")
    camera = SimpleNamespace(
        position=np.array([0.0, 0, 12]),
        look_at=np.zeros(3),
        up_direction=np.array([0.0, 1, 0]),
        fov=1.2,
        aspect=1.0,
    )
    event = SimpleNamespace(screen_min=(0.0, 0.0), screen_max=(1.0, 1.0), client=SimpleNamespace(camera=camera))
    page.request("select", lambda: page._pointing.select(event))
    until(lambda: answer(page) == f"{len(simulation.rows):,} bodies are in the rectangle.")
    event.screen_max = (0.0, 0.0)
    page.request("select", lambda: page._pointing.select(event))


def press(page, key):
    """What the page sends when a key is pressed."""
    page._server.gui._command_handle_from_uuid[key._impl.uuid]._impl.trigger_cb[0](None)


def test_keys_pause_bodies_and_camera_and_switch_to_brute_force_and_back(page):
    controls, simulation = page.controls, page.simulation
    press(page, controls.pause_key)
    until(lambda: simulation.paused and controls.pause.value)
    press(page, controls.pause_key)
    until(lambda: not simulation.paused and not controls.pause.value)
    press(page, controls.pause_camera_key)
    until(lambda: controls.pause_camera.value)
    press(page, controls.pause_camera_key)
    until(lambda: not controls.pause_camera.value)
    controls.method.value = "octree"
    until(lambda: simulation.method == "octree")
    controls.settings.value = "leaf_capacity=3"
    until(lambda: simulation.method == bp.Octree.options(leaf_capacity=3))
    press(page, controls.switch_key)
    until(lambda: simulation.method == "brute_force")
    press(page, controls.switch_key)
    until(lambda: simulation.method == bp.Octree.options(leaf_capacity=3))
    controls.method.value = "auto"
    until(lambda: simulation.method == "auto" and not controls.settings.value)


def test_settings_typed_on_the_page_are_used_or_refused(page):
    controls, simulation = page.controls, page.simulation
    controls.method.value = "linear_tree"
    until(lambda: simulation.method == "linear_tree")
    controls.settings.value = " tuning=origin  tune_every=9 bounds=[0, 0, 9, 9] "
    wanted = bp.LinearTree.options(tuning="origin", tune_every=9, bounds=[0, 0, 9, 9])
    until(lambda: simulation.method == wanted)
    until(lambda: 'id="bp-tuning"' in page._figures.content)
    for text, said in (
        ("depth=40", "depth must be"),
        ("deep=4", "unknown setting"),
        ("depth", "name=value"),
        ("bounds=[0, 0, 0, 9, 9, 9]", "two corners of 2"),
        ("storage=flat depth=12", "tables of at most"),
        ("name=bvh workers=9", "does not offer"),
    ):
        controls.settings.value = text
        until(lambda said=said: said in controls.fault.content and controls.fault.visible)
        assert simulation.method == wanted
    controls.settings.value = "depth=4"
    until(lambda: simulation.method == bp.LinearTree.options(depth=4) and not controls.fault.visible)
    assert "does not offer" not in answer(page)
    controls.settings.value = ""
    until(lambda: simulation.method == "linear_tree")
    controls.method.value = "auto"
    until(lambda: simulation.method == "auto")


def test_click_pauses_and_one_beside_all_bodies_goes_on(page):
    simulation, pointing = page.simulation, page._pointing
    miss = SimpleNamespace(ray_origin=[0, 0, 9], ray_direction=[0, 0, 1])
    page.request("click", lambda: pointing.click(miss))
    until(lambda: simulation.paused)
    eye = simulation.stage.positions(simulation.rows)[0] + np.array([0, 0, 9])
    page.request("click", lambda: pointing.click(SimpleNamespace(ray_origin=eye, ray_direction=[0, 0, -1])))
    until(lambda: answer(page).startswith("The ray hit rectangles"))
    assert simulation.paused
    page.request("click", lambda: pointing.click(miss))
    until(lambda: not simulation.paused)


def test_body_dragged_follows_the_hand_and_goes_on_when_it_is_let_go(page):
    simulation, pointing = page.simulation, page._pointing
    way = simulation.stage.world.velocities[5].copy()
    page.request("drag", lambda: pointing.drag(5, (1.0, 2.0, 0.0)))
    until(lambda: pointing.held_row() == 5 and "Boxes that overlap its box" in answer(page))
    wanted = simulation.stage.to_world([1.0, 2.0, 0.0])[:2]
    until(lambda: np.abs(simulation.stage.world.positions[5] - wanted).max() < 1.0)
    until(lambda: len(pointing.search[1]))
    page.request("drag", lambda: pointing.drag(None, None))
    until(lambda: pointing.held_row() is None)
    assert np.abs(simulation.stage.world.velocities[5]) == pytest.approx(np.abs(way))


def test_what_was_said_about_a_scene_goes_with_it(page):
    page.request("hit", lambda: page.controls.say("The ray hit rectangles 7."))
    until(lambda: "rectangles 7" in answer(page))
    page.controls.scene.value = "300 spheres in a cube"
    until(lambda: page.simulation.scene.name == "spheres")
    until(lambda: answer(page).startswith("Click a body"))
    page.controls.scene.value = "1000 rectangles"
    until(lambda: page.simulation.scene.name == "rectangles")


def test_scenes_chosen_in_turn_are_shown(page):
    for title in ("300 spheres in a cube", "Crowd and machine gun", "US counties", "Triangles of a mesh"):
        page.controls.scene.value = title
        until(lambda title=title: page.simulation.scene.title == title and title in page._summary.content)
        number = page.simulation.frame.number if page.simulation.frame else 0
        until(lambda number=number: page.simulation.frame and page.simulation.frame.number > number + 2)
    page.controls.query.value = "ball"
    until(lambda: "queried" in page._overlays._handles)
    page.controls.query.value = "none"
    page.controls.scene.value = "1000 rectangles"
    until(lambda: page.simulation.scene.name == "rectangles")


def test_mesh_uploaded_is_shown(page):
    trimesh = pytest.importorskip("trimesh")
    vertices, faces = ball(1)
    content = trimesh.Trimesh(vertices, faces).export(file_type="stl")
    page._load(SimpleNamespace(name="ball.stl", content=content))
    until(lambda: answer(page) == f"ball.stl: {len(faces)} triangles.")
    assert len(page.simulation.stage.mesh.faces) == len(faces)
    page._load(SimpleNamespace(name="ball.stl", content=b"no mesh"))
    until(lambda: "ball.stl" in answer(page) and "triangles." not in answer(page))
    page.controls.scene.value = "1000 rectangles"
    until(lambda: page.simulation.scene.name == "rectangles")


def test_port_in_use_raises():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(OSError, match=f"cannot listen at 127.0.0.1, port {port}"):
            start_demo("rectangles", port=port)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_error_in_the_thread_is_raised_by_wait(monkeypatch):
    page = start_demo("rectangles", count=10)
    monkeypatch.setattr(page, "_show", None)
    with pytest.raises(RuntimeError, match="the demo stopped"):
        page.wait(PATIENCE)
    page.stop()


def test_missing_viser_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(MissingExtraError, match=r"the demo needs viser: pip install .broadphase\[demo\]"):
        start_demo("rectangles", count=10)


def test_command_lists_scenes(capsys):
    assert cli.main(["demo", "--list"]) == 0
    out = capsys.readouterr().out
    assert "machine_gun" in out
    assert "US counties" in out


def test_command_with_unknown_scene_or_file_fails(capsys):
    assert cli.main(["demo", "nowhere", "--no-browser"]) == 2
    assert "unknown scene 'nowhere'" in capsys.readouterr().err
    assert cli.main(["demo", "--mesh", "nowhere.stl", "--no-browser"]) == 1
    assert "nowhere.stl" in capsys.readouterr().err


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGINT for one process")
def test_command_stops_cleanly_on_ctrl_c():
    command = [sys.executable, "-u", "-m", "broadphase.cli", "demo", "--no-browser", "--count", "50"]
    command += ["--set", "leaf_capacity=2"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        line = process.stdout.readline()
        url = re.search(r"http://localhost:\d+\S+", line)[0]
        assert url.endswith("/?scene=clusters&method=octree&count=50&settings=leaf_capacity%3D2")
        with urllib.request.urlopen(url, timeout=PATIENCE) as reply:
            assert reply.status == 200
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out, err) == (0, "Stopped.\n", "")


def test_mesh_given_to_the_page_is_shown():
    vertices, faces = ball(1)
    page = start_demo("mesh", count=5, mesh=Triangles(vertices, faces))
    try:
        until(lambda: page.simulation.frame is not None)
        assert len(page.simulation.rows) == len(faces) + 5
    finally:
        page.stop()


def test_race_draws_both_sides_and_grows_until_brute_force_is_too_slow(page, monkeypatch):
    monkeypatch.setattr(races, "_SECONDS", 0.2)
    monkeypatch.setattr(races, "_SLOW", 1e9)
    controls, simulation = page.controls, page.simulation
    controls.race.value = True
    until(lambda: page._race is not None and page._race.rival.frame is not None)
    assert page._race.rival.figures().used == "brute_force" != simulation.figures().used
    until(lambda: simulation.count > 2 * races.FIRST)
    until(lambda: "lane" in page._overlays._handles and "lane" in page._lane[1]._handles)
    monkeypatch.setattr(races, "_SLOW", 1e-6)
    until(lambda: "falls below 60" in answer(page))
    verdict = answer(page)
    assert verdict.startswith(f"With {simulation.count:,} bodies brute_force takes")
    count = simulation.count
    time.sleep(0.5)
    assert simulation.count == count
    rival = page._race.rival
    controls.race.value = False
    until(lambda: page._race is None)
    number = rival.frame.number
    time.sleep(0.2)
    assert rival.frame.number == number
    controls.count.value = 200
    until(lambda: simulation.count == 200)


def test_race_ends_in_a_verdict_when_the_scene_has_no_more_bodies(monkeypatch):
    monkeypatch.setattr(races, "_SLOW", 1e9)
    clock = [0.0]
    simulation = Simulation("us_counties", count=4000)
    race = races.Race(simulation, lambda: clock[0])
    try:
        assert race.rival.count == simulation.count
        clock[0] = 9.0
        assert race.next_count() is None  # nobody has done a step
        simulation.tick()
        race.go_on()
        until(lambda: race.is_idle)
        assert race.next_count() == 5000
        simulation.start(count=5000)
        simulation.tick()
        assert race.next_count() is None
        assert "no more" in race.verdict
    finally:
        race.stop()
