#include "base/team.hpp"

#include <chrono>

#if defined(__unix__) || defined(__APPLE__)
#include <unistd.h>
#endif

namespace broadphase {

namespace {

thread_local Team* team_of_thread = nullptr;

long number_of_process() {
#if defined(__unix__) || defined(__APPLE__)
  return static_cast<long>(getpid());
#else
  return 0;
#endif
}

}  // namespace

Team::Team(unsigned workers) : process_(number_of_process()), outer_(team_of_thread) {
  try {
    threads_.reserve(workers > 1 ? workers - 1 : 0);
    for (unsigned worker = 1; worker < workers; ++worker) threads_.emplace_back([this, worker] { work(worker); });
  } catch (...) {
    // No more threads to be had, or no memory for them.
  }
  team_of_thread = this;
}

Team::~Team() {
  team_of_thread = outer_;
  const bool has_threads = process_ == number_of_process();
  call_ = nullptr;
  round_.fetch_add(1, std::memory_order_release);
  if (has_threads) round_.notify_all();
  for (std::thread& thread : threads_) has_threads ? thread.join() : thread.detach();
}

Team* Team::at_rest() {
  Team* team = team_of_thread;
  return team != nullptr && team->is_at_rest_ && !team->threads_.empty() && team->process_ == number_of_process()
             ? team
             : nullptr;
}

void Team::start(void (*call)(void* callable, unsigned worker), void* callable, unsigned workers) {
  is_at_rest_ = false;
  call_ = call;
  callable_ = callable;
  workers_ = workers;
  running_.start(static_cast<unsigned>(threads_.size()));
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
}

void Team::work(unsigned worker) {
  for (unsigned round = 0;;) {
    round = next_round(round);
    if (call_ == nullptr) return;
    if (worker < workers_) call_(callable_, worker);
    running_.end_one();
  }
}

// Waits awake for a while: the next call mostly comes within some 10 us, and waking a thread takes longer.
unsigned Team::next_round(unsigned last) const {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::microseconds kAwake(200);
  const Clock::time_point begin = Clock::now();
  unsigned round;
  while ((round = round_.load(std::memory_order_acquire)) == last) {
    if (Clock::now() - begin < kAwake)
      std::this_thread::yield();
    else
      round_.wait(last, std::memory_order_acquire);
  }
  return round;
}

}  // namespace broadphase
