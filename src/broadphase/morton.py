"""Morton numbers: cells of a grid that is halved along every axis at every level, numbered in Z order.

`broadphase.LinearTree` stores its boxes by these numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broadphase import _native
from broadphase.arguments import as_array, as_whole

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["ancestors", "cell_of", "common_ancestor", "level_start", "number_of"]

_MOST_BITS = 64


def number_of(cell: Sequence[int]) -> int:
    """Interleave the bits of a cell's coordinates, axis 0 lowest.

    Parameters
    ----------
    cell : sequence of int
        One coordinate for each of 1 to 4 axes, of at most 64 // d bits.

    Returns
    -------
    int
        The number of the cell in its level.

    Raises
    ------
    ValueError, TypeError
        No axis, more than four, or a coordinate that does not fit.

    References
    ----------
    .. [1] G. M. Morton, "A Computer Oriented Geodetic Data Base and a New Technique in File Sequencing", IBM, 1966.

    Examples
    --------
    >>> number_of((1, 2))
    9
    """
    coordinates = as_array(cell, "cell")
    if coordinates.ndim != 1 or not 1 <= len(coordinates) <= 4:
        raise ValueError(f"cell must be 1 to 4 coordinates, not an array of shape {coordinates.shape}")
    most = (1 << _MOST_BITS // len(coordinates)) - 1
    return _native.morton_number([as_whole(coordinate, "cell: a coordinate", 0, most) for coordinate in cell])


def cell_of(number: int, dim: int) -> tuple[int, ...]:
    """Split a number, from 0 to 2^64 - 1, into the coordinates of its cell in `dim` dimensions, 1 to 4.

    Parameters
    ----------
    number, dim : int
        Out of range, they raise ValueError.

    Returns
    -------
    tuple of int
        One coordinate an axis.

    Examples
    --------
    >>> cell_of(9, 2)
    (1, 2)
    """
    return tuple(_native.morton_cell(_number(number, "number"), _dim(dim)))


def ancestors(number: int, level: int, dim: int) -> tuple[int, ...]:
    """List the path from the root to a cell: the number of the child at each level.

    Parameters
    ----------
    number, level, dim : int
        The cell, its level, and 1 to 4 dimensions. Out of range, they raise ValueError.

    Returns
    -------
    tuple of int, of length level
        Digits of `dim` bits.

    Examples
    --------
    >>> ancestors(9, 3, 2)
    (0, 2, 1)
    """
    dim, number = _dim(dim), _number(number, "number")
    level = as_whole(level, "level", 0, _MOST_BITS // dim)
    mask = (1 << dim) - 1
    return tuple(number >> dim * (level - 1 - at) & mask for at in range(level))


def common_ancestor(a: int, b: int, level: int, dim: int) -> tuple[int, int]:
    """Find the smallest cell that contains two cells, by the XOR of their numbers.

    Parameters
    ----------
    a, b, level, dim : int
        Two cells of one level, and 1 to 4 dimensions. Out of range, they raise ValueError.

    Returns
    -------
    level, number : int
        The cell.

    Examples
    --------
    >>> common_ancestor(4, 7, 2, 2)
    (1, 1)
    """
    dim, a, b = _dim(dim), _number(a, "a"), _number(b, "b")
    level = as_whole(level, "level", 0, _MOST_BITS // dim)
    up = _native.levels_to_common(a, b, dim)
    if up > level:
        raise ValueError(f"level {level} has no cells {a} and {b}")
    return level - up, a >> dim * up


def level_start(level: int, dim: int) -> int:
    """Count the cells of all coarser levels: the start of a level if the cells of all levels are numbered in a row.

    Parameters
    ----------
    level, dim : int
        From 0 to 62 // `dim`; 1 to 4. Out of range, they raise ValueError.

    Returns
    -------
    int
        ``(2**(dim * level) - 1) // (2**dim - 1)``.

    Examples
    --------
    >>> [level_start(level, 2) for level in range(4)]
    [0, 1, 5, 21]
    """
    dim = _dim(dim)
    return _native.level_start(as_whole(level, "level", 0, (_MOST_BITS - 2) // dim), dim)


def _dim(dim: int) -> int:
    return as_whole(dim, "dim", 1, 4)


def _number(number: int, name: str) -> int:
    return as_whole(number, name, 0, (1 << _MOST_BITS) - 1)
