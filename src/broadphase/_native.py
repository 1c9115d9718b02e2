"""The door to the compiled core: the only file that imports it."""

from broadphase._core import (
    InvalidBoxes,
    Method,
    PairFilter,
    PairStream,
    SweepIndex32,
    SweepIndex64,
    TooManyPairs,
    count,
    pairs,
    report,
    set_simd_level,
    simd_level,
    simd_levels,
)

__all__ = [
    "InvalidBoxes",
    "Method",
    "PairFilter",
    "PairStream",
    "SweepIndex32",
    "SweepIndex64",
    "TooManyPairs",
    "count",
    "pairs",
    "report",
    "set_simd_level",
    "simd_level",
    "simd_levels",
]
