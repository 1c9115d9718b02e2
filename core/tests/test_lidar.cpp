// Lidars against one ray for each beam and body, on every level: alone in batches, and through a tree; balls, boxes,
// segments and compounds, some of them at the origin of the fan, and scenes of any size.
#include "world/lidar.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "batches/forest.hpp"
#include "check.hpp"

namespace broadphase::tests {
namespace {

template <std::size_t D>
class Scene {
 public:
  Scene(Random& random, std::size_t count, double scale) : random_(random), scale_(scale) {
    for (std::size_t row = 0; row < count; ++row) {
      rows.push_back(static_cast<std::int32_t>(row));
      keys.push_back(static_cast<std::int64_t>(random.below(3)));
      const bool is_near = row > 0 && random.chance(0.05);
      for (std::size_t k = 0; k < D; ++k) positions.push_back(is_near ? positions[k] : 20 * number());
      const std::vector<double> record = record_of(row);
      shapes.set(row, kind_of(row), record);
      boxes.resize(boxes.size() + 2 * D);
      double* box = boxes.data() + row * 2 * D;
      shapes.place<D>(row, positions.data() + row * D, nullptr, box, box + D);
    }
  }

  static ShapeKind kind_of(std::size_t row) {
    constexpr ShapeKind kKinds[] = {ShapeKind::kBall, ShapeKind::kBox, ShapeKind::kSegment, ShapeKind::kBall};
    return kKinds[row % 4];
  }
  std::vector<double> record_of(std::size_t row) {
    std::vector<double> record(D, 0.0);
    if (kind_of(row) == ShapeKind::kBall) record.push_back(std::fabs(number()));
    if (kind_of(row) == ShapeKind::kBox)
      for (std::size_t k = 0; k < D; ++k) record.push_back(std::fabs(number()));
    if (kind_of(row) == ShapeKind::kSegment)
      for (std::size_t k = 0; k < D; ++k) record.push_back(number());
    return record;
  }
  // In halves, so that beams graze, and distances are equal.
  double number() { return scale_ * std::round(4 * random_.uniform() - 2) / 2; }

  ShapeStore shapes;
  std::vector<double> positions, boxes;
  std::vector<std::int32_t> rows;
  std::vector<std::int64_t> keys;

 private:
  Random& random_;
  double scale_;
};

template <std::size_t D>
std::vector<double> fan_of(Random& random, std::size_t beams) {
  std::vector<double> fan;
  for (std::size_t beam = 0; beam < beams; ++beam) {
    const bool is_even = random.chance(0.5);  // along axes and diagonals
    if (D == 2) fan.push_back(is_even ? std::atan(1.0) * static_cast<double>(random.below(8)) : 6 * random.uniform());
    for (std::size_t k = 0; D == 3 && k < 3; ++k)
      fan.push_back(is_even ? static_cast<double>(random.below(3)) - 1 : random.uniform() - 0.5);
  }
  return fan;
}

template <std::size_t D>
void check(Random& random, const Kernels& kernels, std::size_t count, double scale, double limit) {
  Scene<D> scene(random, count, scale);
  const std::size_t beams = random.below(20);
  const std::vector<double> fan = fan_of<D>(random, beams), limits(count, limit);
  const LidarRequest<D> request{scene.rows.data(), count, scene.positions.data(), nullptr, fan.data(), beams, true,
                                limits.data()};
  const QueriedBodies<D> bodies{&scene.shapes, scene.boxes.data(), {}};
  QueryFilter filter;
  filter.ignored = scene.rows.data();
  filter.ignored_count = filter.ignored_step = 1;
  Beams<D> shared;
  shared.take(request, 0, nullptr);
  LidarSearch<D> search(request, bodies, filter, shared, kernels);

  Interrupt never;
  const std::vector<std::int64_t> one_key(count, 0);
  const BoxView<double> view{scene.boxes.data(), scene.boxes.data() + D, 2 * D, 2 * D, count};
  Forest forest(D);
  forest.build(view, scene.rows.data(), count, one_key.data(), {kernels, 1, never});
  Forest::Room room;
  const BlockTree tree = forest.tree_of(0, AnyBoxes(view, D), room);
  const TreeQueries queries(tree, AnyBoxes(view, D), filter, kernels);
  const LidarGroups groups(scene.rows, scene.rows, scene.keys.data(), never);

  std::vector<double> distances(beams);
  std::vector<std::int32_t> hits(beams);
  std::size_t group = 0;
  for (std::size_t position = 0; position < 2 * count; ++position) {
    const bool is_through = position >= count;
    const std::size_t query = is_through ? position - count : groups.query(position);
    search.begin(query);
    if (is_through)
      search.look_through(queries);
    else
      search.look_at(groups.seen_by(query, group));
    CHECK(search.end(distances.data(), hits.data()) == -1);
    for (std::size_t beam = 0; beam < beams; ++beam) {
      KeyedRow first(kNever, -1);
      for (std::size_t row = 0; row < count; ++row) {
        if (row == query || (!is_through && scene.keys[row] != scene.keys[query])) continue;
        Vec<D> normal;
        const auto number = static_cast<std::int32_t>(row);
        const double time =
            bodies.ray_hit(bodies.shape(number), request.origin(query), shared.direction(beam), &normal);
        const KeyedRow hit(time < kNever ? time * shared.length(beam) : kNever, number);
        if (hit.first <= limit && hit.first < kNever && hit < first) first = hit;
      }
      CHECK(distances[beam] == first.first && hits[beam] == first.second);
    }
  }
}

}  // namespace
}  // namespace broadphase::tests

int main() {
  using namespace broadphase;
  using namespace broadphase::tests;
  std::size_t levels = 0;
  const Kernels* const* all = available_kernels(levels);
  Random random(11);
  for (std::size_t level = 0; level < levels; ++level)
    for (const std::size_t count : {1, 2, 9, 70, 300})
      for (const double scale : {1e-20, 1.0, 1e12, 1e20}) {
        current_case() =
            std::string(all[level]->level) + ", " + std::to_string(count) + " bodies, size " + std::to_string(scale);
        const double limit = random.chance(0.5) ? kNever : 10 * scale;
        check<2>(random, *all[level], count, scale, limit);
        check<3>(random, *all[level], count, scale, limit);
      }
  return 0;
}
