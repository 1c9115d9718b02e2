// Threads that several calls of `for_each_task` share: starting a thread takes as long as testing some thousand pairs.
#pragma once

#include <atomic>
#include <thread>
#include <vector>

#include "base/countdown.hpp"

namespace broadphase {

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
