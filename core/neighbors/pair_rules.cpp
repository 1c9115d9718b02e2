#include "neighbors/pair_rules.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "neighbors/search.hpp"

namespace broadphase {

IgnoredPairs::IgnoredPairs(const std::int64_t* pairs, std::size_t count, std::size_t points, bool two_sets) {
  if (count == 0) return;
  const auto pair_at = [&](std::size_t k) {
    auto first = static_cast<std::size_t>(pairs[2 * k]), second = static_cast<std::size_t>(pairs[2 * k + 1]);
    if (!two_sets && second < first) std::swap(first, second);
    return std::pair(first, static_cast<std::int32_t>(second));
  };
  starts_.assign(points + 2, 0);  // one more: they become where rows begin as these are filled
  least_ahead_ = std::numeric_limits<std::int64_t>::max();
  most_ahead_ = std::numeric_limits<std::int64_t>::min();
  for (std::size_t k = 0; k < count; ++k) {
    const auto [first, second] = pair_at(k);
    const std::int64_t ahead = second - static_cast<std::int64_t>(first);
    least_ahead_ = std::min(least_ahead_, ahead);
    most_ahead_ = std::max(most_ahead_, ahead);
    ++starts_[first + 2];
  }
  for (std::size_t row = 2; row < starts_.size(); ++row) starts_[row] += starts_[row - 1];
  partners_.resize(count);
  for (std::size_t k = 0; k < count; ++k) {
    const auto [first, second] = pair_at(k);
    partners_[starts_[first + 1]++] = second;
  }
  const auto place = [&](std::size_t row) { return partners_.begin() + static_cast<std::ptrdiff_t>(starts_[row]); };
  for (std::size_t row = 0; row < points; ++row) std::sort(place(row), place(row + 1));
}

bool IgnoredPairs::is_among(std::int32_t first, std::int32_t second) const {
  const auto row = static_cast<std::size_t>(first);
  return std::binary_search(partners_.data() + starts_[row], partners_.data() + starts_[row + 1], second);
}

void NeighborRules::prepare() {
  squares.clear();
  std::vector<double> longest(species, 0.0);
  for (std::size_t k = 0; k < cutoffs.size(); ++k) {
    squares.push_back(cutoffs[k] < 0 ? -1.0 : largest_square(cutoffs[k]));
    longest[k / species] = std::max(longest[k / species], cutoffs[k]);
  }
  const auto reaches_of = [&](const std::vector<std::int32_t>& those) {
    std::vector<double> all(those.size());
    for (std::size_t row = 0; row < those.size(); ++row) all[row] = longest[static_cast<std::size_t>(those[row])];
    return all;
  };
  if (!by_species()) return;
  reaches = reaches_of(kinds);
  other_reaches = reaches_of(other_kinds);
}

NeighborRules NeighborRules::longer_by(double skin) const {
  NeighborRules longer = *this;
  for (double& cutoff : longer.cutoffs) cutoff += cutoff < 0 ? 0 : skin;
  longer.prepare();
  return longer;
}

}  // namespace broadphase
