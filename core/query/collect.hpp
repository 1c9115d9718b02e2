// Runs a method's tasks and puts their pairs together: in task order whatever the number of workers, or in
// lexicographic order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/parallel.hpp"
#include "query/method.hpp"

namespace broadphase {

// Pair k is block[k], block[stride + k].
struct Pairs {
  PairBlock block;
  std::size_t size = 0, stride = 0;
};

namespace detail {

// A method and the scratch of each worker, without their types: what follows is compiled once, not for each method.
struct Tasks {
  const void* method;
  std::size_t count;
  void (*call)(const void* method, std::size_t task, void* scratch, PairBuffer& out);
  std::byte* scratch;
  std::size_t scratch_size;

  void run(std::size_t task, unsigned worker, PairBuffer& out) const {
    call(method, task, scratch + worker * scratch_size, out);
  }
};

template <Method M>
Tasks tasks_of(const M& method, typename M::Scratch* scratch) {
  const auto call = [](const void* of, std::size_t task, void* own, PairBuffer& out) {
    static_cast<const M*>(of)->run(task, *static_cast<typename M::Scratch*>(own), out);
  };
  return {&method, method.task_count(), call, reinterpret_cast<std::byte*>(scratch), sizeof(typename M::Scratch)};
}

Pairs collect_in_order(const Tasks& tasks, const Filter* filter, std::uint64_t limit, Interrupt& interrupt,
                       std::size_t expected);
Pairs collect_on_threads(const Tasks& tasks, const Filter* filter, unsigned workers, std::uint64_t limit,
                         Interrupt& interrupt);
Pairs collect_some(const Tasks& tasks, const Filter* filter, std::size_t wanted, std::size_t& task,
                   Interrupt& interrupt);
std::uint64_t count(const Tasks& tasks, const Filter* filter, unsigned workers, Interrupt& interrupt);

}  // namespace detail

// All pairs, on this thread. `expected`: so many there may be, if that is known.
template <Method M>
Pairs collect_in_order(const M& method, const Filter* filter, std::uint64_t limit, Interrupt& interrupt,
                       typename M::Scratch& scratch, std::size_t expected = 0) {
  return detail::collect_in_order(detail::tasks_of(method, &scratch), filter, limit, interrupt, expected);
}

// All pairs. Throws TooManyPairs soon after `limit` is passed: no worker holds more than the limit and what one call
// of room() asks for, twice while its buffer grows.
template <Method M>
Pairs collect_pairs(const M& method, const Filter* filter, unsigned workers, std::uint64_t limit,
                    Interrupt& interrupt) {
  if (workers <= 1 || method.task_count() <= 1) {
    typename M::Scratch scratch;
    return collect_in_order(method, filter, limit, interrupt, scratch);
  }
  std::vector<typename M::Scratch> scratch(workers);
  return detail::collect_on_threads(detail::tasks_of(method, scratch.data()), filter, workers, limit, interrupt);
}

// A method that is kept, without its type.
struct PreparedMethod {
  std::shared_ptr<const void> method;
  std::size_t task_count = 0;
  void (*call)(const void* method, std::size_t task, void* scratch, PairBuffer& out) = nullptr;
  std::shared_ptr<void> (*make_scratch)() = nullptr;  // of one thread

  void run(std::size_t task, void* scratch, PairBuffer& out) const { call(method.get(), task, scratch, out); }
  // Keeps what the method reads for as long as the method.
  void keep(std::shared_ptr<const void> owner) {
    struct Kept {
      std::shared_ptr<const void> owner, method;
    };
    const void* const own = method.get();
    method = std::shared_ptr<const void>(std::shared_ptr<Kept>(new Kept{std::move(owner), std::move(method)}), own);
  }
};

template <Method M>
PreparedMethod prepared(std::shared_ptr<const M> method) {
  using Scratch = typename M::Scratch;
  const std::size_t tasks = method->task_count();
  const auto call = detail::tasks_of(*method, static_cast<Scratch*>(nullptr)).call;
  return {std::move(method), tasks, call, [] { return std::shared_ptr<void>(std::make_shared<Scratch>()); }};
}

// The pairs of a prepared method, some at a time.
class PortionedSearch {
 public:
  PortionedSearch() = default;
  explicit PortionedSearch(PreparedMethod method) : method_(std::move(method)), scratch_(method_.make_scratch()) {}

  // `wanted` more pairs or more, or the last ones; then none.
  Pairs next(const Filter* filter, std::size_t wanted, Interrupt& interrupt) {
    auto* scratch = static_cast<std::byte*>(scratch_.get());
    const detail::Tasks tasks{method_.method.get(), method_.task_count, method_.call, scratch, 0};
    return detail::collect_some(tasks, filter, wanted, task_, interrupt);
  }

 private:
  PreparedMethod method_;
  std::shared_ptr<void> scratch_;
  std::size_t task_ = 0;
};

// Their number, on this thread.
template <Method M>
std::uint64_t count_in_order(const M& method, const Filter* filter, Interrupt& interrupt,
                             typename M::Scratch& scratch) {
  return detail::count(detail::tasks_of(method, &scratch), filter, 1, interrupt);
}

// Their number, in memory that does not depend on it.
template <Method M>
std::uint64_t count_pairs(const M& method, const Filter* filter, unsigned workers, Interrupt& interrupt) {
  std::vector<typename M::Scratch> scratch(std::max(1u, workers));
  return detail::count(detail::tasks_of(method, scratch.data()), filter, workers, interrupt);
}

// Sorts pairs lexicographically. `rows`: of the larger set. Pairs that fit a near cache are sorted by counting; others
// go to stretches of first rows that do, and are sorted there by radix. Time O(pairs); memory of the pairs once more.
void sort_pairs(Pairs& pairs, std::size_t rows, unsigned workers, Interrupt& interrupt);

}  // namespace broadphase
