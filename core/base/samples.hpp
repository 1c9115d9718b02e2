// Samples of many. The core has no other way to sample.
//
// Rows are often in the order of a grid, of space, or of another set. Places at even distances, or the middles of equal
// stretches, would see a few columns of a grid, and in a set with a copy behind it each box and its copy. So places are
// drawn by a hash. They depend on nothing but `count`, `most` and `draw`. `draw`: another one for a second set, whose
// rows may be those of the first in the same order.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace broadphase {

namespace detail {

inline constexpr std::uint64_t kOddOfHash = 0xd6e8feb86659fd93u, kGoldenRatio = 0x9e3779b97f4a7c15u;

inline std::uint64_t hashed(std::uint64_t x) {
  x = (x ^ x >> 32) * kOddOfHash;
  x = (x ^ x >> 32) * kOddOfHash;
  return x ^ x >> 32;
}

}  // namespace detail

// Up to `most` of the places [0, count), ascending and all different: one place in each of as many stretches of equal
// length. For properties of single rows, such as the median of a size: few samples suffice, since no part of the
// rows is left out. Precondition: fewer than 2^32 places are taken.
class StratifiedSample {
 public:
  StratifiedSample(std::size_t count, std::size_t most, std::uint64_t draw = 0)
      : size_(std::min(count, most)),
        stretch_(size_ > 0 ? count / size_ : 0),
        seed_(detail::hashed(count + draw * detail::kGoldenRatio) ^ detail::hashed(size_)) {
    // Rounded up, so that the last stretch ends at `count`.
    const std::uint64_t rest = size_ > 0 ? count % size_ : 0;
    longer_ = rest > 0 ? ((rest << 32) + size_ - 1) / size_ : 0;
  }

  std::size_t size() const { return static_cast<std::size_t>(size_); }
  // Precondition: k < size(). No product exceeds the range, however large the count.
  std::size_t operator[](std::size_t k) const {
    const std::uint64_t first = begin(k), length = begin(k + 1) - first,
                        drawn = detail::hashed(seed_ + k * detail::kGoldenRatio) >> 32;
    return static_cast<std::size_t>(first + drawn * (length >> 32) + (drawn * (length & 0xffffffffu) >> 32));
  }

 private:
  // Stretches have the rounded length, or one place more, evenly among them.
  std::uint64_t begin(std::size_t k) const { return stretch_ * k + (longer_ * k >> 32); }

  std::uint64_t size_, stretch_, seed_, longer_;
};

// Up to `most` of the places [0, count), all different, in no order; all of them in order where they are no more. For
// properties of pairs of rows, such as how many boxes overlap. Of rows in the order of space, one from each
// stretch would be farther apart than others are, and fewer would meet.
class RandomSample {
 public:
  RandomSample(std::size_t count, std::size_t most, std::uint64_t draw = 0)
      : count_(count), size_(std::min(count, most)), seed_(detail::hashed(count + draw * detail::kGoldenRatio)) {
    const int bits = count > 1 ? static_cast<int>(std::bit_width(count - 1)) : 0;
    half_ = (bits + 1) / 2;
    mask_ = bits < 64 ? (std::uint64_t{1} << bits) - 1 : ~std::uint64_t{0};
  }

  std::size_t size() const { return size_; }
  // Precondition: k < size(). Time: less than two rounds on average.
  std::size_t operator[](std::size_t k) const {
    if (size_ == count_) return k;
    // Each step maps the numbers of so many bits one to one. So does a walk from one of the first `count` to the next.
    std::uint64_t x = k;
    do {
      x = (x + seed_) * detail::kOddOfHash & mask_;
      x ^= x >> half_;
      x = (x * detail::kGoldenRatio + (seed_ >> 32)) & mask_;
      x ^= x >> half_;
      x = x * detail::kOddOfHash & mask_;
      x ^= x >> half_;
    } while (x >= count_);
    return static_cast<std::size_t>(x);
  }

 private:
  std::size_t count_, size_;
  std::uint64_t seed_, mask_ = 0;
  int half_ = 0;
};

}  // namespace broadphase
