// Which placed shapes are there twice: equal up to a tolerance. Meshes are equal in whatever order their triangles are.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "narrow/geometries.hpp"
#include "shapes/shape.hpp"

namespace broadphase {

// A hull or a mesh as it was given: three numbers a vertex, and three rows of vertices a face. Hulls have no faces. Of
// a height field, the heights, so many a row.
struct GivenGeometry {
  std::span<const double> vertices;
  std::size_t columns = 3;
  std::span<const std::int32_t> faces;
  Vec<3> middle{};  // of a mesh, the mean of the corners of all faces

  bool has_vertices_of(const GivenGeometry& other) const {
    return vertices.size() == other.vertices.size() && columns == other.columns &&
           std::memcmp(vertices.data(), other.vertices.data(), vertices.size_bytes()) == 0;
  }
};

// A placed shape of any kind but a custom one, its kind where it is not placed, the box around it, lower and upper
// corner, and what it is made of if it is kept elsewhere; else null.
struct PlacedPart {
  ShapeView<3> shape;
  ShapeKind kind;
  const double* box;
  const GivenGeometry* geometry;
};

// Compares parts up to a tolerance. Keeps its memory from one pair to the next.
class PartComparison {
 public:
  explicit PartComparison(double tolerance) : tolerance_(tolerance) {}

  bool are_equal(const PlacedPart& a, const PlacedPart& b) {
    if (a.kind != b.kind) return false;
    double farthest = 0;
    for (std::size_t k = 0; k < 6; ++k) farthest = std::max(farthest, std::abs(a.box[k]));
    if (!are_within(middle_of(a), middle_of(b), tolerance_ + 1e-9 * farthest)) return false;
    const std::span<const double> record = a.shape.record, other = b.shape.record;
    if (a.kind == ShapeKind::kMesh) return are_equal_meshes(a, b);
    if (is_kept_elsewhere(a.kind))  // the first number is only its name
      return a.geometry->has_vertices_of(*b.geometry) && are_near(record.subspan(1), other.subspan(1));
    return record.size() == other.size() && are_near(record, other);
  }

 private:
  // Where the mean of its triangles is, if it is a mesh; else the middle of its box.
  static Vec<3> middle_of(const PlacedPart& part) {
    if (part.kind == ShapeKind::kMesh) return placed(part, part.geometry->middle.data());
    Vec<3> middle;
    for (std::size_t k = 0; k < 3; ++k) middle[k] = (part.box[k] + part.box[3 + k]) / 2;
    return middle;
  }

  // A vertex of a mesh in the world: the record has a number, the origin and the axes.
  static Vec<3> placed(const PlacedPart& part, const double* own) {
    const std::span<const double> r = part.shape.record;
    Vec<3> at;
    for (std::size_t k = 0; k < 3; ++k) at[k] = own[0] * r[4 + k] + own[1] * r[7 + k] + own[2] * r[10 + k] + r[1 + k];
    return at;
  }
  static void place(const PlacedPart& part, std::vector<Vec<3>>& vertices) {
    const std::span<const double> own = part.geometry->vertices;
    vertices.resize(own.size() / 3);
    for (std::size_t k = 0; k < vertices.size(); ++k) vertices[k] = placed(part, own.data() + 3 * k);
  }

  static bool are_within(const Vec<3>& a, const Vec<3>& b, double distance) {
    bool are = true;
    for (std::size_t k = 0; k < 3; ++k) are &= std::abs(a[k] - b[k]) <= distance;
    return are;
  }
  // What numbers of this size may differ by.
  double slack(double largest) const { return tolerance_ + 1e-12 * largest; }

  bool are_near(std::span<const double> values, std::span<const double> others) const {
    double largest = 0, most = 0;
    for (std::size_t k = 0; k < values.size(); ++k) {
      largest = std::max(largest, std::abs(values[k]));
      most = std::max(most, std::abs(values[k] - others[k]));
    }
    return most <= slack(largest);
  }

  bool are_equal_meshes(const PlacedPart& a, const PlacedPart& b) {
    const std::span<const std::int32_t> faces = a.geometry->faces, others = b.geometry->faces;
    if (faces.size() != others.size()) return false;
    place(a, vertices_), place(b, other_vertices_);
    double largest = 0;
    for (const Vec<3>& vertex : vertices_)
      for (const double x : vertex) largest = std::max(largest, std::abs(x));
    const double most = slack(largest);
    bool are_in_order = vertices_.size() == other_vertices_.size() &&
                        (faces.data() == others.data() || std::equal(faces.begin(), faces.end(), others.begin()));
    for (std::size_t k = 0; are_in_order && k < vertices_.size(); ++k)
      are_in_order = are_within(vertices_[k], other_vertices_[k], most);
    if (are_in_order) return true;
    // In another order: each triangle has one with the same middle.
    find_middles(vertices_, faces, middles_);
    find_middles(other_vertices_, others, other_middles_);
    return a_few_are_among(most) && are_all_among(middles_, other_middles_, most) &&
           are_all_among(other_middles_, middles_, most);
  }

  static void find_middles(const std::vector<Vec<3>>& vertices, std::span<const std::int32_t> faces,
                           std::vector<Vec<3>>& middles) {
    middles.resize(faces.size() / 3);
    for (std::size_t face = 0; face < middles.size(); ++face)
      for (std::size_t k = 0; k < 3; ++k) {
        const auto at = [&](std::size_t c) { return vertices[static_cast<std::size_t>(faces[3 * face + c])][k]; };
        middles[face][k] = (at(0) + at(1) + at(2)) / 3;
      }
  }
  static bool are_close(const Vec<3>& a, const Vec<3>& b, double distance) {
    double squared = 0;
    for (std::size_t k = 0; k < 3; ++k) squared += (a[k] - b[k]) * (a[k] - b[k]);
    return std::sqrt(squared) <= distance;
  }

  // By a look at all others. Of meshes that are nearly equal but are not, nearly always no triangle has such another.
  bool a_few_are_among(double distance) const {
    constexpr std::size_t kFew = 3;
    for (std::size_t one = 0; one < kFew; ++one) {
      const Vec<3>& middle = middles_[one * (middles_.size() - 1) / (kFew - 1)];
      if (std::none_of(other_middles_.begin(), other_middles_.end(),
                       [&](const Vec<3>& other) { return are_close(middle, other, distance); }))
        return false;
    }
    return true;
  }

  // Whether each point has one of the others within a distance: those are filed in cells of twice that, so that up to
  // eight cells are looked at. Either a large part of what is in a cell is near enough, or the first miss ends it.
  bool are_all_among(const std::vector<Vec<3>>& points, const std::vector<Vec<3>>& others, double distance) {
    Vec<3> low = others.front(), high = low;
    for (const Vec<3>& point : others)
      for (std::size_t k = 0; k < 3; ++k) low[k] = std::min(low[k], point[k]), high[k] = std::max(high[k], point[k]);
    double extent = 0;
    for (std::size_t k = 0; k < 3; ++k) extent = std::max(extent, high[k] - low[k]);
    const double size = std::max(2 * distance, extent * 0x1p-40), cells_a_unit = size > 0 ? 1 / size : 0;
    const auto cell = [&](std::size_t k, double x) {
      const double at = (x - low[k]) * cells_a_unit;
      return static_cast<std::int64_t>(std::floor(std::clamp(at, -2.0, 0x1p41)));
    };
    using Cell = std::array<std::int64_t, 3>;
    cells_.clear();
    for (std::size_t k = 0; k < others.size(); ++k)
      cells_.push_back({Cell{cell(0, others[k][0]), cell(1, others[k][1]), cell(2, others[k][2])}, k});
    std::sort(cells_.begin(), cells_.end());
    const auto is_in = [&](const Vec<3>& point, const Cell& where) {
      for (auto at = std::lower_bound(cells_.begin(), cells_.end(), std::pair(where, std::size_t{0}));
           at != cells_.end() && at->first == where; ++at)
        if (are_close(point, others[at->second], distance)) return true;
      return false;
    };
    return std::all_of(points.begin(), points.end(), [&](const Vec<3>& point) {
      Cell first, last;
      for (std::size_t k = 0; k < 3; ++k)
        first[k] = cell(k, point[k] - distance), last[k] = cell(k, point[k] + distance);
      for (std::int64_t x = first[0]; x <= last[0]; ++x)
        for (std::int64_t y = first[1]; y <= last[1]; ++y)
          for (std::int64_t z = first[2]; z <= last[2]; ++z)
            if (is_in(point, {x, y, z})) return true;
      return false;
    });
  }

  double tolerance_;
  std::vector<Vec<3>> vertices_, other_vertices_, middles_, other_middles_;
  std::vector<std::pair<std::array<std::int64_t, 3>, std::size_t>> cells_;
};

}  // namespace broadphase
