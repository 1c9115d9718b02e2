// Pairs that were within a longer cutoff, looked at again after the points have moved a little.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/memory.hpp"
#include "base/parallel.hpp"
#include "batches/rows_by_key.hpp"
#include "neighbors/lattice.hpp"
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

class NeighborCandidates {
 public:
  // Pairs with shifts. Those without one come first, because they need no translation.
  NeighborCandidates(const NeighborPairs& pairs, std::size_t points, Interrupt& interrupt);

  std::size_t count() const { return count_; }

  // Those within the cutoff now, or within that of their species where rules tell these apart. `jumps`: by how many
  // lattice vectors each point was moved, as by a program that keeps its points in the cell; or null. `points`: (n, d),
  // d as of the pairs. The same order for any number of workers.
  NeighborPairs near(const double* points, const Shift* jumps, const PointCells& cells, double cutoff,
                     const NeighborRules* rules, bool distances, bool vectors, bool shifts, unsigned workers,
                     Interrupt& interrupt) const;

 private:
  // Places in `order_`.
  struct Places {
    std::uint32_t first, second;
  };
  // Rows of points in the order in which pairs name them, which keeps together what is near in space.
  PlainArray<std::int32_t> order_;
  PlainArray<Places> places_;
  PlainArray<Shift> shifts_;  // of those from `unshifted_` on
  std::size_t count_ = 0, named_ = 0, unshifted_ = 0, dimension_ = 3;
};

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

enum class Moved { kTooFar, kLittle, kLittleAfterJumps };

// Whether no point has moved by more than the limit; with kLittleAfterJumps, but for whole numbers of lattice vectors,
// which `jumps` receives.
Moved motion_of(const Motion& motion, unsigned workers, Interrupt& interrupt, PlainArray<Shift>& jumps);

}  // namespace broadphase
