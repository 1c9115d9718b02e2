// Every box against every other.
#pragma once

#include <cstddef>
#include <cstdint>

#include "broadphase/kernels.hpp"
#include "broadphase/method.hpp"
#include "broadphase/problem.hpp"

namespace broadphase {

template <class T>
class BruteForce {
 public:
  struct Scratch {};
  BruteForce(const Problem<T>& problem, const Kernels&, unsigned) : problem_(problem) {}
  std::size_t task_count() const { return problem_.first.count; }
  void run(std::size_t task, Scratch&, PairBuffer& out) const {
    const std::size_t n = problem_.cross ? problem_.second.count : problem_.first.count;
    for (std::size_t j = problem_.cross ? 0 : task + 1; j < n; ++j)
      if (overlaps(problem_, static_cast<std::int32_t>(task), static_cast<std::int32_t>(j)))
        out.push(static_cast<std::int32_t>(task), static_cast<std::int32_t>(j));
  }

 private:
  Problem<T> problem_;
};

}  // namespace broadphase
