// What moves by itself, and what becomes of it at the borders.
#include "world/motion.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "check.hpp"
#include "world/boundary.hpp"

namespace broadphase::tests {
namespace {

// Whole numbers, quarters, tiny and huge ones, and both zeros.
double some_number(Random& random) {
  switch (random.below(6)) {
    case 0: return random.chance(0.5) ? 0.0 : -0.0;
    case 1: return static_cast<double>(random.below(64)) / 4 - 8;
    case 2: return (random.uniform() - 0.5) * 1e-300;
    case 3: return (random.uniform() - 0.5) * 1e300;
    default: return (random.uniform() - 0.5) * 20;
  }
}

template <std::size_t D>
void check_integrate(Random& random) {
  constexpr std::size_t R = D == 2 ? 1 : 4, S = D == 2 ? 1 : 3;
  const std::size_t count = random.chance(0.05) ? 500 + random.below(600) : random.below(30);  // and several blocks
  current_case() = "integrate " + std::to_string(count) + " rows of " + std::to_string(D) + " numbers";
  const auto numbers = [&](std::size_t size) {
    std::vector<double> values(size);
    for (double& value : values) value = some_number(random);
    return values;
  };
  std::vector<double> from = numbers(count * D), turned_from = numbers(count * R);
  const std::vector<double> velocities = numbers(count * D), spins = numbers(count * S);
  std::vector<std::uint8_t> moves(count);
  const double share = static_cast<double>(random.below(3)) / 2;
  for (std::uint8_t& flag : moves) flag = random.chance(share);
  if (count > 0 && random.chance(0.3))
    (random.chance(0.5) ? from[random.below(count * D)] : turned_from[random.below(count * R)]) =
        std::numeric_limits<double>::quiet_NaN();
  const double dt = static_cast<double>(random.below(9)) / 4 - 1;
  std::vector<double> positions(count * D), rotations(count * R);
  FewRows shifted(count), rotated(count);
  const Motion<D> motion{from.data(), velocities.data(), turned_from.data(), spins.data(), moves.data(), dt};
  double reach = 0;
  const std::size_t lost =
      integrate_rows<D>(motion, 0, count, positions.data(), rotations.data(), reach, shifted, rotated);

  const auto same_bits = [](double a, double b) {
    return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
  };
  const auto is_lost = [&](std::size_t row) {
    if (moves[row] == 0 || dt == 0) return false;
    bool lost_here = false, is_turned = false, is_any = false;
    for (std::size_t k = row * D; k < (row + 1) * D; ++k) lost_here |= !std::isfinite(from[k] + velocities[k] * dt);
    for (std::size_t k = row * S; k < (row + 1) * S; ++k) is_turned |= spins[k] * dt != 0;
    for (std::size_t k = row * R; k < (row + 1) * R; ++k) {
      lost_here |= !std::isfinite(turned_from[k]);
      is_any |= turned_from[k] != 0;
    }
    return lost_here || (D == 3 && is_turned && !is_any);
  };
  for (std::size_t row = 0; row < std::min(lost, count); ++row) CHECK(!is_lost(row));
  if (lost < count) {
    CHECK(is_lost(lost));
    return;
  }
  const auto check_listed = [&](FewRows&& few, const std::vector<double>& before, const std::vector<double>& after,
                                std::size_t numbers_of_row) {
    std::vector<std::int32_t> changed;
    for (std::size_t row = 0; row < count; ++row)
      if (std::memcmp(&before[row * numbers_of_row], &after[row * numbers_of_row], numbers_of_row * sizeof(double)) !=
          0)
        changed.push_back(static_cast<std::int32_t>(row));
    CHECK(few.are_few() == (changed.size() <= count / 8));
    if (few.are_few()) CHECK(std::move(few).take() == changed);
  };
  check_listed(std::move(shifted), from, positions, D);
  check_listed(std::move(rotated), turned_from, rotations, R);
  for (std::size_t row = 0; row < count; ++row) {
    for (std::size_t k = row * D; k < (row + 1) * D; ++k) {
      const double step = velocities[k] * dt;
      CHECK(same_bits(positions[k], moves[row] == 0 || step == 0 ? from[k] : from[k] + step));
    }
    bool is_turned = false;
    for (std::size_t k = row * S; k < (row + 1) * S; ++k) is_turned |= moves[row] != 0 && spins[k] * dt != 0;
    double length = 0;
    for (std::size_t k = row * R; k < (row + 1) * R; ++k) {
      if (!is_turned) CHECK(same_bits(rotations[k], turned_from[k]));
      length += rotations[k] * rotations[k];
    }
    if (D == 3 && is_turned) CHECK(std::abs(length - 1) < 1e-14);
  }
}

// Of one axis of what is `size` long: an end within, and what is there stays there.
void check_bounce(Random& random) {
  const double from = some_number(random), size = random.uniform() * 4;
  const double to = from + random.uniform() * 10 + 1e-3;
  const double start = some_number(random), speed = some_number(random);
  double position = start, velocity = speed;
  bounce_within(difference_up(from, -size / 2), difference_down(to, size / 2), position, velocity);
  current_case() = "bounce of " + std::to_string(start) + " within " + std::to_string(from) + " and " +
                   std::to_string(to) + " with " + std::to_string(speed);
  CHECK(std::abs(velocity) == std::abs(speed));
  const double lowest = difference_up(from, -size / 2), highest = difference_down(to, size / 2);
  if (lowest < highest) CHECK(lowest <= position && position <= highest);
  const double place = position;
  bounce_within(lowest, highest, position, velocity);
  CHECK(position == place);
}

void check_wrap(Random& random) {
  const double from = random.chance(0.5) ? 0.0 : (random.uniform() - 0.5) * 100;
  const double to = from + random.uniform() * 10 + 1e-3, x = some_number(random);
  const double there = wrapped(from, to, x);
  current_case() = "wrap of " + std::to_string(x) + " to " + std::to_string(from) + " and " + std::to_string(to);
  CHECK(there >= from && there < to);
  if (x >= from && x < to) CHECK(std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(there));
  CHECK(wrapped(from, to, there) == there);
}

void check_differences(Random& random) {
  const double a = some_number(random), b = some_number(random);
  current_case() = "difference of " + std::to_string(a) + " and " + std::to_string(b);
  const double up = difference_up(a, b), down = difference_down(a, b), nearest = a - b;
  CHECK(down <= nearest && nearest <= up);
  CHECK(down == up || std::nextafter(down, up) == up);
}

}  // namespace
}  // namespace broadphase::tests

int main(int argc, char** argv) {
  using namespace broadphase::tests;
  Random random(11);
  for (std::size_t round = rounds(argc, argv, 5000); round > 0; --round) {
    check_integrate<2>(random);
    check_integrate<3>(random);
    for (int k = 0; k < 10; ++k) {
      check_bounce(random);
      check_wrap(random);
      check_differences(random);
    }
  }
  return 0;
}
