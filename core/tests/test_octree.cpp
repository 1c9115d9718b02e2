// Random histories of an octree: after every update all is in its place, and the pairs are those of a double loop.
#include <limits>
#include <vector>

#include "methods.hpp"
#include "octree/index.hpp"
#include "octree/pairs.hpp"

namespace broadphase::tests {
namespace {

// A store whose boxes can be given other corners; rows not alive may hold anything.
template <class T>
struct Store {
  std::size_t dimension;
  std::vector<T> corners;
  std::vector<bool> alive;

  BoxView<T> view() const {
    const auto stride = static_cast<std::ptrdiff_t>(2 * dimension);
    return {corners.data(), corners.data() + dimension, stride, stride, alive.size()};
  }
  void set(std::size_t row, Random& random, std::size_t reach) {
    for (std::size_t k = 0; k < dimension; ++k) {
      T low = static_cast<T>(random.below(reach)) - static_cast<T>(reach / 2);
      T high = low + static_cast<T>(random.below(3));
      if (random.chance(0.01)) low = -std::numeric_limits<T>::infinity();
      if (random.chance(0.01)) high = std::numeric_limits<T>::infinity();
      corners[2 * dimension * row + k] = low;
      corners[2 * dimension * row + dimension + k] = high;
    }
  }
  std::vector<std::int32_t> rows() const {
    std::vector<std::int32_t> result;
    for (std::size_t row = 0; row < alive.size(); ++row)
      if (alive[row]) result.push_back(static_cast<std::int32_t>(row));
    return result;
  }
};

template <class T>
PairList plain_pairs_of(const Store<T>& store, const std::vector<std::uint8_t>& is_static) {
  PairList result;
  const BoxView<T> boxes = store.view();
  for (std::size_t i = 0; i < boxes.count; ++i)
    for (std::size_t j = i + 1; j < boxes.count; ++j)
      if (store.alive[i] && store.alive[j] && (is_static[i] & is_static[j]) == 0 &&
          overlaps(boxes.lower_of(i), boxes.upper_of(i), boxes.lower_of(j), boxes.upper_of(j), store.dimension, true,
                   T(0)))
        result.emplace_back(static_cast<std::int32_t>(i), static_cast<std::int32_t>(j));
  return result;
}

template <class T>
void compare(const PendingOctree& octree, const Store<T>& store, Random& random) {
  const BoxView<T> boxes = store.view();
  const std::vector<std::int32_t> rows = store.rows();
  std::string fault = OctreeCheck(octree, {boxes, store.dimension}).fault(rows.data(), rows.size());
  if (fault.empty()) fault = octree.fault_of_packed({boxes, store.dimension}, rows.data(), rows.size());
  if (!fault.empty()) current_case() += ": " + fault;
  CHECK(fault.empty());
  std::vector<std::uint8_t> is_static(boxes.count);
  for (auto& each : is_static) each = random.chance(0.3);
  Filter filter;
  filter.first.is_static = filter.second.is_static = is_static.data();
  const PairList expected = plain_pairs_of(store, is_static);
  Interrupt never;
  for_each_level([&](const Kernels& kernels) {
    const OctreePairs<T> pairs(octree, boxes, true, OctreeKinds::of_static(&filter), kernels, never);
    (void)pairs.is_in_vain(never);  // runs some of them: they are still found once
    CHECK(pairs_of(pairs, &filter, 2) == expected);
  });
}

template <class T>
void try_history(std::uint64_t seed) {
  Random random(seed);
  Store<T> store{1 + random.below(4), {}, {}};
  OctreeOptions options;
  options.minimum = random.chance(0.5) ? 0 : 0.5;
  options.looseness = random.chance(0.3) ? 1 : random.chance(0.5) ? 1.5 : 2;
  options.capacity = 1 + random.below(random.chance(0.5) ? 3 : 32);
  BlockTree tree{Blocks(store.dimension), kNoBlock, {}};
  BlockTree packed{Blocks(store.dimension), kNoBlock, {}};
  PendingOctree octree(tree, packed, options);
  octree.replace(0, nullptr, 0);
  Interrupt never;
  std::size_t levels = 0;
  const Kernels& kernels = *available_kernels(levels)[0];
  for (std::size_t step = 0; step < 40; ++step) {
    current_case() = "seed " + std::to_string(seed) + ", step " + std::to_string(step);
    const std::size_t reach = random.chance(0.1) ? 1'000'000 : random.chance(0.5) ? 6 : 60;
    for (std::size_t change = random.below(20); change > 0; --change) {
      std::size_t row = random.below(store.alive.size() + 1);
      if (row == store.alive.size()) {
        store.alive.push_back(false);
        store.corners.resize(2 * store.dimension * store.alive.size());
      }
      const auto number = static_cast<std::int32_t>(row);
      if (store.alive[row] && random.chance(0.4)) {
        store.alive[row] = false;
        octree.remove(&number, 1);
      } else {
        store.set(row, random, reach);
        if (store.alive[row])
          octree.update(&number, 1);
        else
          octree.insert(store.alive.size(), &number, 1);
        store.alive[row] = true;
      }
    }
    if (random.chance(0.3)) continue;  // several changes of a row are one
    octree.settle(store.view(), kernels, 1, never);
    // Not crowded: what is packed is kept until crowds are looked for.
    if (random.chance(0.3) && !octree.is_packed()) octree.pack(store.view(), kernels, never);
    compare(octree, store, random);
    // A row that is there is not inserted, one that is not there neither moves nor is removed, and nothing changes.
    if (store.alive.empty()) continue;
    const std::size_t chosen = random.below(store.alive.size());
    const auto row = static_cast<std::int32_t>(chosen), beyond = static_cast<std::int32_t>(store.alive.size());
    CHECK(is_refused([&] { octree.insert(store.alive.size(), &beyond, 1); }));
    CHECK(is_refused([&] { octree.update(&beyond, 1); }));
    CHECK(is_refused([&] { octree.remove(&beyond, 1); }));
    if (store.alive[chosen]) {
      CHECK(is_refused([&] { octree.insert(store.alive.size(), &row, 1); }));
    } else {
      CHECK(is_refused([&] { octree.update(&row, 1); }));
      CHECK(is_refused([&] { octree.remove(&row, 1); }));
    }
    CHECK(octree.is_settled());
  }
}

// Rows come to a crowd, move and go: its packed tree is changed with them, and unpacked where the crowd is gone.
template <class T>
void try_crowd(std::uint64_t seed) {
  current_case() = "crowd of seed " + std::to_string(seed);
  Random random(seed);
  constexpr std::size_t kCount = 1200, kSpare = 20;
  Store<T> store{3, {}, std::vector<bool>(kCount + kSpare)};
  store.corners.resize(6 * (kCount + kSpare));
  const auto put = [&](std::size_t row, bool is_long) {
    store.set(row, random, 400);
    if (!is_long) return;
    store.corners[6 * row + row % 3] = -200;
    store.corners[6 * row + 3 + row % 3] = 200;
  };
  for (std::size_t row = 0; row < kCount; ++row) {
    put(row, true);
    store.alive[row] = true;
  }
  BlockTree tree{Blocks(3), kNoBlock, {}}, packed{Blocks(3), kNoBlock, {}};
  PendingOctree octree(tree, packed, {});
  octree.replace(store.alive.size(), store.rows().data(), kCount);
  Interrupt never;
  std::size_t levels = 0;
  const Kernels& kernels = *available_kernels(levels)[0];
  octree.settle(store.view(), kernels, 1, never);
  CHECK(octree.needs_packing());
  octree.pack(store.view(), kernels, never);
  std::vector<std::int32_t> come, moved, gone;
  for (std::size_t row = 0; row < kSpare; ++row) {
    come.push_back(static_cast<std::int32_t>(kCount + row));
    moved.push_back(static_cast<std::int32_t>(3 * row));
    gone.push_back(static_cast<std::int32_t>(3 * row + 1));
  }
  for (const auto* rows : {&come, &moved})
    for (const std::int32_t row : *rows) put(static_cast<std::size_t>(row), true);
  octree.update(moved.data(), kSpare);
  octree.insert(store.alive.size(), come.data(), kSpare);
  octree.remove(gone.data(), kSpare);
  for (std::size_t row = 0; row < kSpare; ++row) {
    store.alive[static_cast<std::size_t>(come[row])] = true;
    store.alive[static_cast<std::size_t>(gone[row])] = false;
  }
  octree.settle(store.view(), kernels, 1, never);
  CHECK(octree.is_packed());
  compare(octree, store, random);
  const std::vector<std::int32_t> all = store.rows();
  for (const bool is_long : {true, false}) {
    for (const std::int32_t row : all) put(static_cast<std::size_t>(row), is_long);
    octree.update(all.data(), all.size());
    octree.settle(store.view(), kernels, 1, never);
    CHECK(octree.is_packed() == is_long);
    compare(octree, store, random);
  }
}

// Branches that threads build: all is in its place, also after changes, and pairs come in the same order as by one.
template <class T>
void try_threads(std::uint64_t seed) {
  Random random(seed);
  constexpr std::size_t kCount = 40'000;
  Store<T> store{2 + seed % 2, {}, std::vector<bool>(kCount, true)};
  store.corners.resize(2 * store.dimension * kCount);
  // A sixth of them in few places, which are crowded down to the smallest cells.
  const std::size_t reach = seed < 2 ? 800 : 40'000;
  for (std::size_t row = 0; row < kCount; ++row) store.set(row, random, row % 6 == 0 ? 30 : reach);
  Interrupt never;
  std::size_t levels = 0;
  const Kernels& kernels = *available_kernels(levels)[0];
  OctreeOptions options;
  options.capacity = 4 + 4 * seed;
  std::vector<std::vector<std::int32_t>> found;
  std::vector<bool> are_crowded;
  for (const unsigned workers : {1u, 2u, 5u}) {
    current_case() = "seed " + std::to_string(seed) + ", " + std::to_string(workers) + " workers";
    BlockTree tree{Blocks(store.dimension), kNoBlock, {}}, packed{Blocks(store.dimension), kNoBlock, {}};
    PendingOctree octree(tree, packed, options);
    const std::vector<std::int32_t> rows = store.rows();
    octree.replace(kCount, rows.data(), kCount);
    Store<T> moved = store;
    for (std::size_t round = 0; round < 2; ++round) {
      octree.settle(moved.view(), kernels, workers, never);
      const std::string fault = OctreeCheck(octree, {moved.view(), store.dimension}).fault(rows.data(), kCount);
      if (!fault.empty()) current_case() += ": " + fault;
      CHECK(fault.empty());
      const OctreeKinds kinds = OctreeKinds::of_static(nullptr);
      const OctreePairs<T> pairs(octree, moved.view(), true, kinds, kernels, never);
      PairBuffer out(nullptr, false);
      typename OctreePairs<T>::Scratch scratch;
      for (std::size_t task = 0; task < pairs.task_count(); ++task) pairs.run(task, scratch, out);
      std::vector<std::int32_t> columns(out.first_column(), out.first_column() + out.size());
      columns.insert(columns.end(), out.second_column(), out.second_column() + out.size());
      if (found.size() <= round) found.push_back(columns);
      CHECK(!columns.empty() && columns == found[round]);
      if (are_crowded.size() <= round) are_crowded.push_back(octree.is_crowded());
      CHECK(octree.is_crowded() == are_crowded[round]);
      Random again(seed + 9);
      for (std::size_t row = 0; row < kCount; row += 7) moved.set(row, again, reach);
      std::vector<std::int32_t> changed;
      for (std::size_t row = 0; row < kCount; row += 7) changed.push_back(static_cast<std::int32_t>(row));
      octree.update(changed.data(), changed.size());
    }
  }
}

}  // namespace
}  // namespace broadphase::tests

int main(int argc, char** argv) {
  using namespace broadphase::tests;
  const std::size_t histories = rounds(argc, argv, 60);
  for (std::uint64_t seed = 0; seed < histories; ++seed) {
    try_history<float>(seed);
    try_history<double>(seed + 1'000'000'000);
  }
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    try_threads<float>(seed);
    try_threads<double>(seed);
  }
  for (std::uint64_t seed = 0; seed < 2; ++seed) {
    try_crowd<float>(seed);
    try_crowd<double>(seed);
  }
}
