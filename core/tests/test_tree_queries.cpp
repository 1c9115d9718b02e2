// Queries of trees of any shape against plain answers, on every level: rows beside blocks in one block, chains, lanes
// left empty, boxes of lanes larger than need be; coordinates far from the origin, huge, tiny and infinite. And queries
// of copies around the boxes of the rows.
#include "tree/queries.hpp"

#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <vector>

#include "bvh/bounds.hpp"
#include "methods.hpp"
#include "scenes.hpp"
#include "tree/tightened.hpp"

namespace broadphase::tests {
namespace {

// A tree with nothing regular about it, over `rows`.
class AnyTree {
 public:
  template <class T>
  AnyTree(Random& random, const BoxView<T>& boxes, std::size_t dimension, const std::vector<std::int32_t>& rows,
          float margin = 0)
      : random_(random) {
    tree.blocks = Blocks(dimension);
    Interrupt none;
    tree.frame = frame_of(boxes, dimension, rows.data(), rows.size(), 1, none);
    std::vector<Item> items;
    for (const std::int32_t row : rows) {
      Item item{{}, row, true};
      local_box(tree.frame, boxes, static_cast<std::size_t>(row), dimension, item.box);
      for (std::size_t k = 0; k < dimension; ++k) {
        item.box[k] -= margin;
        item.box[dimension + k] += margin;
      }
      items.push_back(item);
    }
    if (items.empty()) return;
    while (items.size() > 8 || random.chance(0.3)) items = grouped(items);
    tree.root = block_of(items.data(), items.size());
  }

  BlockTree tree;

 private:
  struct Item {
    float box[8];
    std::int32_t what;
    bool is_row;
  };

  std::vector<Item> grouped(std::vector<Item>& items) {
    std::vector<Item> result;
    for (std::size_t begin = 0; begin < items.size();) {
      if (items.size() > 12 && random_.chance(0.1)) {  // stays as it is beside blocks
        result.push_back(items[begin++]);
        continue;
      }
      const std::size_t count = std::min(items.size() - begin, 2 + random_.below(20));
      Item group = items[begin];
      for (std::size_t at = begin; at < begin + count; ++at)
        for (std::size_t k = 0; k < tree.dimension(); ++k) {
          const std::size_t upper = tree.dimension() + k;
          group.box[k] = std::min(group.box[k], items[at].box[k]);
          group.box[upper] = std::max(group.box[upper], items[at].box[upper]);
        }
      if (random_.chance(0.3))
        for (std::size_t k = 0; k < tree.dimension(); ++k) group.box[k] -= 0.25F;
      group.what = block_of(items.data() + begin, count);
      group.is_row = false;
      result.push_back(group);
      begin += count;
    }
    return result;
  }

  // Chained where there are more than eight.
  std::int32_t block_of(const Item* items, std::size_t count) {
    const std::int32_t first = tree.blocks.add();
    std::int32_t block = first;
    std::size_t lane = 0;
    for (std::size_t at = 0; at < count; ++at) {
      while (lane < kLanes && random_.chance(0.2)) ++lane;
      if (lane >= kLanes) {
        const std::int32_t more = tree.blocks.add();
        tree.blocks.next(block) = more;
        block = more;
        lane = 0;
      }
      tree.blocks.set_lane(block, lane++, items[at].box, items[at].what, items[at].is_row);
    }
    return first;
  }

  Random& random_;
};

std::size_t copies_made = 0;

struct Arguments {
  double box[8], motion[4], radius, farthest;
};

template <class T>
class Case {
 public:
  Case(Random& random, const Kernels& kernels, const SceneOptions& options)
      : random_(random), kernels_(kernels), options_(options), boxes_(lattice_boxes<T>(random, options)) {
    for (std::size_t row = 0; row < options.count; ++row) {
      if (random.chance(0.9)) rows_.push_back(static_cast<std::int32_t>(row));
      layer_.push_back(random.chance(0.5) ? ~std::uint64_t{0} : std::uint64_t{1} << random.below(3));
      mask_.push_back(random.chance(0.5) ? ~std::uint64_t{0} : std::uint64_t{1} << random.below(3));
    }
    if (random.chance(0.5)) {
      filter_ = {layer_.data(), mask_.data(), layer_.data(), mask_.data()};
    }
  }

  void check() {
    const float margin = copies() && random_.chance(0.5) ? 0.25F : 0.0F;
    AnyTree any(random_, boxes_.view, options_.dimension, rows_, margin);
    BlockTree copy;
    if constexpr (std::is_same_v<T, double>) {
      any.tree.lossy = margin > 0;
      const bool is_tight = copies() && tighten(any.tree, boxes_.view, copy);
      CHECK(!is_tight || margin > 0);
      if (is_tight) check_tight(copy, copy.root);
      copies_made += is_tight ? 1 : 0;
    }
    const AnyBoxes given(boxes_.view, options_.dimension);
    const TreeQueries queries(copy.root != kNoBlock ? copy : any.tree, given, filter_, kernels_);
    std::vector<Arguments> all;
    for (std::size_t at = 0; at < std::min<std::size_t>(options_.count, 12); ++at) {
      const Arguments arguments = random_arguments();
      all.push_back(arguments);
      check_boxes(queries, given, at, arguments);
      check_balls(queries, given, at, arguments);
      check_sweeps(queries, given, at, arguments);
      check_regions(queries, given, at);
    }
    check_together(queries, given, all);
    check_turns(queries);
  }

 private:
  bool copies() const { return std::is_same_v<T, double> && (options_.dimension == 2 || options_.dimension == 3); }
  // That the lanes below a block have boxes around those of rows, a few roundings larger, and around those lanes.
  // Returns the latter.
  LocalBounds<float> check_tight(const BlockTree& tree, std::int32_t block) {
    const std::size_t dimension = options_.dimension;
    LocalBounds<float> bounds(dimension);
    for_each_lane(tree.blocks.occupied(block), [&](std::size_t lane) {
      float box[8];
      const std::int32_t child = tree.blocks.child(block)[lane];
      tree.blocks.get_box(block, lane, box);
      bounds.add(box);
      if ((tree.blocks.rows(block) >> lane & 1) == 0) {
        const LocalBounds<float> below = check_tight(tree, child);
        CHECK(std::equal(box, box + 2 * dimension, below.box));
        return;
      }
      double given[8];
      float rounded[8];
      AnyBoxes(boxes_.view, dimension).read(static_cast<std::size_t>(child), given);
      local_box(tree.frame, boxes_.view, static_cast<std::size_t>(child), dimension, rounded);
      for (std::size_t k = 0; k < 2 * dimension; ++k) {
        const double local = tree.frame.local(given[k], k % dimension), sign = k < dimension ? -1 : 1;
        if (std::fabs(local) < 1e30) {
          const double more = sign * (static_cast<double>(box[k]) - local);
          CHECK(more >= 0 && more <= 3e-7 * std::fabs(local) + 1e-36);
        } else {
          CHECK(box[k] == rounded[k]);
        }
      }
    });
    if (tree.blocks.next(block) != kNoBlock) bounds.add(check_tight(tree, tree.blocks.next(block)).box);
    return bounds;
  }

  double coordinate() {
    const double cell = static_cast<double>(random_.below(options_.cells + 2)) - 1;
    return options_.origin + options_.step * (random_.chance(0.7) ? cell : cell + random_.uniform());
  }

  Arguments random_arguments() {
    Arguments arguments{};
    for (std::size_t k = 0; k < options_.dimension; ++k) {
      const double a = coordinate(), b = random_.chance(0.4) ? a : coordinate();
      arguments.box[k] = std::min(a, b);
      arguments.box[options_.dimension + k] = std::max(a, b);
      if (random_.chance(0.7)) arguments.motion[k] = (random_.uniform() - 0.5) * options_.step * 20;
      if (random_.chance(0.3)) arguments.motion[k] = options_.step * (random_.chance(0.5) ? 3 : -3);
      if (random_.chance(0.05)) arguments.motion[k] = 1e-40 * options_.step;
    }
    arguments.radius = random_.chance(0.5) ? options_.step * static_cast<double>(random_.below(4))
                                           : options_.step * random_.uniform() * 5;
    arguments.farthest = random_.chance(0.3) ? kNever : options_.step * random_.uniform() * 12;
    return arguments;
  }

  template <class Keep>
  std::vector<std::int32_t> plain(const AnyBoxes& given, std::size_t query, const Keep& keep) const {
    std::vector<std::int32_t> result;
    for (const std::int32_t row : rows_) {
      double box[8];
      given.read(static_cast<std::size_t>(row), box);
      if (filter_.allows(static_cast<std::size_t>(row), query) && keep(box)) result.push_back(row);
    }
    return result;
  }

  void check_boxes(const TreeQueries& queries, const AnyBoxes& given, std::size_t query, const Arguments& arguments) {
    BoxWalk walk;
    std::vector<std::int32_t> found{-7};
    queries.by_box(query, arguments.box, walk, found);
    CHECK(found[0] == -7);
    found.erase(found.begin());
    CHECK(found == plain(given, query, [&](const double* box) {
            bool meet = true;
            for (std::size_t k = 0; k < options_.dimension; ++k)
              meet = meet && arguments.box[k] <= box[options_.dimension + k] &&
                     box[k] <= arguments.box[options_.dimension + k];
            return meet;
          }));
  }

  double unit() const { return std::ldexp(1.0, -std::ilogb(options_.step)); }  // in which squares are in range
  double squared(const double* box, const Arguments& arguments) const {
    double sum = 0;
    for (std::size_t k = 0; k < options_.dimension; ++k) {
      const double below = box[k] - arguments.box[k], above = arguments.box[k] - box[options_.dimension + k];
      const double gap = (below > 0 ? below : above > 0 ? above : 0) * unit();
      sum += gap * gap;
    }
    return sum;
  }
  std::vector<std::int32_t> plain_ball(const AnyBoxes& given, std::size_t query, const Arguments& arguments,
                                       double limit) const {
    return plain(given, query, [&](const double* box) {
      return squared(box, arguments) < kNever &&
             (limit == kNever || Ball(arguments.box, limit, options_.dimension).meets_exactly(box));
    });
  }
  std::vector<KeyedRow> plain_nearest(const AnyBoxes& given, std::size_t query, const Arguments& arguments,
                                      std::size_t wanted, double limit) const {
    std::vector<KeyedRow> result;
    for (const std::int32_t row : plain_ball(given, query, arguments, limit)) {
      double box[8];
      given.read(static_cast<std::size_t>(row), box);
      result.emplace_back(squared(box, arguments), row);
    }
    std::sort(result.begin(), result.end());
    result.resize(std::min(wanted, result.size()));
    for (KeyedRow& row : result) row.first = std::sqrt(row.first) / unit();
    return result;
  }

  void check_balls(const TreeQueries& queries, const AnyBoxes& given, std::size_t query, const Arguments& arguments) {
    BallWalk walk;
    std::vector<std::int32_t> found;
    queries.by_ball(query, arguments.box, arguments.radius, walk, found);
    CHECK(found == plain_ball(given, query, arguments, arguments.radius));
    for (const double limit : {arguments.radius, kNever}) {
      const std::size_t wanted = random_.chance(0.5) ? 3 : random_.below(random_.chance(0.3) ? 400 : 40);
      Arguments place = arguments;
      if (random_.chance(0.3))
        place.box[random_.below(options_.dimension)] +=
            (random_.chance(0.5) ? 1 : -1) * options_.step * std::pow(10.0, static_cast<double>(random_.below(16)));
      std::vector<KeyedRow> nearest;
      queries.nearest(query, place.box, wanted, limit, nearest_,
                      [&](std::int32_t row, double far) { nearest.emplace_back(far, row); });
      CHECK(nearest == plain_nearest(given, query, place, wanted, limit));
    }
  }

  // Queries around points, eight at a time or fewer, in any order; some points far away.
  void check_together(const TreeQueries& queries, const AnyBoxes& given, std::vector<Arguments> arguments) {
    const std::size_t dimension = options_.dimension, count = arguments.size();
    std::vector<double> points, radii, limits;
    std::vector<std::uint32_t> order;
    for (std::size_t at = 0; at < count; ++at) {
      if (random_.chance(0.1)) arguments[at].box[0] = options_.origin + options_.step * 1e18;
      points.insert(points.end(), arguments[at].box, arguments[at].box + dimension);
      radii.push_back(arguments[at].radius);
      limits.push_back(random_.chance(0.5) ? kNever : arguments[at].radius);
      order.insert(order.begin() + static_cast<std::ptrdiff_t>(random_.below(at + 1)), static_cast<std::uint32_t>(at));
    }
    const std::size_t wanted = 1 + random_.below(NearestTogether::kMostWanted);
    const auto balls = std::make_unique<TreeQueries::BallsScratch>();
    const auto many = std::make_unique<TreeQueries::TogetherScratch>();
    for (std::size_t begin = 0; begin < count;) {
      const std::size_t number = std::min(count - begin, 1 + random_.below(kTogether));
      std::vector<std::int32_t> found;
      std::size_t before = 0, asked = begin;
      queries.by_balls(
          order.data() + begin, number, points.data(), radii.data(), *balls, found, [&](std::size_t query) {
            CHECK(query == order[asked++]);
            CHECK(std::vector<std::int32_t>(found.begin() + static_cast<std::ptrdiff_t>(before), found.end()) ==
                  plain_ball(given, query, arguments[query], radii[query]));
            before = found.size();
          });
      CHECK(asked == begin + number);
      begin += number;
    }
    if (queries.can_interleave_near(wanted)) {
      const auto in_turn = std::make_unique<TreeQueries::InterleavedNearScratch>();
      std::vector<std::vector<KeyedRow>> nearest(count);
      const auto report = [&](std::size_t query, std::size_t rank, std::int32_t row, double far) {
        CHECK(rank == nearest[query].size());
        nearest[query].emplace_back(far, row);
      };
      for (const std::uint32_t query : order)
        queries.interleave_near(boxes_.view, query, points.data() + dimension * query, wanted, limits[query], *in_turn,
                                report);
      queries.finish_near(boxes_.view, wanted, *in_turn, report);
      for (std::size_t query = 0; query < count; ++query)
        CHECK(nearest[query] == plain_nearest(given, query, arguments[query], wanted, limits[query]));
    }
    if (!queries.walks_together(wanted)) return;
    for (std::size_t begin = 0; begin < count;) {
      const std::size_t number = std::min(count - begin, 1 + random_.below(TreeQueries::TogetherScratch::kGroup));
      std::vector<std::vector<KeyedRow>> nearest(count);
      queries.nearest_together(boxes_.view, order.data() + begin, number, points.data(), wanted, limits.data(), *many,
                               [&](std::size_t query, std::size_t rank, std::int32_t row, double far) {
                                 CHECK(rank == nearest[query].size());
                                 nearest[query].emplace_back(far, row);
                               });
      for (std::size_t at = begin; at < begin + number; ++at)
        CHECK(nearest[order[at]] == plain_nearest(given, order[at], arguments[order[at]], wanted, limits[order[at]]));
      begin += number;
    }
  }

  void check_sweeps(const TreeQueries& queries, const AnyBoxes& given, std::size_t query, const Arguments& arguments) {
    const std::size_t dimension = options_.dimension;
    Sweep sweep{};
    const bool is_ray = random_.chance(0.5);
    bool moves = false;
    for (std::size_t k = 0; k < dimension; ++k) {
      sweep.box[k] = arguments.box[k];
      sweep.box[dimension + k] = is_ray ? arguments.box[k] : arguments.box[dimension + k];
      sweep.motion[k] = arguments.motion[k];
      moves = moves || arguments.motion[k] != 0;
    }
    sweep.ends = !is_ray;
    if (is_ray && !moves) return;
    const double farthest = is_ray ? arguments.farthest : 1;
    const WideNumber length = length_of<WideNumber>(sweep, dimension);
    std::vector<std::pair<WideNumber, std::int32_t>> wide;
    for (const std::int32_t row : plain(given, query, [](const double*) { return true; })) {
      double box[8];
      given.read(static_cast<std::size_t>(row), box);
      const WideNumber time = wide_touch_time(sweep, box, dimension);
      if (!time.is_infinite() && time * length <= WideNumber(farthest)) wide.emplace_back(time, row);
    }
    std::sort(wide.begin(), wide.end());
    std::vector<KeyedRow> expected, all, first;
    for (const auto& [time, row] : wide) expected.emplace_back((time * length).to_double(), row);
    TreeQueries::TouchedScratch scratch;
    queries.all_touched(query, sweep, farthest, scratch,
                        [&](std::int32_t row, double time) { all.emplace_back(time, row); });
    CHECK(all == expected);
    queries.first_touched(query, sweep, farthest, scratch.walk,
                          [&](std::int32_t row, double time) { first.emplace_back(time, row); });
    if (expected.size() > 1) expected.resize(1);
    CHECK(first == expected);
    CHECK(queries.any_touched(query, sweep, farthest, scratch.walk) == !expected.empty());
    sweeps_.push_back({query, sweep, farthest, expected});
  }

  // All sweeps so far, in any order and some of them several times: more than go on at a time.
  void check_turns(const TreeQueries& queries) {
    if (!queries.can_interleave() || sweeps_.empty()) return;
    std::vector<Swept> asked(random_.below(40));
    std::size_t queries_asked = 0;
    for (Swept& swept : asked) {
      swept = sweeps_[random_.below(sweeps_.size())];
      queries_asked = std::max(queries_asked, swept.query + 1);
    }
    if (filter_.row_layer == nullptr) {
      const auto scratch = std::make_unique<TreeQueries::FirstInterleaved>();
      std::vector<std::vector<KeyedRow>> found(asked.size());
      const auto report = [&](std::size_t at, std::int32_t row, double time) { found[at].emplace_back(time, row); };
      for (std::size_t at = 0; at < asked.size(); ++at)
        queries.interleave(at, asked[at].sweep, asked[at].farthest, *scratch, report);
      queries.finish_interleaved(*scratch, report);
      for (std::size_t at = 0; at < asked.size(); ++at) CHECK(found[at] == asked[at].first);
    }
    const auto scratch = std::make_unique<TreeQueries::AnyInterleaved>();
    std::vector<std::size_t> found(queries_asked, 0), expected(queries_asked, 0);
    const auto report = [&](std::size_t query) { ++found[query]; };
    for (const Swept& swept : asked) {
      queries.interleave(swept.query, swept.sweep, swept.farthest, *scratch, report);
      expected[swept.query] += swept.first.size();
    }
    queries.finish_interleaved(*scratch, report);
    CHECK(found == expected);
  }

  void check_regions(const TreeQueries& queries, const AnyBoxes& given, std::size_t query) {
    const std::size_t slabs = random_.below(8), dimension = options_.dimension;
    std::vector<double> axes, least, most;
    double around[8];
    for (std::size_t k = 0; k < dimension; ++k) {
      const bool bounded = random_.chance(0.7);
      const double a = coordinate(), b = coordinate();
      around[k] = bounded ? std::min(a, b) : -kNever;
      around[dimension + k] = bounded ? std::max(a, b) : kNever;
    }
    for (std::size_t slab = 0; slab < slabs; ++slab) {
      double at = 0;
      for (std::size_t k = 0; k < dimension; ++k) {
        axes.push_back(random_.chance(0.3) ? 0.0 : random_.chance(0.3) ? 1.0 : random_.uniform() * 2 - 1);
        at += axes.back() * coordinate();
      }
      least.push_back(random_.chance(0.3) ? -kNever : at);
      most.push_back(random_.chance(0.3) ? kNever : at + options_.step * random_.uniform() * 3);
    }
    const ConvexRegion region{around, axes.data(), least.data(), most.data(), slabs};
    TreeQueries::RegionScratch scratch;
    std::vector<std::int32_t> found;
    queries.by_region(query, region, scratch, found);
    CHECK(found == plain(given, query, [&](const double* box) { return meets(region, box, dimension); }));
  }

  Random& random_;
  const Kernels& kernels_;
  SceneOptions options_;
  Boxes<T> boxes_;
  std::vector<std::int32_t> rows_;
  std::vector<std::uint64_t> layer_, mask_;
  QueryFilter filter_;
  struct Swept {
    std::size_t query;
    Sweep sweep;
    double farthest;
    std::vector<KeyedRow> first;
  };
  std::vector<Swept> sweeps_;
  TreeQueries::NearestScratch nearest_;  // kept from query to query
};

template <class T>
void check_level(const Kernels& kernels, std::uint64_t seed) {
  Random random(seed);
  SceneOptions options;
  options.dimension = 1 + random.below(4);
  options.count = random.below(random.chance(0.5) ? 20 : 300);
  options.cells = 2 + random.below(20);
  options.infinite = random.chance(0.3) ? 0.1 : 0;
  const std::size_t kind = random.below(6);
  if (kind == 1) options.origin = sizeof(T) == 4 ? 1e5 : 1e13;
  if (kind == 2) options.step = sizeof(T) == 4 ? 1e-30 : 1e-150;  // squares are about the smallest and largest numbers
  if (kind == 3) options.step = sizeof(T) == 4 ? 1e30 : 1e150;
  if (kind == 4) options.step = 0.1;
  current_case() = std::string(kernels.level) + (sizeof(T) == 4 ? ", float" : ", double") + ", D " +
                   std::to_string(options.dimension) + ", kind " + std::to_string(kind) + ", seed " +
                   std::to_string(seed);
  Case<T>(random, kernels, options).check();
}

// A box that touches a slab, where half of a coordinate is rounded to 0.
void check_smallest_slab(const Kernels& kernels) {
  current_case() = std::string(kernels.level) + ", slab at the smallest numbers";
  constexpr double kSmallest = std::numeric_limits<double>::denorm_min();
  const Boxes<double> boxes({kSmallest, 2 * kSmallest}, {2 * kSmallest, 2 * kSmallest}, 2, 0);
  Random random(1);
  const AnyTree any(random, boxes.view, 2, {0});
  const AnyBoxes given(boxes.view, 2);
  const QueryFilter filter;
  const double around[] = {-1, -1, 1, 1}, axes[] = {-1, 2}, least[] = {-1}, most[] = {2 * kSmallest};
  TreeQueries::RegionScratch scratch;
  std::vector<std::int32_t> found;
  TreeQueries(any.tree, given, filter, kernels).by_region(0, {around, axes, least, most, 1}, scratch, found);
  CHECK(found.size() == 1);
}

// Kernels read a few entries of a stack and all lanes of a block at a time, also those not in use: they have been set,
// whatever the memory held before.
void check_what_kernels_read_is_set() {
  current_case() = "a walk in memory that was used before";
  alignas(BoxWalk) std::byte memory[sizeof(BoxWalk)];
  std::memset(memory, 0x55, sizeof memory);
  const BoxWalk* walk = new (memory) BoxWalk;
  for (std::size_t at = 0; at < kBlocksTogether; ++at) CHECK(walk->stack[at] == kNoBlock);

  for (const bool wide : {false, true}) {
    current_case() = wide ? "wide blocks in memory that was used before" : "blocks in memory that was used before";
    constexpr std::size_t kCount = 50;
    const double ones[6] = {1, 1, 1, 1, 1, 1};
    const float narrow_ones[6] = {1, 1, 1, 1, 1, 1};
    {
      Blocks used(3, wide);  // the next one gets its memory
      used.reserve(kCount);
      for (std::size_t k = 0; k < kCount; ++k)
        for (std::size_t block = static_cast<std::size_t>(used.add()), lane = 0; lane < kLanes; ++lane)
          if (wide)
            used.set_lane(static_cast<std::int32_t>(block), lane, ones, 7, true);
          else
            used.set_lane(static_cast<std::int32_t>(block), lane, narrow_ones, 7, true);
    }
    Blocks blocks(3, wide);
    blocks.reserve(kCount);
    for (std::size_t k = 0; k < kCount; ++k) {
      const std::int32_t block = blocks.add();
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        double box[6];
        blocks.read_box(block, lane, box);
        for (const double x : box) CHECK(x == 0);
        CHECK(blocks.child(block)[lane] == 0);
      }
    }
  }
}

}  // namespace
}  // namespace broadphase::tests

int main(int argc, char** argv) {
  using namespace broadphase;
  tests::check_what_kernels_read_is_set();
  const std::size_t rounds = tests::rounds(argc, argv, 400);
  std::size_t count = 0;
  const Kernels* const* levels = available_kernels(count);
  for (std::size_t level = 0; level < count; ++level) {
    tests::copies_made = 0;
    tests::check_smallest_slab(*levels[level]);
    for (std::uint64_t seed = 0; seed < rounds; ++seed) {
      tests::check_level<float>(*levels[level], seed);
      tests::check_level<double>(*levels[level], seed);
    }
    CHECK(rounds < 100 || tests::copies_made > rounds / 10);
  }
}
