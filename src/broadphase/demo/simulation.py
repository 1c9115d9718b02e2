"""The demo without its page: a scene that runs, what it costs, and what can be asked of it."""

from __future__ import annotations

from collections import deque
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import broadphase as bp
from broadphase.demo.examination import Examination, cells_of, examine
from broadphase.demo.figures import Figures
from broadphase.demo.scenes import DemoScene, scene_named

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from broadphase.demo.meshes import Triangles
    from broadphase.demo.stage import Stage

    Rows = NDArray[np.int32]

__all__ = ["METHODS", "Picked", "Simulation"]

METHODS = ("auto", *(method.name for method in bp.METHODS))
"""What can be chosen."""

_HISTORY = 10.0  # seconds
_SHARE_OF_EXAMINING = 0.1  # of the time: how much of it may go into looking closer


class Picked(NamedTuple):
    """What a ray hit.

    Attributes
    ----------
    row : int
        Which thing.
    name : str
        What it is called.
    position, normal : ndarray, shape (3,), float64
        Where the ray hit, and the direction of the surface there, in the world.
    touching : int
        How many others it touches.
    """

    row: int
    name: str
    position: NDArray[np.float64]
    normal: NDArray[np.float64]
    touching: int


class Simulation:
    """A scene that runs.

    Parameters
    ----------
    scene : str or DemoScene
        A name of `SCENES`, or the path of a scene file.
    method : str
        "auto", or a name from the registry.
    count : int, optional
        Number of things; unset, that of the scene.
    size, speed : float
        Factors on sizes, and on how far things go in one step.
    mesh : Triangles, optional
        A mesh of the user's, for the scene that shows one.
    clock : callable
        Gives seconds; for tests.

    Attributes
    ----------
    stage : Stage
        The world and how it looks.
    frame : Frame or None
        The last step.
    paused : bool
        Whether `tick` does nothing.
    speed : float

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
        method: str = "auto",
        count: int | None = None,
        size: float = 1.0,
        speed: float = 1.0,
        mesh: Triangles | None = None,
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        self._clock = clock
        self.paused = False
        self.speed = speed
        if method not in METHODS:
            raise ValueError(f"method must be one of {', '.join(METHODS)}, not {method!r}")
        self._method = method
        self._moments: deque[tuple[float, float, float]] = deque()
        chosen = scene_named(scene) if isinstance(scene, str) else scene
        self._set(chosen, chosen.count if count is None else count, size, mesh)

    def start(
        self,
        scene: str | DemoScene | None = None,
        *,
        count: int | None = None,
        size: float | None = None,
        mesh: Triangles | None = None,
    ) -> None:
        """Begin a scene anew, perhaps another one.

        Parameters
        ----------
        scene, count, size, mesh : optional
            As for the class. Unset, they stay as they are; but the count of another scene is its own.

        Raises
        ------
        ValueError, FileNotFoundError
            There is no such scene, or it cannot be; the one that runs goes on.
        """
        if scene is None:
            here, wanted = self.scene, self.count if count is None else count
        else:
            here = scene_named(scene) if isinstance(scene, str) else scene
            wanted = here.count if count is None else count
        self._set(here, wanted, self.size if size is None else size, self._mesh if mesh is None else mesh)

    def _set(self, scene: DemoScene, count: int, size: float, mesh: Triangles | None) -> None:
        within = int(np.clip(count, *scene.counts))
        stage = scene.make(within, size, mesh)
        stage.world.method = self._method
        self.scene, self.count, self.size, self._mesh = scene, within, size, mesh
        self.stage: Stage = stage
        self.frame: bp.Frame | None = None
        self.seen: bp.Visible | None = None
        self._examination: Examination | None = None
        self._examined_at = self._examining = 0.0
        self._rows = stage.world.rows
        self._moments.clear()

    @property
    def method(self) -> str:
        """How pairs are found: set it at will, also while it runs."""
        return self._method

    @method.setter
    def method(self, method: str) -> None:
        if method not in METHODS:
            raise ValueError(f"method must be one of {', '.join(METHODS)}, not {method!r}")
        self._method = self.stage.world.method = method
        self._examination = None

    @property
    def rows(self) -> Rows:
        """The rows of the things that there are, ascending."""
        return self._rows

    def tick(self) -> bp.Frame | None:
        """Do one step.

        Returns
        -------
        Frame or None
            None while it is paused.
        """
        if self.paused:
            return None
        frame = self.stage.step(self.speed)
        self.frame = frame
        rows = self.stage.world.rows
        if not np.array_equal(rows, self._rows):
            self._rows = rows
        now = self._clock()
        stats = frame.stats
        self._moments.append((now, 1e3 * stats["seconds_of_broad_phase"], 1e3 * stats["seconds_of_narrow_phase"]))
        while self._moments[0][0] < now - _HISTORY:
            self._moments.popleft()
        return frame

    def touching_rows(self) -> Rows:
        """Give the rows that touch others, ascending."""
        if self.frame is None:
            return np.empty(0, np.int32)
        flags = np.zeros(self.stage.world.slots, np.bool_)
        flags[self.frame.touching] = True
        return np.flatnonzero(flags).astype(np.int32)

    def examination(self, *, outline: bool = False, fresh: bool = False) -> Examination:
        """Look closer at the method; not in each frame, so that it takes a tenth of the time at most.

        Parameters
        ----------
        outline : bool
            Whether the cells are wanted.
        fresh : bool
            Whether it must be that of the last step.
        """
        last, now = self._examination, self._clock()
        due = last is None or now - self._examined_at > self._examining / _SHARE_OF_EXAMINING
        had_cells = last is not None and last.outline is not None
        lacks_cells = outline and not had_cells and (last is None or last.method != "brute_force")
        if last is None or fresh or lacks_cells or (due and not self.paused):
            last = self._examination = examine(self.stage.world, self.frame, outline=outline or had_cells)
            self._examined_at = self._clock()
            self._examining = self._examined_at - now
        return last

    def figures(self) -> Figures:
        """Gather what is on the screen."""
        frame, looked = self.frame, self.examination()
        stats: Any = {} if frame is None else frame.stats
        moments, count = self._moments, len(self.stage.world)
        seconds = moments[-1][0] - moments[0][0] if len(moments) > 1 else 0.0
        recent = [moment for moment in moments if moment[0] > moments[-1][0] - 1.0] if moments else []
        span = recent[-1][0] - recent[0][0] if len(recent) > 1 else seconds
        whole = count * (count - 1) // 2
        return Figures(
            method=self._method,
            used=looked.method,
            why=looked.why,
            reason=str(stats.get("reason", "")),
            count=count,
            depth=looked.depth,
            parts=looked.parts,
            parts_name=looked.parts_name,
            broad_ms=float(np.median([moment[1] for moment in recent])) if recent else 0.0,
            narrow_ms=float(np.median([moment[2] for moment in recent])) if recent else 0.0,
            step_ms=1e3 * self.stage.seconds,
            tests=looked.tests,
            brute_force_tests=whole,
            pairs=int(stats.get("candidates", 0)),
            hits=0 if frame is None else len(frame.touching),
            enters=0 if frame is None else len(frame.enter),
            exits=0 if frame is None else len(frame.exit),
            fps=(len(recent) - 1) / span if span > 0 else 0.0,
            drawn=0 if self.seen is None else self.seen.drawn,
            culled=0 if self.seen is None else self.seen.culled,
            details=() if self.seen is None else tuple(len(self.seen.of_level(level)) for level in range(3)),
            cells_idle=looked.cells_idle,
            cells_freed=looked.cells_freed,
        )

    def history(self, points: int = 200) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Give the last ten seconds as a chart has them.

        Returns
        -------
        seconds, broad, narrow : ndarray, shape (k,), float64
            Seconds before now, from -10 to 0; milliseconds of the two phases: the greatest of each stretch of time.
        """
        if not self._moments:
            return np.zeros(1), np.zeros(1), np.zeros(1)
        table = np.array(self._moments)
        table[:, 0] -= table[-1, 0]
        stretch = np.floor(table[:, 0] / _HISTORY * points)
        begins = np.flatnonzero(np.append(True, np.diff(stretch) > 0))
        broad, narrow = (np.maximum.reduceat(table[:, column], begins) for column in (1, 2))
        return table[begins, 0], broad, narrow

    def cells(self) -> NDArray[np.int64]:
        """Give the number of the cell that each of `rows` lies in, shape (k,); -1 where there are no cells."""
        outline = self.examination(outline=True).outline
        if outline is None or not len(outline.level):
            return np.full(len(self._rows), -1, np.int64)
        return cells_of(outline, self.stage.world.positions[self._rows])

    def cast(self, origin: ArrayLike, direction: ArrayLike) -> Picked | None:
        """Cast a ray of the picture, and tell what it hits.

        Parameters
        ----------
        origin, direction : array_like, shape (3,)
            As the page has them.
        """
        world, stage = self.stage.world, self.stage
        begin, along = stage.to_world(origin), np.asarray(direction, np.float64)
        if world.dimension == 2:
            if not along[2] * begin[2] < 0:
                return None  # away from the plane, or along it
            place = begin - along * (begin[2] / along[2])
            rows = world.query_points([place[:2]]).rows
            if not len(rows):
                return None
            row, position, normal = int(rows[-1]), place, np.array([0.0, 0.0, 1.0])
        else:
            hits = world.hits(begin, along)
            if not hits:
                return None
            row, position, normal = hits[0].actor.row, hits[0].position, hits[0].normal
        touching = 0 if self.frame is None else int((self.frame.touching == row).any(axis=1).sum())
        return Picked(row, stage.name(row), position, normal, touching)

    def select(self, matrix: ArrayLike, rectangle: ArrayLike, viewport: ArrayLike | None = None) -> Rows:
        """Find what is in a rectangle of the picture, by the frustum behind it.

        Parameters
        ----------
        matrix : array_like, shape (4, 4)
            Of the page's camera: projection times view.
        rectangle, viewport
            As `broadphase.selection_matrix` has them.
        """
        whole = np.asarray(matrix, np.float64) @ self.stage.view_matrix()
        part = bp.selection_matrix(whole, rectangle, viewport)
        return self._within(part)

    def look(self, matrix: ArrayLike, distances: tuple[float, ...] = (3.0, 6.0)) -> bp.Visible:
        """Ask what a camera sees, and in which detail; `seen` keeps the answer.

        Parameters
        ----------
        matrix : array_like, shape (4, 4)
            Of the page's camera: projection times view.
        distances : tuple of float
            In lengths of the picture: where detail goes down.
        """
        if self.stage.dimension != 3:
            raise ValueError("only a scene in space has a camera within it")
        whole = np.asarray(matrix, np.float64) @ self.stage.view_matrix()
        self.seen = self.stage.world.visible(whole, lod=[one / self.stage.scale for one in distances])
        return self.seen

    def ask(self, place: ArrayLike, size: float, *, ball: bool) -> Rows:
        """Find what meets a ball or a box at a place of the picture.

        Parameters
        ----------
        place : array_like, shape (3,)
        size : float
            Diameter, or edge, in lengths of the picture.
        ball : bool
        """
        world, half = self.stage.world, size / 2 / self.stage.scale
        middle = self.stage.to_world(place)[: world.dimension]
        if ball:
            return world.query_ball([middle], half).rows
        return world.query([[middle - half, middle + half]]).rows

    def _within(self, matrix: NDArray[np.float64]) -> Rows:
        if self.stage.dimension == 3:
            return self.stage.world.frustum(matrix).rows
        # The plane z = 0 of what a camera sees: sides of a region of the plane, each where a row of the matrix and the
        # last one, added or subtracted, are zero.
        sides = np.concatenate([matrix[3] + matrix[:2], matrix[3] - matrix[:2]])[:, [0, 1, 3]]
        return self.stage.world.frustum(planes=sides).rows
