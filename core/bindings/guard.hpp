// Who may use an index or a world: many readers or one writer, and nobody waits.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "base/forks.hpp"
#include "bindings.hpp"

namespace broadphase::python {

// Refusing is the point: a lock that waits would answer from a scene that is half of one moment and half of another, or
// deadlock where a signal handler changes what it interrupted.
class Guard {
 public:
  explicit Guard(std::string name) : name_(std::move(name)) {}

  void start_reading() {
    int users = users_.load();
    do {
      if (users == kWriter) {
        throw std::runtime_error("cannot query the " + name_ + while_it_is_being_modified());
      }
    } while (!users_.compare_exchange_weak(users, users + 1));
    ++locks_held;
  }

  void stop_reading() {
    --locks_held;
    users_.fetch_sub(1);
  }

  void start_changing() {
    int users = 0;
    if (users_.compare_exchange_strong(users, kWriter)) {
      ++locks_held;
      ++changes_;
      return;
    }
    const std::string refused = "cannot modify the " + name_;
    if (users == kWriter) throw std::runtime_error(refused + while_it_is_being_modified());
    throw std::runtime_error(refused + ": " +
                             (users == 1 ? "1 query is running in another thread"
                                         : std::to_string(users) + " queries are running in other threads"));
  }

  void stop_changing() {
    --locks_held;
    users_.store(0);
  }

  bool is_changing() const { return users_.load() == kWriter; }
  // How many changes have begun. Inside a query it stays the same.
  std::uint64_t changes() const { return changes_.load(); }

  // Of several threads that find something to be built, one builds, and the others wait for it, open to signals.
  void start_building() {
    const std::thread::id here = std::this_thread::get_id();
    for (;;) {
      {
        const std::lock_guard lock(mutex_);
        if (builder_ == std::thread::id()) {
          builder_ = here;
          ++locks_held;
          return;
        }
        if (builder_ == here) {
          throw std::runtime_error("cannot query the " + name_ + " in a signal handler while it is being built");
        }
      }
      // The thread that builds sleeps for ever then: see gil.hpp.
      if (!Py_IsInitialized()) throw std::runtime_error("cannot query the " + name_ + " while the interpreter ends");
      {
        const ReleasedGil release;
        std::unique_lock lock(mutex_);
        built_.wait_for(lock, kBetweenSignalChecks, [&] { return builder_ == std::thread::id(); });
      }  // the mutex is let go before the GIL is taken
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }
  }

  void stop_building() {
    --locks_held;
    {
      const std::lock_guard lock(mutex_);
      builder_ = std::thread::id();
    }
    built_.notify_all();
  }

 private:
  // In a child process, the threads of its parent that query or build are gone, and what they had begun is begun again.
  // One that was modifying leaves half of it.
  void forget_other_threads() {
    if (users_.load() == kWriter)
      is_torn_ = true;
    else
      users_ = 0;
    builder_ = std::thread::id();
    ::new (&mutex_) std::mutex();
    ::new (&built_) std::condition_variable();
  }

  std::string while_it_is_being_modified() const {
    return is_torn_ ? ": another thread was modifying it when this process was forked" : " while it is being modified";
  }

  static constexpr int kWriter = -1;
  static constexpr std::chrono::milliseconds kBetweenSignalChecks{20};

  std::string name_;
  std::atomic<int> users_ = 0;  // readers, or kWriter
  std::atomic<std::uint64_t> changes_ = 0;
  std::mutex mutex_;
  std::condition_variable built_;
  std::thread::id builder_;  // of no thread: nobody builds
  std::atomic<bool> is_torn_ = false;
  AtFork at_fork_{[](void* guard) { static_cast<Guard*>(guard)->forget_other_threads(); }, this};
};

// A query, or a change, while this exists.
template <void (Guard::*start)(), void (Guard::*stop)()>
class Held {
 public:
  explicit Held(Guard& guard) : guard_(guard) { (guard_.*start)(); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() { (guard_.*stop)(); }

 private:
  Guard& guard_;
};
using Reading = Held<&Guard::start_reading, &Guard::stop_reading>;
using Changing = Held<&Guard::start_changing, &Guard::stop_changing>;

}  // namespace broadphase::python
