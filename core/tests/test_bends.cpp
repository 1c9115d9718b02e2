// Routes that bend at the boundary: in one piece, within the world, as long as they were.
#include "world/meetings.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "check.hpp"

namespace broadphase::tests {
namespace {

bool is_near(double a, double b) { return std::abs(a - b) <= 1e-9; }

template <std::size_t D>
void check_bent_route(Random& random) {
  const bool reflects = random.chance(0.5);
  current_case() = (reflects ? "reflected in " : "wrapped in ") + std::to_string(D) + "-d";
  Room<D> room;
  std::array<double, D> begin, motion;
  const bool is_whole = random.chance(0.3);  // begins and turns at the boundary, and at several at once
  for (std::size_t k = 0; k < D; ++k) {
    const auto any = [&](double size) { return (random.uniform() - 0.5) * size; };
    room.origin[k] = is_whole ? -1 : any(4);
    room.period[k] = is_whole ? 2 : 1 + 2 * random.uniform();
    begin[k] = is_whole ? static_cast<double>(random.below(2)) - 1 : room.origin[k] + room.period[k] * random.uniform();
    motion[k] = random.chance(0.2) ? 0.0 : is_whole ? std::round(any(24)) : any(40);
  }
  std::vector<double> times;
  std::vector<RoutePart<D>> parts(1);  // what is there stays
  add_bent_route(7, begin.data(), motion, room, reflects, times, parts);
  CHECK(parts.size() == 2 + static_cast<std::size_t>(bends_of(begin.data(), motion, room)));
  std::array<double, D> length{}, end{};
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const RoutePart<D>& part = parts[i];
    CHECK(part.row == 7);
    CHECK(part.since == (i == 1 ? 0.0 : parts[i - 1].until) && part.since <= part.until);
    for (std::size_t k = 0; k < D; ++k) {
      const double from = room.origin[k] - 1e-9, to = room.origin[k] + room.period[k] + 1e-9;
      if (i == 1 && begin[k] + 1e-9 < to) CHECK(part.until == 0 || is_near(part.begin[k], begin[k]));
      if (i > 1) {
        double jump = part.begin[k] - end[k];
        if (!reflects) jump -= std::round(jump / room.period[k]) * room.period[k];
        CHECK(part.since == part.until || is_near(jump, 0));
      }
      end[k] = part.begin[k] + part.motion[k];
      CHECK(part.since == part.until ||
            (part.begin[k] >= from && part.begin[k] <= to && end[k] >= from && end[k] <= to));
      length[k] += std::abs(part.motion[k]);
    }
  }
  CHECK(parts.back().until == 1);
  std::array<double, D> now;
  for (std::size_t k = 0; k < D; ++k) {
    CHECK(is_near(length[k], std::abs(motion[k])));
    // Where it ends, by the triangle wave or the remainder.
    const double size = room.period[k], route = begin[k] + motion[k] - room.origin[k],
                 turn = reflects ? 2 * size : size;
    const double there = route - std::floor(route / turn) * turn;
    now[k] = room.origin[k] + (there > size ? turn - there : there);
  }
  if (reflects && parts.back().since < 1) CHECK(arrives(parts, 1, now.data(), room));
  now[random.below(D)] += 0.01;
  CHECK(!arrives(parts, 1, now.data(), room));
}

void check_counts() {
  current_case() = "counts of bends";
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Room<2> room{{0, 0}, {16, 16}};
  const auto bends = [&](double x, double y) {
    const double begin[2] = {4, 4};
    return bends_of<2>(begin, {x, y}, room);
  };
  CHECK(bends(0, 0) == 0 && bends(11.99, -4) == 0 && bends(12, -4.01) == 2);
  CHECK(bends(16.0 * kMostBends, 0) == kMostBends && bends(16.0 * kMostBends + 12, 0) == kMostBends + 1);
  CHECK(bends(-16.0 * kMostBends, 0) == kMostBends && bends(0, 16.0 * (kMostBends + 1)) == kMostBends + 1);
  CHECK(bends(kInfinity, 0) == kInfinity && bends(-kInfinity, kInfinity) == kInfinity);
  const double origin[2] = {0, 0};
  CHECK(bends_of<2>(origin, {1, 1}, {{0, 0}, {kInfinity, 1}}) == 1);
  CHECK(bends_of<2>(origin, {1, 1}, {{-kInfinity, 0}, {kInfinity, 1}}) == kInfinity);
  CHECK(bends_of<2>(origin, {1e300, 0}, {{0, 0}, {1e-300, 1}}) == kInfinity);
}

}  // namespace
}  // namespace broadphase::tests

int main(int argc, char** argv) {
  using namespace broadphase::tests;
  Random random(21);
  check_counts();
  for (std::size_t round = rounds(argc, argv, 5000); round > 0; --round) {
    check_bent_route<2>(random);
    check_bent_route<3>(random);
  }
  return 0;
}
