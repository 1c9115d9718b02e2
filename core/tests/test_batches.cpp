// Rows in the order of their keys against a stable sort, and which batches can have pairs.
#include "batches/rows_by_key.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "check.hpp"

namespace broadphase::tests {
namespace {

using Keys = std::vector<std::int64_t>;

// Keys of a few names, with the least and the largest; some in order already, some all the same.
Keys random_keys(Random& random, std::size_t count) {
  using Limits = std::numeric_limits<std::int64_t>;
  Keys names = {Limits::min(), Limits::max(), 0, -1, 1};
  const std::size_t more = random.below(30);
  for (std::size_t k = 0; k < more; ++k) names.push_back(static_cast<std::int64_t>(random.bits()));
  names.resize(1 + random.below(names.size()));
  Keys keys(count);
  for (std::int64_t& key : keys) key = names[random.below(names.size())];
  if (random.chance(0.3)) std::sort(keys.begin(), keys.end());
  return keys;
}

void check_rows(const RowKeys& given, const Keys& keys) {
  Interrupt interrupt;
  const RowsByKey found = rows_by_key(given, interrupt);
  std::vector<std::int32_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return keys[static_cast<std::size_t>(a)] < keys[static_cast<std::size_t>(b)];
  });
  CHECK(found.sorted_already() == std::is_sorted(keys.begin(), keys.end()));
  std::size_t key_count = 0;
  for (std::size_t at = 0; at < order.size(); ++at) {
    CHECK(found.row(at) == order[at]);
    const bool begins =
        at == 0 || keys[static_cast<std::size_t>(order[at])] != keys[static_cast<std::size_t>(order[at - 1])];
    if (begins) CHECK(found.start[key_count++] == at);
  }
  CHECK(found.key_count() == key_count && found.start.back() == order.size());
}

// Of each key how many rows a set has.
std::map<std::int64_t, std::size_t> counts_of(const Keys& keys) {
  std::map<std::int64_t, std::size_t> counts;
  for (const std::int64_t key : keys) ++counts[key];
  return counts;
}

void check_batches(const Keys& keys, const Keys* others) {
  const RowKeys first{keys.size(), keys.data(), 1};
  const RowKeys second = others == nullptr ? RowKeys{} : RowKeys{others->size(), others->data(), 1};
  Interrupt interrupt;
  const Batches found = batches_of(first, others == nullptr ? nullptr : &second, interrupt);
  std::size_t with_pairs = 0;
  for (const auto& [key, count] : counts_of(keys)) {
    const std::size_t other_count =
        others == nullptr ? 0 : static_cast<std::size_t>(std::count(others->begin(), others->end(), key));
    if (others == nullptr ? count < 2 : other_count == 0) continue;
    CHECK(with_pairs < found.with_pairs.size());
    const Batch& batch = found.with_pairs[with_pairs++];
    CHECK(batch.count(0) == count && batch.count(1) == other_count);
    for (std::size_t at = batch.begin[0]; at < batch.end[0]; ++at)
      CHECK(keys[static_cast<std::size_t>(found.sets[0].row(at))] == key);
    for (std::size_t at = batch.begin[1]; at < batch.end[1]; ++at)
      CHECK((*others)[static_cast<std::size_t>(found.sets[1].row(at))] == key);
  }
  CHECK(found.with_pairs.size() == with_pairs);
  Keys every = keys;
  if (others != nullptr) every.insert(every.end(), others->begin(), others->end());
  CHECK(found.key_count == counts_of(every).size());
  CHECK(found.is_whole == (found.key_count <= 1));
}

}  // namespace
}  // namespace broadphase::tests

int main(int argc, char** argv) {
  using namespace broadphase::tests;
  const std::size_t scenes = rounds(argc, argv, 400);
  for (std::size_t scene = 0; scene < scenes; ++scene) {
    current_case() = "scene " + std::to_string(scene);
    Random random(scene);
    const Keys keys = random_keys(random, random.below(scene % 20 == 0 ? 5000 : 60));
    check_rows({keys.size(), keys.data(), 1}, keys);
    const std::size_t each = 1 + random.below(9);
    Keys by_place(keys.size());
    for (std::size_t row = 0; row < keys.size(); ++row) by_place[row] = static_cast<std::int64_t>(row / each);
    check_rows({keys.size(), nullptr, each}, by_place);
    check_batches(keys, nullptr);
    const Keys others = random_keys(random, random.below(60));
    check_batches(keys, &others);
  }
}
