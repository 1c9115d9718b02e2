// Boxes that come, go and move under a sweep that is kept: after every step its answers are those of a fresh one.
#include <chrono>
#include <cmath>
#include <new>
#include <numeric>
#include <string>
#include <thread>

#include "failing_memory.hpp"
#include "methods.hpp"
#include "sweep/sweep_and_prune.hpp"
#include "sweep/sweep_index.hpp"

namespace broadphase::tests {
namespace {

const Kernels& best_kernels() {
  std::size_t levels = 0;
  const Kernels* const* kernels = available_kernels(levels);
  return *kernels[levels - 1];
}

// A store of boxes, some of its rows alive.
template <class T>
struct Store {
  std::vector<T> lower, upper;
  std::vector<std::uint8_t> alive;
  std::size_t dimension;

  Store(std::size_t slots, std::size_t axes)
      : lower(slots * axes), upper(slots * axes), alive(slots, 0), dimension(axes) {}

  BoxView<T> view() const {
    const auto d = static_cast<std::ptrdiff_t>(dimension);
    return {lower.data(), upper.data(), d, d, alive.size()};
  }
  std::vector<std::int32_t> rows() const {
    std::vector<std::int32_t> result;
    for (std::size_t row = 0; row < alive.size(); ++row)
      if (alive[row] != 0) result.push_back(static_cast<std::int32_t>(row));
    return result;
  }
  // Whole numbers, so that many begin together.
  void place(std::size_t row, Random& random, std::size_t cells) {
    for (std::size_t k = 0; k < dimension; ++k) {
      lower[row * dimension + k] = static_cast<T>(random.below(cells));
      upper[row * dimension + k] = lower[row * dimension + k] + static_cast<T>(random.below(3));
    }
  }
  void shift(std::size_t row, Random& random, double reach) {
    for (std::size_t k = 0; k < dimension; ++k) {
      const auto by = static_cast<T>(std::round(reach * (2 * random.uniform() - 1)));
      lower[row * dimension + k] += by;
      upper[row * dimension + k] += by;
    }
  }
  PairList pairs(bool touching) const {
    Problem<T> problem;
    problem.first = view();
    problem.dimension = dimension;
    problem.touching = touching;
    PairList result;
    for (const auto& [i, j] : plain_pairs(problem))
      if (alive[static_cast<std::size_t>(i)] != 0 && alive[static_cast<std::size_t>(j)] != 0) result.emplace_back(i, j);
    return result;
  }
};

template <class T>
void check_order(const SweepIndex<T>& index, const Store<T>& store) {
  const char* fault = index.order().fault(store.view());
  if (fault != nullptr) current_case() += std::string(", ") + fault;
  CHECK(fault == nullptr);
}

template <class T>
void check_answers(SweepIndex<T>& index, const Store<T>& store, Random& random) {
  Interrupt never;
  const auto kernels = best_kernels();
  const bool touching = random.chance(0.7);
  const unsigned workers = random.chance(0.8) ? 1 : 3;
  const PairList expected = store.pairs(touching);
  if (random.chance(0.5))
    CHECK(in_order(index.pairs(store.view(), touching, nullptr, kernels, workers, kNoLimit, never)) == expected);
  CHECK(index.count(store.view(), touching, nullptr, kernels, workers, never) == expected.size());
  check_order(index, store);
  if (random.chance(0.5)) return;
  const Interference<T>& interference = index.interference(store.view(), kernels, never, true);
  const PairList touch = store.pairs(true);
  std::vector<std::uint32_t> scratch;
  for (const std::int32_t row : store.rows()) {
    std::vector<std::int32_t> found, partners;
    interference.query_position(index.order().position_of(static_cast<std::size_t>(row)), scratch, found);
    for (const auto& [i, j] : touch)
      if (i == row || j == row) partners.push_back(i == row ? j : i);
    std::sort(partners.begin(), partners.end());
    CHECK(found == partners);
  }
}

template <class T>
void check_history(std::uint64_t seed) {
  Random random(seed);
  const std::size_t slots = 1 + random.below(200), dimension = 1 + random.below(4), cells = 1 + random.below(300);
  Store<T> store(slots, dimension);
  SweepDirection given{static_cast<int>(random.below(dimension)), {}};
  const auto along = static_cast<SweepAlong>(random.below(3));
  if (along == SweepAlong::given && random.chance(0.5)) given = {-1, {0.5, -1, 0.25, 0.1}};
  SweepIndex<T> index(dimension, along, given);
  for (std::size_t row = 0; row < slots; ++row) store.place(row, random, cells);
  const double part = random.uniform();
  for (std::size_t row = 0; row < slots; ++row) store.alive[row] = random.chance(part);
  index.replace(slots, store.rows().data(), store.rows().size());
  for (int step = 0; step < 40; ++step) {
    current_case() = "history, seed " + std::to_string(seed) + ", step " + std::to_string(step);
    for (std::size_t changes = random.below(4); changes > 0; --changes) {
      const std::size_t kind = random.below(5);
      const double share = random.chance(0.3) ? 1 : random.chance(0.5) ? 0.03 : random.uniform() / 2;
      std::vector<std::int32_t> rows;
      for (std::size_t row = 0; row < slots; ++row)
        if ((store.alive[row] != 0) == (kind != 0) && random.chance(share)) rows.push_back(static_cast<int>(row));
      for (std::size_t k = rows.size(); k > 1; --k) std::swap(rows[k - 1], rows[random.below(k)]);
      for (const std::int32_t row : rows) {
        const auto slot = static_cast<std::size_t>(row);
        if (kind < 2) store.alive[slot] = kind == 0;
        if (kind == 0 || kind == 2) store.place(slot, random, cells);
        if (kind > 2) store.shift(slot, random, random.chance(0.9) ? 1.2 : 9);
      }
      if (kind == 0)
        index.order().insert(slots, rows.data(), rows.size());
      else if (kind == 1)
        index.order().remove(rows.data(), rows.size());
      else
        index.order().move(rows.data(), rows.size());
    }
    check_answers(index, store, random);
  }
}

// Many boxes, each moving a little: every kind of frame, over and over, without a single allocation besides the answer.
template <class T>
void check_memory(std::size_t kind) {
  Random random(kind);
  constexpr std::size_t kCount = 3000;
  Store<T> store(kCount, 3);
  std::vector<std::int32_t> all(kCount);
  std::iota(all.begin(), all.end(), 0);
  for (std::size_t row = 0; row < kCount; ++row) {
    store.alive[row] = 1;
    for (std::size_t k = 0; k < 3; ++k) {
      store.lower[row * 3 + k] = static_cast<T>(random.uniform() * 100);
      store.upper[row * 3 + k] = store.lower[row * 3 + k] + T(3);
    }
  }
  SweepIndex<T> index(3, SweepAlong::automatic, {});
  index.replace(kCount, all.data(), kCount);
  Interrupt never;
  const auto kernels = best_kernels();
  for (int frame = 0; frame < 200; ++frame) {
    current_case() = "memory, kind " + std::to_string(kind) + ", frame " + std::to_string(frame);
    const std::size_t first = random.below(kCount - 100), count = kind == 0 ? kCount : 80;
    const std::int32_t* rows = kind == 0 ? all.data() : all.data() + first;
    for (std::size_t k = 0; k < count; ++k)
      for (std::size_t a = 0; a < 3; ++a) {
        const auto at = static_cast<std::size_t>(rows[k]) * 3 + a;
        const T to = kind == 2 ? static_cast<T>(random.uniform() * 100)
                               : store.lower[at] + static_cast<T>(0.06 * (random.uniform() - 0.5));
        store.lower[at] = to;
        store.upper[at] = to + T(3);
      }
    if (frame > 70) allow_allocations(kind == 3 ? 1 : 0);
    if (kind == 3) {
      index.order().remove(rows, count);
      index.order().insert(kCount, rows, count);
    } else {
      index.order().move(rows, count);
    }
    if (kind == 3)
      index.pairs(store.view(), true, nullptr, kernels, 1, kNoLimit, never);
    else
      index.count(store.view(), true, nullptr, kernels, 1, never);
    index.interference(store.view(), kernels, never, true);
    allow_allocations(-1);
  }
  const SortCounts& sorts = index.order().sorts();
  CHECK(sorts.full < 5);
  CHECK(kind == 0 || sorts.nearly_sorted + sorts.merged > 195);
  check_order(index, store);
}

// After a sort that was stopped half way, the next query is right.
void check_broken_off() {
  Random random(5);
  Store<double> store(500, 2);
  for (std::size_t row = 0; row < 500; ++row) {
    store.place(row, random, 100);
    store.alive[row] = row < 400;
  }
  SweepIndex<double> index(2, SweepAlong::automatic, {});
  const auto kernels = best_kernels();
  Interrupt never;
  std::vector<std::int32_t> rows = store.rows();
  index.replace(500, rows.data(), rows.size());
  current_case() = "memory that runs out";
  for (long long allowed = 0; allowed < 60; ++allowed) {
    const auto row = static_cast<std::int32_t>(random.below(500));
    const auto slot = static_cast<std::size_t>(row);
    const bool was_alive = store.alive[slot] != 0;
    allow_allocations(allowed % 6);
    try {
      if (was_alive)
        index.order().remove(&row, 1);
      else
        index.order().insert(500, &row, 1);
      store.alive[slot] = !was_alive;
      index.count(store.view(), true, nullptr, kernels, 1, never);
    } catch (const std::bad_alloc&) {
    }
    allow_allocations(-1);
    CHECK(index.count(store.view(), true, nullptr, kernels, 1, never) == store.pairs(true).size());
    check_order(index, store);
  }
  current_case() = "a sort that is interrupted";
  static int polls = 0;
  Interrupt at_once([](std::size_t, std::size_t) { return ++polls > 0; });
  for (std::size_t k = 0; k < 500; ++k) store.shift(k, random, 3);
  rows = store.rows();
  index.order().move(rows.data(), rows.size());
  bool stopped = false;
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  try {
    index.arrange(store.view(), at_once);
  } catch (const Interrupted&) {
    stopped = true;
  }
  CHECK(stopped);
  CHECK(index.count(store.view(), true, nullptr, kernels, 1, never) == store.pairs(true).size());
  check_order(index, store);
}

// Boxes gather: first spread along one axis, then along another, then along a diagonal, in clusters that no axis parts.
void check_axis_follows() {
  constexpr std::size_t kCount = 4000;
  Random random(11);
  Store<float> store(kCount, 2);
  std::vector<std::int32_t> rows(kCount);
  std::iota(rows.begin(), rows.end(), 0);
  std::fill(store.alive.begin(), store.alive.end(), std::uint8_t{1});
  const auto put = [&](std::size_t row, double x, double y) {
    store.lower[2 * row] = static_cast<float>(x);
    store.lower[2 * row + 1] = static_cast<float>(y);
    store.upper[2 * row] = static_cast<float>(x + 0.01);
    store.upper[2 * row + 1] = static_cast<float>(y + 0.01);
  };
  SweepIndex<float> index(2, SweepAlong::automatic, {});
  Interrupt never;
  const auto kernels = best_kernels();
  const auto axis_after = [&](int frames) {
    for (int frame = 0; frame < frames; ++frame) {
      index.order().move(rows.data(), rows.size());
      index.count(store.view(), true, nullptr, kernels, 1, never);
    }
    return index.choice().direction().axis;
  };
  current_case() = "spread along axis 0";
  for (std::size_t row = 0; row < kCount; ++row) put(row, 100 * random.uniform(), random.uniform());
  index.replace(kCount, rows.data(), rows.size());
  CHECK(axis_after(1) == 0);
  Store<float> other = store;
  other.upper[15] += 1;  // along the other axis
  const char* fault = index.order().fault(other.view());
  CHECK(fault != nullptr && std::string(fault) == "a column does not hold its box");
  current_case() = "spread along axis 1: the first sweep there sees it, the next one has it";
  for (std::size_t row = 0; row < kCount; ++row) put(row, random.uniform(), 100 * random.uniform());
  axis_after(1);
  CHECK(axis_after(1) == 1);
  // Four squares of nine heaps, one behind the other along (2, 1): on either axis three heaps of a square lie over each
  // other, along that direction none do.
  current_case() = "heaps that only a direction parts";
  for (std::size_t row = 0; row < kCount; ++row) {
    const auto square = static_cast<double>(row % 4), i = static_cast<double>(row / 4 % 3);
    const auto j = static_cast<double>(row / 12 % 3) * 2 / 3;
    put(row, 20 * square + i + 0.05 * random.uniform(), 10 * square + j + 0.05 * random.uniform());
  }
  CHECK(axis_after(70) == -1);
  Problem<float> problem;
  problem.first = store.view();
  problem.dimension = 2;
  for (int axis = 0; axis < 2; ++axis)
    CHECK(2 * index.tests() < SweepAndPrune<float>(problem, {kernels, 1, never}, {axis, {}}).candidate_count());
  CHECK(index.choice().times_changed() == 2);
  CHECK(index.count(store.view(), true, nullptr, kernels, 1, never) ==
        count_pairs(MethodName::brute_force, problem, {kernels, 1, never}));
}

}  // namespace
}  // namespace broadphase::tests

int main(int argc, char** argv) {
  using namespace broadphase::tests;
  const std::size_t histories = rounds(argc, argv, 60);
  check_broken_off();
  check_axis_follows();
  for (std::size_t kind = 0; kind < 4; ++kind) {
    check_memory<float>(kind);
    check_memory<double>(kind);
  }
  for (std::uint64_t seed = 0; seed < histories; ++seed) {
    check_history<float>(seed);
    check_history<double>(seed);
  }
}
