// Steps with a budget, against maps and sorted lists of pairs: the order of tests, what is tested, and what is left.
#include "world/budget.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "check.hpp"

namespace broadphase::tests {
namespace {

using Pair = std::pair<std::int32_t, std::int32_t>;

struct Columns {
  std::vector<std::int32_t> first, second;

  template <class Some>
  explicit Columns(const Some& pairs) {
    for (const Pair& pair : pairs) {
      first.push_back(pair.first);
      second.push_back(pair.second);
    }
  }
  PairColumns view() const { return {first.data(), second.data(), first.size()}; }
  Pairs copy() const {
    Pairs pairs;
    pairs.size = first.size();
    pairs.stride = std::max<std::size_t>(pairs.size, 1);
    pairs.block = allocate_pairs(pairs.stride);
    std::copy(first.begin(), first.end(), pairs.block.get());
    std::copy(second.begin(), second.end(), pairs.block.get() + pairs.stride);
    return pairs;
  }
};

std::vector<Pair> listed(const Pairs& pairs) {
  std::vector<Pair> list;
  for (std::size_t k = 0; k < pairs.size; ++k) list.emplace_back(pairs.block[k], pairs.block[pairs.stride + k]);
  return list;
}

std::vector<std::uint8_t> random_flags(Random& random, std::size_t rows, double share) {
  std::vector<std::uint8_t> flags(rows);
  for (std::uint8_t& flag : flags) flag = random.chance(share) ? 1 : 0;
  return flags;
}

bool is_flagged(const std::vector<std::uint8_t>& flags, const Pair& pair) {
  return flags[static_cast<std::size_t>(pair.first)] != 0 || flags[static_cast<std::size_t>(pair.second)] != 0;
}

// Discs and segments on a lattice, where some just touch.
struct Scene {
  ShapeStore shapes;
  std::vector<double> boxes;

  Scene(Random& random, std::size_t rows) : boxes(4 * rows) {
    for (std::size_t row = 0; row < rows; ++row) {
      if (random.chance(0.5)) {
        const std::array<double, 3> disc{0, 0, 0.5};
        shapes.set(row, ShapeKind::kBall, disc);
      } else {
        const std::array<double, 4> segment{0, 0, 1, static_cast<double>(random.below(2))};
        shapes.set(row, ShapeKind::kSegment, segment);
      }
      const std::array<double, 2> at{static_cast<double>(random.below(8)) / 2,
                                     static_cast<double>(random.below(8)) / 2};
      shapes.place<2>(row, at.data(), nullptr, boxes.data() + 4 * row, boxes.data() + 4 * row + 2);
    }
  }
  bool boxes_meet(const Pair& pair) const {
    const double *p = boxes.data() + 4 * pair.first, *q = boxes.data() + 4 * pair.second;
    return p[0] <= q[2] && q[0] <= p[2] && p[1] <= q[3] && q[1] <= p[3];
  }
  bool touch(const Pair& pair) const {
    return overlaps(shapes.placed<2>(static_cast<std::size_t>(pair.first)),
                    shapes.placed<2>(static_cast<std::size_t>(pair.second)));
  }
};

struct Wait {
  std::int64_t since;
  bool is_dropped;
};

// Pairs of changed rows that are near each other, and pairs that earlier steps have left.
void test_queue_of_step(std::uint64_t seed) {
  current_case() = "seed " + std::to_string(seed);
  Random random(seed);
  const std::size_t rows = 1 + random.below(30);
  const Scene scene(random, rows);
  const std::vector<std::uint8_t> changed = random_flags(random, rows, 0.4), renewed = random_flags(random, rows, 0.1);
  const std::int64_t number = 100000;
  const bool is_old = random.chance(0.3);  // more steps than buckets
  std::vector<Pair> candidates;
  std::map<Pair, Wait> waiting;
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(rows); ++i)
    for (std::int32_t j = i + 1; j < static_cast<std::int32_t>(rows); ++j) {
      const Pair pair{i, j};
      // The boxes of an index are larger: of other pairs some are candidates as well.
      if (is_flagged(changed, pair) && (scene.boxes_meet(pair) || random.chance(0.1))) candidates.push_back(pair);
      if (!random.chance(0.2)) continue;
      const std::size_t ago = 1 + random.below(is_old ? 90000 : 5);
      waiting[pair] = {number - static_cast<std::int64_t>(ago), random.chance(0.3)};
    }
  for (std::size_t k = candidates.size(); k > 1; --k) std::swap(candidates[k - 1], candidates[random.below(k)]);
  // Layers 0 to 2 have names and ranks, and the others none.
  Ranks ranks{nullptr, {}, 1};
  ranks.of_bit.fill(Ranks::kNoName);
  for (std::size_t layer = 0; layer < 3; ++layer) ranks.of_bit[layer] = static_cast<std::uint8_t>(2 - layer);
  std::vector<std::uint64_t> bits(rows);
  for (std::uint64_t& layers : bits) layers = random.below(16);
  ranks.bits = bits.data();
  const auto rank_of = [&](std::int32_t row) {
    int highest = -1;
    for (int layer = 0; layer < 3; ++layer)
      if ((bits[static_cast<std::size_t>(row)] >> layer & 1u) != 0) highest = std::max(highest, 2 - layer);
    return highest < 0 ? 1 : highest;
  };

  // What the step is to test: since when each waits, and whether it is idle.
  std::map<Pair, Wait> wanted;
  for (const auto& [pair, wait] : waiting)
    if (!is_flagged(changed, pair) && !is_flagged(renewed, pair) && scene.boxes_meet(pair)) wanted[pair] = wait;
  for (const Pair& pair : candidates)
    if (scene.boxes_meet(pair)) {
      const bool waits = waiting.contains(pair) && !is_flagged(renewed, pair);
      wanted[pair] = {waits ? waiting[pair].since : number, false};
    }
  const bool with_ranks = random.chance(0.7);
  std::vector<std::tuple<int, std::int64_t, Pair>> queue;  // minus the rank, since when, which
  std::int64_t oldest = number;
  for (const auto& [pair, wait] : wanted) {
    if (wait.is_dropped) continue;
    queue.emplace_back(with_ranks ? -std::max(rank_of(pair.first), rank_of(pair.second)) : 0, wait.since, pair);
    oldest = std::min(oldest, wait.since);
  }
  std::sort(queue.begin(), queue.end());

  std::vector<Pair> kept;
  std::vector<std::int64_t> since;
  std::vector<std::uint8_t> is_dropped;
  for (const auto& [pair, wait] : waiting) {
    kept.push_back(pair);
    since.push_back(wait.since);
    is_dropped.push_back(wait.is_dropped ? 1 : 0);
  }
  const Columns of_waiting(kept);
  Interrupt none;
  const TestQueue found = test_queue_of<2>(
      Columns(candidates).copy(), false, {of_waiting.view(), since.data(), is_dropped.data()},
      {scene.boxes.data(), changed.data(), renewed.data(), rows}, with_ranks ? &ranks : nullptr, 3, number, true, none);
  const std::vector<Pair> pairs = listed(found.pairs);
  CHECK(pairs.size() == wanted.size() && found.since.size() == pairs.size() && found.is_idle.size() == pairs.size());
  std::size_t k = 0;
  for (const auto& [pair, wait] : wanted) {
    CHECK(pairs[k] == pair && found.since[k] == wait.since && (found.is_idle[k] != 0) == wait.is_dropped);
    ++k;
  }
  CHECK(found.order.size() == queue.size());
  for (k = 0; k < queue.size(); ++k) CHECK(pairs[static_cast<std::size_t>(found.order[k])] == std::get<Pair>(queue[k]));
  CHECK(found.oldest == oldest && found.ends.size() == (with_ranks ? 3u : 1u) && found.ends.back() == queue.size());
  if (with_ranks)
    for (int rank = 0; rank < 3; ++rank)
      CHECK(found.ends[static_cast<std::size_t>(2 - rank)] ==
            static_cast<std::uint64_t>(std::count_if(queue.begin(), queue.end(),
                                                     [&](const auto& turn) { return -std::get<int>(turn) >= rank; })));

  // Some have been tested: the others are left, and count as touching if they touched.
  const std::vector<std::uint8_t> is_tested = random_flags(random, pairs.size(), 0.5);
  std::set<Pair> last;
  for (const Pair& pair : pairs)
    if (random.chance(0.3)) last.insert(pair);
  if (rows > 1) last.insert({0, 1});
  const Columns of_pairs(pairs), of_last(last);
  const LeftPairs left = left_pairs(of_pairs.view(), found.since.data(), found.is_idle.data(), is_tested.data(),
                                    of_last.view(), renewed.data(), rows, true, none);
  std::vector<Pair> still, touching;
  for (k = 0; k < pairs.size(); ++k) {
    if (is_tested[k] != 0) continue;
    CHECK(left.since[still.size()] == found.since[k] && left.is_dropped[still.size()] == found.is_idle[k]);
    still.push_back(pairs[k]);
    if (last.contains(pairs[k]) && !is_flagged(renewed, pairs[k])) touching.push_back(pairs[k]);
  }
  CHECK(listed(left.pairs) == still && listed(left.touching) == touching);
  CHECK(left.since.size() == still.size() && left.is_dropped.size() == still.size());

  // The same from pairs in any order, none of which has waited before.
  std::vector<std::size_t> places(pairs.size());
  for (k = 0; k < places.size(); ++k) places[k] = k;
  for (k = places.size(); k > 1; --k) std::swap(places[k - 1], places[random.below(k)]);
  std::vector<Pair> shuffled;
  std::vector<std::uint8_t> is_tested_there;
  for (const std::size_t place : places) {
    shuffled.push_back(pairs[place]);
    is_tested_there.push_back(is_tested[place]);
  }
  const std::vector<std::int64_t> now(pairs.size(), number);
  const std::vector<std::uint8_t> no_flags(pairs.size());
  const Columns in_any_order(shuffled);
  const LeftPairs sorted = left_pairs(in_any_order.view(), now.data(), no_flags.data(), is_tested_there.data(),
                                      of_last.view(), renewed.data(), rows, false, none);
  CHECK(listed(sorted.pairs) == still && listed(sorted.touching) == touching);
  CHECK(std::all_of(sorted.since.begin(), sorted.since.end(), [&](std::int64_t step) { return step == number; }));
}

// Pairs are tested in their order, all of them if there is time, and the first ones if there is none.
void test_time(std::uint64_t seed, std::size_t rows, unsigned workers) {
  current_case() = "time, seed " + std::to_string(seed) + ", workers " + std::to_string(workers);
  Random random(seed);
  const Scene scene(random, rows);
  std::vector<Pair> pairs;
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(rows); ++i)
    for (std::int32_t j = i + 1; j < static_cast<std::int32_t>(rows); ++j)
      if (scene.boxes_meet({i, j})) pairs.emplace_back(i, j);
  std::vector<std::int32_t> order(pairs.size());
  for (std::size_t k = 0; k < order.size(); ++k) order[k] = static_cast<std::int32_t>(k);
  for (std::size_t k = order.size(); k > 1; --k) std::swap(order[k - 1], order[random.below(k)]);
  std::vector<std::uint8_t> alive(rows, 1);
  alive[0] = 0;
  const std::vector<std::uint8_t> weights = weights_of<2>(scene.shapes, alive.data(), rows);
  for (std::size_t row = 0; row < rows; ++row) {
    const bool is_segment = scene.shapes.placed<2>(row).kind == ShapeKind::kSegment;
    CHECK(weights[row] == (alive[row] != 0 && is_segment ? 4 : 0));
  }
  const Columns columns(pairs);
  for (const double seconds : {1e9, 0.0}) {
    const TestedPairs found =
        touching_in_time<2>(scene.shapes, columns.view(), order.data(), order.size(), weights.data(), seconds, workers);
    CHECK(found.tested <= order.size() && (found.tested > 0 || order.empty()));
    CHECK(seconds > 0 ? found.tested == order.size() : found.tested < order.size() || order.size() < 500);
    std::vector<Pair> wanted;
    for (std::size_t k = 0; k < found.tested; ++k) {
      const Pair& pair = pairs[static_cast<std::size_t>(order[k])];
      if (scene.touch(pair)) wanted.push_back(pair);
    }
    CHECK(listed(found.touching) == wanted && found.unknown.empty());
  }
}

}  // namespace
}  // namespace broadphase::tests

int main(int argc, char** argv) {
  using namespace broadphase::tests;
  const std::size_t count = rounds(argc, argv, 1500);
  for (std::uint64_t seed = 0; seed < count; ++seed) test_queue_of_step(seed);
  for (const std::size_t rows : {1u, 2u, 40u, 400u})
    for (const unsigned workers : {1u, 3u}) test_time(rows, rows, workers);
}
