// Random histories of a Bvh: sound after every step, with the pairs of a plain search.
#include "bvh/bvh.hpp"

#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>

#include "bvh/changes.hpp"
#include "methods.hpp"
#include "tree/rank_order.hpp"

namespace broadphase::tests {
namespace {

template <class T>
PairList pairs_of_rows(const Problem<T>& problem, const Bvh& bvh) {
  PairList result;
  for (const auto& pair : plain_pairs(problem))
    if (bvh.has(static_cast<std::size_t>(pair.first)) && bvh.has(static_cast<std::size_t>(pair.second)))
      result.push_back(pair);
  return result;
}

PairList without(const PairList& all, const PairList& less) {
  PairList result;
  std::set_difference(all.begin(), all.end(), less.begin(), less.end(), std::back_inserter(result));
  return result;
}

template <class T>
void check_history(std::uint64_t seed, const Kernels& kernels) {
  Random random(seed);
  SceneOptions options;
  options.dimension = 1 + random.below(4);
  options.count = 1 + random.below(150);
  options.layout = 1;
  options.cells = 1 + random.below(40);
  options.infinite = random.chance(0.2) ? 0.05 : 0;
  options.step = random.chance(0.3) ? 0.1 : 1;
  Boxes<T> boxes = lattice_boxes<T>(random, options);
  const Boxes<T> other = lattice_boxes<T>(random, options);
  Problem<T> problem;
  problem.first = boxes.view;
  problem.dimension = options.dimension;
  BlockTree tree;
  tree.blocks = Blocks(options.dimension);
  Bvh bvh(tree, static_cast<BvhQuality>(random.below(3)));
  BvhChanges<T> changes(options.dimension);
  Interrupt never;
  const Bvh::Work work{kernels, 1 + static_cast<unsigned>(random.below(2)), never};
  PairList before;
  for (std::size_t step = 0; step < 20; ++step) {
    current_case() =
        describe(problem) + ", " + kernels.level + ", seed " + std::to_string(seed) + ", step " + std::to_string(step);
    const std::size_t action = random.below(4);
    const double share = random.chance(0.5) ? 0.03 : 0.5;
    std::vector<std::int32_t> rows;
    for (std::size_t row = 0; row < options.count; ++row)
      if (random.chance(share) && bvh.has(row) == (action > 0)) rows.push_back(static_cast<std::int32_t>(row));
    // A row that was removed and inserted again is another one: changes() in between keeps the two apart.
    if (action == 1) {
      changes.mark(rows.data(), rows.size(), options.count, true);
      bvh.remove(rows.data(), rows.size());
    } else {
      changes.mark(rows.data(), rows.size(), options.count, false);
      if (action == 0) bvh.insert(boxes.view, rows.data(), rows.size(), work);
      for (std::size_t at = 0; action > 1 && at < rows.size(); ++at)
        for (std::size_t k = 0; k < options.dimension; ++k) {
          const std::size_t to = static_cast<std::size_t>(rows[at]) * options.dimension + k;
          const std::size_t from = random.below(options.count) * options.dimension + k;
          boxes.numbers[to] = other.view.lower[from];
          boxes.numbers[options.count * options.dimension + to] = other.view.upper[from];
        }
      if (action > 1) bvh.update(boxes.view, rows.data(), rows.size(), work);
    }
    if (random.chance(0.2)) bvh.optimize(never);
    std::vector<std::int32_t> living;
    for (std::size_t row = 0; row < options.count; ++row)
      if (bvh.has(row)) living.push_back(static_cast<std::int32_t>(row));
    const std::string wrong = bvh.validate({boxes.view, options.dimension}, living.data(), living.size());
    if (!wrong.empty()) current_case() += ": " + wrong;
    CHECK(wrong.empty());
    const PairList now = pairs_of_rows(problem, bvh);
    const KeepOverlaps<T> keep{problem, tree.frame.exact};
    CHECK(pairs_of(TreePairs<KeepOverlaps<T>>(tree, keep, kernels), nullptr, work.workers) == now);
    // What has been found is found again until it is kept.
    for (int time = 0; time < 2; ++time) {
      const PairChanges found = changes.find(bvh, tree, boxes.view, true, work);
      CHECK(in_order(found.enter) == without(now, before));
      CHECK(in_order(found.exit) == without(before, now));
    }
    changes.keep(bvh, boxes.view);
    before = now;
  }
}

// Rows that are inserted one by one while pairs are watched: what is kept for each row grows in proportion, not a row
// at a time.
void check_growth() {
  current_case() = "inserts one by one";
  constexpr std::size_t kCount = 20000;
  BlockTree tree;
  tree.blocks = Blocks(3);
  const Bvh bvh(tree);
  BvhChanges<double> changes(3);
  Interrupt never;
  std::size_t levels = 0;
  const Bvh::Work work{*available_kernels(levels)[0], 1, never};
  changes.find(bvh, tree, {}, true, work);
  changes.keep(bvh, {});
  std::size_t bytes = changes.bytes(), times = 0;
  for (std::size_t row = 0; row < kCount; ++row) {
    const auto number = static_cast<std::int32_t>(row);
    changes.mark(&number, 1, row + 1, false);
    times += changes.bytes() != bytes;
    bytes = changes.bytes();
  }
  CHECK(times < 100);
}

// An insert of a row that is there, and an update or a remove of one that is not: refused, and nothing has changed.
void check_wrong_rows() {
  current_case() = "wrong rows";
  Random random(7);
  SceneOptions options;
  options.dimension = 2;
  options.count = 100;
  const Boxes<float> boxes = lattice_boxes<float>(random, options);
  BlockTree tree;
  tree.blocks = Blocks(2);
  Bvh bvh(tree);
  Interrupt never;
  std::size_t levels = 0;
  const Bvh::Work work{*available_kernels(levels)[0], 1, never};
  std::vector<std::int32_t> rows(60);
  std::iota(rows.begin(), rows.end(), 0);
  bvh.build(boxes.view, rows.data(), rows.size(), work);
  const std::vector<std::int32_t> some_there = {61, 5}, some_missing = {5, 61}, beyond = {100}, negative = {-1};
  const std::vector<std::int32_t> twice = {70, 71, 70};
  const auto check = [&] { CHECK(bvh.validate({boxes.view, options.dimension}, rows.data(), rows.size()).empty()); };
  CHECK(is_refused([&] { bvh.insert(boxes.view, some_there.data(), 2, work); }));
  check();
  CHECK(is_refused([&] { bvh.insert(boxes.view, twice.data(), 3, work); }));
  check();
  CHECK(is_refused([&] { bvh.update(boxes.view, some_missing.data(), 2, work); }));
  check();
  CHECK(is_refused([&] { bvh.remove(some_missing.data(), 2); }));
  check();
  CHECK(bvh.has(59) && !bvh.has(bvh.limit()));
  rows[59] = 60;
  CHECK(bvh.validate({boxes.view, options.dimension}, rows.data(), rows.size()) == "row 60 is missing");
  rows[59] = 59;
  for (const std::vector<std::int32_t>& wrong : {beyond, negative}) {
    CHECK(is_refused([&] { bvh.insert(boxes.view, wrong.data(), 1, work); }));
    CHECK(is_refused([&] { bvh.update(boxes.view, wrong.data(), 1, work); }));
    CHECK(is_refused([&] { bvh.remove(wrong.data(), 1); }));
    check();
  }
}

// Where boxes are ranked on several threads, the calling thread alone asks whether it is to stop: Python, which is
// asked, allows no other.
std::atomic<std::thread::id> calling_thread;
std::atomic<bool> asked_elsewhere{false};

void check_who_asks() {
  constexpr std::size_t kMany = 20000, kTimes = 10;
  current_case() = "who asks whether to stop";
  calling_thread = std::this_thread::get_id();
  std::vector<float> lower(3 * kMany), upper(3 * kMany);
  Random random(1);
  for (std::size_t k = 0; k < lower.size(); ++k) upper[k] = (lower[k] = static_cast<float>(random.uniform())) + 0.01f;
  const BoxView<float> view{lower.data(), upper.data(), 3, 3, kMany};
  std::size_t levels = 0;
  const Kernels& kernels = *available_kernels(levels)[0];
  for (std::size_t time = 0; time < kTimes; ++time) {
    Interrupt interrupt([](std::size_t, std::size_t) {
      if (std::this_thread::get_id() != calling_thread.load()) asked_elsewhere = true;
      return false;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(25));  // so that the next check asks
    RankOrder<float> order;
    order.sort(GrownBoxes<float>{view, 3, 0.0f}, nullptr, kMany, kernels, 3, interrupt);
  }
  CHECK(!asked_elsewhere);
}

}  // namespace
}  // namespace broadphase::tests

int main(int argc, char** argv) {
  using namespace broadphase::tests;
  check_growth();
  check_who_asks();
  check_wrong_rows();
  const std::size_t scenes = rounds(argc, argv, 60);
  for (std::uint64_t seed = 0; seed < scenes; ++seed)
    for_each_level([&](const broadphase::Kernels& kernels) {
      check_history<float>(seed, kernels);
      check_history<double>(seed, kernels);
    });
}
