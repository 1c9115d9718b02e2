"""Morton numbers: cells of a grid that is halved along every axis at every level, numbered in Z order.

`broadphase.LinearTree` stores its boxes by these numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broadphase import _native

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
    ValueError
        No axis, more than four, or a coordinate that does not fit.

    References
    ----------
    .. [1] G. M. Morton, "A Computer Oriented Geodetic Data Base and a New Technique in File Sequencing", IBM, 1966.

    Examples
    --------
    >>> number_of((1, 2))
    9
    """
    _check_dim(len(cell))
    bits = _MOST_BITS // len(cell)
    for coordinate in cell:
        if not 0 <= coordinate < 1 << bits:
            raise ValueError(f"a coordinate must be from 0 to 2^{bits} - 1, not {coordinate}")
    return _native.morton_number([int(coordinate) for coordinate in cell])


def cell_of(number: int, dim: int) -> tuple[int, ...]:
    """Split a number into the coordinates of its cell.

    Parameters
    ----------
    number : int
        From 0 to 2^64 - 1.
    dim : int
        1 to 4.

    Returns
    -------
    tuple of int
        One coordinate an axis.

    Raises
    ------
    ValueError
        A dimension or a number out of range.

    Examples
    --------
    >>> cell_of(9, 2)
    (1, 2)
    """
    _check_dim(dim)
    _check_number(number)
    return tuple(_native.morton_cell(number, dim))


def ancestors(number: int, level: int, dim: int) -> tuple[int, ...]:
    """List the path from the root to a cell: the number of the child at each level.

    Parameters
    ----------
    number, level : int
        The cell, in its level.
    dim : int
        1 to 4.

    Returns
    -------
    tuple of int, of length level
        Digits of `dim` bits.

    Raises
    ------
    ValueError
        A dimension or a number out of range.

    Examples
    --------
    >>> ancestors(9, 3, 2)
    (0, 2, 1)
    """
    _check_dim(dim)
    _check_number(number)
    mask = (1 << dim) - 1
    return tuple(number >> dim * (level - 1 - at) & mask for at in range(level))


def common_ancestor(a: int, b: int, level: int, dim: int) -> tuple[int, int]:
    """Find the smallest cell that contains two cells, by the XOR of their numbers.

    Parameters
    ----------
    a, b, level : int
        Two cells of one level.
    dim : int
        1 to 4.

    Returns
    -------
    level, number : int
        The cell.

    Raises
    ------
    ValueError
        A dimension or a number out of range.

    Examples
    --------
    >>> common_ancestor(4, 7, 2, 2)
    (1, 1)
    """
    _check_dim(dim)
    _check_number(a)
    _check_number(b)
    up = _native.levels_to_common(a, b, dim)
    if up > level:
        raise ValueError(f"level {level} has no cells {a} and {b}")
    return level - up, a >> dim * up


def level_start(level: int, dim: int) -> int:
    """Count the cells of all coarser levels: the start of a level if the cells of all levels are numbered in a row.

    Parameters
    ----------
    level : int
        From 0 to 62 // dim.
    dim : int
        1 to 4.

    Returns
    -------
    int
        ``(2**(dim * level) - 1) // (2**dim - 1)``.

    Raises
    ------
    ValueError
        A dimension or a level out of range.

    Examples
    --------
    >>> [level_start(level, 2) for level in range(4)]
    [0, 1, 5, 21]
    """
    _check_dim(dim)
    if not 0 <= level <= (_MOST_BITS - 2) // dim:
        raise ValueError(f"a level must be from 0 to {(_MOST_BITS - 2) // dim}, not {level}")
    return _native.level_start(level, dim)


def _check_dim(dim: int) -> None:
    if not 1 <= dim <= 4:
        raise ValueError(f"the number of dimensions must be 1 to 4, not {dim}")


def _check_number(number: int) -> None:
    if not 0 <= number < 1 << _MOST_BITS:
        raise ValueError(f"a number must be from 0 to 2^{_MOST_BITS} - 1, not {number}")
