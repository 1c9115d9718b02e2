// Shapes as the narrow phase reads them: a shape type and a record of numbers; how they are placed, and their boxes.
//
// A local record is relative to its body, a placed one is in world coordinates. Both have the same length and, except
// for `kBox`, the same meaning of each number, so placing maps one array to another of the same form.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>
#include <span>

#include "shapes/vertex_tree.hpp"

namespace broadphase {

template <std::size_t D>
using Vec = std::array<double, D>;

// `kShapeTraits` says with which numbers. D is the dimension.
enum class ShapeKind : std::uint8_t {
  kPoint,        // centre[D]
  kBall,         // centre[D], radius: a disc in the plane
  kSegment,      // begin[D], end[D]
  kCapsule,      // begin[D], end[D], radius
  kBox,          // parallel to the axes. Local: centre[D], half[D]; never turns. Placed: lower[D], upper[D]
  kOrientedBox,  // turns: centre[D], half[D], axes[D][D]: one unit vector after the other
  kTriangle,     // three corners [D]
  kPolygon,      // in the plane only, convex: three corners or more [D], counter-clockwise
  kCompound,     // its parts in sequence, each as: kind, length of its record, its record
  kHull,         // number, origin[D], axes[D][D], lower[D], upper[D] in its own frame; Python keeps the geometry
  kMesh,         // the same
  kCustom,       // the same, and then any numbers of its own: a type of the user's, which Python tests
  kCylinder,     // in space only: centres of its ends [D], which differ, radius
  kCone,         // in space only: centre of its base [D], apex[D], which differ, radius of the base
  kEllipsoid,    // in space only: centre[D], half[D], axes[D][D]
  kSector,       // in the plane only: centre[D], both ends of its arc [D], counter-clockwise, half a turn at most
  kHalfSpace,    // a point of its boundary [D], normal[D]: a unit vector outwards
  kHeightField,  // in space only: as kHull
  kPointCloud,   // the same
};

// What a shape is around, as far as its radius, the length in its record if there is one: what its pairs are tested by.
enum class CoreForm : std::uint8_t {
  kNone,     // several parts, or kept elsewhere
  kPoint,    // the points of the record are its corners
  kSegment,  // the same
  kTriangle,
  kPolygon,
  kBox,
  kCurved,     // any convex form: only its support function is known (narrow/support.hpp)
  kHalfSpace,  // without an end: its pairs have forms of their own (narrow/half_spaces.hpp)
};

constexpr bool has_corners(CoreForm core) {
  return core != CoreForm::kNone && core != CoreForm::kCurved && core != CoreForm::kHalfSpace;
}

// The local records of one kind: points, then lengths, then axes. The same row as in shapes/kinds.py.
struct ShapeTraits {
  ShapeKind kind;
  CoreForm core = CoreForm::kNone;
  bool in_plane = true, in_space = true;
  std::size_t points = 1;          // if `is_open`, at least
  std::size_t lengths = 0;         // numbers that must not be negative, whatever the dimension
  bool has_halves = false;         // one more length for each axis of space
  bool has_axes = false;           // one unit vector for each axis of space
  bool has_normal = false;         // one unit vector
  bool is_open = false;            // any number of points, or of other numbers where it is kept elsewhere
  bool is_kept_elsewhere = false;  // its number comes first, its box last; the core knows only its pose and box
  bool has_parts = false;          // a sequence of other records

  constexpr bool is_in(std::size_t dimension) const { return dimension == 2 ? in_plane : in_space; }
  // How many numbers a local record has; if `is_open`, at least.
  constexpr std::size_t size(std::size_t d) const {
    return points * d + lengths + (has_halves ? d : 0) + (has_axes ? d * d : 0) + (has_normal ? d : 0) +
           (is_kept_elsewhere ? 1 + 2 * d : 0);
  }
};

inline constexpr std::array kShapeTraits{
    ShapeTraits{.kind = ShapeKind::kPoint, .core = CoreForm::kPoint},
    ShapeTraits{.kind = ShapeKind::kBall, .core = CoreForm::kPoint, .lengths = 1},
    ShapeTraits{.kind = ShapeKind::kSegment, .core = CoreForm::kSegment, .points = 2},
    ShapeTraits{.kind = ShapeKind::kCapsule, .core = CoreForm::kSegment, .points = 2, .lengths = 1},
    ShapeTraits{.kind = ShapeKind::kBox, .core = CoreForm::kBox, .has_halves = true},
    ShapeTraits{.kind = ShapeKind::kOrientedBox, .core = CoreForm::kBox, .has_halves = true, .has_axes = true},
    ShapeTraits{.kind = ShapeKind::kTriangle, .core = CoreForm::kTriangle, .points = 3},
    ShapeTraits{
        .kind = ShapeKind::kPolygon, .core = CoreForm::kPolygon, .in_space = false, .points = 3, .is_open = true},
    ShapeTraits{.kind = ShapeKind::kCompound, .points = 0, .has_parts = true},
    ShapeTraits{.kind = ShapeKind::kHull, .in_plane = false, .has_axes = true, .is_kept_elsewhere = true},
    ShapeTraits{.kind = ShapeKind::kMesh, .in_plane = false, .has_axes = true, .is_kept_elsewhere = true},
    ShapeTraits{.kind = ShapeKind::kCustom, .has_axes = true, .is_open = true, .is_kept_elsewhere = true},
    ShapeTraits{.kind = ShapeKind::kCylinder, .core = CoreForm::kCurved, .in_plane = false, .points = 2, .lengths = 1},
    ShapeTraits{.kind = ShapeKind::kCone, .core = CoreForm::kCurved, .in_plane = false, .points = 2, .lengths = 1},
    ShapeTraits{.kind = ShapeKind::kEllipsoid,
                .core = CoreForm::kCurved,
                .in_plane = false,
                .has_halves = true,
                .has_axes = true},
    ShapeTraits{.kind = ShapeKind::kSector, .core = CoreForm::kCurved, .in_space = false, .points = 3},
    ShapeTraits{.kind = ShapeKind::kHalfSpace, .core = CoreForm::kHalfSpace, .has_normal = true},
    ShapeTraits{.kind = ShapeKind::kHeightField, .in_plane = false, .has_axes = true, .is_kept_elsewhere = true},
    ShapeTraits{.kind = ShapeKind::kPointCloud, .in_plane = false, .has_axes = true, .is_kept_elsewhere = true},
};
inline constexpr std::size_t kShapeKinds = kShapeTraits.size();

constexpr const ShapeTraits& traits_of(ShapeKind kind) { return kShapeTraits[static_cast<std::size_t>(kind)]; }

// One bit for each kind whose traits have something: a test of a kind reads no table.
template <class Has>
consteval std::uint32_t kinds_that(Has has) {
  std::uint32_t kinds = 0;
  for (std::size_t k = 0; k < kShapeKinds; ++k)
    if (has(kShapeTraits[k])) kinds |= std::uint32_t{1} << k;
  return kinds;
}
static_assert(kinds_that([](const ShapeTraits& row) { return &row == &traits_of(row.kind); }) ==
                  (std::uint32_t{1} << kShapeKinds) - 1,
              "the rows have the order of the kinds");

// The core knows only the pose and box of these, not their geometry.
constexpr bool is_kept_elsewhere(ShapeKind kind) {
  constexpr std::uint32_t kKept = kinds_that([](const ShapeTraits& row) { return row.is_kept_elsewhere; });
  return (kKept >> static_cast<std::uint8_t>(kind) & 1) != 0;
}

template <std::size_t D>
struct ShapeView {
  ShapeKind kind;
  std::span<const double> record;
};

// The radius around the core of a shape whose core has corners.
template <std::size_t D>
constexpr double radius_of(const ShapeView<D>& shape) {
  const ShapeTraits& traits = traits_of(shape.kind);
  return traits.lengths > 0 ? shape.record[traits.points * D] : 0;
}

// The radius of a ball that fits into the shape of a local record: its least length, or 0 where that says nothing.
template <std::size_t D>
double inner_radius(ShapeKind kind, std::span<const double> local) {
  const ShapeTraits& traits = traits_of(kind);
  const std::size_t lengths = traits.lengths + (traits.has_halves ? D : 0);
  if (lengths == 0 || !has_corners(traits.core)) return 0;
  const auto first = local.begin() + static_cast<std::ptrdiff_t>(traits.points * D);
  return *std::min_element(first, first + static_cast<std::ptrdiff_t>(lengths));
}

// Calls `visit(part)` for each part of a compound, until it returns false.
template <std::size_t D, class Visit>
void for_each_part(std::span<const double> record, Visit&& visit) {
  for (std::size_t at = 0; at < record.size();) {
    const auto kind = static_cast<ShapeKind>(static_cast<std::uint8_t>(record[at]));
    const auto length = static_cast<std::size_t>(record[at + 1]);
    if (!visit(ShapeView<D>{kind, record.subspan(at + 2, kind == ShapeKind::kBox ? 2 * D : length)})) return;
    at += 2 + length;
  }
}

// Whether a shape is a half space or has one as a part: what reaches to infinity.
template <std::size_t D>
bool is_unbounded(const ShapeView<D>& shape) {
  if (shape.kind != ShapeKind::kCompound) return shape.kind == ShapeKind::kHalfSpace;
  bool found = false;
  for_each_part<D>(shape.record, [&](const ShapeView<D>& part) {
    found = part.kind == ShapeKind::kHalfSpace;
    return !found;
  });
  return found;
}

// Where two shapes that overlap touch.
template <std::size_t D>
struct Contact {
  static constexpr std::size_t kMostPoints = D == 2 ? 2 : 4;

  Vec<D> normal{};  // unit, from the first to the second
  double depth = 0;
  std::size_t count = 0;
  std::array<Vec<D>, kMostPoints> points{};  // the deepest first, midway between the two surfaces
};

// Whether a local record, which may come from a file, has the number of values that its kind requires.
inline bool is_well_formed(std::uint8_t kind, std::span<const double> record, std::size_t dimension,
                           bool is_part = false) {
  const std::size_t size = record.size();
  if (kind >= kShapeKinds) return false;
  const ShapeTraits& traits = kShapeTraits[kind];
  if (!traits.is_in(dimension)) return false;
  if (!traits.has_parts) {
    const std::size_t least = traits.size(dimension);
    if (traits.is_open ? size < least : size != least) return false;
    if (traits.is_kept_elsewhere) return !is_part && record[0] >= 0 && record[0] < 0x1p31;
    return (size - least) % dimension == 0;
  }
  if (is_part || size == 0) return false;
  for (std::size_t at = 0; at < size;) {
    if (size - at < 2) return false;
    const double part = record[at], length = record[at + 1];
    if (!(part >= 0 && part < static_cast<double>(kShapeKinds) && length >= 0 &&
          length <= static_cast<double>(size - at - 2)))
      return false;
    const auto numbers = static_cast<std::size_t>(length);
    if (!is_well_formed(static_cast<std::uint8_t>(part), record.subspan(at + 2, numbers), dimension, true))
      return false;
    at += 2 + numbers;
  }
  return true;
}

// ---- Placing: local records to placed ones, and placed ones to boxes ----

// Values of a rotation: an angle in 2-d, a quaternion (w, x, y, z) in 3-d.
template <std::size_t D>
inline constexpr std::size_t kRotationNumbers = D == 2 ? 1 : 4;

// Whether a rotation is not the identity. May be null: no rotation.
template <std::size_t D>
bool is_turn(const double* rotation) {
  if (rotation == nullptr) return false;
  if constexpr (D == 2)
    return *rotation != 0.0;
  else
    return rotation[1] != 0.0 || rotation[2] != 0.0 || rotation[3] != 0.0;
}

// Multiples of quarter turns about coordinate axes are exact: what is one up to rounding is taken as one, so that boxes
// that touch after it are not lost. As in shapes/turning.py.

// Within two units in the last place of a multiple of pi / 2, up to some.
inline bool is_quarter_turn(double angle) {
  constexpr double kQuarter = std::numbers::pi / 2, kRounding = 0x1p-51, kMost = 1024;
  const double quarters = std::rint(angle / kQuarter);
  return std::fabs(angle - quarters * kQuarter) <= kRounding * std::fabs(angle) && std::fabs(quarters) <= kMost;
}

// Of a number in a matrix of rotation.
inline bool is_nearly_whole(double number) { return std::fabs(number - std::rint(number)) <= 0x1p-50; }

// Position and rotation of a body.
template <std::size_t D>
struct Pose {
  Vec<D> position;
  bool is_turned;
  std::array<double, D * D> matrix;  // row-major; only set if is_turned

  // `rotation` may be null: no rotation. A quaternion need not be normalized, but must not be zero. Without a rotation
  // nothing is rounded.
  Pose(const double* at, const double* rotation) {
    std::copy_n(at, D, position.begin());
    is_turned = is_turn<D>(rotation);
    if constexpr (D == 2) {
      if (is_turned) {
        double c = std::cos(*rotation), s = std::sin(*rotation);
        // A few thousand quarter turns are no farther from whole numbers than this.
        constexpr double kNearly = 1e-12;
        if ((std::fabs(c) <= kNearly || std::fabs(s) <= kNearly) && is_quarter_turn(*rotation)) {
          c = std::rint(c);
          s = std::rint(s);
        }
        matrix = {c, -s, s, c};
      }
    } else {
      if (is_turned) {
        double w = rotation[0], x = rotation[1], y = rotation[2], z = rotation[3];
        double squared = w * w + x * x + y * y + z * z;
        if (!(squared >= 0x1p-900 && squared <= 0x1p900)) {  // some square is out of range
          const int exponent = std::ilogb(std::max({std::fabs(w), std::fabs(x), std::fabs(y), std::fabs(z)}));
          for (double* number : {&w, &x, &y, &z}) *number = std::ldexp(*number, -exponent);
          squared = w * w + x * x + y * y + z * z;
        }
        const double two = 2.0 / squared;
        matrix = {1.0 - two * (y * y + z * z), two * (x * y - w * z),       two * (x * z + w * y),
                  two * (x * y + w * z),       1.0 - two * (x * x + z * z), two * (y * z - w * x),
                  two * (x * z - w * y),       two * (y * z + w * x),       1.0 - two * (x * x + y * y)};
        if (is_nearly_whole(matrix[0]) && std::all_of(matrix.begin(), matrix.end(), is_nearly_whole))
          for (double& number : matrix) number = std::rint(number);
      }
    }
  }

  void turn(const double* from, double* to) const {
    if (!is_turned) {
      std::copy_n(from, D, to);
      return;
    }
    Vec<D> turned;
    for (std::size_t row = 0; row < D; ++row) {
      turned[row] = matrix[row * D] * from[0];
      for (std::size_t k = 1; k < D; ++k) turned[row] += matrix[row * D + k] * from[k];
    }
    std::copy_n(turned.begin(), D, to);
  }
  void place(const double* from, double* to) const {
    turn(from, to);
    for (std::size_t k = 0; k < D; ++k) to[k] += position[k];
  }
};

// Whether the local record of an oriented box is parallel to the axes while its body is not rotated.
template <std::size_t D>
bool has_coordinate_axes(const double* record) {
  const double* axes = record + 2 * D;
  for (std::size_t k = 0; k < D * D; ++k)
    if (axes[k] != (k % (D + 1) == 0 ? 1.0 : 0.0)) return false;
  return true;
}

// Whether axes, one after the other, are coordinate axes in any order and direction: a box with these is turned
// exactly.
template <std::size_t D>
bool are_coordinate_axes(const double* axes) {
  return std::all_of(axes, axes + D * D, [](double x) { return x == 0.0 || x == 1.0 || x == -1.0; });
}

// Makes the placed record of an oriented box that of a `kBox`, and the rest of it 0. Precondition: its axes are
// coordinate axes.
template <std::size_t D>
void write_parallel_box(double* placed) {
  Vec<D> centre, half{};
  std::copy_n(placed, D, centre.begin());
  for (std::size_t axis = 0; axis < D; ++axis)
    for (std::size_t k = 0; k < D; ++k)
      if (placed[(2 + axis) * D + k] != 0.0) half[k] = placed[D + axis];
  for (std::size_t k = 0; k < D; ++k) {
    placed[k] = centre[k] - half[k];
    placed[D + k] = centre[k] + half[k];
  }
  std::fill_n(placed + 2 * D, D * D, 0.0);
}

// Writes the placed record of a local one to `to`, which has room for as many values. Returns the kind of the placed
// record, which differs only for an oriented box that is parallel to the axes: it is placed as a `kBox`.
template <std::size_t D>
ShapeKind place_shape(ShapeKind kind, std::span<const double> local, const Pose<D>& pose, double* to) {
  const double* from = local.data();
  if (kind == ShapeKind::kOrientedBox && !pose.is_turned && has_coordinate_axes<D>(from)) kind = ShapeKind::kBox;
  switch (kind) {
    case ShapeKind::kPoint:
    case ShapeKind::kSegment:
    case ShapeKind::kTriangle:
    case ShapeKind::kPolygon:
    case ShapeKind::kSector:
      for (std::size_t k = 0; k < local.size(); k += D) pose.place(from + k, to + k);
      break;
    case ShapeKind::kBall:
      pose.place(from, to);
      to[D] = from[D];
      break;
    case ShapeKind::kCapsule:
    case ShapeKind::kCylinder:
    case ShapeKind::kCone:
      pose.place(from, to);
      pose.place(from + D, to + D);
      to[2 * D] = from[2 * D];
      break;
    case ShapeKind::kBox: {
      Vec<D> centre;
      pose.place(from, centre.data());
      for (std::size_t k = 0; k < D; ++k) {
        const double half = from[D + k];
        to[k] = centre[k] - half;
        to[D + k] = centre[k] + half;
      }
      break;
    }
    case ShapeKind::kOrientedBox:
    case ShapeKind::kEllipsoid:
      pose.place(from, to);
      std::copy_n(from + D, D, to + D);
      for (std::size_t axis = 0; axis < D; ++axis) pose.turn(from + (2 + axis) * D, to + (2 + axis) * D);
      if (kind == ShapeKind::kOrientedBox && are_coordinate_axes<D>(to + 2 * D)) {
        write_parallel_box<D>(to);
        kind = ShapeKind::kBox;
      }
      break;
    case ShapeKind::kHalfSpace:
      pose.place(from, to);
      pose.turn(from + D, to + D);
      break;
    case ShapeKind::kCompound:
      for (std::size_t at = 0; at < local.size();) {
        const auto length = static_cast<std::size_t>(from[at + 1]);
        const auto part = static_cast<ShapeKind>(static_cast<std::uint8_t>(from[at]));
        std::fill_n(to + at + 2, length, 0.0);  // a box parallel to the axes does not use all of it
        to[at] = static_cast<double>(place_shape<D>(part, local.subspan(at + 2, length), pose, to + at + 2));
        to[at + 1] = from[at + 1];
        at += 2 + length;
      }
      break;
    case ShapeKind::kHull:
    case ShapeKind::kMesh:
    case ShapeKind::kHeightField:
    case ShapeKind::kPointCloud:
    case ShapeKind::kCustom:
      to[0] = from[0];
      pose.place(from + 1, to + 1);
      for (std::size_t axis = 0; axis < D; ++axis) pose.turn(from + 1 + (1 + axis) * D, to + 1 + (1 + axis) * D);
      std::copy(from + 1 + (1 + D) * D, from + local.size(), to + 1 + (1 + D) * D);
      break;
  }
  return kind;
}

// Moves a placed record by `offset`, in place.
template <std::size_t D>
void shift_shape(ShapeKind kind, std::span<double> placed, const double* offset) {
  const auto shift = [&](std::size_t at) {
    for (std::size_t k = 0; k < D; ++k) placed[at + k] += offset[k];
  };
  switch (kind) {
    case ShapeKind::kPoint:
    case ShapeKind::kSegment:
    case ShapeKind::kTriangle:
    case ShapeKind::kPolygon:
    case ShapeKind::kSector:
      for (std::size_t at = 0; at < placed.size(); at += D) shift(at);
      return;
    case ShapeKind::kBox:
    case ShapeKind::kCapsule:
    case ShapeKind::kCylinder:
    case ShapeKind::kCone: shift(D); [[fallthrough]];
    case ShapeKind::kBall:
    case ShapeKind::kEllipsoid:
    case ShapeKind::kHalfSpace:
    case ShapeKind::kOrientedBox: shift(0); return;
    case ShapeKind::kHull:
    case ShapeKind::kMesh:
    case ShapeKind::kHeightField:
    case ShapeKind::kPointCloud:
    case ShapeKind::kCustom: shift(1); return;
    case ShapeKind::kCompound:
      for (std::size_t at = 0; at < placed.size();) {
        const auto length = static_cast<std::size_t>(placed[at + 1]);
        shift_shape<D>(static_cast<ShapeKind>(static_cast<std::uint8_t>(placed[at])), placed.subspan(at + 2, length),
                       offset);
        at += 2 + length;
      }
      return;
  }
}

// How far a disc around an axis, from one point to the next, reaches along each coordinate axis.
template <std::size_t D>
Vec<D> reaches_of_disc(const double* points, double radius) {
  Vec<D> along;
  for (std::size_t k = 0; k < D; ++k) along[k] = points[D + k] - points[k];
  double most = 0, squared = 0;
  for (const double x : along) most = std::max(most, std::abs(x));
  Vec<D> reaches;
  reaches.fill(radius);
  if (most == 0) return reaches;  // rounding has left no axis
  for (double& x : along) {
    x /= most;  // so that no square is out of range
    squared += x * x;
  }
  for (std::size_t k = 0; k < D; ++k) {
    double across = 0;
    for (std::size_t j = 0; j < D; ++j) across += j == k ? 0 : along[j] * along[j];
    reaches[k] = radius * std::sqrt(across / squared);
  }
  return reaches;
}

// Of the record of a sector: the radius of its arc, and whether a direction, which is not 0, goes from its centre to
// it.
inline double arc_radius(const double* p) { return std::hypot(p[2] - p[0], p[3] - p[1]); }
inline bool is_on_arc(const double* p, const Vec<2>& way) {
  const Vec<2> begin{p[2] - p[0], p[3] - p[1]}, end{p[4] - p[0], p[5] - p[1]};
  const bool is_between = begin[0] * way[1] - begin[1] * way[0] >= 0 && way[0] * end[1] - way[1] * end[0] >= 0;
  return is_between && (way[0] * begin[0] + way[1] * begin[1] > 0 || way[0] * end[0] + way[1] * end[1] > 0);
}

// The bounding box of a shape; closed. Infinite on the sides on which a half space has no end.
template <std::size_t D, bool HasSpare = true>
struct ShapeBounds {
  static constexpr double kSpare = HasSpare ? 0x1p-50 : 0.0;

  Vec<D> lower, upper;

  ShapeBounds() {
    lower.fill(std::numeric_limits<double>::infinity());
    upper.fill(-std::numeric_limits<double>::infinity());
  }
  // The extent along an axis, plus four times the rounding error here and in comparisons with other boxes. Without
  // HasSpare: the extent as it is.
  static double below(double centre, double reach) { return centre - reach - kSpare * (std::abs(centre) + reach); }
  static double above(double centre, double reach) { return centre + reach + kSpare * (std::abs(centre) + reach); }
  void add(const double* centre, std::size_t axis, double reach) {
    lower[axis] = std::min(lower[axis], below(centre[axis], reach));
    upper[axis] = std::max(upper[axis], above(centre[axis], reach));
  }
};

// Extends `bounds` by a placed shape. An axis-aligned box is its own bounding box; others are enlarged slightly, so
// that shapes which touch according to rounded calculations have boxes that overlap. `vertices` are those of a hull or
// a mesh; without them, the box around them in their own frame is turned, as those of others kept elsewhere are.
template <std::size_t D, bool HasSpare>
void add_bounds(const ShapeView<D>& shape, ShapeBounds<D, HasSpare>& bounds, const VertexTree* vertices = nullptr) {
  const double* p = shape.record.data();
  const auto add_corners = [&](std::size_t numbers, double reach) {
    for (std::size_t at = 0; at < numbers; at += D)
      for (std::size_t k = 0; k < D; ++k) bounds.add(p + at, k, reach);
  };
  const auto add_turned_box = [&](const double* centre, const double* half, const double* axes) {
    for (std::size_t k = 0; k < D; ++k) {
      double reach = 0;
      for (std::size_t axis = 0; axis < D; ++axis) reach += std::abs(axes[axis * D + k]) * half[axis];
      bounds.add(centre, k, reach);
    }
  };
  switch (shape.kind) {
    case ShapeKind::kPoint:
    case ShapeKind::kSegment:
    case ShapeKind::kTriangle:
    case ShapeKind::kPolygon: add_corners(shape.record.size(), 0); return;
    case ShapeKind::kBall: add_corners(D, p[D]); return;
    case ShapeKind::kCapsule: add_corners(2 * D, p[2 * D]); return;
    case ShapeKind::kBox:
      for (std::size_t k = 0; k < D; ++k) {
        bounds.lower[k] = std::min(bounds.lower[k], p[k]);
        bounds.upper[k] = std::max(bounds.upper[k], p[D + k]);
      }
      return;
    case ShapeKind::kOrientedBox: add_turned_box(p, p + D, p + 2 * D); return;
    case ShapeKind::kCylinder:
    case ShapeKind::kCone: {
      const Vec<D> reaches = reaches_of_disc<D>(p, p[2 * D]);
      for (std::size_t k = 0; k < D; ++k) {
        bounds.add(p, k, reaches[k]);
        bounds.add(p + D, k, shape.kind == ShapeKind::kCone ? 0 : reaches[k]);
      }
      return;
    }
    case ShapeKind::kEllipsoid:
      for (std::size_t k = 0; k < D; ++k) {
        double squared = 0;
        for (std::size_t axis = 0; axis < D; ++axis) {
          const double reach = p[(2 + axis) * D + k] * p[D + axis];
          squared += reach * reach;
        }
        bounds.add(p, k, std::sqrt(squared));
      }
      return;
    case ShapeKind::kSector:
      add_corners(shape.record.size(), 0);
      if constexpr (D == 2) {
        for (std::size_t k = 0; k < D; ++k)
          for (const double sign : {1.0, -1.0}) {
            Vec<D> way{};
            way[k] = sign;
            if (!is_on_arc(p, way)) continue;
            Vec<D> end{p[0], p[1]};
            end[k] += sign * arc_radius(p);
            bounds.add(end.data(), k, 0);
          }
      }
      return;
    case ShapeKind::kHalfSpace: {
      constexpr double kInfinity = std::numeric_limits<double>::infinity();
      const auto across = std::count_if(p + D, p + 2 * D, [](double x) { return x != 0; });  // axes that meet it
      for (std::size_t k = 0; k < D; ++k) {
        const double normal = across == 1 ? p[D + k] : 0;
        bounds.lower[k] = normal < 0 ? std::min(bounds.lower[k], bounds.below(p[k], 0)) : -kInfinity;
        bounds.upper[k] = normal > 0 ? std::max(bounds.upper[k], bounds.above(p[k], 0)) : kInfinity;
      }
      return;
    }
    case ShapeKind::kCompound:
      for_each_part<D>(shape.record, [&](const ShapeView<D>& part) {
        add_bounds<D, HasSpare>(part, bounds);
        return true;
      });
      return;
    case ShapeKind::kHull:
    case ShapeKind::kMesh:
    case ShapeKind::kHeightField:
    case ShapeKind::kPointCloud:
    case ShapeKind::kCustom: {
      const double *origin = p + 1, *axes = origin + D, *low = axes + D * D, *high = low + D;
      if constexpr (D == 3) {
        if (vertices != nullptr && !are_coordinate_axes<D>(axes)) {
          const VertexTree::Extents extents = vertices->extents(axes);
          for (std::size_t k = 0; k < D; ++k) {
            double size = std::abs(origin[k]);  // of the terms of a placed coordinate: what rounding errors scale with
            for (std::size_t axis = 0; axis < D; ++axis)
              size += std::abs(axes[axis * D + k]) * std::max(std::abs(low[axis]), std::abs(high[axis]));
            const double spare = bounds.kSpare * size;
            bounds.lower[k] = std::min(bounds.lower[k], origin[k] + extents.lower[k] - spare);
            bounds.upper[k] = std::max(bounds.upper[k], origin[k] + extents.upper[k] + spare);
          }
          return;
        }
      }
      Vec<D> centre, half{};
      std::copy_n(origin, D, centre.begin());
      for (std::size_t axis = 0; axis < D; ++axis) {
        half[axis] = 0.5 * high[axis] - 0.5 * low[axis];
        for (std::size_t k = 0; k < D; ++k) centre[k] += axes[axis * D + k] * (0.5 * high[axis] + 0.5 * low[axis]);
      }
      add_turned_box(centre.data(), half.data(), axes);
      return;
    }
  }
}

}  // namespace broadphase
