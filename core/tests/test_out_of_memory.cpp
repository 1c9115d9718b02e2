// Every allocation of a call fails in turn: bad_alloc comes out, nothing leaks, and the next call gives the answer.
#include <new>

#include "failing_memory.hpp"
#include "methods.hpp"
#include "query/ragged.hpp"
#include "sweep/sweep_index.hpp"

namespace broadphase::tests {
namespace {

// Calls `work` with 0, 1, 2, ... allocations allowed until it succeeds; returns how often it had to fail first.
template <class Work>
std::size_t fail_each_allocation(const Work& work) {
  for (long long allowed = 0;; ++allowed) {
    CHECK(allowed < 100000);
    allow_allocations(allowed);
    bool failed = false;
    try {
      work();
    } catch (const std::bad_alloc&) {
      failed = true;
    }
    allow_allocations(-1);
    if (!failed) return static_cast<std::size_t>(allowed);
  }
}

template <class T>
void check_methods(bool cross, bool touching, std::size_t count, std::size_t cells, unsigned workers) {
  Random random(count);
  SceneOptions options;
  options.dimension = 3;
  options.count = count;
  options.cells = cells;
  const Boxes<T> first = lattice_boxes<T>(random, options), second = lattice_boxes<T>(random, options);
  Problem<T> problem;
  problem.first = first.view;
  problem.second = second.view;
  problem.cross = cross;
  problem.touching = touching;
  const PairList expected = plain_pairs(problem);
  std::size_t levels = 0;
  const Kernels* const* kernels = available_kernels(levels);
  for_each_method<T>([&]<class M>(const char* name) {
    current_case() = std::string(name) + ", " + describe(problem) + ", workers " + std::to_string(workers);
    Pairs found;
    Interrupt never;
    const std::size_t failures = fail_each_allocation([&] {
      found.block.reset();
      const M method(problem, *kernels[levels - 1], workers);
      found = collect_pairs(method, nullptr, workers, kNoLimit, never);
    });
    CHECK(failures > 0);
    CHECK(in_order(found) == expected);
    std::uint64_t counted = 0;
    fail_each_allocation([&] {
      const M method(problem, *kernels[levels - 1], workers);
      counted = count_pairs(method, nullptr, workers, never);
    });
    CHECK(counted == expected.size());
  });
}

void check_questions(unsigned workers) {
  Random random(3);
  SceneOptions options;
  options.dimension = 2;
  options.count = 300;
  const Boxes<double> boxes = lattice_boxes<double>(random, options);
  std::size_t levels = 0;
  const Kernels& kernels = *available_kernels(levels)[0];
  using Scratch = Interference<double>::Scratch;
  current_case() = "questions about rows, workers " + std::to_string(workers);
  Interrupt never;
  const auto answer = [&] {
    const SortedIntervals<double> sorted(boxes.view, 2, true, 0.0, SweepDirection{}, never);
    const Interference<double> index(sorted, kernels);
    return collect_ragged<Scratch>(300, 300, workers, never,
                                   [&](std::size_t k, Scratch& s, auto& rows) { index.query_position(k, s, rows); });
  };
  const Ragged expected = answer();
  Ragged found;
  CHECK(fail_each_allocation([&] { found = answer(); }) > 0);
  CHECK(found.rows == expected.rows && found.offsets == expected.offsets);
}

}  // namespace
}  // namespace broadphase::tests

int main() {
  using namespace broadphase::tests;
  for (const unsigned workers : {1u, 2u, 4u}) {
    for (const bool cross : {false, true})
      for (const bool touching : {true, false}) {
        check_methods<float>(cross, touching, 300, 20, workers);
        check_methods<double>(cross, touching, 40, 4, workers);
      }
    check_methods<float>(false, true, 5000, 30, workers);
    check_questions(workers);
  }
}
