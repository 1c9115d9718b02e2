// A sample of many, taken at even distances. The core has no other way to sample.
#pragma once

#include <algorithm>
#include <cstddef>

namespace broadphase {

// Up to `most` of the places [0, count): the middles of as many equal stretches, ascending and all different.
class EvenSample {
 public:
  EvenSample(std::size_t count, std::size_t most) : count_(count), size_(std::min(count, most)) {}

  std::size_t size() const { return size_; }
  // Preconditions: k < size(), and count * size() below 2^63.
  std::size_t operator[](std::size_t k) const { return (2 * k + 1) * count_ / (2 * size_); }

 private:
  std::size_t count_, size_;
};

}  // namespace broadphase
