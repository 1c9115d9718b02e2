// What the narrow phase finds of pairs of shapes, and as Python gets it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "narrow/turning.hpp"
#include "placed_shapes.hpp"
#include "shapes/shape.hpp"

namespace broadphase::python {

inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

template <std::size_t D>
Vec<D> vector_of(const Numbers& numbers, std::size_t row) {
  Vec<D> vector;
  std::copy_n(numbers.data() + row * D, D, vector.begin());
  return vector;
}

// How pairs move and turn: (m, PairMotion<D>::kNumbers).
template <std::size_t D>
const PairMotion<D>* motions_of(const Numbers& motions) {
  return reinterpret_cast<const PairMotion<D>*>(motions.data());
}

// One number and one normal for each pair: (m,) and (m, d).
struct NumbersAndNormals {
  NumbersAndNormals(std::size_t count, std::size_t of) : dimension(of), numbers(count), normals(count * of) {}
  // compute(normal) returns the number.
  template <std::size_t D, class Compute>
  void put(std::size_t k, const Compute& compute) {
    Vec<D> normal{};
    numbers[k] = compute(&normal);
    std::copy_n(normal.begin(), D, normals.data() + k * D);
  }
  // Of a shape that is kept elsewhere.
  void leave(std::size_t k) {
    numbers[k] = kUnknown;
    std::fill_n(normals.data() + k * dimension, dimension, kUnknown);
  }
  nb::tuple as_tuple() && { return python::as_tuple(std::move(numbers), as_table(std::move(normals), dimension)); }
  std::size_t dimension;
  std::vector<double> numbers, normals;
};

// The contact of each pair: normals (m, d), depths, how many points there are, and these, NaN past the last.
struct FoundContacts {
  FoundContacts(std::size_t count, std::size_t of)
      : dimension(of),
        most(of == 2 ? Contact<2>::kMostPoints : Contact<3>::kMostPoints),
        normals(count * of),
        depths(count),
        points(count * most * of, kUnknown),
        counts(count) {}
  template <std::size_t D>
  void put(std::size_t k, const Contact<D>& found) {
    std::copy_n(found.normal.begin(), D, normals.data() + k * D);
    depths[k] = found.depth;
    counts[k] = static_cast<std::int8_t>(found.count);
    for (std::size_t p = 0; p < found.count; ++p)
      std::copy_n(found.points[p].begin(), D, points.data() + (k * most + p) * D);
  }
  void leave(std::size_t k) {
    std::fill_n(normals.data() + k * dimension, dimension, kUnknown);
    depths[k] = kUnknown;
    counts[k] = -1;
  }
  nb::tuple as_tuple() && {
    const std::size_t count = counts.size();
    return python::as_tuple(as_table(std::move(normals), dimension), std::move(depths), std::move(counts),
                            as_array(std::move(points), {count, most, dimension}));
  }
  std::size_t dimension, most;
  std::vector<double> normals, depths, points;
  std::vector<std::int8_t> counts;
};

}  // namespace broadphase::python
