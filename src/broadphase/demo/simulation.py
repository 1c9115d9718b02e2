"""The demo without its page: a running scene, its figures and its queries."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import broadphase as bp
from broadphase.demo.examination import METHODS, Examination, all_pairs_of, cells_of, examine, seconds_of_search
from broadphase.demo.scenes import DemoScene, scene_named
from broadphase.errors import unknown_name
from broadphase.methods import METHOD_NAMES

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from broadphase.demo.meshes import Triangles
    from broadphase.demo.stage import Stage

    Rows = NDArray[np.int32]

__all__ = ["Figures", "Picked", "Simulation"]

_HISTORY = 10.0  # seconds
_SHARE_OF_EXAMINING = 0.1  # of the time that may go into examining the method
_MOST_COMPARED = 2000  # bodies: with more, testing the shapes of all pairs takes too long, and its result is clear


class Picked(NamedTuple):
    """The body that a ray hit first."""

    row: int
    name: str  # its layer and row
    position: NDArray[np.float64]  # (3,), of the hit, in world coordinates
    normal: NDArray[np.float64]  # of the surface
    touching: int  # number of bodies that it touches


@dataclass(frozen=True)
class Figures(Examination):
    """The figures that the page shows, beside those of the `Examination`.

    Times are medians of the last second, in milliseconds.
    """

    method: str  # "auto" or a name from the registry
    count: int  # of bodies
    broad_ms: float  # by brute force, 0
    narrow_ms: float  # by brute force, the time of the tests of all pairs
    update_ms: float  # the whole update: rules of the scene, hooks, and the step with both phases
    exact_tests: int  # of shapes in the last step; by brute force, of all pairs, up to 2000 bodies
    brute_force_tests: int  # of boxes
    pairs: int  # candidates: those that the broad phase passes to the narrow phase
    hits: int  # touching pairs
    on_the_way: int  # those that a body with continuous collision detection met between two steps
    enters: int  # of the last step
    exits: int
    fps: float  # steps per second
    drawn: int  # bodies inside the camera's frustum; 0 without frustum culling
    culled: int  # those outside
    details: tuple[int, ...]  # numbers of bodies drawn in full, medium and low detail
    # Another method that was timed with the same bodies: brute force, or a grid where brute force is used; empty if
    # there are too many bodies. Both are timed for moving all boxes of an index, finding all pairs of boxes and testing
    # the shapes of these; or by brute force, for testing the shapes of all pairs.
    rival: str
    own_ms: float
    rival_ms: float


class Simulation:
    """A running scene: one of `SCENES` by name, or the path of a scene file.

    `method` is "auto", a name from the registry, or an index class with settings; `count` the number of bodies, by
    default that of the scene; `size` and `speed` are factors on the size of bodies and on the time of one step. A
    `mesh` is for the scene that shows one, by default a knot. `clock` returns seconds; for tests.

    Examples
    --------
    >>> simulation = Simulation("rectangles", method="grid")
    >>> frame = simulation.tick()
    >>> figures = simulation.figures()
    >>> figures.count, figures.brute_force_tests, figures.used
    (1000, 499500, 'grid')
    """

    def __init__(
        self,
        scene: str | DemoScene = "rectangles",
        *,
        method: str | bp.index.IndexOptions = "auto",
        count: int | None = None,
        size: float = 1.0,
        speed: float = 1.0,
        mesh: Triangles | None = None,
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        self._clock = clock
        self.paused = False  # whether `tick` does nothing
        self._idle = 0.0  # seconds in pauses, which the history leaves out
        self._paused_at: float | None = None
        self.speed = speed
        self._method = _known(method)
        self._moments: deque[tuple[float, float, float, float]] = deque()
        self.size, self._mesh = size, mesh
        self.start(scene, count=count)

    def start(
        self,
        scene: str | DemoScene | None = None,
        *,
        count: int | None = None,
        size: float | None = None,
        mesh: Triangles | None = None,
    ) -> None:
        """Restart the scene, or start another one, which has its own count unless one is given.

        Raises ValueError or FileNotFoundError if the scene does not exist or cannot be made; the running one continues.
        """
        here = scene_named(scene) if isinstance(scene, str) else scene or self.scene
        if count is None:
            count = self.count if scene is None else here.count
        count = int(np.clip(count, *here.counts))
        size, mesh = self.size if size is None else size, self._mesh if mesh is None else mesh
        stage = here.make(count, size, mesh)
        stage.world.method = self._method
        self.scene: DemoScene = here
        self.count: int = count
        self.size, self._mesh = size, mesh
        self.stage: Stage = stage
        self.frame: bp.world.Frame | None = None  # of the last step
        self.seen: bp.world.Visible | None = None  # of the last frustum query, see `look`
        self._examination: Examination | None = None
        self._examined_at = self._examining = 0.0
        self._rows = stage.world.rows
        self._moments.clear()
        self._rival = ("", 0.0, 0.0)
        self._exact_tests = 0
        self._every: NDArray[np.int32] | None = None  # all pairs of rows; None: not listed yet
        if self.paused:
            self._advance(lambda: stage.world.step(0.0))  # in place: what is shown has figures

    @property
    def method(self) -> str | bp.index.IndexOptions:
        """The broad phase method, or an index class with settings. May be set at any time."""
        method: str | bp.index.IndexOptions = self._method
        return method

    @method.setter
    def method(self, method: str | bp.index.IndexOptions) -> None:
        self.stage.world.method = _known(method)
        self._method = method
        self._examination = None
        self._moments.clear()

    @property
    def rows(self) -> Rows:
        """The rows of all bodies, ascending."""
        return self._rows

    def tick(self) -> bp.world.Frame | None:
        """Step the world; None while paused."""
        if self.paused:
            self._paused_at = self._clock() if self._paused_at is None else self._paused_at
            return None
        if self._paused_at is not None:
            self._idle += self._clock() - self._paused_at
            self._paused_at = None
        return self._advance(lambda: self.stage.step(self.speed))

    def _advance(self, step: Callable[[], bp.world.Frame]) -> bp.world.Frame:
        began = perf_counter()
        frame = step()
        update = perf_counter() - began
        self.frame = frame
        rows = self.stage.world.rows
        if not np.array_equal(rows, self._rows):
            self._rows, self._every = rows, None
        is_again = self.paused and self._moments  # what is shown is described once more
        now = self._moments.pop()[0] if is_again else self._clock() - self._idle
        stats = frame.stats
        broad, narrow = stats["seconds_of_broad_phase"], stats["seconds_of_narrow_phase"]
        self._exact_tests = int(stats["tests"])
        if self._tests_all():
            update -= broad + narrow
            if self._every is None:
                self._every = all_pairs_of(self._rows)
            began = perf_counter()
            bp.overlaps(self.stage.world.shapes, pairs=self._every)
            broad, narrow = 0.0, perf_counter() - began
            update += narrow
            self._exact_tests = len(self._every)
        self._moments.append((now, 1e3 * broad, 1e3 * narrow, 1e3 * update))
        while self._moments[0][0] < now - _HISTORY:
            self._moments.popleft()
        return frame

    def _tests_all(self) -> bool:
        """Say whether the shapes of all pairs are tested at each step: by brute force, unless that takes too long."""
        name = bp.index.IndexOptions.of(self.stage.world.method).method
        return name == "brute_force" and len(self.stage.world) <= _MOST_COMPARED

    def touching_rows(self) -> Rows:
        """Return the rows of all touching bodies, ascending."""
        if self.frame is None:
            return np.empty(0, np.int32)
        flags = np.zeros(self.stage.world.slots, np.bool_)
        flags[self.stage.world.pairs] = True
        return np.flatnonzero(flags).astype(np.int32)

    def examination(self, *, outline: bool = False, fresh: bool = False) -> Examination:
        """Examine the method. Not in each frame, so that it takes at most a tenth of the time.

        `outline` adds the cells; `fresh`: it must describe the last step.
        """
        last, now = self._examination, self._clock()
        due = last is None or now - self._examined_at > self._examining / _SHARE_OF_EXAMINING
        had_cells = last is not None and last.outline is not None
        lacks_cells = outline and not had_cells and (last is None or last.used != "brute_force")
        if last is None or fresh or lacks_cells or (due and not self.paused):
            last = self._examination = examine(self.stage.world, self.frame, outline=outline or had_cells)
            self._time_rival(last.used)
            self._examined_at = self._clock()
            self._examining = self._examined_at - now
        return last

    def _time_rival(self, used: str) -> None:
        world, self._rival = self.stage.world, ("", 0.0, 0.0)
        if 0 < len(world) <= _MOST_COMPARED:
            rival = "grid" if used == "brute_force" else "brute_force"
            methods = used if world.method == "auto" else world.method, rival
            seconds = [seconds_of_search(world, bp.index.IndexOptions.of(one)) for one in methods]
            self._rival = (rival, 1e3 * seconds[0], 1e3 * seconds[1])

    def figures(self) -> Figures:
        """Return the figures that the page shows."""
        frame, looked = self.frame, self.examination()
        stats: Any = {} if frame is None else frame.stats
        moments, count = self._moments, len(self.stage.world)
        seconds = moments[-1][0] - moments[0][0] if len(moments) > 1 else 0.0
        recent = [moment for moment in moments if moment[0] > moments[-1][0] - 1.0] if moments else []
        span = recent[-1][0] - recent[0][0] if len(recent) > 1 else seconds
        whole = count * (count - 1) // 2
        broad, narrow, update = np.median(recent, axis=0)[1:].tolist() if recent else (0.0, 0.0, 0.0)
        return Figures(
            **vars(looked),
            method=str(self.stage.world.stats()["method"]),
            count=count,
            broad_ms=broad,
            narrow_ms=narrow,
            update_ms=update,
            exact_tests=self._exact_tests,
            brute_force_tests=whole,
            pairs=int(stats.get("candidates", 0)),
            hits=0 if frame is None else len(frame.pairs),
            on_the_way=int(stats.get("route_pairs", 0)),
            enters=0 if frame is None else len(frame.enter),
            exits=0 if frame is None else len(frame.exit),
            fps=(len(recent) - 1) / span if span > 0 else 0.0,
            drawn=0 if self.seen is None else len(self.seen.rows),
            culled=0 if self.seen is None else self.seen.culled,
            details=() if self.seen is None else tuple(len(self.seen.of_level(level)) for level in range(3)),
            rival=self._rival[0],
            own_ms=self._rival[1],
            rival_ms=self._rival[2],
        )

    def history(self, points: int = 200) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return the times of the last ten seconds, for a chart: seconds relative to now, milliseconds of both phases.

        Each is an array, (k,); seconds are from -10 to 0, milliseconds the maximum of each interval.
        """
        if not self._moments:
            return np.zeros(1), np.zeros(1), np.zeros(1)
        table = np.array(self._moments)
        table[:, 0] -= table[-1, 0]
        stretch = np.floor(table[:, 0] / _HISTORY * points)
        begins = np.flatnonzero(np.append(True, np.diff(stretch) > 0))
        broad, narrow = (np.maximum.reduceat(table[:, column], begins) for column in (1, 2))
        return table[begins, 0], broad, narrow

    def cells(self, outline: bp.index.Outline | None) -> NDArray[np.int64]:
        """Return the number of the cell of an examination that each of `rows` is in, shape (k,); -1 for none."""
        if outline is None or not len(outline.level):
            return np.full(len(self._rows), -1, np.int64)
        return cells_of(outline, self.stage.world.positions[self._rows])

    def cells_met(self, row: int, outline: bp.index.Outline) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the cells with bodies that the box of a body meets, and which of `rows` are in these."""
        lower, upper = self.stage.world.boxes[row]
        of = self.cells(outline)
        are_in = (of >= 0) & ((outline.lower <= upper) & (lower <= outline.upper)).all(axis=1)[of]
        return np.unique(of[are_in]), are_in

    def raycast(self, origin: ArrayLike, direction: ArrayLike) -> Picked | None:
        """Cast a ray, and return the first body that it hits.

        Parameters
        ----------
        origin, direction : array_like, shape (3,)
            In coordinates of the page.
        """
        world, stage = self.stage.world, self.stage
        begin, along = stage.to_world(origin), np.asarray(direction, np.float64)
        if world.dim == 2:
            if not along[2] * begin[2] < 0:
                return None  # away from the plane, or parallel to it
            place = begin - along * (begin[2] / along[2])
            rows = world.query_points([place[:2]]).rows
            if not len(rows):
                return None
            highest = rows[np.argmax(stage.heights(rows))]  # of several bodies, the one that is seen
            row, position, normal = int(highest), place, np.array([0.0, 0.0, 1.0])
        else:
            hit = self._cast(begin, along)
            if hit is None:
                return None
            row, position, normal = hit.actor.row, hit.position, hit.normal
        touching = 0 if self.frame is None else int((self.frame.pairs == row).any(axis=1).sum())
        return Picked(row, stage.name(row), position, normal, touching)

    def _cast(self, origin: ArrayLike, direction: ArrayLike) -> Any:
        """Cast a ray through a 3D world; by a tree where its method has no raycasts."""
        world = self.stage.world
        given: Any = world.method
        row = METHODS.get(bp.index.IndexOptions.of(given).method)
        if row is not None and "raycast" not in row.capabilities:
            world.method = "bvh"
        try:
            return world.raycast(origin, direction)
        finally:
            if world.method != given:
                world.method = given

    def select(self, matrix: ArrayLike, rectangle: ArrayLike, viewport: ArrayLike | None = None) -> Rows:
        """Find the bodies in a rectangle of the picture, by a frustum query.

        Parameters
        ----------
        matrix : array_like, shape (4, 4)
            Projection times view of the page's camera.
        rectangle, viewport
            See `broadphase.cameras.selection_matrix`.
        """
        whole = np.asarray(matrix, np.float64) @ self.stage.view_matrix()
        axes = [*range(self.stage.dim), 3]  # a 2D world lies in the plane z = 0
        part = bp.cameras.selection_matrix(whole[np.ix_(axes, axes)], rectangle, viewport)
        found: Rows = self.stage.world.frustum(part)
        return found

    def look(self, matrix: ArrayLike, distances: tuple[float, ...] = (3.0, 6.0)) -> bp.world.Visible:
        """Find the bodies that a camera sees, and their levels of detail; `seen` keeps the result.

        Parameters
        ----------
        matrix : array_like, shape (4, 4)
            Projection times view of the page's camera.
        distances : tuple of float
            Distances from the camera at which the level of detail goes down, in units of the picture.
        """
        if self.stage.dim != 3:
            raise ValueError("frustum culling needs a 3D scene")
        whole = np.asarray(matrix, np.float64) @ self.stage.view_matrix()
        self.seen = self.stage.world.visible(whole, lod=[one / self.stage.scale for one in distances])
        return self.seen

    def move(self, row: int, place: ArrayLike) -> None:
        """Put a body at a place of the picture, shape (3,), and at rest; while paused, find what it touches there."""
        world = self.stage.world
        low, high = self.stage.bounds
        world.positions[row] = np.clip(self.stage.to_world(place)[: world.dim], low, high)
        world.velocities[row] = 0.0
        if self.paused:
            self._advance(lambda: world.step(0.0))

    def searched(self, row: int) -> tuple[NDArray[np.int64], Rows, Rows, Rows]:
        """Return what is looked at to find the bodies that touch one.

        Returns
        -------
        cells : ndarray, shape (c,), int64
            Numbers of the cells that its box meets, of those that bodies are in.
        tested, candidates, hits : ndarray of int32
            Rows of the bodies in these cells, all where the method has no cells; of those whose boxes overlap its box;
            and of those that touch it. Without the row itself.
        """
        world, outline = self.stage.world, self.examination(outline=True, fresh=True).outline
        cells, tested = np.empty(0, np.int64), self._rows
        if outline is not None and len(outline.level):
            cells, are_in = self.cells_met(row, outline)
            tested = self._rows[are_in]
        candidates = world.query([world.boxes[row]]).rows
        hits = np.empty(0, np.int32)
        if self.frame is not None:
            hits = np.unique(self.frame.pairs[(self.frame.pairs == row).any(axis=1)])
        return cells, tested[tested != row], candidates[candidates != row], hits[hits != row]

    def query(self, place: ArrayLike, size: float, *, ball: bool) -> Rows:
        """Find the bodies that meet a ball or a box.

        Parameters
        ----------
        place : array_like, shape (3,)
            Its center, in coordinates of the page.
        size : float
            Diameter of the ball, or edge of the box, in units of the picture.
        ball : bool
            Whether it is a ball.
        """
        world, half = self.stage.world, size / 2 / self.stage.scale
        middle = self.stage.to_world(place)[: world.dim]
        if ball:
            return world.query_ball([middle], half).rows
        return world.query([[middle - half, middle + half]]).rows


def _known(method: str | bp.index.IndexOptions) -> Any:
    if not isinstance(method, bp.index.IndexOptions) and method not in METHOD_NAMES:
        raise ValueError(unknown_name("method", method, METHOD_NAMES))
    return method
