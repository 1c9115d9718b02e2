"""The live page of the demo, used in a browser."""

import base64
import io
import re
import socket
from urllib.parse import parse_qsl, urlsplit

import numpy as np
import pytest

from watching import APART, QUERIED, SELECTED, TOUCHING, WAIT, Watched, is_near, share_near

pytest.importorskip("viser", reason="the demo needs viser")

from PIL import Image

import broadphase as bp
from broadphase.demo import DemoPage, start_demo
from broadphase.demo.cameras import matrix_of

COUNT = 1000


@pytest.fixture(scope="module")
def demo():
    page = start_demo("rectangles")
    yield page
    page.stop()


@pytest.fixture(scope="module")
def opened(demo, watch) -> Watched:
    tab = watch(demo.url)
    tab.wait_for("bp-hits", r"[1-9]")
    return tab


@pytest.fixture
def tab(demo, opened):
    """The tab, showing a picture; reset after each test."""
    opened.pixels_when(lambda pixels: share_near(pixels, TOUCHING) > 0.01, "touching bodies")
    yield opened
    if demo.wait(0.0):
        return  # stopped
    demo.controls.pause.value = False
    demo.controls.query.value = "none"
    demo.controls.query_size.value = 2.5
    demo.controls.pause_camera.value = demo.controls.contacts.value = False
    demo.controls.method.value = "auto"
    demo.controls.cells.value = False
    demo.controls.scene.value = "1000 rectangles"
    demo.request("again", demo._start)  # the same scene, too: what a test selected, and the answer to it, is gone
    opened.wait_for("bp-title", "1000 rectangles")
    opened.wait_for("bp-answer", "^Click a body")
    opened.wait_for("bp-method", "^auto")
    opened.wait_for("bp-fps", r"^\d+$")  # or the next test would find "Pause bodies" still ticked, and not tick it


def positions_of(demo: DemoPage) -> np.ndarray:
    return demo.simulation.stage.world.positions.copy()


def middles_of_touching(demo: DemoPage, tab: Watched) -> np.ndarray:
    """Wait until the picture of the newest tab stands still, and return the pixels (x, y) in which bodies that touch
    others, and are not selected, have their middle, where the mouse reaches the picture.

    Not the middles of what is vermilion: bodies are a few pixels wide, and a press may fall between two of them. Over
    the edges of the picture are the handles that resize the panels.
    """
    pixels, simulation = tab.still_pixels(), demo.simulation
    rows = np.setdiff1d(simulation.touching_rows(), demo._pointing.selected_rows())  # which have another colour
    places = simulation.stage.positions(rows)
    ends = np.c_[places, np.ones(len(places))] @ matrix_of(demo._cameras.last()).T
    share = 0.5 + 0.5 * ends[:, :2] / ends[:, 3:] * [1, -1]
    found = (share * pixels.shape[1::-1]).astype(int)
    assert is_near(pixels, TOUCHING)[found[:, 1], found[:, 0]].mean() > 0.95  # a few are below what touches nothing
    is_picture = "places => places.map(([x, y]) => document.elementFromPoint(x, y).matches('canvas[data-engine]'))"
    return found[tab.page.evaluate(is_picture, (found + tab.place() + 0.5).tolist())]


def pause(demo: DemoPage, tab: Watched) -> None:
    tab.tick("Pause bodies", True)
    tab.wait_for("bp-fps", "^paused$")


def test_page_shows_bodies_and_figures(tab, keep):
    keep(tab.page)
    pixels = tab.pixels()
    assert len(np.unique(pixels.reshape(-1, 3), axis=0)) > 50
    assert share_near(pixels, TOUCHING) > 0.02
    assert share_near(pixels, APART) > 0.005
    assert tab.text("bp-count") == f"{COUNT:,}"
    assert tab.text("bp-brute") == f"{COUNT * (COUNT - 1) // 2:,}"
    hits, pairs, tests = tab.numbers("bp-hits", "bp-pairs", "bp-tests")
    assert 0 < hits <= pairs
    assert 0 < tests < COUNT * (COUNT - 1) // 2
    assert tab.text("bp-text")


def test_page_loads_nothing_from_other_machines_and_has_no_errors(demo, tab):
    hosts = {urlsplit(url).netloc for url in tab.requested if not url.startswith(("data:", "blob:"))}
    assert hosts == {urlsplit(demo.url).netloc}
    assert tab.errors == []


def test_bodies_move(demo, tab):
    before, places = tab.pixels(), positions_of(demo)

    def have_moved(now):
        # The page is behind the world: a step drawn late alters the picture alone.
        return (now != before).any(axis=-1).mean() > 0.02 and (positions_of(demo) != places).any(axis=1).all()

    tab.pixels_when(have_moved, "another picture, of bodies at other places")


def test_another_method_shows_other_figures_at_once(demo, tab, keep):
    auto = tab.wait_for("bp-method", r"^auto → \w+$")
    assert auto.endswith(demo.simulation.figures().used)
    (cheap,), why = tab.numbers("bp-tests"), tab.text("bp-why")

    tab.choose("Method", "brute_force")
    tab.wait_for("bp-method", "^brute_force$")
    assert tab.numbers("bp-tests", "bp-brute") == [COUNT * (COUNT - 1) // 2] * 2
    assert 10 * cheap < COUNT * (COUNT - 1) // 2
    assert tab.text("bp-why") != why
    keep(tab.page)

    tab.choose("Method", "octree")
    tab.wait_for("bp-method", "^octree$")
    assert 0 < tab.numbers("bp-tests")[0] < COUNT * (COUNT - 1) // 2
    assert demo.simulation.stage.world.method == "octree"


def test_paused_page_stands_still_and_is_sent_nothing(demo, tab, keep):
    pause(demo, tab)
    pixels, places, received = tab.still_pixels(), positions_of(demo), tab.bytes_received
    tab.page.wait_for_timeout(1000)
    assert tab.bytes_received == received
    assert np.array_equal(positions_of(demo), places)
    assert np.array_equal(tab.pixels(), pixels)
    keep(tab.page)

    tab.tick("Pause bodies", False)
    tab.wait_for("bp-fps", r"^\d+$")
    tab.pixels_when(lambda now: (now != pixels).any(axis=-1).mean() > 0.02, "another picture")
    assert tab.bytes_received > received


def test_click_names_the_body_under_it_and_its_name_does_not_cover_it(demo, tab, keep):
    pause(demo, tab)
    places = middles_of_touching(demo, tab)
    left, top = tab.place()
    for x, y in np.random.default_rng(5).choice(places, 4, replace=False).tolist():
        demo.request("forget", lambda: demo.controls.say("-"))
        tab.wait_for("bp-answer", "^-$")
        tab.page.mouse.click(left + x + 0.5, top + y + 0.5)
        said = tab.wait_for("bp-answer", "The ray hit rectangles")
        named = re.search(r"rectangles (\d+) at \(([-\d.]+), ([-\d.]+)\)", said)
        assert named, said
        row, *place = named.groups()
        lower, upper = demo.simulation.stage.world.boxes[int(row)]
        assert (lower - 0.1 <= np.array(place, float)).all()
        assert (np.array(place, float) <= upper + 0.1).all()
        touching = (demo.simulation.frame.pairs == int(row)).any(axis=1).sum()
        assert re.search(r"touches (\d+) other", said)[1] == str(touching)
        around = slice(y - 3, y + 4), slice(x - 3, x + 4)  # the answer comes before its colour
        tab.pixels_when(lambda now, around=around: is_near(now[around], SELECTED).any(), f"{x}, {y}: {said}")
        lit = is_near(tab.still_pixels(), SELECTED)  # its name is drawn some time after that
        assert lit[around].any(), (x, y, said)
    keep(tab.page)


def test_keys_and_clicks_pause_bodies_and_camera_and_switch_to_brute_force(demo, tab, keep):
    demo.controls.scene.value = "300 spheres in a cube"
    tab.wait_for("bp-title", "300 spheres")
    tab.wait_for("bp-quicker", r"brute_force [\d.]+ ms.* quicker")
    expect = pytest.importorskip("playwright.sync_api").expect
    (left, top), (height, width) = tab.place(), tab.pixels().shape[:2]
    beside = left + width / 2, top + height - 25
    tab.page.keyboard.press("Space")
    tab.wait_for("bp-fps", "^paused$")
    tab.page.keyboard.press("Space")
    tab.wait_for("bp-fps", r"^\d+$")
    tab.page.mouse.click(*beside)
    tab.wait_for("bp-fps", "^paused$")
    tab.page.mouse.click(*beside)
    tab.wait_for("bp-fps", r"^\d+$")
    for do in (lambda: tab.page.keyboard.press("c"), lambda: tab.page.mouse.click(*beside, button="right")):
        for paused in (True, False):
            do()
            expect(tab.page.get_by_label("Pause camera", exact=True)).to_be_checked(checked=paused, timeout=WAIT)
            tab.wait_until_demo(lambda paused=paused: demo.controls.pause_camera.value == paused)
    method = tab.text("bp-method")
    tab.page.keyboard.press("Enter")
    tab.wait_for("bp-method", "^brute_force$")
    tab.wait_for("bp-quicker", r"brute_force [\d.]+ ms, grid [\d.]+ ms.* quicker")
    assert tab.numbers("bp-tests") == [300 * 299 // 2]
    assert tab.numbers("bp-update")[0] > 0
    keep(tab.page)
    tab.page.keyboard.press("Enter")
    tab.wait_for("bp-method", f"^{method}$")
    assert tab.errors == []


def test_keys_act_on_the_scene_after_a_control_was_used(demo, tab):
    assert {"Space", "Enter", "C"} <= set(re.findall(r"\w+", tab.text("bp-keys")))
    tab.tick("Contacts", True)
    tab.page.keyboard.press("Space")
    tab.wait_for("bp-fps", "^paused$")
    tab.page.keyboard.press("Space")
    tab.wait_for("bp-fps", r"^\d+$")
    assert demo.controls.contacts.value
    tab.choose("Method", "octree")
    tab.wait_for("bp-method", "^octree$")
    tab.page.keyboard.press("Enter")
    tab.wait_for("bp-method", "^brute_force$")
    tab.page.keyboard.press("Enter")
    tab.wait_for("bp-method", "^octree$")
    settings = tab.page.locator("input.mantine-TextInput-input:visible").first
    settings.click()
    tab.page.keyboard.type("leaf_capacity=3 ")  # a space in it is none of the scene
    tab.page.keyboard.press("Enter")
    tab.page.keyboard.press("Space")
    tab.wait_for("bp-fps", "^paused$")
    tab.wait_until_demo(lambda: dict(getattr(demo.simulation.method, "settings", {})) == {"leaf_capacity": 3})


def test_hand_takes_the_camera_that_orbits_and_its_zoom_stays(demo, tab, keep):
    demo.controls.scene.value = "300 spheres in a cube"
    tab.wait_for("bp-title", "300 spheres")
    camera = next(reversed(demo._server.get_clients().values())).camera
    (left, top), (height, width) = tab.place(), tab.pixels().shape[:2]
    tab.page.mouse.move(left + width / 2, top + height / 2)
    far = np.linalg.norm(camera.position)
    while np.linalg.norm(camera.position) > 0.75 * far:
        tab.page.mouse.wheel(0, -120)
        tab.page.wait_for_timeout(100)
    expect = pytest.importorskip("playwright.sync_api").expect
    expect(tab.page.get_by_label("Pause camera", exact=True)).to_be_checked(timeout=WAIT)
    tab.page.wait_for_timeout(500)
    near, begin = np.linalg.norm(camera.position), camera.position.copy()
    tab.page.keyboard.press("c")
    expect(tab.page.get_by_label("Pause camera", exact=True)).to_be_checked(checked=False, timeout=WAIT)
    tab.page.wait_for_timeout(1500)
    assert np.linalg.norm(camera.position) == pytest.approx(near, rel=0.01)
    assert np.linalg.norm(camera.position - begin) > 0.02 * near
    assert camera.position[1] == pytest.approx(begin[1], abs=0.02 * near)
    keep(tab.page)


def test_tab_has_a_name_counts_its_pictures_and_says_who_shares_it(demo, tab, watch):
    assert tab.page.title() == "broadphase demo"
    assert "pages show" not in tab.text("bp-pages")
    content = "getComputedStyle(document.getElementById('bp-pictures'), '::after').content"
    tab.wait_until(f'/^"[1-9]\\d*"$/.test({content})')
    assert int(tab.page.evaluate(content).strip('"')) <= 75
    other = watch(demo.url)
    tab.wait_for("bp-pages", "^2 pages show this simulation")
    other.page.close()


def test_rectangle_of_a_selection_is_seen(demo, tab, keep):
    (left, top), (height, width) = tab.place(), tab.pixels().shape[:2]
    tab.page.keyboard.down("Shift")
    tab.page.mouse.move(left + 0.2 * width, top + 0.2 * height)
    tab.page.mouse.down()
    for share in (0.5, 0.8):
        tab.page.mouse.move(left + share * width, top + share * height)
    flat = "document.querySelector('canvas:not([data-engine])').getContext('2d')"  # the first is over the picture
    tab.wait_until(f"{flat}.canvas.width > 0")
    edge = tab.page.evaluate(f"[...{flat}.getImageData({0.2 * width}, {0.5 * height}, 1, 1).data]")
    keep(tab.page)
    tab.page.mouse.up()
    tab.page.keyboard.up("Shift")
    assert min(edge[:2]) > 150
    assert edge[3] > 100


def test_triangles_in_a_selected_rectangle_turn_yellow(demo, tab, keep):
    demo.controls.scene.value = "Triangles of a mesh"
    tab.wait_for("bp-title", "Triangles of a mesh")
    (left, top), (height, width) = tab.place(), tab.pixels().shape[:2]
    before = share_near(tab.pixels(), SELECTED, 90)
    tab.page.keyboard.down("Shift")
    tab.page.mouse.move(left + 0.2 * width, top + 0.1 * height)
    tab.page.mouse.down()
    for share in (0.5, 0.9):
        tab.page.mouse.move(left + share * width, top + share * height)
    tab.page.mouse.up()
    tab.page.keyboard.up("Shift")
    tab.wait_for("bp-answer", "in the rectangle")
    tab.pixels_when(lambda now: share_near(now, SELECTED, 90) > before + 0.01, "yellow triangles")
    keep(tab.page)


def test_chart_is_above_the_fold_and_a_phone_shows_the_picture(demo, tab, watch, keep):
    pause(demo, tab)  # tabs that move side by side starve where they are drawn in software
    wide = watch(demo.url, viewport={"width": 1280, "height": 760})
    wide.wait_for("bp-hits", r"\d")
    chart = wide.page.locator(".u-over").first.bounding_box()
    assert 0 < chart["y"] + chart["height"] < 760
    keep(wide.page, "_wide")
    wide.page.close()
    phone = watch(demo.url, viewport={"width": 420, "height": 850})
    phone.wait_for("bp-keys", "tap")
    panel = "document.querySelector(\"[style*='max-height: 60%']\")"
    phone.wait_until(f"{panel}?.getBoundingClientRect().y > 0.85 * 850")
    keep(phone.page, "_phone")
    phone.page.close()


def test_settings_typed_are_used_and_the_tuned_depth_is_shown(demo, tab, keep):
    tab.choose("Method", "linear_tree")
    tab.wait_for("bp-method", "^linear_tree$")
    tab.page.locator("input.mantine-TextInput-input:visible").first.fill("tuning=origin tune_every=20")
    tab.wait_for("bp-tuning", r"^\d+ \(\d+% leaves, next in \d+\)$")
    keep(tab.page)
    assert dict(demo.simulation.method.settings) == {"tuning": "origin", "tune_every": 20}


def test_dragged_rectangle_selects_what_is_in_it(demo, tab, keep):
    pause(demo, tab)
    (left, top), (height, width) = tab.place(), tab.still_pixels().shape[:2]
    corners = np.array([[0.25, 0.3], [0.75, 0.6]]) * [width, height]
    way = np.add([corners[0], corners.mean(axis=0), corners[1]], (left, top))
    tab.page.keyboard.down("Shift")
    tab.page.mouse.move(*way[0])
    tab.page.mouse.down()
    for place in way[1:]:
        tab.page.mouse.move(*place)
    tab.page.mouse.up()
    tab.page.keyboard.up("Shift")
    chosen = int(re.match(r"[\d,]+", tab.wait_for("bp-answer", "in the rectangle"))[0].replace(",", ""))
    assert 10 < chosen < COUNT / 2
    lit = is_near(tab.pixels_when(lambda now: share_near(now, SELECTED) > 0.01, "what was chosen"), SELECTED)
    ys, xs = np.nonzero(lit)
    reach = 12  # pixels: bodies partly in it stick out
    assert corners[0, 0] - reach < xs.min() < xs.max() < corners[1, 0] + reach
    assert corners[0, 1] - reach < ys.min() < ys.max() < corners[1, 1] + reach
    keep(tab.page)


def test_query_ball_colours_the_bodies_that_meet_it(demo, tab, keep):
    demo.controls.query_size.value = 5.0  # some bodies in it may be selected, and keep that colour
    tab.choose("Query shape", "ball")
    tab.pixels_when(lambda now: share_near(now, QUERIED, 40) > 0.005, "a queried body")
    keep(tab.page)


@pytest.mark.parametrize("title", ["300 spheres in a cube", "Crowd and machine gun", "US counties"])
def test_scene_chosen_is_shown_and_moves(demo, tab, keep, title):
    before = tab.pixels()
    demo.controls.scene.value = title
    tab.wait_for("bp-title", f"^{title}$")

    def is_another(now):
        # Between the two, for a picture, there may be nothing.
        return (now != before).any(axis=-1).mean() > 0.02 and len(np.unique(now.reshape(-1, 3), axis=0)) > 50

    different = tab.pixels_when(is_another, "another scene")
    tab.pixels_when(lambda now: (now != different).any(axis=-1).any(), "a move")
    keep(tab.page)
    assert tab.errors == []


def test_body_is_dragged_by_mouse_and_what_is_not_tested_for_it_fades(demo, watch, keep):
    demo.controls.pause.value = True
    tab = watch(demo.url)
    tab.wait_for("bp-fps", "^paused$")
    places = middles_of_touching(demo, tab)
    x, y = np.add(tab.place(), places[len(places) // 2] + 0.5).tolist()
    tab.page.mouse.move(x, y)
    tab.page.wait_for_timeout(300)
    tab.page.mouse.down()
    for step in range(1, 6):
        tab.page.mouse.move(x + 4 * step, y + 3 * step)
        tab.page.wait_for_timeout(100)
    tab.wait_for("bp-answer", "Boxes that overlap its box")
    assert demo._pointing.held_row() is not None
    tab.pixels_when(lambda now: is_near(now, SELECTED).any(), "the body that is held")
    keep(tab.page)
    tab.page.mouse.up()
    demo.controls.pause.value = False
    tab.wait_for("bp-fps", r"^\d+$")
    tab.wait_until_demo(lambda: demo._pointing.held_row() is None)
    tab.page.close()


def test_last_seconds_are_saved_as_a_page(demo, tab):
    with tab.page.expect_download(timeout=WAIT) as download:
        tab.page.get_by_role("button", name="Save a replay").click()
    assert download.value.suggested_filename == "1000 rectangles.html"
    page = download.value.path().read_text("utf-8")
    assert int(re.search(r'"frames":(\d+)', page)[1]) > 1


PLAY = """async text => {
    const video = document.createElement("video"), pen = document.createElement("canvas").getContext("2d");
    video.muted = true;
    video.src = URL.createObjectURL(new Blob([Uint8Array.from(atob(text), one => one.charCodeAt(0))]));
    await new Promise((done, fail) => { video.oncanplay = done; video.onerror = () => fail(video.error.message); });
    const seek = time => new Promise(done => { video.onseeked = done; video.currentTime = time; });
    await seek(1e6);  // only then it knows how long it is
    const seconds = video.duration;
    await seek(0.9 * seconds);
    [pen.canvas.width, pen.canvas.height] = [video.videoWidth, video.videoHeight];
    pen.drawImage(video, 0, 0);
    return [seconds, pen.canvas.width / pen.canvas.height, pen.canvas.toDataURL().split(",")[1]];
}"""


def test_next_seconds_are_saved_as_a_film(demo, tab):
    before = tab.pixels()
    with tab.page.expect_download(timeout=WAIT) as download:
        tab.page.get_by_role("button", name="Record a film").click()
    assert download.value.suggested_filename == "1000 rectangles.webm"
    film = download.value.path().read_bytes()
    assert film[:4] == bytes([0x1A, 0x45, 0xDF, 0xA3])  # EBML
    empty = tab.page.context.browser.new_page()  # the page of the demo takes all the time that there is for drawing
    seconds, shape, png = empty.evaluate(PLAY, base64.b64encode(film).decode())
    empty.close()
    assert seconds > 0.5
    assert shape == pytest.approx(before.shape[1] / before.shape[0], rel=0.03)
    picture = np.asarray(Image.open(io.BytesIO(base64.b64decode(png))).convert("RGB"))
    assert share_near(picture, TOUCHING, 60) > 0.02
    assert share_near(picture, APART, 60) > 0.005
    assert tab.errors == []


def test_link_opens_scene_and_settings_and_the_address_follows_them(demo, tab, keep):
    tab.page.goto(f"{demo.url}/?scene=clusters&method=octree&count=500&settings=leaf_capacity%3D2")
    tab.wait_for("bp-title", "[Ss]warms|[Cc]lusters")
    tab.wait_for("bp-method", "^octree$")
    tab.wait_for("bp-count", "^500$")
    tab.wait_for("bp-answer", "come from a link")
    assert demo.controls.settings.value == "leaf_capacity=2"
    pause(demo, tab)
    tab.choose("Method", "grid")
    tab.wait_until("location.search.includes('method=grid')")
    tab.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    tab.page.get_by_role("button", name="Copy link").click()
    tab.wait_until("navigator.clipboard.readText().then(text => text.includes('method=grid'))")
    copied = urlsplit(tab.page.evaluate("navigator.clipboard.readText()"))
    assert copied.geturl() == tab.page.url == demo.link
    assert dict(parse_qsl(copied.query)) == {"scene": "clusters", "method": "grid", "count": "500"}
    keep(tab.page)
    refused = tab.page.request.get(f"{demo.url}/?scene=nowhere")
    assert refused.status == 400
    assert "unknown scene 'nowhere'" in refused.text()
    demo.controls.settings.value = ""


@pytest.mark.parametrize("method", [method.name for method in bp.METHODS])
def test_method_that_is_chosen_shows_its_structure_and_leaves_the_bodies_visible(demo, tab, keep, method):
    pause(demo, tab)
    demo.controls.cells.value = False
    bare = tab.still_pixels()
    tab.choose("Method", method)
    tab.wait_for("bp-method", f"^{method}$")
    demo.controls.settings.value = ""  # not those of an earlier test, with small cells, which have come back with it
    assert re.fullmatch(r"Drawn: [^.]+\.", tab.wait_for("bp-structure", "Drawn"))
    tab.pixels_when(lambda now: (now != bare).any(axis=-1).mean() > 0.003, "the structure of the method")
    tab.pixels_when(lambda now: share_near(now, TOUCHING) > 0.6 * share_near(bare, TOUCHING), "the bodies")
    now = tab.still_pixels()
    keep(tab.page)
    assert (np.abs(now.astype(int) - bare).max(axis=-1) > 60).mean() < 0.2


def test_stopped_page_closes_the_port_and_the_picture_stands_still(demo, tab, keep):
    demo.stop()
    place = urlsplit(demo.url)
    with pytest.raises(ConnectionRefusedError), socket.create_connection((place.hostname, place.port), timeout=5):
        pass
    tab.still_pixels()
    received = tab.bytes_received
    tab.page.wait_for_timeout(500)
    assert tab.bytes_received == received
    keep(tab.page)
