// All pairs of points within a cutoff, in open space or in a periodic cell, with all images.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/memory.hpp"
#include "base/parallel.hpp"
#include "batches/rows_by_key.hpp"
#include "boxes/box_view.hpp"
#include "neighbors/framed_points.hpp"
#include "neighbors/pair_rules.hpp"
#include "neighbors/windows.hpp"

namespace broadphase {

// How the cutoff of a pair follows from the reaches of its points, where they have their own; or it is that of their
// species, which is no longer than either reach.
enum class PairCutoff { kSum, kLarger, kBySpecies };

struct NeighborQuery {
  PointView points, others;
  bool cross = false;  // pairs of a point and another one
  // Points of different keys are no pairs. For both sets or for none.
  std::optional<RowKeys> keys, other_keys;
  // One for all points, or that of key k at k.
  const Cell* cells = nullptr;
  std::size_t cell_count = 1;
  PairCutoff kind = PairCutoff::kSum;  // of points with reaches
  double cutoff = 0;                   // the largest of a pair
  const NeighborRules* rules = nullptr;
  bool distances = false, vectors = false, shifts = false;
};

// Pairs in columns. `first` and `second` are one block, with `second` at `capacity`.
class NeighborPairs {
 public:
  NeighborPairs() = default;
  NeighborPairs(std::size_t dimension, bool distances, bool vectors, bool shifts)
      : dimension(dimension), has_distances(distances), has_vectors(vectors), has_shifts(shifts) {}

  // Room for so many more. Throws bad_alloc, and then holds what it held before.
  void room(std::size_t more) {
    if (size + more > capacity) grow(size + more);
  }
  // So many may be expected in all.
  void expect(std::size_t pairs) { expected_ = pairs; }
  std::int32_t* first() const { return rows.get(); }
  std::int32_t* second() const { return rows.get() + capacity; }
  // Keeps those from `begin` on for which keep(k) is true, in their order.
  template <class Keep>
  void keep_if(std::size_t begin, const Keep& keep) {
    std::size_t kept = begin;
    for (std::size_t k = begin; k < size; ++k) {
      if (!keep(k)) continue;
      if (kept != k) move(k, kept);
      ++kept;
    }
    size = kept;
  }
  // Writes those of another one behind its own, for which there is room.
  void copy(const NeighborPairs& from, std::size_t begin, std::size_t end, std::size_t to) const;

  std::size_t dimension = 3;
  bool has_distances = false, has_vectors = false, has_shifts = false;
  std::size_t size = 0, capacity = 0;
  PlainMemory<std::int32_t> rows, shifts;
  PlainMemory<double> distances, vectors;

 private:
  void grow(std::size_t needed);
  void move(std::size_t from, std::size_t to) const;

  std::size_t expected_ = 0;
};

// The largest number whose root is at most the cutoff: distances need no roots to be compared.
double largest_square(double cutoff);

// Pairs of boxes that overlap: pair k is rows[k], rows[stride + k].
struct OverlappingBoxes {
  PlainMemory<std::int32_t> rows;
  std::size_t size = 0, stride = 0;
};

// Finds those of one set of closed boxes, or of two if `second` is not null; the same order for every number of
// workers.
using FindOverlaps = OverlappingBoxes (*)(const BoxView<double>& first, const BoxView<double>* second,
                                          std::size_t dimension, unsigned workers, Interrupt& interrupt);

// Each pair once: of one set with first < second, and of a point's own images one of two opposite ones. The same order
// for every number of workers and every level.
NeighborPairs find_neighbors(const NeighborQuery& query, WindowKernel window_kernel, FindOverlaps find_overlaps,
                             unsigned workers, Interrupt& interrupt);

// Places of points that may be near each other, in runs of one shift.
struct PlacedHits {
  struct Run {
    std::size_t end;
    Shift shift;
  };
  PlainArray<std::uint32_t> own, others;
  std::vector<Run> runs;
  std::size_t size = 0;

  void room(std::size_t more) {
    if (size + more <= own.size()) return;
    const std::size_t larger = size + more + size / 2;
    own.grow(larger);
    others.grow(larger);
  }
};

// Places are in an order that keeps together what is near in space.
struct PlacedPairs {
  PlainArray<std::int32_t> rows;  // of places
  // By which lattice vectors each place was moved into the cell; none: no place was. Shifts are those of moved places.
  std::vector<Shift> wraps;
  std::vector<PlacedHits> parts;
};

// All pairs of one set within the cutoff, each one way round, and some that are a little farther apart: without their
// distances, which takes half of the time. False, with nothing done, where points have keys or reaches, or are fewer
// than two. Throws as find_neighbors.
bool place_pairs(const NeighborQuery& query, WindowKernel window_kernel, unsigned workers, Interrupt& interrupt,
                 PlacedPairs& out);

}  // namespace broadphase
