// Pairs that were within a longer cutoff, looked at again after the points have moved a little.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/memory.hpp"
#include "base/parallel.hpp"
#include "batches/rows_by_key.hpp"
#include "neighbors/lattice.hpp"
#include "neighbors/lists.hpp"
#include "neighbors/near_lists.hpp"
#include "neighbors/search.hpp"

namespace broadphase {

// The cells of points: one for all, or that of key k at k.
struct PointCells {
  const Cell* cells = nullptr;
  RowKeys keys;  // where there are several
  bool is_one = true;

  std::size_t at(std::size_t row) const { return is_one ? 0 : static_cast<std::size_t>(keys.of(row)); }
  const Cell& of(std::size_t row) const { return cells[at(row)]; }
};

// By how many lattice vectors a point was moved, as by a program that keeps its points in the cell.
struct Jump {
  std::int32_t row;
  Shift shift;
};

// What is known of points and wanted of those that are near. `points`: (n, d), as many as there were.
struct NearQuery {
  const double* points;
  std::size_t dimension;
  const Jump* jumps = nullptr;
  std::size_t jump_count = 0;
  PointCells cells;
  double cutoff = 0;
  const NeighborRules* rules = nullptr;  // whose species have cutoffs of their own, if it has any
  bool distances = false, vectors = false, shifts = false;
  bool by_point = false;  // in the order of first points, with offsets
};

// Lists of those that may be near each point; of each pair at the point of the lower row, or at both.
class NeighborCandidates {
 public:
  // `sorted`: each list by row and shift.
  NeighborCandidates(PlacedPairs pairs, bool both, bool sorted, Interrupt& interrupt);

  std::size_t count() const { return count_; }

  // Those within the cutoff now. The same order for any number of workers.
  NeighborLists near(const NearQuery& query, const NearKernels& kernels, unsigned workers, Interrupt& interrupt) const;

 private:
  void sort_lists(Interrupt& interrupt);

  friend class NearLook;

  PlainArray<std::int32_t> rows_;  // of places
  PlainArray<std::uint32_t> place_of_row_;
  std::vector<Shift> wraps_;           // of places, or empty
  std::vector<std::size_t> starts_;    // of the list of each place, and the end
  PlainArray<std::uint32_t> places_;   // those in lists
  PlainArray<std::uint32_t> images_;   // numbers in shifts_, where lists are `shifted_`
  std::vector<std::uint8_t> shifted_;  // whether any of a list has a shift, or empty
  std::vector<Shift> shifts_;          // none comes first; 2 k + 1 is the opposite of 2 k
  std::size_t count_ = 0, points_ = 0, longest_ = 0;
};

// Pairs with shifts, in places.
PlacedPairs placed(const NeighborPairs& pairs, std::size_t points, Interrupt& interrupt);

using Matrix3 = std::array<Vector3, 3>;

// Points and where they were before, (n, d).
struct Motion {
  const double *points, *before;
  std::size_t count, dimension;
  // Of each cell, or null: what makes of points those that they would be if the cell had not changed; row vectors times
  // matrix.
  const Matrix3* back = nullptr;
  PointCells cells_before;
  // Of each cell before, or null where nothing repeats: what makes numbers of lattice vectors of ways, 0 along others.
  const Matrix3* inverses = nullptr;
  double limit = 0;     // how far points may have moved, less what may be rounded:
  double rounding = 0;  // so much, for each unit of the largest coordinate
};

// How far points have moved at most, those in `jumps` by the rest when the whole lattice vectors are taken off.
struct Moved {
  bool is_little = false;
  double farthest = 0;  // infinity where that is not known
  std::vector<Jump> jumps;
};

Moved motion_of(const Motion& motion, unsigned workers, Interrupt& interrupt);

}  // namespace broadphase
