// Locks after a fork. A child process has the thread that forked, but not those that held locks at that moment, so
// nobody would ever let these go.
#pragma once

#include <mutex>
#include <new>

namespace broadphase {

// How many locks this thread holds. If it forks meanwhile, in what a call calls, it goes on holding them in the child,
// where all then stays as it was.
inline thread_local int locks_held = 0;

// A member, the last of its class, by which the child puts an object in order before anything else runs there.
class AtFork {
 public:
  AtFork(void (*in_child)(void* about), void* about);
  ~AtFork();
  AtFork(const AtFork&) = delete;
  AtFork& operator=(const AtFork&) = delete;

  // For `pthread_atfork`.
  static void before() noexcept;
  static void in_parent() noexcept;
  static void in_child() noexcept;

 private:
  void (*in_child_)(void* about);
  void* about_;
  AtFork *last_ = nullptr, *next_ = nullptr;  // in the list of all
};

// A mutex that a child process finds open.
class ForkedMutex {
 public:
  void lock() {
    mutex_.lock();
    ++locks_held;
  }
  bool try_lock() {
    const bool has_it = mutex_.try_lock();
    locks_held += has_it;
    return has_it;
  }
  void unlock() {
    --locks_held;
    mutex_.unlock();
  }

 private:
  std::mutex mutex_;
  AtFork at_fork_{[](void* mutex) { ::new (mutex) std::mutex(); }, &mutex_};
};

}  // namespace broadphase
