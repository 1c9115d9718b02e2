// The boxes of a linear tree in the order of its cells, as the kernels read them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "boxes/box_columns.hpp"
#include "linear_tree/order.hpp"

namespace broadphase {

// One set of columns for each set of boxes, in T and grown: tests on them are exact.
template <class T>
struct LinearBoxes {
  bool cross;
  BoxColumns<T> columns[2];
  std::vector<std::int32_t> rows[2];
  std::vector<std::uint32_t> rank;  // of each entry among those of the first set, where there are two

  LinearBoxes(const LinearOrder& order, const LinearSource<T>& source, bool two_sets, bool touching,
              Interrupt& interrupt)
      : cross(two_sets) {
    std::size_t count[2] = {order.size(), 0};
    if (cross) {
      rank.resize(order.size() + 1);
      std::uint32_t first = 0;
      for (std::size_t entry = 0; entry < order.size(); ++entry) {
        rank[entry] = first;
        first += order.item[entry] < source.first_count;
      }
      rank[order.size()] = first;
      count[0] = first;
      count[1] = order.size() - first;
    }
    for (std::size_t set = 0; set < (cross ? 2 : 1); ++set) {
      columns[set] = BoxColumns<T>(count[set], source.dimension);
      rows[set].resize(count[set]);
    }
    with_dimension(source.dimension, [&]<std::size_t D>(Dimension<D>) { fill<D>(order, source, touching, interrupt); });
  }

  // Where in the columns of a set an entry's boxes begin.
  std::size_t place(std::size_t set, std::size_t entry) const {
    if (!cross) return entry;
    return set == 0 ? rank[entry] : entry - rank[entry];
  }

 private:
  template <std::size_t D>
  void fill(const LinearOrder& order, const LinearSource<T>& source, bool touching, Interrupt& interrupt) {
    T* column[2][2 * D] = {};
    for (std::size_t set = 0; set < (cross ? 2 : 1); ++set)
      for (std::size_t k = 0; k < D; ++k) {
        column[set][k] = columns[set].lower(k);
        column[set][D + k] = columns[set].upper(k);
      }
    in_stretches(order.size(), interrupt, [&](std::size_t begin, std::size_t end) {
      for (std::size_t entry = begin; entry < end; ++entry) {
        const std::uint32_t item = order.item[entry];
        const std::size_t set = cross && item >= source.first_count ? 1 : 0, at = place(set, entry);
        const T *lower = source.lower(item), *upper = source.upper(item);
        bool interior = true;
        for (std::size_t k = 0; k < D; ++k) {
          const T l = lower[k] - source.grow, u = upper[k] + source.grow;
          column[set][k][at] = l;
          column[set][D + k][at] = u;
          interior &= l < u;
        }
        // Where boxes are open, one without an interior must meet nothing.
        if (!touching && !interior)
          for (std::size_t k = 0; k < D; ++k) column[set][D + k][at] = -std::numeric_limits<T>::infinity();
        rows[set][at] = static_cast<std::int32_t>(set == 1 ? item - source.first_count : item);
      }
    });
  }
};

}  // namespace broadphase
