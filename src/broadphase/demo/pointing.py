"""What people do with the mouse: cast rays, select, drag a question around."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.demo.cameras import matrix_of
from broadphase.demo.colours import ASKED
from broadphase.demo.controls import ASK_BALL, NOTHING

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from broadphase.demo.controls import Controls
    from broadphase.demo.overlays import Overlays
    from broadphase.demo.simulation import Simulation

    Rows = NDArray[np.int32]

__all__ = ["Pointing"]

_NOBODY = np.empty(0, np.int64)


class Pointing:
    """What the mouse has chosen of a scene, and the question that it drags.

    Parameters
    ----------
    server : viser.ViserServer
    simulation : Simulation
    controls : Controls
    wish : callable
        Called with a name and a function, to have it done between two steps.
    """

    def __init__(
        self,
        server: Any,
        simulation: Simulation,
        controls: Controls,
        wish: Callable[[str, Callable[[], None]], None],
    ) -> None:
        self._server, self._simulation, self._controls, self._wish = server, simulation, controls, wish
        self._chosen = _NOBODY  # handles
        self._label = ""
        self._probe: Any = None
        scene = server.scene
        scene.on_click()(lambda event: wish("click", lambda: self.click(event)))
        scene.on_rect_select(modifier="shift")(lambda event: wish("select", lambda: self.select(event)))

    def set_stage(self, overlays: Overlays) -> None:
        """Point at another scene."""
        self._overlays = overlays
        self._chosen, self._label = _NOBODY, ""
        self._remove_probe()
        self.set_question()

    def click(self, event: Any) -> None:
        """Cast a ray, and tell what it hits."""
        simulation = self._simulation
        picked = simulation.cast(event.ray_origin, event.ray_direction)
        if picked is None:
            self._choose(_NOBODY, "")
            self._controls.say("The ray hit nothing.")
            return
        self._choose(simulation.stage.world.handles([picked.row]), picked.name)
        where = ", ".join(f"{one:.1f}" for one in picked.position[: simulation.stage.dimension])
        name = f"<b>{escape(picked.name)}</b>"
        self._controls.say(f"The ray hit {name} at ({where}); it touches {picked.touching} others.")

    def select(self, event: Any) -> None:
        """Choose what is in a rectangle of the picture."""
        (left, top), (right, bottom) = event.screen_min, event.screen_max
        if left == right or top == bottom:
            return
        rows = self._simulation.select(matrix_of(event.client.camera), [left, top, right, bottom], [1, 1])
        self._choose(self._simulation.stage.world.handles(rows), "")
        self._controls.say(f"<b>{len(rows):,}</b> things are in the rectangle.")

    def chosen_rows(self) -> Rows:
        """Give the rows that were clicked or selected, and are still there."""
        world, handles = self._simulation.stage.world, self._chosen
        rows = (handles & 0xFFFF_FFFF).astype(np.int32)
        living = world.alive[rows]
        rows, handles = rows[living], handles[living]
        kept: Rows = rows[world.handles(rows) == handles]
        return kept

    def asked_rows(self) -> Rows | None:
        """Ask the index what meets the question; None where there is none."""
        if self._probe is None:
            return None
        controls = self._controls
        return self._simulation.ask(self._probe.position, controls.ask_size.value, ball=controls.ask.value == ASK_BALL)

    def set_question(self) -> None:
        """Show the box or ball that the controls say, or none."""
        if self._controls.ask.value == NOTHING:
            self._remove_probe()
            self._overlays.hide("ball asks")
            self._overlays.hide("box asks")
            self._overlays.draw_triangles("asked", np.empty(0, np.int32), ASKED)
            return
        if self._probe is None:
            is_flat = self._simulation.stage.dimension == 2
            self._probe = self._server.scene.add_transform_controls(
                "/probe", scale=1.5, disable_rotations=True, active_axes=(True, True, not is_flat), depth_test=False
            )
            self._probe.on_update(lambda _: self._wish("probe", self._draw_question))
        self._draw_question()

    def draw(self) -> None:
        """Let the name of what was clicked follow it."""
        if not self._label:
            return
        rows = self.chosen_rows()
        if len(rows):
            self._overlays.draw_label(self._label, self._simulation.stage.places(rows)[0])
        else:
            self._choose(_NOBODY, "")

    def _choose(self, handles: NDArray[np.int64], label: str) -> None:
        self._chosen, self._label = handles, label
        if not label:
            self._overlays.hide("label")

    def _draw_question(self) -> None:
        if self._probe is not None:
            controls = self._controls
            self._overlays.draw_question(self._probe.position, controls.ask_size.value, controls.ask.value == ASK_BALL)

    def _remove_probe(self) -> None:
        if self._probe is not None:
            self._probe.remove()
            self._probe = None
