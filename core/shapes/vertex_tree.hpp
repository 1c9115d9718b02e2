// The vertices of a hull or a mesh, for the box around them in any rotation.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace broadphase {

// Of few vertices, all are looked at. More are sorted into a tree of boxes when they are first rotated, and only parts
// that may reach farther than what was seen are searched. In microseconds per call: 0.07 of 20 vertices, 0.25 of 100,
// 0.9 of 1,000 on a sphere; of 100,000, 2 in most meshes, and 17 on a sphere, where so many reach almost as far.
class VertexTree {
 public:
  // Vertices: three finite numbers each, at least one; they must stay where they are.
  explicit VertexTree(std::span<const double> vertices) : vertices_(vertices) {}
  VertexTree(const VertexTree&) = delete;
  VertexTree& operator=(const VertexTree&) = delete;
  ~VertexTree();

  struct Extents {
    std::array<double, 3> lower, upper;
  };
  // How far the vertices reach along each coordinate axis, from the origin of their frame, whose axes are `axes[0..2]`,
  // `axes[3..5]` and `axes[6..8]`. The same numbers as if every vertex were looked at. Any number of threads may ask.
  Extents extents(const double* axes) const;

  std::size_t memory_bytes() const;

 private:
  struct Sorted;

  // Null where there are few, or no memory for it.
  const Sorted* sorted() const;

  std::span<const double> vertices_;
  mutable std::atomic<const Sorted*> sorted_{nullptr};
};

// Trees by the number of their geometry. One thread may change it while others read it, as long as none of these
// reads what is changed.
class VertexTrees {
 public:
  VertexTrees() = default;
  VertexTrees(const VertexTrees&) = delete;
  VertexTrees& operator=(const VertexTrees&) = delete;

  // Null for a number that has none.
  const VertexTree* operator[](std::size_t number) const;
  // Throws bad_alloc, and then nothing has changed. The tree must live until another one, or null, is in its place.
  void put(std::size_t number, const VertexTree* tree);

 private:
  // Chunk k holds the numbers from kFirst * (2^k - 1) on: they stay where they are when there are more.
  static constexpr std::size_t kFirst = 16, kChunks = 28;
  static_assert(kFirst * ((std::size_t{1} << kChunks) - 1) >= std::size_t{1} << 31,
                "numbers of records are below 2^31");

  std::array<std::atomic<std::atomic<const VertexTree*>*>, kChunks> chunks_{};
  std::array<std::unique_ptr<std::atomic<const VertexTree*>[]>, kChunks> owned_;
};

}  // namespace broadphase
