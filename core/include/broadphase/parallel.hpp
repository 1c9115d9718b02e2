// Threads that live for one call, and a way to stop them.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace broadphase {

struct Interrupted : std::exception {
  const char* what() const noexcept override { return "interrupted"; }
};

// Asks the caller now and then, on the calling thread, whether to go on.
class Interrupt {
 public:
  using Ask = bool (*)();  // true: stop
  explicit Interrupt(Ask ask = nullptr) : ask_(ask) {}
  // Cheap enough to call between any two tasks.
  void check() {
    if (ask_ == nullptr) return;
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < std::chrono::milliseconds(20)) return;
    last_ = now;
    if (ask_()) throw Interrupted();
  }

 private:
  Ask ask_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

// Calls work(worker, task) for every task once. Worker 0 is the calling thread, the only one that checks `interrupt`.
// The first exception on any thread stops the rest and leaves from here, when all threads have ended.
template <class Work>
void for_each_task(std::size_t tasks, unsigned workers, Interrupt& interrupt, Work&& work) {
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
  std::mutex error_lock;
  auto loop = [&](unsigned worker) {
    try {
      for (;;) {
        const std::size_t task = next.fetch_add(1, std::memory_order_relaxed);
        if (task >= tasks || stop.load(std::memory_order_relaxed)) return;
        work(worker, task);
        if (worker == 0) interrupt.check();
      }
    } catch (...) {
      stop.store(true, std::memory_order_relaxed);
      const std::lock_guard<std::mutex> guard(error_lock);
      if (!error) error = std::current_exception();
    }
  };
  std::vector<std::thread> threads;
  threads.reserve(workers - 1);
  try {
    for (unsigned worker = 1; worker < workers; ++worker) threads.emplace_back(loop, worker);
  } catch (const std::system_error&) {
    // No more threads to be had: those that started, and this one, do it all.
  }
  loop(0);
  for (std::thread& thread : threads) thread.join();
  if (error) std::rethrow_exception(error);
}

// Splits [0, count) into `parts` ranges of nearly equal length; the limits of range k are at(k) and at(k + 1).
struct EvenSplit {
  std::size_t count, parts;
  std::size_t at(std::size_t k) const { return count / parts * k + std::min(k, count % parts); }
};

}  // namespace broadphase
