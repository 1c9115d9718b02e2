// The instruction set of this level, in one form for every set: what kernels are written with.
//
// BROADPHASE_LEVEL names the level, and the file of that name in this folder defines what follows, in a namespace
// with_<level> of the level's own namespace. The level does not follow the compiler's flags: `scalar`
// stays scalar on a processor whose baseline has vectors, and MSVC does not announce SSE2.
//
// Lanes<T>: comparisons of several floats or doubles at a time
//   kWidth                   values handled together
//   Vector, Mask             their types
//   splat(x), load(p)        p needs no alignment
//   less(a, b), less_equal(a, b), both(a, b)
//   bits(mask)               bit l is lane l
//   emit(bits, j, out)       writes j + l for every set bit l, ascending, and returns how many; may write kWidth values
// Words: sums of 16-bit numbers, 32 at a time, as kParts vectors of kWidth
//   splat(x)
//   load(p)                  p needs no alignment
//   add(a, b)                saturating
//   larger(a, b)
//   negative(parts)          32 bits, bit l is number l
//   decide(parts, p, x, step, sure, possible)   32 bits each: number l is negative, and is not positive, and has no bit
//                            in common in p and in x; `step` is 0 where one x is for all parts, and otherwise 1;
//                            returns whether any is possible
// Eight: eight floats, as a block of a tree holds them; comparisons with NaN are false
//   splat(x), load(p), read(p), store(p)   load: p is aligned to 32 bytes; the others need no alignment
//   +, -, *, absolute(a), root(a)
//   larger(a, b), smaller(a, b)            b where either is NaN
//   raised(a, b), lowered(a, b)            the same where b is never NaN; of 0 and -0, either
//   where_at_most(a, b, x, y)              those of x where a is at most b, else those of y
//   moved_up(a, first)                     those of a, each a lane higher, behind this one
//   marked(a, mark)                        with the last 8 bits of each replaced by these
//   at_most(a, b), below(a, b)             8 bits, bit l is lane l
//   EightTests               several at_most(a, b) and not_below(a, b), all of which a lane must pass; bits(). With
//   NaN,
//                            not_below is true
//   keep(values, bits, to)   writes those of eight values whose bits are set one after the other, and returns how many;
//                            may write all eight places; for integers and for an Eight
//   keep_few_in_order(keys, values, bits, key, to, count)   the same for up to four keys, none negative, and their
//                            values, the largest key first; keys lose their last three bits. False: nothing is written
// WideEight: eight doubles, as a block of a wide tree holds them
//   splat(x), load(p), read(p)   load: p is aligned to 64 bytes; read: needs no alignment
//   store(p)                 p needs no alignment
//   +, -, *, root(a), larger(a, b), smaller(a, b), raised(a, b), lowered(a, b), marked(a, mark)   as of Eight
//   WideTests                as EightTests
//   widened(p)               of eight floats or doubles; p needs no alignment
//   narrowed(a)              an Eight, rounded to nearest
//   upper_halves(a, most)    the upper halves of numbers that are not negative, at most `most`, as the bits of an Eight
// emit_eight(bits, j, out)  as emit, for 8 bits; may write eight values
// keep_of_block(values, bits, to)   as keep, of 32 integers; may write 32 values. `values` is aligned to 64 bytes
// lowest_bit(bits), bit_count(bits)        lowest_bit: 31 or 32 for none
// full_bytes(bits)          of eight bits, as bytes of all bits or none
// kIsTestedByBoundsFirst    a comparison of eight takes several instructions: pairs of blocks are compared by least(a)
// and
//                           largest(a) first, the least and the largest of eight in every lane, where NaN counts for
//                           nothing
// EightWords: eight 16-bit numbers in a register, or kInRegister is false and there is nothing else
//   load(p), store(p)        p needs no alignment
//   splat(x), smaller(a, b), larger(a, b), equal(a, b), a & b, a | b
//   store_pairs(p, a, b)     eight numbers of 32 bits: those of a below those of b
//   transpose(in, out)       the eight words of eight vectors by turns
// Fours: two boxes side by side, four 32-bit numbers each, or kInRegister is false and there is nothing else. An
// instruction set without it files boxes one by one. See avx2.hpp.
#pragma once

#define BROADPHASE_JOIN_NAMES(a, b) a##b
#define BROADPHASE_JOIN(a, b) BROADPHASE_JOIN_NAMES(a, b)
#define BROADPHASE_QUOTE_NAME(name) #name
#define BROADPHASE_QUOTE(name) BROADPHASE_QUOTE_NAME(name)
// clang-format would write spaces around the slash, and they would be part of the name.
// clang-format off
#define BROADPHASE_LEVEL_FILE(level) BROADPHASE_QUOTE(simd/level.hpp)
// clang-format on

#include BROADPHASE_LEVEL_FILE(BROADPHASE_LEVEL)

// Kernels of boxes of one axis and of four, which are rare: null in the tables of levels that lack them, see
// levels.cpp. SSE2 and AVX-512 have none of them, the others those without which several times the time is lost.
#ifdef BROADPHASE_PARTIAL
#define BROADPHASE_RARE(...) nullptr
#else
#define BROADPHASE_RARE(...) __VA_ARGS__
#endif
#ifdef BROADPHASE_VECTORS
#define BROADPHASE_SCALAR_ONLY(...) nullptr
#else
#define BROADPHASE_SCALAR_ONLY(...) __VA_ARGS__
#endif

namespace broadphase::BROADPHASE_LEVEL {
using namespace BROADPHASE_JOIN(with_, BROADPHASE_LEVEL);

// Asks for a line of memory that will be read or written soon.
inline void prefetch(const void* memory) {
#if defined(__GNUC__)
  __builtin_prefetch(memory);
#else
  (void)memory;
#endif
}

}  // namespace broadphase::BROADPHASE_LEVEL
