// Names as numbers: equal names have the same one, in the order in which they first come.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace broadphase {

// A table of hashes with open addressing, at most half full. Names stay where they are, and must outlive it. O(1) a
// name.
class NameNumbers {
 public:
  NameNumbers() : slots_(kLeastSlots) {}

  std::uint32_t number_of(std::string_view name) {
    const std::uint64_t word = word_of(name);
    std::size_t at = slot_of(name, word);
    while (slots_[at].number != kNone && !slots_[at].is(name, word)) at = (at + 1) & (slots_.size() - 1);
    if (slots_[at].number != kNone) return slots_[at].number;
    slots_[at] = {word, name.data(), name.size(), count_++};
    if (2 * std::size_t{count_} > slots_.size()) grow();
    return count_ - 1;
  }
  std::uint32_t count() const { return count_; }

 private:
  static constexpr std::size_t kLeastSlots = 256;
  static constexpr std::uint32_t kNone = 0xffffffffu;

  struct Slot {
    std::uint64_t word = 0;
    const char* name = nullptr;
    std::size_t size = 0;
    std::uint32_t number = kNone;

    bool is(std::string_view other, std::uint64_t other_word) const {
      return number != kNone && word == other_word && size == other.size() &&
             (size <= 8 || std::memcmp(name, other.data(), size) == 0);
    }
  };

  static std::uint64_t load(const char* from, std::size_t bytes) {
    std::uint64_t result = 0;
    if (bytes == 8) {
      std::memcpy(&result, from, 8);
    } else {
      std::uint32_t half = 0;
      std::memcpy(&half, from, 4);
      result = half;
    }
    return result;
  }

  // Of names of at most 8 bytes, all of them: two of one size have the same word only if they are equal. Of longer
  // ones a hash.
  static std::uint64_t word_of(std::string_view name) {
    const char* at = name.data();
    const std::size_t size = name.size();
    if (size == 0) return 0;
    if (size < 4) {
      const auto byte = [&](std::size_t k) { return static_cast<std::uint64_t>(static_cast<unsigned char>(at[k])); };
      return byte(0) | byte(size / 2) << 8 | byte(size - 1) << 16;
    }
    if (size <= 8) return load(at, 4) | load(at + size - 4, 4) << 32;
    std::uint64_t hash = 0;
    for (std::size_t k = 0; k + 8 <= size; k += 8) hash = mixed(hash ^ load(at + k, 8));
    return mixed(hash ^ load(at + size - 8, 8));
  }
  // An odd number whose product spreads every bit upwards, after D. Knuth; the shift brings them down again.
  static std::uint64_t mixed(std::uint64_t word) {
    word *= 0x9e3779b97f4a7c15u;
    return word ^ word >> 29;
  }
  std::size_t slot_of(std::string_view name, std::uint64_t word) const {
    const auto bits = static_cast<int>(std::bit_width(slots_.size() - 1));
    return static_cast<std::size_t>(mixed(word + name.size()) * 0x9e3779b97f4a7c15u >> (64 - bits));
  }

  void grow() {
    std::vector<Slot> before(4 * slots_.size());
    before.swap(slots_);
    for (const Slot& slot : before) {
      if (slot.number == kNone) continue;
      std::size_t at = slot_of({slot.name, slot.size}, slot.word);
      while (slots_[at].number != kNone) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = slot;
    }
  }

  std::vector<Slot> slots_;
  std::uint32_t count_ = 0;
};

}  // namespace broadphase
