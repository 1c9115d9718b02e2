// Changes of every arrangement with wrong row numbers, and with memory that runs out: each is refused, or fails, and
// leaves the arrangement as it was, or empty, or to be built again; and what follows is right.
#include "base/row_numbers.hpp"

#include <algorithm>
#include <new>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "brute_force/row_chain.hpp"
#include "bvh/bvh.hpp"
#include "failing_memory.hpp"
#include "linear_tree/index.hpp"
#include "methods.hpp"
#include "octree/index.hpp"
#include "sweep/sweep_index.hpp"

namespace broadphase::tests {
namespace {

using Rows = std::vector<std::int32_t>;
using View = BoxView<double>;
constexpr std::size_t kDimension = 2;

const Kernels& best_kernels() {
  std::size_t levels = 0;
  const Kernels* const* kernels = available_kernels(levels);
  return *kernels[levels - 1];
}

struct Tree {
  BlockTree tree;
  Interrupt never;
  Tree() { tree.blocks = Blocks(kDimension); }
};

struct BvhUnderTest : Tree {
  static constexpr const char* kName = "bvh";
  static constexpr bool kIsEmptyAfterFailure = false;
  Bvh bvh{tree, BvhQuality::balanced};
  Bvh::Work work{best_kernels(), 1, never};

  void build(const View& boxes, const Rows& rows) { bvh.build(boxes, rows.data(), rows.size(), work); }
  void insert(const View& boxes, const Rows& rows) { bvh.insert(boxes, rows.data(), rows.size(), work); }
  void update(const View& boxes, const Rows& rows) { bvh.update(boxes, rows.data(), rows.size(), work); }
  void remove(const View&, const Rows& rows) { bvh.remove(rows.data(), rows.size()); }
  std::string fault(const View& boxes, const Rows& rows) {
    return bvh.validate({boxes, tree.dimension()}, rows.data(), rows.size());
  }
};

struct ChainUnderTest : Tree {
  static constexpr const char* kName = "row chain";
  static constexpr bool kIsEmptyAfterFailure = false;
  RowChain chain{tree};

  void build(const View& boxes, const Rows& rows) { chain.build(boxes, rows.data(), rows.size()); }
  void insert(const View& boxes, const Rows& rows) { chain.insert(boxes, rows.data(), rows.size()); }
  void update(const View& boxes, const Rows& rows) { chain.update(boxes, rows.data(), rows.size()); }
  void remove(const View&, const Rows& rows) { chain.remove(rows.data(), rows.size()); }
  std::string fault(const View& boxes, const Rows& rows) {
    const char* wrong = chain.fault(boxes, rows.data(), rows.size());
    return wrong != nullptr ? wrong : "";
  }
};

struct LinearUnderTest : Tree {
  static constexpr const char* kName = "linear tree";
  static constexpr bool kIsEmptyAfterFailure = true;
  LinearIndex index{tree,
                    [] {
                      LinearOptions options;
                      options.most_depth = 10;
                      return options;
                    }(),
                    best_kernels()};

  void build(const View& boxes, const Rows& rows) { index.build(boxes, rows.data(), rows.size(), never); }
  void insert(const View& boxes, const Rows& rows) { index.insert(boxes, rows.data(), rows.size(), never); }
  void update(const View& boxes, const Rows& rows) { index.update(boxes, rows.data(), rows.size(), never); }
  void remove(const View&, const Rows& rows) { index.remove(rows.data(), rows.size()); }
  std::string fault(const View& boxes, const Rows& rows) {
    index.settle(boxes, never);
    return LinearValidation(index, tree, {boxes, tree.dimension()}, rows.data(), rows.size()).fault();
  }
};

// Changes are queued, and settled where memory is there again.
struct OctreeUnderTest : Tree {
  static constexpr const char* kName = "octree";
  static constexpr bool kIsEmptyAfterFailure = false;
  BlockTree packed{Blocks(kDimension), kNoBlock, {}};
  PendingOctree octree{tree, packed, {0, 1, 4, {}, {}}};

  void build(const View& boxes, const Rows& rows) { octree.replace(boxes.count, rows.data(), rows.size()); }
  void insert(const View& boxes, const Rows& rows) { octree.insert(boxes.count, rows.data(), rows.size()); }
  void update(const View&, const Rows& rows) { octree.update(rows.data(), rows.size()); }
  void remove(const View&, const Rows& rows) { octree.remove(rows.data(), rows.size()); }
  std::string fault(const View& boxes, const Rows& rows) {
    for (long long allowed = 0; allowed < 20; allowed += 3) {
      allow_allocations(allowed);
      try {
        octree.settle(boxes, best_kernels(), 1, never);
      } catch (const std::bad_alloc&) {
      }
      allow_allocations(-1);
    }
    octree.settle(boxes, best_kernels(), 1, never);
    return OctreeCheck(octree, {boxes, tree.dimension()}).fault(rows.data(), rows.size());
  }
};

struct SweepUnderTest : Tree {
  static constexpr const char* kName = "sweep";
  static constexpr bool kIsEmptyAfterFailure = false;
  SweepIndex<double> index{kDimension, SweepAlong::automatic, {}};

  void build(const View& boxes, const Rows& rows) { index.replace(boxes.count, rows.data(), rows.size()); }
  void insert(const View& boxes, const Rows& rows) { index.order().insert(boxes.count, rows.data(), rows.size()); }
  void update(const View&, const Rows& rows) { index.order().move(rows.data(), rows.size()); }
  void remove(const View&, const Rows& rows) { index.order().remove(rows.data(), rows.size()); }
  std::string fault(const View& boxes, const Rows& rows) {
    for (long long allowed = 0; allowed < 6; ++allowed) {
      allow_allocations(allowed);
      try {
        index.arrange(boxes, never);
      } catch (const std::bad_alloc&) {
      }
      allow_allocations(-1);
    }
    index.arrange(boxes, never);
    if (index.order().alive() != rows.size()) return "not as many rows as there should be";
    for (const std::int32_t row : rows)
      if (!index.order().is_alive(static_cast<std::size_t>(row))) return "a row is missing";
    const char* wrong = index.order().fault(boxes);
    return wrong != nullptr ? wrong : "";
  }
};

template <class Arrangement>
class History {
 public:
  explicit History(std::uint64_t seed)
      : random_(seed), options_(options_of(random_)), boxes_(lattice_boxes<double>(random_, options_)) {
    name_ = std::string(Arrangement::kName) + ", seed " + std::to_string(seed);
    for (std::size_t row = 0; row < options_.count; ++row)
      if (random_.chance(0.5)) there_.insert(static_cast<std::int32_t>(row));
    arrangement_.build(boxes_.view, rows());
    check();
  }

  void step() {
    const std::size_t action = random_.below(3);  // 0: insert, 1: update, 2: remove
    Rows some;
    const double share = random_.chance(0.5) ? 0.05 : 0.6;
    for (std::int32_t row = 0; row < static_cast<std::int32_t>(options_.count); ++row)
      if ((there_.count(row) > 0) == (action > 0) && random_.chance(share)) some.push_back(row);
    for (std::size_t k = some.size(); k > 1; --k) std::swap(some[k - 1], some[random_.below(k)]);
    refuse(action, some);
    if (action == 1) move(some);
    apply(action, some);
    if (action == 0) there_.insert(some.begin(), some.end());
    if (action == 2)
      for (const std::int32_t row : some) there_.erase(row);
    check();
  }

 private:
  static SceneOptions options_of(Random& random) {
    SceneOptions options;
    options.dimension = kDimension;
    options.count = 1 + random.below(150);
    return options;
  }
  Rows rows() const { return {there_.begin(), there_.end()}; }

  void check() {
    current_case() = name_;
    const std::string wrong = arrangement_.fault(boxes_.view, rows());
    if (!wrong.empty()) current_case() += ": " + wrong;
    CHECK(wrong.empty());
  }

  void change(std::size_t action, const Rows& some) {
    if (action == 0) arrangement_.insert(boxes_.view, some);
    if (action == 1) arrangement_.update(boxes_.view, some);
    if (action == 2) arrangement_.remove(boxes_.view, some);
  }

  // The same change with one row that is wrong, at every place and of every sort.
  void refuse(std::size_t action, const Rows& some) {
    const auto count = static_cast<std::int32_t>(options_.count);
    Rows wrong = {-1, std::numeric_limits<std::int32_t>::min(), count, count + 1000000000};
    for (std::int32_t row = 0; row < count; ++row)
      if ((there_.count(row) > 0) == (action == 0)) wrong.push_back(row);
    if (action != 1 && !some.empty()) wrong.push_back(some.front());
    if (wrong.size() > 8) std::swap(wrong[7], wrong.back()), wrong.resize(8);
    for (const std::int32_t row : wrong) {
      Rows given = some;
      given.insert(given.begin() + static_cast<std::ptrdiff_t>(random_.below(some.size() + 1)), row);
      bool refused = false;
      try {
        change(action, given);
      } catch (const std::invalid_argument& error) {
        refused = std::string(error.what()).find("row " + std::to_string(row) + " ") == 0;
      }
      current_case() = name_ + ", row " + std::to_string(row);
      CHECK(refused);
      check();
    }
  }

  void move(const Rows& some) {
    const Boxes<double> fresh = lattice_boxes<double>(random_, options_);
    for (const std::int32_t row : some) {
      const auto at = static_cast<std::size_t>(row);
      std::copy_n(fresh.view.lower_of(at), kDimension, const_cast<double*>(boxes_.view.lower_of(at)));
      std::copy_n(fresh.view.upper_of(at), kDimension, const_cast<double*>(boxes_.view.upper_of(at)));
    }
  }

  // With 0, 1, 2, ... allocations, until it succeeds.
  void apply(std::size_t action, const Rows& some) {
    for (long long allowed = 0;; ++allowed) {
      allow_allocations(allowed);
      bool failed = false;
      try {
        change(action, some);
      } catch (const std::bad_alloc&) {
        failed = true;
      }
      allow_allocations(-1);
      if (!failed) return;
      current_case() = name_ + ", allocations " + std::to_string(allowed);
      if (Arrangement::kIsEmptyAfterFailure) {
        CHECK(arrangement_.fault(boxes_.view, {}).empty());
        for (const std::int32_t row : there_) {
          bool refused = false;
          try {
            arrangement_.remove(boxes_.view, {row});
          } catch (const std::invalid_argument&) {
            refused = true;
          }
          CHECK(refused);
        }
        arrangement_.build(boxes_.view, rows());
      }
      // Rows that move may be where they were.
      if (action != 1 || Arrangement::kIsEmptyAfterFailure) check();
    }
  }

  Random random_;
  SceneOptions options_;
  Boxes<double> boxes_;
  std::string name_;
  std::set<std::int32_t> there_;
  Arrangement arrangement_;
};

template <class Arrangement>
void check_histories(std::size_t histories) {
  for (std::uint64_t seed = 0; seed < histories; ++seed) {
    History<Arrangement> history(seed);
    for (int k = 0; k < 12; ++k) history.step();
  }
}

}  // namespace
}  // namespace broadphase::tests

int main(int argc, char** argv) {
  using namespace broadphase::tests;
  const std::size_t histories = rounds(argc, argv, 8);
  check_histories<BvhUnderTest>(histories);
  check_histories<ChainUnderTest>(histories);
  check_histories<LinearUnderTest>(histories);
  check_histories<OctreeUnderTest>(histories);
  check_histories<SweepUnderTest>(histories);
}
