// A set of pairs of rows, for filters that leave them out.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace broadphase {

class PairSet {
 public:
  // Forgets all pairs; there is room for `count`.
  void start(std::size_t count) {
    count_ = 0;
    if (count == 0) return;
    slots_.assign(std::bit_ceil(2 * count), kNone);
    shift_ = 64 - std::countr_zero(slots_.size());
  }
  void add(std::uint32_t first, std::uint32_t second) {
    const std::uint64_t key = key_of(first, second);
    std::size_t slot = slot_of(key);
    while (slots_[slot] != kNone && slots_[slot] != key) slot = (slot + 1) & (slots_.size() - 1);
    count_ += slots_[slot] == kNone ? 1 : 0;
    slots_[slot] = key;
  }

  bool empty() const { return count_ == 0; }
  // Precondition: not empty.
  bool contains(std::uint32_t first, std::uint32_t second) const {
    const std::uint64_t key = key_of(first, second);
    for (std::size_t slot = slot_of(key);; slot = (slot + 1) & (slots_.size() - 1)) {
      if (slots_[slot] == key) return true;
      if (slots_[slot] == kNone) return false;
    }
  }

 private:
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};  // rows are less than 2^31

  static std::uint64_t key_of(std::uint32_t first, std::uint32_t second) { return std::uint64_t{first} << 32 | second; }
  // By the golden ratio: rows one after the other are far apart. At most half of the slots are in use.
  std::size_t slot_of(std::uint64_t key) const {
    return static_cast<std::size_t>((key * 0x9e3779b97f4a7c15u) >> shift_);
  }

  std::vector<std::uint64_t> slots_;
  std::size_t count_ = 0;
  int shift_ = 0;
};

}  // namespace broadphase
