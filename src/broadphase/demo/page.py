"""The live page of the demo, served by viser."""

from __future__ import annotations

import socket
import sys
import threading
import traceback
from contextlib import redirect_stdout
from html import escape
from io import StringIO
from time import perf_counter
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

import broadphase as bp
from broadphase.demo.cameras import Cameras, matrix_of
from broadphase.demo.colours import (
    APART,
    BACKGROUND,
    CCD,
    QUERIED,
    SELECTED,
    STATIC,
    TOUCHING,
    TOUCHING_STATIC,
    colours_of_cells,
    faded,
)
from broadphase.demo.drawing import Bodies, Overlays
from broadphase.demo.link import Link, read_link, write_link
from broadphase.demo.mesh_files import read_mesh_file
from broadphase.demo.panel import BY_CELL, Chart, Controls, figures_html, summary_html
from broadphase.demo.pointing import Pointing
from broadphase.demo.race import FIRST, Race, lane
from broadphase.demo.reel import Reel
from broadphase.demo.scenes import DemoScene, scene_named
from broadphase.demo.simulation import Simulation
from broadphase.errors import clipped
from broadphase.extras import import_extra

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["DemoPage", "start_demo"]

FPS = 60.0
_FIGURES_EVERY = 0.2  # seconds
_CHART_EVERY = 0.25
_CELLS_EVERY = 0.1
_FAN_EVERY = 20  # steps, then another body is compared with all
_LANE_EVERY = 0.5  # browsers take some time to set a text
_CLEARANCE = 0.5  # in units of the picture
_ASIDE = 10.8  # of the rival of a race, in units of the picture: the longest side of a world is 10
_POINTS_PER_SECOND = 1e6  # of 15 bytes each; with more bodies, fewer frames are sent


def start_demo(
    scene: str = "clusters",
    *,
    method: str | bp.index.IndexOptions | None = None,
    count: int | None = None,
    host: str = "127.0.0.1",
    port: int = 0,
    mesh: Any = None,
) -> DemoPage:
    """Start the page in a thread of its own, and return.

    Parameters
    ----------
    scene : str
        A name of `SCENES`, or a scene file.
    method, count
        See `Simulation`. Default: those of the scene.
    host : str
        The address to listen at. Default: only this machine can reach it. With any other, requests need the token that
        is in ``url``; what they send is not encrypted.
    port : int
        Default: a free one.
    mesh : Triangles, optional
        A mesh for the scene that shows one.

    Returns
    -------
    DemoPage
        Provides ``url``, ``link`` and ``stop()``. Only the page at ``url`` can connect; see SECURITY.md.

    Raises
    ------
    MissingExtraError
        viser is not installed.
    ValueError, FileNotFoundError
        The scene or the method does not exist.
    OSError
        The port is in use.
    RuntimeError
        The demo cannot check who connects to this version of viser.
    """
    chosen = scene_named(scene)
    return DemoPage(Simulation(chosen, method=method or chosen.method, count=count, mesh=mesh), host, port)


class DemoPage:
    """The page: a server, and a thread that steps the simulation and sends what has changed.

    Input from browsers arrives in threads of viser. It is queued as requests, which run between two steps.
    """

    def __reduce__(self) -> NoReturn:
        raise TypeError("a DemoPage cannot be copied or pickled: it is a server that runs")

    def __init__(self, simulation: Simulation, host: str = "127.0.0.1", port: int = 0) -> None:
        self.simulation = simulation
        self._requests: dict[str, Callable[[], None]] = {}
        self._requests_lock = threading.Lock()
        self._reading = threading.Lock()
        self._server, self._door = _serve(host, port, self._refuse, self._reading_of)
        self.url = _url(host, self._server.get_port(), self._door.token)
        self._stopping = threading.Event()
        self._error: BaseException | None = None
        self._dirty = True
        self._done_at: dict[str, float] = {}  # when what is done at intervals was done last
        self._frozen: Floats | None = None
        self._race: Race | None = None
        self._lane_frame: bp.world.Frame | None = None
        self._lane: list[Any] = []  # what is drawn of its rival: bodies, overlays, and the node that they are below
        self._build()
        self._set_stage()
        self._thread = threading.Thread(target=self._run, name="broadphase-demo", daemon=True)
        self._thread.start()

    @property
    def link(self) -> str:
        """An address that opens the page with the scene and the settings that it has now."""
        return f"{self.url}{'&' if self._door.token else '/?'}{write_link(self.simulation)}"

    def stop(self) -> None:
        """Stop the thread and the server."""
        self._stopping.set()
        self._thread.join(timeout=10)
        if self._race is not None:
            self._race.stop()
        with redirect_stdout(StringIO()):
            self._server.stop()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until the page has stopped, for at most `seconds`; return whether it has.

        Raises RuntimeError if it has stopped because of an error.
        """
        stopped = self._stopping.wait(seconds)
        if self._error is not None:
            raise RuntimeError(f"the demo stopped: {self._error}") from self._error
        return stopped

    def request(self, name: str, do: Callable[[], None]) -> None:
        """Run a function between two steps; of several requests with one name, only the last."""
        with self._requests_lock:
            self._requests.pop(name, None)
            self._requests[name] = do

    def _build(self) -> None:
        server, gui = self._server, self._server.gui
        gui.configure_theme(dark_mode=True, show_logo=False, show_share_button=False, brand_color=QUERIED)
        gui.set_panel_label("broadphase")
        scene = server.scene
        scene.set_up_direction("+y")
        scene.configure_environment_map(None)  # the page is dark until its picture has come and is decoded
        scene.configure_default_lights(enabled=False)  # from above only: what a camera sees from the side is black
        scene.add_light_hemisphere("/lights/sky", ground_color=(110, 120, 160), intensity=1.6, position=(0.0, 1.0, 0.0))
        for name, place, intensity in (("key", (0.5, 0.9, 1.2), 2.6), ("back", (-1.0, 0.4, -1.0), 1.3)):
            scene.add_light_directional(f"/lights/{name}", position=place, intensity=intensity)
        scene.set_background_image(np.full((1, 1, 3), BACKGROUND, np.uint8), format="png")
        self.controls = Controls(gui, self.simulation)
        panel = gui.add_panel()
        with panel.add_tab("Cost"):
            self._summary = gui.add_html("")
            self._chart = Chart(gui)
            self._figures = gui.add_html("")
        panel.dock_left()
        panel.set_width(330)
        gui.main_panel.dock_right()
        self._cameras = Cameras(server, self.request)
        self._pointing = Pointing(server, self.simulation, self.controls, self.request)
        self._connect()

    def _connect(self) -> None:
        controls, simulation = self.controls, self.simulation
        controls.set_scene(simulation)

        def connect(element: Any, name: str, do: Callable[[], None]) -> None:
            element.on_update(lambda _: self.request(name, do))

        controls.copy.on_click(lambda _: self.request("copy", lambda: controls.say("The link is in the clipboard.")))
        connect(controls.scene, "scene", lambda: self._begin(controls.scenes[controls.scene.value]))
        connect(controls.method, "method", self._choose)
        connect(controls.settings, "settings", self._set)
        connect(controls.race, "race", self._race_or_not)
        connect(controls.count, "count", self._rebuild)
        connect(controls.size, "size", self._rebuild)
        connect(controls.speed, "speed", lambda: setattr(simulation, "speed", controls.speed.value))
        connect(controls.pause, "pause", lambda: setattr(simulation, "paused", controls.pause.value))
        for element in (controls.cells, controls.contacts, controls.colour, controls.cull, controls.freeze):
            connect(element, "show", self._redraw)
        for element in (controls.query, controls.query_size):
            connect(element, "query", self._pointing.set_query)
        for key, name, do in (
            (controls.pause_key, "pause key", lambda: _toggle(controls.pause)),
            (controls.pause_camera_key, "camera key", lambda: _toggle(controls.pause_camera)),
            (controls.switch_key, "switch key", controls.switch),
        ):
            key.on_trigger(lambda _, name=name, do=do: self.request(name, do))
        controls.hand_key.on_trigger(
            lambda event: self.request(f"hand {event.client_id}", lambda: self._hand_over(event.client_id))
        )
        controls.save.on_click(lambda event: self.request(f"save {event.client_id}", lambda: self._save(event.client)))
        controls.mesh.on_upload(lambda event: self._load(event.target.value))

    def _set_stage(self) -> None:
        simulation, controls, scene = self.simulation, self.controls, self._server.scene

        def drag(row: int | None, place: Any) -> None:
            self.request("drag", lambda: self._pointing.drag(row, place))

        self._bodies = Bodies(scene, simulation.stage, on_drag=drag)
        self._overlays = Overlays(scene, simulation.stage)
        self._reel = Reel(simulation.stage.world, simulation.scene.title)
        self._set_lane()
        self._frozen = None
        controls.freeze.value = False
        self._pointing.set_stage(self._overlays)
        racing = self._race is not None
        self._cameras.set_stage("still" if racing else simulation.scene.camera, simulation.stage, racing * _ASIDE)
        self._dirty = True

    def _set_lane(self) -> None:
        """Put the rival of a race beside the scene, or take it away."""
        if self._race is not None:
            self._race.stop()
            for drawn in self._lane:
                drawn.remove()
            self._race, self._lane = None, []
        if self.controls.race.value:
            self._race = Race(self.simulation)
            self._done_at.pop("lane", None)
            scene, stage = self._server.scene, self._race.rival.stage
            node = scene.add_frame("/rival", show_axes=False, position=(-_ASIDE, 0.0, 0.0))
            self._lane = [Bodies(scene, stage, "/rival"), Overlays(scene, stage, "/rival"), node]

    def _race_or_not(self) -> None:
        """Begin a race with few bodies, or end it with as many as there are."""
        controls, simulation = self.controls, self.simulation
        if controls.race.value == (self._race is not None):
            return
        if controls.race.value and simulation.method == "brute_force":
            controls.method.value = "auto"
            self._choose()
        self._start(count=max(FIRST, simulation.scene.counts[0]) if controls.race.value else simulation.count)

    def _run_race(self, now: float) -> None:
        """Draw the rival if it has done a step, let it go on, and begin again with more bodies when it is time."""
        race, simulation = self._race, self.simulation
        if race is None or not race.is_idle:
            return
        rival, was_open = race.rival, not race.verdict
        bodies, overlays, _ = self._lane
        if rival.frame is not self._lane_frame:
            self._lane_frame = rival.frame
            with self._server.atomic():
                bodies.draw(rival.rows, _colours_of_state(rival))
                if self._is_due("lane", now, _LANE_EVERY):
                    for over, one in ((overlays, rival), (self._overlays, simulation)):
                        top = 0.5 * one.stage.scale * one.stage.extent[1] + 0.2
                        over.draw_label(lane(one), (0.0, top, 0.0), "lane")
        count = race.next_count()
        if count is not None:
            self._start(count=count)
            return
        if race.verdict and was_open:
            self.controls.say(f"<b>{escape(race.verdict)}</b>")
        race.go_on()

    def _hand_over(self, client_id: int) -> None:
        """Stop the path of the camera, which a hand moves in one of the browsers."""
        self._cameras.take(client_id)
        if self.simulation.scene.camera != "still":
            self.controls.pause_camera.value = True

    def _save(self, client: Any) -> None:
        """Send the last seconds as a replay page to a browser."""
        client.send_file_download(f"{self.simulation.scene.title}.html", self._reel.page(), save_immediately=True)
        self.controls.say("The page that was saved plays in any browser, without Python.")

    def _choose(self) -> None:
        controls = self.controls
        controls.cells.value = controls.method.value != "auto"  # each method is seen at work
        controls.recall_settings()
        self._set()

    def _set(self) -> None:
        controls = self.controls
        try:
            wanted = controls.chosen_method()
            if wanted != self.simulation.method:
                self.simulation.method = wanted
        except ValueError as error:
            controls.show_fault(str(error))
            return
        controls.show_fault("")
        controls.remember_settings()

    def _begin(self, scene: DemoScene) -> None:
        if scene.name != self.simulation.scene.name:
            self._start(scene)

    def _reading_of(self, options: dict[str, str]) -> Callable[[], None]:
        """Return what opens the options of an address; raises ValueError as `read_link` does."""
        link = read_link(options, self.simulation)
        return lambda: self.request("open", lambda: self._open(link))

    def _open(self, link: Link) -> None:
        """Show what a link names, unless it is shown already."""
        controls, simulation = self.controls, self.simulation
        if link == Link(simulation.scene, simulation.method, simulation.count, simulation.size, simulation.speed):
            return
        if (link.scene, link.count, link.size) != (simulation.scene, simulation.count, simulation.size):
            self._start(link.scene, count=link.count, size=link.size)
            controls.scene.value, controls.size.value = link.scene.title, link.size
        controls.speed.value = link.speed
        controls.show_method(link.method)
        self._set()
        controls.say("This scene and its settings come from a link that was opened.")

    def _rebuild(self) -> None:
        count, size = int(self.controls.count.value), float(self.controls.size.value)
        if (count, size) != (self.simulation.count, self.simulation.size):
            self._start(count=count, size=size)

    def _start(self, scene: DemoScene | None = None, **options: Any) -> None:
        """Begin a scene, or the same one again; the options are those of `Simulation.start`."""
        self.simulation.start(scene, **options)
        self.controls.set_scene(self.simulation)
        if scene is not None:
            self.controls.cull.value = scene.culled
        with self._server.atomic():
            self._bodies.remove()
            self._overlays.remove()
            self._set_stage()
        self._redraw()

    def _run(self) -> None:
        last = perf_counter()
        try:
            while not self._stopping.is_set():
                began = perf_counter()
                self._run_requests()
                self._pointing.hold()
                frame = self._tick()
                if not self.controls.pause_camera.value:
                    self._cameras.move(began - last)
                if frame is not None:
                    self._reel.add(frame, began)
                self._dirty |= frame is not None or (self._cameras.moved and self.controls.cull.value)
                self._cameras.moved = False
                self._show(began)
                self._run_race(began)
                last = began
                self._stopping.wait(max(0.0, 1 / FPS - (perf_counter() - began)))
        except BaseException as error:
            self._error = error
            self._stopping.set()
            raise

    def _run_requests(self) -> None:
        with self._requests_lock:
            requests, self._requests = self._requests, {}
        if requests:
            self.controls.repair()
        for do in requests.values():
            try:
                do()
            except (ValueError, OSError, ImportError, MemoryError) as error:
                self.controls.say(escape(clipped(str(error) or "out of memory")))
            except Exception as error:  # a bug, but what a page sends must not end the demo
                traceback.print_exc(file=sys.stderr)
                self.controls.say(escape(clipped(f"a bug in broadphase: {error!r}")))
        if requests:
            self._redraw()

    def _tick(self) -> Any:
        """Step the simulation; if that takes more memory than there is, begin again with fewer bodies."""
        try:
            return self.simulation.tick()
        except MemoryError:
            fewest = self.simulation.scene.counts[0]
            self._start(count=fewest, size=1.0)
            self.controls.size.value = 1.0
            self.controls.say("Out of memory: the scene was started again with fewer bodies.")
            return None

    def _redraw(self) -> None:
        self._dirty = True
        for what in ("picture", "figures", "cells"):
            self._done_at.pop(what, None)

    def _is_due(self, what: str, now: float, every: float) -> bool:
        if now - self._done_at.get(what, -every) < every:
            return False
        self._done_at[what] = now
        return True

    def _show(self, now: float) -> None:
        simulation = self.simulation
        every = len(simulation.rows) / _POINTS_PER_SECOND if self._bodies.as_points else 0.0
        if not self._dirty or not self._is_due("picture", now, every):
            return
        self._dirty = False
        with self._server.atomic():
            self._draw(now)
            if self._is_due("figures", now, _FIGURES_EVERY):
                scene, figures = simulation.scene, simulation.figures()
                pages = len(self._server.get_clients())
                self._summary.content = summary_html(
                    scene.title,
                    scene.text,
                    figures,
                    pages=pages,
                    link=write_link(simulation),
                    drawn=self.controls.cells.value,
                )
                self._figures.content = figures_html(figures, simulation.paused)
            if not simulation.paused and self._is_due("chart", now, _CHART_EVERY):
                self._chart.draw(simulation.history())

    def _draw(self, now: float) -> None:
        simulation, controls = self.simulation, self.controls
        rows, levels = simulation.rows, None
        simulation.seen = None
        if controls.cull.value and simulation.stage.dim == 3 and (matrix := self._culling_matrix()) is not None:
            seen = simulation.look(matrix)
            rows, levels = seen.rows, seen.levels
        self._bodies.draw(rows, self._colours(rows), levels, self._pointing.selected_rows())
        self._overlays.draw_tracers()
        if not controls.cells.value:
            self._overlays.hide("cells", "sweep", "fan")
        elif self._is_due("cells", now, _CELLS_EVERY):
            self._draw_structure()
        if controls.contacts.value and simulation.frame is not None:
            self._overlays.draw_contacts(simulation.frame.contacts)
        else:
            self._overlays.hide("normals", "contact points")
        self._pointing.draw()

    def _draw_structure(self) -> None:
        """Draw what the method finds pairs with: its cells, the line of a sweep, or one body compared with all."""
        simulation, overlays = self.simulation, self._overlays
        looked, absent = simulation.examination(outline=True), {"cells", "sweep", "fan"}
        if looked.outline is not None and len(looked.outline.level):
            held = self._pointing.held_row()
            cells = simulation.cells(looked.outline) if held is None else simulation.cells_met(held, looked.outline)[0]
            overlays.draw_cells(looked.outline, cells)
            absent.remove("cells")
        if looked.sweep is not None:
            overlays.draw_sweep(looked.sweep)
            absent.remove("sweep")
        if looked.used == "brute_force" and len(simulation.rows):
            turn = 0 if simulation.frame is None else simulation.frame.number // _FAN_EVERY
            overlays.draw_fan(simulation.rows, turn)
            absent.remove("fan")
        overlays.hide(*absent)

    def _colours(self, rows: NDArray[np.int32]) -> NDArray[np.uint8]:
        simulation, controls = self.simulation, self.controls
        touching = simulation.touching_rows()
        if controls.colour.value == BY_CELL:
            table = np.empty((simulation.stage.world.slots, 3), np.uint8)
            table[simulation.rows] = colours_of_cells(simulation.cells(simulation.examination(outline=True).outline))
        else:
            table = _colours_of_state(simulation)
        queried, selected = self._pointing.queried_rows(), self._pointing.selected_rows()
        table[queried] = QUERIED
        table[selected] = SELECTED
        held = self._pointing.held_row()
        if held is not None:
            _, tested, candidates, hits = self._pointing.search
            table[:] = faded(table, np.full(len(table), 0.25))
            for lit, colour in ((tested, APART), (candidates, QUERIED), (hits, TOUCHING), (held, SELECTED)):
                table[lit] = colour
        for name, lit, colour in (("touching", touching, TOUCHING), ("queried", queried, QUERIED)):
            self._overlays.draw_triangles(name, np.setdiff1d(lit, selected), colour)
        self._overlays.draw_triangles("selected", selected, SELECTED)
        return table if len(rows) == len(table) else table[rows]

    def _culling_matrix(self) -> Floats | None:
        """Return the matrix of the camera whose frustum culls: the current one, or the frozen one."""
        is_frozen = self.controls.freeze.value
        if not is_frozen:
            self._frozen = None
            self._overlays.hide("camera")
        elif self._frozen is not None:
            return self._frozen
        camera = self._cameras.last()
        if camera is None:
            return None
        # A body just before a camera that flies through the crowd would cover everything.
        matrix = matrix_of(camera, _CLEARANCE) if self.simulation.scene.camera == "fly" else matrix_of(camera)
        if is_frozen:
            self._frozen = matrix
            self._overlays.draw_camera(camera)
        return matrix

    def _load(self, file: Any) -> None:
        """Show a file; called in a thread of viser, so that reading it delays no step."""
        if not self._reading.acquire(blocking=False):
            self._refuse(f"{clipped(file.name)}: another file is being loaded. Try again.")
            return
        try:
            mesh = read_mesh_file(file.name, file.content)
        except (ValueError, OSError, ImportError, MemoryError) as error:
            self._refuse(str(error) or "out of memory")
            return
        finally:
            self._reading.release()

        def begin() -> None:
            self._start(scene_named("mesh"), mesh=mesh)
            self.controls.scene.value = self.simulation.scene.title
            self.controls.say(f"{escape(clipped(file.name))}: {len(mesh.faces):,} triangles.")

        self.request("mesh", begin)

    def _refuse(self, text: str) -> None:
        """Say on the page why a file is not shown."""
        self.request("refused", lambda: self.controls.say(escape(text)))


def _colours_of_state(simulation: Simulation) -> NDArray[np.uint8]:
    """Return a colour for each slot of the world, by whether its body touches another one."""
    world, touching = simulation.stage.world, simulation.touching_rows()
    table = np.full((world.slots, 3), APART, np.uint8)
    table[world.body_types == 1] = STATIC
    table[world.ccd] = CCD
    table[touching] = TOUCHING
    table[touching[world.body_types[touching] == 1]] = TOUCHING_STATIC if simulation.scene.lights_static else STATIC
    return table


def _toggle(box: Any) -> None:
    box.value = not box.value


def _serve(host: str, port: int, *door_calls: Callable[..., Any]) -> tuple[Any, Any]:
    """Start a server of viser behind a door, which is given functions to call; return both."""
    viser = import_extra("viser", purpose="the demo", extra="demo")
    from broadphase.demo.door import Door

    class Server(viser.ViserServer):  # type: ignore[misc, name-defined]
        def request_share_url(self, verbose: bool = True) -> str | None:
            """Refuse: viser would open a public tunnel to this machine when any page asks for it."""
            raise PermissionError("the demo is not shared with the public")

    family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
    with socket.socket(family) as probe:  # viser would silently choose another port
        if sys.platform != "win32":  # there, two servers could listen at one port
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise OSError(f"cannot listen at {host}, port {port}: {error.strerror}") from error
        free = probe.getsockname()[1]
    door, server = Door(host, *door_calls), None
    try:
        with redirect_stdout(StringIO()), door.open():  # viser prints a table
            server = Server(host=host, port=free, label="broadphase", verbose=False)
    except BaseException:
        if server is not None:
            with redirect_stdout(StringIO()):
                server.stop()
        raise
    return server, door


def _url(host: str, port: int, token: str | None) -> str:
    name = "localhost" if host in ("127.0.0.1", "0.0.0.0", "::") else f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}" + (f"/?token={token}" if token else "")
