// Threads that live for one call, and a way to stop them.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <thread>
#include <vector>

namespace broadphase {

struct Interrupted : std::exception {
  const char* what() const noexcept override { return "interrupted"; }
};

// Polls the caller every 20 ms, on the calling thread, and throws Interrupted if it wants to stop.
class Interrupt {
 public:
  using Poll = bool (*)();  // true: stop
  explicit Interrupt(Poll poll = nullptr) : poll_(poll) {}
  // Cheap enough to call between any two tasks.
  void check() {
    if (poll_ == nullptr) return;
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < std::chrono::milliseconds(20)) return;
    last_ = now;
    if (poll_()) throw Interrupted();
  }

 private:
  Poll poll_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

// Calls work(begin, end) for the stretches of [0, count) in order, each a few milliseconds long at most, and checks
// `interrupt` after each.
template <class Work>
void in_stretches(std::size_t count, Interrupt& interrupt, Work&& work) {
  constexpr std::size_t kStretch = std::size_t{1} << 17;
  for (std::size_t begin = 0; begin < count; begin += kStretch) {
    work(begin, std::min(count, begin + kStretch));
    interrupt.check();
  }
}

// Calls work(worker, task) for every task once; a worker takes `grain` tasks in a row. Worker 0 is the calling thread,
// the only one that checks `interrupt`. Where the system gives fewer threads than asked for, or no memory for them,
// those that there are do all tasks. The first exception on any thread stops the rest, and leaves from here when all
// threads have ended; what the tasks did until then stays done.
template <class Work>
void for_each_task(std::size_t tasks, unsigned workers, Interrupt& interrupt, Work&& work, std::size_t grain = 1) {
  workers = static_cast<unsigned>(std::min<std::size_t>(std::max(1u, workers), tasks));
  if (workers <= 1) {
    for (std::size_t task = 0; task < tasks; ++task) {
      work(0u, task);
      interrupt.check();
    }
    return;
  }
  std::atomic<std::size_t> next{0};
  std::atomic<bool> stop{false};
  std::exception_ptr error;
  std::atomic<bool> failed{false};
  std::atomic<unsigned> running{0};
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
          work(worker, task);
          if (worker == 0) interrupt.check();
        }
      }
    } catch (...) {
      fail();
    }
  };
  std::vector<std::thread> threads;
  try {
    threads.reserve(workers - 1);
    for (unsigned worker = 1; worker < workers; ++worker) {
      running.fetch_add(1, std::memory_order_relaxed);
      try {
        threads.emplace_back([&, worker] {
          loop(worker);
          running.fetch_sub(1, std::memory_order_release);
        });
      } catch (...) {
        running.fetch_sub(1, std::memory_order_relaxed);
        throw;
      }
    }
  } catch (...) {
    // No more threads to be had, or no memory for them: those that started, and this one, do it all.
  }
  loop(0);
  // The calling thread alone can be interrupted: it waits for the others here, and goes on checking.
  while (running.load(std::memory_order_acquire) > 0) {
    std::this_thread::sleep_for(std::chrono::microseconds(20));
    try {
      interrupt.check();
    } catch (...) {
      fail();
    }
  }
  for (std::thread& thread : threads) thread.join();
  if (error) std::rethrow_exception(error);
}

// Splits [0, count) into `parts` ranges of nearly equal length; the limits of range k are at(k) and at(k + 1).
struct EvenSplit {
  std::size_t count, parts;
  std::size_t at(std::size_t k) const { return count / parts * k + std::min(k, count % parts); }
};

}  // namespace broadphase
