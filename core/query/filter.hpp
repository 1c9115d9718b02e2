// Which overlapping pairs count: batches, layers, groups, static boxes, pairs and elements to leave out.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace broadphase {

// Per-box attributes of one set. A null pointer: the attribute is not used.
struct BoxAttributes {
  const std::uint64_t* layer = nullptr;
  const std::uint64_t* mask = nullptr;
  const std::int64_t* group = nullptr;
  const std::uint8_t* is_static = nullptr;
  const std::int64_t* batch = nullptr;   // pairs are of one batch; searches that know of batches find no others
  const std::int64_t* shared = nullptr;  // `shared_width` values a row
  std::size_t shared_width = 0;
};

// Applied to pairs that do overlap, after the box test and in batches: few pairs get so far.
class Filter {
 public:
  BoxAttributes first, second;
  // Pairs to leave out, as (i << 32 | j), ascending.
  const std::uint64_t* ignored = nullptr;
  std::size_t ignored_count = 0;

  // Keeps the pairs that pass, in their order; returns how many.
  std::size_t compact(std::int32_t* i, std::int32_t* j, std::size_t count) const {
    std::size_t kept = 0;
    for (std::size_t k = 0; k < count; ++k) {
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
    const std::uint64_t key = static_cast<std::uint64_t>(p) << 32 | q;
    return ignored_count == 0 || !std::binary_search(ignored, ignored + ignored_count, key);
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
    bool found = false;
    for (std::size_t x = 0; x < first.shared_width; ++x)
      for (std::size_t y = 0; y < second.shared_width; ++y) found |= a[x] == b[y];
    return found;
  }
};

}  // namespace broadphase
