"""`broadphase.plot`: pictures for papers and notebooks, drawn with Matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike, NDArray

    import broadphase as bp
    from broadphase.boxes import Boxes

__all__ = ["plot"]


def plot(
    what: Boxes | bp.index.BoxIndex | bp.Shapes | bp.World,
    *,
    pairs: bool | ArrayLike | None = None,
    cells: bool | int | Sequence[int] = False,
    contacts: bool | bp.narrow.Contacts = False,
    rays: tuple[ArrayLike, ArrayLike] | tuple[ArrayLike, ArrayLike, ArrayLike] | None = None,
    labels: bool = False,
    legend: bool = False,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw boxes, an index, shapes or a world in 2D or 3D, with Matplotlib.

    Overlapping boxes and touching shapes are vermilion, others are light, static bodies are grey. The colours can be
    told apart with any kind of colour vision, and in black and white print.

    Parameters
    ----------
    what : array_like, BoxIndex, Shapes or World
        Boxes in any form that `broadphase.pairs` accepts, an index, shapes, or a world after any number of steps.
    pairs : bool, or array_like of int, shape (m, 2), optional
        The pairs to show: a line from center to center, and both rows in the colour of touching ones. True: all
        overlapping pairs; of a world, those that touched in its last step. None: those, by colour only. False: no
        pairs.
    cells : bool, int or list of int
        The levels of cells or nodes to show, of an index or the index of a world. True: all levels.
    contacts : bool or Contacts
        Contact points and normals between shapes.
    rays : tuple of array_like, optional
        ``(origins, directions)``, each of shape (q, d), or ``(origins, directions, max_distances)``. Each ray is drawn
        up to its first hit.
    labels : bool
        Write the row number at the center of each row.
    legend : bool
        Add a legend: beside new axes to the figure, otherwise to `ax`.
    title : str, optional
        Title of the axes.
    ax : matplotlib.axes.Axes, optional
        The axes to draw into, with ``projection="3d"`` for 3D. Default: a new figure of pyplot.

    Returns
    -------
    matplotlib.axes.Axes
        ``ax.figure.savefig("boxes.svg")`` writes the picture to a file.

    Raises
    ------
    MissingExtraError
        Matplotlib is not installed; or SciPy, and there are convex hulls to draw.
    InvalidBoxError
        NaN or lower > upper; names the row.
    ValueError
        Boxes with one or more than three axes, a row or a level that does not exist, or axes of the wrong projection.
    TypeError
        Cells of something without an index, or contacts of boxes.

    Notes
    -----
    Axes have equal scales. Boxes that are infinite, or reach beyond 1e100, end outside the picture, whose size is that
    of the other coordinates. Matplotlib handles some ten thousand rows in 2D, and about a thousand in 3D.

    Examples
    --------
    >>> import broadphase as bp
    >>> index = bp.BVH([[0, 0, 2, 2], [1, 1, 3, 3], [5, 0, 6, 1]])
    >>> ax = bp.plot(index, pairs=True, cells=True)  # doctest: +SKIP
    >>> ax.figure.savefig("index.svg")  # doctest: +SKIP
    """
    from broadphase.extras import import_extra

    import_extra("matplotlib", purpose="plotting", extra="plot")
    from broadphase.plotting.layers import Layers
    from broadphase.plotting.picture import draw

    layers = Layers.of(what, pairs, cells, contacts, rays, labels)
    is_flat = layers.subject.dim == 2
    drawn = _new_axes(layers.extent()) if ax is None else ax
    if is_flat == (drawn.name == "3d"):
        wanted, given = ("2D", "3D") if is_flat else ("3D", "2D")
        raise ValueError(f'{wanted} plots need {wanted} axes, not {given} axes: projection="3d" makes 3D axes')
    draw(drawn, layers)
    if title is not None:
        drawn.set_title(title, loc="left", fontsize=10)
    if legend:
        look = {"handles": layers.legend(), "fontsize": 8, "frameon": False}
        if ax is None:  # of the figure, whose layout makes room for it
            drawn.figure.legend(loc="outside right upper", **look)
        else:
            drawn.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), **look)
    return drawn


def _new_axes(extent: NDArray[np.float64]) -> Any:
    from matplotlib import pyplot

    width, height, *deep = extent[1] - extent[0]
    if deep:
        return pyplot.figure(figsize=(6.4, 5.2), layout="constrained").add_subplot(
            projection="3d", computed_zorder=False
        )
    shape = 1.1 if height >= 1.1 * width else max(0.35, height / width)
    return pyplot.figure(figsize=(6.4, 5.0 * shape + 0.6), layout="compressed").add_subplot()
