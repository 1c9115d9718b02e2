"""Choose the instruction set of the kernels."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from broadphase import _native


@contextmanager
def simd_level(name: str) -> Iterator[None]:
    """Use the kernels of one instruction set inside a `with` block, in the whole process.

    Parameters
    ----------
    name : str
        One of `simd_levels`.

    Raises
    ------
    ValueError
        The processor or this build lacks that level.

    Examples
    --------
    >>> import broadphase as bp
    >>> from broadphase.testing import simd_level
    >>> with simd_level("scalar"):
    ...     bp.count_pairs([[0, 0, 2, 2], [1, 1, 3, 3]])
    1
    """
    before = _native.simd_level()
    _native.set_simd_level(name)
    try:
        yield
    finally:
        _native.set_simd_level(before)


def simd_levels() -> list[str]:
    """List the instruction sets that this machine can run, the simplest first."""
    return list(_native.simd_levels())
