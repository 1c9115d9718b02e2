#include "base/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <thread>
#include <vector>

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
  if (Team* team = Team::at_rest()) {
    const auto call = [](void* callable, unsigned worker) { (*static_cast<decltype(loop)*>(callable))(worker); };
    team->start(call, &loop, workers);
    loop(0);
    team->wait(check);
    if (error) std::rethrow_exception(error);
    return;
  }
  Countdown running;
  std::vector<std::thread> threads;
  try {
    threads.reserve(workers - 1);
    for (unsigned worker = 1; worker < workers; ++worker) {
      running.add();
      try {
        threads.emplace_back([&, worker] {
          loop(worker);
          running.end_one();
        });
      } catch (...) {
        running.end_one();
        throw;
      }
    }
  } catch (...) {
    // No more threads to be had, or no memory for them: those that started, and this one, do it all.
  }
  loop(0);
  running.wait(check);
  for (std::thread& thread : threads) thread.join();
  if (error) std::rethrow_exception(error);
}

}  // namespace broadphase::detail
