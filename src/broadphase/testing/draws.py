"""Random numbers that are the same on every machine and with every version of NumPy.

NumPy guarantees the raw output of a bit generator for ever, but neither the methods of `numpy.random.Generator` nor the
last digit of ``exp`` and powers. This module uses the raw output, and only floating-point operations that are correctly
rounded everywhere.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Draws", "exponential", "root"]

HALF_STEPS = 12  # uniform numbers summed for one normal number: the variance is 1 without a factor
NEWTON_STEPS = 6  # from an error of 20 % to the last digit, with one to spare
EXPONENTIAL_TERMS = 20  # of the series up to log(2) / 2, where the next would be below a hundredth of an ulp
LOG2_HIGH, LOG2_LOW = 0.693359375, -2.121944400546905827679e-4  # log(2) in two parts; 355 / 512 is exact


class Draws:
    """A stream of random numbers: the same seed gives the same numbers on every machine and with every NumPy."""

    def __init__(self, seed: int) -> None:
        self._bits = np.random.PCG64(seed)

    def raw(self, count: int) -> NDArray[np.uint64]:
        """Draw `count` numbers of 64 random bits."""
        return np.asarray(self._bits.random_raw(count), np.uint64)

    def random(self, shape: int | tuple[int, ...]) -> NDArray[np.float64]:
        """Draw from [0, 1), in multiples of 2**-53."""
        shape = (shape,) if isinstance(shape, int) else shape
        return np.asarray((self.raw(prod(shape)) >> np.uint64(11)) * 2.0**-53).reshape(shape)

    def between(self, least: float, most: float, shape: int | tuple[int, ...]) -> NDArray[np.float64]:
        """Draw from [`least`, `most`)."""
        return least + (most - least) * self.random(shape)

    def integers(self, least: int, end: int, shape: int | tuple[int, ...]) -> NDArray[np.int64]:
        """Draw integers from `least` up to but not including `end`."""
        return least + np.floor(self.random(shape) * (end - least)).astype(np.int64)

    def permutation(self, count: int) -> NDArray[np.int64]:
        """Draw a random order of 0 to `count` - 1."""
        return np.argsort(self.raw(count), kind="stable").astype(np.int64)

    def normal(self, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """Draw nearly normal numbers of mean 0 and variance 1: sums of 12 uniform numbers, from -6 to 6."""
        total = np.full(shape, -HALF_STEPS / 2)
        for part in self.random((HALF_STEPS, *shape)):
            total += part
        return total


def exponential(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute e to the power of each value, to a few units in the last place.

    >>> import numpy as np
    >>> from broadphase.testing.draws import exponential
    >>> exponential(np.array([0.0, 1.0, -2.5])).round(12).tolist()
    [1.0, 2.718281828459, 0.082084998624]
    """
    doublings = np.rint(values / (LOG2_HIGH + LOG2_LOW))
    rest = (values - doublings * LOG2_HIGH) - doublings * LOG2_LOW
    series: NDArray[Any] = np.ones_like(rest)
    for term in range(EXPONENTIAL_TERMS, 0, -1):
        series = 1.0 + rest / term * series
    return np.asarray(np.ldexp(series, doublings.astype(np.int32)))


def root(values: Any, degree: int) -> Any:
    """Compute the square, cube or fourth root of numbers >= 0, as float64 (`degree` 1 returns them unchanged).

    >>> from broadphase.testing.draws import root
    >>> [float(root(value, degree)) for value, degree in ((5.0, 1), (9.0, 2), (27.0, 3), (16.0, 4), (0.0, 3))]
    [5.0, 3.0, 3.0, 2.0, 0.0]
    """
    values = np.asarray(values, np.float64)
    if degree == 3:
        return cube_root(values)
    for _ in range({1: 0, 2: 1, 4: 2}[degree]):
        values = np.sqrt(values)
    return values


def cube_root(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute cube roots by Newton's method, after scaling into [1/8, 1) by a power of eight."""
    mantissas, exponents = np.frexp(values)
    thirds = -(-exponents // 3)
    reduced = np.ldexp(mantissas, exponents - 3 * thirds)
    guess = 0.4 + 0.6 * reduced
    for _ in range(NEWTON_STEPS):
        guess = (2.0 * guess + reduced / (guess * guess)) / 3.0
    return np.where(values == 0.0, 0.0, np.ldexp(guess, thirds))
