"""The few functions of kernels that Warp's language lacks, with the same meaning on the CPU device."""

from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import warp as wp

__all__ = ["NODE_OF_DOUBLES", "NODE_OF_FLOATS", "append", "fence", "first_unequal_bit", "loads", "node_access"]

# A node of a tree: lower corner, upper corner, the left child (of a leaf: its row), and the node after the subtree. In
# floats, 32 bytes, one sector of memory, with the two integers as bits; in doubles, which hold them, as numbers.
_FLOATS = wp.types.vector(length=8, dtype=wp.float32)
_DOUBLES = wp.types.vector(length=8, dtype=wp.float64)

_FENCE = """
#if defined(__CUDA_ARCH__)
    __threadfence();
#endif
"""

_FIRST_UNEQUAL_BIT = """
    const unsigned long long unequal = static_cast<unsigned long long>(a ^ b);
    if (unequal == 0) return -1;
#if defined(__CUDA_ARCH__)
    return 63 - __clzll(unequal);
#else
    return 63 - __builtin_clzll(unequal);
#endif
"""


def loads(array: str, kind: str, count: int, item: str) -> str:
    """Return code that reads an item of an array through the read-only cache, by `count` loads of 16 bytes.

    `kind` is the type of a load, float4, int4 or double2, and `item` that of the item in C++, a vector.
    """
    lanes = "xy" if kind == "double2" else "xyzw"
    parts = [f"part{place}" for place in range(count)]
    numbers = [f"{part}.{lane}" for part in parts for lane in lanes]
    reads = ", ".join(f"{part} = __ldg(at + {place})" for place, part in enumerate(parts))
    writes = " ".join(f"item[{place}] = {number};" for place, number in enumerate(numbers))
    return f"""
#if defined(__CUDA_ARCH__)
    const {kind}* at = reinterpret_cast<const {kind}*>({array}.data) + {count} * static_cast<long long>(index);
    const {kind} {reads};
    {item} item;
    {writes}
    return item;
#else
    return {array}.data[index];
#endif
"""


NODE_OF_FLOATS = loads("nodes", "float4", 2, "wp::vec_t<8, wp::float32>")
NODE_OF_DOUBLES = loads("nodes", "double2", 4, "wp::vec_t<8, wp::float64>")

# One atomic addition for all threads of a warp that are here together.
_APPEND = """
#if defined(__CUDA_ARCH__)
    const unsigned here = __activemask();
    const int lane = threadIdx.x & 31, leader = __ffs(here) - 1;
    unsigned long long place = __popc(here);
    if (lane == leader) place = atomicAdd(reinterpret_cast<unsigned long long*>(counters.data), place);
    place = __shfl_sync(here, place, leader);
    return static_cast<long long>(place) + __popc(here & ((1u << lane) - 1u));
#else
    return counters.data[0]++;
#endif
"""


@wp.func_native(_FENCE)
def fence():
    """Make earlier writes visible to all threads of the device before later ones."""


@wp.func_native(_FIRST_UNEQUAL_BIT)
def first_unequal_bit(a: wp.int64, b: wp.int64) -> int:
    """Return the number of the highest bit in which two integers differ; -1 if they are equal."""


@wp.func_native(NODE_OF_FLOATS)
def node_of_floats(nodes: wp.array(dtype=_FLOATS), index: int) -> _FLOATS:
    """Return a node of an array that the kernel does not write."""


@wp.func_native(NODE_OF_DOUBLES)
def node_of_doubles(nodes: wp.array(dtype=_DOUBLES), index: int) -> _DOUBLES:
    """Return a node, of an array that the kernel does not write."""


@wp.func
def bits_of_number(number: int) -> wp.float32:
    """Put a number into a node of floats."""
    return wp.cast(number, wp.float32)


@wp.func
def number_of_bits(value: wp.float32) -> int:
    """Take a number out of a node of floats."""
    return wp.cast(value, wp.int32)


@wp.func
def double_of_number(number: int) -> wp.float64:
    """Put a number into a node of doubles."""
    return wp.float64(number)


@wp.func
def number_of_double(value: wp.float64) -> int:
    """Take a number out of a node of doubles."""
    return int(value)


@lru_cache(maxsize=None)
def node_access(kind: Any) -> SimpleNamespace:
    """Return the type of nodes for a type of corners, and the functions that read nodes and their integers."""
    if kind is wp.float32:
        return SimpleNamespace(type=_FLOATS, at=node_of_floats, put=bits_of_number, take=number_of_bits)
    return SimpleNamespace(type=_DOUBLES, at=node_of_doubles, put=double_of_number, take=number_of_double)


@wp.func_native(_APPEND)
def append(counters: wp.array(dtype=wp.int64)) -> wp.int64:
    """Add one to the first counter; return its old value, the place of a result."""
