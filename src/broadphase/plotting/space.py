"""Drawing 3D plots."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.colors import LightSource, to_rgba
from matplotlib.ticker import MaxNLocator
from mpl_toolkits.mplot3d.art3d import Line3DCollection, Poly3DCollection

from broadphase.plotting import ink
from broadphase.plotting.pieces import QUADS, ball

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from broadphase.plotting.layers import Layers
    from broadphase.plotting.pieces import Form

    Floats = NDArray[np.float64]

__all__ = ["draw_space"]

EDGES = np.array([[0, 1], [0, 2], [1, 3], [2, 3], [4, 5], [4, 6], [5, 7], [6, 7], [0, 4], [1, 5], [2, 6], [3, 7]])
MANY_BALLS = 150  # more balls than this get fewer triangles: Matplotlib sorts all faces in Python
LIGHT = LightSource(azdeg=225, altdeg=55)


def draw_space(axes: Any, layers: Layers) -> None:
    """Draw into 3D axes of Matplotlib, which sorts faces by the depth of their centers."""
    _draw_pieces(axes, layers)
    for level in layers.levels:
        _add_lines(axes, _cube_edges(level.lower, level.upper), level.colour, 0.6 * level.width, zorder=3)
    middles = layers.subject.centers()
    if len(layers.lines):
        _add_lines(axes, middles[layers.lines], ink.PAIR, 1.1, zorder=4)
        if not layers.labels:  # which are at the same places
            axes.scatter(*middles[np.unique(layers.lines)].T, s=7, color=ink.PAIR, depthshade=False, zorder=4)
    if layers.rays is not None:
        _draw_rays(axes, layers)
    if layers.contacts is not None:
        points, normals = layers.contact_points()
        ends = np.stack([points, points + layers.arrow_length() * normals], axis=1)
        _add_lines(axes, ends, ink.CONTACT, 1.4, zorder=6)
        axes.scatter(*points.T, s=12, color=ink.CONTACT, edgecolors="white", linewidths=0.4, depthshade=False, zorder=7)
    if layers.labels:
        for row in layers.subject.rows.tolist():
            axes.text(*middles[row], str(row), zorder=8, **ink.label())
    _frame(axes, layers)


def _draw_pieces(axes: Any, layers: Layers) -> None:
    """Draw all faces as one collection: Matplotlib sorts by depth only within a collection."""
    pieces = layers.pieces
    # Boxes would hide each other and the overlays, so they are transparent. Other shapes are solid without overlays.
    is_transparent = all(form.name == "box" for form in pieces.forms) or bool(layers.levels) or len(layers.lines) > 0
    alpha = 0.22 if is_transparent else 1.0
    corners: list[Floats] = []
    colours: list[tuple[float, ...]] = []
    edges: list[tuple[float, ...]] = []
    for form, which in pieces.by_form():
        for flags, face, edge in layers.looks():
            chosen = which[flags[pieces.rows[which]]]
            if not len(chosen):
                continue
            if form.name == "dot":
                axes.scatter(*pieces.anchors[chosen].T, s=9, color=edge, linewidths=0, depthshade=False, zorder=2)
                continue
            if form.name == "line":
                _add_lines(axes, pieces.vertices(form, chosen), edge, 1.4, zorder=2)
                continue
            shown = ball(1) if form.name == "ball" and len(chosen) > MANY_BALLS else form
            faces = pieces.vertices(shown, chosen)[:, _quads(shown)].reshape(-1, 4, 3)
            corners.append(faces)
            colours += [to_rgba(face, alpha)] * len(faces)
            # No edges around the triangles of balls and meshes.
            edges += [to_rgba(edge, 0.9) if form.name == "box" else to_rgba(face, 0.0)] * len(faces)
    if not corners:
        return
    light = {"shade": True, "lightsource": LIGHT} if alpha == 1.0 else {}
    solid = Poly3DCollection(np.concatenate(corners), facecolors=colours, linewidths=layers.edge_width(), **light)
    solid.set_edgecolor(edges)
    solid.set_zorder(1)
    axes.add_collection3d(solid)


def _quads(form: Form) -> NDArray[Any]:
    """Return the faces as four corners each; triangles repeat one."""
    return QUADS if form.name == "box" else form.faces[:, [0, 1, 2, 2]]


def _cube_edges(lower: Floats, upper: Floats) -> Floats:
    """Return the twelve edges of each box, shape (12 n, 2, 3)."""
    picks = np.array([[x, y, z] for z in (0, 1) for y in (0, 1) for x in (0, 1)])
    both = np.stack([lower, upper], axis=1)
    vertices = both[:, picks, np.arange(3)]
    return vertices[:, EDGES].reshape(-1, 2, 3)


def _add_lines(axes: Any, ways: Floats, colour: str, width: float, **look: Any) -> None:
    if len(ways):  # Matplotlib refuses empty collections
        axes.add_collection3d(Line3DCollection(list(ways), colors=colour, linewidths=width, **look))


def _draw_rays(axes: Any, layers: Layers) -> None:
    rays = layers.rays
    assert rays is not None
    for flags, colour in ((rays.hits, ink.RAY), (~rays.hits, ink.MISS)):
        ways = np.stack([rays.origins[flags], rays.ends[flags]], axis=1)
        _add_lines(axes, ways, colour, 1.2, linestyles="dashed", zorder=5)
    axes.scatter(*rays.origins.T, s=12, color=ink.RAY, linewidths=0, depthshade=False, zorder=5)
    axes.scatter(*rays.ends[rays.hits].T, s=28, marker="x", color=ink.RAY, depthshade=False, zorder=6)


def _frame(axes: Any, layers: Layers) -> None:
    """Set limits, equal scales and the camera."""
    lower, upper = layers.extent()
    room = 0.02 * float((upper - lower).max()) or 0.5
    lower, upper = lower - room, upper + room
    axes.set(xlim=(lower[0], upper[0]), ylim=(lower[1], upper[1]), zlim=(lower[2], upper[2]))
    axes.set(xlabel="x", ylabel="y", zlabel="z")
    axes.set_box_aspect(upper - lower, zoom=0.92)
    axes.view_init(elev=24, azim=-58)
    axes.tick_params(labelsize=8, pad=0)
    axes.tick_params(axis="z", pad=4)  # long numbers would lie on the axis
    for axis in (axes.xaxis, axes.yaxis, axes.zaxis):
        axis.set_major_locator(MaxNLocator(5))
        axis.set_pane_color((1.0, 1.0, 1.0, 0.0))
        axis._axinfo["grid"].update(color="0.88", linewidth=0.5)
