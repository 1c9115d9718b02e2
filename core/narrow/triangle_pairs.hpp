// Candidate pairs of the triangles of two meshes, or of one, thinned to those that meet.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "narrow/triangle_triangle.hpp"
#include "query/method.hpp"

namespace broadphase {

// Borrowed: row v of the vertices is at 3 * v, of the faces at 3 * f.
struct MeshView {
  const double* vertices;
  const std::int32_t* faces;

  Corners corners(std::int32_t face) const {
    const std::int32_t* const of = faces + 3 * std::ptrdiff_t{face};
    return {vertices + 3 * std::ptrdiff_t{of[0]}, vertices + 3 * std::ptrdiff_t{of[1]},
            vertices + 3 * std::ptrdiff_t{of[2]}};
  }
};

// A method in the sense of `method.hpp`, whose candidates are given. Preconditions: finite vertices, rows in range.
class TrianglePairs {
 public:
  struct Scratch {};

  TrianglePairs(MeshView a, MeshView b, const std::int32_t* first, const std::int32_t* second, std::size_t count,
                bool touching)
      : a_(a), b_(b), first_(first), second_(second), count_(count), touching_(touching) {}

  std::size_t task_count() const { return (count_ + kTogether - 1) / kTogether; }

  void run(std::size_t task, Scratch&, PairBuffer& out) const {
    const std::size_t begin = task * kTogether, end = std::min(count_, begin + kTogether);
    out.room(end - begin);
    std::int32_t *const first = out.first(), *const second = out.second();
    std::size_t kept = 0;
    for (std::size_t k = begin; k < end; ++k) {
      first[kept] = first_[k];
      second[kept] = second_[k];
      kept += triangles_meet(a_.corners(first_[k]), b_.corners(second_[k]), touching_) ? 1 : 0;
    }
    out.commit(kept);
  }

 private:
  // A few milliseconds, if every sign has to be found by the exact sum.
  static constexpr std::size_t kTogether = 2048;

  MeshView a_, b_;
  const std::int32_t *first_, *second_;
  std::size_t count_;
  bool touching_;
};

}  // namespace broadphase
