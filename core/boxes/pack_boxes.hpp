// What packing a tree and its kernels hand to each other. Plain data: this header is read by every SIMD level.
#pragma once

#include <cstddef>
#include <cstdint>

namespace broadphase {

// A row and its place along a curve.
struct RowKey {
  std::uint32_t key, row;
};

// Boxes as a tree takes them: `grow` taken from each lower corner and added to each upper one, rounded once.
template <class T>
struct PackBoxes {
  const T* lower;
  const T* upper;
  std::ptrdiff_t lower_stride, upper_stride;
  T grow;
};

// Computes the keys of items [begin, end) from the boxes of their rows.
template <class T>
struct CurveKeys {
  PackBoxes<T> boxes;
  RowKey* items;
  std::size_t begin, end;
  T low[4], high[4];  // corners are clamped to this range
  T scale;            // of the sum of a lower and an upper corner, counted from `low`, to places on the curve's grid
  int bits;           // of a place along one axis
};

// Fills the blocks [begin, end) with the rows of items, eight a block.
template <class T>
struct PackLeaves {
  PackBoxes<T> boxes;
  const RowKey* items;
  std::size_t count;  // of the items
  float* blocks;
  std::size_t begin, end;
  std::uint32_t* places;  // of each row: block * 8 + lane; or null
  float (*bounds)[8];     // of block begin + k: lower corner, then upper corner
  double origin[4], scale;
  // If T is float and the scale is a normal number, scaling is exact but for results that are denormal or too large:
  // the kernel returns whether there were any. Otherwise all corners are moved outwards by more than rounding can lose.
  bool exact;
};

}  // namespace broadphase
