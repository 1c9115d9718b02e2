#include "base/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <optional>

#include "base/team.hpp"

namespace broadphase::detail {

void run_tasks(std::size_t tasks, unsigned workers, Interrupt& interrupt, const Work& work, std::size_t grain) {
  workers = static_cast<unsigned>(std::min<std::size_t>(std::max(1u, workers), tasks));
  if (workers <= 1) {
    for (std::size_t task = 0; task < tasks; ++task) {
      work.call(work.callable, 0, task);
      interrupt.check();
    }
    return;
  }
  std::atomic<std::size_t> next{0};
  std::atomic<bool> stop{false};
  std::exception_ptr error;
  std::atomic<bool> failed{false};
  // Throws nothing, as it is called where an exception would end the program. Only the first to come writes `error`,
  // and it is read when the threads have been joined.
  auto fail = [&]() noexcept {
    stop.store(true, std::memory_order_relaxed);
    if (!failed.exchange(true, std::memory_order_relaxed)) error = std::current_exception();
  };
  auto loop = [&](unsigned worker) noexcept {
    try {
      for (;;) {
        const std::size_t begin = next.fetch_add(grain, std::memory_order_relaxed);
        if (begin >= tasks) return;
        for (std::size_t task = begin; task < std::min(begin + grain, tasks); ++task) {
          if (stop.load(std::memory_order_relaxed)) return;
          work.call(work.callable, worker, task);
          if (worker == 0) interrupt.check();
        }
      }
    } catch (...) {
      fail();
    }
  };
  // The calling thread alone can be interrupted: while it waits for the others, it goes on checking.
  const auto check = [&]() noexcept {
    try {
      interrupt.check();
    } catch (...) {
      fail();
    }
  };
  struct Both {
    decltype(loop)& work;
    decltype(check)& meanwhile;
  } both{loop, check};
  const Round round{[](void* about, unsigned worker) { static_cast<Both*>(about)->work(worker); },
                    [](void* about) { static_cast<Both*>(about)->meanwhile(); }, &both};
  std::optional<Team> own;  // outside of a call with a team, or within a task of one
  Team* team = Team::at_rest();
  if (team == nullptr) team = &own.emplace();
  team->run(round, workers);
  if (error) std::rethrow_exception(error);
}

}  // namespace broadphase::detail
