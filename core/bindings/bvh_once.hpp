// What changes a BVH is compiled in bvh.cpp alone: others that keep one include this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "bvh/bvh.hpp"

namespace broadphase {

#define BROADPHASE_BVH_OF(prefix, T)                                                                       \
  prefix template void Bvh::build(const BoxView<T>&, const std::int32_t*, std::size_t, const Bvh::Work&);  \
  prefix template void Bvh::insert(const BoxView<T>&, const std::int32_t*, std::size_t, const Bvh::Work&); \
  prefix template void Bvh::update(const BoxView<T>&, const std::int32_t*, std::size_t, const Bvh::Work&); \
  prefix template std::string Bvh::validate(const BoxView<T>&, const std::int32_t*, std::size_t) const;
BROADPHASE_BVH_OF(extern, float)
BROADPHASE_BVH_OF(extern, double)

}  // namespace broadphase
