// Points within a cutoff against a plain loop over all images, for each level and with several workers.
#include "neighbors/lists.hpp"
#include "neighbors/search.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "check.hpp"
#include "methods.hpp"

namespace broadphase::tests {
namespace {

// A pair of rows, the shift of the second, and their distance.
using Row = std::tuple<std::int32_t, std::int32_t, Shift, double>;

std::vector<Row> in_order(std::vector<Row> rows) {
  std::sort(rows.begin(), rows.end());
  return rows;
}

// `most`: no shift of a pair has a larger number.
std::vector<Row> plain_neighbors(const NeighborQuery& query, std::int32_t most) {
  const PointView& others = query.cross ? query.others : query.points;
  const auto shifts_along = [&](std::size_t axis) { return query.cells->periodic[axis] ? most : 0; };
  std::vector<Row> found;
  Shift shift{};
  for (shift[0] = -shifts_along(0); shift[0] <= shifts_along(0); ++shift[0])
    for (shift[1] = -shifts_along(1); shift[1] <= shifts_along(1); ++shift[1])
      for (shift[2] = -shifts_along(2); shift[2] <= shifts_along(2); ++shift[2])
        for (std::size_t i = 0; i < query.points.count; ++i)
          for (std::size_t j = query.cross ? 0 : i; j < others.count; ++j) {
            if (!query.cross && i == j && shift <= Shift{}) continue;  // itself, and one of two opposite images
            const Vector3 from = query.points.at(i), to = others.at(j), moved = query.cells->translation(shift);
            const double x = (to[0] - from[0]) + moved[0], y = (to[1] - from[1]) + moved[1],
                         z = (to[2] - from[2]) + moved[2];
            const double distance = std::sqrt((x * x + y * y) + z * z);
            double limit = query.cutoff;
            if (query.points.reaches != nullptr)
              limit = query.kind == PairCutoff::kSum ? query.points.reaches[i] + others.reaches[j]
                                                     : std::max(query.points.reaches[i], others.reaches[j]);
            if (distance <= limit)
              found.emplace_back(static_cast<std::int32_t>(i), static_cast<std::int32_t>(j), shift, distance);
          }
  return in_order(std::move(found));
}

std::vector<Row> rows_of(const NeighborPairs& pairs) {
  std::vector<Row> rows;
  for (std::size_t k = 0; k < pairs.size; ++k) {
    Shift shift{};
    for (std::size_t axis = 0; axis < pairs.dimension; ++axis)
      shift[axis] = pairs.shifts.get()[k * pairs.dimension + axis];
    rows.emplace_back(pairs.first()[k], pairs.second()[k], shift, pairs.distances.get()[k]);
  }
  return in_order(std::move(rows));
}

OverlappingBoxes plain_overlaps(const BoxView<double>& first, const BoxView<double>* second, std::size_t dimension,
                                unsigned, Interrupt&) {
  const BoxView<double>& others = second != nullptr ? *second : first;
  PairList pairs;
  for (std::size_t i = 0; i < first.count; ++i)
    for (std::size_t j = second != nullptr ? 0 : i + 1; j < others.count; ++j)
      if (overlaps(first.lower_of(i), first.upper_of(i), others.lower_of(j), others.upper_of(j), dimension, true, 0.0))
        pairs.emplace_back(static_cast<std::int32_t>(i), static_cast<std::int32_t>(j));
  OverlappingBoxes found{allocate_plain<std::int32_t>(2 * pairs.size() + 1), pairs.size(), pairs.size()};
  for (std::size_t k = 0; k < pairs.size(); ++k) {
    found.rows[k] = pairs[k].first;
    found.rows[found.stride + k] = pairs[k].second;
  }
  return found;
}

// Points in and around a cell of edges of about 1, some on a lattice of halves.
std::vector<double> points_of(Random& random, std::size_t count, std::size_t dimension) {
  const bool halves = random.chance(0.3);
  std::vector<double> points(count * dimension);
  for (double& coordinate : points)
    coordinate = halves ? 0.5 * static_cast<double>(random.below(4)) : 2 * random.uniform() - 0.5;
  return points;
}

// `scales`: some are thousands of times as long as others.
std::vector<double> reaches_of(Random& random, std::size_t count, bool scales) {
  std::vector<double> reaches(count);
  for (double& reach : reaches)
    reach = random.chance(0.2) ? 0 : 0.4 * (scales ? std::exp2(-12 * random.uniform()) : random.uniform());
  return reaches;
}

// `many`: more points than are searched at once whatever they reach.
void check_scene(Random& random, bool many) {
  const std::size_t dimension = 2 + random.below(2), count = many ? 66 + random.below(30) : random.below(24),
                    other_count = random.below(20);
  const std::vector<double> points = points_of(random, count, dimension),
                            others = points_of(random, other_count, dimension),
                            reaches = reaches_of(random, count, many),
                            other_reaches = reaches_of(random, other_count, many);
  NeighborQuery query;
  query.points = {points.data(), count, dimension, nullptr, nullptr, 0};
  query.others = {others.data(), other_count, dimension, nullptr, nullptr, 0};
  query.cross = random.chance(0.4);
  query.distances = query.shifts = true;
  Cell cell;
  query.cells = &cell;
  for (std::size_t k = 0; k < dimension; ++k) {
    cell.periodic[k] = random.chance(0.6);
    cell.vectors[k][k] = random.chance(0.5) ? 1 : 0.8 + random.uniform();
    for (std::size_t axis = 0; axis < k; ++axis) cell.vectors[k][axis] = 0.4 * random.uniform();
  }
  const std::size_t cutoffs = random.below(3);
  query.cutoff = 0.3 * double(random.below(4));
  if (cutoffs > 0) {
    query.kind = cutoffs == 1 ? PairCutoff::kSum : PairCutoff::kLarger;
    query.points.reaches = reaches.data();
    query.others.reaches = other_reaches.data();
    query.cutoff = cutoffs == 1 ? 0.8 : 0.4;
  }
  const std::vector<Row> expected = plain_neighbors(query, 6);
  for_each_level([&](const Kernels& kernels) {
    for (const unsigned workers : {1u, 3u}) {
      Interrupt interrupt;
      NeighborPairs found = find_neighbors(query, kernels.window_hits, plain_overlaps, workers, interrupt);
      CHECK(rows_of(found) == expected);
      if (query.cross) continue;
      const NeighborLists lists = list_by_point(std::move(found), count, count, true, true, workers, interrupt);
      CHECK(lists.entries.size == 2 * expected.size());
      CHECK(lists.offsets.size() == count + 1 &&
            lists.offsets.back() == static_cast<std::int64_t>(2 * expected.size()));
      for (std::size_t i = 0; i < count; ++i)
        for (auto k = static_cast<std::size_t>(lists.offsets[i]); k < static_cast<std::size_t>(lists.offsets[i + 1]);
             ++k)
          CHECK(lists.entries.first()[k] == static_cast<std::int32_t>(i));
    }
  });
}

// Batches, each with its own cell, against each of them by itself.
void check_batches(Random& random) {
  constexpr std::size_t kCells = 3;
  const std::size_t dimension = 2 + random.below(2), count = random.below(40);
  const std::vector<double> points = points_of(random, count, dimension);
  std::vector<std::int64_t> keys(count);
  for (std::int64_t& key : keys) key = static_cast<std::int64_t>(random.below(kCells));
  std::vector<Cell> cells(kCells);
  for (Cell& cell : cells)
    for (std::size_t k = 0; k < dimension; ++k) {
      cell.periodic[k] = random.chance(0.5);
      cell.vectors[k][k] = 0.8 + random.uniform();
    }
  NeighborQuery query;
  query.points = {points.data(), count, dimension, nullptr, nullptr, 0};
  query.distances = query.shifts = true;
  query.cutoff = 0.6;
  std::vector<Row> expected;
  for (std::size_t key = 0; key < kCells; ++key) {
    std::vector<double> own;
    std::vector<std::int32_t> rows;
    for (std::size_t row = 0; row < count; ++row) {
      if (keys[row] != static_cast<std::int64_t>(key)) continue;
      rows.push_back(static_cast<std::int32_t>(row));
      for (std::size_t axis = 0; axis < dimension; ++axis) own.push_back(points[row * dimension + axis]);
    }
    query.points = {own.data(), rows.size(), dimension, nullptr, nullptr, 0};
    query.cells = &cells[key];
    for (auto [i, j, shift, distance] : plain_neighbors(query, 6))
      expected.emplace_back(rows[static_cast<std::size_t>(i)], rows[static_cast<std::size_t>(j)], shift, distance);
  }
  query.points = {points.data(), count, dimension, nullptr, nullptr, 0};
  query.keys = RowKeys{count, keys.data(), 1};
  query.cells = cells.data();
  query.cell_count = kCells;
  for_each_level([&](const Kernels& kernels) {
    for (const unsigned workers : {1u, 3u}) {
      Interrupt interrupt;
      CHECK(rows_of(find_neighbors(query, kernels.window_hits, plain_overlaps, workers, interrupt)) ==
            in_order(expected));
    }
  });
}

void check_refused_cells() {
  current_case() = "cells that are refused";
  const double points[] = {0, 0, 0, 0.5, 0, 0};
  NeighborQuery query;
  query.points = {points, 2, 3, nullptr, nullptr, 0};
  query.cutoff = 1;
  Cell cell;
  cell.vectors = {{{1, 0, 0}, {2, 0, 0}, {0, 0, 1}}};
  cell.periodic = {true, true, false};
  query.cells = &cell;
  Interrupt interrupt;
  for_each_level([&](const Kernels& kernels) {
    CHECK(is_refused([&] { find_neighbors(query, kernels.window_hits, plain_overlaps, 1, interrupt); }));
  });
}

}  // namespace
}  // namespace broadphase::tests

int main(int argc, char** argv) {
  using namespace broadphase::tests;
  const std::size_t scenes = rounds(argc, argv, 150);
  for (std::size_t scene = 0; scene < scenes; ++scene) {
    current_case() = "scene " + std::to_string(scene);
    Random random(scene);
    check_scene(random, scene % 3 == 0);
    check_batches(random);
  }
  check_refused_cells();
}
