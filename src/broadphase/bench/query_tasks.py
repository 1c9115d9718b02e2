"""The kinds of questions that indexes are compared by: what is asked, of what, and when two answers are the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

import broadphase as bp
from broadphase.bench.query_verdicts import judge_changes, judge_first, judge_nearest, judge_sets
from broadphase.testing import make_scene
from broadphase.testing.draws import Draws, root

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Boxes = NDArray[Any]

__all__ = ["TASKS", "Frame", "Setting", "Task", "task_named"]

FRAMES = 12  # moving scenes are prepared for this many; more than a median needs
STEP = 2.0**-20  # of coordinates that move: sums of such numbers below 16 are exact in float32
EXTENT_OF_RAY_TARGETS = 0.25  # of the size in the scene `uniform`: half of the rays then cross the whole scene


@dataclass(frozen=True, slots=True)
class Frame:
    """What has changed since the frame before: these rows are now at `boxes`; and the whole scene."""

    rows: NDArray[np.int32]
    boxes: Boxes
    scene: Boxes


@dataclass(frozen=True, slots=True)
class Setting:
    """Boxes, and what they are asked.

    Attributes
    ----------
    boxes : ndarray, shape (n, 2, d), float32
        The first frame of a moving scene. Points are boxes of no size.
    asked : tuple of ndarray
        Depends on the task: boxes; centres and radii; points; origins and directions; planes.
    frames : tuple of Frame
        Of a moving scene; everything else asks the same in each round.
    """

    boxes: Boxes
    asked: tuple[NDArray[Any], ...] = ()
    frames: tuple[Frame, ...] = field(default=(), repr=False)

    @property
    def count(self) -> int:
        """Number of questions; of a moving scene, of boxes that move in a frame."""
        return len(self.frames[0].rows) if self.frames else len(self.asked[0])

    def part(self, share: float) -> Setting:
        """Give the same boxes, asked fewer questions."""
        most = max(1, round(share * self.count))
        return self if share >= 1 else Setting(self.boxes, tuple(array[:most] for array in self.asked))


@dataclass(frozen=True, slots=True)
class Task:
    """A kind of question.

    Attributes
    ----------
    name : str
        Key on the command line.
    title : str
        What is done, in one line; ``{n}`` stands for the number of boxes and ``{q}`` for that of the questions.
    needs : frozenset of str
        What an index must be capable of, in the words of `broadphase.METHODS`.
    make : callable
        ``make(n)`` gives the `Setting` of `n` boxes.
    judge : callable
        ``judge(setting, answer, right)`` gives ``"exact"``, or what differs, or ``"wrong: ..."``.
    """

    name: str
    title: str
    needs: frozenset[str]
    make: Callable[[int], Setting]
    judge: Callable[[Setting, Any, Any], str]


def box_questions(scene: str) -> Callable[[int], Setting]:
    """Ask about as many boxes as there are, from the same scene with another seed."""
    return lambda n: Setting(make_scene(scene, n), (make_scene(scene, n, seed=8),))


def cloud(n: int, seed: int) -> NDArray[np.float64]:
    """Give points spread evenly over the unit cube."""
    return Draws(seed).random((n, 3))


def ball_questions(n: int) -> Setting:
    """Ask which points lie in balls of which each holds four, on average."""
    radius = float(root(4.0 / (n * (4.0 / 3.0) * np.pi), 3))
    points = cloud(n, 7)
    return Setting(np.stack([points, points], axis=1), (cloud(n, 8), np.full(n, radius)))


def point_questions(n: int) -> Setting:
    """Ask which points are nearest to as many others."""
    points = cloud(n, 7)
    return Setting(np.stack([points, points], axis=1), (cloud(n, 8),))


def ray_questions(n: int) -> Setting:
    """Cast ten rays for each box from around the scene into it, each towards a place of its own."""
    boxes = make_scene("uniform", n).astype(np.float64)
    middles, halves = boxes.mean(axis=1), (boxes[:, 1] - boxes[:, 0]) * EXTENT_OF_RAY_TARGETS / 2
    draws = Draws(9)
    outwards = draws.between(-1.0, 1.0, (10 * n, 3))
    outwards /= np.sqrt((outwards**2).sum(axis=1, keepdims=True))
    origins = 0.5 + 2.0 * outwards  # float32 throughout, as Embree works in nothing else
    directions = (draws.random((10 * n, 3)) - origins).astype(np.float32)
    boxes = np.stack([middles - halves, middles + halves], axis=1).astype(np.float32)
    return Setting(boxes, (origins.astype(np.float32), directions))


def view_questions(n: int) -> Setting:
    """Look at the scene by up to a hundred cameras around it, each of which sees a part."""
    draws, planes, count = Draws(10), [], min(100, n // 100 + 1)
    for eye, target in zip(draws.between(-0.5, 1.5, (count, 3)), draws.random((count, 3)), strict=True):
        camera = bp.perspective(0.5, 1.5, 0.1, 0.8) @ bp.look_at(eye, target)
        rows = np.concatenate([camera[3] + camera[:3], camera[3] - camera[:3]])
        planes.append(rows / np.sqrt((rows[:, :3] ** 2).sum(axis=1, keepdims=True)))
    return Setting(make_scene("uniform", n), (np.array(planes),))


def on_lattice(n: int) -> Boxes:
    """Give the cubes of the scene `uniform` on multiples of `STEP`, so that they move without changing their sizes."""
    boxes = make_scene("uniform", n)
    lower, edge = np.rint(boxes[:, 0] / STEP), np.rint((boxes[0, 1, 0] - boxes[0, 0, 0]) / STEP)
    return (np.stack([lower, lower + edge], axis=1) * STEP).astype(np.float32)


def few_move(n: int) -> Setting:
    """Move one box in a hundred by up to half its size, others in each frame."""
    now, draws, frames = on_lattice(n), Draws(11), []
    first = now
    for _ in range(FRAMES):
        rows = np.sort(draws.permutation(n)[: max(1, n // 100)]).astype(np.int32)
        now = now.copy()
        now[rows] += steps_for(now[rows], 0.5, draws)[:, None]
        frames.append(Frame(rows, now[rows], now))
    return Setting(first, (), tuple(frames))


def all_move(n: int) -> Setting:
    """Move every box by up to a hundredth of its size, always the same way."""
    now, rows, frames = on_lattice(n), np.arange(n, dtype=np.int32), []
    first, steps = now, steps_for(now, 0.01, Draws(11))
    for _ in range(FRAMES):
        now = now + steps[:, None]
        frames.append(Frame(rows, now, now))
    return Setting(first, (), tuple(frames))


def steps_for(boxes: Boxes, share: float, draws: Draws) -> Boxes:
    """Give steps of up to `share` of the size of each box, in multiples of `STEP`."""
    sizes = boxes[:, 1] - boxes[:, 0]
    steps: Boxes = np.rint(draws.between(-share, share, sizes.shape) * sizes / STEP).astype(np.float32) * np.float32(
        STEP
    )
    return steps


QUERY, BALLS, NEAREST = (frozenset({word}) for word in ("query", "query_ball", "nearest"))
RAYS, VIEWS = (frozenset({word}) for word in ("raycast", "convex"))
CHANGES, MOVES = frozenset({"update", "changes"}), frozenset({"update", "pairs"})
TASKS: tuple[Task, ...] = (
    Task("boxes_2d", "{q} rectangles asked of {n}", QUERY, box_questions("rects"), judge_sets),
    Task("boxes_3d", "{q} cubes asked of {n}", QUERY, box_questions("uniform"), judge_sets),
    Task("balls", "{q} balls asked of {n} points", BALLS, ball_questions, judge_sets),
    Task("nearest_1", "nearest of {n} points to {q}", NEAREST, point_questions, judge_nearest),
    Task("nearest_8", "8 nearest of {n} points to {q}", NEAREST, point_questions, judge_nearest),
    Task("rays", "{q} rays, first hit among {n} boxes", RAYS, ray_questions, judge_first),
    Task("views", "{q} views of {n} boxes", VIEWS, view_questions, judge_sets),
    Task("few_move", "{q} of {n} boxes move: which pairs changed", CHANGES, few_move, judge_changes),
    Task("all_move", "all {n} boxes move by 1 %: all pairs", MOVES, all_move, judge_sets),
)


def task_named(name: str) -> Task:
    """Look up a kind of question; a `ValueError` names those that there are."""
    for task in TASKS:
        if task.name == name:
            return task
    raise ValueError(f"no kind of question is named {name!r}; the kinds are {', '.join(task.name for task in TASKS)}")
