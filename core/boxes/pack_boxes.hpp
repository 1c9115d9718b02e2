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

// Makes the keys of items [begin, end), a multiple of nothing: from the rows they name.
template <class T>
struct CurveKeys {
  PackBoxes<T> boxes;
  RowKey* items;
  std::size_t begin, end;
  T low[4], high[4];  // corners are taken for as far as this
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
  // Nothing is rounded if T is float and the scale is a normal one: then the result says whether a number came up of
  // which floats lose bits all the same. Otherwise all corners are moved outwards by more than was lost.
  bool exact;
};

}  // namespace broadphase
