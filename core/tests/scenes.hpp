// Small random scenes on a lattice, where touching, equal and empty boxes are common, and the plain answer to them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "check.hpp"
#include "query/filter.hpp"
#include "query/problem.hpp"

namespace broadphase::tests {

using PairList = std::vector<std::pair<std::int32_t, std::int32_t>>;

// Boxes that own their numbers, in one of the layouts that a caller may use.
template <class T>
struct Boxes {
  std::vector<T> numbers;
  BoxView<T> view;

  // Lower and upper corner of each box in turn (0), as two arrays (1), or as two arrays from the last row to the
  // first (2): as a flipped NumPy array lies.
  Boxes(const std::vector<T>& lower, const std::vector<T>& upper, std::size_t dimension, std::size_t layout) {
    const std::size_t n = lower.size() / dimension;
    numbers.resize(2 * n * dimension);  // no more: the address sanitizer is to see a step past the end
    const auto at = [&](std::size_t row, bool is_upper) {
      if (layout == 0) return (2 * row + is_upper) * dimension;
      return ((layout == 1 ? row : n - 1 - row) + n * is_upper) * dimension;
    };
    for (std::size_t row = 0; row < n; ++row)
      for (std::size_t k = 0; k < dimension; ++k) {
        numbers[at(row, false) + k] = lower[row * dimension + k];
        numbers[at(row, true) + k] = upper[row * dimension + k];
      }
    view.count = n;
    const auto d = static_cast<std::ptrdiff_t>(dimension);
    view.lower_stride = view.upper_stride = layout == 0 ? 2 * d : layout == 1 ? d : -d;
    view.lower = numbers.data() + (n > 0 ? at(0, false) : 0);
    view.upper = numbers.data() + (n > 0 ? at(0, true) : 0);
  }
  Boxes(const Boxes&) = delete;
  Boxes& operator=(const Boxes&) = delete;
};

struct SceneOptions {
  std::size_t count = 0, dimension = 2, layout = 0;
  std::size_t cells = 8;        // lattice points along each axis
  std::size_t largest = 3;      // edge of a box, in steps of the lattice
  double infinite = 0;          // share of corners at infinity, on either side
  double step = 1, origin = 0;  // of the lattice
};

// Of a lattice with any numbers, of at most so many points along each axis.
inline SceneOptions any_lattice(Random& random, std::size_t dimension, std::size_t most_cells) {
  SceneOptions options;
  options.dimension = dimension;
  options.cells = 1 + random.below(random.chance(0.5) ? 6 : most_cells);
  options.largest = random.below(4);
  options.infinite = random.chance(0.2) ? 0.05 : 0;
  options.step = random.chance(0.3) ? 0.1 : 1;  // 0.1 is rounded, so that sums are
  options.origin = random.chance(0.3) ? -2 : random.chance(0.2) ? 1e6 : 0;
  return options;
}

template <class T>
Boxes<T> lattice_boxes(Random& random, const SceneOptions& options) {
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  std::vector<T> lower, upper;
  for (std::size_t row = 0; row < options.count; ++row)
    for (std::size_t k = 0; k < options.dimension; ++k) {
      const std::size_t cell = random.below(options.cells);
      auto low = static_cast<T>(options.origin + options.step * static_cast<double>(cell));
      auto high =
          static_cast<T>(options.origin + options.step * static_cast<double>(cell + random.below(options.largest + 1)));
      if (low == 0 && random.chance(0.5)) low = -low;  // -0.0
      if (random.chance(options.infinite)) low = -kInfinity;
      if (random.chance(options.infinite)) high = kInfinity;
      if (random.chance(options.infinite / 4)) low = high;
      if (random.chance(options.infinite / 4)) high = low;
      lower.push_back(low);
      upper.push_back(high);
    }
  return Boxes<T>(lower, upper, options.dimension, options.layout);
}

// The definition of an overlap, written down a second time so that the core's own is tested, too.
template <class T>
bool plainly_overlap(const Problem<T>& problem, std::size_t i, std::size_t j) {
  const BoxView<T>& other = problem.cross ? problem.second : problem.first;
  for (std::size_t k = 0; k < problem.dimension; ++k) {
    const T lower = std::max<T>(problem.first.lower_of(i)[k] - problem.grow, other.lower_of(j)[k] - problem.grow);
    const T upper = std::min<T>(problem.first.upper_of(i)[k] + problem.grow, other.upper_of(j)[k] + problem.grow);
    if (problem.touching ? lower > upper : lower >= upper) return false;
  }
  return true;
}

// Every pair, by testing every pair, in order.
template <class T>
PairList plain_pairs(const Problem<T>& problem) {
  PairList result;
  const std::size_t columns = problem.cross ? problem.second.count : problem.first.count;
  for (std::size_t i = 0; i < problem.first.count; ++i)
    for (std::size_t j = problem.cross ? 0 : i + 1; j < columns; ++j)
      if (plainly_overlap(problem, i, j) && (problem.filter == nullptr || problem.filter->allows(i, j)))
        result.emplace_back(static_cast<std::int32_t>(i), static_cast<std::int32_t>(j));
  return result;
}

template <class T>
std::string describe(const Problem<T>& problem) {
  return std::string(sizeof(T) == 4 ? "float" : "double") + ", D " + std::to_string(problem.dimension) + ", " +
         std::to_string(problem.first.count) + (problem.cross ? " x " + std::to_string(problem.second.count) : "") +
         " boxes, " + (problem.touching ? "closed" : "open") + ", grown by " + std::to_string(problem.grow);
}

}  // namespace broadphase::tests
