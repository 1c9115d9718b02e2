// When shapes that move and turn first touch: never later than samples of their distance, and never apart.
#include "narrow/turning.hpp"

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "check.hpp"
#include "narrow/shape_queries.hpp"
#include "shape_kinds.hpp"

namespace broadphase::tests {
namespace {

template <std::size_t D>
void append_record(Random& random, ShapeKind kind, std::vector<double>& record) {
  const ShapeTraits& traits = traits_of(kind);
  const auto number = [&] { return 2 * random.uniform() - 1; };
  if (traits.has_parts) {
    for (int part = 0; part < 2; ++part) {
      const ShapeKind of = random_simple_kind<D>(random);
      record.push_back(static_cast<double>(of));
      record.push_back(0);
      const std::size_t at = record.size();
      append_record<D>(random, of, record);
      record[at - 1] = static_cast<double>(record.size() - at);
    }
    return;
  }
  const std::size_t begin = record.size();
  for (std::size_t k = 0; k < traits.points * D; ++k) record.push_back(number());
  for (std::size_t k = 0; k < traits.lengths + (traits.has_halves ? D : 0); ++k)
    record.push_back(std::fabs(number()) / 2);
  for (std::size_t k = 0; k < (traits.has_axes ? D * D : 0); ++k) record.push_back(k % (D + 1) == 0 ? 1 : 0);
  if (kind == ShapeKind::kTriangle || kind == ShapeKind::kPolygon) {  // counterclockwise in the plane
    double* p = record.data() + begin;
    if (D == 2 && (p[2] - p[0]) * (p[5] - p[1]) < (p[3] - p[1]) * (p[4] - p[0])) {
      std::swap(p[2], p[4]);
      std::swap(p[3], p[5]);
    }
  }
}

template <std::size_t D>
double distance_at(const TurningPair<D>& pair, double share) {
  const auto placed = [&](const TurningShape<D>& shape, const Vec<D>& place, const Vec<D>& motion,
                          std::vector<double>& record) {
    record.resize(shape.local.record.size());
    const ShapeKind kind = place_shape<D>(shape.local.kind, shape.local.record,
                                          PosePath<D>(shape, place, motion).at(share), record.data());
    return ShapeView<D>{kind, {record.data(), kind == ShapeKind::kBox ? 2 * D : record.size()}};
  };
  std::vector<double> record, other;
  Vec<D> normal;
  return signed_distance(placed(pair.first, pair.place, pair.motion, record), placed(pair.second, {}, {}, other),
                         &normal);
}

template <std::size_t D>
void check_random_motions(std::uint64_t rounds) {
  std::size_t later = 0;
  for (std::uint64_t seed = 0; seed < rounds; ++seed) {
    Random random(seed * 10 + D);
    current_case() = std::to_string(D) + " dimensions, seed " + std::to_string(seed);
    const ShapeKind kind = random_kind<D>(random), other_kind = random_kind<D>(random);
    std::vector<double> record, other;
    append_record<D>(random, kind, record);
    append_record<D>(random, other_kind, other);
    PairMotion<D> how;
    const double most = random.chance(0.2) ? 60 : 4;
    const auto fill = [&](auto& numbers, double size) {
      for (double& x : numbers) x = size * (2 * random.uniform() - 1);
    };
    fill(how.place, 2);
    fill(how.motion, random.chance(0.2) ? 0 : 3);
    fill(how.rotation, 1);
    fill(how.other_rotation, 1);
    fill(how.turn, most);
    fill(how.other_turn, random.chance(0.3) ? 0 : most);
    const TurningPair<D> pair({kind, record}, nullptr, {other_kind, other}, nullptr, how);
    const double target = random.chance(0.2) ? random.uniform() : 0, size = 8;
    Vec<D> normal{};
    const double time = impact_time(pair, target, &normal), until = time <= 1 ? time : 1;
    CHECK((time >= 0 && time <= 1) || time == std::numeric_limits<double>::infinity());
    if (time <= 1) {
      double squared = 0;
      for (const double x : normal) squared += x * x;
      CHECK(std::fabs(squared - 1) < 1e-9);
      CHECK(distance_at(pair, time) <= target + 1e-9 * size);
      later += time > 0 ? 1 : 0;
    }
    constexpr int kSamples = 200;
    for (int k = 0; k < kSamples; ++k)
      CHECK(distance_at(pair, until * k / kSamples) >= target - 1e-9 * size || time == 0);
  }
  CHECK(later > rounds / 20);
}

}  // namespace
}  // namespace broadphase::tests

int main() {
  broadphase::tests::check_random_motions<2>(3000);
  broadphase::tests::check_random_motions<3>(3000);
  return 0;
}
