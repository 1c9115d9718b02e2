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
  // Precondition: k < size(). No product exceeds the range, however large the count.
  std::size_t operator[](std::size_t k) const {
    const std::size_t stretch = count_ / size_, rest = count_ % size_;
    return stretch * k + rest * k / size_ + stretch / 2;
  }

 private:
  std::size_t count_, size_;
};

}  // namespace broadphase
