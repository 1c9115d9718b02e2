// Samples: one place in each stretch, fixed, and at no stride.
#include "base/samples.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>
#include <string>
#include <vector>

#include "check.hpp"

namespace broadphase::tests {
namespace {

template <class Sample>
std::vector<std::size_t> places_of(std::size_t count, std::size_t most, std::uint64_t draw = 0) {
  const Sample sample(count, most, draw);
  std::vector<std::size_t> places(sample.size());
  for (std::size_t k = 0; k < places.size(); ++k) places[k] = sample[k];
  return places;
}

void check_places(std::size_t count, std::size_t most) {
  current_case() = std::to_string(most) + " of " + std::to_string(count);
  std::vector<std::size_t> places = places_of<RandomSample>(count, most);
  CHECK(places.size() == std::min(count, most));
  CHECK(places == places_of<RandomSample>(count, most));
  std::sort(places.begin(), places.end());
  CHECK(std::adjacent_find(places.begin(), places.end()) == places.end());
  CHECK(places.empty() || places.back() < count);

  places = places_of<StratifiedSample>(count, most);
  CHECK(places.size() == std::min(count, most));
  CHECK(places == places_of<StratifiedSample>(count, most));
  for (std::size_t k = 0; k < places.size(); ++k) {
    CHECK(places[k] < count);
    CHECK(k == 0 || places[k] > places[k - 1]);
    // Its stretch, which may begin and end one place to the side of the quotient.
    const auto length = static_cast<long double>(count) / static_cast<long double>(places.size());
    const auto at = static_cast<long double>(places[k]), number = static_cast<long double>(k);
    CHECK(at > number * length - 2 && at < (number + 1) * length + 1);
  }
}

// The mean of unit vectors, one turn for a period, is near zero where residues are spread, and 1 where they are equal.
double concentration(const std::vector<std::size_t>& places, std::size_t period) {
  double x = 0, y = 0;
  for (const std::size_t place : places) {
    const double turn = 2 * std::numbers::pi * static_cast<double>(place % period) / static_cast<double>(period);
    x += std::cos(turn);
    y += std::sin(turn);
  }
  return std::hypot(x, y) / static_cast<double>(places.size());
}

template <class Sample>
void check_periods(std::size_t count, std::size_t most) {
  const std::vector<std::size_t> places = places_of<Sample>(count, most);
  for (std::size_t period = 2; period <= std::min<std::size_t>((1u << 21) / most, count / 8); ++period) {
    current_case() =
        std::to_string(most) + " of " + std::to_string(count) + ", rows in a period of " + std::to_string(period);
    // Six deviations of what independent places would give.
    CHECK(concentration(places, period) < 6 / std::sqrt(2 * static_cast<double>(most)));
    if (most < 16 * period) continue;
    std::vector<double> found(period);
    for (const std::size_t place : places) ++found[place % period];
    const double expected = static_cast<double>(most) / static_cast<double>(period);
    for (const double times : found) CHECK(std::fabs(times - expected) < 6 * std::sqrt(expected));
  }
}

std::size_t common(const std::vector<std::size_t>& a, const std::vector<std::size_t>& b) {
  const std::set<std::size_t> of_a(a.begin(), a.end());
  return static_cast<std::size_t>(std::count_if(b.begin(), b.end(), [&](std::size_t x) { return of_a.contains(x); }));
}

// Sets that follow each other, and two sets of as many rows: few rows are sampled with their copy.
template <class Sample>
void check_copies(std::size_t count, std::size_t copies) {
  constexpr std::size_t kMost = 512;
  current_case() = std::to_string(copies) + " copies of " + std::to_string(count);
  std::vector<std::size_t> originals;
  for (const std::size_t place : places_of<Sample>(count * copies, kMost)) originals.push_back(place % count);
  CHECK(std::set<std::size_t>(originals.begin(), originals.end()).size() > kMost - 16);
  CHECK(common(places_of<Sample>(count, kMost), places_of<Sample>(count, kMost, 1)) < 16);
}

// How many pairs of places are near each other, against those of places drawn independently. By it the boxes that meet
// are estimated, where rows are in the order of space.
void check_near_pairs(std::size_t count, std::size_t most) {
  std::vector<std::size_t> places = places_of<RandomSample>(count, most);
  std::sort(places.begin(), places.end());
  for (const std::size_t part : {200u, 1000u, 4000u}) {
    const std::size_t near = count / part;
    current_case() = std::to_string(most) + " of " + std::to_string(count) + ", nearer than " + std::to_string(near);
    double found = 0;
    for (std::size_t i = 0; i < places.size(); ++i)
      for (std::size_t j = i + 1; j < places.size() && places[j] - places[i] <= near; ++j) ++found;
    const auto n = static_cast<double>(most);
    const double expected = n * (n - 1) / static_cast<double>(part);
    CHECK(std::fabs(found - expected) < 5 * std::sqrt(expected) + 1);
  }
}

// The same on every machine and in every version: answers do not depend on it, but how long they take does.
void check_fixed() {
  current_case() = "fixed places";
  CHECK((places_of<RandomSample>(1'000'000, 4) == std::vector<std::size_t>{130819, 740051, 251109, 381057}));
  CHECK((places_of<StratifiedSample>(1'000'000, 4) == std::vector<std::size_t>{212461, 423895, 724396, 771913}));
}

}  // namespace
}  // namespace broadphase::tests

int main() {
  using namespace broadphase;
  using namespace broadphase::tests;
  for (std::size_t count = 0; count < 70; ++count)
    for (std::size_t most = 0; most < 70; ++most) check_places(count, most);
  for (const std::size_t count :
       {511u, 512u, 513u, 767u, 1023u, 1024u, 1025u, 4096u, 1000003u, 4294967291u, 4294967295u})
    for (const std::size_t most : {1u, 2u, 3u, 8u, 31u, 255u, 256u, 512u, 4096u}) check_places(count, most);
  for (int bits = 32; bits < 64; ++bits)
    for (const std::size_t more : {0u, 1u, 12345u})
      for (const std::size_t most : {1u, 7u, 64u, 500u, 512u, 100000u}) {
        check_places((std::size_t{1} << bits) + more, most);
        check_places((std::size_t{1} << bits) - more - 1, most);
      }
  for (const std::size_t count : {1u << 15, 1u << 18, 1u << 20, 1024u * 1023u, 512u * 511u, 1'000'000u, 999'983u})
    for (const std::size_t most : {64u, 512u, 4096u}) {
      check_periods<StratifiedSample>(count, most);
      check_periods<RandomSample>(count, most);
    }
  for (const std::size_t count : {100'000u, 500'000u, 1u << 18})
    for (const std::size_t copies : {2u, 3u, 8u, 64u}) {
      check_copies<StratifiedSample>(count, copies);
      check_copies<RandomSample>(count, copies);
    }
  for (std::size_t count = 60'000; count < 70'000'000; count += count / 3)
    for (const std::size_t most : {128u, 512u}) check_near_pairs(count, most);
  check_fixed();
}
