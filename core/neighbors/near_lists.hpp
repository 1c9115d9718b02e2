// What the kernels of candidates read and write: the list of a point, and those of it that are near.
#pragma once

#include <cstddef>
#include <cstdint>

namespace broadphase {

// Where a point is, its row, and a mark.
struct NearPlace {
  double x, y, z;
  std::int32_t row;
  std::uint32_t mark;
};
static_assert(sizeof(NearPlace) == 32);

struct NearTranslation {
  double x, y, z, unused;
};
static_assert(sizeof(NearTranslation) == sizeof(NearPlace));

// Those that are near, in columns: vectors, squared distances, and the rows of the point and of the other one.
struct NearColumns {
  double *x, *y, *z, *squares;
  std::int32_t *first, *second;
};

// One point against its list.
struct NearList {
  const NearPlace* places;
  const std::uint32_t* list;
  const NearTranslation* translations;  // numbers of these are in `images`, or null: there are none
  const std::uint32_t* images;
  std::size_t count;
  std::uint32_t from;          // a place
  double limit;                // of squares
  const std::uint32_t* ahead;  // of the next list: these are read soon
  std::size_t ahead_count;
  std::uint32_t marks;  // receives those bits in which any of the list differs from the point
};

// Writes those that are near from `size` on, in their order, and returns where they end. Room for eight more than there
// are in the list is a precondition.
using NearKernel = std::size_t (*)(NearList& list, const NearColumns& columns, std::size_t size);

// The first `count` of some columns as a result: vectors of three numbers, and distances; either may be null.
struct NearOutput {
  double *vectors, *distances;
};
using NearWriter = void (*)(const NearColumns& columns, std::size_t count, const NearOutput& out);

// Of one level; null where registers hold fewer than four doubles.
struct NearKernels {
  NearKernel list = nullptr;
  NearWriter write = nullptr;
};
// Of the level of this name.
const NearKernels& near_kernels(const char* level);

}  // namespace broadphase
