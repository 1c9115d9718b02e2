#include "base/forks.hpp"

#if (defined(__unix__) || defined(__APPLE__)) && !defined(__EMSCRIPTEN__)
#include <pthread.h>
#define BROADPHASE_FORKS
#endif

namespace broadphase {

namespace {

// Never destroyed: what is in the list may outlive what is destroyed at exit.
struct All {
  std::mutex mutex;
  AtFork* first = nullptr;
};

All& all() {
  static All* const made = [] {
#ifdef BROADPHASE_FORKS
    pthread_atfork(&AtFork::before, &AtFork::in_parent, &AtFork::in_child);
#endif
    return new All;
  }();
  return *made;
}

}  // namespace

AtFork::AtFork(void (*in_child)(void* about), void* about) : in_child_(in_child), about_(about) {
  All& list = all();
  const std::lock_guard lock(list.mutex);
  next_ = list.first;
  if (next_ != nullptr) next_->last_ = this;
  list.first = this;
}

AtFork::~AtFork() {
  All& list = all();
  const std::lock_guard lock(list.mutex);
  if (next_ != nullptr) next_->last_ = last_;
  (last_ != nullptr ? last_->next_ : list.first) = next_;
}

void AtFork::before() noexcept { all().mutex.lock(); }

void AtFork::in_parent() noexcept { all().mutex.unlock(); }

void AtFork::in_child() noexcept {
  All& list = all();
  ::new (&list.mutex) std::mutex();
  if (locks_held > 0) return;
  for (AtFork* one = list.first; one != nullptr; one = one->next_) one->in_child_(one->about_);
}

}  // namespace broadphase
