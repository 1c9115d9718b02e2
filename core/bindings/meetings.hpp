// What bodies meet on their ways, as Python is asked and told.
#pragma once

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "world/ccd.hpp"

namespace broadphase::python {

// others(first, second, motions, offsets) gives times and normals.
template <std::size_t D>
void ask_for_times(nb::handle others, Approaches<D>& some) {
  const RetakenGil gil;
  const auto [times, normals] = nb::cast<std::tuple<Vector<double>, Table<double>>>(
      call_python(others, as_array(std::vector(some.first)), as_array(std::vector(some.second)),
                  as_table(std::vector(some.motions), D), as_table(std::vector(some.offsets), D)));
  require(times.shape(0) == some.size() && normals.size() == some.size() * D);
  std::copy_n(times.data(), some.times.size(), some.times.begin());
  std::copy_n(normals.data(), some.normals.size(), some.normals.begin());
}

// (pairs (m, 2), times, normals).
template <std::size_t D>
nb::object as_columns(const std::vector<Meeting<D>>& meetings) {
  Pairs pairs;
  std::vector<double> times, normals;
  for (const Meeting<D>& one : meetings) {
    push(pairs, one.first, one.second);
    times.push_back(one.time);
    normals.insert(normals.end(), one.normal.begin(), one.normal.end());
  }
  return as_tuple(std::move(pairs), std::move(times), as_table(std::move(normals), D));
}

}  // namespace broadphase::python
