// A tree of boxes over the triangles of a mesh, in the mesh's own frame: made once, asked wherever the mesh is.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "shapes/shape.hpp"

namespace broadphase {

struct MeshNode {
  Vec<3> centre, half;
  std::uint32_t first;  // of a leaf, in the order of the faces; else of its two children, which follow each other
  std::uint32_t count;  // of faces; 0: not a leaf
};

class MeshTree {
 public:
  // Halving goes no deeper: there are less than 2^31 faces.
  static constexpr std::size_t kMostLevels = 32;

  // Vertices: three numbers each; faces: three rows of them each, at least one face. Preconditions: rows in range,
  // finite vertices.
  MeshTree(std::span<const double> vertices, std::span<const std::int32_t> faces)
      : vertices_(vertices.begin(), vertices.end()), faces_(faces.begin(), faces.end()), order_(faces.size() / 3) {
    for (std::size_t k = 0; k < order_.size(); ++k) order_[k] = static_cast<std::int32_t>(k);
    nodes_.reserve(order_.size());
    nodes_.push_back({{}, {}, 0, static_cast<std::uint32_t>(order_.size())});
    // Children are behind their parent, so that one pass over the growing array sees to all.
    for (std::size_t at = 0; at < nodes_.size(); ++at) split(at);
  }

  const MeshNode* nodes() const { return nodes_.data(); }
  const std::int32_t* order() const { return order_.data(); }
  std::size_t face_count() const { return order_.size(); }
  const double* corner(std::int32_t face, std::size_t which) const {
    return vertices_.data() + 3 * std::ptrdiff_t{faces_[3 * static_cast<std::size_t>(face) + which]};
  }
  std::size_t memory_bytes() const {
    return vertices_.capacity() * sizeof(double) + (faces_.capacity() + order_.capacity()) * sizeof(std::int32_t) +
           nodes_.capacity() * sizeof(MeshNode);
  }

 private:
  static constexpr std::uint32_t kLeaf = 2;

  double middle(std::int32_t face, std::size_t axis) const {
    return corner(face, 0)[axis] / 3 + corner(face, 1)[axis] / 3 + corner(face, 2)[axis] / 3;
  }

  // Gives a node that holds its faces a box, and two children with half of them each if they are many.
  void split(std::size_t at) {
    const std::uint32_t first = nodes_[at].first, count = nodes_[at].count;
    const std::span<std::int32_t> faces(order_.data() + first, count);
    Vec<3> lower, upper, least, most;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      lower[axis] = upper[axis] = corner(faces[0], 0)[axis];
      least[axis] = most[axis] = middle(faces[0], axis);
    }
    for (const std::int32_t face : faces)
      for (std::size_t axis = 0; axis < 3; ++axis) {
        for (std::size_t k = 0; k < 3; ++k) {
          lower[axis] = std::min(lower[axis], corner(face, k)[axis]);
          upper[axis] = std::max(upper[axis], corner(face, k)[axis]);
        }
        least[axis] = std::min(least[axis], middle(face, axis));
        most[axis] = std::max(most[axis], middle(face, axis));
      }
    std::size_t longest = 0;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      // What rounding takes here is given back where boxes are compared.
      nodes_[at].centre[axis] = lower[axis] / 2 + upper[axis] / 2;
      nodes_[at].half[axis] = upper[axis] / 2 - lower[axis] / 2;
      if (most[axis] - least[axis] > most[longest] - least[longest]) longest = axis;
    }
    if (count <= kLeaf) return;
    const std::uint32_t left = count / 2;
    std::nth_element(faces.begin(), faces.begin() + left, faces.end(), [&](std::int32_t a, std::int32_t b) {
      const double x = middle(a, longest), y = middle(b, longest);
      return x != y ? x < y : a < b;
    });
    nodes_[at].first = static_cast<std::uint32_t>(nodes_.size());
    nodes_[at].count = 0;
    nodes_.push_back({{}, {}, first, left});
    nodes_.push_back({{}, {}, first + left, count - left});
  }

  std::vector<double> vertices_;
  std::vector<std::int32_t> faces_, order_;
  std::vector<MeshNode> nodes_;
};

}  // namespace broadphase
