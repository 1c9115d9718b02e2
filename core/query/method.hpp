// What a method of finding pairs looks like to the code that runs it.
#pragma once

#include <concepts>
#include <cstddef>

#include "query/pair_buffer.hpp"

namespace broadphase {

// The candidates one task may test: bounds the pairs that one task can add to a buffer, and the time until an
// interrupt is noticed (a few milliseconds).
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
