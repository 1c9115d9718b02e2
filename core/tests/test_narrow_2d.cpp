// Overlap, distance, contact, rays and impacts of every pair of kinds in the plane, against their definitions.
#include "narrow_2d_checks.hpp"

namespace broadphase::tests {
namespace {

void check_known() {
  current_case() = "known answers";
  const auto distance = [](const Shape& a, const Shape& b) {
    Vec<2> normal{};
    return signed_distance(a.view(), b.view(), &normal);
  };
  const Shape ball{ShapeKind::kBall, {0, 0, 2}}, other{ShapeKind::kBall, {3, 4, 3}};
  CHECK(overlaps(ball.view(), other.view()) && distance(ball, other) == 0);
  const Shape box{ShapeKind::kBox, {0, 0, 4, 2}}, inner{ShapeKind::kBox, {1, 0.5, 2, 1.5}};
  CHECK(distance(box, inner) == -1.5);
  CHECK(distance(box, {ShapeKind::kBox, {7, 6, 8, 8}}) == 5);
  CHECK(distance(box, {ShapeKind::kBall, {2, 1, 0.5}}) == -1.5);
  CHECK(distance(box, {ShapeKind::kCapsule, {1, 3, 3, 3, 0.25}}) == 0.75);
  const Contact<2> resting = contact(box.view(), {ShapeKind::kCapsule, std::vector<double>{1, 2.25, 3, 2.25, 0.5}});
  CHECK(resting.count == 2 && resting.depth == 0.25 && resting.points[0][1] == 1.875 && resting.normal[1] == 1);
  const Contact<2> side_by_side = contact(box.view(), {ShapeKind::kBox, std::vector<double>{3, 1, 9, 9}});
  CHECK(side_by_side.count == 2 && side_by_side.depth == 1);
  // Segments that cross, and such as lie on one line.
  const Shape cross{ShapeKind::kSegment, {0, 0, 4, 0}};
  CHECK(distance(cross, {ShapeKind::kSegment, {1, -1, 1, 3}}) == -1);
  CHECK(distance(cross, {ShapeKind::kSegment, {2, 0, 8, 0}}) == 0);
  CHECK(distance(cross, {ShapeKind::kSegment, {6, 0, 8, 0}}) == 2);
  CHECK(!overlaps(cross.view(), {ShapeKind::kPoint, std::vector<double>{4.0000000001, 0}}));
  Vec<2> normal{};
  CHECK(ray_hit(ball.view(), {-6, 0}, {2, 0}, &normal) == 2 && normal[0] == -1);
  CHECK(ray_hit(ball.view(), {-6, 2}, {2, 0}, &normal) == 3 && normal[1] == 1);  // just touching
  CHECK(ray_hit(ball.view(), {1, 0}, {0, 5}, &normal) == 0 && normal[1] == -1);
  CHECK(ray_hit(ball.view(), {1, 0}, {0, 0}, &normal) == 0 && normal[1] == 0);
  CHECK(ray_hit(ball.view(), {4, 0}, {0, 0}, &normal) == std::numeric_limits<double>::infinity());
  CHECK(impact_time(ball.view(), {1e12, 0}, {ShapeKind::kBall, std::vector<double>{5e11, 0, 1}}, &normal) < 0.5);
  CHECK(impact_time(ball.view(), {0, 0}, {ShapeKind::kBall, std::vector<double>{5, 0, 1}}, &normal) > 1);
}

// The nearest corner of a sliver is 2e-11 beyond its edge, which is as far up to rounding: moved along the normal by
// the distance, they touch there and not beside it.
void check_just_beyond_an_edge() {
  current_case() = "just beyond an edge";
  const Shape point{ShapeKind::kPoint, {0, 0}};
  const Shape sliver{ShapeKind::kTriangle,
                     {3.9905882323018353, 2.9929411804616706, 3.9905882323011763, 2.9929411804611759,
                      3.9905882352824262, 2.992941176486176}};
  Vec<2> normal{};
  const double distance = signed_distance(point.view(), sliver.view(), &normal);
  CHECK(near(0, plain_distance(point.view(), moved(sliver, {-distance * normal[0], -distance * normal[1]}).view()),
             1e-14));
}

// One capsule lies on an equal one, along the whole length, whatever way the two are turned.
void check_stacked() {
  current_case() = "capsules stacked";
  for (int k = 0; k < 100; ++k) {
    const double angle = 0.1 * k, c = std::cos(angle), s = std::sin(angle), x = 3 + k, y = 0.1 * k;
    const Shape low{ShapeKind::kCapsule, {x, y, x + 4 * c, y + 4 * s, 0.5}};
    const Contact<2> found = contact(low.view(), moved(low, {-0.75 * s, 0.75 * c}).view());
    CHECK(found.count == 2 && near(found.depth, 0.25, 1e-12) && near(found.normal[1], c, 1e-12));
    const double length = std::hypot(found.points[1][0] - found.points[0][0], found.points[1][1] - found.points[0][1]);
    CHECK(near(length, 4, 1e-12));
  }
}

// Segments on one line, on whose sides their ends lie by rounding only.
void check_on_one_line() {
  current_case() = "segments on one line";
  Random random(1);
  for (int k = 0; k < 50000; ++k) {
    const double angle = 7 * random.uniform(), c = std::cos(angle), s = std::sin(angle);
    const auto segment = [&](double from) {
      const double to = from + random.uniform();
      return Shape{ShapeKind::kSegment, {from * c, from * s, to * c, to * s}};
    };
    const Shape a = segment(-random.uniform()), b = segment(1 + 0.1 * random.uniform());
    CHECK(!overlaps(a.view(), b.view()) || near(0, plain_distance(a.view(), b.view()), 1e-14));
  }
}

// A triangle, blunt or slim, that slides past a point along one of its edges: where it is said to touch it, it does.
void check_sliding(std::uint64_t rounds) {
  for (std::uint64_t seed = 0; seed < rounds; ++seed) {
    Random random(seed);
    const auto any = [&] { return 2 * random.uniform() - 1; };
    const double height = std::pow(0.1, 16 * random.uniform()), askew = std::pow(0.1, 8 + 9 * random.uniform());
    const double x = any(), y = any(), dx = any(), dy = any(), share = random.uniform();
    Shape triangle{ShapeKind::kTriangle,
                   {x, y, x + dx, y + dy, x + share * dx - height * dy, y + share * dy + height * dx}};
    const double on = random.chance(0.5) ? 1 : random.uniform(), back = 0.2 + random.uniform();
    const Shape point{ShapeKind::kPoint, {x + on * dx, y + on * dy}};
    const Vec<2> motion{-dx + askew * any(), -dy + askew * any()};
    for (std::size_t k = 0; k < 6; ++k) triangle.record[k] -= back * motion[k % 2];
    current_case() = "sliding, seed " + std::to_string(seed);
    Vec<2> normal{};
    const Real time = impact_time(triangle.view(), motion, point.view(), &normal);
    if (!(time > 0 && time <= 1)) continue;  // it misses it, or overlaps it before
    const Real gap = Differences(triangle.view(), point.view()).distance({time * motion[0], time * motion[1]});
    CHECK(std::abs(gap) < 1e-13L);
  }
}

}  // namespace
}  // namespace broadphase::tests

int main(int argc, char** argv) {
  using namespace broadphase;
  using namespace broadphase::tests;
  check_known();
  check_just_beyond_an_edge();
  check_stacked();
  check_on_one_line();
  const std::size_t cases = rounds(argc, argv, 150);
  check_sliding(100 * cases);
  std::vector<ShapeKind> kinds(kSimpleKinds<2>.begin(), kSimpleKinds<2>.end());
  kinds.push_back(ShapeKind::kCompound);
  for (std::size_t first = 0; first < kinds.size(); ++first)
    for (std::size_t second = 0; second < kinds.size(); ++second)
      for (std::uint64_t seed = 0; seed < cases; ++seed) {
        const Style& style = kStyles[seed % std::size(kStyles)];
        current_case() = describe(kinds[first], kinds[second]) + ", seed " + std::to_string(seed);
        Random random(seed * 100 + first * 10 + second);
        check_pair(random, style, kinds[first], kinds[second]);
        check_impact(random, style, kinds[first], kinds[second]);
      }
}
