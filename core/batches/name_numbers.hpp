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

  std::uint32_t number_of(std::string_view name) { return number_of(name, word_of(name)); }
  // A name of at most 8 bytes whose word is known.
  std::uint32_t number_of(std::string_view name, std::uint64_t word) {
    std::size_t at = slot_of(name, word);
    while (slots_[at].number != kNone && !slots_[at].is(name, word)) at = (at + 1) & (slots_.size() - 1);
    if (slots_[at].number != kNone) return slots_[at].number;
    slots_[at] = {word, name.data(), name.size(), count_++};
    if (2 * std::size_t{count_} > slots_.size()) grow();
    return count_ - 1;
  }
  std::uint32_t count() const { return count_; }

  // The word of a name of at most 8 bytes, where 8 can be read.
  static std::uint64_t word_at(const char* name, std::size_t size) {
    if constexpr (std::endian::native == std::endian::little)
      return size == 0 ? 0 : load(name) & ~std::uint64_t{0} >> (64 - 8 * size);
    else
      return word_of({name, size});
  }

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

  static std::uint64_t load(const char* from) {
    std::uint64_t result = 0;
    std::memcpy(&result, from, 8);
    return result;
  }

  // Of names of at most 8 bytes, these, and zeros; of longer ones a hash.
  static std::uint64_t word_of(std::string_view name) {
    const char* at = name.data();
    const std::size_t size = name.size();
    std::uint64_t word = 0;
    if (size <= 8) {
      for (std::size_t k = 0; k < size; ++k) word |= std::uint64_t{static_cast<unsigned char>(at[k])} << 8 * k;
      return word;
    }
    std::uint64_t hash = 0;
    for (std::size_t k = 0; k + 8 <= size; k += 8) hash = mixed(hash ^ load(at + k));
    return mixed(hash ^ load(at + size - 8));
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
