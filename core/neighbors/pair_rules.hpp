// What decides about pairs of points besides one cutoff: their species, and pairs that are left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace broadphase {

// Pairs of rows that are left out, with all their images.
class IgnoredPairs {
 public:
  IgnoredPairs() = default;
  // (count, 2) rows of `points` and, of two sets, of the other one; of one set, either way round.
  IgnoredPairs(const std::int64_t* pairs, std::size_t count, std::size_t points, bool two_sets);

  bool empty() const { return partners_.empty(); }
  // Of one set, `first` is the lower row. Precondition: not empty.
  bool contains(std::int32_t first, std::int32_t second) const {
    // Bonded atoms mostly have rows near each other, and others have not: no memory is read for these.
    const std::int64_t ahead = std::int64_t{second} - first;
    return ahead >= least_ahead_ && ahead <= most_ahead_ && is_among(first, second);
  }

 private:
  bool is_among(std::int32_t first, std::int32_t second) const;

  // Partners of row k, ascending, from starts_[k] to starts_[k + 1].
  std::vector<std::size_t> starts_;
  std::vector<std::int32_t> partners_;
  std::int64_t least_ahead_ = 0, most_ahead_ = 0;
};

struct NeighborRules {
  // (species, species) cutoffs; a negative one: no pair. Symmetric. None: one cutoff for all.
  std::vector<double> cutoffs;
  std::size_t species = 0;
  std::vector<std::int32_t> kinds, other_kinds;
  IgnoredPairs ignored;
  // Made of these: the largest squares within each cutoff, and the longest cutoff of each point.
  std::vector<double> squares, reaches, other_reaches;

  bool by_species() const { return species > 0; }
  void prepare();
  // With cutoffs that are longer by so much.
  NeighborRules longer_by(double skin) const;
};

}  // namespace broadphase
