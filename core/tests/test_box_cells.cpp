// Boxes kept in cells: what each query finds is what a plain loop finds, on every level and any number of threads.
#include "grid/box_cells.hpp"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "methods.hpp"
#include "scenes.hpp"

namespace broadphase::tests {
namespace {

template <class T>
void check_queries(const Boxes<T>& boxes, const Boxes<T>& queries, std::size_t dimension, const std::string& name,
                   bool suits = true) {
  Problem<T> problem;
  problem.first = queries.view;
  problem.second = boxes.view;
  problem.dimension = dimension;
  problem.cross = true;
  const PairList expected = plain_pairs(problem);
  for_each_level([&](const Kernels& kernels) {
    for (const unsigned workers : {1u, 3u}) {
      current_case() = name + ", " + describe(problem) + ", " + kernels.level + ", workers " + std::to_string(workers);
      Interrupt never;
      BoxCells<T> cells;
      const bool is_filed = cells.file(boxes.view, dimension, kernels, workers, never);
      CHECK(is_filed || !suits);
      if (!is_filed) continue;
      const auto found = cells.find(boxes.view, queries.view, kernels, workers, never);
      CHECK(found.has_value() || !suits);
      if (!found) continue;
      CHECK(found->offsets.size() == queries.view.count + 1 && found->offsets[0] == 0);
      CHECK(found->rows.size() == expected.size());
      PairList pairs;
      for (std::size_t query = 0; query < queries.view.count; ++query)
        for (std::int64_t at = found->offsets[query]; at < found->offsets[query + 1]; ++at)
          pairs.emplace_back(static_cast<std::int32_t>(query), found->rows[static_cast<std::size_t>(at)]);
      CHECK(pairs == expected);
    }
  });
}

// Most of them small, a few up to as large as the scene.
template <class T>
Boxes<T> uneven_boxes(Random& random, std::size_t count, std::size_t dimension, double size, double spread,
                      std::size_t layout) {
  std::vector<T> lower, upper;
  for (std::size_t row = 0; row < count; ++row) {
    const double own = size * std::exp(spread * (random.uniform() + random.uniform() + random.uniform() - 1.5));
    for (std::size_t k = 0; k < dimension; ++k) {
      lower.push_back(static_cast<T>(random.uniform() * 1000));
      upper.push_back(static_cast<T>(static_cast<double>(lower.back()) + own * random.uniform()));
    }
  }
  return Boxes<T>(lower, upper, dimension, layout);
}

template <class T>
void check_all(Random& random) {
  for (std::size_t dimension = 1; dimension <= 4; ++dimension) {
    const double each = 1000 / std::pow(1500.0, 1 / static_cast<double>(dimension));
    for (const double spread : {0.0, 2.0}) {
      const Boxes<T> boxes = uneven_boxes<T>(random, 1500, dimension, each, spread, random.below(3));
      const Boxes<T> queries = uneven_boxes<T>(random, 700, dimension, each, spread, random.below(3));
      check_queries(boxes, queries, dimension, "uneven boxes");
    }
    // Numbers that are equal, and corners at infinity.
    for (const double infinite : {0.0, 0.01}) {
      SceneOptions options;
      options.dimension = dimension;
      options.count = 600;
      options.cells = dimension == 1 ? 400 : dimension == 2 ? 40 : 12;
      options.infinite = infinite;
      options.origin = -3;
      options.layout = random.below(3);
      const Boxes<T> boxes = lattice_boxes<T>(random, options);
      options.count = 300;
      options.largest = 5;
      check_queries(boxes, lattice_boxes<T>(random, options), dimension, "a lattice", infinite == 0);
    }
    // One query finds more than the usual room holds, in many cells; others are far outside.
    const Boxes<T> boxes = uneven_boxes<T>(random, 70000, dimension, each / 8, 0, 0);
    std::vector<T> lower, upper;
    for (const double low : {-10.0, 5000.0, 300.0, -7000.0, 0.0})
      for (std::size_t k = 0; k < dimension; ++k) {
        lower.push_back(static_cast<T>(low));
        upper.push_back(static_cast<T>(low == -10.0 ? 1010.0 : low + 20));
      }
    for (std::size_t k = 0; k < 600 * dimension; ++k) lower.push_back(-1), upper.push_back(-1);
    check_queries(boxes, Boxes<T>(lower, upper, dimension, 0), dimension, "a query as large as the scene");
  }
}

// Where cells do not suit the boxes or the queries, there is no answer, and no harm.
template <class T>
void check_refused(Random& random) {
  std::size_t levels = 0;
  const Kernels& kernels = *available_kernels(levels)[0];
  Interrupt never;
  current_case() = "crowded boxes";
  BoxCells<T> crowded;
  const std::vector<T> corners(2 * 3000, T(0.25));
  CHECK(!crowded.file(Boxes<T>(corners, corners, 2, 0).view, 2, kernels, 1, never));
  current_case() = "boxes as large as the scene";
  BoxCells<T> large;
  const Boxes<T> wide = uneven_boxes<T>(random, 3000, 2, 900, 0, 0);
  CHECK(!large.file(wide.view, 2, kernels, 1, never));
  current_case() = "queries of many cells that are empty";
  BoxCells<T> cells;
  std::vector<T> along;
  for (std::size_t row = 0; row < 20000; ++row) along.insert(along.end(), 2, static_cast<T>(random.uniform() * 1000));
  const Boxes<T> boxes(along, along, 2, 0);
  const std::vector<T> below(2 * 40, T(0)), above(2 * 40, T(1000));
  std::vector<T> beside = below, corner = above;
  for (std::size_t k = 0; k < beside.size(); k += 2) beside[k + 1] = 501, corner[k] = 500;
  CHECK(cells.file(boxes.view, 2, kernels, 1, never) && cells.bytes() > 20000);
  CHECK(!cells.find(boxes.view, Boxes<T>(beside, corner, 2, 0).view, kernels, 1, never));
  CHECK(cells.find(boxes.view, boxes.view, kernels, 1, never));
  current_case() = "queries as large as the scene";
  check_queries(boxes, Boxes<T>(below, above, 2, 0), 2, "queries as large as the scene");
}

// Where there are few of both, all are compared; more of them are sampled.
template <class T>
void check_boxes_of_query(Random& random) {
  for_each_level([&](const Kernels& kernels) {
    for (std::size_t dimension = 1; dimension <= 4; ++dimension)
      for (const std::size_t count : {0u, 1u, 2u, 255u, 257u, 512u, 20000u})
        for (const std::size_t asked : {0u, 1u, 32u, 5000u}) {
          Problem<T> problem;
          const Boxes<T> boxes = uneven_boxes<T>(random, count, dimension, 600, 0.5, random.below(3));
          const Boxes<T> queries = uneven_boxes<T>(random, asked, dimension, 600, 0.5, random.below(3));
          current_case() = std::to_string(count) + " boxes, " + std::to_string(asked) + " queries, " + kernels.level;
          const double found = boxes_of_query(boxes.view, queries.view, dimension, kernels);
          if (count > 512 || asked > 32) {
            CHECK((found > 0) == (count > 0 && asked > 0) || count < 3);
            continue;
          }
          problem.first = queries.view;
          problem.second = boxes.view;
          problem.dimension = dimension;
          problem.cross = true;
          const auto pairs = static_cast<double>(plain_pairs(problem).size());
          CHECK(std::fabs(found * static_cast<double>(asked) - pairs) < 1e-6 * (pairs + 1));
        }
  });
}

void check_marks(Random& random) {
  RowMarks marks;
  for (const std::size_t limit : {1u, 64u, 5000u, 300000u, 40000000u})
    for (const std::size_t wanted : {1u, 2u, 17u, 600u}) {
      current_case() = std::to_string(wanted) + " rows below " + std::to_string(limit);
      std::vector<std::int32_t> rows;
      for (std::size_t k = 0; k < wanted; ++k) rows.push_back(static_cast<std::int32_t>(random.below(limit)));
      rows.front() = static_cast<std::int32_t>(limit - 1);
      std::sort(rows.begin(), rows.end());
      rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
      std::vector<std::int32_t> mixed = rows;
      for (std::size_t k = mixed.size(); k > 1; --k) std::swap(mixed[k - 1], mixed[random.below(k)]);
      marks.sort(mixed.data(), mixed.size(), limit);
      CHECK(mixed == rows);
    }
}

}  // namespace
}  // namespace broadphase::tests

int main() {
  using namespace broadphase::tests;
  Random random(1);
  check_all<float>(random);
  check_all<double>(random);
  check_refused<float>(random);
  check_refused<double>(random);
  check_boxes_of_query<float>(random);
  check_boxes_of_query<double>(random);
  check_marks(random);
}
