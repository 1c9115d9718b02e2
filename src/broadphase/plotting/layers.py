"""What a plot shows, computed before anything is drawn: pieces, pairs, cells, contacts and rays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

import broadphase as bp
from broadphase.plotting import ink
from broadphase.plotting.subject import Axis, Rays, Subject

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from broadphase.plotting.pieces import Pieces

    Floats = NDArray[np.float64]

__all__ = ["WIDEST", "Layers", "Level"]

WIDEST = 0.9  # width of edges in points, if there are few
MOST_NUMBERS = 64  # of cells, written into them
MOST_MARKS = 2_000  # of boxes along the axis of a sweep
DEEPEST_DRAWN = 12  # deeper levels share one colour: more colours could not be told apart


@dataclass(frozen=True, slots=True)
class Level:
    """The cells of one level, with their colour and line width."""

    number: int
    boxes: Floats
    colour: str
    width: float
    in_order: NDArray[np.int64] | None  # the Morton number of each cell, where they are written


@dataclass(frozen=True, slots=True)
class Layers:
    """Everything that a plot shows."""

    subject: Subject
    pieces: Pieces
    touching: NDArray[np.bool_]  # by row
    lines: NDArray[np.int32]  # pairs that are drawn
    levels: list[Level]
    contacts: bp.narrow.Contacts | None
    rays: Rays | None
    labels: bool
    axis: Axis | None  # of a sweep, where its cells are drawn

    @classmethod
    def of(cls, what: Any, pairs: Any, cells: Any, contacts: Any, rays: Any, labels: bool) -> Layers:
        """Compute what the arguments of `broadphase.plot` select."""
        subject = Subject(what)
        shown = subject.pairs(pairs)
        touching = np.zeros(len(subject.boxes), np.bool_)
        touching[shown.ravel()] = True
        return cls(
            subject,
            subject.pieces(),
            touching,
            shown if pairs is not None else shown[:0],
            [] if cells is False else list(_levels(subject, cells)),
            None if contacts is False else subject.contacts(contacts),
            None if rays is None else subject.cast(rays),
            labels,
            _axis(subject) if cells is True else None,
        )

    def looks(self) -> list[tuple[NDArray[np.bool_], str, str]]:
        """Return the styles from bottom to top: flags of the rows, colour of the face, colour of the edge."""
        static = self.subject.is_static
        return [
            (~self.touching & ~static, ink.APART, ink.APART_EDGE),
            (~self.touching & static, ink.STATIC, ink.STATIC_EDGE),
            (self.touching, ink.TOUCHING, ink.TOUCHING_EDGE),
        ]

    def extent(self) -> Floats:
        """Return lower and upper corner of the picture, with rays and what they hit, shape (2, d)."""
        lower, upper = self.subject.extent()
        if self.rays is not None and len(self.rays.origins):
            ways = np.concatenate([self.rays.origins, self.rays.ends[self.rays.hits]])
            lower, upper = np.minimum(lower, ways.min(axis=0)), np.maximum(upper, ways.max(axis=0))
        if self.axis is not None:
            lower, upper = np.minimum(lower, self.axis.ends.min(axis=0)), np.maximum(upper, self.axis.ends.max(axis=0))
        return np.stack([lower, upper])

    def edge_width(self) -> float:
        """Return the line width of edges: the more rows, the thinner."""
        return float(np.clip(18.0 / max(1, len(self.subject.rows)) ** 0.5, 0.15, WIDEST))

    def arrow_length(self) -> float:
        """Return the length of normals: about half the size of a typical row."""
        boxes = self.subject.shown[self.subject.rows]
        lower, upper = self.subject.extent()
        usual = float(np.median((boxes[:, 1] - boxes[:, 0]).max(axis=1))) if len(boxes) else 0.0
        return max(0.5 * usual, 0.02 * float((upper - lower).max()))

    def legend(self) -> list[Any]:
        """Return the handles of a legend."""
        rows = self.subject.rows
        looks = [(label, *look) for label, look in zip(("apart", "static", "touching"), self.looks(), strict=True)]
        handles: list[Any] = [
            Patch(facecolor=face, edgecolor=edge, label=label)
            for label, flags, face, edge in (looks[2], *looks[:2])
            if flags[rows].any()
        ]
        if len(self.lines):
            handles.append(Line2D([], [], color=ink.PAIR, linewidth=1.0, marker=".", label="pairs"))
        for level in reversed(self.levels):
            name = f"level {level.number}" if len(self.levels) > 1 else "cells"
            handles.append(Patch(facecolor="none", edgecolor=level.colour, linewidth=level.width, label=name))
        if self.contacts is not None:
            handles.append(Line2D([], [], color=ink.CONTACT, marker="o", markersize=4, label="contacts"))
        if self.rays is not None:
            handles.append(Line2D([], [], color=ink.RAY, linestyle="--", marker="x", label="rays"))
        return handles


def _axis(subject: Subject) -> Axis | None:
    index = subject.index()
    is_plane = subject.dim == 2 and len(subject.rows) <= MOST_MARKS
    return Axis(index, subject.extent()) if is_plane and isinstance(index, bp.SweepAndPrune) else None


def _numbers(subject: Subject, outline: bp.index.Outline) -> NDArray[np.int64] | None:
    """Return the Morton number of each cell in its level, where cells have one and there is room to write it."""
    index = subject.index()
    if subject.dim != 2 or len(outline.level) > MOST_NUMBERS or not isinstance(index, bp.Octree | bp.LinearTree):
        return None
    lower, upper = index.bounds
    if not (np.maximum(np.abs(lower), np.abs(upper)) < np.finfo(np.float64).max / 2).all():
        return None
    edges = (upper - lower) / (1 << outline.level.astype(np.int64))[:, np.newaxis]
    places = np.rint((outline.lower - lower) / np.where(edges > 0, edges, 1.0)).astype(np.int64)
    return np.array([bp.morton.number_of(place) for place in places.tolist()], np.int64)


def _levels(subject: Subject, wanted: Any) -> Iterator[Level]:
    outline = subject.outline()
    in_order = _numbers(subject, outline)
    there = np.unique(outline.level).tolist()
    numbers = there if wanted is True else np.atleast_1d(np.asarray(wanted, np.int64)).tolist()
    missing = [number for number in numbers if number not in there]
    if missing:
        raise ValueError(f"cells: level {missing[0]} does not exist; the levels are {there}")
    lower, upper = subject.extent()
    beyond = 0.02 * (upper - lower)  # unbounded cells end at the edge of the picture
    boxes = np.clip(np.stack([outline.lower, outline.upper], axis=1), lower - beyond, upper + beyond)
    deepest = min(max(there, default=0), DEEPEST_DRAWN)
    colours = ink.level_colours(deepest + 1)
    for number in sorted(numbers, reverse=True):
        which = outline.level == number
        depth = min(number, deepest)
        width = 1.9 - 1.2 * depth / max(1, deepest)
        written = None if in_order is None else in_order[which]
        yield Level(number, boxes[which], colours[depth], width, written)
