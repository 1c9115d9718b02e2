"""The panels of the demo's page: the controls on the right, the figures and the chart on the left."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import broadphase as bp
from broadphase.demo.colours import QUERIED, TOUCHING, WRONG, css
from broadphase.demo.examination import METHODS
from broadphase.demo.link import SIZES, SPEEDS, method_of, texts_of
from broadphase.demo.scenes import SCENES
from broadphase.errors import clipped
from broadphase.methods import METHOD_NAMES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from broadphase.demo.simulation import Figures, Simulation

__all__ = [
    "BY_CELL", "BY_STATE", "NO_QUERY", "QUERY_BALL", "QUERY_BOX", "Chart", "Controls", "chosen_of", "figures_html",
    "headline", "summary_html",
]  # fmt: skip

BY_STATE, BY_CELL = "state", "cell"
NO_QUERY, QUERY_BOX, QUERY_BALL = "none", "box", "ball"
BRUTE_FORCE = "brute_force"
# viser runs no scripts in HTML; but an image that cannot be loaded says so.
SCRIPT = f'<img src="data:," alt="" hidden onerror="{escape(Path(__file__).with_name("page.js").read_text("utf-8"))}">'
_PEAK = 2.0  # the chart ends at so many times the 95th percentile


class Controls:
    """The controls of the page. Each is an element of viser with a `value` and callbacks for changes."""

    def __init__(self, gui: Any, simulation: Simulation) -> None:
        self._before = METHOD_NAMES[0]
        here = simulation.scene
        self.scenes = {scene.title: scene for scene in (*SCENES, here)}
        self.scene = gui.add_dropdown("Scene", tuple(self.scenes), initial_value=here.title)
        self.method = gui.add_dropdown(
            "Method",
            METHOD_NAMES,
            initial_value=METHOD_NAMES[0],
            hint="How the broad phase finds pairs. All methods find the same pairs; compare their cost.",
        )
        self.settings = gui.add_text(
            "Settings",
            "",
            hint="Of the method, such as leaf_capacity=1 looseness=1 for octree, tuning=origin for linear_tree, or"
            " axis=[1, 1] for sweep_and_prune. They change what it costs, never what it finds.",
        )
        self.fault = gui.add_html("", visible=False)
        self._texts: dict[str, str] = {}
        self.show_method(simulation.method)
        self.race = gui.add_checkbox(
            "Race",
            False,
            hint="The same scene twice: on the left by brute force, on the right by the method. The count rises until"
            " one of them falls below 60 steps a second.",
        )
        self.count = gui.add_slider("Count", 1, 2, 1, 1)
        self.size = gui.add_slider("Size", *SIZES, 0.1, simulation.size, hint="A factor on the size of all bodies.")
        self.speed = gui.add_slider("Speed", *SPEEDS, 0.1, simulation.speed)
        self.pause = gui.add_checkbox("Pause bodies", simulation.paused, hint="Space, or a click in the picture.")
        self.pause_camera = gui.add_checkbox("Pause camera", False, hint="C, or a right click in the picture.")
        self.pause_key = gui.add_command("Pause bodies, or go on", hotkey="space")
        self.pause_camera_key = gui.add_command("Pause camera, or go on", hotkey="C")
        self.hand_key = gui.add_command("Move the camera by hand", hotkey="H")
        self.switch_key = gui.add_command("Switch between the method and brute force", hotkey="enter")
        gui.add_html(SCRIPT)
        with gui.add_folder("Show"):
            self.cells = gui.add_checkbox(
                "Cells", self.method.value != "auto", hint="The cells or nodes of the method, or what it has instead."
            )
            self.contacts = gui.add_checkbox("Contacts", False, hint="Contact points and normals.")
            self.colour = gui.add_dropdown(
                "Colour by",
                (BY_STATE, BY_CELL),
                initial_value=BY_STATE,
                hint="State: touching or not. Cell: the cell of the method that each body is in.",
            )
            self.cull = gui.add_checkbox(
                "Frustum culling",
                here.culled,
                hint="Draw only the bodies that the camera sees, found by a frustum query in each frame.",
            )
            self.freeze = gui.add_checkbox(
                "Freeze frustum",
                False,
                hint="Keep the frustum where it is. Then look around: bodies outside it are not drawn.",
            )
        with gui.add_folder("Query"):
            self.query = gui.add_dropdown(
                "Query shape",
                (NO_QUERY, QUERY_BOX, QUERY_BALL),
                initial_value=NO_QUERY,
                hint="Drag it by its arrows: bodies that meet it turn blue.",
            )
            self.query_size = gui.add_slider("Query size", 0.2, 8.0, 0.1, 2.5)
            self.answer = gui.add_html("")
            self.welcome()
        # Under these two names, `page.js` looks for a click: only the browser has its address and its picture.
        self.copy = gui.add_button("Copy link", hint="It opens this scene with its method, count and settings.")
        gui.add_button("Record a film", hint="The next ten seconds of the picture, as a video.")
        self.save = gui.add_button("Save a replay", hint="The last ten to twenty seconds, as a page for any browser.")
        self.mesh = gui.add_upload_button("Load a mesh", hint=".stl, .obj, .ply or .glb")

    def set_scene(self, simulation: Simulation) -> None:
        """Show the controls that apply to the scene, within its limits."""
        scene, stage, count = simulation.scene, simulation.stage, simulation.count
        self.cull.visible = self.freeze.visible = stage.dim == 3
        self.pause_camera.visible = scene.camera != "still"
        most = min(scene.counts[1], 5 * scene.count)
        step = max(1, most // 200)
        self.count.min, self.count.max, self.count.step = min(step, count), most, step
        self.count.value = count

    def show_method(self, method: str | bp.index.IndexOptions) -> None:
        """Show a method and its settings."""
        name, settings = texts_of(method)
        self._texts[name] = self.settings.value = settings
        self.method.value = name

    def chosen_method(self) -> str | bp.index.IndexOptions:
        """Return the method that is chosen, with its settings; raises what `method_of` raises."""
        return method_of(self.method.value, self.settings.value)

    def show_fault(self, text: str) -> None:
        """Show below the settings what is wrong with them; empty: nothing."""
        self.fault.content = f'<div id="bp-fault" style="{_NOTE};color:{css(WRONG)}">{escape(clipped(text))}</div>'
        self.fault.visible = bool(text)

    def remember_settings(self) -> None:
        """Keep the settings of the method that is chosen."""
        self._texts[self.method.value] = self.settings.value

    def recall_settings(self) -> None:
        """Show the settings that the method that is chosen had last."""
        self.settings.value = self._texts.get(self.method.value, "")

    def switch(self) -> None:
        """Choose brute force, or what was chosen before it."""
        if self.method.value == BRUTE_FORCE:
            self.method.value = self._before
        else:
            self._before, self.method.value = self.method.value, BRUTE_FORCE

    def welcome(self) -> None:
        """Show what a click does."""
        self.say("Click a body to cast a ray. Drag with Shift to select bodies.")

    def repair(self) -> None:
        """Put values that the page does not offer back into their limits: clients can send any value."""
        for slider in (self.count, self.size, self.speed, self.query_size):
            if not slider.min <= slider.value <= slider.max:  # not NaN either
                slider.value = min(max(slider.value, slider.min), slider.max)
        for choice in (self.scene, self.method, self.colour, self.query):
            if choice.value not in choice.options:
                choice.value = choice.options[0]
        if not isinstance(self.settings.value, str):
            self.settings.value = ""

    def say(self, html: str) -> None:
        """Show a message below the query controls."""
        self.answer.content = f'<div id="bp-answer" style="{_NOTE};color:#d7dde6">{html}</div>'


class Chart:
    """A chart of the milliseconds of both phases in the last ten seconds."""

    def __init__(self, gui: Any) -> None:
        empty = np.zeros(1)
        grid = {"stroke": "#2a3039", "width": 1}
        ink = "#aeb8c6"
        self._plot = gui.add_uplot(
            (empty, empty, empty),
            (
                {"label": "seconds"},
                {"label": "broad phase, ms", "stroke": css(QUERIED), "width": 2},
                {"label": "narrow phase, ms", "stroke": css(TOUCHING), "width": 2},
            ),
            scales={"x": {"time": False, "range": (-10.0, 0.0)}, "y": {}},
            axes=({"stroke": ink, "grid": grid}, {"stroke": ink, "grid": grid, "size": 44}),
            legend={"show": True, "live": False},
            height=130,
        )

    def draw(self, history: tuple[NDArray[np.float64], ...]) -> None:
        """Show seconds and milliseconds; single peaks are cut, so that the rest stays legible."""
        seconds, *phases = history
        top = _PEAK * max(float(np.percentile(phase, 95)) for phase in phases)
        self._plot.data = (seconds, *(np.minimum(phase, top) for phase in phases))


def comparison(figures: Figures) -> str:
    """Say which of two methods is quicker with these bodies."""
    if not figures.rival:
        return ""
    quicker, slower = sorted([(figures.own_ms, figures.used), (figures.rival_ms, figures.rival)])
    times = f"{figures.used} {figures.own_ms:.3f} ms, {figures.rival} {figures.rival_ms:.3f} ms"
    factor = slower[0] / max(quicker[0], 1e-9)
    return f"To find all shapes that touch: {times}. Here {quicker[1]} is {factor:.1f}× quicker."


def headline(figures: Figures) -> tuple[str, str]:
    """Say in a few words and in one sentence how many tests the method saved."""
    whole = figures.brute_force_tests
    if figures.used == "brute_force":
        what = "shapes" if figures.exact_tests == whole else "boxes"
        return ("no test saved", f"Brute force tested the {what} of all {whole:,} pairs. Compare another method.")
    if not figures.tests:
        return "no tests", f"Brute force would test {whole:,} pairs; this frame needed no test."
    return (
        f"{whole / figures.tests:,.0f}× fewer tests",
        f"Brute force would test {whole:,} pairs; this frame needed {figures.tests:,} tests.",
    )


def chosen_of(figures: Figures) -> str:
    """Name the method, and what "auto" has chosen."""
    return figures.used if figures.method != "auto" else f"auto → {figures.used}"


def summary_html(
    title: str, text: str, figures: Figures, *, pages: int = 1, link: str = "", drawn: bool = False
) -> str:
    """Make what is above the chart: the scene, how many tests the method saves, and how it works.

    The element of each value has the id ``bp-<name>``. The browser copies the link into its address.
    """
    factor, line = headline(figures)
    structure = METHODS[figures.used].drawn if drawn else ""
    shared = f"{pages} pages show this simulation: what one changes, or opens by a link, changes for all."
    return (
        f'{_STYLE}<div class="bp"><h1 id="bp-title">{escape(title)}</h1><p id="bp-text">{escape(text)}</p>'
        f'<p class="big" id="bp-factor">{factor}</p><p id="bp-headline">{line}</p>'
        f'<table><tr><td>method</td><td id="bp-method">{escape(chosen_of(figures))}</td></tr></table>'
        f'<p class="why" id="bp-why">{escape(figures.why)}</p>'
        f'<p class="why" id="bp-structure">{structure}</p>'
        f'<p class="why" id="bp-quicker">{escape(comparison(figures))}</p>'
        f'<p class="why" id="bp-pages">{shared if pages > 1 else ""}</p><i hidden id="bp-link">{escape(link)}</i></div>'
    )


def figures_html(figures: Figures, paused: bool) -> str:
    """Make the table below the chart; the element of each value has the id ``bp-<name>``."""
    rows = [
        ("bodies", "count", f"{figures.count:,}"),
        ("broad phase", "broad", _milliseconds(figures.broad_ms)),
        ("narrow phase", "narrow", _milliseconds(figures.narrow_ms)),
        ("whole update", "update", _milliseconds(figures.update_ms)),
        ("box tests", "tests", f"{figures.tests:,}"),
        ("by brute force", "brute", f"{figures.brute_force_tests:,}"),
        ("candidate pairs", "pairs", f"{figures.pairs:,}"),
        ("exact tests", "exact", f"{figures.exact_tests:,}"),
        ("touching pairs", "hits", f'<span class="hit">{figures.hits:,}</span>'),
        ("enter / exit events", "events", f"{figures.enters:,} / {figures.exits:,}"),
        (_depth(figures), "depth", f"{figures.parts:,}"),
        ("steps per second", "fps", "paused" if paused else f"{figures.fps:.0f}"),
    ]
    if not paused:
        rows.append(("pictures per second", "pictures", ""))  # which the browser fills in
    if figures.tuning:
        rows.append(("tuned depth", "tuning", figures.tuning))
    if figures.drawn or figures.culled:
        rows.append(("drawn / culled", "drawn", f"{figures.drawn:,} / {figures.culled:,}"))
        rows.append(("full / medium / low detail", "details", " / ".join(f"{one:,}" for one in figures.details)))
    if figures.cells_idle or figures.cells_freed:
        kept = f"{figures.cells_idle:,} / {figures.cells_freed:,}"
        rows.append(("empty cells kept / freed", "kept", kept))
    cells = "".join(f'<tr><td>{name}</td><td id="bp-{key}">{value}</td></tr>' for name, key, value in rows)
    return f'<div class="bp"><table>{cells}</table><p class="why" id="bp-more">{_untested(figures)}</p></div>'


def _untested(figures: Figures) -> str:
    """Say why more pairs touch than were tested."""
    if figures.hits <= figures.exact_tests:
        return ""
    way = f" {figures.on_the_way:,} were met on the way of a fast body." if figures.on_the_way else ""
    return f"More pairs touch than were tested: two bodies that stood still keep their answer.{way}"


_STYLE = (
    "<style>"
    ".bp{font:13px/1.45 system-ui,sans-serif;color:#d7dde6;padding:2px 14px 8px}"
    ".bp h1{font-size:15px;margin:6px 0 2px;color:#fff}"
    ".bp p{margin:2px 0 8px;color:#aeb8c6}"
    ".bp table{width:100%;border-collapse:collapse}"
    ".bp td{padding:1.5px 0;border-top:1px solid #2a3039;vertical-align:baseline}"
    ".bp td+td{text-align:right;font-variant-numeric:tabular-nums;color:#fff;font-weight:600}"
    ".bp .why{color:#aeb8c6;font-size:12px;margin:0 0 6px}"
    f".bp .big{{font-size:21px;font-weight:700;color:{css(QUERIED)};margin:0}}"
    f".bp .hit{{color:{css(TOUCHING)}}}"
    "#bp-pictures::after{content:var(--bp-pictures,'–')}"
    "</style>"
)


_NOTE = "padding:4px 14px;font-size:13px"


def _depth(figures: Figures) -> str:
    return f"{figures.parts_name} on {figures.depth} level{'s' * (figures.depth != 1)}"


def _milliseconds(number: float) -> str:
    """Write a time; a dash if no step was timed yet."""
    return f"{number:.2f} ms" if number else "–"
