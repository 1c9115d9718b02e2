// No vector instructions: one number at a time, and loops that the compiler may vectorize. See lanes.hpp.
#pragma once

#include <math.h>
#include <string.h>

#include <cstddef>
#include <cstdint>

#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
#endif

namespace broadphase::BROADPHASE_LEVEL::with_scalar {

template <class T>
struct Lanes {
  static constexpr std::size_t kWidth = 1;
  using Vector = T;
  using Mask = bool;
  static Vector splat(T x) { return x; }
  static Vector load(const T* p) { return *p; }
  static Mask less(Vector a, Vector b) { return a < b; }
  static Mask less_equal(Vector a, Vector b) { return a <= b; }
  static Mask both(Mask a, Mask b) { return a & b; }
  static std::uint32_t bits(Mask mask) { return mask ? 1u : 0u; }
  static std::size_t emit(std::uint32_t bits, std::uint32_t j, std::uint32_t* out) {
    *out = j;
    return bits;
  }
};

struct Words {
  using Vector = std::int32_t;
  static constexpr std::size_t kWidth = 1, kParts = 32;
  static Vector splat(std::int16_t x) { return x; }
  static Vector load(const std::int16_t* p) { return *p; }
  static Vector add(Vector a, Vector b) { return a + b; }
  static Vector larger(Vector a, Vector b) { return a > b ? a : b; }
  static std::uint32_t negative(const Vector* a) {
    std::uint32_t all = 0;
    for (std::size_t part = 0; part < kParts; ++part) all |= static_cast<std::uint32_t>(a[part] < 0) << part;
    return all;
  }
  static bool decide(const Vector* a, const std::uint16_t* p, const Vector* x, std::size_t step, std::uint32_t& sure,
                     std::uint32_t& possible) {
    sure = possible = 0;
    for (std::size_t part = 0; part < kParts; ++part) {
      const bool apart = (p[part] & x[part * step]) == 0;
      sure |= static_cast<std::uint32_t>(apart && a[part] < 0) << part;
      possible |= static_cast<std::uint32_t>(apart && a[part] <= 0) << part;
    }
    return possible != 0;
  }
};

// Eight numbers: floats, or doubles as a block of a wide tree holds them.
template <class T>
struct EightOf {
  T v[8];
  static EightOf splat(T x) { return {{x, x, x, x, x, x, x, x}}; }
  static EightOf load(const void* p) {
    EightOf result;
    memcpy(result.v, p, sizeof result.v);
    return result;
  }
  static EightOf read(const T* p) { return load(p); }
  void store(T* p) const {
    for (std::size_t l = 0; l < 8; ++l) p[l] = v[l];
  }
};
using Eight = EightOf<float>;
using WideEight = EightOf<double>;

template <class T, class Each>
EightOf<T> eight_of(Each&& each) {
  EightOf<T> result;
  for (std::size_t l = 0; l < 8; ++l) result.v[l] = each(l);
  return result;
}
template <class T>
inline EightOf<T> operator+(const EightOf<T>& a, const EightOf<T>& b) {
  return eight_of<T>([&](std::size_t l) { return a.v[l] + b.v[l]; });
}
template <class T>
inline EightOf<T> operator-(const EightOf<T>& a, const EightOf<T>& b) {
  return eight_of<T>([&](std::size_t l) { return a.v[l] - b.v[l]; });
}
template <class T>
inline EightOf<T> operator*(const EightOf<T>& a, const EightOf<T>& b) {
  return eight_of<T>([&](std::size_t l) { return a.v[l] * b.v[l]; });
}
template <class T>
inline EightOf<T> larger(const EightOf<T>& a, const EightOf<T>& b) {
  return eight_of<T>([&](std::size_t l) { return a.v[l] > b.v[l] ? a.v[l] : b.v[l]; });
}
template <class T>
inline EightOf<T> smaller(const EightOf<T>& a, const EightOf<T>& b) {
  return eight_of<T>([&](std::size_t l) { return a.v[l] < b.v[l] ? a.v[l] : b.v[l]; });
}
template <class T>
inline EightOf<T> raised(const EightOf<T>& a, const EightOf<T>& b) {
  return larger(a, b);
}
template <class T>
inline EightOf<T> lowered(const EightOf<T>& a, const EightOf<T>& b) {
  return smaller(a, b);
}
inline Eight absolute(const Eight& a) {
  return eight_of<float>([&](std::size_t l) { return a.v[l] < 0.0F ? -a.v[l] : a.v[l]; });
}
inline Eight root(const Eight& a) {
  return eight_of<float>([&](std::size_t l) { return sqrtf(a.v[l]); });
}
inline WideEight root(const WideEight& a) {
  return eight_of<double>([&](std::size_t l) { return sqrt(a.v[l]); });
}
inline WideEight marked(const WideEight& a, std::uint32_t mark) {
  return eight_of<double>([&](std::size_t l) {
    std::uint64_t bits;
    memcpy(&bits, a.v + l, sizeof(double));
    bits = (bits & ~std::uint64_t{0xff}) | mark;
    double result;
    memcpy(&result, &bits, sizeof(double));
    return result;
  });
}
inline Eight where_at_most(const Eight& a, const Eight& b, const Eight& x, const Eight& y) {
  return eight_of<float>([&](std::size_t l) { return a.v[l] <= b.v[l] ? x.v[l] : y.v[l]; });
}
inline Eight moved_up(const Eight& a, float first) {
  return eight_of<float>([&](std::size_t l) { return l > 0 ? a.v[l - 1] : first; });
}
inline Eight marked(const Eight& a, std::uint32_t mark) {
  return eight_of<float>([&](std::size_t l) {
    std::uint32_t bits;
    memcpy(&bits, a.v + l, sizeof(float));
    bits = (bits & ~0xffu) | mark;
    float result;
    memcpy(&result, &bits, sizeof(float));
    return result;
  });
}
inline std::uint32_t at_most(const Eight& a, const Eight& b) {
  std::uint32_t bits = 0;
  for (std::uint32_t l = 0; l < 8; ++l) bits |= static_cast<std::uint32_t>(a.v[l] <= b.v[l]) << l;
  return bits;
}
inline std::uint32_t below(const Eight& a, const Eight& b) {
  std::uint32_t bits = 0;
  for (std::uint32_t l = 0; l < 8; ++l) bits |= static_cast<std::uint32_t>(a.v[l] < b.v[l]) << l;
  return bits;
}

class EightTests {
 public:
  void at_most(const Eight& a, const Eight& b) {
    for (std::size_t l = 0; l < 8; ++l) all_[l] &= a.v[l] <= b.v[l] ? ~0u : 0u;
  }
  void not_below(const Eight& a, const Eight& b) {
    for (std::size_t l = 0; l < 8; ++l) all_[l] &= a.v[l] < b.v[l] ? 0u : ~0u;
  }
  std::uint32_t bits() const {
    std::uint32_t result = 0;
    for (std::uint32_t l = 0; l < 8; ++l) result |= (all_[l] & 1u) << l;
    return result;
  }

 private:
  std::uint32_t all_[8] = {~0u, ~0u, ~0u, ~0u, ~0u, ~0u, ~0u, ~0u};
};

class WideTests {
 public:
  void at_most(const WideEight& a, const WideEight& b) {
    for (std::size_t l = 0; l < 8; ++l) all_[l] &= a.v[l] <= b.v[l] ? ~std::int64_t{0} : std::int64_t{0};
  }
  std::uint32_t bits() const {
    std::int64_t bits = 0;
    for (std::size_t l = 0; l < 8; ++l) bits |= all_[l] & static_cast<std::int64_t>(1u << l);
    return static_cast<std::uint32_t>(bits);
  }

 private:
  std::int64_t all_[8] = {-1, -1, -1, -1, -1, -1, -1, -1};
};

inline constexpr bool kIsTestedByBoundsFirst = false;

inline WideEight widened(const float* p) {
  return eight_of<double>([&](std::size_t l) { return static_cast<double>(p[l]); });
}
inline WideEight widened(const double* p) { return WideEight::read(p); }
inline Eight narrowed(const WideEight& a) {
  return eight_of<float>([&](std::size_t l) { return static_cast<float>(a.v[l]); });
}
inline Eight upper_halves(const WideEight& numbers, std::int32_t most) {
  std::int64_t bits[8];
  std::int32_t upper[8];
  Eight result;
  memcpy(bits, numbers.v, sizeof bits);
  for (std::size_t l = 0; l < 8; ++l) {
    const std::int64_t half = bits[l] >> 32;
    upper[l] = static_cast<std::int32_t>(half < most ? half : most);
  }
  memcpy(result.v, upper, sizeof upper);
  return result;
}

template <class T>
inline std::size_t keep(const void* values, std::uint32_t bits, T* to) {
  T own[8];
  memcpy(own, values, sizeof own);
  std::size_t count = 0;
  for (std::uint32_t l = 0; l < 8; ++l) {
    to[count] = own[l];
    count += bits >> l & 1u;
  }
  return count;
}
inline std::size_t keep(const Eight& values, std::uint32_t bits, float* to) { return keep(values.v, bits, to); }

inline bool keep_few_in_order(const Eight&, const void*, std::uint32_t, float*, std::int32_t*, std::size_t&) {
  return false;
}

inline std::size_t emit_eight(std::uint32_t bits, std::uint32_t j, std::uint32_t* out) {
  std::size_t count = 0;
  for (std::uint32_t l = 0; l < 8; ++l) {
    out[count] = j + l;
    count += bits >> l & 1u;
  }
  return count;
}

inline std::uint32_t lowest_bit(std::uint32_t bits) {
#if defined(_MSC_VER) && !defined(__clang__)
  unsigned long index = 31;
  _BitScanForward(&index, bits);
  return index;
#else
  return static_cast<std::uint32_t>(__builtin_ctz(bits | 0x80000000u));
#endif
}

inline std::uint32_t bit_count(std::uint32_t bits) {
  bits -= bits >> 1 & 0x55555555u;
  bits = (bits & 0x33333333u) + (bits >> 2 & 0x33333333u);
  return ((bits + (bits >> 4)) & 0x0f0f0f0fu) * 0x01010101u >> 24;
}

inline std::uint64_t full_bytes(std::uint32_t bits) {
  const std::uint64_t diagonal = bits * 0x0101010101010101u & 0x8040201008040201u;
  return ((((diagonal & 0x7f7f7f7f7f7f7f7fu) + 0x7f7f7f7f7f7f7f7fu) | diagonal) >> 7 & 0x0101010101010101u) * 0xffu;
}

inline std::size_t keep_of_block(const std::int32_t* values, std::uint32_t bits, std::int32_t* to) {
  std::size_t count = 0;
  for (; bits != 0; bits &= bits - 1) to[count++] = values[lowest_bit(bits)];
  return count;
}

struct EightWords {
  static constexpr bool kInRegister = false;
};

struct Fours {
  static constexpr bool kInRegister = false;
};
template <class T>
struct CornerFours;

// For registers of four lanes, see emit in lanes.hpp. Row m: the numbers of the set bits of m, ascending; the rest is
// never used.
struct LaneTable {
  std::uint32_t lane[16][4];
  std::uint8_t count[16];
  constexpr LaneTable() : lane(), count() {
    for (unsigned m = 0; m < 16; ++m)
      for (unsigned l = 0; l < 4; ++l)
        if ((m >> l & 1u) != 0) lane[m][count[m]++] = l;
  }
};
alignas(64) inline constexpr LaneTable kLaneTable;

}  // namespace broadphase::BROADPHASE_LEVEL::with_scalar
