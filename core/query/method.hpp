// What a method of finding pairs looks like to the code that runs it, and where it leaves the pairs: in two growing
// columns, or only their number.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <stdexcept>
#include <utility>

#include "base/memory.hpp"
#include "query/filter.hpp"

namespace broadphase {

// Two columns of int32 in one block: the first at 0, the second at `stride`.
using PairBlock = PlainMemory<std::int32_t>;

inline PairBlock allocate_pairs(std::size_t stride) { return allocate_plain<std::int32_t>(2 * stride); }

struct TooManyPairs : std::runtime_error {
  TooManyPairs() : std::runtime_error("more pairs than max_pairs") {}
};

inline constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

// The rows that a method's numbers stand for, where it is given a part of the boxes: those of a list, or those behind
// an offset.
struct RowNames {
  const std::int32_t* rows = nullptr;
  std::int32_t offset = 0;

  void name(std::int32_t* numbers, std::size_t count) const {
    if (rows != nullptr)
      for (std::size_t k = 0; k < count; ++k) numbers[k] = rows[numbers[k]];
    else
      for (std::size_t k = 0; k < count; ++k) numbers[k] += offset;
  }
};

// Use: room(k), write up to k pairs at first() and second(), commit(how many).
class PairBuffer {
 public:
  // `filter` may be null; `counting` keeps the number of pairs and forgets the pairs. `limit`: a buffer that holds more
  // pairs throws TooManyPairs instead of growing, and never grows beyond the limit and the room for k more.
  PairBuffer(const Filter* filter, bool counting, std::uint64_t limit = kNoLimit)
      : filter_(filter), counting_(counting), limit_(limit) {}

  // True if a method may report a number of pairs by add_count() without naming them.
  bool counts_only() const { return counting_ && filter_ == nullptr; }
  void add_count(std::uint64_t pairs) { count_ += pairs; }

  // Makes room for k more pairs. Throws bad_alloc or TooManyPairs, and then holds what it held before.
  void room(std::size_t k) {
    if (size_ + k > capacity_) grow(k);
  }
  std::int32_t* first() { return block_.get() + size_; }
  std::int32_t* second() { return block_.get() + capacity_ + size_; }
  void commit(std::size_t k) {
    if (names_ != nullptr) {
      names_[0].name(first(), k);
      names_[1].name(second(), k);
    }
    if (filter_ != nullptr) k = filter_->compact(first(), second(), k);
    count_ += k;
    if (!counting_) size_ += k;
  }
  void push(std::int32_t i, std::int32_t j) {
    room(1);
    *first() = i;
    *second() = j;
    commit(1);
  }

  // What is committed from now on are numbers with these names, of the first set and of the second; null: rows. The
  // filter sees rows.
  void use_names(const RowNames* names) { names_ = names; }

  // Where the buffer is, to come back to: what was committed since is then forgotten.
  struct Mark {
    std::size_t size;
    std::uint64_t count;
  };
  Mark mark() const { return {size_, count_}; }
  void rewind(const Mark& to) { size_ = to.size, count_ = to.count; }

  // So many pairs are too many even where the filter has not seen them yet.
  std::uint64_t limit_before_filter() const { return filter_ == nullptr ? limit_ : kNoLimit; }
  std::uint64_t count() const { return count_; }  // of all pairs ever committed
  std::size_t size() const { return size_; }      // of the pairs held
  std::size_t capacity() const { return capacity_; }
  const std::int32_t* first_column() const { return block_.get(); }
  const std::int32_t* second_column() const { return block_.get() + capacity_; }
  void clear() { size_ = 0; }
  // So many pairs are expected in all: the next growth goes there at once, if there is memory for them.
  void expect(std::size_t pairs) { expected_ = pairs; }
  PairBlock release() {
    size_ = capacity_ = 0;
    return std::move(block_);
  }

 private:
  void grow(std::size_t k) {
    if (size_ > limit_) throw TooManyPairs();
    const std::size_t needed = size_ + k;
    const std::uint64_t most = limit_ < kNoLimit - k ? limit_ + k : kNoLimit;  // at least `needed`
    const auto up_to_most = [most](std::size_t pairs) { return pairs < most ? pairs : static_cast<std::size_t>(most); };
    const std::size_t half_more = up_to_most(capacity_ + capacity_ / 2 + 1024);
    const std::size_t usual = half_more > needed ? half_more : needed, expected = up_to_most(expected_);
    // What is expected is an estimate, and half as many again is there to grow seldom: where the memory does not
    // suffice for either, less may still fit. Every growth copies what is held, so those by little come last.
    if (expected > usual && try_move_to(expected)) return;
    for (std::size_t spare = usual - needed; spare > capacity_ / 256; spare /= 4)
      if (try_move_to(needed + spare)) return;
    move_to(needed);
  }
  bool try_move_to(std::size_t capacity) {
    try {
      move_to(capacity);
      return true;
    } catch (const std::bad_alloc&) {
      return false;
    }
  }
  void move_to(std::size_t capacity) {
    PairBlock block = allocate_pairs(capacity);
    if (size_ > 0) {
      std::memcpy(block.get(), block_.get(), size_ * sizeof(std::int32_t));
      std::memcpy(block.get() + capacity, block_.get() + capacity_, size_ * sizeof(std::int32_t));
    }
    block_ = std::move(block);
    capacity_ = capacity;
  }

  const Filter* filter_;
  const RowNames* names_ = nullptr;
  bool counting_;
  std::uint64_t limit_;
  PairBlock block_;
  std::size_t size_ = 0, capacity_ = 0, expected_ = 0;
  std::uint64_t count_ = 0;
};

// The candidates one task may test: bounds the pairs that one task can add to a buffer, and the time until an
// interrupt takes effect (a few milliseconds).
inline constexpr std::size_t kTaskCandidates = std::size_t{1} << 22;

// Construction prepares (sorts, files); the tasks then find the pairs. Tasks are independent, run in any order and on
// any thread, each with a scratch of its thread's own; their outputs put together in task order are the answer.
// Self pairs come as (smaller row, larger row), cross pairs as (row of first, row of second), each exactly once.
template <class M>
concept Method = requires(const M& method, typename M::Scratch& scratch, PairBuffer& out, std::size_t task) {
  { method.task_count() } -> std::convertible_to<std::size_t>;
  { method.run(task, scratch, out) };
};

}  // namespace broadphase
