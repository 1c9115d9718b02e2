// Every allocation of a call fails in turn: bad_alloc comes out, nothing leaks, and the next call gives the answer.
#include <bit>
#include <new>
#include <numeric>
#include <optional>

#include "bvh/changes.hpp"
#include "failing_memory.hpp"
#include "methods.hpp"
#include "query/ragged.hpp"
#include "shapes/store.hpp"
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
  Interrupt never;
  const Preparation with{*kernels[levels - 1], workers, never};
  for (const NamedMethod& of : kMethods) {
    current_case() = std::string(of.name) + ", " + describe(problem) + ", workers " + std::to_string(workers);
    PairList found;
    const std::size_t failures = fail_each_allocation([&] { found = pairs_by(of.method, problem, with); });
    CHECK(failures > 0);
    CHECK(found == expected);
    std::uint64_t counted = 0;
    fail_each_allocation([&] { counted = count_pairs(of.method, problem, with); });
    CHECK(counted == expected.size());
  }
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
  current_case() = "queries of rows, workers " + std::to_string(workers);
  Interrupt never;
  const auto answer = [&] {
    const SortedIntervals<double> sorted(boxes.view, 2, true, 0.0, SweepDirection{}, never);
    const Interference<double> index(sorted, kernels);
    return collect_ragged<Scratch>(300, 300, workers, never,
                                   [&](std::size_t k, Scratch& s, auto& rows) { index.query_position(k, s, rows); });
  };
  const RaggedBlocks expected = answer();
  RaggedBlocks found;
  CHECK(fail_each_allocation([&] { found = answer(); }) > 0);
  const auto are_equal = [](const auto& a, const auto& b) {
    return std::equal(a.get(), a.get() + a.size(), b.get(), b.get() + b.size());
  };
  CHECK(are_equal(found.rows, expected.rows) && are_equal(found.offsets, expected.offsets));
}

// All that a tree of blocks consists of, to be compared.
struct TreeState {
  std::int32_t root;
  bool exact;
  double scale, origin[4];
  std::size_t count;
  std::vector<std::int32_t> words;

  explicit TreeState(const BlockTree& tree)
      : root(tree.root), exact(tree.frame.exact), scale(tree.frame.scale), count(tree.blocks.count()) {
    std::copy_n(tree.frame.origin, 4, origin);
    for (std::int32_t block = 0; block < static_cast<std::int32_t>(tree.blocks.limit()); ++block) {
      words.push_back(tree.blocks.occupied(block));
      words.push_back(tree.blocks.rows(block));
      words.push_back(tree.blocks.next(block));
      words.push_back(tree.blocks.parent(block));
      for (std::size_t lane = 0; lane < kLanes; ++lane)
        if ((tree.blocks.occupied(block) >> lane & 1) != 0) {
          float box[8] = {};
          tree.blocks.get_box(block, lane, box);
          words.push_back(tree.blocks.child(block)[lane]);
          for (const float x : box) words.push_back(std::bit_cast<std::int32_t>(x));
        }
    }
  }
  bool operator==(const TreeState& other) const {
    return root == other.root && exact == other.exact && scale == other.scale &&
           std::equal(origin, origin + 4, other.origin) && count == other.count && words == other.words;
  }
};

// Every allocation of a change to a Bvh fails in turn: a build leaves the tree as it was, an insert leaves none of its
// rows in it, and whatever fails, the tree is sound.
void check_bvh(BvhQuality quality, unsigned workers) {
  current_case() = "bvh, quality " + std::to_string(static_cast<int>(quality)) + ", workers " + std::to_string(workers);
  Random random(11);
  SceneOptions options;
  options.dimension = 3;
  options.count = 1000;
  const Boxes<double> boxes = lattice_boxes<double>(random, options);
  std::size_t levels = 0;
  const Kernels& kernels = *available_kernels(levels)[levels - 1];
  Interrupt never;
  const Bvh::Work work{kernels, workers, never};
  std::vector<std::int32_t> all(options.count);
  std::iota(all.begin(), all.end(), 0);
  const std::vector<std::int32_t> first(all.begin(), all.begin() + 400), some(all.begin() + 400, all.begin() + 450),
      many(all.begin() + 400, all.end());
  std::optional<BlockTree> tree;
  std::optional<Bvh> bvh;
  const auto start = [&] {
    bvh.reset();
    tree.emplace();
    tree->blocks = Blocks(3);
    bvh.emplace(*tree, quality);
    bvh->build(boxes.view, first.data(), first.size(), work);
  };
  const auto check = [&](const std::vector<std::int32_t>& rows) {
    const std::string wrong = bvh->validate({boxes.view, options.dimension}, rows.data(), rows.size());
    if (!wrong.empty()) current_case() += ": " + wrong;
    CHECK(wrong.empty());
  };
  const auto fails = [&](long long allowed, const auto& change) {
    allow_allocations(allowed);
    bool failed = false;
    try {
      change();
    } catch (const std::bad_alloc&) {
      failed = true;
    }
    allow_allocations(-1);
    return failed;
  };
  long long allowed = 0;
  start();
  for (;; ++allowed) {
    const TreeState before(*tree);
    if (!fails(allowed, [&] { bvh->build(boxes.view, all.data(), all.size(), work); })) break;
    CHECK(TreeState(*tree) == before);
    check(first);
  }
  CHECK(allowed > 3);
  check(all);
  for (const std::vector<std::int32_t>& added : {some, many}) {
    start();
    for (allowed = 0; fails(allowed, [&] { bvh->insert(boxes.view, added.data(), added.size(), work); }); ++allowed)
      check(first);
    CHECK(allowed > 0);
    std::vector<std::int32_t> rows = first;
    rows.insert(rows.end(), added.begin(), added.end());
    check(rows);
  }
  // Row after row, until the tree is built again on its own.
  start();
  std::vector<std::int32_t> rows = first;
  for (const std::int32_t row : many) {
    for (allowed = 0; fails(allowed, [&] { bvh->insert(boxes.view, &row, 1, work); }); ++allowed) {
      CHECK(!bvh->has(static_cast<std::size_t>(row)));
      check(rows);
    }
    rows.push_back(row);
  }
  check(all);
}

// Each allocation of a shape that is stored fails in turn: the store is as before.
void check_shape_store() {
  current_case() = "shape store";
  Random random(5);
  ShapeStore store;
  std::vector<std::vector<double>> expected;
  for (std::size_t step = 0; step < 400; ++step) {
    const std::size_t row = random.below(expected.size() + 3);
    std::vector<double> record(6 + 2 * random.below(10));
    for (double& number : record) number = random.uniform();
    auto kind = random.chance(0.3) ? ShapeKind::kBall : ShapeKind::kPolygon;
    if (kind == ShapeKind::kBall) record.resize(3);
    if (random.chance(0.2)) {
      kind = ShapeKind::kOrientedBox;
      record = {random.uniform(), random.uniform(), 1, 2, 1, 0, 0, 1};  // parallel to the axes
    }
    const auto check = [&] {
      CHECK(store.row_count() == expected.size());
      for (std::size_t k = 0; k < expected.size(); ++k) {
        CHECK(store.has(k) == !expected[k].empty());
        ShapeStore::LocalRoom room;
        if (store.has(k)) CHECK(std::equal(expected[k].begin(), expected[k].end(), store.local(k, room).begin()));
      }
    };
    for (long long allowed = 0;; ++allowed) {
      allow_allocations(allowed);
      bool failed = false;
      try {
        store.set(row, kind, record);
      } catch (const std::bad_alloc&) {
        failed = true;
      }
      allow_allocations(-1);
      if (!failed) break;
      check();
    }
    if (row >= expected.size()) expected.resize(row + 1);
    expected[row] = record;
    check();
  }
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
    for (const auto quality :
         {broadphase::BvhQuality::fast, broadphase::BvhQuality::balanced, broadphase::BvhQuality::sah})
      check_bvh(quality, workers);
  }
  check_shape_store();
}
