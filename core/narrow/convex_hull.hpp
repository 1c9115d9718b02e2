// The convex hull of points in space, exactly: which points are its corners, and its surface as triangles.
//
// C. B. Barber, D. P. Dobkin, H. Huhdanpaa, "The Quickhull Algorithm for Convex Hulls", ACM Transactions on
// Mathematical Software 22, 1996, DOI 10.1145/235815.235821. Every side of a plane is decided by an exact sign, so
// nothing is merged or thickened as in the paper: points in the plane of a face do not see it.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "narrow/exact_sign.hpp"

namespace broadphase {

using HullTriangle = std::array<std::int32_t, 3>;

class Quickhull {
 public:
  // Points: three finite numbers each.
  explicit Quickhull(std::span<const double> points) : points_(points) {}

  // Triangles of rows of the points, counterclockwise seen from outside, without three corners on a line; faces with
  // more corners are several triangles. Empty if all points lie in one plane. Expected time O(n log n).
  std::vector<HullTriangle> triangles() {
    if (!begin()) return {};
    while (!waiting_.empty()) {
      const std::size_t face = waiting_.back();
      waiting_.pop_back();
      if (faces_[face].is_alive && !faces_[face].above.empty()) add_farthest(face);
    }
    std::vector<HullTriangle> found;
    for (const Face& face : faces_)
      if (face.is_alive) found.push_back(face.corners);
    return found;
  }

 private:
  struct Face {
    HullTriangle corners;
    std::array<std::size_t, 3> beyond;  // the face across the edge from corner k to the next
    std::vector<std::int32_t> above;    // points that see it
    bool is_alive = true, is_seen = false;
  };

  const double* at(std::int32_t row) const { return points_.data() + 3 * std::ptrdiff_t{row}; }
  std::int32_t count() const { return static_cast<std::int32_t>(points_.size() / 3); }
  // 1 if the point sees the face: it is strictly outside of its plane.
  int side(const HullTriangle& face, std::int32_t point) const {
    return orient3d(at(face[0]), at(face[1]), at(face[2]), at(point));
  }

  // Approximate: only the order of insertion depends on it.
  double height(const HullTriangle& face, std::int32_t point) const {
    const double *a = at(face[0]), *b = at(face[1]), *c = at(face[2]), *p = at(point);
    double u[3], v[3], w[3];
    for (std::size_t k = 0; k < 3; ++k) {
      u[k] = b[k] - a[k];
      v[k] = c[k] - a[k];
      w[k] = p[k] - a[k];
    }
    return w[0] * (u[1] * v[2] - u[2] * v[1]) + w[1] * (u[2] * v[0] - u[0] * v[2]) + w[2] * (u[0] * v[1] - u[1] * v[0]);
  }

  // The first tetrahedron, as large as is found quickly. False if all points lie in one plane.
  bool begin() {
    const std::int32_t total = count();
    std::int32_t a = 0, b = 0, c = 0, d = -1;
    for (std::int32_t p = 1; p < total; ++p)
      if (at(p)[0] < at(a)[0]) a = p;
    double most = 0;
    for (std::int32_t p = 0; p < total; ++p) {
      double squared = 0;
      for (std::size_t k = 0; k < 3; ++k) squared += (at(p)[k] - at(a)[k]) * (at(p)[k] - at(a)[k]);
      if (squared > most) {
        most = squared;
        b = p;
      }
    }
    most = 0;
    for (std::int32_t p = 0; p < total; ++p) {
      double squared = 0;
      for (std::size_t k = 0; k < 3; ++k) {
        const std::size_t i = (k + 1) % 3, j = (k + 2) % 3;
        const double part =
            (at(b)[i] - at(a)[i]) * (at(p)[j] - at(a)[j]) - (at(b)[j] - at(a)[j]) * (at(p)[i] - at(a)[i]);
        squared += part * part;
      }
      if (squared > most) {
        most = squared;
        c = p;
      }
    }
    most = -1;
    for (std::int32_t p = 0; p < total; ++p) {
      const double size = std::abs(height({a, b, c}, p));
      if (size > most && orient3d(at(a), at(b), at(c), at(p)) != 0) {
        most = size;
        d = p;
      }
    }
    if (d < 0) return false;
    if (side({a, b, c}, d) > 0) std::swap(b, c);
    faces_ = {
        {{a, b, c}, {3, 2, 1}, {}}, {{a, c, d}, {0, 2, 3}, {}}, {{c, b, d}, {0, 3, 1}, {}}, {{b, a, d}, {0, 1, 2}, {}}};
    for (std::size_t face = 0; face < faces_.size(); ++face) waiting_.push_back(face);
    for (std::int32_t p = 0; p < total; ++p) assign(p, 0);
    return true;
  }

  // Gives a point to a face that it sees, among those from `first` on; points that see none are inside.
  void assign(std::int32_t point, std::size_t first) {
    for (std::size_t face = first; face < faces_.size(); ++face)
      if (side(faces_[face].corners, point) > 0) {
        faces_[face].above.push_back(point);
        return;
      }
  }

  void add_farthest(std::size_t from) {
    const Face& face = faces_[from];
    std::int32_t point = face.above[0];
    double highest = height(face.corners, point);
    for (const std::int32_t other : face.above)
      if (const double up = height(face.corners, other); up > highest) {
        highest = up;
        point = other;
      }
    // The faces that the point sees are connected; around them is one closed chain of edges.
    seen_.assign(1, from);
    faces_[from].is_seen = true;
    edges_.clear();
    for (std::size_t next = 0; next < seen_.size(); ++next)
      for (std::size_t k = 0; k < 3; ++k) {
        const std::size_t beyond = faces_[seen_[next]].beyond[k];
        if (faces_[beyond].is_seen) continue;
        if (side(faces_[beyond].corners, point) > 0) {
          faces_[beyond].is_seen = true;
          seen_.push_back(beyond);
        }
      }
    const std::size_t first = faces_.size();
    for (const std::size_t seen : seen_)
      for (std::size_t k = 0; k < 3; ++k) {
        const std::size_t beyond = faces_[seen].beyond[k];
        if (faces_[beyond].is_seen) continue;
        const std::int32_t p = faces_[seen].corners[k], q = faces_[seen].corners[(k + 1) % 3];
        edges_.push_back({p, q});
        for (std::size_t j = 0; j < 3; ++j)
          if (faces_[beyond].corners[j] == q && faces_[beyond].corners[(j + 1) % 3] == p)
            faces_[beyond].beyond[j] = faces_.size();
        faces_.push_back({{p, q, point}, {beyond, 0, 0}, {}});
      }
    // The new face of an edge (p, q) has the one that begins at q after it, and the one that ends at p before it.
    starts_.clear();
    for (std::size_t k = 0; k < edges_.size(); ++k) starts_.push_back({edges_[k].first, first + k});
    std::sort(starts_.begin(), starts_.end());
    for (std::size_t k = 0; k < edges_.size(); ++k) {
      const std::size_t next =
          std::lower_bound(starts_.begin(), starts_.end(), std::pair{edges_[k].second, std::size_t{0}})->second;
      faces_[first + k].beyond[1] = next;
      faces_[next].beyond[2] = first + k;
    }
    for (const std::size_t seen : seen_) {
      faces_[seen].is_alive = false;
      const std::vector<std::int32_t> above = std::move(faces_[seen].above);
      faces_[seen].above.clear();
      for (const std::int32_t other : above)
        if (other != point) assign(other, first);
    }
    for (std::size_t face_row = first; face_row < faces_.size(); ++face_row) waiting_.push_back(face_row);
  }

  std::span<const double> points_;
  std::vector<Face> faces_;
  std::vector<std::size_t> waiting_, seen_;
  std::vector<std::pair<std::int32_t, std::int32_t>> edges_;
  std::vector<std::pair<std::int32_t, std::size_t>> starts_;
};

}  // namespace broadphase
