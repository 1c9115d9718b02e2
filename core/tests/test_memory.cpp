// Large blocks: which of those that wait is given, how many wait, which of them the system may take, and that all go
// where it refuses memory.
#include "base/memory.hpp"

#if defined(__linux__)
#include <sys/resource.h>
#endif

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/plain_vector.hpp"
#include "base/radix_sort.hpp"
#include "boxes/box_columns.hpp"
#include "check.hpp"

namespace broadphase::tests {
namespace {

constexpr std::size_t kMega = std::size_t{1} << 20;

struct Block {
  std::size_t bytes;
  void* at;
  explicit Block(std::size_t wanted) : bytes(wanted), at(take_block(bytes)) { CHECK(bytes >= wanted); }
  void give() const { give_block(at, bytes); }
};

void check_sizes() {
  for (const std::size_t wanted :
       {std::size_t{1}, kLargeBlock, kLargeBlock + 1, 4 * kMega - 1, 4 * kMega, 9 * kMega + 5}) {
    current_case() = std::to_string(wanted) + " bytes";
    const Block block(wanted);
    std::memset(block.at, 7, block.bytes);  // all of it is there
    if (wanted >= 4 * kMega) CHECK(reinterpret_cast<std::uintptr_t>(block.at) % (2 * kMega) == 0);
    block.give();
    CHECK(drop_spare_blocks());
    CHECK(!drop_spare_blocks());
  }
}

void check_which_is_given() {
  current_case() = "the smallest that suffices, of at most twice the size";
  const Block one(kMega), three(3 * kMega), eight(8 * kMega);
  eight.give();
  three.give();
  one.give();
  const Block two(2 * kMega);
  CHECK(two.at == three.at && two.bytes == three.bytes);
  const Block half(kMega / 2);
  CHECK(half.at == one.at);
  const Block small(3 * kMega);  // the block of eight is too large for it
  CHECK(small.at != eight.at);
  const Block large(8 * kMega);
  CHECK(large.at == eight.at);
  for (const Block* block : {&two, &half, &small, &large}) block->give();
  drop_spare_blocks();
}

void check_how_many_wait() {
  current_case() = "the longest that waited go first";
  // Address space alone: nothing is written to it.
  const std::size_t quarter = most_spare_bytes() / 4 / (2 * kMega) * (2 * kMega);
  const Block huge(most_spare_bytes() + 1);
  std::vector<Block> quarters, again, many;
  for (int k = 0; k < 6; ++k) quarters.emplace_back(quarter);
  for (const Block& block : quarters) block.give();
  huge.give();  // is more than may wait
  for (int k = 0; k < 4; ++k) {
    again.emplace_back(quarter);
    CHECK(std::any_of(quarters.begin() + 2, quarters.end(), [&](const Block& one) { return one.at == again[k].at; }));
  }
  CHECK(!drop_spare_blocks());
  for (const Block& block : again) block.give();
  drop_spare_blocks();
  for (int k = 0; k < 200; ++k) many.emplace_back(kLargeBlock);
  for (const Block& block : many) block.give();
  CHECK(drop_spare_blocks());
}

#if defined(__linux__)

// Bytes of this process that the system may take; none where it does not tell.
std::optional<std::size_t> offered_bytes() {
  std::ifstream map("/proc/self/smaps");
  std::optional<std::size_t> sum;
  std::size_t kilobytes = 0;
  for (std::string word; map >> word;)
    if (word == "LazyFree:" && map >> kilobytes) sum = sum.value_or(0) + kilobytes * 1024;
  return sum;
}

void check_what_is_offered() {
  current_case() = "the system may take the pages of what is more than 128 MB";
  if (!offered_bytes() || most_spare_bytes() < 200 * kMega) return;
  std::vector<Block> blocks;
  for (int k = 0; k < 5; ++k) {
    blocks.emplace_back(40 * kMega);
    std::memset(blocks.back().at, 1, blocks.back().bytes);
  }
  for (int k = 0; k < 3; ++k) blocks[k].give();
  CHECK(*offered_bytes() == 0);
  blocks[3].give();
  CHECK(*offered_bytes() == 40 * kMega);
  blocks[4].give();
  CHECK(*offered_bytes() == 80 * kMega);
  const Block again(40 * kMega);
  CHECK(again.at == blocks[0].at);
  std::memset(again.at, 2, again.bytes);
  CHECK(*offered_bytes() == 40 * kMega);
  again.give();  // and now waits last
  CHECK(*offered_bytes() == 80 * kMega);
  const Block half(21 * kMega);
  std::memset(half.at, 3, half.bytes);
  CHECK(half.bytes == 40 * kMega && *offered_bytes() == 40 * kMega);
  const Block larger(60 * kMega);  // takes the place of what is offered
  CHECK(*offered_bytes() == 0);
  half.give();
  larger.give();
  drop_spare_blocks();
}

void check_limited_addresses() {
  current_case() = "an eighth of the addresses that the process may have";
  const std::size_t usual = most_spare_bytes();
  rlimit before{};
  CHECK(getrlimit(RLIMIT_AS, &before) == 0);
  rlimit limit = before;
  limit.rlim_cur = usual / 2 * 8;
  if (limit.rlim_cur > before.rlim_max || setrlimit(RLIMIT_AS, &limit) != 0) return;
  CHECK(most_spare_bytes() == std::max(usual / 2, 128 * kMega));
  CHECK(setrlimit(RLIMIT_AS, &before) == 0);
}

#endif

void check_threads() {
  current_case() = "each block belongs to one thread";
  std::vector<std::thread> threads;
  for (unsigned char own = 1; own <= 4; ++own)
    threads.emplace_back([own] {
      Random random(own);
      for (int round = 0; round < 300; ++round) {
        const Block block(kLargeBlock + random.below(kLargeBlock));
        auto* bytes = static_cast<unsigned char*>(block.at);
        std::memset(bytes, own, block.bytes);
        std::this_thread::yield();
        for (std::size_t k = 0; k < block.bytes; k += 512) CHECK(bytes[k] == own);
        block.give();
      }
    });
  for (std::thread& thread : threads) thread.join();
  drop_spare_blocks();
}

void check_plain_memory() {
  current_case() = "small and large arrays";
  for (const std::size_t count : {std::size_t{0}, std::size_t{10}, kLargeBlock}) {
    PlainMemory<double> from = allocate_plain<double>(count);
    if (count > 0) from[count - 1] = 3;
    PlainMemory<double> to = std::move(from);
    CHECK(from == nullptr && to != nullptr);
    if (count > 0) CHECK(to[count - 1] == 3);
    to = allocate_plain<double>(5);
  }
}

void check_plain_vectors() {
  current_case() = "vectors that are not zeroed";
  for (const std::size_t count : {std::size_t{1}, std::size_t{10}, kLargeBlock}) {
    PlainVector<std::uint16_t> values(count, std::uint16_t{7});
    values.push_back(8);
    values.resize(2 * count);
    std::fill(values.begin() + static_cast<std::ptrdiff_t>(count), values.end(), std::uint16_t{9});
    PlainVector<std::uint16_t> other = values;
    values = std::move(other);
    values.insert(values.begin(), 6);
    CHECK(values.size() == 2 * count + 1 && values.front() == 6 && values[1] == 7 && values.back() == 9);
    CHECK(reinterpret_cast<std::uintptr_t>(values.data()) % 16 == 0);
  }
}

void check_who_leaves_blocks() {
  for (const std::size_t count : {std::size_t{0}, std::size_t{5}, std::size_t{100000}}) {
    current_case() = "columns and sorters of " + std::to_string(count);
    drop_spare_blocks();
    {
      BoxColumns<double> columns(count, 3);
      for (std::size_t k = 0; k < 3; ++k) {
        CHECK(reinterpret_cast<std::uintptr_t>(columns.lower(k)) % 64 == 0);
        columns.upper(k)[count + 63] = 1;  // as far as kernels read
      }
    }
#if defined(__SANITIZE_ADDRESS__)
    constexpr bool kKept = false;
#else
    constexpr bool kKept = true;
#endif
    CHECK(drop_spare_blocks() == (kKept && count > 1000));
    {
      const RowSorter<double> sorter(count);
    }
    CHECK(drop_spare_blocks() == (kKept && count > 1000));
  }
}

}  // namespace
}  // namespace broadphase::tests

int main() {
  using namespace broadphase::tests;
  check_sizes();
  check_which_is_given();
  check_how_many_wait();
#if defined(__linux__)
  check_what_is_offered();
  check_limited_addresses();
#endif
  check_threads();
  check_plain_memory();
  check_plain_vectors();
  check_who_leaves_blocks();
}
