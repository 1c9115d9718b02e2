// What find.hpp declares: included where it is compiled, by the bindings and by the tests.
#pragma once

#include "choose/find.hpp"

namespace broadphase {

template <class T>
PreparedMethod prepare_method(MethodName name, const Problem<T>& problem, const Preparation& with) {
  return with_method(name, problem, with, [&](const MethodCalls<T>& calls, const Preparation& prepared) {
    return calls.prepare(problem, prepared);
  });
}

}  // namespace broadphase
