// Steps of worlds of balls, against the distances of all pairs: whatever is searched for, kept or left out on the
// route.
#include "world/step.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "check.hpp"

namespace broadphase::tests {
namespace {

using Pair = std::pair<std::int32_t, std::int32_t>;

// What a world is made of. All numbers are multiples of 2^-7, so that distances are exact, and many are just those at
// which balls touch.
template <std::size_t D>
struct Bodies {
  std::size_t slots;
  std::vector<std::uint8_t> alive, types, ccd, changed, renewed, displaced, next_changed, flags[2];
  std::vector<std::int64_t> generation, then, batch;
  std::vector<double> positions, velocities, radii, places[2], boxes[2], bounds;
  ShapeStore shapes[2];
  Boundary boundary;
  std::uint64_t version = 1;
  bool is_renewed = false, has_batches;
  int seen = 0;

  Bodies(Random& random, std::size_t count, double edge, double fastest, Boundary given, bool batches)
      : slots(count),
        alive(count, 1),
        types(count),
        ccd(count),
        changed(count, 1),
        renewed(count),
        displaced(count),
        next_changed(count),
        flags{RowFlags(count, 1), RowFlags(count)},
        generation(count, 1),
        batch(count),
        positions(count * D),
        velocities(count * D),
        radii(count),
        bounds(2 * D),
        boundary(given),
        has_batches(batches) {
    const auto some = [&](double most) { return std::floor((random.uniform() * 2 - 1) * most * 128) / 128; };
    for (std::size_t k = 0; k < D; ++k) bounds[D + k] = edge;
    const double share = static_cast<double>(random.below(3)) / 2;
    for (std::size_t row = 0; row < count; ++row) {
      radii[row] = static_cast<double>(1 + random.below(3)) / 4;
      types[row] = random.chance(0.2) ? kStatic : kDynamic;
      batch[row] = static_cast<std::int64_t>(random.below(2));
      for (std::size_t k = row * D; k < (row + 1) * D; ++k) {
        positions[k] = std::floor(random.uniform() * edge * 4) / 4;
        velocities[k] = types[row] == kStatic || random.chance(share) ? 0.0 : some(fastest);
      }
    }
    for (int side : {0, 1}) {
      places[side] = positions;
      boxes[side].resize(count * 2 * D);
      for (std::size_t row = 0; row < count; ++row) {
        std::vector<double> ball(D);
        ball.push_back(radii[row]);
        ShapeStore::Room room;
        room.add(shapes[side], row, ShapeKind::kBall, ball);
        shapes[side].reserve(room);
        shapes[side].put(row, ShapeKind::kBall, ball);
        double* lower = boxes[side].data() + row * 2 * D;
        shapes[side].template place<D>(row, positions.data() + row * D, nullptr, lower, lower + D);
      }
    }
  }

  Columns<D> columns() {
    Columns<D> to{};
    to.slots = slots;
    to.living = static_cast<std::size_t>(std::count(alive.begin(), alive.end(), 1));
    to.alive = alive.data();
    to.generation = generation.data();
    to.generation_then = is_renewed ? then.data() : nullptr;
    to.positions = positions.data();
    to.velocities = velocities.data();
    to.body_types = types.data();
    to.batch = has_batches ? batch.data() : nullptr;
    to.bounds = bounds.data();
    to.boundary = boundary;
    to.closed = true;
    const auto placement = [&](int side) {
      return Placement<D>{&shapes[side], places[side].data(), nullptr, boxes[side].data()};
    };
    to.seen = placement(seen);
    to.spare = placement(1 - seen);
    to.changed = changed.data();
    to.renewed = renewed.data();
    to.displaced = displaced.data();
    to.next_changed = next_changed.data();
    to.stale = flags[0].data();
    to.moved = flags[1].data();
    to.version = version;
    return to;
  }

  void swap_placements() {
    seen = 1 - seen;
    std::swap(flags[0], flags[1]);
    is_renewed = false;
  }
  void remove(std::size_t row) {
    if (!is_renewed) then = generation;
    is_renewed = true;
    alive[row] = changed[row] = 0;
    renewed[row] = 1;
    ++generation[row];
    ++version;
  }

  std::set<Pair> touching() const {
    std::set<Pair> pairs;
    for (std::size_t i = 0; i < slots; ++i)
      for (std::size_t j = i + 1; j < slots; ++j) {
        if (alive[i] == 0 || alive[j] == 0 || (types[i] == kStatic && types[j] == kStatic)) continue;
        if (has_batches && batch[i] != batch[j]) continue;
        double squared = 0;
        for (std::size_t k = 0; k < D; ++k) {
          double route = std::abs(positions[i * D + k] - positions[j * D + k]);
          if (boundary == Boundary::wrap) route = std::min(route, std::abs(bounds[D + k] - route));
          squared += route * route;
        }
        const double reach = radii[i] + radii[j];
        if (squared <= reach * reach) pairs.emplace(static_cast<std::int32_t>(i), static_cast<std::int32_t>(j));
      }
    return pairs;
  }
};

// An index of boxes that holds those of the spare placement, or larger ones.
template <std::size_t D>
class PlainIndex final : public StepCallbacks<D> {
 public:
  using Refusal = typename StepCallbacks<D>::Refusal;

  explicit PlainIndex(Bodies<D>& bodies) : bodies_(bodies), kept_(bodies.slots * 2 * D, 0.0) {}
  std::size_t queries = 0;

  void refuse(Refusal, std::size_t) override { CHECK(false); }
  void refuse(const EndlessRoute<D>&) override { CHECK(false); }
  Ragged near(const std::vector<double>& boxes, const RowList& rows) override {
    follow();
    queries += rows.size();
    Ragged found;
    found.offsets.push_back(0);
    for (std::size_t k = 0; k < rows.size(); ++k) {
      for (std::size_t row = 0; row < bodies_.slots; ++row) {
        const double *box = boxes.data() + k * 2 * D, *kept = kept_.data() + row * 2 * D;
        if (bodies_.has_batches && bodies_.batch[row] != bodies_.batch[static_cast<std::size_t>(rows[k])]) continue;
        if (bodies_.alive[row] != 0 && overlaps(box, box + D, kept, kept + D, D, true, 0.0))
          found.rows.push_back(static_cast<std::int32_t>(row));
      }
      found.offsets.push_back(static_cast<std::int64_t>(found.rows.size()));
    }
    return found;
  }
  void enlarge(const std::vector<double>& boxes, const RowList& rows) override {
    follow();
    for (std::size_t k = 0; k < rows.size(); ++k)
      std::copy_n(boxes.data() + k * 2 * D, 2 * D, kept_.data() + static_cast<std::size_t>(rows[k]) * 2 * D);
  }
  void look_at_margins(const Pairs&, std::size_t) override {}
  std::optional<Pairs> by_given_method(const Filter*) override { return std::nullopt; }
  Pairs touching(const RowList&) override { return {}; }
  Pairs touching_images(const RowList&, const std::vector<double>&) override { return {}; }
  Spent spend(const PairColumns&, bool, const std::uint8_t*) override { return {}; }
  void meet(Approaches<D>&) override {}
  void meet(TurningApproaches<D>&) override {}

 private:
  void follow() {
    const std::vector<double>& boxes = bodies_.boxes[1 - bodies_.seen];
    for (std::size_t row = 0; row < bodies_.slots; ++row) {
      const double* box = boxes.data() + row * 2 * D;
      double* kept = kept_.data() + row * 2 * D;
      bool is_within = true;
      for (std::size_t k = 0; k < D; ++k) is_within &= kept[k] <= box[k] && box[D + k] <= kept[D + k];
      if (!is_within) std::copy_n(box, 2 * D, kept);
    }
  }

  Bodies<D>& bodies_;
  std::vector<double> kept_;
};

std::set<Pair> listed(const Pairs& pairs) {
  std::set<Pair> list;
  for (std::size_t k = 0; k < pairs.size; ++k) list.emplace(pairs.block[k], pairs.block[pairs.stride + k]);
  CHECK(list.size() == pairs.size);
  return list;
}

struct Seen {
  std::size_t searches[7] = {}, compared = 0, few = 0;
};

template <std::size_t D>
void play(std::uint64_t seed, Seen& seen) {
  Random random(seed);
  const std::size_t count = random.chance(0.1) ? random.below(3) : 20 + random.below(60);
  const auto boundary = std::array{Boundary::none, Boundary::bounce, Boundary::wrap}[random.below(3)];
  const double edge = D == 2 ? 16 : 8, fastest = random.chance(0.5) ? 0.03 : 1.5;
  Bodies<D> bodies(random, count, edge, fastest, boundary, random.chance(0.3));
  current_case() = "seed " + std::to_string(seed) + " of " + std::to_string(D) + " axes";
  PlainIndex<D> index(bodies);
  World<D> world;
  StepMemory memory;
  std::set<Pair> before;
  std::size_t levels = 0;
  const Kernels* const* kernels = available_kernels(levels);
  StepRequest request{};
  request.are_all_in_core = true;
  request.search = {MethodName::automatic, false, random.chance(0.1), 1 + static_cast<unsigned>(random.below(2)),
                    kernels[random.below(levels)]};
  for (request.number = 1; request.number <= 25; ++request.number) {
    request.dt = random.chance(0.1) ? 0.0 : 1.0;
    request.is_held = random.chance(0.2);
    if (const std::size_t row = random.below(count + 1); row < count && bodies.alive[row] != 0 && random.chance(0.1))
      bodies.remove(row);
    if (count > 4 && random.chance(0.1)) {
      ++request.writes;
      bodies.positions[random.below(count * D)] = static_cast<double>(random.below(32)) / 4;
    }
    const Columns<D> columns = bodies.columns();
    Interrupt none;
    Step<D> step = world.step(columns, memory, request, index, none);
    world.commit(columns, memory, request, step);
    bodies.swap_placements();
    const std::set<Pair> now = bodies.touching(), found = listed(step.touching->pairs);
    CHECK(found == now);
    std::set<Pair> began, ended;
    std::set_difference(now.begin(), now.end(), before.begin(), before.end(), std::inserter(began, began.end()));
    std::set_difference(before.begin(), before.end(), now.begin(), now.end(), std::inserter(ended, ended.end()));
    CHECK(listed(step.enter) == began);
    CHECK(listed(step.exit) == ended);
    CHECK(step.exit_handles.size() == 2 * step.exit.size);
    before = now;
    ++seen.searches[static_cast<std::size_t>(step.stats.search)];
    seen.compared += step.stats.compared;
    seen.few += step.stats.looked_at < count;
  }
}

}  // namespace
}  // namespace broadphase::tests

int main() {
  using namespace broadphase;
  using namespace broadphase::tests;
  step_limits.rows_for_a_tree = step_limits.rows_for_near_pairs = 4;
  step_limits.steps_before_a_tree = 1;
  step_limits.few = 0.7;
  step_limits.steady = 0.7;
  Seen seen;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    play<2>(seed, seen);
    play<3>(seed, seen);
  }
  for (const Search search : {Search::none, Search::near, Search::all, Search::near_few, Search::around})
    CHECK(seen.searches[static_cast<std::size_t>(search)] > 20);
  CHECK(seen.compared > 1000);
  CHECK(seen.few > 100);
  return 0;
}
