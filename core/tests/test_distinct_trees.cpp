// Trees of rows that differ: of every kind the lowest row, and its copies in ascending order; none where few rows are
// copies.
#include "batches/distinct_trees.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "batches/distinct_forest.hpp"
#include "check.hpp"

namespace broadphase::tests {
namespace {

struct ByKind {
  const std::vector<int>& kinds;
  bool is_hash_one;  // the same of all rows

  bool are_alike(std::int32_t a, std::int32_t b) const { return kinds[at(a)] == kinds[at(b)]; }
  std::uint64_t hash(std::int32_t row) const {
    return is_hash_one ? 7u : static_cast<std::uint64_t>(kinds[at(row)]) * 0x9e3779b97f4a7c15u;
  }
  static std::size_t at(std::int32_t row) { return static_cast<std::size_t>(row); }
};

// Of the rows that a filter allows, or that are in a tree of a forest: the lowest of each kind, and its copies.
template <class Copies>
void check_lowest(std::vector<std::int32_t> lowest, const std::vector<std::int32_t>& next, const Copies& copies) {
  std::vector<std::int32_t> expected;
  for (const auto& [kind, rows] : copies) {
    expected.push_back(rows.front());
    for (std::size_t k = 0; k < rows.size(); ++k)
      CHECK(next[ByKind::at(rows[k])] == (k + 1 < rows.size() ? rows[k + 1] : -1));
  }
  std::sort(lowest.begin(), lowest.end());
  std::sort(expected.begin(), expected.end());
  CHECK(lowest == expected);
}

// Every fifth row has a layer of its own, and is also ignored by one of two queries; then by trees of batches.
void check_filtered(const BlockTree& tree, const AnyBoxes& boxes, const std::vector<int>& kinds,
                    const Kernels& kernels) {
  std::vector<std::uint64_t> layers(boxes.count(), 1);
  std::vector<std::int32_t> fifths;
  for (std::size_t row = 0; row < boxes.count(); row += 5) {
    layers[row] = 2;
    fifths.push_back(static_cast<std::int32_t>(row));
  }
  const std::uint64_t all = ~std::uint64_t{0}, masks[] = {1, 2, 3};
  QueryFilter filter;
  filter.row_layer = layers.data();
  filter.row_mask = &all;
  filter.row_mask_step = 0;
  const std::uint64_t every[] = {all, all, all};
  filter.query_layer = every;
  filter.query_mask = masks;
  for (const std::size_t query : {0u, 1u, 2u}) {
    if (query == 2) {
      filter.ignored = fifths.data();
      filter.ignored_count = fifths.size();
    }
    std::map<int, std::vector<std::int32_t>> copies;
    std::size_t count = 0;
    std::vector<std::int32_t> rows = rows_of(tree);
    std::sort(rows.begin(), rows.end());
    for (const std::int32_t row : rows)
      if ((row % 5 == 0) == (query == 1)) {
        copies[kinds[ByKind::at(row)]].push_back(row);
        ++count;
      }
    const auto found = tree_of_distinct(tree, boxes, ByKind{kinds, false}, kernels, filter, query);
    if (2 * copies.size() > count)
      CHECK(found == nullptr);
    else if (found == nullptr)
      CHECK(10 * copies.size() > count);
    else
      check_lowest(rows_of(found->tree), found->next_copy, copies);
  }
}

void check_forest(std::size_t count, int kind_count, std::size_t batch_count, const Kernels& kernels) {
  Random random(count);
  std::vector<int> kinds(count);
  std::vector<std::int64_t> keys(count);
  std::vector<double> lower(2 * count), upper(2 * count);
  std::vector<std::int32_t> in_forest;  // two of three rows
  std::map<std::int64_t, std::map<int, std::vector<std::int32_t>>> copies;
  for (std::size_t row = 0; row < count; ++row) {
    kinds[row] = static_cast<int>(random.below(static_cast<std::uint64_t>(kind_count)));
    keys[row] = 10 - 7 * static_cast<std::int64_t>(random.below(batch_count));
    lower[2 * row] = lower[2 * row + 1] = kinds[row];
    upper[2 * row] = upper[2 * row + 1] = kinds[row] + 0.5;
    if (row % 3 == 1) continue;
    in_forest.push_back(static_cast<std::int32_t>(row));
    copies[keys[row]][kinds[row]].push_back(static_cast<std::int32_t>(row));
  }
  const BoxView<double> view{lower.data(), upper.data(), 2, 2, count};
  const AnyBoxes boxes(view, 2);
  Interrupt never;
  Forest forest(2);
  forest.build(view, in_forest.data(), in_forest.size(), keys.data(), {kernels, 1, never});
  const auto found = forest_of_distinct(forest, boxes, EqualBoxes(boxes), kernels);
  std::size_t kinds_of_all = 0;
  for (const auto& [key, of_key] : copies) kinds_of_all += of_key.size();
  if (found == nullptr) {
    CHECK(10 * kinds_of_all > in_forest.size());
    return;
  }
  CHECK(2 * kinds_of_all <= in_forest.size());
  std::size_t position = 0;
  for (const auto& [key, of_key] : copies) {
    Forest::Room room;
    const std::uint32_t number = forest.find(key, position);
    check_lowest(rows_of(found->forest.tree_of(found->number_of(number), boxes, room)), found->next_copy, of_key);
  }
  CHECK(found->number_of(Forest::kNoTree) == Forest::kNoTree);
}

void check(std::size_t count, int kind_count, bool is_hash_one, std::uint64_t seed, const Kernels& kernels) {
  Random random(seed);
  std::vector<int> kinds(count);
  std::vector<double> lower(2 * count), upper(2 * count);
  for (std::size_t row = 0; row < count; ++row) {
    kinds[row] = static_cast<int>(random.below(static_cast<std::uint64_t>(kind_count)));
    lower[2 * row] = lower[2 * row + 1] = kinds[row];
    upper[2 * row] = upper[2 * row + 1] = kinds[row] + 0.5;
  }
  const AnyBoxes boxes(BoxView<double>{lower.data(), upper.data(), 2, 2, count}, 2);
  std::vector<std::int32_t> in_tree;  // two of three rows
  for (std::size_t row = 0; row < count; ++row)
    if (row % 3 != 1) in_tree.push_back(static_cast<std::int32_t>(row));
  BlockTree tree{Blocks(2), kNoBlock, {}};
  pack_rows(in_tree, boxes, kernels, tree);
  std::map<int, std::vector<std::int32_t>> copies;
  for (const std::int32_t row : in_tree) copies[kinds[static_cast<std::size_t>(row)]].push_back(row);
  const auto found = tree_of_distinct(tree, boxes, ByKind{kinds, is_hash_one}, kernels);
  if (2 * copies.size() > in_tree.size() || in_tree.empty()) {
    CHECK(found == nullptr);
    return;
  }
  if (found == nullptr) {
    CHECK(10 * copies.size() > in_tree.size());  // a sample says whether there are many
    return;
  }
  check_lowest(rows_of(found->tree), found->next_copy, copies);
  check_filtered(tree, boxes, kinds, kernels);
  const auto of_boxes = tree_of_distinct(tree, boxes, EqualBoxes(boxes), kernels);
  CHECK(of_boxes != nullptr && of_boxes->next_copy == found->next_copy);
}

}  // namespace
}  // namespace broadphase::tests

int main() {
  using namespace broadphase;
  std::size_t levels = 0;
  const Kernels& kernels = *available_kernels(levels)[0];
  for (const std::size_t count : {0u, 1u, 2u, 3u, 9u, 100u, 3000u})
    for (const int kinds : {1, 2, 7, 50, 5000})
      for (const bool is_hash_one : {false, true}) tests::check(count, kinds, is_hash_one, count + 1, kernels);
  for (const std::size_t count : {0u, 3u, 100u, 3000u})
    for (const int kinds : {1, 7, 500})
      for (const std::size_t batches : {1u, 4u, 60u}) tests::check_forest(count, kinds, batches, kernels);
}
