// Where the images of queries are in a periodic world, against all images of points.
#include "world/images.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "check.hpp"

namespace broadphase::tests {
namespace {

double between(Random& random, double low, double high) { return low + (high - low) * random.uniform(); }

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A shape of many points on a slanted line, and bodies that fill a box somewhat larger than the world.
template <std::size_t D>
struct Scene {
  std::array<double, 2 * D> bounds, around, box;
  std::vector<std::array<double, D>> points;

  Scene(Random& random, double length) {
    std::array<double, D> at, along;
    for (std::size_t k = 0; k < D; ++k) {
      bounds[k] = between(random, -5, 5);
      bounds[D + k] = bounds[k] + between(random, 1, 3);
      around[k] = bounds[k] - between(random, 0, 1);
      around[D + k] = bounds[D + k] + between(random, 0, 1);
      at[k] = between(random, -20, 20);
      along[k] = between(random, -length, length);
      box[k] = kInfinity;
      box[D + k] = -kInfinity;
    }
    constexpr int kPoints = 200;
    for (int number = 0; number <= kPoints; ++number) {
      std::array<double, D> point;
      for (std::size_t k = 0; k < D; ++k) {
        point[k] = at[k] + along[k] * number / kPoints;
        box[k] = std::min(box[k], point[k]);
        box[D + k] = std::max(box[D + k], point[k]);
      }
      points.push_back(point);
    }
  }

  bool meets(const double* there) const {
    return std::any_of(points.begin(), points.end(), [&](const auto& point) { return holds(there, point, nullptr); });
  }
  static bool holds(const double* there, const std::array<double, D>& point, const double* shift) {
    bool holds = true;
    for (std::size_t k = 0; k < D; ++k) {
      const double x = point[k] + (shift != nullptr ? shift[k] : 0.0);
      holds &= there[k] <= x && x <= there[D + k];
    }
    return holds;
  }
  PeriodicBodies bodies(std::size_t count) const { return {around.data(), bounds.data(), count}; }
};

template <std::size_t D>
void test_images_hold_what_meets_bodies(std::uint64_t seed, double length, std::size_t bodies) {
  current_case() = std::to_string(D) + " axes, seed " + std::to_string(seed) + ", length " + std::to_string(length);
  Random random(seed);
  const Scene<D> scene(random, length);
  const ImageFinder<D> finder(scene.bodies(bodies), {4, 0.75});
  Images all, some;
  CHECK(finder.add(scene.box.data(), all));
  Interrupt interrupt;
  CHECK(finder.add(scene.box.data(), [&](const double* there) { return scene.meets(there); }, interrupt, some));
  const std::size_t count = all.shifts.size() / D;
  CHECK(static_cast<double>(count) == finder.count(scene.box.data()));
  for (std::size_t image = 0; image < count; ++image) {
    const double* shift = all.shifts.data() + image * D;
    for (const auto& point : scene.points) {
      if (!Scene<D>::holds(scene.around.data(), point, shift)) continue;
      bool found = false;
      for (std::size_t other = 0; other < some.shifts.size() / D; ++other)
        found |= std::equal(shift, shift + D, some.shifts.data() + other * D) &&
                 Scene<D>::holds(some.boxes.data() + other * 2 * D, point, shift);
      CHECK(found);
    }
  }
}

template <std::size_t D>
void test_boxes_without_images_and_with_too_many() {
  current_case() = std::to_string(D) + " axes, extreme boxes";
  Random random(1);
  const Scene<D> scene(random, 1);
  const ImageFinder<D> finder(scene.bodies(9));
  Images found;
  std::array<double, 2 * D> box;
  box.fill(kInfinity);
  CHECK(finder.add(box.data(), found) && found.shifts.empty() && finder.count(box.data()) == 0);
  box.fill(0);
  box[D] = 1e9;
  CHECK(!finder.add(box.data(), found) && finder.count(box.data()) > 1e6);
  Interrupt interrupt;
  CHECK(!finder.add(box.data(), [](const double*) { return true; }, interrupt, found));
  box[0] = -kInfinity;
  CHECK(!finder.add(box.data(), [](const double*) { return true; }, interrupt, found));
}

// What is moved to a periodic world is a whole number of periods from where it was, and near it.
template <std::size_t D>
void test_far_points_and_boxes_are_moved_by_whole_periods(std::uint64_t seed) {
  current_case() = std::to_string(D) + " axes, far away, seed " + std::to_string(seed);
  Random random(seed);
  std::array<double, 2 * D> bounds, box;
  std::array<double, D> point;
  for (std::size_t k = 0; k < D; ++k) {  // numbers of which all sums are exact
    bounds[k] = static_cast<double>(random.below(9)) - 4;
    bounds[D + k] = bounds[k] + static_cast<double>(1 + random.below(7));
    point[k] = (static_cast<double>(random.below(4001)) - 2000) / (seed % 2 == 0 ? 4 : 256);
    box[k] = point[k];
    box[D + k] = box[k] + static_cast<double>(random.below(80)) / 8;
  }
  const auto from = point;
  const auto box_before = box;
  move_near<D>(bounds.data(), point.data());
  move_box_near<D>(bounds.data(), box.data());
  for (std::size_t k = 0; k < D; ++k) {
    const double low = bounds[k], high = bounds[D + k], period = high - low, width = box_before[D + k] - box_before[k];
    CHECK(std::fmod(point[k] - from[k], period) == 0);
    CHECK(low - period <= point[k] && point[k] <= high + period);
    if (low - period <= from[k] && from[k] <= high + period) CHECK(point[k] == from[k]);
    if (width >= period) {
      CHECK(box[k] == low && box[D + k] == high);
      continue;
    }
    CHECK(std::fmod(box[k] - box_before[k], period) == 0 && box[D + k] - box[k] == width);
    CHECK(low - period <= box[k] && box[k] <= high + period);
  }
}

template <std::size_t D>
void test_what_is_infinitely_far_away_stays_there() {
  current_case() = std::to_string(D) + " axes, infinitely far";
  std::array<double, 2 * D> bounds{}, box;
  std::array<double, D> point;
  for (std::size_t k = 0; k < D; ++k) {
    bounds[D + k] = 1;
    point[k] = box[k] = box[D + k] = k == 0 ? kInfinity : -kInfinity;
  }
  const auto place = point;
  const auto around = box;
  move_near<D>(bounds.data(), point.data());
  move_box_near<D>(bounds.data(), box.data());
  CHECK(point == place && box == around);
  box.fill(-kInfinity);
  std::fill_n(box.begin() + D, D, kInfinity);
  move_box_near<D>(bounds.data(), box.data());
  CHECK(box == bounds);
}

template <std::size_t D>
void test_a_ball_of_everything_reaches_the_middle_between_its_images() {
  std::array<double, 2 * D> bounds{};
  double squared = 0;
  for (std::size_t k = 0; k < D; ++k) {
    bounds[D + k] = static_cast<double>(3 + k);
    squared += bounds[D + k] * bounds[D + k];
  }
  const double radius = radius_of_everything<D>(bounds.data());
  CHECK(radius >= std::sqrt(squared) / 2 && radius < std::sqrt(squared) * 0.5000001);
}

template <std::size_t D>
void test_bodies_are_near_or_more_than_a_period_away() {
  current_case() = std::to_string(D) + " axes, near and far";
  std::array<double, 2 * D> bounds{};
  for (std::size_t k = 0; k < D; ++k) bounds[D + k] = 10;
  const auto box_at = [](double x) {
    std::array<double, 2 * D> box{};
    box[0] = x;
    for (std::size_t k = 0; k < D; ++k) box[D + k] = box[k] + 1;
    return box;
  };
  std::vector<double> boxes;
  for (const double x : {-1.0, 500.0, -10.0, 19.0, 19.5, -10.5}) {
    const auto box = box_at(x);
    boxes.insert(boxes.end(), box.begin(), box.end());
  }
  const NearAndFar<D> parts(boxes.data(), bounds.data(), {0, 1, 2, 3, 4, 5});
  CHECK((parts.far == std::vector<std::int32_t>{1, 4, 5}));
  CHECK(parts.around[0] == -10 && parts.around[D] == 20 && parts.around[1] == 0 && parts.around[D + 1] == 10);
  const NearAndFar<D> nobody(boxes.data(), bounds.data(), {});
  CHECK(nobody.far.empty() && nobody.around == bounds);
}

}  // namespace
}  // namespace broadphase::tests

int main() {
  using namespace broadphase::tests;
  for (std::uint64_t seed = 0; seed < 40; ++seed)
    for (const double length : {0.0, 1.0, 9.0, 30.0}) {
      test_images_hold_what_meets_bodies<2>(seed, length, seed % 2 == 0 ? 1 : 1000);
      test_images_hold_what_meets_bodies<3>(seed, length / 3, seed % 2 == 0 ? 1 : 1000);
    }
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    test_far_points_and_boxes_are_moved_by_whole_periods<2>(seed);
    test_far_points_and_boxes_are_moved_by_whole_periods<3>(seed);
  }
  test_what_is_infinitely_far_away_stays_there<2>();
  test_what_is_infinitely_far_away_stays_there<3>();
  test_a_ball_of_everything_reaches_the_middle_between_its_images<2>();
  test_a_ball_of_everything_reaches_the_middle_between_its_images<3>();
  test_bodies_are_near_or_more_than_a_period_away<2>();
  test_bodies_are_near_or_more_than_a_period_away<3>();
  test_boxes_without_images_and_with_too_many<2>();
  test_boxes_without_images_and_with_too_many<3>();
}
