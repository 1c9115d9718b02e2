"""Drawing 2D plots."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.collections import EllipseCollection, LineCollection, PolyCollection

from broadphase.plotting import ink
from broadphase.plotting.layers import WIDEST

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from broadphase.plotting.layers import Layers, Level
    from broadphase.plotting.subject import Axis

    Floats = NDArray[np.float64]

__all__ = ["draw_plane"]

MANY = 20_000  # more pieces than this are rasterized in vector formats: viewers would not open the file


def draw_plane(axes: Any, layers: Layers) -> None:
    """Draw into axes of Matplotlib, from bottom to top: pieces, cells, pairs, rays, contacts, labels."""
    _draw_pieces(axes, layers)
    for level in layers.levels:
        cells = PolyCollection(list(_corners(level.lower, level.upper)), facecolors="none")
        cells.set(edgecolor=level.colour, linewidth=level.width, zorder=3, rasterized=len(level.lower) > MANY)
        axes.add_collection(cells, autolim=False)
        if level.in_order is not None:
            _write_numbers(axes, level)
    if layers.axis is not None:
        _draw_axis(axes, layers.axis)
    middles = layers.subject.centers()
    if len(layers.lines):
        lines = LineCollection(list(middles[layers.lines]), colors=ink.PAIR, linewidths=0.9, zorder=4)
        lines.set(capstyle="round", rasterized=len(layers.lines) > MANY)
        axes.add_collection(lines, autolim=False)
        if not layers.labels:  # which are at the same places
            axes.scatter(*middles[np.unique(layers.lines)].T, s=7, color=ink.PAIR, linewidths=0, zorder=4)
    if layers.rays is not None:
        _draw_rays(axes, layers)
    if layers.contacts is not None:
        _draw_contacts(axes, layers)
    if layers.labels:
        for row in layers.subject.rows.tolist():
            axes.text(*middles[row], str(row), zorder=8, clip_on=True, **ink.label())
    _frame(axes, layers)


def _write_numbers(axes: Any, level: Level) -> None:
    assert level.in_order is not None
    for corner, number in zip(level.lower.tolist(), level.in_order.tolist(), strict=True):
        place = {"xytext": (2.5, 2.0), "textcoords": "offset points", "ha": "left", "va": "bottom"}
        axes.annotate(str(number), corner, color=level.colour, zorder=7, clip_on=True, **(ink.label() | place))


def _draw_axis(axes: Any, axis: Axis) -> None:
    """Draw begins as marks towards the picture, ends as marks away from it, and voids as thick pale stretches."""
    for ways, colour, width in (
        (axis.voids, ink.STATIC, 5.0),
        (axis.ends[np.newaxis], ink.APART_EDGE, 0.8),
        (np.stack([axis.begins, axis.begins + axis.across], axis=1), ink.TOUCHING, 0.8),
        (np.stack([axis.closes, axis.closes - axis.across], axis=1), ink.CONTACT, 0.8),
    ):
        lines = LineCollection(list(ways), colors=colour, linewidths=width, zorder=3)
        lines.set(capstyle="butt")
        axes.add_collection(lines, autolim=False)


def _draw_pieces(axes: Any, layers: Layers) -> None:
    pieces, width = layers.pieces, layers.edge_width()
    is_crowded = len(pieces.rows) > MANY
    sizes = (layers.subject.shown[:, 1] - layers.subject.shown[:, 0]).prod(axis=1)
    for form, which in pieces.by_form():
        # Small ones on top, where they stay visible.
        ordered = which[np.argsort(-sizes[pieces.rows[which]], kind="stable")]
        for place, (flags, face, edge) in enumerate(layers.looks()):
            chosen = ordered[flags[pieces.rows[ordered]]]
            if not len(chosen):
                continue
            look = {"zorder": 1 + 0.1 * place, "rasterized": is_crowded}
            if form.name == "dot":
                axes.scatter(*pieces.anchors[chosen].T, s=9, color=edge, linewidths=0, **look)
                continue
            if form.name == "line":
                segments = LineCollection(list(pieces.vertices(form, chosen)), colors=edge, linewidths=max(width, 1.2))
                segments.set(capstyle="round", **look)
                axes.add_collection(segments, autolim=False)
                continue
            collection = _faces(axes, layers, form, chosen)
            collection.set(facecolor=face, edgecolor=edge, linewidth=width, alpha=0.8, **look)
            axes.add_collection(collection, autolim=False)


def _faces(axes: Any, layers: Layers, form: Any, which: NDArray[np.int64]) -> Any:
    """Make a collection of pieces of one form; discs are true circles at any magnification."""
    pieces = layers.pieces
    if form.name != "disc":
        return PolyCollection(list(pieces.vertices(form, which)))
    across = 2 * np.sqrt((pieces.matrices[which, :, 0] ** 2).sum(axis=1))
    places = {"offsets": pieces.anchors[which], "offset_transform": axes.transData}
    return EllipseCollection(across, across, np.zeros(len(which)), units="xy", **places)


def _draw_rays(axes: Any, layers: Layers) -> None:
    rays = layers.rays
    assert rays is not None
    for flags, colour in ((rays.hits, ink.RAY), (~rays.hits, ink.MISS)):
        ways = np.stack([rays.origins[flags], rays.ends[flags]], axis=1)
        lines = LineCollection(list(ways), colors=colour, linewidths=1.1, linestyles=(0, (5, 2)), zorder=5)
        axes.add_collection(lines, autolim=False)
    axes.scatter(*rays.origins.T, s=12, color=ink.RAY, linewidths=0, zorder=5)
    axes.scatter(*rays.ends[rays.hits].T, s=28, marker="x", color=ink.RAY, linewidths=1.6, zorder=6)


def _draw_contacts(axes: Any, layers: Layers) -> None:
    points, normals = layers.contact_points()
    length, share = layers.arrow_length(), layers.edge_width() / WIDEST
    look = {"angles": "xy", "scale_units": "xy", "scale": 1.0, "color": ink.CONTACT, "zorder": 6}
    if len(points):
        heads = {"headwidth": 4.0, "headlength": 4.5, "headaxislength": 4.0}
        axes.quiver(*points.T, *(length * normals).T, units="xy", width=0.08 * length, **heads, **look)
    axes.scatter(*points.T, s=11 * share, color=ink.CONTACT, edgecolors="white", linewidths=0.5 * share, zorder=7)


def _frame(axes: Any, layers: Layers) -> None:
    lower, upper = layers.extent()
    room = 0.03 * float((upper - lower).max()) or 0.5
    axes.set(xlim=(lower[0] - room, upper[0] + room), ylim=(lower[1] - room, upper[1] + room), xlabel="x", ylabel="y")
    axes.set_aspect("equal")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _corners(lower: Floats, upper: Floats) -> Floats:
    """Return the four corners of each box, counter-clockwise."""
    (x0, y0), (x1, y1) = lower.T, upper.T
    return np.stack([np.stack(corner, axis=1) for corner in ((x0, y0), (x1, y0), (x1, y1), (x0, y1))], axis=1)
