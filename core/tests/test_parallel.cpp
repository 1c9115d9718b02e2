// Threads for one call: every task once, whatever fails.
#include "base/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/team.hpp"
#include "check.hpp"
#include "failing_memory.hpp"

namespace broadphase::tests {
namespace {

void check_every_task_once(std::size_t tasks, unsigned workers, std::size_t grain, long long allocations) {
  current_case() = std::to_string(tasks) + " tasks, " + std::to_string(workers) + " workers, grain " +
                   std::to_string(grain) + ", allocations " + std::to_string(allocations);
  std::vector<std::atomic<int>> done(tasks);
  Interrupt never;
  allow_allocations(allocations);
  for_each_task(
      tasks, workers, never,
      [&](unsigned worker, std::size_t task) {
        if (worker >= std::max(1u, workers)) std::abort();
        done[task].fetch_add(1);
      },
      grain);
  allow_allocations(-1);
  for (const auto& times : done) CHECK(times.load() == 1);
}

void check_exception(std::size_t tasks, unsigned workers, std::size_t bad_task) {
  current_case() = "an exception in task " + std::to_string(bad_task) + " of " + std::to_string(tasks) + ", " +
                   std::to_string(workers) + " workers";
  std::atomic<int> inside{0};
  Interrupt never;
  bool caught = false;
  try {
    for_each_task(tasks, workers, never, [&](unsigned, std::size_t task) {
      ++inside;
      // Several may fail; one of these exceptions comes out.
      if (task >= bad_task) {
        --inside;
        throw std::runtime_error("task");
      }
      --inside;
    });
  } catch (const std::runtime_error& error) {
    caught = std::string(error.what()) == "task";
  }
  CHECK(caught);
  CHECK(inside == 0);  // no thread is at work any more
}

std::atomic<int> polls{0};

void check_interrupt(unsigned workers) {
  current_case() = "interrupted, " + std::to_string(workers) + " workers";
  polls = 0;
  Interrupt stop([](std::size_t, std::size_t) { return ++polls > 0; });
  bool interrupted = false;
  std::atomic<std::size_t> done{0};
  try {
    for_each_task(100000, workers, stop, [&](unsigned, std::size_t) {
      ++done;
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    });
  } catch (const Interrupted&) {
    interrupted = true;
  }
  CHECK(interrupted);
  CHECK(done < 100000);
}

// The threads of a team do what its thread gives them, call after call, and not what they give themselves.
void check_team_is_reused() {
  current_case() = "a team";
  Interrupt never;
  Team team;
  std::set<std::thread::id> known;
  std::mutex lock;
  for (int call = 0; call < 50; ++call) {
    std::atomic<int> inner{0};
    for_each_task(64, 3, never, [&](unsigned, std::size_t) {
      std::this_thread::sleep_for(std::chrono::microseconds(20));
      if (call == 7) for_each_task(3, 2, never, [&](unsigned, std::size_t) { ++inner; });
      const std::lock_guard<std::mutex> locked(lock);
      known.insert(std::this_thread::get_id());
    });
    CHECK(inner == (call == 7 ? 3 * 64 : 0));
  }
  CHECK(known.size() >= 2 && known.size() <= 3);
}

// Many short rounds of more and fewer workers: each sees what the rounds before it have written.
void check_rounds() {
  current_case() = "rounds";
  Interrupt never;
  Team team;
  std::vector<std::size_t> values(64, 0);
  for (std::size_t round = 0; round < 20000; ++round)
    for_each_task(
        values.size(), round % 300 == 0 ? 5 : 2 + round % 2, never,
        [&](unsigned, std::size_t task) { values[(task + round) % values.size()] += task; }, 16);
  // Each value is the sum of the tasks that came to it, one a round.
  for (std::size_t k = 0; k < values.size(); ++k) {
    std::size_t expected = 0;
    for (std::size_t round = 0; round < 20000; ++round)
      expected += (k + values.size() - round % values.size()) % values.size();
    CHECK(values[k] == expected);
  }
}

// A stage of two workers in a team of many: one thread takes part, whichever wakes first, and none takes the seat of
// another.
void check_few_of_many() {
  current_case() = "few of many";
  Interrupt never;
  Team team;
  for (int round = 0; round < 300; ++round) {
    const unsigned workers = round % 3 == 0 ? 9 : 2;
    std::vector<std::atomic<int>> inside(workers);
    for_each_task(40, workers, never, [&](unsigned worker, std::size_t) {
      CHECK(worker < workers);
      CHECK(inside[worker].fetch_add(1) == 0);
      std::this_thread::yield();
      inside[worker].fetch_sub(1);
    });
    if (round % 50 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));  // threads fall asleep
  }
}

}  // namespace
}  // namespace broadphase::tests

int main() {
  using namespace broadphase::tests;
  for (const bool is_shared : {false, true}) {
    std::optional<broadphase::Team> shared;
    if (is_shared) shared.emplace();
    for (const std::size_t tasks : {0u, 1u, 2u, 3u, 7u, 100u})
      for (const unsigned workers : {0u, 1u, 2u, 4u, 9u})
        for (const std::size_t grain : {1u, 2u, 1000u}) {
          // Memory for all threads, for none, and for some of them: a list of threads, and a block for each. A team
          // that was refused threads goes on with those that it has.
          for (const long long allocations : {-1, 0, 1, 2, 3}) {
            if (is_shared && allocations >= 0) shared.emplace();
            check_every_task_once(tasks, workers, grain, allocations);
          }
        }
    for (const unsigned workers : {1u, 2u, 4u})
      for (const std::size_t bad_task : {0u, 1u, 50u, 99u}) check_exception(100, workers, bad_task);
    for (const unsigned workers : {1u, 2u, 4u}) check_interrupt(workers);
  }
  check_team_is_reused();
  check_rounds();
  check_few_of_many();
}
