// How many threads have not ended yet, and a wait for the last of them.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

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

}  // namespace broadphase
