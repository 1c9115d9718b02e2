"""The cameras of the demo: their paths and their matrices."""

from __future__ import annotations

import itertools
from contextlib import suppress
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

import broadphase as bp

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from broadphase.demo.stage import Stage

    Floats = NDArray[np.float64]

__all__ = ["Cameras", "matrix_of", "viewpoint"]

_ROUND = 60.0  # seconds for one orbit, or one flight to and fro
_NEAR, _FAR = 0.01, 1000.0  # those of viser, in units of the picture
_RESIZED = 0.02  # smallest change of the aspect ratio, as a share, after which the camera is placed again
_ROOM = 1.06  # size of the picture relative to the world in it
_UP = (0.0, 1.0, 0.0)
_USUAL = SimpleNamespace(fov=np.deg2rad(75.0), aspect=1.0)  # until the browser reports its own
_NEARER = 0.72  # of the distance from which the whole world is seen
_CUBE = 0.93  # share of its bounding ball that a cube fills in the picture
_ASIDE = 1e-6  # what viser tells apart; see `Cameras._place`


class Cameras:
    """The cameras of all browsers that show the page; see `DemoPage.request` for `request`."""

    def __init__(self, server: Any, request: Callable[[str, Callable[[], None]], None]) -> None:
        self._server = server
        self._request = request
        self._angle = 0.0
        self._taken: dict[int, tuple[Floats, Floats] | None] = {}  # by the number of a client: its own orbit
        self._turns = itertools.cycle(range(1, 1000))
        self.moved = False
        server.on_client_connect(lambda client: request(f"greet {client.client_id}", lambda: self._greet(client)))

    def set_stage(self, path: str, stage: Stage, twin: float = 0.0) -> None:
        """Show another scene, along a path of `DemoScene.camera`; see `viewpoint` for `twin`."""
        self._path, self._stage, self._twin, self._angle = path, stage, twin, 0.0
        self._taken.clear()
        position, target = viewpoint(path, stage, 0.0, _USUAL, twin)
        initial = self._server.initial_camera
        initial.up, initial.position, initial.look_at = _UP, tuple(position), tuple(target)
        for client in self._server.get_clients().values():
            self._place(client)

    def move(self, seconds: float) -> None:
        """Move along the path of the scene; what a hand has set goes round as it was left."""
        if self._path == "still":
            return
        turn = 2 * np.pi * seconds / _ROUND
        self._angle += turn
        for number, client in self._server.get_clients().items():
            if number in self._taken and self._path != "fly":
                self._turn(client, turn)
            else:
                self._place(client)

    def take(self, client_id: int) -> None:
        """Leave the camera of a browser to the hand that moves it."""
        self._taken[client_id] = None

    def last(self) -> Any:
        """Return the camera of the browser that connected last, or None."""
        clients = list(self._server.get_clients().values())
        return clients[-1].camera if clients else None

    def _greet(self, client: Any) -> None:
        """Fit the picture now, and again whenever panels or the window change their size."""
        fitted = client.camera.aspect
        client.camera.up_direction = _UP
        self._place(client)

        def follow(camera: Any) -> None:
            nonlocal fitted
            self.moved = True
            if abs(camera.aspect / fitted - 1) > _RESIZED and client.client_id not in self._taken:
                fitted = camera.aspect
                self._request(f"fit {client.client_id}", lambda: self._place(client))

        client.camera.on_update(follow)

    def _turn(self, client: Any, angle: float) -> None:
        """Turn a camera about the vertical through the point that it looks at."""
        camera = client.camera
        target, away = self._taken[client.client_id] or (camera.look_at, camera.position - camera.look_at)
        cos, sin = np.cos(angle), np.sin(angle)
        away = np.array([away[0] * cos + away[2] * sin, away[1], away[2] * cos - away[0] * sin])
        # Not read from the camera each time: a report that is on its way would turn it back.
        self._taken[client.client_id] = target, away
        self._send(client, target + away, target)

    def _place(self, client: Any) -> None:
        self._send(client, *viewpoint(self._path, self._stage, self._angle, client.camera, self._twin))

    def _send(self, client: Any, position: Floats, target: Floats) -> None:
        # viser moves the target with the position, and sends no target that it takes for the current one: a report that
        # the browser made before may say so, if it comes between. So none is quite the one before.
        target = target + _ASIDE * next(self._turns)
        # viser warns if the page has just been closed; under -W error, that raises.
        with client.atomic(), suppress(UserWarning):
            client.camera.position = position
            client.camera.look_at = target


def viewpoint(path: str, stage: Stage, angle: float, camera: Any, twin: float = 0.0) -> tuple[Floats, Floats]:
    """Return the position of a camera and the point it looks at. Only a near or flying one does not see all the world.

    `path` is as of `DemoScene.camera`, and `angle`, in radians, the position on it; `camera` has ``fov`` and
    ``aspect``. `twin` is how far to the left the same world is drawn once more; 0 if it is not.
    """
    half = 0.5 * stage.extent * stage.scale
    middle = np.array([-twin / 2, 0.0, 0.0])
    if path == "fly":
        # To and fro along the third axis, looking ahead. It waits at the ends, where the gun is, and turns around.
        rounds, share = np.divmod(angle / np.pi, 1.0)
        gone, turned = (t * t * (3 - 2 * t) for t in np.clip([1.6 * share - 0.3, 5.0 * share - 4.0], 0.0, 1.0))
        yaw = np.pi * (rounds + turned)
        way = 1.85 * (1 - gone if rounds % 2 else gone) - 0.98
        place = half * np.array([0.08 * np.cos(yaw), 0.05 + 0.1 * np.sin(np.pi * gone), way])
        return place, place + np.array([np.sin(yaw), -0.05, np.cos(yaw)])
    high = np.tan(camera.fov / 2)
    wide = high * camera.aspect
    half = half - middle
    if stage.dim == 2 or twin:
        away = _ROOM * max(half[1] / high, half[0] / wide) + (half[2] if twin else 0.0)
        return middle + np.array([0.0, 0.0, away]), middle
    away = _ROOM * _CUBE * float(np.linalg.norm(half)) / np.sin(np.arctan(min(high, wide)))
    away *= _NEARER if path == "near" else 1.0
    direction = np.array([np.sin(angle + 0.6), 0.4 + 0.2 * np.sin(2 * angle), np.cos(angle + 0.6)])
    return away * direction / np.linalg.norm(direction), middle


def matrix_of(camera: Any, near: float = _NEAR) -> Floats:
    """Return the matrix of a camera of the page, projection times view, without what is nearer than a distance."""
    view = bp.cameras.look_at(camera.position, camera.look_at, camera.up_direction)
    return bp.cameras.perspective(camera.fov, camera.aspect, near, _FAR) @ view
