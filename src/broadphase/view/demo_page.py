"""The live page of the demo, by viser."""

from __future__ import annotations

import socket
import threading
from contextlib import redirect_stdout
from html import escape
from io import StringIO
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

import broadphase as bp
from broadphase.io.extras import import_extra
from broadphase.view.demo_colours import (
    APART,
    ASKED,
    FAST,
    GROUND,
    SELECTED,
    STILL,
    TOUCHED,
    TOUCHING,
    colours_of_cells,
)
from broadphase.view.demo_controls import ASK_BALL, BY_CELL, NOTHING, Chart, Controls
from broadphase.view.demo_figures import as_html
from broadphase.view.demo_overlays import Overlays
from broadphase.view.demo_scenes import SCENES, DemoScene, scene_named
from broadphase.view.demo_things import Things
from broadphase.view.simulation import Simulation

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from broadphase.view.simulation import Picked
    from broadphase.view.stage import Stage

    Floats = NDArray[np.float64]

__all__ = ["DemoPage", "start_demo"]

FPS = 60.0
_FIGURES_EVERY = 0.2  # seconds
_CHART_EVERY = 0.25
_CELLS_EVERY = 0.1
_FULL_RATE = 10_000  # things: with more, fewer frames are sent, so that what is sent stays below 20 MB a second
_ORBIT = 60.0  # seconds for once around
_NEAR, _FAR = 0.01, 1000.0
_RESIZED = 0.02  # share by which the picture's form must change
_ROOM = 1.06  # around what is in the picture


def start_demo(
    scene: str = "rectangles",
    *,
    method: str = "auto",
    count: int | None = None,
    host: str = "127.0.0.1",
    port: int = 0,
    mesh: Any = None,
) -> DemoPage:
    """Start the page, and return at once.

    Parameters
    ----------
    scene : str
        A name of `SCENES`, or a scene file.
    method, count
        See `Simulation`.
    host : str
        The address to listen at; by default only this machine can reach it.
    port : int
        0 for one that is free.
    mesh : Triangles, optional
        A mesh to show.

    Returns
    -------
    DemoPage
        Has ``url``, and ``stop()``.

    Raises
    ------
    MissingExtraError
        viser is not installed.
    ValueError, FileNotFoundError
        There is no such scene or method.
    OSError
        The port is taken.
    """
    return DemoPage(Simulation(scene, method=method, count=count, mesh=mesh), host, port)


class DemoPage:
    """The page: a server, and a thread that steps the simulation and sends what has changed.

    What people do on the page arrives in threads of viser; it becomes a wish, and is granted between two steps.

    Parameters
    ----------
    simulation : Simulation
    host, port
        See `start_demo`.
    """

    def __init__(self, simulation: Simulation, host: str = "127.0.0.1", port: int = 0) -> None:
        self.simulation = simulation
        self._server = _serve(host, port)
        self.url = f"http://{'localhost' if host in ('127.0.0.1', '0.0.0.0') else host}:{self._server.get_port()}"
        self._wishes: dict[str, Callable[[], None]] = {}
        self._wishing = threading.Lock()
        self._stopping = threading.Event()
        self._error: BaseException | None = None
        self._dirty = True
        self._drawn_at = self._figures_at = self._chart_at = self._cells_at = -1.0
        self._selected = np.empty(0, np.int64)  # handles
        self._picked: tuple[Picked, int] | None = None
        self._probe: Any = None
        self._held: NDArray[np.float64] | None = None
        self._angle = 0.0
        self._build()
        self._set_stage()
        self._thread = threading.Thread(target=self._run, name="broadphase-demo", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread and the server."""
        self._stopping.set()
        self._thread.join(timeout=10)
        with redirect_stdout(StringIO()):
            self._server.stop()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until the page has stopped, or for so long; says whether it has.

        Raises
        ------
        RuntimeError
            The page has stopped by itself, because of an error.
        """
        stopped = self._stopping.wait(seconds)
        if self._error is not None:
            raise RuntimeError(f"the demo stopped: {self._error}") from self._error
        return stopped

    def wish(self, name: str, do: Callable[[], None]) -> None:
        """Have something done between two steps; of several wishes of one name, the last."""
        with self._wishing:
            self._wishes.pop(name, None)
            self._wishes[name] = do

    # What is on the page.

    def _build(self) -> None:
        server, gui = self._server, self._server.gui
        gui.configure_theme(dark_mode=True, show_logo=False, show_share_button=False, brand_color=ASKED)
        gui.set_panel_label("broadphase")
        server.scene.set_up_direction("+y")
        server.scene.set_background_image(np.full((1, 1, 3), GROUND, np.uint8), format="png")
        self.controls = Controls(gui, self.simulation)
        panel = gui.add_panel()
        with panel.add_tab("What it costs"):
            self._figures = gui.add_html("")
            self._chart = Chart(gui)
        panel.dock_left()
        panel.set_width(330)
        gui.main_panel.dock_right()
        self._connect()

    def _connect(self) -> None:
        controls, simulation = self.controls, self.simulation

        def told(element: Any, name: str, do: Callable[[], None]) -> None:
            element.on_update(lambda _: self.wish(name, do))

        told(controls.scene, "scene", lambda: self._begin(_scene_titled(controls.scene.value, simulation.scene)))
        told(controls.method, "method", lambda: setattr(simulation, "method", controls.method.value))
        told(controls.count, "count", self._rebuild)
        told(controls.size, "size", self._rebuild)
        told(controls.speed, "speed", lambda: setattr(simulation, "speed", controls.speed.value))
        told(controls.pause, "pause", lambda: setattr(simulation, "paused", controls.pause.value))
        for element in (controls.cells, controls.contacts, controls.colour, controls.cull, controls.hold):
            told(element, "show", self._redraw)
        told(controls.ask, "ask", self._set_question)
        told(controls.ask_size, "ask", self._set_question)
        controls.mesh.on_upload(lambda event: self._load(event.target.value))
        scene = self._server.scene
        scene.on_click()(lambda event: self.wish("click", lambda: self._click(event)))
        scene.on_rect_select(modifier="shift")(lambda event: self.wish("select", lambda: self._select(event)))

        self._server.on_client_connect(
            lambda client: self.wish(f"greet {client.client_id}", lambda: self._greet(client))
        )

    def _set_stage(self) -> None:
        simulation, controls = self.simulation, self.controls
        scene = self._server.scene
        self._things = Things(scene, simulation.stage)
        self._overlays = Overlays(scene, simulation.stage)
        self._selected, self._picked, self._held = np.empty(0, np.int64), None, None
        is_space = simulation.stage.dimension == 3
        controls.cull.visible = controls.hold.visible = is_space
        controls.cull.value, controls.hold.value = simulation.scene.culled, False
        controls.scene.value = simulation.scene.title
        controls.set_counts(simulation.scene, simulation.count)
        controls.pause_camera.visible = simulation.scene.camera != "still"
        controls.mesh.visible = simulation.stage.mesh is not None
        simulation.seen = None
        self._angle = 0.0
        self._set_question()
        for client in self._server.get_clients().values():
            self._place_camera(client)
        self._dirty = True

    def _begin(self, scene: DemoScene) -> None:
        if scene.name != self.simulation.scene.name:
            self._replace(lambda: self.simulation.start(scene))

    def _rebuild(self) -> None:
        count, size = int(self.controls.count.value), float(self.controls.size.value)
        if (count, size) != (self.simulation.count, self.simulation.size):
            self._replace(lambda: self.simulation.start(count=count, size=size))

    def _replace(self, start: Callable[[], None]) -> None:
        start()
        with self._server.atomic():
            self._things.remove()
            self._overlays.remove()
            self._set_stage()
        self._figures_at = self._cells_at = -1.0

    # The thread.

    def _run(self) -> None:
        try:
            while not self._stopping.is_set():
                began = perf_counter()
                self._grant()
                frame = self.simulation.tick()
                self._dirty = self._dirty or frame is not None
                self._move_camera(1 / FPS)
                self._show(began)
                self._stopping.wait(max(0.0, 1 / FPS - (perf_counter() - began)))
        except BaseException as error:
            self._error = error
            self._stopping.set()
            raise

    def _grant(self) -> None:
        with self._wishing:
            wishes, self._wishes = self._wishes, {}
        for wish in wishes.values():
            try:
                wish()
            except (ValueError, OSError, ImportError) as error:
                self.controls.say(f"{escape(str(error))}")
        if wishes:
            self._redraw()

    def _redraw(self) -> None:
        self._dirty = True
        self._figures_at = self._cells_at = self._drawn_at = -1.0

    def _show(self, now: float) -> None:
        simulation = self.simulation
        every = len(simulation.rows) / _FULL_RATE / FPS if self._things.as_points else 0.0
        if not self._dirty or now - self._drawn_at < every:
            return
        self._dirty, self._drawn_at = False, now
        with self._server.atomic():
            self._draw(now)
            if now - self._figures_at >= _FIGURES_EVERY:
                self._figures_at = now
                scene = simulation.scene
                self._figures.content = as_html(scene.title, scene.text, simulation.figures(), simulation.paused)
            if now - self._chart_at >= _CHART_EVERY and not simulation.paused:
                self._chart_at = now
                self._chart.draw(simulation.history())

    def _draw(self, now: float) -> None:
        simulation, controls = self.simulation, self.controls
        rows, levels = simulation.rows, None
        simulation.seen = None
        if controls.cull.value and simulation.stage.dimension == 3 and (matrix := self._culling_matrix()) is not None:
            seen = simulation.look(matrix)
            rows, levels = seen.rows, seen.levels
        self._things.draw(rows, self._colours(rows), levels)
        if controls.cells.value:
            if now - self._cells_at >= _CELLS_EVERY:
                self._cells_at = now
                outline = simulation.examination(outline=True).outline
                if outline is not None and len(outline.level):
                    self._overlays.draw_cells(outline)
                else:
                    self._overlays.hide("cells")
        else:
            self._overlays.hide("cells")
        if controls.contacts.value and simulation.frame is not None:
            self._overlays.draw_contacts(simulation.frame.contacts)
        else:
            self._overlays.hide("normals")
            self._overlays.hide("points of contact")
        self._follow_picked()

    def _colours(self, rows: NDArray[np.int32]) -> NDArray[np.uint8]:
        simulation, controls = self.simulation, self.controls
        world = simulation.stage.world
        table = np.empty((world.slots, 3), np.uint8)
        if controls.colour.value == BY_CELL:
            table[simulation.rows] = colours_of_cells(simulation.cells())
        else:
            table[:] = APART
            table[world.kinds == 1] = STILL
            table[world.fast] = FAST
            touching = simulation.touching_rows()
            table[touching] = TOUCHING
            table[touching[world.kinds[touching] == 1]] = TOUCHED if simulation.scene.lights_still else STILL
            self._overlays.draw_triangles("touched", touching, TOUCHING)
        if self._probe is not None:
            asked = simulation.ask(self._probe.position, controls.ask_size.value, ball=controls.ask.value == ASK_BALL)
            table[asked] = ASKED
            self._overlays.draw_triangles("asked", asked, ASKED)
        table[self._selected_rows()] = SELECTED
        chosen: NDArray[np.uint8] = table if len(rows) == len(table) else table[rows]
        return chosen

    # Cameras.

    def _greet(self, client: Any) -> None:
        """See to it that the picture fits, also when panels or the window have changed their size."""
        fitted = client.camera.aspect
        self._place_camera(client)

        def fit(camera: Any) -> None:
            nonlocal fitted
            if abs(camera.aspect / fitted - 1) > _RESIZED:
                fitted = camera.aspect
                self.wish(f"fit {client.client_id}", lambda: self._place_camera(client))

        client.camera.on_update(fit)

    def _place_camera(self, client: Any) -> None:
        position, target = _viewpoint(self.simulation.scene, self.simulation.stage, self._angle, client.camera)
        with client.atomic():
            client.camera.up_direction = (0.0, 1.0, 0.0)
            client.camera.position = position
            client.camera.look_at = target

    def _move_camera(self, seconds: float) -> None:
        scene, controls = self.simulation.scene, self.controls
        if scene.camera == "still" or controls.pause_camera.value:
            return
        self._angle += 2 * np.pi * seconds / _ORBIT
        for client in self._server.get_clients().values():
            position, target = _viewpoint(scene, self.simulation.stage, self._angle, client.camera)
            with client.atomic():
                client.camera.position = position
                client.camera.look_at = target
        if controls.cull.value:
            self._dirty = True

    def _culling_matrix(self) -> NDArray[np.float64] | None:
        if not self.controls.hold.value:
            self._held = None
        elif self._held is not None:
            return self._held
        clients = list(self._server.get_clients().values())
        if not clients:
            return None
        matrix = _matrix_of(clients[-1].camera)
        if self.controls.hold.value:
            self._held = matrix
        return matrix

    # What people do.

    def _set_question(self) -> None:
        controls, stage = self.controls, self.simulation.stage
        kind = controls.ask.value
        if kind == NOTHING:
            if self._probe is not None:
                self._probe.remove()
                self._probe = None
            self._overlays.hide("ball asks")
            self._overlays.hide("box asks")
            self._overlays.draw_triangles("asked", np.empty(0, np.int32), ASKED)
            return
        place = (0.0, 0.0, 0.0) if self._probe is None else tuple(self._probe.position)
        if self._probe is None:
            is_flat = stage.dimension == 2
            self._probe = self._server.scene.add_transform_controls(
                "/probe",
                scale=1.5,
                disable_rotations=True,
                active_axes=(True, True, not is_flat),
                depth_test=False,
            )
            self._probe.on_update(lambda _: self.wish("probe", self._probe_moved))
        self._overlays.draw_question(place, controls.ask_size.value, kind == ASK_BALL)

    def _probe_moved(self) -> None:
        if self._probe is not None:
            controls = self.controls
            self._overlays.draw_question(self._probe.position, controls.ask_size.value, controls.ask.value == ASK_BALL)

    def _click(self, event: Any) -> None:
        simulation = self.simulation
        picked = simulation.cast(event.ray_origin, event.ray_direction)
        if picked is None:
            self._picked = None
            self._selected = np.empty(0, np.int64)
            self._overlays.hide("label")
            self.controls.say("The ray hit nothing.")
            return
        handle = simulation.stage.world.handles([picked.row])
        self._picked, self._selected = (picked, int(handle[0])), handle
        where = ", ".join(f"{one:.1f}" for one in picked.position[: simulation.stage.dimension])
        self.controls.say(
            f"The ray hit <b>{escape(picked.name)}</b> at ({where}); it touches {picked.touching} others."
        )

    def _select(self, event: Any) -> None:
        simulation = self.simulation
        (left, top), (right, bottom) = event.screen_min, event.screen_max
        if left == right or top == bottom:
            return
        rows = simulation.select(_matrix_of(event.client.camera), [left, top, right, bottom], [1, 1])
        self._picked = None
        self._overlays.hide("label")
        self._selected = simulation.stage.world.handles(rows)
        self.controls.say(f"<b>{len(rows):,}</b> things are in the rectangle.")

    def _follow_picked(self) -> None:
        if self._picked is None:
            return
        picked, _ = self._picked
        rows = self._selected_rows()
        if not len(rows):
            self._picked = None
            self._overlays.hide("label")
            return
        self._overlays.draw_picked(picked, picked.name, self.simulation.stage.places(rows)[0])

    def _selected_rows(self) -> NDArray[np.int32]:
        world, handles = self.simulation.stage.world, self._selected
        rows = (handles & 0xFFFF_FFFF).astype(np.int32)
        living = world.alive[rows]
        rows, handles = rows[living], handles[living]
        kept: NDArray[np.int32] = rows[world.handles(rows) == handles]
        return kept

    def _load(self, file: Any) -> None:
        from broadphase.view.demo_mesh_files import read_triangles

        def begin() -> None:
            mesh = read_triangles(file.name, file.content)
            self._replace(lambda: self.simulation.start(scene_named("mesh"), mesh=mesh))
            self.controls.say(f"{escape(file.name)}: {len(mesh.faces):,} triangles.")

        self.wish("mesh", begin)


def _serve(host: str, port: int) -> Any:
    viser = import_extra("viser", purpose="the demo", extra="demo")
    family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
    with socket.socket(family) as trial:  # viser would take another port where this one is taken
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((host, port))
        except OSError as error:
            raise OSError(f"cannot listen at {host}, port {port}: {error.strerror}") from error
        free = trial.getsockname()[1]
    with redirect_stdout(StringIO()):  # it prints a table
        return viser.ViserServer(host=host, port=free, label="broadphase", verbose=False)


def _scene_titled(title: str, current: DemoScene) -> DemoScene:
    return next((scene for scene in SCENES if scene.title == title), current)


def _viewpoint(scene: DemoScene, stage: Stage, angle: float, camera: Any) -> tuple[Floats, Floats]:
    """Give where a camera is, and where it looks: such that everything is in the picture, unless it flies through."""
    half = 0.5 * stage.extent * stage.scale
    if scene.camera == "fly":
        # To and fro through the middle of the longest side, looking ahead; turning at its ends.
        rounds, turned = np.divmod(angle / np.pi, 1.0)
        yaw = np.pi * (rounds + np.clip(5.0 * turned - 4.0, 0.0, 1.0))
        place = half * [0.12 * np.sin(2 * angle), 0.1, -0.95 * np.cos(angle)]
        return place, place + np.array([np.sin(yaw), -0.05, np.cos(yaw)])
    high = np.tan(camera.fov / 2)
    wide = high * camera.aspect
    if stage.dimension == 2:
        away = _ROOM * max(half[1] / high, half[0] / wide)
        return np.array([0.0, 0.0, away]), np.zeros(3)
    away = _ROOM * 0.93 * float(np.linalg.norm(half)) / np.sin(np.arctan(min(high, wide)))
    direction = np.array([np.sin(angle + 0.6), 0.4 + 0.2 * np.sin(2 * angle), np.cos(angle + 0.6)])
    return away * direction / np.linalg.norm(direction), np.zeros(3)


def _matrix_of(camera: Any) -> NDArray[np.float64]:
    view = bp.look_at(camera.position, camera.look_at, camera.up_direction)
    return bp.perspective(camera.fov, camera.aspect, _NEAR, _FAR) @ view
