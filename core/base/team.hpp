// The threads of one call, which all its stages share: starting a thread takes as long as testing some thousand pairs.
#pragma once

#include <memory>

namespace broadphase {

// A stage of a call. No function may throw.
struct Round {
  void (*work)(void* about, unsigned worker);  // until there is nothing more to do for this worker
  void (*meanwhile)(void* about);              // called by the thread of the team now and then, while it waits
  void* about;
};

// While it exists, what its thread gives `for_each_task` is done by that thread and the threads of the team. They start
// when they are first needed, and have ended when it has, so that system calls such as `fork` do not meet them.
class Team {
 public:
  Team();
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  // The team of this thread, if it has one that has nothing to do; else null.
  static Team* at_rest();

  // Has round.work() called by this thread, as worker 0, and by at most `workers` - 1 others, or as many as the system
  // gives, each with another number below `workers`. Returns when all that began have ended. A thread that wakes too
  // late to begin is not waited for.
  void run(const Round& round, unsigned workers);

 private:
  class Threads;
  void forget_in_a_copy() noexcept;

  std::unique_ptr<Threads> threads_;  // null until they are needed
  long process_ = 0;                  // that of the threads: a copy of the process has none of them
  bool is_at_rest_ = true;
  Team* outer_;
};

}  // namespace broadphase
