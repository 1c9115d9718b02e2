"""What the mouse does on the page: cast rays, select bodies, drag a query."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.demo.cameras import matrix_of
from broadphase.demo.panel import NO_QUERY, QUERY_BALL
from broadphase.scenes.scene import living_rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from broadphase.demo.drawing import Overlays
    from broadphase.demo.panel import Controls
    from broadphase.demo.simulation import Simulation

    Rows = NDArray[np.int32]

__all__ = ["Pointing"]

_NONE = np.empty(0, np.int64)


class Pointing:
    """The bodies selected by mouse, and the query that is dragged; see `DemoPage.request` for `request`."""

    def __init__(
        self,
        server: Any,
        simulation: Simulation,
        controls: Controls,
        request: Callable[[str, Callable[[], None]], None],
    ) -> None:
        self._server, self._simulation, self._controls, self._request = server, simulation, controls, request
        self._selected = _NONE  # handles
        self._label = ""
        self._held: int | None = None  # a handle
        self._way = np.zeros(simulation.stage.dim)  # its velocity before
        self.search: tuple[NDArray[Any], ...] = (_NONE, _NONE, _NONE, _NONE)
        """What is looked at for the body that a hand holds; see `Simulation.searched`."""
        self._probe: Any = None
        server.on_client_disconnect(lambda _: request("drag", lambda: self.drag(None, None)))  # its hand may hold one
        scene = server.scene
        scene.on_click()(lambda event: request("click", lambda: self.click(event)))
        scene.on_rect_select(modifier="shift")(lambda event: request("select", lambda: self.select(event)))

    def set_stage(self, overlays: Overlays) -> None:
        """Start with another scene, with nothing selected and nothing said."""
        self._overlays = overlays
        self._controls.welcome()
        self._selected, self._label, self._held = _NONE, "", None
        self._remove_probe()
        self.set_query()

    def click(self, event: Any) -> None:
        """Cast a ray, and show what it hits. Pause the bodies; go on if they are paused and the ray hits nothing."""
        simulation = self._simulation
        picked = simulation.raycast(event.ray_origin, event.ray_direction)
        if picked is None or not simulation.paused:
            self._controls.pause.value = not simulation.paused
        if picked is None:
            self._select(_NONE, "")
            self._controls.say("The ray hit nothing.")
            return
        self._select(simulation.stage.world.handles([picked.row]), picked.name)
        where = ", ".join(f"{one:.1f}" for one in picked.position[: simulation.stage.dim])
        name = f"<b>{escape(picked.name)}</b>"
        self._controls.say(f"The ray hit {name} at ({where}); it touches {picked.touching} other bodies.")

    def select(self, event: Any) -> None:
        """Select the bodies in a rectangle of the picture."""
        (left, top), (right, bottom) = event.screen_min, event.screen_max
        if left == right or top == bottom:
            return
        rows = self._simulation.select(matrix_of(event.client.camera), [left, top, right, bottom], [1, 1])
        self._select(self._simulation.stage.world.handles(rows), "")
        self._controls.say(f"<b>{len(rows):,}</b> bodies are in the rectangle.")

    def drag(self, row: int | None, place: Any) -> None:
        """Hold a body at a place of the picture; None: let it go."""
        world, held = self._simulation.stage.world, self.held_row()
        if row is None:
            if held is not None:
                world.velocities[held] = self._way
            self._held = None
            return
        if held is None:
            self._held, self._way = int(world.handles([row])[0]), world.velocities[row].copy()
        self._place = place

    def held_row(self) -> int | None:
        """Return the row of the body that a hand holds, or None."""
        handles = _NONE if self._held is None else np.array([self._held])
        rows = living_rows(self._simulation.stage.world, handles)
        return int(rows[0]) if len(rows) else None

    def hold(self) -> None:
        """Keep the body that a hand holds where the hand is, and say what is tested for it."""
        row, simulation = self.held_row(), self._simulation
        if row is None:
            return
        simulation.move(row, self._place)
        self.search = cells, tested, candidates, hits = simulation.searched(row)
        where = f"Cells that its box meets: <b>{len(cells):,}</b>, with " if len(cells) else ""
        self._controls.say(
            f"{where}<b>{len(tested):,}</b> other bodies. Boxes that overlap its box: <b>{len(candidates):,}</b>."
            f" Bodies that touch it: <b>{len(hits):,}</b>."
        )

    def selected_rows(self) -> Rows:
        """Return the selected rows that still exist."""
        return living_rows(self._simulation.stage.world, self._selected)

    def queried_rows(self) -> Rows:
        """Return the rows that meet the dragged query; none if there is no query."""
        if self._probe is None:
            return np.empty(0, np.int32)
        controls = self._controls
        return self._simulation.query(
            self._probe.position, controls.query_size.value, ball=controls.query.value == QUERY_BALL
        )

    def set_query(self) -> None:
        """Show the box or ball that the controls select, or none."""
        shape = self._controls.query.value
        if shape == NO_QUERY:
            self._controls.welcome()
            self._remove_probe()
            self._overlays.hide("query ball", "query box")
            return
        self._controls.say(f"Drag the {shape} by its arrows: bodies that meet it turn blue.")
        if self._probe is None:
            is_flat = self._simulation.stage.dim == 2
            self._probe = self._server.scene.add_transform_controls(
                "/probe", scale=1.5, disable_rotations=True, active_axes=(True, True, not is_flat), depth_test=False
            )
            self._probe.on_update(lambda _: self._request("probe", self._draw_probe))
        self._draw_probe()

    def draw(self) -> None:
        """Move the name of the clicked body with it."""
        if not self._label:
            return
        rows = self.selected_rows()
        if len(rows):
            self._overlays.draw_label(self._label, self._simulation.stage.label_place(int(rows[0])))
        else:
            self._select(_NONE, "")

    def _select(self, handles: NDArray[np.int64], label: str) -> None:
        self._selected, self._label = handles, label
        if not label:
            self._overlays.hide("label")

    def _draw_probe(self) -> None:
        if self._probe is not None:
            controls = self._controls
            self._overlays.draw_probe(
                self._probe.position, controls.query_size.value, controls.query.value == QUERY_BALL
            )

    def _remove_probe(self) -> None:
        if self._probe is not None:
            self._probe.remove()
            self._probe = None
