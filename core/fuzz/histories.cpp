// Histories of every index over the same boxes: rows that are added, moved and removed. After each step all indexes are
// sound, have the pairs of a double loop, and answer queries as a loop over the boxes does.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bvh/bvh.hpp"
#include "bvh/changes.hpp"
#include "fuzz/scene_bytes.hpp"
#include "linear_tree/index.hpp"
#include "linear_tree/pairs.hpp"
#include "octree/index.hpp"
#include "octree/pairs.hpp"
#include "query/collect.hpp"
#include "sweep/sweep_index.hpp"
#include "tests/methods.hpp"
#include "tree/queries.hpp"

namespace broadphase::fuzz {
namespace {

using tests::current_case;
using tests::in_order;
using tests::is_refused;
using tests::PairList;

template <Method M>
PairList pairs_of(const M& method, Interrupt& never) {
  return in_order(collect_pairs(method, nullptr, 1, kNoLimit, never));
}
PairList without(const PairList& all, const PairList& less) {
  PairList result;
  std::set_difference(all.begin(), all.end(), less.begin(), less.end(), std::back_inserter(result));
  return result;
}

template <class T>
class History {
 public:
  explicit History(Random& random)
      : random_(random),
        dimension_(1 + random.below(4)),
        coordinates_(random, random.below(3) != 0),
        slots_(1 + some(random) % 400),
        alive_(slots_, 0),
        bvh_tree_{Blocks(dimension_), kNoBlock, {}},
        linear_tree_{Blocks(dimension_), kNoBlock, {}},
        octree_tree_{Blocks(dimension_), kNoBlock, {}},
        packed_{Blocks(dimension_), kNoBlock, {}},
        bvh_(bvh_tree_, static_cast<BvhQuality>(random.below(3))),
        changes_(dimension_),
        linear_(linear_tree_, linear_options(), level()),
        octree_(octree_tree_, packed_, octree_options()),
        sweep_(dimension_, static_cast<SweepAlong>(random.below(2)), {static_cast<int>(random.below(dimension_)), {}}) {
    corners_.resize(2 * slots_ * dimension_);
    octree_.replace(0, nullptr, 0);
    sweep_.replace(0, nullptr, 0);
    linear_.build(view(), nullptr, 0, never_);
  }

  void run() {
    for (std::size_t step = 0; step < 12 && random_.has_bytes(); ++step) {
      change();
      current_case() = std::string(sizeof(T) == 4 ? "float" : "double") + ", D " + std::to_string(dimension_) + ", " +
                       std::to_string(rows().size()) + " boxes, step " + std::to_string(step);
      compare();
      refuse();
    }
  }

 private:
  const Kernels& level() {
    std::size_t count = 0;
    const Kernels* const* kernels = available_kernels(count);
    kernels_ = kernels[random_.below(count)];
    return *kernels_;
  }
  LinearOptions linear_options() {
    LinearOptions options;
    options.flat = random_.chance(0.5);
    options.fixed = random_.chance(0.5);
    options.depth = random_.below(6);
    return options;
  }
  OctreeOptions octree_options() {
    OctreeOptions options;
    options.minimum = random_.chance(0.5) ? 0 : 0.5;
    options.looseness = random_.chance(0.3) ? 1 : random_.chance(0.5) ? 1.5 : 2;
    options.capacity = 1 + random_.below(32);
    return options;
  }
  BoxView<T> view() const {
    const auto stride = static_cast<std::ptrdiff_t>(2 * dimension_);
    return {corners_.data(), corners_.data() + dimension_, stride, stride, slots_};
  }
  Bvh::Work work() { return {*kernels_, 1, never_}; }
  std::vector<std::int32_t> rows() const {
    std::vector<std::int32_t> result;
    for (std::size_t row = 0; row < slots_; ++row)
      if (alive_[row] != 0) result.push_back(static_cast<std::int32_t>(row));
    return result;
  }

  void place(std::size_t row) {
    T* lower = corners_.data() + 2 * dimension_ * row;
    for (std::size_t k = 0; k < dimension_; ++k) {
      T low = coordinates_.number(), high = random_.chance(0.5) ? low : coordinates_.number();
      coordinates_.order(low, high);
      lower[k] = low;
      lower[dimension_ + k] = high;
    }
  }
  // Some rows that are in use, or that are not, are removed, moved or added.
  void change() {
    for (std::size_t changes = 1 + random_.below(3); changes > 0; --changes) {
      const std::size_t action = random_.below(3), share = 1 + random_.below(8);
      std::vector<std::int32_t> some;
      for (std::size_t row = random_.below(share); row < slots_; row += 1 + random_.below(share))
        if ((alive_[row] != 0) == (action != 0)) some.push_back(static_cast<std::int32_t>(row));
      if (action == 1) {
        changes_.mark(some.data(), some.size(), slots_, true);
        bvh_.remove(some.data(), some.size());
        linear_.remove(some.data(), some.size());
        octree_.remove(some.data(), some.size());
        sweep_.order().remove(some.data(), some.size());
        for (const std::int32_t row : some) alive_[static_cast<std::size_t>(row)] = 0;
        continue;
      }
      for (const std::int32_t row : some) place(static_cast<std::size_t>(row));
      changes_.mark(some.data(), some.size(), slots_, false);
      if (action == 0) {
        bvh_.insert(view(), some.data(), some.size(), work());
        linear_.insert(view(), some.data(), some.size(), never_);
        octree_.insert(slots_, some.data(), some.size());
        sweep_.order().insert(slots_, some.data(), some.size());
      } else {
        bvh_.update(view(), some.data(), some.size(), work());
        linear_.update(view(), some.data(), some.size(), never_);
        octree_.update(some.data(), some.size());
        sweep_.order().move(some.data(), some.size());
      }
      for (const std::int32_t row : some) alive_[static_cast<std::size_t>(row)] = 1;
    }
    if (random_.chance(0.1)) bvh_.optimize(never_);
    octree_.settle(view(), *kernels_, 1, never_);
    if (octree_.needs_packing() || (random_.chance(0.1) && packed_.root == kNoBlock && !rows().empty()))
      octree_.pack(view(), *kernels_, never_);
  }

  PairList plain_pairs(bool touching) const {
    Problem<T> problem;
    problem.first = view();
    problem.dimension = dimension_;
    problem.touching = touching;
    PairList result;
    const std::vector<std::int32_t> living = rows();
    for (std::size_t a = 0; a < living.size(); ++a)
      for (std::size_t b = a + 1; b < living.size(); ++b)
        if (tests::plainly_overlap(problem, static_cast<std::size_t>(living[a]), static_cast<std::size_t>(living[b])))
          result.emplace_back(living[a], living[b]);
    return result;
  }

  void require(const std::string& fault, const char* of) {
    if (!fault.empty()) current_case() += std::string(", ") + of + ": " + fault;
    CHECK(fault.empty());
  }

  void compare() {
    const std::vector<std::int32_t> living = rows();
    const BoxView<T> boxes = view();
    require(bvh_.validate({boxes, dimension_}, living.data(), living.size()), "bvh");
    linear_.settle(boxes, never_);
    require(LinearValidation(linear_, linear_tree_, {boxes, dimension_}, living.data(), living.size()).fault(),
            "linear tree");
    require(OctreeCheck(octree_, {boxes, dimension_}).fault(living.data(), living.size()), "octree");
    const bool touching = random_.chance(0.75);
    const PairList expected = plain_pairs(touching);
    Problem<T> problem;
    problem.first = boxes;
    problem.dimension = dimension_;
    problem.touching = touching;
    const KeepOverlaps<T> keep{problem, touching && bvh_tree_.frame.exact};
    CHECK(pairs_of(TreePairs<KeepOverlaps<T>>(bvh_tree_, keep, *kernels_), never_) == expected);
    const LinearSource<T> source = linear_.source_of(boxes);
    const LinearWalk<T> walk(linear_.order(), linear_.nodes(), linear_.world(), source, false, touching, *kernels_, 1,
                             never_);
    CHECK(pairs_of(walk, never_) == expected);
    const CoveredLeaves<T> leaves(linear_.order(), linear_.cells(), linear_.world(), source, touching, *kernels_, 1,
                                  never_);
    CHECK(pairs_of(leaves, never_) == expected);
    const OctreePairs<T> cells(octree_, boxes, touching, OctreeKinds::of_static(nullptr), *kernels_, never_);
    CHECK(pairs_of(cells, never_) == expected);
    CHECK(in_order(sweep_.pairs(boxes, touching, nullptr, *kernels_, 1, kNoLimit, never_)) == expected);
    const char* fault = sweep_.order().fault(boxes);
    require(fault != nullptr ? fault : "", "sweep");
    if (random_.chance(0.5)) compare_changes();
    Queries of_bvh(*this, bvh_tree_), of_linear(*this, linear_tree_),
        of_octree(*this, packed_.root != kNoBlock ? packed_ : octree_tree_);
    Place places[3];
    for (Place& place : places) {
      place = any_place();
      for (Queries* queries : {&of_bvh, &of_linear, &of_octree}) queries->check(place);
    }
    for (Queries* queries : {&of_bvh, &of_linear, &of_octree}) queries->check_balls(places, 3);
  }

  // The pairs that began and ended since the last time.
  void compare_changes() {
    const PairList now = plain_pairs(true);
    const PairChanges found = changes_.find(bvh_, bvh_tree_, view(), true, work());
    // A row that was removed and added again is another one: all its pairs end and begin.
    const PairList enter = in_order(found.enter), exit = in_order(found.exit);
    PairList both;
    std::set_intersection(enter.begin(), enter.end(), exit.begin(), exit.end(), std::back_inserter(both));
    CHECK(without(enter, both) == without(now, before_));
    CHECK(without(exit, both) == without(before_, now));
    CHECK(without(both, now).empty() && without(both, before_).empty());
    changes_.keep(bvh_, view());
    before_ = now;
  }

  void refuse() {
    const auto beyond = static_cast<std::int32_t>(slots_);
    const auto row = static_cast<std::int32_t>(random_.below(slots_));
    const bool is_there = alive_[static_cast<std::size_t>(row)] != 0;
    for (const std::int32_t wrong : {beyond, -1 - row, row}) {
      const bool may_insert = wrong == row && !is_there, may_remove = wrong == row && is_there;
      if (!may_insert) {
        CHECK(is_refused([&] { bvh_.insert(view(), &wrong, 1, work()); }));
        CHECK(is_refused([&] { linear_.insert(view(), &wrong, 1, never_); }));
        CHECK(is_refused([&] { octree_.insert(slots_, &wrong, 1); }));
      }
      if (!may_remove) {
        CHECK(is_refused([&] { bvh_.remove(&wrong, 1); }));
        CHECK(is_refused([&] { bvh_.update(view(), &wrong, 1, work()); }));
        CHECK(is_refused([&] { linear_.remove(&wrong, 1); }));
        CHECK(is_refused([&] { linear_.update(view(), &wrong, 1, never_); }));
        CHECK(is_refused([&] { octree_.remove(&wrong, 1); }));
        CHECK(is_refused([&] { octree_.update(&wrong, 1); }));
      }
    }
  }

  // What a query is about: a box or a point, a radius, a motion, slabs across the box.
  struct Place {
    double box[8], motion[4], radius, farthest;
    std::size_t wanted;
    bool is_ray;
    std::size_t slabs;
    double axes[8], least[2], most[2];
  };
  Place any_place() {
    Place place{};
    bool moves = false;
    for (std::size_t k = 0; k < dimension_; ++k) {
      T low = coordinates_.finite(), high = random_.chance(0.5) ? low : coordinates_.finite();
      coordinates_.order(low, high);
      place.box[k] = static_cast<double>(low);
      place.box[dimension_ + k] = static_cast<double>(high);
      place.motion[k] = random_.chance(0.4) ? 0 : static_cast<double>(coordinates_.finite());
      moves = moves || place.motion[k] != 0;
    }
    place.radius = std::fabs(static_cast<double>(coordinates_.finite()));
    place.farthest = random_.chance(0.4) ? kNever : std::fabs(static_cast<double>(coordinates_.finite()));
    place.wanted = 1 + random_.below(20);
    place.is_ray = moves && random_.chance(0.5);
    place.slabs = random_.below(3);
    for (double& component : place.axes) component = static_cast<double>(random_.below(5)) - 2;
    for (std::size_t slab = 0; slab < place.slabs; ++slab) {
      T least = coordinates_.number(), most = coordinates_.number();
      coordinates_.order(least, most);
      place.least[slab] = static_cast<double>(least);
      place.most[slab] = static_cast<double>(most);
    }
    return place;
  }

  class Queries {
   public:
    Queries(const History& history, const BlockTree& tree)
        : history_(history),
          dimension_(history.dimension_),
          given_(history.view(), dimension_),
          queries_(tree, given_, filter_, *history.kernels_) {}

    void check(const Place& place) {
      BoxWalk box_walk;
      std::vector<std::int32_t> found;
      queries_.by_box(0, place.box, box_walk, found);
      CHECK(found == plain([&](const double* box) { return boxes_meet(place.box, box, dimension_); }));
      BallWalk ball_walk;
      found.clear();
      queries_.by_ball(0, place.box, place.radius, ball_walk, found);
      CHECK(found == in_ball(place, place.radius));
      check_nearest(place);
      check_sweep(place);
      check_region(place);
    }
    // Those of all places together, each more than once.
    void check_balls(const Place* places, std::size_t count) {
      std::vector<double> points, radii;
      std::vector<std::uint32_t> asked;
      for (std::size_t k = 0; k < count; ++k) {
        points.insert(points.end(), places[k].box, places[k].box + dimension_);
        radii.push_back(places[k].radius);
      }
      for (std::size_t k = 0; k < kTogether; ++k) asked.push_back(static_cast<std::uint32_t>(k % count));
      std::vector<std::int32_t> found;
      std::size_t before = 0;
      queries_.by_balls(
          asked.data(), asked.size(), points.data(), radii.data(), *balls_, found, [&](std::size_t query) {
            const auto begin = found.begin() + static_cast<std::ptrdiff_t>(before);
            CHECK(std::vector<std::int32_t>(begin, found.end()) == in_ball(places[query], places[query].radius));
            before = found.size();
          });
    }

   private:
    template <class Keep>
    std::vector<std::int32_t> plain(const Keep& keep) const {
      std::vector<std::int32_t> result;
      for (const std::int32_t row : history_.rows()) {
        double box[8];
        given_.read(static_cast<std::size_t>(row), box);
        if (keep(box)) result.push_back(row);
      }
      return result;
    }
    std::vector<std::int32_t> in_ball(const Place& place, double radius) const {
      return plain([&](const double* box) {
        return radius == kNever ? !is_at_infinity(box, dimension_)
                                : Ball(place.box, radius, dimension_).meets_exactly(box);
      });
    }
    void check_nearest(const Place& place) {
      std::vector<std::pair<WideNumber, std::int32_t>> wide;
      for (const std::int32_t row : in_ball(place, place.farthest)) {
        double box[8];
        given_.read(static_cast<std::size_t>(row), box);
        wide.emplace_back(squared_distance<WideNumber>(place.box, box, dimension_), row);
      }
      std::sort(wide.begin(), wide.end());
      wide.resize(std::min(wide.size(), place.wanted));
      std::vector<KeyedRow> expected, found;
      for (const auto& [squared, row] : wide) expected.emplace_back(squared.root().to_double(), row);
      queries_.nearest(0, place.box, place.wanted, place.farthest, nearest_,
                       [&](std::int32_t row, double far) { found.emplace_back(far, row); });
      CHECK(found == expected);
      if (!queries_.walks_together(place.wanted)) return;
      found.clear();
      const std::uint32_t first = 0;
      queries_.nearest_together(
          history_.view(), &first, 1, place.box, place.wanted, &place.farthest, *together_,
          [&](std::size_t, std::size_t, std::int32_t row, double far) { found.emplace_back(far, row); });
      CHECK(found == expected);
    }
    void check_sweep(const Place& place) {
      Sweep sweep{};
      for (std::size_t k = 0; k < dimension_; ++k) {
        sweep.box[k] = place.box[k];
        sweep.box[dimension_ + k] = place.is_ray ? place.box[k] : place.box[dimension_ + k];
        sweep.motion[k] = place.motion[k];
      }
      sweep.ends = !place.is_ray;
      const double farthest = place.is_ray ? place.farthest : 1;
      const WideNumber length = length_of<WideNumber>(sweep, dimension_);
      std::vector<std::pair<WideNumber, std::int32_t>> wide;
      for (const std::int32_t row : history_.rows()) {
        double box[8];
        given_.read(static_cast<std::size_t>(row), box);
        const WideNumber time = wide_touch_time(sweep, box, dimension_);
        if (!time.is_infinite() && time * length <= WideNumber(farthest)) wide.emplace_back(time, row);
      }
      std::sort(wide.begin(), wide.end());
      std::vector<KeyedRow> expected, all, first;
      for (const auto& [time, row] : wide) expected.emplace_back((time * length).to_double(), row);
      queries_.all_touched(0, sweep, farthest, touched_,
                           [&](std::int32_t row, double time) { all.emplace_back(time, row); });
      CHECK(all == expected);
      queries_.first_touched(0, sweep, farthest, touched_.walk,
                             [&](std::int32_t row, double time) { first.emplace_back(time, row); });
      if (expected.size() > 1) expected.resize(1);
      CHECK(first == expected);
      CHECK(queries_.any_touched(0, sweep, farthest, touched_.walk) == !expected.empty());
      if (!queries_.can_interleave()) return;
      first.clear();
      const auto report = [&](std::size_t, std::int32_t row, double time) { first.emplace_back(time, row); };
      queries_.interleave(0, sweep, farthest, *first_in_turn_, report);
      queries_.finish_interleaved(*first_in_turn_, report);
      CHECK(first == expected);
      bool any = false;
      const auto note = [&](std::size_t) { any = true; };
      queries_.interleave(0, sweep, farthest, *any_in_turn_, note);
      queries_.finish_interleaved(*any_in_turn_, note);
      CHECK(any == !expected.empty());
    }

    void check_region(const Place& place) {
      const ConvexRegion region{place.box, place.axes, place.least, place.most, place.slabs};
      TreeQueries::RegionScratch scratch;
      std::vector<std::int32_t> found;
      queries_.by_region(0, region, scratch, found);
      CHECK(found == plain([&](const double* box) { return meets(region, box, dimension_); }));
    }

    const History& history_;
    std::size_t dimension_;
    AnyBoxes given_;
    QueryFilter filter_;
    TreeQueries queries_;
    TreeQueries::NearestScratch nearest_;
    TreeQueries::TouchedScratch touched_;
    std::unique_ptr<TreeQueries::BallsScratch> balls_ = std::make_unique<TreeQueries::BallsScratch>();
    std::unique_ptr<TreeQueries::TogetherScratch> together_ = std::make_unique<TreeQueries::TogetherScratch>();
    std::unique_ptr<TreeQueries::FirstInterleaved> first_in_turn_ = std::make_unique<TreeQueries::FirstInterleaved>();
    std::unique_ptr<TreeQueries::AnyInterleaved> any_in_turn_ = std::make_unique<TreeQueries::AnyInterleaved>();
  };

  Random& random_;
  std::size_t dimension_;
  Coordinates<T> coordinates_;
  std::size_t slots_;
  std::vector<T> corners_;
  std::vector<std::uint8_t> alive_;
  Interrupt never_;
  const Kernels* kernels_ = nullptr;
  BlockTree bvh_tree_, linear_tree_, octree_tree_, packed_;
  Bvh bvh_;
  BvhChanges<T> changes_;
  LinearIndex linear_;
  PendingOctree octree_;
  SweepIndex<T> sweep_;
  PairList before_;
};

}  // namespace
}  // namespace broadphase::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  broadphase::tests::Random random(data, size);
  if (random.below(2) == 0)
    std::make_unique<broadphase::fuzz::History<float>>(random)->run();
  else
    std::make_unique<broadphase::fuzz::History<double>>(random)->run();
  return 0;
}
