// Making shapes: checks and conversions of their numbers, for which NumPy would take a dozen calls a shape.
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <type_traits>

#include "bindings.hpp"
#include "placed_shapes.hpp"
#include "shapes/shape.hpp"
#include "small_arrays.hpp"
#include "world/placing.hpp"

namespace broadphase::python {

namespace {

// The place of the first number that is not within two others, both included, counted along the rows; -1: none. NaN is
// within none.
std::ptrdiff_t first_outside(Numbers numbers, double least, double most) {
  const double* at = numbers.data();
  const std::size_t count = numbers.size();
  for (std::size_t begin = 0; begin < count; begin += 64) {
    const std::size_t end = std::min(count, begin + 64);
    bool are_within = true;
    for (std::size_t k = begin; k < end; ++k) are_within &= (at[k] >= least) & (at[k] <= most);
    if (are_within) continue;
    for (std::size_t k = begin; k < end; ++k)
      if (!(at[k] >= least && at[k] <= most)) return static_cast<std::ptrdiff_t>(k);
  }
  return -1;
}

// Matrices (n, d, d) of angles (n,) or quaternions (n, 4), as those of bodies.
nb::object rotation_matrices(std::size_t dimension, Numbers rotations) {
  return in_plane_or_space(dimension, [&](auto d) {
    constexpr std::size_t D = d(), R = kRotationNumbers<D>;
    const std::size_t count = rotations.shape(0);
    require(rotations.size() == count * R);
    NewTable<double> matrices(count * D, D);
    for (std::size_t k = 0; k < count; ++k) {
      constexpr double kOrigin[D] = {};
      const Pose<D> pose(kOrigin, rotations.data() + k * R);
      for (std::size_t row = 0; row < D; ++row)
        for (std::size_t column = 0; column < D; ++column)
          matrices.data[(k * D + row) * D + column] =
              pose.is_turned ? pose.matrix[row * D + column] : static_cast<double>(row == column);
    }
    return std::move(matrices.array).attr("reshape")(count, D, D);
  });
}

// Where a local record of a kind other than a compound has points, and then vectors that only rotate.
template <std::size_t D>
struct MovedNumbers {
  std::size_t points, points_end, vectors, vectors_end;

  MovedNumbers(const ShapeTraits& traits, std::size_t length) {
    points = traits.is_kept_elsewhere ? 1 : 0;
    points_end = traits.is_open && !traits.is_kept_elsewhere ? length : points + traits.points * D;
    vectors = points_end + traits.lengths + (traits.has_halves ? D : 0);
    vectors_end = vectors + (traits.has_axes ? D * D : 0) + (traits.has_normal ? D : 0);
    require(vectors_end <= length && (points_end - points) % D == 0);
  }
};

// Local records (n, length) of one kind, rotated by matrices (n, d, d), then moved by (n, d). Each n may be 1, which
// fits all; else they are equal.
nb::object moved_records(std::uint8_t kind, std::size_t dimension, Table<double> records, MaybeNumbers shifts,
                         MaybeNumbers matrices) {
  if (kind >= kShapeKinds) throw nb::value_error("no such kind of shape");
  return in_plane_or_space(dimension, [&](auto d) {
    constexpr std::size_t D = d();
    const std::size_t length = records.shape(1);
    const MovedNumbers<D> numbers(kShapeTraits[kind], length);
    std::size_t count = records.shape(0);
    for (const MaybeNumbers* const by : {&shifts, &matrices})
      if (*by && (*by)->shape(0) != 1) count = (*by)->shape(0);
    const auto step_of = [&](std::size_t rows, std::size_t step) {
      require(rows == 1 || rows == count);
      return rows == 1 ? 0 : step;
    };
    require(!shifts || shifts->size() == shifts->shape(0) * D);
    require(!matrices || matrices->size() == matrices->shape(0) * D * D);
    const std::size_t step = step_of(records.shape(0), length), shift_step = shifts ? step_of(shifts->shape(0), D) : 0,
                      matrix_step = matrices ? step_of(matrices->shape(0), D * D) : 0;
    NewTable<double> moved(count, length);
    constexpr double kOrigin[D] = {};
    Pose<D> pose(kOrigin, nullptr);
    pose.is_turned = matrices.has_value();
    for (std::size_t k = 0; k < count; ++k) {
      double* to = std::copy_n(records.data() + k * step, length, moved.data + k * length) - length;
      if (matrices) std::copy_n(matrices->data() + k * matrix_step, D * D, pose.matrix.begin());
      for (std::size_t at = numbers.points; at < numbers.points_end; at += D) {
        pose.turn(to + at, to + at);
        if (shifts)
          for (std::size_t axis = 0; axis < D; ++axis) to[at + axis] += shifts->data()[k * shift_step + axis];
      }
      for (std::size_t at = numbers.vectors; at < numbers.vectors_end; at += D) pose.turn(to + at, to + at);
    }
    return std::move(moved.array);
  });
}

// ---- What hulls and meshes are made of ----

// A table of NumPy of two axes whose numbers are of one of some types, in any order; others are not read.
class GivenTable {
 public:
  explicit GivenTable(nb::handle from) : held_(from.ptr()) {}

  bool is_read() const {
    return held_.is_held && held_.view.ndim == 2 && held_.view.format[0] != '\0' && held_.view.format[1] == '\0';
  }
  std::size_t rows() const { return static_cast<std::size_t>(held_.view.shape[0]); }
  std::size_t columns() const { return static_cast<std::size_t>(held_.view.shape[1]); }
  char format() const { return held_.view.format[0]; }
  // Each number is read once: another thread may write to them.
  template <class T>
  T read(std::size_t row, std::size_t column) const {
    T number;
    std::memcpy(&number,
                static_cast<const char*>(held_.view.buf) + static_cast<Py_ssize_t>(row) * held_.view.strides[0] +
                    static_cast<Py_ssize_t>(column) * held_.view.strides[1],
                sizeof(T));
    return number;
  }

 private:
  HeldBuffer held_;
};

// Calls use(T()) with the type of the numbers, if that is one of these; false: it is not.
template <class... Ts, class Use>
bool with_type(char format, const char* formats, Use&& use) {
  bool is_known = false;
  ((*formats++ == format && !is_known && (use(Ts()), is_known = true)), ...);
  return is_known;
}

// The record of a geometry that is neither moved nor rotated, around a box.
NewTable<double> record_around(const Vec<3>& lower, const Vec<3>& upper) {
  NewTable<double> record(1, traits_of(ShapeKind::kMesh).size(3));
  std::fill_n(record.data, 13, 0.0);
  for (std::size_t axis = 0; axis < 3; ++axis) record.data[4 + 4 * axis] = 1;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    record.data[13 + axis] = lower[axis] + 0.0;  // no -0.0
    record.data[16 + axis] = upper[axis] + 0.0;
  }
  return record;
}

// Copies of vertices (k, 3), float32 or float64, and of faces (m, 3) if there are any, int32 or int64; with the record,
// and the vertices for the core. None, where these are other arrays, or vertices that are not finite or too far, or
// faces of vertices that do not exist: Python converts them, or names the row.
nb::object geometry(nb::handle given_vertices, nb::handle given_faces) {
  const GivenTable from(given_vertices);
  if (!from.is_read() || from.columns() != 3 || from.rows() == 0) return nb::none();
  const std::size_t count = from.rows();
  NewTable<double> vertices(count, 3);
  bool are_right = true;
  Vec<3> lower, upper;
  lower.fill(std::numeric_limits<double>::infinity());
  upper.fill(-std::numeric_limits<double>::infinity());
  const bool is_float = with_type<double, float>(from.format(), "df", [&]<class T>(T) {
    without_gil(3 * count, [&] {
      for (std::size_t k = 0; k < count; ++k)
        for (std::size_t axis = 0; axis < 3; ++axis) {
          const double number = from.read<T>(k, axis);
          are_right &= std::abs(number) <= kLargestCoordinate;
          lower[axis] = std::min(lower[axis], number);
          upper[axis] = std::max(upper[axis], number);
          vertices.data[3 * k + axis] = number;
        }
    });
  });
  if (!is_float || !are_right) return nb::none();
  nb::object faces = nb::none();
  if (!given_faces.is_none()) {
    const GivenTable of(given_faces);
    if (!of.is_read() || of.columns() != 3 || of.rows() == 0) return nb::none();
    NewTable<std::int32_t> kept(of.rows(), 3);
    const bool is_whole = with_type<int, long, long long>(of.format(), "ilq", [&]<class T>(T) {
      without_gil(3 * of.rows(), [&] {
        for (std::size_t k = 0; k < of.rows(); ++k)
          for (std::size_t corner = 0; corner < 3; ++corner) {
            const auto number = static_cast<long long>(of.read<T>(k, corner));
            are_right &= (number >= 0) & (static_cast<unsigned long long>(number) < count);
            kept.data[3 * k + corner] = static_cast<std::int32_t>(number);
          }
      });
    });
    if (!is_whole || !are_right) return nb::none();
    faces = std::move(kept.array);
  }
  nb::object record = std::move(record_around(lower, upper).array);
  nb::object kept = nb::cast(new KeptVertices(nb::cast<Table<double>>(vertices.array)), nb::rv_policy::take_ownership);
  return nb::make_tuple(std::move(vertices.array), std::move(faces), std::move(record), std::move(kept));
}

// Whether points surely do not lie in one plane, up to rounding. Four of them span a parallelepiped: the least singular
// value of its edges E is its volume by the product of the others, so at least 2 det(E) / |E|^2. Edges are sums of the
// points less their mean, of norm 2, so that these have one at least half as large. Coordinates are at most `size`, so
// the largest one is at most size * sqrt(3 k).
bool surely_have_inside(Table<double> points) {
  const double* at = points.data();
  const std::size_t count = points.shape(0);
  require(points.shape(1) == 3);
  const auto edge_to = [&](std::size_t k) {
    return Vec<3>{at[3 * k] - at[0], at[3 * k + 1] - at[1], at[3 * k + 2] - at[2]};
  };
  const auto cross = [](const Vec<3>& a, const Vec<3>& b) {
    return Vec<3>{a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
  };
  const auto dot = [](const Vec<3>& a, const Vec<3>& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; };
  const auto farthest = [&](auto&& how_far) {
    double most = 0;
    Vec<3> edge{};
    for (std::size_t k = 1; k < count; ++k)
      if (const double far = how_far(edge_to(k)); far > most) {
        most = far;
        edge = edge_to(k);
      }
    return edge;
  };
  const Vec<3> first = farthest([&](const Vec<3>& edge) { return dot(edge, edge); });
  const Vec<3> second = farthest([&](const Vec<3>& edge) {
    const Vec<3> area = cross(first, edge);
    return dot(area, area);
  });
  const Vec<3> normal = cross(first, second);
  const Vec<3> third = farthest([&](const Vec<3>& edge) { return std::abs(dot(normal, edge)); });
  double size = 0;
  for (std::size_t k = 0; k < 3 * count; ++k) size = std::max(size, std::abs(at[k]));
  const double squared = dot(first, first) + dot(second, second) + dot(third, third),
               volume = std::abs(dot(normal, third)), largest = size * std::sqrt(3.0 * static_cast<double>(count));
  // A thousand times what Python asks for, which covers all rounding here.
  return std::isfinite(volume * largest * squared) && volume > 1e-9 * largest * squared;
}

}  // namespace

void bind_making_shapes(nb::module_& module) {
  module.def("first_outside", &first_outside, "numbers"_a, "least"_a, "most"_a);
  module.def("rotation_matrices", &rotation_matrices, "dimension"_a, "rotations"_a);
  module.def("moved_records", &moved_records, "kind"_a, "dimension"_a, "records"_a, "shifts"_a.none(),
             "matrices"_a.none());
  module.def("geometry", &geometry, "vertices"_a, "faces"_a.none());
  module.def("surely_have_inside", &surely_have_inside, "points"_a);
}

}  // namespace broadphase::python
