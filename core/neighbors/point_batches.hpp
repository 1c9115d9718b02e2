// The batches of points of a search, and the lattices of their cells.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "batches/rows_by_key.hpp"
#include "neighbors/framed_points.hpp"
#include "neighbors/lattice.hpp"

namespace broadphase {

constexpr std::size_t kPointsATask = 2048;

// The lattice of each of some cells; that of the only one is made once. Throws FlatCell.
class LatticesOfCells {
 public:
  LatticesOfCells(const Cell* cells, std::size_t count) : cells_(cells), count_(count) {
    if (count == 1) whole_.emplace(made(0));
  }
  // `room`: where it is made, unless it is known.
  const Lattice& of(std::size_t cell, std::optional<Lattice>& room) const {
    return whole_ ? *whole_ : room.emplace(made(cell));
  }

 private:
  Lattice made(std::size_t cell) const {
    Lattice lattice(cells_[cell]);
    if (!lattice.is_valid()) throw FlatCell(cell, count_ == 1);
    return lattice;
  }

  const Cell* cells_;
  std::size_t count_;
  std::optional<Lattice> whole_;  // of the one cell of all
};

// The points of a batch, of set 0 or 1, among all of that set.
inline PointView points_of(const PointView& all, const Batches& batches, const Batch& batch, std::size_t set) {
  PointView view = all;
  view.count = batch.count(set);
  view.first = batch.begin[set];
  if (!batches.sets[set].sorted_already()) view.rows = batches.sets[set].rows.get() + batch.begin[set];
  return view;
}

// The cell of a batch: of several, that of its key.
inline std::size_t cell_of(const Batch& batch, const Batches& batches, const RowKeys& keys, std::size_t cell_count) {
  if (cell_count <= 1) return 0;
  return static_cast<std::size_t>(keys.of(static_cast<std::size_t>(batches.sets[0].row(batch.begin[0]))));
}

// All batches of the first set, those of a single point too: it may be near its own images.
inline std::vector<Batch> batches_of_points(const Batches& batches) {
  const std::vector<std::uint32_t>& start = batches.sets[0].start;
  std::vector<Batch> all;
  for (std::size_t k = 0; k + 1 < start.size(); ++k) all.push_back({{start[k], 0}, {start[k + 1], 0}});
  return all;
}

// In their order, calls large(batch) for each that is worth several threads, and small(tasks) for those between: where
// each task begins, and the end of the last.
template <class Large, class Small>
void for_tasks_of(const std::vector<Batch>& all, const Large& large, const Small& small) {
  const auto size_of = [](const Batch& batch) { return batch.count(0) + batch.count(1); };
  for (std::size_t begin = 0; begin < all.size();) {
    if (size_of(all[begin]) > 4 * kPointsATask) {
      large(all[begin++]);
      continue;
    }
    std::vector<std::size_t> tasks{begin};
    std::size_t points = 0, end = begin;
    for (; end < all.size() && size_of(all[end]) <= 4 * kPointsATask; ++end) {
      points += size_of(all[end]);
      if (points >= kPointsATask) tasks.push_back(end + 1), points = 0;
    }
    if (tasks.back() != end) tasks.push_back(end);
    small(tasks);
    begin = end;
  }
}

}  // namespace broadphase
