// Who may use an index or a world: many readers or one writer, and nobody waits.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "bindings.hpp"

namespace broadphase::python {

namespace {

// Refusing is the point: a lock that waits would answer from a scene that is half of one moment and half of another, or
// deadlock where a signal handler changes what it interrupted.
class Guard {
 public:
  explicit Guard(std::string name) : name_(std::move(name)) {}

  void start_reading() {
    int users = users_.load();
    do {
      if (users == kWriter) {
        throw std::runtime_error("cannot query the " + name_ + " while it is being modified");
      }
    } while (!users_.compare_exchange_weak(users, users + 1));
  }

  void stop_reading() { users_.fetch_sub(1); }

  void start_changing() {
    int users = 0;
    if (users_.compare_exchange_strong(users, kWriter)) return;
    const std::string refused = "cannot modify the " + name_;
    if (users == kWriter) throw std::runtime_error(refused + " while it is being modified");
    throw std::runtime_error(refused + ": " +
                             (users == 1 ? "1 query is running in another thread"
                                         : std::to_string(users) + " queries are running in other threads"));
  }

  void stop_changing() { users_.store(0); }

  bool is_changing() const { return users_.load() == kWriter; }

  // Of several threads that find something to be built, one builds, and the others wait for it, open to signals.
  void start_building() {
    const std::thread::id here = std::this_thread::get_id();
    for (;;) {
      {
        const std::lock_guard lock(mutex_);
        if (builder_ == std::thread::id()) {
          builder_ = here;
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
    {
      const std::lock_guard lock(mutex_);
      builder_ = std::thread::id();
    }
    built_.notify_all();
  }

 private:
  static constexpr int kWriter = -1;
  static constexpr std::chrono::milliseconds kBetweenSignalChecks{20};

  std::string name_;
  std::atomic<int> users_ = 0;  // readers, or kWriter
  std::mutex mutex_;
  std::condition_variable built_;
  std::thread::id builder_;  // of no thread: nobody builds
};

// What a `with` statement holds. It is released when the statement is left, and at the latest when nothing refers to it
// any more: an exception that falls between the statement's own instructions, such as Ctrl-C or one raised by a
// debugger, cannot leave the guard held.
class Hold {
 public:
  using Step = void (Guard::*)();

  Hold(nb::handle guard, Step start, Step stop)
      : owner_(nb::borrow(guard)), guard_(nb::inst_ptr<Guard>(guard)), start_(start), stop_(stop) {}
  Hold(Hold&& other) noexcept
      : owner_(std::move(other.owner_)),
        guard_(other.guard_),
        start_(other.start_),
        stop_(other.stop_),
        is_held_(std::exchange(other.is_held_, false)) {}
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  ~Hold() { leave(); }

  void enter() {
    if (is_held_) throw std::runtime_error("this hold has been entered already: get another one from the guard");
    (guard_->*start_)();
    is_held_ = true;
  }

  void leave() {
    if (std::exchange(is_held_, false)) (guard_->*stop_)();
  }

 private:
  nb::object owner_;
  Guard* guard_;
  Step start_, stop_;
  bool is_held_ = false;
};

template <Hold::Step start, Hold::Step stop>
Hold hold(nb::handle_t<Guard> guard) {
  return {guard, start, stop};
}

}  // namespace

void bind_guard(nb::module_& module) {
  nb::class_<Hold>(module, "Hold", "What ``with guard.reading:`` and its like hold; for one ``with`` statement.")
      .def("__enter__", &Hold::enter)
      .def(
          "__exit__", [](Hold& hold, nb::handle, nb::handle, nb::handle) { hold.leave(); }, nb::arg("type").none(),
          nb::arg("error").none(), nb::arg("traceback").none());
  nb::class_<Guard>(module, "Guard", "Many readers or one writer of an index or a world; others are refused.")
      .def(nb::init<std::string>(), nb::arg("name") = "index")
      .def_prop_ro("reading", &hold<&Guard::start_reading, &Guard::stop_reading>,
                   "What a query runs in; RuntimeError while a change runs.")
      .def_prop_ro("changing", &hold<&Guard::start_changing, &Guard::stop_changing>,
                   "What a change runs in; RuntimeError while a query or another change runs.")
      .def_prop_ro("is_changing", &Guard::is_changing, "Whether a change runs.")
      .def_prop_ro("building", &hold<&Guard::start_building, &Guard::stop_building>,
                   "What a query builds in: other threads wait, and the thread that builds is refused.");
}

}  // namespace broadphase::python
