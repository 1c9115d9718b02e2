// Threads that several calls of `for_each_task` share: starting a thread takes as long as testing some thousand pairs.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace broadphase {

class Countdown {
 public:
  // Before the threads begin: so many have not ended.
  void start(unsigned count) { running_.store(count, std::memory_order_relaxed); }
  void add() { running_.fetch_add(1, std::memory_order_relaxed); }

  // To be called by each thread, last of all; or for one that did not begin.
  void end_one() noexcept {
    if (running_.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
    // The caller checks the count under this lock before it sleeps, so it cannot miss the notification.
    const std::lock_guard lock(mutex_);
    ended_.notify_one();
  }

  bool have_ended() const { return running_.load(std::memory_order_acquire) == 0; }

  // Returns when all have ended. At first awake: they mostly end within some 10 us of each other, and to be woken takes
  // longer. Then asleep, but for a call of meanwhile() every 20 ms: `std::atomic::wait` would not return for a signal.
  template <class Meanwhile>
  void wait(Meanwhile&& meanwhile) {
    using Clock = std::chrono::steady_clock;
    constexpr std::chrono::microseconds kAwake(50);
    constexpr std::chrono::milliseconds kAsleep(20);
    for (const auto begin = Clock::now(); Clock::now() - begin < kAwake; std::this_thread::yield())
      if (have_ended()) return;
    while (!have_ended()) {
      {
        std::unique_lock lock(mutex_);
        ended_.wait_for(lock, kAsleep, [this] { return have_ended(); });
      }
      meanwhile();
    }
  }

 private:
  std::atomic<unsigned> running_{0};
  std::mutex mutex_;
  std::condition_variable ended_;
};

// While it exists, what its thread gives `for_each_task` is done by that thread and the threads of the team. They end
// with it, and so does whatever a system call such as `fork` must not meet.
class Team {
 public:
  // Starts workers - 1 threads, or as many as there are to be had.
  explicit Team(unsigned workers);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  // The team of this thread, if it has one that has nothing to do; else null.
  static Team* at_rest();

  // Has call(callable, worker) called by the workers 1 to `workers` - 1, or as many as there are, and goes on at once.
  void start(void (*call)(void* callable, unsigned worker), void* callable, unsigned workers);
  // Waits until they have ended that call; calls meanwhile() now and then.
  template <class Meanwhile>
  void wait(Meanwhile&& meanwhile) {
    running_.wait(meanwhile);
    is_at_rest_ = true;
  }

 private:
  void work(unsigned worker);
  unsigned next_round(unsigned last) const;

  std::vector<std::thread> threads_;
  std::atomic<unsigned> round_{0};
  Countdown running_;
  void (*call_)(void*, unsigned) = nullptr;  // null: the threads end
  void* callable_ = nullptr;
  unsigned workers_ = 0;
  long process_;  // a copy of the process has none of the threads
  bool is_at_rest_ = true;
  Team* outer_;
};

}  // namespace broadphase
