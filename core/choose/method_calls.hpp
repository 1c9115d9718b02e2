// The calls of a method, for the one file that compiles it: see calls_of in choose/find.hpp.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

#include "choose/find.hpp"
#include "query/collect.hpp"

namespace broadphase {

template <template <class> class M, class T>
const MethodCalls<T>& calls_of() {
  using Made = M<T>;
  struct Calls {
    // Not moved: the methods are large, and point into themselves.
    static Made make(const Problem<T>& problem, const Preparation& with) {
      if constexpr (std::is_constructible_v<Made, const Problem<T>&, const Kernels&, unsigned, const SceneShape&,
                                            const GridPlan&, Interrupt&>)
        return Made(problem, with.kernels, with.workers, *with.shape, *with.plan, with.interrupt);
      else if constexpr (std::is_constructible_v<Made, const Problem<T>&, const Kernels&, unsigned, int, Interrupt&>)
        return Made(problem, with.kernels, with.workers, with.axis, with.interrupt);
      else if constexpr (std::is_constructible_v<Made, const Problem<T>&, const Preparation&>)
        return Made(problem, with);
      else
        return Made(problem, with.kernels, with.workers, with.interrupt);
    }
    static Pairs collect(const Problem<T>& problem, std::uint64_t limit, const Preparation& with) {
      return collect_pairs(make(problem, with), problem.filter, with.workers, limit, with.interrupt);
    }
    static std::uint64_t count(const Problem<T>& problem, const Preparation& with) {
      return count_pairs(make(problem, with), problem.filter, with.workers, with.interrupt);
    }
    static PreparedMethod prepare(const Problem<T>& problem, const Preparation& with) {
      return prepared(std::shared_ptr<const Made>(new Made(make(problem, with))));
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
