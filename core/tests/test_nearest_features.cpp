// The nearest of points on a lattice against plain loops.
#include "narrow/nearest_features.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "check.hpp"

namespace broadphase::tests {
namespace {

struct Point {
  double x, y;
};

double distance_of(const Point& a, const Point& b) { return std::hypot(a.x - b.x, a.y - b.y); }

FlatBox box_of(const Point& point) { return {point.x, point.y, point.x, point.y}; }

struct Judge {
  const std::vector<Point>&queries, &rows;

  double distance(std::size_t query, std::size_t row, double limit) const {
    const double found = distance_of(queries[query], rows[row]);
    return found <= limit ? found : std::numeric_limits<double>::infinity();
  }
  bool are_equal(std::size_t query, std::size_t row) const { return distance_of(queries[query], rows[row]) == 0; }
};

std::vector<Point> random_points(Random& random, std::size_t count, std::size_t side) {
  std::vector<Point> points(count);
  for (Point& point : points)
    point = {static_cast<double>(random.below(side)), static_cast<double>(random.below(side))};
  return points;
}

using Near = std::vector<std::pair<double, std::size_t>>;

void check_nearest(NearestKind kind, const Near& found, const Near& near, std::size_t k) {
  Near expected = near;
  const auto farther_than = [&](std::size_t place) {
    return std::find_if(expected.begin(), expected.end(),
                        [&](const auto& one) { return one.first > near[place].first; });
  };
  switch (kind) {
    case NearestKind::kAll:
    case NearestKind::kFirst:
    case NearestKind::kLast: {
      if (!near.empty()) expected.erase(farther_than(0), expected.end());
      Near sorted = found;
      std::sort(sorted.begin(), sorted.end());
      if (kind == NearestKind::kAll)
        CHECK(sorted == expected);
      else
        CHECK(sorted.size() == std::min<std::size_t>(expected.size(), 1) &&
              std::includes(expected.begin(), expected.end(), sorted.begin(), sorted.end()));
      return;
    }
    case NearestKind::kSomeAndEqual:
      if (near.size() > k) expected.erase(farther_than(k - 1), expected.end());
      break;
    case NearestKind::kSome: expected.resize(std::min(near.size(), k)); break;
  }
  CHECK(found == expected);
}

void nearest_are_those_of_a_loop(std::size_t seed) {
  Random random(seed);
  for (const std::size_t count : {0, 1, 2, 10, 11, 200}) {
    const std::size_t side = 2 + random.below(40);
    const std::vector<Point> rows = random_points(random, count, side), queries = random_points(random, 20, side);
    std::vector<double> bounds;
    for (const Point& point : rows) bounds.insert(bounds.end(), {point.x, point.y, point.x, point.y});
    Interrupt interrupt;
    const StrTree tree(bounds.data(), count, 2 + random.below(10), interrupt);
    for (const NearestKind kind :
         {NearestKind::kAll, NearestKind::kFirst, NearestKind::kLast, NearestKind::kSomeAndEqual, NearestKind::kSome}) {
      // shapely has no limits where it returns what its search ends at.
      const bool is_last = kind == NearestKind::kLast;
      const double most = is_last || random.chance(0.5) ? std::numeric_limits<double>::infinity()
                                                        : static_cast<double>(1 + random.below(4));
      const bool leaves_out_equal = !is_last && random.chance(0.5);
      const std::size_t k = 1 + random.below(6);
      current_case() = std::to_string(count) + " points, kind " + std::to_string(static_cast<int>(kind)) + ", seed " +
                       std::to_string(seed);
      Judge judge{queries, rows};
      NearestFeatures<Judge> nearest(tree, {kind, k, most, leaves_out_equal}, judge);
      for (std::size_t query = 0; query < queries.size(); ++query) {
        Near near, found;
        for (std::size_t row = 0; row < count; ++row) {
          const double distance = distance_of(queries[query], rows[row]);
          if (distance <= most && !(leaves_out_equal && distance == 0)) near.push_back({distance, row});
        }
        std::sort(near.begin(), near.end());
        nearest.find(query, box_of(queries[query]), random.chance(0.8));
        for (const auto& one : nearest.found()) found.push_back({one.distance, one.row});
        check_nearest(kind, found, near, k);
      }
    }
  }
}

}  // namespace
}  // namespace broadphase::tests

int main(int argc, char** argv) {
  using namespace broadphase::tests;
  for (std::size_t seed = 0; seed < rounds(argc, argv, 30); ++seed) nearest_are_those_of_a_loop(seed);
}
