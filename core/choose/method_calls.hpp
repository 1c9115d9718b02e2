// The calls of a method, for the one file that compiles it: see calls_of in choose/find.hpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "base/memory.hpp"
#include "boxes/box_view.hpp"
#include "choose/find.hpp"
#include "query/collect.hpp"
#include "query/method.hpp"
#include "query/problem.hpp"

namespace broadphase {

// A method over valid copies of the boxes: one that reads the same numbers again and again while it sorts and packs
// them, as trees do. Copying takes a hundredth of that.
template <class M, class T>
class OverCopies {
 public:
  using Scratch = typename M::Scratch;

  OverCopies(const Problem<T>& problem, const Preparation& with) : method_(copied(problem, with), with) {}

  std::size_t task_count() const { return method_.task_count(); }
  void run(std::size_t task, Scratch& scratch, PairBuffer& out) const { method_.run(task, scratch, out); }

 private:
  Problem<T> copied(const Problem<T>& given, const Preparation& with) {
    Problem<T> problem = given;
    if (!given.is_own) {
      problem.first = copy(given.first, given.dimension, copies_[0], with);
      if (given.cross) problem.second = copy(given.second, given.dimension, copies_[1], with);
      problem.is_own = true;
    }
    check(problem, with);
    return problem;
  }
  static BoxView<T> copy(const BoxView<T>& boxes, std::size_t dimension, PlainArray<T>& to, const Preparation& with) {
    to.grow(2 * dimension * boxes.count);
    in_stretches_on_threads(boxes.count, with.workers, with.interrupt, [&](std::size_t begin, std::size_t end) {
      T* at = to.get() + 2 * dimension * begin;
      for (std::size_t row = begin; row < end; ++row) {
        at = std::copy_n(boxes.lower_of(row), dimension, at);
        at = std::copy_n(boxes.upper_of(row), dimension, at);
      }
    });
    return view_of_rows<T>(to.get(), dimension, boxes.count);
  }

  PlainArray<T> copies_[2];  // made before the method
  M method_;
};

template <template <class> class M, class T>
const MethodCalls<T>& calls_of() {
  constexpr bool kOverCopies = requires { M<T>::kReadsAgain; };
  using Made = std::conditional_t<kOverCopies, OverCopies<M<T>, T>, M<T>>;
  struct Calls {
    static Pairs collect(const Problem<T>& problem, std::uint64_t limit, const Preparation& with) {
      return collect_pairs(Made(problem, with), problem.filter, with.workers, limit, with.interrupt);
    }
    static std::uint64_t count(const Problem<T>& problem, const Preparation& with) {
      return count_pairs(Made(problem, with), problem.filter, with.workers, with.interrupt);
    }
    static PreparedMethod prepare(const Problem<T>& problem, const Preparation& with) {
      return prepared(std::shared_ptr<const Made>(new Made(problem, with)));
    }
  };
  static constexpr MethodCalls<T> kCalls{Calls::collect, Calls::count, Calls::prepare};
  return kCalls;
}

}  // namespace broadphase

// Compiles the calls of a method, in the one file that has this, outside of namespaces.
#define BROADPHASE_COMPILED(METHOD)                                                                 \
  template const broadphase::MethodCalls<float>& broadphase::calls_of<broadphase::METHOD, float>(); \
  template const broadphase::MethodCalls<double>& broadphase::calls_of<broadphase::METHOD, double>()
