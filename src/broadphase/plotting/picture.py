"""Drawing the layers of a plot into axes of Matplotlib, flat or in space."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.collections import EllipseCollection, LineCollection, PolyCollection
from matplotlib.colors import LightSource, to_rgba
from matplotlib.ticker import MaxNLocator
from mpl_toolkits.mplot3d.art3d import Line3DCollection, Poly3DCollection

from broadphase.plotting import ink
from broadphase.plotting.layers import WIDEST
from broadphase.plotting.pieces import QUADS, ball, contact_points, corners_of, edges_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from broadphase.plotting.layers import Layers, Level
    from broadphase.plotting.pieces import Form
    from broadphase.plotting.subject import Axis

    Floats = NDArray[np.float64]

__all__ = ["draw"]

MANY = 20_000  # more pieces than this are rasterized in vector formats: viewers would not open the file
MANY_BALLS = 150  # more balls than this get fewer triangles: Matplotlib sorts all faces in Python
LIGHT = LightSource(azdeg=225, altdeg=55)


def draw(axes: Any, layers: Layers) -> None:
    """Draw from bottom to top: pieces, cells, pairs, rays, contacts, labels. In space, faces are sorted by depth."""
    is_flat = layers.subject.dim == 2
    (_draw_flat_pieces if is_flat else _draw_solid_pieces)(axes, layers)
    for level in layers.levels:
        _draw_level(axes, level)
    if layers.axis is not None:
        _draw_axis(axes, layers.axis)
    middles = layers.subject.centers()
    if len(layers.lines):
        _add_lines(axes, middles[layers.lines], ink.PAIR, 0.9 if is_flat else 1.1, zorder=4, capstyle="round")
        if not layers.labels:  # which are at the same places
            width = 0 if is_flat else None
            _add_dots(axes, middles[np.unique(layers.lines)], s=7, color=ink.PAIR, linewidths=width, zorder=4)
    if layers.rays is not None:
        rays = layers.rays
        for flags, colour in ((rays.hits, ink.RAY), (~rays.hits, ink.MISS)):
            ways = np.stack([rays.origins[flags], rays.ends[flags]], axis=1)
            _add_lines(axes, ways, colour, 1.1, linestyles=[(0, (5, 2))], zorder=5)
        _add_dots(axes, rays.origins, s=12, color=ink.RAY, linewidths=0, zorder=5)
        _add_dots(axes, rays.ends[rays.hits], s=28, marker="x", color=ink.RAY, linewidths=1.6, zorder=6)
    if layers.contacts is not None:
        _draw_contacts(axes, layers, *contact_points(layers.contacts))
    if layers.labels:
        for row in layers.subject.rows.tolist():
            axes.text(*middles[row], str(row), zorder=8, clip_on=is_flat, **ink.label())
    (_frame_flat if is_flat else _frame_space)(axes, *layers.extent())


def _add_lines(axes: Any, ways: Floats, colour: str, width: float, **look: Any) -> None:
    if ways.shape[2] == 2:
        lines = LineCollection(list(ways), colors=colour, linewidths=width, rasterized=len(ways) > MANY, **look)
        axes.add_collection(lines, autolim=False)
    elif len(ways):  # Matplotlib refuses empty collections in space
        axes.add_collection3d(Line3DCollection(list(ways), colors=colour, linewidths=width, **look))


def _add_dots(axes: Any, places: Floats, **look: Any) -> None:
    axes.scatter(*places.T, **look, **({"depthshade": False} if places.shape[1] == 3 else {}))


# ---- Pieces ----


def _draw_flat_pieces(axes: Any, layers: Layers) -> None:
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
            zorder = 1 + 0.1 * place
            if form.name == "dot":
                look = {"linewidths": 0, "zorder": zorder, "rasterized": is_crowded}
                _add_dots(axes, pieces.anchors[chosen], s=9, color=edge, **look)
            elif form.name == "line":
                lines = pieces.vertices(form, chosen)
                _add_lines(axes, lines, edge, max(width, 1.2), zorder=zorder, capstyle="round")
            else:
                faces = _flat_faces(axes, layers, form, chosen)
                faces.set(facecolor=face, edgecolor=edge, linewidth=width, alpha=0.8)
                faces.set(zorder=zorder, rasterized=is_crowded)
                axes.add_collection(faces, autolim=False)


def _flat_faces(axes: Any, layers: Layers, form: Form, which: NDArray[np.int64]) -> Any:
    """Make a collection of pieces of one form; discs are true circles at any magnification."""
    pieces = layers.pieces
    if form.name != "disc":
        return PolyCollection(list(pieces.vertices(form, which)))
    across = 2 * np.sqrt((pieces.matrices[which, :, 0] ** 2).sum(axis=1))
    places = {"offsets": pieces.anchors[which], "offset_transform": axes.transData}
    return EllipseCollection(across, across, np.zeros(len(which)), units="xy", **places)


def _draw_solid_pieces(axes: Any, layers: Layers) -> None:
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
                _add_dots(axes, pieces.anchors[chosen], s=9, color=edge, linewidths=0, zorder=2)
                continue
            if form.name == "line":
                _add_lines(axes, pieces.vertices(form, chosen), edge, 1.4, zorder=2)
                continue
            shown = ball(1) if form.name == "ball" and len(chosen) > MANY_BALLS else form
            # Faces as four corners each; triangles repeat one.
            quads = QUADS if form.name == "box" else shown.faces[:, [0, 1, 2, 2]]
            faces = pieces.vertices(shown, chosen)[:, quads].reshape(-1, 4, 3)
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


# ---- What lies over the pieces ----


def _draw_level(axes: Any, level: Level) -> None:
    if level.boxes.shape[2] == 3:
        _add_lines(axes, edges_of(level.boxes), level.colour, 0.6 * level.width, zorder=3)
        return
    cells = PolyCollection(list(corners_of(level.boxes)), facecolors="none")
    cells.set(edgecolor=level.colour, linewidth=level.width, zorder=3, rasterized=len(level.boxes) > MANY)
    axes.add_collection(cells, autolim=False)
    place = {"xytext": (2.5, 2.0), "textcoords": "offset points", "ha": "left", "va": "bottom"}
    numbers = [] if level.in_order is None else level.in_order.tolist()
    for corner, number in zip(level.boxes[:, 0].tolist(), numbers, strict=False):
        axes.annotate(str(number), corner, color=level.colour, zorder=7, clip_on=True, **(ink.label() | place))


def _draw_axis(axes: Any, axis: Axis) -> None:
    """Draw begins as marks towards the picture, ends as marks away from it, and voids as thick pale stretches."""
    for ways, colour, width in (
        (axis.voids, ink.STATIC, 5.0),
        (axis.ends[np.newaxis], ink.APART_EDGE, 0.8),
        (np.stack([axis.begins, axis.begins + axis.across], axis=1), ink.TOUCHING, 0.8),
        (np.stack([axis.closes, axis.closes - axis.across], axis=1), ink.CONTACT, 0.8),
    ):
        _add_lines(axes, ways, colour, width, zorder=3, capstyle="butt")


def _draw_contacts(axes: Any, layers: Layers, points: Floats, normals: Floats) -> None:
    ways, share = layers.arrow_length() * normals, layers.edge_width() / WIDEST
    if layers.subject.dim == 3:
        _add_lines(axes, np.stack([points, points + ways], axis=1), ink.CONTACT, 1.4, zorder=6)
        share = 1.0
    elif len(points):
        width = 0.08 * layers.arrow_length()
        look = {"angles": "xy", "units": "xy", "width": width, "scale_units": "xy", "scale": 1.0}
        heads = {"headwidth": 4.0, "headlength": 4.5, "headaxislength": 4.0}
        axes.quiver(*points.T, *ways.T, color=ink.CONTACT, zorder=6, **heads, **look)
    border = {"edgecolors": "white", "linewidths": 0.5 * share}
    _add_dots(axes, points, s=11 * share, color=ink.CONTACT, zorder=7, **border)


# ---- The axes ----


def _frame_flat(axes: Any, lower: Floats, upper: Floats) -> None:
    room = 0.03 * float((upper - lower).max()) or 0.5
    axes.set(xlim=(lower[0] - room, upper[0] + room), ylim=(lower[1] - room, upper[1] + room), xlabel="x", ylabel="y")
    axes.set_aspect("equal")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _frame_space(axes: Any, lower: Floats, upper: Floats) -> None:
    """Set limits, equal scales and the camera."""
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
