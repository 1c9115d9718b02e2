// What bodies meet on their ways, as Python is asked and told.
#pragma once

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "moving_rows.hpp"
#include "world/ccd.hpp"

namespace broadphase::python {

// others(first, second, motions, offsets) gives times and normals.
template <std::size_t D>
void ask_for_times(nb::handle others, Approaches<D>& some) {
  const RetakenGil gil;
  nb::object first = as_array(std::vector(some.first), 1), second = as_array(std::vector(some.second), 1),
             motions = as_corners(std::vector(some.motions), D), offsets = as_corners(std::vector(some.offsets), D);
  const auto [times, normals] =
      nb::cast<std::tuple<Vector<double>, Table<double>>>(call_python(others, first, second, motions, offsets));
  require(times.shape(0) == some.size() && normals.size() == some.size() * D);
  std::copy_n(times.data(), some.times.size(), some.times.begin());
  std::copy_n(normals.data(), some.normals.size(), some.normals.begin());
}

// (pairs (m, 2), times, normals).
template <std::size_t D>
nb::object columns_of(const std::vector<Meeting<D>>& meetings) {
  Pairs pairs;
  pairs.size = meetings.size();
  pairs.stride = std::max<std::size_t>(pairs.size, 1);
  pairs.block = allocate_pairs(pairs.stride);
  std::vector<double> times, normals;
  for (std::size_t k = 0; k < meetings.size(); ++k) {
    pairs.block[k] = meetings[k].first;
    pairs.block[pairs.stride + k] = meetings[k].second;
    times.push_back(meetings[k].time);
    normals.insert(normals.end(), meetings[k].normal.begin(), meetings[k].normal.end());
  }
  nb::object rows = as_array(std::move(pairs)), at = as_array(std::move(times), 1);
  return nb::make_tuple(rows, at, as_corners(std::move(normals), D));
}

}  // namespace broadphase::python
