"""Force an instruction set for a while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from broadphase import _native


@contextmanager
def simd_level(name: str) -> Iterator[None]:
    """Run the kernels of one instruction set inside a `with` block, in the whole process.

    Parameters
    ----------
    name : str
        One of `simd_levels`.

    Raises
    ------
    ValueError
        This processor, or this build, does not have that level.

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
    """Give the names of the instruction sets that this machine can run, the plainest first."""
    return list(_native.simd_levels())
