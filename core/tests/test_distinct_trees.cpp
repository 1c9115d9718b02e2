// Trees of rows that differ: of every kind the lowest row, and its copies in ascending order; none where few rows are
// copies.
#include "batches/distinct_trees.hpp"

#include <algorithm>
#include <map>
#include <vector>

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
  std::vector<std::int32_t> lowest = rows_of(found->tree), expected;
  for (const auto& [kind, rows] : copies) {
    expected.push_back(rows.front());
    for (std::size_t k = 0; k < rows.size(); ++k)
      CHECK(found->next_copy[static_cast<std::size_t>(rows[k])] == (k + 1 < rows.size() ? rows[k + 1] : -1));
  }
  std::sort(lowest.begin(), lowest.end());
  std::sort(expected.begin(), expected.end());
  CHECK(lowest == expected);
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
}
