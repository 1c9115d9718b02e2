// Giving the GIL away and taking it back, without harm where the interpreter ends in between.
//
// While the interpreter is being finalized, no thread gets the GIL but the one that finalizes. Before Python 3.14, the
// others (daemon threads) are ended where they ask for it, by pthread_exit, which unwinds their stacks: through
// destructors, and past threads that are at work on their variables. That ends the program by an abort. Here such a
// thread sleeps until the process ends, as from Python 3.14 on.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <optional>
#include <thread>

#include "base/team.hpp"

namespace broadphase::python {

namespace nb = nanobind;

namespace gil {

// What this thread has given away, or null.
inline thread_local PyThreadState* given_away = nullptr;

[[noreturn]] inline void sleep_until_the_end() {
  for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

inline void take_back() {
  if (!Py_IsInitialized()) sleep_until_the_end();
  try {
    PyEval_RestoreThread(given_away);
  } catch (...) {  // not an exception: the thread is being unwound
    sleep_until_the_end();
  }
  given_away = nullptr;
}

}  // namespace gil

// The thread has no GIL while this exists, and a team for all that is done meanwhile: its own, or one whose threads
// have ended when the GIL is taken back. In the thread that finalizes the interpreter, or where the GIL is given away
// already, nothing happens.
class ReleasedGil {
 public:
  ReleasedGil() : releases_(gil::given_away == nullptr && Py_IsInitialized()) {
    if (!releases_) return;
    gil::given_away = PyEval_SaveThread();
    if (Team::at_rest() == nullptr) team_.emplace();
  }
  ReleasedGil(const ReleasedGil&) = delete;
  ReleasedGil& operator=(const ReleasedGil&) = delete;
  ~ReleasedGil() {
    if (!releases_) return;
    team_.reset();
    gil::take_back();
  }

 private:
  bool releases_;
  std::optional<Team> team_;
};

// The thread has the GIL again while this exists.
class RetakenGil {
 public:
  RetakenGil() : retakes_(gil::given_away != nullptr) {
    if (retakes_) gil::take_back();
  }
  RetakenGil(const RetakenGil&) = delete;
  RetakenGil& operator=(const RetakenGil&) = delete;
  ~RetakenGil() {
    if (retakes_) gil::given_away = PyEval_SaveThread();
  }

 private:
  bool retakes_;
};

// Calls a function of Python, with the GIL: all calls from inside the core go this way. A thread that is ended in there
// sleeps here, before the destructors of those who called touch what is Python's.
template <class... Arguments>
nb::object call_python(nb::handle function, const Arguments&... arguments) {
  const nb::object all = nb::make_tuple(arguments...);
  PyObject* answer = nullptr;
  try {
    answer = PyObject_CallObject(function.ptr(), all.ptr());
  } catch (...) {  // not an exception: the thread is being unwound
    gil::sleep_until_the_end();
  }
  if (answer == nullptr) nb::raise_python_error();
  return nb::steal(answer);
}

}  // namespace broadphase::python
