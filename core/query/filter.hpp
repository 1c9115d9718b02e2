// Which overlapping pairs count: batches, layers, groups, static boxes, pairs and elements to leave out.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/read_ahead.hpp"
#include "query/pair_set.hpp"

namespace broadphase {

// Per-box attributes of one set. A null pointer: the attribute is not used.
struct BoxAttributes {
  const std::uint64_t* layer = nullptr;
  const std::uint64_t* mask = nullptr;
  const std::int64_t* group = nullptr;
  const std::uint8_t* is_static = nullptr;
  const std::int64_t* batch = nullptr;   // pairs are of one batch; searches that know of batches find no others
  const std::int64_t* shared = nullptr;  // `shared_width` values a row, ascending where there are more than a few
  std::size_t shared_width = 0;
};

// Applied to pairs that do overlap, after the box test and in batches: few pairs get so far.
class Filter {
 public:
  // So few shared values of a row are compared with each of another.
  static constexpr std::size_t kFewShared = 6;

  BoxAttributes first, second;
  const PairSet* ignored = nullptr;  // pairs to leave out; null or empty: none

  // Keeps the pairs that pass, in their order; returns how many.
  std::size_t compact(std::int32_t* i, std::int32_t* j, std::size_t count) const {
    std::size_t kept = 0;
    for (std::size_t k = 0; k < count; ++k) {
      if (first.shared != nullptr && k + 1 < count) {  // long rows, anywhere: memory takes as long as the comparison
        read_shared_ahead(first, i[k + 1]);
        read_shared_ahead(second, j[k + 1]);
      }
      const std::int32_t p = i[k], q = j[k];
      i[kept] = p;
      j[kept] = q;
      kept += static_cast<std::size_t>(allows(static_cast<std::size_t>(p), static_cast<std::size_t>(q)));
    }
    return kept;
  }

  bool allows(std::size_t p, std::size_t q) const {
    if (first.batch != nullptr && first.batch[p] != second.batch[q]) return false;
    if (first.is_static != nullptr && (first.is_static[p] & second.is_static[q]) != 0) return false;
    if (!layers_allow(p, q)) return false;
    if (first.shared != nullptr && shares(p, q)) return false;
    return ignored == nullptr || ignored->empty() ||
           !ignored->contains(static_cast<std::uint32_t>(p), static_cast<std::uint32_t>(q));
  }

 private:
  // As in Box2D: a common nonzero group decides; otherwise both masks must accept the other's layer.
  bool layers_allow(std::size_t p, std::size_t q) const {
    if (first.group != nullptr && first.group[p] == second.group[q] && first.group[p] != 0) return first.group[p] > 0;
    if (first.layer == nullptr) return true;
    return (first.layer[p] & second.mask[q]) != 0 && (second.layer[q] & first.mask[p]) != 0;
  }

  bool shares(std::size_t p, std::size_t q) const {
    const std::int64_t* a = first.shared + p * first.shared_width;
    const std::int64_t* b = second.shared + q * second.shared_width;
    const auto [less, more] = std::minmax(first.shared_width, second.shared_width);
    if (less == 0 || more <= kFewShared) {
      bool found = false;
      for (std::size_t x = 0; x < first.shared_width; ++x)
        for (std::size_t y = 0; y < second.shared_width; ++y) found |= a[x] == b[y];
      return found;
    }
    // From both ends, so that two chains of comparisons do not wait for each other, and without branches.
    std::ptrdiff_t x = 0, x_last = static_cast<std::ptrdiff_t>(first.shared_width) - 1;
    std::ptrdiff_t y = 0, y_last = static_cast<std::ptrdiff_t>(second.shared_width) - 1;
    for (;;) {
      const std::int64_t low = a[x], other_low = b[y], high = a[x_last], other_high = b[y_last];
      if (static_cast<int>(low == other_low) | static_cast<int>(high == other_high)) return true;
      x += static_cast<int>(low < other_low);
      y += static_cast<int>(other_low < low);
      x_last -= static_cast<int>(high > other_high);
      y_last -= static_cast<int>(other_high > high);
      if (static_cast<int>(x > x_last) | static_cast<int>(y > y_last)) return false;
    }
  }

  static void read_shared_ahead(const BoxAttributes& of, std::int32_t row) {
    constexpr std::size_t kLine = 64 / sizeof(std::int64_t);
    const std::int64_t* values = of.shared + static_cast<std::size_t>(row) * of.shared_width;
    for (std::size_t at = 0; at < of.shared_width; at += kLine) read_ahead(values + at);
  }
};

}  // namespace broadphase
