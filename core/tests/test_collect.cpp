// Pairs put together: guesses of how many there will be must not cost the answer.
#include "query/collect.hpp"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "check.hpp"
#include "failing_memory.hpp"
#include "query/ragged.hpp"

namespace broadphase::tests {
namespace {

// A method of which only the first tasks find anything: what they find promises far more than there is.
class Front {
 public:
  struct Scratch {};
  static constexpr std::size_t kTasks = 64, kBusy = 6, kPairs = 60000, kAtATime = 1000;

  std::size_t task_count() const { return kTasks; }
  void run(std::size_t task, Scratch&, PairBuffer& out) const {
    if (task >= kBusy) return;
    for (std::size_t from = 0; from < kPairs; from += kAtATime) {
      out.room(kAtATime);
      for (std::size_t k = 0; k < kAtATime; ++k) {
        out.first()[k] = static_cast<std::int32_t>(task);
        out.second()[k] = static_cast<std::int32_t>(from + k);
      }
      out.commit(kAtATime);
    }
  }
};

void check_complete(const Pairs& found) {
  CHECK(found.size == Front::kBusy * Front::kPairs);
  for (std::size_t k = 0; k < found.size; ++k) {
    CHECK(found.block[k] == static_cast<std::int32_t>(k / Front::kPairs));
    CHECK(found.block[found.stride + k] == static_cast<std::int32_t>(k % Front::kPairs));
  }
}

void check_guess_too_large(unsigned workers) {
  constexpr std::size_t kBytes = Front::kBusy * Front::kPairs * 2 * sizeof(std::int32_t);
  Interrupt never;
  const Front method;
  // Without a bound, then with room for what there is, but neither for the guess nor for half as much again.
  for (const std::size_t bound : {std::size_t{0}, 3 * kBytes, kBytes + (std::size_t{1} << 21)}) {
    current_case() =
        "a guess too large, workers " + std::to_string(workers) + ", blocks up to " + std::to_string(bound);
    refuse_blocks_above(bound);
    const Pairs found = collect_pairs(method, nullptr, workers, kNoLimit, never);
    refuse_blocks_above(0);
    check_complete(found);
  }
}

// What is expected from outside, as an index does, may be any number.
void check_expected(std::size_t expected) {
  current_case() = "expected " + std::to_string(expected);
  refuse_blocks_above(std::size_t{1} << 24);
  Interrupt never;
  Front::Scratch scratch;
  const Pairs found = collect_in_order(Front(), nullptr, kNoLimit, never, scratch, expected);
  refuse_blocks_above(0);
  check_complete(found);
}

void check_answer_too_large() {
  current_case() = "an answer that does not fit";
  refuse_blocks_above(std::size_t{1} << 20);
  Interrupt never;
  bool failed = false;
  try {
    collect_pairs(Front(), nullptr, 1, kNoLimit, never);
  } catch (const std::bad_alloc&) {
    failed = true;
  }
  refuse_blocks_above(0);
  CHECK(failed);
}

// A method whose fifth task is kept waiting until all others that do not wait for it are done. The sixth, which follows
// it on the same thread because two workers take two tasks at a time, finds enough for its buffer to grow.
class Late {
 public:
  struct Scratch {};
  static constexpr std::size_t kTasks = 64, kPairs = 20000, kPairsOfSixth = 10 * kPairs;

  std::size_t task_count() const { return kTasks; }
  void run(std::size_t task, Scratch&, PairBuffer& out) const {
    while (task == 4 && done_.load() < kTasks - 2) std::this_thread::yield();
    const std::size_t pairs = task == 5 ? kPairsOfSixth : kPairs;
    out.room(pairs);
    for (std::size_t k = 0; k < pairs; ++k) {
      out.first()[k] = static_cast<std::int32_t>(task);
      out.second()[k] = static_cast<std::int32_t>(k);
    }
    out.commit(pairs);
    ++done_;
  }

 private:
  mutable std::atomic<std::size_t> done_{0};
};

// How many pairs there will be is not guessed from all of them as if few tasks had found them.
void check_guess_after_waiting() {
  current_case() = "a thread that the system keeps waiting";
  constexpr std::size_t kPairs = (Late::kTasks - 1) * Late::kPairs + Late::kPairsOfSixth;
  Interrupt never;
  largest_block_asked_for();
  const Pairs found = collect_pairs(Late(), nullptr, 2, kNoLimit, never);
  CHECK(found.size == kPairs);
  CHECK(largest_block_asked_for() <= 2 * kPairs * 2 * sizeof(std::int32_t));
}

// Near the end of the memory, too, a buffer grows by a share of what it holds: each growth copies all of that.
void check_growths_near_the_end() {
  current_case() = "growths near the end of the memory";
  refuse_blocks_above(std::size_t{1} << 24);
  PairBuffer out(nullptr, false);
  int growths = 0;
  bool failed = false;
  while (!failed) {
    const std::size_t before = out.capacity();
    try {
      out.room(1000);
    } catch (const std::bad_alloc&) {
      failed = true;
      continue;
    }
    growths += out.capacity() != before;
    for (std::size_t k = 0; k < 1000; ++k) out.first()[k] = out.second()[k] = 0;
    out.commit(1000);
  }
  refuse_blocks_above(0);
  CHECK(out.size() > (std::size_t{1} << 21) - 2000);  // 8 bytes a pair
  CHECK(growths < 60);
}

// Pairs grouped by query are those of each query, ascending: with keys of either width, many stretches of queries, and
// all pairs in one of them.
void check_by_query(Random& random, std::size_t queries, std::size_t rows, std::size_t count, unsigned workers) {
  current_case() = std::to_string(count) + " pairs of " + std::to_string(queries) + " queries and " +
                   std::to_string(rows) + " rows, workers " + std::to_string(workers);
  const bool in_one = random.chance(0.2);
  std::vector<std::vector<std::int32_t>> expected(queries);
  Pairs pairs;
  pairs.size = queries > 0 ? count : 0;
  pairs.stride = pairs.size + random.below(3);
  pairs.block = allocate_pairs(pairs.stride);
  for (std::size_t k = 0; k < pairs.size; ++k) {
    const std::size_t query = in_one ? queries - 1 : random.below(queries);
    const auto row = static_cast<std::int32_t>(random.below(rows));
    pairs.block[k] = static_cast<std::int32_t>(query);
    pairs.block[pairs.stride + k] = row;
    expected[query].push_back(row);
  }
  Interrupt never;
  const RaggedBlocks found = by_query(std::move(pairs), queries, rows, workers, never);
  CHECK(found.offsets.size() == queries + 1 && found.offsets[0] == 0);
  for (std::size_t query = 0; query < queries; ++query) {
    std::sort(expected[query].begin(), expected[query].end());
    const std::int32_t *begin = found.rows.get() + found.offsets[query],
                       *end = found.rows.get() + found.offsets[query + 1];
    CHECK(std::equal(begin, end, expected[query].begin(), expected[query].end()));
  }
}

}  // namespace
}  // namespace broadphase::tests

int main() {
  using namespace broadphase::tests;
  for (const unsigned workers : {1u, 2u, 4u}) check_guess_too_large(workers);
  for (const std::size_t expected : {std::size_t{0}, std::size_t{1}, std::size_t{1} << 40}) check_expected(expected);
  check_answer_too_large();
  check_guess_after_waiting();
  check_growths_near_the_end();
  Random random(1);
  for (const std::size_t queries : {0U, 1U, 1023U, 1024U, 1025U, 700000U})
    for (const std::size_t rows : {1U, 2U, 1U << 16, 1U << 22, (1U << 22) + 1, 0x7fffffffU})
      for (const std::size_t count : {0U, 1U, 3U, 5000U})
        for (const unsigned workers : {1u, 2u}) check_by_query(random, queries, rows, count, workers);
}
