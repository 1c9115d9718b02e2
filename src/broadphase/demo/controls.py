"""The controls of the demo's page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.demo.colours import ASKED, TOUCHING, css
from broadphase.demo.scenes import SCENES
from broadphase.demo.simulation import METHODS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from broadphase.demo.simulation import Simulation

__all__ = ["Chart", "Controls"]

BY_STATE, BY_CELL = "state", "cell"
_PEAK = 2.0  # times the 95th percentile
NOTHING, ASK_BOX, ASK_BALL = "nothing", "box", "ball"


class Controls:
    """What can be set on the page, each as an element of viser: read their values, or be told of changes.

    Parameters
    ----------
    gui : viser.GuiApi
    simulation : Simulation

    Attributes
    ----------
    scenes : dict of str to DemoScene
        Those to choose from, by title.
    """

    def __init__(self, gui: Any, simulation: Simulation) -> None:
        self._gui = gui
        here = simulation.scene
        self.scenes = {scene.title: scene for scene in (*SCENES, here)}
        self.scene = gui.add_dropdown("Scene", tuple(self.scenes), initial_value=here.title)
        self.method = gui.add_dropdown(
            "Method",
            METHODS,
            initial_value=simulation.method,
            hint="How pairs are found. The answer is the same; look at what it costs.",
        )
        self.count = gui.add_slider("Count", 1, 2, 1, 1)
        self.size = gui.add_slider("Size", 0.1, 4.0, 0.1, simulation.size)
        self.speed = gui.add_slider("Speed", 0.0, 4.0, 0.1, simulation.speed)
        self.pause = gui.add_checkbox("Pause things", simulation.paused)
        self.pause_camera = gui.add_checkbox("Pause camera", False)
        with gui.add_folder("Show"):
            self.cells = gui.add_checkbox("Cells of the method", False)
            self.contacts = gui.add_checkbox("Contacts and normals", False)
            self.colour = gui.add_dropdown("Colour by", (BY_STATE, BY_CELL), initial_value=BY_STATE)
            self.cull = gui.add_checkbox(
                "Draw only what is seen", False, hint="Asks the index in each frame what the camera sees."
            )
            self.hold = gui.add_checkbox("Hold that camera", False, hint="Then look around: the rest is not drawn.")
        with gui.add_folder("Ask the index"):
            self.ask = gui.add_dropdown(
                "Drag a", (NOTHING, ASK_BOX, ASK_BALL), initial_value=NOTHING, hint="What meets it lights up."
            )
            self.ask_size = gui.add_slider("Its size", 0.2, 8.0, 0.1, 2.5)
            self.answer = gui.add_html(_note("Click a thing to cast a ray. Shift and drag to select."))
        self.mesh = gui.add_upload_button("Load a mesh", hint=".stl, .obj, .ply or .glb")

    def set_scene(self, simulation: Simulation) -> None:
        """Show what makes sense for the scene."""
        scene, stage, count = simulation.scene, simulation.stage, simulation.count
        self.cull.visible = self.hold.visible = stage.dimension == 3
        self.cull.value = scene.culled
        self.pause_camera.visible = scene.camera != "still"
        most = min(scene.counts[1], 5 * scene.count)
        step = max(1, most // 200)
        self.count.min, self.count.max, self.count.step = min(step, count), most, step
        self.count.value = count

    def say(self, text: str) -> None:
        """Show an answer."""
        self.answer.content = _note(text)


class Chart:
    """Milliseconds of the last ten seconds.

    Parameters
    ----------
    gui : viser.GuiApi
    """

    def __init__(self, gui: Any) -> None:
        empty = np.zeros(1)
        grid = {"stroke": "#2a3039", "width": 1}
        ink = "#aeb8c6"
        self._plot = gui.add_uplot(
            (empty, empty, empty),
            (
                {"label": "seconds"},
                {"label": "broad phase, ms", "stroke": css(ASKED), "width": 2},
                {"label": "narrow phase, ms", "stroke": css(TOUCHING), "width": 2},
            ),
            scales={"x": {"time": False, "range": (-10.0, 0.0)}, "y": {}},
            axes=(
                {"stroke": ink, "grid": grid},
                {"stroke": ink, "grid": grid, "size": 44},
            ),
            legend={"show": True, "live": False},
            height=170,
        )

    def draw(self, history: tuple[NDArray[np.float64], ...]) -> None:
        """Show seconds and milliseconds; single peaks are cut, lest they flatten the rest."""
        seconds, *phases = history
        top = _PEAK * max(float(np.percentile(phase, 95)) for phase in phases)
        self._plot.data = (seconds, *(np.minimum(phase, top) for phase in phases))


def _note(text: str) -> str:
    return f'<div id="bp-answer" style="padding:4px 14px;font-size:13px;color:#d7dde6">{text}</div>'
