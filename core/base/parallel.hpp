// Threads that live for one call, and a way to stop them.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <type_traits>

namespace broadphase {

struct Interrupted : std::exception {
  const char* what() const noexcept override { return "interrupted"; }
};

// Polls the caller every 20 ms, on the calling thread, and throws Interrupted if it wants to stop. Also tells it how
// far the search has come, where there is such a number: the tasks that are done, of all; 0 of 0 otherwise.
class Interrupt {
 public:
  using Poll = bool (*)(std::size_t done, std::size_t total);  // true: stop
  explicit Interrupt(Poll poll = nullptr) : poll_(poll) {}
  // Cheap enough to call between any two tasks.
  void check() {
    if (poll_ == nullptr) return;
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < std::chrono::milliseconds(20)) return;
    last_ = now;
    if (poll_(done_, total_)) throw Interrupted();
  }
  // The same, when so many tasks of all are done; called on the calling thread.
  void check(std::size_t done, std::size_t total) {
    done_ = done, total_ = total;
    check();
  }

 private:
  Poll poll_;
  std::size_t done_ = 0, total_ = 0;
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

namespace detail {

// What for_each_task calls, without its type: the threads are compiled once, not for each kind of work.
struct Work {
  void* callable;
  void (*call)(void* callable, unsigned worker, std::size_t task);
};

void run_tasks(std::size_t tasks, unsigned workers, Interrupt& interrupt, const Work& work, std::size_t grain);

}  // namespace detail

// Calls work(worker, task) for every task once; a worker takes `grain` tasks in a row. Worker 0 is the calling thread,
// the only one that checks `interrupt`. Where the system gives fewer threads than requested, or no memory for them,
// those that there are do all tasks. The first exception on any thread stops the rest, and leaves from here when all
// threads have ended; what the tasks did until then stays done.
template <class Work>
void for_each_task(std::size_t tasks, unsigned workers, Interrupt& interrupt, Work&& work, std::size_t grain = 1) {
  using Callable = std::remove_reference_t<Work>;
  const auto call = [](void* callable, unsigned worker, std::size_t task) {
    (*static_cast<Callable*>(callable))(worker, task);
  };
  detail::run_tasks(tasks, workers, interrupt, {&work, call}, grain);
}

// As in_stretches, on threads where that is worth it: the stretches come in any order.
template <class Work>
void in_stretches_on_threads(std::size_t count, unsigned workers, Interrupt& interrupt, Work&& work) {
  constexpr std::size_t kStretch = std::size_t{1} << 14;  // some 50 us
  if (workers <= 1 || count < 2 * kStretch) return in_stretches(count, interrupt, work);
  for_each_task((count + kStretch - 1) / kStretch, workers, interrupt,
                [&](unsigned, std::size_t task) { work(task * kStretch, std::min(count, (task + 1) * kStretch)); });
}

// Splits [0, count) into `parts` ranges of nearly equal length; the limits of range k are at(k) and at(k + 1).
struct EvenSplit {
  std::size_t count, parts;
  std::size_t at(std::size_t k) const { return count / parts * k + std::min(k, count % parts); }
};

}  // namespace broadphase
