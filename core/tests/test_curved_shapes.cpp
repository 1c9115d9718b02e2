// What each curved shape says of its features: that the farthest point is on one, that it turns with the direction as
// the bend says, and that its flat faces are faces. And pairs: no direction leaves a wider gap than the one found.
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "check.hpp"
#include "narrow/shape_queries.hpp"
#include "narrow/support.hpp"
#include "solids.hpp"

namespace broadphase::tests {
namespace {

using polytopes::DiscFace, polytopes::FarthestPoint, polytopes::FeaturePoint, polytopes::Tangent;

Point unit(const Point& way) { return add({}, way, 1 / length(way)); }

std::vector<double> random_record(Random& random, const ShapeTraits& traits) {
  std::vector<double> record;
  const auto put = [&](const Point& numbers) { record.insert(record.end(), numbers.begin(), numbers.end()); };
  for (std::size_t k = 0; k < traits.points; ++k) put(random_point(random, 1));
  for (std::size_t k = 0; k < traits.lengths; ++k) record.push_back(0.1 + random.uniform());
  if (traits.has_halves) put({0.1 + random.uniform(), 0.1 + random.uniform(), 0.1 + random.uniform()});
  if (traits.has_axes)
    for (const Point& axis : random_frame(random, false)) put(axis);
  return record;
}

void check_features(Random& random, const SupportRow<3>& row) {
  constexpr double kStep = 1e-5;
  const std::vector<double> record = random_record(random, traits_of(row.kind));
  const Tangent tangent(random_direction(random));
  const FarthestPoint<3> farthest = row.support(record, tangent.normal);
  const FeaturePoint on = row.on(record, farthest.feature, tangent);
  CHECK(length(add(on.at, farthest.at, -1)) <= 1e-12);
  const double strength = std::abs(on.bend.xx) + std::abs(on.bend.yy);
  if (!(strength < 20)) return;  // the direction is nearly that of a flat face
  const auto turned = [&](const Point& side, double by) {
    return row.on(record, farthest.feature, Tangent(unit(add(tangent.normal, side, by)))).at;
  };
  for (const bool is_x : {true, false}) {
    const Point& side = is_x ? tangent.x : tangent.y;
    const Point change = add(turned(side, kStep), turned(side, -kStep), -1);
    const double tolerance = 1e-5 * (1 + strength * strength * strength);
    CHECK(std::abs(product(change, tangent.x) / (2 * kStep) - (is_x ? on.bend.xx : on.bend.xy)) <= tolerance);
    CHECK(std::abs(product(change, tangent.y) / (2 * kStep) - (is_x ? on.bend.xy : on.bend.yy)) <= tolerance);
  }
}

void check_face(Random& random, const SupportRow<3>& row) {
  const std::vector<double> record = random_record(random, traits_of(row.kind));
  const DiscFace face = row.facing(record, random_direction(random));
  if (face.radius == 0) return;
  const Tangent tangent(face.normal);
  CHECK(std::abs(length(face.normal) - 1) <= 1e-12);
  const double top = product(row.support(record, face.normal).at, face.normal);
  CHECK(std::abs(product(face.centre, face.normal) - top) <= 1e-12);
  for (const Point& side : {tangent.x, tangent.y}) {  // the rim is the farthest along what leans a little
    const Point at = row.support(record, add(face.normal, side, 1e-3)).at;
    CHECK(length(add(at, add(face.centre, side, face.radius), -1)) <= 1e-9);
  }
}

void check_pair(Random& random, const SupportRow<3>& row, const SupportRow<3>& other) {
  std::array<std::vector<double>, 2> records = {random_record(random, traits_of(row.kind)),
                                                random_record(random, traits_of(other.kind))};
  if (random.below(2) == 0) shift_shape<3>(other.kind, records[1], random_point(random, 3).data());
  const ShapeView<3> a{row.kind, records[0]}, b{other.kind, records[1]};
  Point normal{}, back{};
  const double distance = signed_distance(a, b, &normal);
  CHECK(std::abs(length(normal) - 1) <= 1e-12);
  const auto gap_along = [&](const Point& way) {
    const auto reach = [](const SupportRow<3>& of, const std::vector<double>& record, const Point& along) {
      return product(add({record[0], record[1], record[2]}, of.support(record, along).at), along);
    };
    return -reach(other, records[1], add({}, way, -1)) - reach(row, records[0], way);
  };
  CHECK(std::abs(gap_along(normal) - distance) <= 1e-9);
  for (int k = 0; k < 50; ++k) {
    const Point way = unit(add(normal, random_direction(random), std::pow(10.0, 1 - 6 * random.uniform())));
    if (gap_along(way) > distance + 1e-8) std::printf("%.17g, but %.17g\n", distance, gap_along(way));
    CHECK(gap_along(way) <= distance + 1e-8);
  }
  CHECK(signed_distance(b, a, &back) == distance);
  if (std::abs(distance) > 1e-9) CHECK(overlaps(a, b) == (distance < 0));
}

}  // namespace
}  // namespace broadphase::tests

int main(int argc, char** argv) {
  using namespace broadphase;
  using namespace broadphase::tests;
  for (std::size_t seed = 0; seed < rounds(argc, argv, 300); ++seed) {
    Random random(seed);
    for (const SupportRow<3>& row : kSpaceSupports) {
      current_case() = "seed " + std::to_string(seed) + ", kind " + std::to_string(static_cast<int>(row.kind));
      check_features(random, row);
      check_face(random, row);
      for (const SupportRow<3>& other : kSpaceSupports) check_pair(random, row, other);
    }
  }
}
