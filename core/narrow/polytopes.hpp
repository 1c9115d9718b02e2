// Convex hulls: computed once, queried in any pose, and the narrow phase of a hull with a hull or with a shape of
// another kind (polytopes.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "narrow/convex_hull.hpp"
#include "narrow/shape_queries.hpp"
#include "shapes/shape.hpp"

namespace broadphase {

// ---- A convex hull in its own frame: computed once, queried in any pose ----

// An edge, or for short a direction in which there are edges. A direction across the edge leads out of the core along
// it if it leads away from the two faces beside it: they lie along `first` and `second`. Zero: not known, all may.
struct PolytopeEdge {
  Vec<3> along, first, second;  // the last two are unit vectors
  Vec<3> begin;                 // a point of the edge; of no meaning where the faces are not known
};

class Polytope {
 public:
  // The hull of points, three finite numbers each. Coordinates are multiplied by a power of two, to a size of about 1.
  // Points in one plane make a hull without faces.
  explicit Polytope(std::span<const double> points);

  int exponent() const { return exponent_; }
  std::size_t corner_count() const { return x_.size(); }
  const double* x() const { return x_.data(); }
  const double* y() const { return y_.data(); }
  const double* z() const { return z_.data(); }
  Vec<3> corner(std::size_t k) const { return {x_[k], y_[k], z_[k]}; }
  std::span<const HullTriangle> triangles() const { return triangles_; }
  // One for each face, outwards, of any length: not rounded to 1, so that touching faces in round numbers do touch.
  std::span<const Vec<3>> normals() const { return normals_; }
  // How far each face is along its normal: no corner is beyond.
  std::span<const double> limits() const { return limits_; }
  std::span<const PolytopeEdge> edges() const { return edges_; }
  // The corners that are joined to one by an edge of a triangle.
  std::span<const std::int32_t> neighbours(std::size_t corner) const {
    return {neighbours_.data() + begins_[corner], begins_[corner + 1] - begins_[corner]};
  }
  // The middle of the box around it, and how far it reaches from there, or more.
  const Vec<3>& middle() const { return middle_; }
  double reach() const { return reach_; }
  // An order of hulls that are not the same.
  bool precedes(const Polytope& other) const;
  std::size_t memory_bytes() const;

  static constexpr int kMostExponent = 900;

 private:
  // Keeps the points that are corners, and numbers the triangles' corners accordingly.
  void keep_corners(const std::vector<double>& points);

  void keep_faces();
  void keep_middle();

  // A box or a prism has few directions of edges: to try these all is quicker than to look at pairs of edges.
  void join_parallel_edges();

  int exponent_ = 0;
  Vec<3> middle_{};
  double reach_ = 0;
  std::vector<double> x_, y_, z_, limits_;
  std::vector<HullTriangle> triangles_;
  std::vector<Vec<3>> normals_;
  std::vector<PolytopeEdge> edges_;
  std::vector<std::int32_t> neighbours_;
  std::vector<std::size_t> begins_;
};

// A placed shape as the queries take it: `polytope` is that of a hull, null for others.
struct Element {
  ShapeView<3> shape{};
  const Polytope* polytope = nullptr;
};

// ---- The queries on any two elements, as those on two shapes ----

bool overlaps(const Element& a, const Element& b);
double signed_distance(const Element& a, const Element& b, Vec<3>* normal);
Contact<3> contact(const Element& a, const Element& b);
double impact_time(const Element& a, const Vec<3>& motion, const Element& b, Vec<3>* normal);
double ray_hit(const Element& element, const Vec<3>& origin, const Vec<3>& direction, Vec<3>* normal);

// Where two elements are nearest that are so far apart in this direction; if they meet, a point where they do.
std::pair<Vec<3>, Vec<3>> nearest_points(const Element& a, const Element& b, double distance, const Vec<3>& normal);

}  // namespace broadphase
