#include "base/team.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#if defined(__unix__) || defined(__APPLE__)
#include <unistd.h>
#endif
#if defined(__linux__)
#include <pthread.h>
#include <sched.h>
#endif

namespace broadphase {

namespace {

using Clock = std::chrono::steady_clock;

thread_local Team* team_of_thread = nullptr;

long number_of_process() {
#if defined(__unix__) || defined(__APPLE__)
  return static_cast<long>(getpid());
#else
  return 0;
#endif
}

// Waits awake until is_over() or for so long: what is waited for mostly comes within some 10 us, and to be woken takes
// as long.
template <class IsOver>
bool wait_awake(std::chrono::microseconds most, IsOver&& is_over) {
  for (const Clock::time_point begin = Clock::now(); !is_over(); std::this_thread::yield())
    if (Clock::now() - begin > most) return false;
  return true;
}

// Moves a thread to the processor of this one, which is about to leave it: there it runs at once. On its own it may
// have to wait some milliseconds for another program. Elsewhere than on Linux it has to.
void bring_here([[maybe_unused]] std::thread& thread) noexcept {
#if defined(__linux__)
  const int here = sched_getcpu();
  if (here < 0 || here >= CPU_SETSIZE) return;
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(here, &only);
  pthread_setaffinity_np(thread.native_handle(), sizeof only, &only);
#endif
}

}  // namespace

class Team::Threads {
 public:
  Threads() = default;
  ~Threads();
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  void run(const Round& round, unsigned workers);

 private:
  // A round has a number of seats for threads, which nobody can take any more when worker 0 has found nothing more to
  // do. In one number: seats left, and threads that have taken one and are still at work.
  static constexpr std::uint64_t kSeat = std::uint64_t{1} << 32;
  static constexpr std::uint64_t at_work(std::uint64_t state) { return state % kSeat; }

  void start_threads(unsigned workers);
  void work();
  unsigned take_seat();
  void leave();
  bool have_left() const { return at_work(state_.load(std::memory_order_acquire)) == 0; }
  void wait_for_all();

  std::atomic<std::uint64_t> state_{0};
  // What threads sleep on: changes when a round begins, and at the end.
  std::atomic<unsigned> number_{0};
  std::atomic<bool> ends_{false};
  std::atomic<unsigned> running_{0};
  Round round_{};  // read by those that have a seat
  std::mutex mutex_;
  std::condition_variable left_;
  std::vector<std::thread> threads_;
  bool is_refused_ = false;
};

void Team::Threads::start_threads(unsigned workers) {
  if (is_refused_) return;
  try {
    threads_.reserve(workers - 1);
    while (threads_.size() + 1 < workers) {
      running_.fetch_add(1, std::memory_order_relaxed);
      try {
        threads_.emplace_back([this] { work(); });
      } catch (...) {
        running_.fetch_sub(1, std::memory_order_relaxed);
        throw;
      }
    }
  } catch (...) {
    is_refused_ = true;  // no more threads to be had, or no memory for them
  }
}

void Team::Threads::run(const Round& round, unsigned workers) {
  round_ = round;  // all have left the last round, and nobody could come back to it
  state_.store((workers - 1) * kSeat, std::memory_order_release);
  number_.fetch_add(1, std::memory_order_release);
  const std::size_t others = workers - 1;
  if (others >= threads_.size())
    number_.notify_all();
  else
    for (std::size_t k = 0; k < others; ++k) number_.notify_one();
  if (others > threads_.size()) start_threads(workers);
  round.work(round.about, 0);
  wait_for_all();
}

// Closes the round, and waits for those at work. At first awake, then asleep but for a call of meanwhile() every 20 ms:
// `std::atomic::wait` would not return for a signal.
void Team::Threads::wait_for_all() {
  state_.fetch_and(kSeat - 1, std::memory_order_relaxed);
  if (wait_awake(std::chrono::microseconds(50), [this] { return have_left(); })) return;
  for (bool is_over = false; !is_over;) {
    {
      std::unique_lock lock(mutex_);
      is_over = left_.wait_for(lock, std::chrono::milliseconds(20), [this] { return have_left(); });
    }
    round_.meanwhile(round_.about);
  }
}

void Team::Threads::work() {
  for (unsigned last = 0;;) {
    const auto is_over = [&] { return number_.load(std::memory_order_acquire) != last; };
    if (!wait_awake(std::chrono::microseconds(50), is_over)) number_.wait(last, std::memory_order_acquire);
    last = number_.load(std::memory_order_acquire);
    if (ends_.load(std::memory_order_relaxed)) break;
    if (const unsigned worker = take_seat()) {
      round_.work(round_.about, worker);
      leave();
    }
  }
  running_.fetch_sub(1, std::memory_order_relaxed);
}

// The number of the worker, or 0 if the round is over or has workers enough.
unsigned Team::Threads::take_seat() {
  std::uint64_t state = state_.load(std::memory_order_relaxed);
  do {
    if (state < kSeat) return 0;
  } while (
      !state_.compare_exchange_weak(state, state - kSeat + 1, std::memory_order_acquire, std::memory_order_relaxed));
  return static_cast<unsigned>(state / kSeat);
}

void Team::Threads::leave() {
  if (state_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  // The last of a closed round. The caller looks under this lock before it sleeps, so it cannot miss the notification.
  const std::lock_guard lock(mutex_);
  left_.notify_one();
}

Team::Threads::~Threads() {
  ends_.store(true, std::memory_order_relaxed);
  number_.fetch_add(1, std::memory_order_release);
  number_.notify_all();
  const auto have_ended = [this] { return running_.load(std::memory_order_relaxed) == 0; };
  if (!wait_awake(std::chrono::microseconds(20), have_ended))
    for (std::thread& thread : threads_) bring_here(thread);
  for (std::thread& thread : threads_) thread.join();
}

Team::Team() : outer_(team_of_thread) { team_of_thread = this; }

Team::~Team() {
  team_of_thread = outer_;
  forget_in_a_copy();
}

// In a copy of the process there is nothing to end.
void Team::forget_in_a_copy() noexcept {
  if (threads_ != nullptr && process_ != number_of_process()) static_cast<void>(threads_.release());
}

Team* Team::at_rest() {
  Team* team = team_of_thread;
  return team != nullptr && team->is_at_rest_ ? team : nullptr;
}

void Team::run(const Round& round, unsigned workers) {
  forget_in_a_copy();
  if (threads_ == nullptr) {
    try {
      threads_ = std::make_unique<Threads>();
    } catch (const std::bad_alloc&) {
      round.work(round.about, 0);
      return;
    }
    process_ = number_of_process();
  }
  is_at_rest_ = false;
  threads_->run(round, workers);
  is_at_rest_ = true;
}

}  // namespace broadphase
