"""How the indexes of broadphase are asked in a comparison, and which answers are right."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import broadphase as bp
from broadphase.bench.moving_peers import anew, changed, sorted_pair_keys
from broadphase.bench.query_tasks import Setting, Task

if TYPE_CHECKING:
    Round = Callable[[int], Any]

__all__ = ["begin_own", "capable", "right_answer", "without_index"]


def capable(task: Task) -> list[str]:
    """Name the classes of indexes that can answer a kind of question, the one that chooses by itself first."""
    return ["Index"] + [row.index_class for row in bp.METHODS if row.index_class and task.needs <= row.capabilities]


def begin_own(class_name: str, task: Task, setting: Setting) -> Round:
    """Give the call that does one round with an index: build and ask, or follow a frame and ask."""
    index_class = getattr(bp, class_name)
    if task.name in ("few_move", "all_move"):
        return follow(index_class(setting.boxes), task, setting)
    ask = QUESTIONS[task.name]
    return lambda _: ask(index_class(setting.boxes), *setting.asked)


def follow(index: Any, task: Task, setting: Setting) -> Round:
    """Keep an index through the frames."""
    if task.name == "few_move":
        index.changes()

        def few(number: int) -> Any:
            frame = setting.frames[number]
            index.update(frame.boxes, frame.rows)
            return index.changes()

        return few

    def every(number: int) -> Any:
        index.update(setting.frames[number].boxes)
        found = index.pairs()
        return found[:, 0], found[:, 1]

    return every


def without_index(task: Task) -> list[tuple[str, str, Callable[[Setting], Round]]]:
    """Give name, title and beginning of what broadphase does without an index that is kept, where it can."""
    if task.name.startswith("boxes"):
        return [("pairs", "broadphase.pairs(a, b)", lambda setting: lambda _: cross(setting))]
    if task.name == "all_move":
        return [("pairs", "broadphase.pairs, anew", anew(bp.pairs)[1])]
    if task.name == "few_move":
        return [
            ("pairs", "broadphase.pairs, anew", anew(bp.pairs)[0]),
            ("BVH_anew", "broadphase BVH, anew", anew(lambda boxes: bp.BVH(boxes).pairs())[0]),
        ]
    return []


def cross(setting: Setting) -> Any:
    """Ask about boxes by joining two sets."""
    found = bp.pairs(setting.boxes, setting.asked[0])
    return found[:, 1], found[:, 0]


def right_answer(task: Task, setting: Setting, number: int) -> Any:
    """Give the answer that others are compared with: by the one-shot calls where they can, else by a BVH."""
    if task.name == "few_move":
        scenes = [setting.boxes, *(frame.scene for frame in setting.frames)][number : number + 2]
        return changed(*(sorted_pair_keys(*bp.pairs(scene, method="grid").T) for scene in scenes))
    if task.name == "all_move":
        return tuple(bp.pairs(setting.frames[number].scene, method="grid").T)
    if task.name.startswith("boxes"):
        return tuple(bp.pairs(setting.asked[0], setting.boxes, method="grid").T)
    return begin_own("BVH", task, setting)(number)


def hits(answers: bp.Answers) -> Any:
    """Give answers as the question and the row of each."""
    return answers.questions, answers.rows


QUESTIONS: dict[str, Callable[..., Any]] = {
    "boxes_2d": lambda index, boxes: hits(index.query(boxes)),
    "boxes_3d": lambda index, boxes: hits(index.query(boxes)),
    "balls": lambda index, centers, radii: hits(index.query_ball(centers, radii)),
    "nearest_1": lambda index, points: tuple(index.nearest(points)),
    "nearest_8": lambda index, points: tuple(index.nearest(points, 8)),
    "rays": lambda index, origins, directions: tuple(index.raycast(origins, directions)),
    "views": lambda index, planes: hits(index.frustum(planes=planes)),
}
