"""Pictures for papers and notebooks: boxes, indexes, shapes and worlds by Matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot"]


def plot(
    what: Any,
    *,
    pairs: Any = None,
    cells: Any = False,
    contacts: Any = False,
    rays: Any = None,
    labels: bool = False,
    legend: bool = False,
    title: str | None = None,
    axes: Any = None,
) -> Axes:
    """Draw boxes, an index, shapes or a world, in the plane or in space.

    What touches is vermilion, what does not is light, what is static is grey: told apart with any kind of colour
    vision, and in a black and white print.

    Parameters
    ----------
    what : array_like, BoxIndex, Shapes or World
        Boxes in any form that `broadphase.pairs` takes, an index of boxes, or shapes, which are drawn as what they are.
    pairs : bool, or array_like of int, shape (m, 2), optional
        Which pairs to show: a line from middle to middle, and both in the colour of what touches. True: all that
        overlap; of a world, what touched at its last step. Unset: those, by colour alone. False: none.
    cells : bool, int, or list of int
        The cells or nodes of an index, or of the index of a world: all levels, or those named.
    contacts : bool or Contacts
        Points and normals where shapes touch.
    rays : tuple of array_like, optional
        ``(origins, directions)``, each (q, d), or with a greatest distance as the third: rays, up to what they hit.
    labels : bool
        The row of each, written in its middle.
    legend : bool
        What is what.
    title : str, optional
        Above the picture.
    axes : matplotlib.axes.Axes, optional
        Where to draw; one of ``projection="3d"`` for things in space. Unset: in a figure of its own, by pyplot.

    Returns
    -------
    matplotlib.axes.Axes
        With ``axes.figure.savefig("boxes.svg")`` the picture is in a file.

    Raises
    ------
    MissingExtraError
        Matplotlib is not installed.
    ValueError, TypeError
        Boxes of more than three axes, a row or a level that there is not, cells of what has none.

    Notes
    -----
    In the plane, axes have equal scales. Some ten thousand things can be drawn in the plane, a thousand in space.

    Examples
    --------
    >>> import broadphase as bp
    >>> index = bp.BVH([[0, 0, 2, 2], [1, 1, 3, 3], [5, 0, 6, 1]])
    >>> axes = bp.plot(index, pairs=True, cells=True)  # doctest: +SKIP
    >>> axes.figure.savefig("index.svg")  # doctest: +SKIP
    """
    from broadphase.io.extras import import_extra

    import_extra("matplotlib", purpose="plotting", extra="plot")
    from broadphase.plotting.layers import Layers
    from broadphase.plotting.plane import draw_plane
    from broadphase.plotting.space import draw_space

    layers = Layers.of(what, pairs, cells, contacts, rays, labels)
    is_flat = layers.subject.dimension == 2
    if axes is None:
        axes = _new_axes(layers.extent())
    elif is_flat == (axes.name == "3d"):
        raise ValueError('axes must be of projection="3d" for things in space, and not for those of the plane')
    (draw_plane if is_flat else draw_space)(axes, layers)
    if title is not None:
        axes.set_title(title, loc="left", fontsize=10)
    if legend:
        axes.legend(handles=layers.legend(), loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8, frameon=False)
    drawn: Axes = axes
    return drawn


def _new_axes(extent: Any) -> Any:
    from matplotlib import pyplot

    width, height, *deep = extent[1] - extent[0]
    if deep:
        return pyplot.figure(figsize=(6.4, 5.2), layout="constrained").add_subplot(
            projection="3d", computed_zorder=False
        )
    shape = min(1.1, max(0.35, height / width if width else 1.1))
    return pyplot.figure(figsize=(6.4, 5.0 * shape + 0.6), layout="constrained").add_subplot()
