// Morton numbers and keys; a kept linear tree through changes; both ways to its pairs, and the tasks they are cut into.
#include <limits>
#include <string>
#include <vector>

#include "linear_tree/index.hpp"
#include "linear_tree/pairs.hpp"
#include "methods.hpp"

namespace broadphase::tests {
namespace {

void check_numbers() {
  current_case() = "numbers";
  const std::uint64_t cell[] = {1, 2};
  CHECK(morton_number(cell, 2) == 9);
  CHECK(levels_to_common(4, 7, 2) == 1);
  CHECK(level_start(2, 2) == 5 && level_start(3, 3) == 73);
  Random random(1);
  for (std::size_t dimension = 1; dimension <= 4; ++dimension)
    for (std::size_t round = 0; round < 200; ++round) {
      std::uint64_t at[4] = {};
      for (std::size_t k = 0; k < dimension; ++k) at[k] = random.below(std::size_t{1} << 15);
      const auto back = morton_cell(morton_number(at, dimension), dimension);
      for (std::size_t k = 0; k < dimension; ++k) CHECK(back[k] == at[k]);
    }
}

// Keys order cells as a walk does: ancestors first, then all within.
void check_keys() {
  Random random(2);
  for (std::size_t dimension = 1; dimension <= 4; ++dimension) {
    current_case() = "keys, dimension " + std::to_string(dimension);
    const CellKeys keys(dimension, kMostDepth[dimension - 1]);
    CHECK(keys.bits() <= 63);
    for (std::size_t round = 0; round < 500; ++round) {
      std::uint64_t key[2];
      for (std::uint64_t& one : key) {
        const std::size_t level = random.below(keys.depth + 1);
        const std::uint64_t number = random.below(std::size_t{1} << std::min<std::size_t>(dimension * level, 40));
        one = keys.key(number << keys.shift(level), level);
        CHECK(keys.level(one) == level && keys.number(one) == number);
      }
      const std::uint64_t around = keys.common(key[0], key[1]);
      CHECK(keys.contains(around, key[0]) && keys.contains(around, key[1]));
      CHECK(around <= std::min(key[0], key[1]));
      CHECK(std::max(key[0], key[1]) < keys.behind(keys.first(around), keys.level(around)));
    }
  }
}

template <class T>
void check_history(std::uint64_t seed) {
  Random random(seed);
  SceneOptions options;
  options.dimension = 1 + random.below(4);
  options.count = 1 + random.below(300);
  options.cells = 1 + random.below(40);
  options.infinite = random.chance(0.2) ? 0.05 : 0;
  const Boxes<T> before = lattice_boxes<T>(random, options), after = lattice_boxes<T>(random, options);
  std::vector<std::int32_t> rows(options.count), some;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    rows[row] = static_cast<std::int32_t>(row);
    if (random.chance(0.1)) some.push_back(rows[row]);
  }
  current_case() = "history, seed " + std::to_string(seed);
  BlockTree tree;
  tree.blocks = Blocks(options.dimension);
  LinearOptions wanted;
  wanted.flat = random.chance(0.5);
  wanted.fixed = true;
  wanted.depth = random.below(6);
  std::size_t levels;
  LinearIndex index(tree, wanted, *available_kernels(levels)[0]);
  Interrupt never;
  const auto compare = [&](const BoxView<T>& view, const std::vector<std::int32_t>& living) {
    index.settle(view, never);
    CHECK(LinearValidation(index, tree, {view, options.dimension}, living.data(), living.size()).fault().empty());
    if (living.size() < rows.size()) return;
    Problem<T> problem;
    problem.first = view;
    problem.dimension = options.dimension;
    const PairList expected = plain_pairs(problem);
    for_each_level([&](const Kernels& kernels) {
      const LinearSource<T> source = index.source_of(view);
      const LinearWalk<T> walk(index.order(), index.nodes(), index.world(), source, false, true, kernels, 1, never);
      CHECK(pairs_of(walk, nullptr, 2) == expected);
      const CoveredLeaves<T> leaves(index.order(), index.cells(), index.world(), source, true, kernels, 1, never);
      CHECK(pairs_of(leaves, nullptr, 2) == expected);
      CHECK(count_of(leaves, nullptr, 1) == expected.size());
    });
  };
  index.build(before.view, rows.data(), rows.size(), never);
  compare(before.view, rows);
  // All boxes move, and only some are updated: those must be where they are now. First all, then without some.
  index.update(after.view, rows.data(), rows.size(), never);
  compare(after.view, rows);
  index.remove(some.data(), some.size());
  std::vector<std::int32_t> left;
  for (const std::int32_t row : rows)
    if (std::find(some.begin(), some.end(), row) == some.end()) left.push_back(row);
  compare(after.view, left);
  index.insert(after.view, some.data(), some.size(), never);
  compare(after.view, rows);
  // Neither of these may change anything.
  const auto gone = static_cast<std::int32_t>(options.count), present = rows[0];
  CHECK(is_refused([&] { index.insert(after.view, &present, 1, never); }));
  CHECK(is_refused([&] { index.insert(after.view, &gone, 1, never); }));
  CHECK(is_refused([&] { index.update(after.view, &gone, 1, never); }));
  CHECK(is_refused([&] { index.remove(&gone, 1); }));
  compare(after.view, rows);
}

// Threads make the same order, nodes and blocks as one thread, of rows that are all or some of the boxes; and runs of
// equal keys are sorted wherever they begin.
template <class T>
void check_threads(std::uint64_t seed) {
  Random random(seed);
  SceneOptions options;
  options.dimension = 2 + seed % 2;
  options.count = 50'000;
  options.cells = seed < 2 ? 30 : 3000;
  const Boxes<T> boxes = lattice_boxes<T>(random, options);
  std::vector<std::int32_t> rows;
  for (std::size_t row = 0; row < options.count; ++row)
    if (seed % 2 == 0 || random.chance(0.9)) rows.push_back(static_cast<std::int32_t>(row));
  std::size_t levels;
  const Kernels& kernels = *available_kernels(levels)[0];
  Interrupt never;
  std::vector<LinearNode> nodes;
  std::vector<std::uint32_t> items;
  std::size_t blocks = 0;
  for (const unsigned workers : {1u, 2u, 5u}) {
    current_case() = "seed " + std::to_string(seed) + ", " + std::to_string(workers) + " workers";
    BlockTree tree;
    tree.blocks = Blocks(options.dimension);
    LinearOptions wanted;
    wanted.most_depth = kMostDepth[options.dimension - 1];
    wanted.workers = workers;
    LinearIndex index(tree, wanted, kernels);
    index.build(boxes.view, rows.data(), rows.size(), never);
    const std::string fault =
        LinearValidation(index, tree, {boxes.view, options.dimension}, rows.data(), rows.size()).fault();
    if (!fault.empty()) current_case() += ": " + fault;
    CHECK(fault.empty());
    const std::int32_t last = rows.back();
    CHECK(is_refused([&] { index.insert(boxes.view, &last, 1, never); }));
    if (workers == 1) {
      for (std::size_t node = 0; node < index.nodes().count(); ++node) nodes.push_back(index.nodes()[node]);
      items.assign(index.order().item.begin(), index.order().item.end());
      blocks = tree.blocks.count();
    }
    CHECK(std::equal(items.begin(), items.end(), index.order().item.begin(), index.order().item.end()));
    CHECK(index.nodes().count() == nodes.size() && tree.blocks.count() == blocks);
    for (std::size_t node = 0; node < nodes.size(); ++node) {
      const LinearNode &a = index.nodes()[node], &b = nodes[node];
      CHECK(a.begin == b.begin && a.own_end == b.own_end && a.end == b.end && a.next == b.next && a.parent == b.parent);
    }
  }
}

// One cell with more candidates than a task may have: cut by rows, each pair once.
void check_long_tasks() {
  constexpr std::size_t kCount = 5000;
  const std::vector<float> zeros(2 * kCount, 0.0f);
  const Boxes<float> equal(zeros, zeros, 2, 0);
  Problem<float> problem;
  problem.first = equal.view;
  problem.dimension = 2;
  for_each_level([&](const Kernels& kernels) {
    current_case() = std::string("equal boxes, ") + kernels.level;
    const LinearTree<float> method(problem, {kernels, 1, never});
    CHECK(method.task_count() > 2);
    CHECK(count_of(method, nullptr, 2) == kCount * (kCount - 1) / 2);
  });
}

// Needles along one axis, all in one cell: sorted across it, each is tested against few others.
void check_needles() {
  constexpr std::size_t kCount = 20000;
  constexpr double kLength[3] = {1.0 / 4096, 1.0 / 64, 1};
  Random random(1);
  std::vector<double> lower, upper;
  for (std::size_t at = 0; at < 3 * kCount; ++at) {
    lower.push_back(random.uniform());
    upper.push_back(lower.back() + kLength[at % 3]);
  }
  const Boxes<double> needles(lower, upper, 3, 0);
  Problem<double> problem;
  problem.first = needles.view;
  problem.dimension = 3;
  for_each_level([&](const Kernels& kernels) {
    current_case() = std::string("needles, ") + kernels.level;
    const LinearTree<double> method(problem, {kernels, 1, never});
    CHECK(count_of(method, nullptr, 1) > 1000);
    CHECK(method.test_count() < 150 * kCount);
  });
}

// Whether a tree is wide follows its boxes: where floats around the middle do not tell neighbours apart, and not for
// their distance from the origin.
void check_width() {
  current_case() = "width";
  constexpr std::size_t kCount = 2000;
  std::vector<std::int32_t> rows(kCount);
  std::vector<double> spread, crowd;
  for (std::size_t row = 0; row < kCount; ++row) {
    rows[row] = static_cast<std::int32_t>(row);
    for (std::size_t k = 0; k < 2; ++k) {
      const auto at = static_cast<double>(k == 0 ? row / 40 : row % 40);
      spread.push_back(1e9 + at / 3);
      crowd.push_back(row == 0 ? -1 : row < 1000 ? 1 + at * 1e-12 : at / 50);
    }
  }
  const Boxes<double> far(spread, spread, 2, 0), near(crowd, crowd, 2, 0);
  BlockTree tree;
  tree.blocks = Blocks(2);
  std::size_t levels;
  LinearOptions options;
  options.fixed = true;
  options.depth = 5;
  LinearIndex index(tree, options, *available_kernels(levels)[0]);
  Interrupt never;
  const auto check = [&](const BoxView<double>& boxes, bool wide) {
    CHECK(tree.is_wide() == wide);
    CHECK((tree.frame.scale == 1 && tree.frame.origin[0] == 0) == wide);
    CHECK(LinearValidation(index, tree, {boxes, tree.dimension()}, rows.data(), kCount).fault().empty());
  };
  index.build(far.view, rows.data(), kCount, never);
  check(far.view, false);
  const std::size_t bytes = index.bytes();
  index.build(far.view, rows.data(), kCount, never);
  CHECK(index.bytes() == bytes);
  index.update(near.view, rows.data(), kCount, never);
  check(near.view, true);
  index.build(far.view, rows.data(), kCount, never);
  check(far.view, false);
  const std::string fault = LinearValidation(index, tree, {near.view, tree.dimension()}, rows.data(), kCount).fault();
  CHECK(fault.ends_with("is not in the smallest cell that contains it"));
}

// Boxes without a middle, in one cell with many more.
template <class T>
void check_infinite_boxes(std::size_t dimension) {
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  current_case() = "infinite boxes, dimension " + std::to_string(dimension);
  std::vector<T> lower(300 * dimension, -kInfinity), upper(300 * dimension, kInfinity);
  for (std::size_t row = 0; row < 300; row += 3)
    for (std::size_t k = 0; k < dimension; ++k) {
      lower[row * dimension + k] = static_cast<T>(row + k);
      upper[row * dimension + k] = static_cast<T>(row + k) + T(0.5);
    }
  const Boxes<T> boxes(lower, upper, dimension, 0);
  Problem<T> problem;
  problem.first = boxes.view;
  problem.dimension = dimension;
  const PairList expected = plain_pairs(problem);
  for_each_level([&](const Kernels& kernels) {
    CHECK(pairs_of(LinearTree<T>(problem, {kernels, 1, never}), nullptr, 1) == expected);
  });
}

}  // namespace
}  // namespace broadphase::tests

int main(int argc, char** argv) {
  using namespace broadphase::tests;
  const std::size_t scenes = rounds(argc, argv, 40);
  check_numbers();
  check_keys();
  check_long_tasks();
  check_needles();
  check_width();
  for (std::size_t dimension = 1; dimension <= 4; ++dimension) {
    check_infinite_boxes<float>(dimension);
    check_infinite_boxes<double>(dimension);
  }
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    check_threads<float>(seed);
    check_threads<double>(seed);
  }
  for (std::uint64_t seed = 0; seed < scenes; ++seed) {
    check_history<float>(seed);
    check_history<double>(seed);
  }
}
