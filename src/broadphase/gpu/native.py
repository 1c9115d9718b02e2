"""The few lines of the kernels that Warp's language does not have, each with the same meaning on the CPU device."""

import warp as wp

__all__ = ["append", "fence", "first_unequal_bit", "node_at"]

#: A node of a tree: lower corner, upper corner, and as bits of integers the left child (of a leaf: its row), and what
#: follows the subtree. 32 bytes, so that a node is one sector of memory.
node_type = wp.types.vector(length=8, dtype=wp.float32)

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

# Two loads of 16 bytes through the read-only cache.
_NODE_AT = """
#if defined(__CUDA_ARCH__)
    const float4* at = reinterpret_cast<const float4*>(nodes.data) + 2 * static_cast<long long>(index);
    const float4 a = __ldg(at), b = __ldg(at + 1);
    wp::vec_t<8, wp::float32> node;
    node[0] = a.x; node[1] = a.y; node[2] = a.z; node[3] = a.w;
    node[4] = b.x; node[5] = b.y; node[6] = b.z; node[7] = b.w;
    return node;
#else
    return nodes.data[index];
#endif
"""

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
    """Let what was written before be seen by all threads of the device before what is written after."""


@wp.func_native(_FIRST_UNEQUAL_BIT)
def first_unequal_bit(a: wp.int64, b: wp.int64) -> int:
    """Return the number of the highest bit in which two integers differ; -1 if they are equal."""


@wp.func_native(_NODE_AT)
def node_at(nodes: wp.array(dtype=node_type), index: int) -> node_type:
    """Return a node, of an array that the kernel does not write."""


@wp.func_native(_APPEND)
def append(counters: wp.array(dtype=wp.int64)) -> wp.int64:
    """Add one to the first counter, and return what it was: the place of a result."""
