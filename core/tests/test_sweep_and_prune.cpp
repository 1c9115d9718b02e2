// Directions, void borders and queries of single boxes.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "methods.hpp"
#include "query/ragged.hpp"
#include "sweep/sweep_and_prune.hpp"
#include "sweep/sweep_index.hpp"

namespace broadphase::tests {
namespace {

template <class T>
Problem<T> problem_of(const Boxes<T>& boxes, std::size_t dimension) {
  Problem<T> problem;
  problem.first = boxes.view;
  problem.dimension = dimension;
  return problem;
}

SweepDirection random_direction(Random& random, std::size_t dimension) {
  SweepDirection direction;
  if (random.chance(0.5)) {
    direction.axis = static_cast<int>(random.below(dimension));
    return direction;
  }
  direction.axis = -1;
  for (std::size_t k = 0; k < dimension; ++k) direction.weight[k] = random.chance(0.2) ? 0 : random.uniform() * 2 - 1;
  direction.weight[random.below(dimension)] = random.chance(0.5) ? 1 : -0.7;
  return direction;
}

SceneOptions random_options(Random& random) {
  SceneOptions options;
  options.dimension = 1 + random.below(4);
  options.count = random.below(random.chance(0.1) ? 600 : 80);
  options.layout = random.below(3);
  options.cells = 1 + random.below(random.chance(0.5) ? 8 : 300);
  options.infinite = random.chance(0.3) ? 0.05 : 0;
  options.step = random.chance(0.5) ? 0.1 : 1;
  options.origin = random.chance(0.3) ? -12345.678 : 0;
  return options;
}

// Boxes that overlap have intervals that do, whatever the direction and the rounding.
template <class T>
void check_intervals(const Problem<T>& problem, const SweepDirection& direction) {
  const auto interval = [&](std::size_t row) {
    return interval_along(direction, problem.first.lower_of(row), problem.first.upper_of(row), problem.dimension,
                          problem.grow);
  };
  for (const auto& [i, j] : plain_pairs(problem)) {
    const auto a = interval(static_cast<std::size_t>(i)), b = interval(static_cast<std::size_t>(j));
    CHECK(a.begin <= b.end && b.begin <= a.end);
  }
}

template <class T>
void check_directions(std::uint64_t seed) {
  Random random(seed);
  SceneOptions options = random_options(random);
  const Boxes<T> first = lattice_boxes<T>(random, options);
  options.count = random.below(50);
  const Boxes<T> second = lattice_boxes<T>(random, options);
  const SweepDirection direction = random_direction(random, options.dimension);
  Problem<T> problem = problem_of(first, options.dimension);
  problem.grow = random.chance(0.5) ? T(0) : T(0.3);
  check_intervals(problem, direction);
  problem.second = second.view;
  std::size_t levels = 0;
  const Kernels& kernels = *available_kernels(levels)[0];
  for (const bool cross : {false, true})
    for (const bool touching : {true, false}) {
      problem.cross = cross;
      problem.touching = touching;
      current_case() = describe(problem) + ", seed " + std::to_string(seed);
      const PairList expected = plain_pairs(problem);
      for (const SweepDirection& along : {direction, principal_direction(problem.first, options.dimension)}) {
        const SweepAndPrune<T> method(problem, {kernels, 1, never}, along);
        CHECK(pairs_of(method, nullptr, 1) == expected);
        CHECK(count_of(method, nullptr, 2) == expected.size());
        CHECK(method.candidate_count() >= expected.size());
      }
    }
}

template <class T>
void check_questions(std::uint64_t seed) {
  Random random(seed);
  SceneOptions options = random_options(random);
  const Boxes<T> boxes = lattice_boxes<T>(random, options);
  options.count = random.below(20);
  const Boxes<T> queries = lattice_boxes<T>(random, options);
  Problem<T> problem = problem_of(boxes, options.dimension);
  problem.second = queries.view;
  current_case() = describe(problem) + ", seed " + std::to_string(seed);
  const SweepDirection direction = random_direction(random, options.dimension);
  std::size_t n = boxes.view.count;
  for_each_level([&](const Kernels& kernels) {
    Interrupt never;
    const SortedIntervals<T> sorted(boxes.view, options.dimension, true, T(0), direction, never);
    const Interference<T> index(sorted, kernels);
    CHECK(pairs_of(SweepAndPrune<T>(sorted, kernels), nullptr, 1) == plain_pairs(problem));
    using Scratch = typename Interference<T>::Scratch;
    std::vector<std::size_t> position(n);
    for (std::size_t k = 0; k < n; ++k) position[static_cast<std::size_t>(sorted.rows()[k])] = k;
    for (const unsigned workers : {1u, 3u}) {
      const RaggedBlocks own = collect_ragged<Scratch>(
          n, n, workers, never,
          [&](std::size_t k, Scratch& s, auto& rows) { index.query_position(position[n - 1 - k], s, rows); });
      CHECK(own.offsets.size() == n + 1 && own.offsets[n] == static_cast<std::int64_t>(own.rows.size()));
      for (std::size_t k = 0; k < n; ++k) {
        std::vector<std::int32_t> expected;
        for (std::size_t j = 0; j < n; ++j)
          if (j != n - 1 - k && plainly_overlap(problem, n - 1 - k, j)) expected.push_back(static_cast<int>(j));
        CHECK(std::equal(expected.begin(), expected.end(), own.rows.get() + own.offsets[k],
                         own.rows.get() + own.offsets[k + 1]));
      }
      const RaggedBlocks other =
          collect_ragged<Scratch>(queries.view.count, n, workers, never, [&](std::size_t k, Scratch& s, auto& rows) {
            index.query(queries.view.lower_of(k), queries.view.upper_of(k), s, rows);
          });
      Problem<T> cross = problem;
      cross.cross = true;
      for (std::size_t k = 0; k < queries.view.count; ++k) {
        std::vector<std::int32_t> expected;
        for (std::size_t j = 0; j < n; ++j)
          if (plainly_overlap(cross, j, k)) expected.push_back(static_cast<int>(j));
        CHECK(std::equal(expected.begin(), expected.end(), other.rows.get() + other.offsets[k],
                         other.rows.get() + other.offsets[k + 1]));
      }
    }
  });
}

// A border lies where no interval is; between two borders, intervals cover everything.
template <class T>
void check_void_borders(std::uint64_t seed) {
  Random random(seed);
  SceneOptions options = random_options(random);
  options.cells = 1 + random.below(3 * options.count + 2);
  const Boxes<T> boxes = lattice_boxes<T>(random, options);
  current_case() = "void borders, seed " + std::to_string(seed);
  std::size_t levels = 0;
  const SweepDirection direction{0, {}};
  Interrupt never;
  const SortedIntervals<T> sorted(boxes.view, options.dimension, true, T(0), direction, never);
  const Interference<T> index(sorted, *available_kernels(levels)[0]);
  const auto borders = index.void_borders();
  for (const auto& border : borders) {
    CHECK(border.end < border.begin);
    bool ends = false, begins = false;
    for (std::size_t row = 0; row < boxes.view.count; ++row) {
      const T begin = boxes.view.lower_of(row)[0], end = boxes.view.upper_of(row)[0];
      CHECK(end <= border.end || begin >= border.begin);
      ends |= end == border.end;
      begins |= begin == border.begin;
    }
    CHECK(ends && begins);
  }
  // Every gap is found: walking from end to begin, the boxes never leave one that is not in the list.
  std::size_t gaps = 0;
  for (std::size_t row = 0; row < boxes.view.count; ++row) {
    // The end of this box is the end of a gap if no other box holds it or goes on behind it, and one begins later.
    const T end = boxes.view.upper_of(row)[0];
    bool covered = false, later = false, first = true;
    for (std::size_t other = 0; other < boxes.view.count; ++other) {
      const T b = boxes.view.lower_of(other)[0], e = boxes.view.upper_of(other)[0];
      covered |= b <= end && e > end;
      later |= b > end;
      first &= !(e == end && other < row);
    }
    gaps += !covered && later && first;
  }
  CHECK(gaps == borders.size());
}

void check_choice_of_axis() {
  Random random(7);
  std::vector<float> lower, upper;
  for (std::size_t k = 0; k < 2000; ++k)
    for (const double spread : {1.0, 50.0, 5.0}) {
      lower.push_back(static_cast<float>(spread * random.uniform()));
      upper.push_back(lower.back() + 0.1f);
    }
  const Boxes<float> spread(lower, upper, 3, 0);
  current_case() = "spread along axis 1";
  CHECK(best_axis(problem_of(spread, 3)).axis == 1);
  // As widely spread, but with long boxes: the axis with fewer intervals over each other is better.
  for (std::size_t k = 1; k < upper.size(); k += 3) upper[k] += 40;
  const Boxes<float> sticks(lower, upper, 3, 0);
  current_case() = "sticks along axis 1";
  CHECK(best_axis(problem_of(sticks, 3)).axis == 2);
}

void check_principal_direction() {
  Random random(9);
  std::vector<double> lower, upper;
  for (std::size_t k = 0; k < 500; ++k) {
    const double along = random.uniform() * 2 - 1, beside = 0.01 * random.uniform();
    for (const double x : {3 * along + 1e3, 4 * along - beside, 0.1 * beside}) {
      lower.push_back(x * 1e200);
      upper.push_back(x * 1e200);
    }
  }
  current_case() = "principal direction";
  for (const std::size_t layout : {0u, 1u, 2u}) {
    const Boxes<double> boxes(lower, upper, 3, layout);
    const SweepDirection direction = principal_direction(boxes.view, 3);
    CHECK(direction.axis < 0);
    CHECK(std::abs(direction.weight[0] - 0.6) < 0.01 && std::abs(direction.weight[1] - 0.8) < 0.01);
  }
  // The axis that varies most by itself is at right angles to the direction that does.
  lower.clear();
  for (std::size_t k = 0; k < 400; ++k) {
    const double x = random.uniform() - 0.5, z = 1.2 * (random.uniform() - 0.5);
    lower.insert(lower.end(), {x, x + 0.01 * random.uniform(), z});
  }
  const SweepDirection diagonal = principal_direction(Boxes<double>(lower, lower, 3, 0).view, 3);
  CHECK(std::abs(diagonal.weight[0] - std::sqrt(0.5)) < 0.05 && std::abs(diagonal.weight[2]) < 0.3);
  const std::vector<double> same(30, 4.0);
  CHECK(principal_direction(Boxes<double>(same, same, 3, 0).view, 3).axis == 0);
  CHECK(principal_direction(BoxView<double>{}, 3).axis == 0);
}

// Runs that are longer than a task are cut; nothing is lost at the cuts.
void check_long_runs() {
  constexpr std::size_t kCount = 3000, kMany = 1'500'000;
  const std::vector<float> zeros(2 * kCount, 0.0f);
  const Boxes<float> equal(zeros, zeros, 2, 0);
  std::size_t levels = 0;
  for_each_level([&](const Kernels& kernels) {
    current_case() = std::string("equal boxes, ") + kernels.level;
    const SweepAndPrune<float> method(problem_of(equal, 2), {kernels, 1, never});
    CHECK(method.task_count() > 2);
    CHECK(count_of(method, nullptr, 2) == kCount * (kCount - 1) / 2);
    CHECK(pairs_of(method, nullptr, 2).size() == kCount * (kCount - 1) / 2);
  });
  std::vector<float> lower(kMany), upper(kMany);
  std::iota(lower.begin(), lower.end(), 0.0f);
  std::iota(upper.begin(), upper.end(), 0.5f);
  upper[0] = static_cast<float>(kMany);
  current_case() = "one long box";
  const Boxes<float> line(lower, upper, 1, 1);
  const SweepAndPrune<float> method(problem_of(line, 1), {*available_kernels(levels)[0], 1, never});
  CHECK(method.task_count() >= 2);
  CHECK(count_of(method, nullptr, 1) == kMany - 1);
  CHECK(pairs_of(method, nullptr, 2).size() == kMany - 1);
}

// Calls check(kernels, expected) for every level, one set and two, closed and open, with the pairs by brute force.
template <class T, class Check>
void for_each_search(const std::string& name, Problem<T>& problem, const Check& check) {
  for (const bool cross : {false, true})
    for (const bool touching : {true, false}) {
      problem.cross = cross;
      problem.touching = touching;
      const PairList expected = pairs_by_brute_force(problem);
      for_each_level([&](const Kernels& kernels) {
        current_case() = name + ", " + kernels.level + ", " + describe(problem);
        check(kernels, expected);
      });
    }
}

// Boxes of which a share is long: place(is_long, axis) gives the lower corner and the size along an axis.
template <class T, class Place>
Boxes<T> random_boxes(Random& random, std::size_t count, std::size_t dimension, double long_share, Place&& place) {
  std::vector<T> lower, upper;
  for (std::size_t k = 0; k < count; ++k) {
    const bool is_long = random.chance(long_share);
    for (std::size_t d = 0; d < dimension; ++d) {
      const auto [begin, size] = place(is_long, d);
      lower.push_back(begin);
      upper.push_back(begin + size);
    }
  }
  return Boxes<T>(lower, upper, dimension, 0);
}

// Runs of no column, of a few and of nearly all side by side: tested to their ends, or up to a point and then in tiles.
template <class T>
void check_unlike_runs(std::uint64_t seed) {
  Random random(seed);
  const std::size_t dimension = 2 + seed % 3;
  const auto make = [&](std::size_t count) {
    return random_boxes<T>(random, count, dimension, 0.02, [&](bool is_long, std::size_t d) {
      // Whole numbers: many touch, and some have no interior.
      const auto lower = static_cast<T>(random.below(d == 0 ? 1000 : 20));
      return std::pair(lower, static_cast<T>(std::floor((d == 0 && is_long ? 1000 : 1) * 3 * random.uniform())));
    });
  };
  const Boxes<T> first = make(3000), second = make(2000);
  Problem<T> problem = problem_of(first, dimension);
  problem.second = second.view;
  for_each_search("unlike runs", problem, [&](const Kernels& kernels, const PairList& expected) {
    const SweepAndPrune<T> method(problem, {kernels, 1, never}, SweepDirection{0, {}});
    CHECK(pairs_of(method, nullptr, 1) == expected);
    CHECK(count_of(method, nullptr, 1) == expected.size());
    CHECK(method.candidate_count() >= expected.size());
  });
}

// Boxes whose corners differ by a few units in the last place of a double, or by more: equal as floats, or not.
Boxes<double> nearly_equal_boxes(Random& random, std::size_t count, std::size_t dimension, std::size_t kind) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double origin[] = {0, 1e9, -1e9, 0, 0}, scale[] = {1, 1, 1e-12, 1e200, 1e-320};
  std::vector<double> lower, upper;
  const auto near = [&](double x) {
    for (std::size_t k = random.below(3); k > 0; --k)
      x = std::nextafter(x, random.chance(0.5) ? kInfinity : -kInfinity);
    return x;
  };
  for (std::size_t k = 0; k < count * dimension; ++k) {
    const double at = static_cast<double>(random.below(6)), size = static_cast<double>(random.below(3));
    const double a = near(origin[kind] + scale[kind] * at), b = near(origin[kind] + scale[kind] * (at + size));
    const bool infinite = random.chance(0.01);
    lower.push_back(infinite && random.chance(0.7) ? -kInfinity : std::min(a, b));
    upper.push_back(infinite ? kInfinity : std::max(a, b));
  }
  return Boxes<double>(lower, upper, dimension, random.below(3));
}

// Doubles swept as floats: whatever is equal as floats is decided by the doubles, few at a time or many.
void check_rounded(std::uint64_t seed, std::size_t count) {
  Random random(seed);
  const std::size_t dimension = 3 + seed % 2, kind = random.below(5);
  const Boxes<double> first = nearly_equal_boxes(random, count, dimension, kind);
  const Boxes<double> second = nearly_equal_boxes(random, count / 2, dimension, kind);
  Problem<double> problem = problem_of(first, dimension);
  problem.second = second.view;
  problem.grow = random.chance(0.5) ? 0 : random.chance(0.5) ? 0.5 : 1e-16;
  const SweepDirection direction{static_cast<int>(random.below(dimension)), {}};
  const std::array<double, 4> place = place_among(first.view, dimension);
  for_each_search(
      "rounded, seed " + std::to_string(seed), problem, [&](const Kernels& kernels, const PairList& expected) {
        Interrupt never;
        const auto rows = [&](const BoxView<double>& boxes) {
          return rows_by_begin(boxes, dimension, problem.touching, problem.grow, direction, never);
        };
        RoundedSweep rounded(problem, {rows(first.view), rows(second.view)}, direction, place, never);
        // Exact where it is not worth it, too.
        rounded.sweep.prepare(rounded.first, rounded.second.get(), problem, kernels, never);
        CHECK(pairs_of(rounded.sweep, nullptr, 1) == expected);
        CHECK(count_of(rounded.sweep, nullptr, 2) == expected.size());
        CHECK(pairs_of(SweepAndPrune<double>(problem, {kernels, 1, never}, direction), nullptr, 2) == expected);
      });
}

// Numbers that only the doubles tell apart, far from the others: swept as they are, for as floats all of them would be
// tested.
void check_what_is_rounded() {
  const auto is_rounded = [](double step) {
    Random random(3);
    std::vector<double> lower, upper;
    for (std::size_t k = 0; k < 4000; ++k) {
      const double x = static_cast<double>(k % 2) * 1e9 + static_cast<double>(k % 200) * step;
      lower.insert(lower.end(), {x, random.uniform(), random.uniform()});
      for (const double size : {0.5 * step, 0.01, 0.01}) upper.push_back(lower[upper.size()] + size);
    }
    const Boxes<double> boxes(lower, upper, 3, 0);
    const Problem<double> problem = problem_of(boxes, 3);
    std::size_t levels = 0;
    const Kernels& kernels = *available_kernels(levels)[0];
    const SweepDirection direction{0, {}};
    Interrupt never;
    RoundedSweep rounded(problem, {rows_by_begin(boxes.view, 3, true, 0.0, direction, never), {}}, direction,
                         place_among(boxes.view, 3), never);
    return rounded.sweep.prepare(rounded.first, nullptr, problem, kernels, never);
  };
  current_case() = "what is rounded";
  CHECK(is_rounded(1e5));
  CHECK(!is_rounded(1e-6));
}

// Long boxes beside many small ones: tested in blocks, most of which are missed.
template <class T>
void check_blocks(std::uint64_t seed) {
  Random random(seed);
  const std::size_t dimension = 2 + seed % 3;
  const auto make = [&](std::size_t count) {
    return random_boxes<T>(random, count, dimension, 0.2, [&](bool is_long, std::size_t d) {
      const double at = d > 0 ? (is_long ? 43 : 0) : is_long ? -100 : 0;
      const auto lower = static_cast<T>(at + std::floor((d == 0 ? 100 : 44) * random.uniform()));
      return std::pair(lower, static_cast<T>(d > 0 ? 1 : is_long ? 250 : 0.2));
    });
  };
  const Boxes<T> first = make(5000), second = make(4500);
  Problem<T> problem = problem_of(first, dimension);
  problem.second = second.view;
  for_each_search("blocks", problem, [&](const Kernels& kernels, const PairList& expected) {
    const SweepAndPrune<T> method(problem, {kernels, 1, never}, SweepDirection{0, {}});
    CHECK(method.tests_blocks());
    CHECK(pairs_of(method, nullptr, 1) == expected);
    CHECK(count_of(method, nullptr, 2) == expected.size());
  });
}

// The end of a run, wherever the search for it begins.
void check_ends_of_runs(std::uint64_t seed) {
  Random random(seed);
  const std::size_t count = random.below(random.chance(0.5) ? 100 : 5000);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random.below(random.chance(0.5) ? 20 : 4000));
  std::sort(values.begin(), values.end());
  for (int k = 0; k < 100; ++k) {
    const std::size_t from = random.below(count + 1), guess = random.below(count + 100);
    const auto limit = static_cast<float>(random.below(4100));
    current_case() = "seed " + std::to_string(seed) + ", from " + std::to_string(from) + ", guess " +
                     std::to_string(guess) + ", limit " + std::to_string(limit);
    std::size_t closed = from, open = from;
    while (closed < count && values[closed] <= limit) ++closed;
    while (open < count && values[open] < limit) ++open;
    CHECK(end_of_run<true>(values.data(), from, count, guess, limit) == closed);
    CHECK(end_of_run<false>(values.data(), from, count, guess, limit) == open);
  }
}

}  // namespace
}  // namespace broadphase::tests

int main(int argc, char** argv) {
  using namespace broadphase::tests;
  const std::size_t scenes = rounds(argc, argv, 80);
  check_choice_of_axis();
  check_principal_direction();
  check_long_runs();
  check_what_is_rounded();
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    check_unlike_runs<float>(seed);
    check_unlike_runs<double>(seed);
    check_blocks<float>(seed);
    check_blocks<double>(seed);
    check_rounded(seed, 3000);
  }
  for (std::uint64_t seed = 0; seed < scenes; ++seed) {
    check_ends_of_runs(seed);
    check_directions<float>(seed);
    check_directions<double>(seed);
    check_rounded(seed, seed % 200);
    check_questions<float>(seed);
    check_questions<double>(seed);
    check_void_borders<float>(seed);
    check_void_borders<double>(seed);
  }
}
