// Morton numbers: cells of a world that is halved along every axis at every level, numbered in Z order.
//
// At level L an axis has 2^L cells, and the number of a cell interleaves the bits of its coordinates, axis 0 lowest. A
// number carries its ancestors: each level is a digit of D bits, the coarsest first. In 2D, 9 = 00|10|01 is child 1 of
// child 2 of child 0 of the root; the cell (1, 2) of level 2 is number 9.
//
//      y=1 | 2 3      a level of 2 x 2 cells,        y | 10 11 14 15
//      y=0 | 0 1      and the one below it             |  8  9 12 13
//            x                                         |  2  3  6  7
//                                                      |  0  1  4  5
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace broadphase {

// The bits of x, D - 1 zeros between any two. x has at most 64 / D bits.
template <std::size_t D>
constexpr std::uint64_t spread_bits(std::uint64_t x) {
  if constexpr (D == 2) {
    x = (x | x << 16) & 0x0000FFFF0000FFFF;
    x = (x | x << 8) & 0x00FF00FF00FF00FF;
    x = (x | x << 4) & 0x0F0F0F0F0F0F0F0F;
    x = (x | x << 2) & 0x3333333333333333;
    x = (x | x << 1) & 0x5555555555555555;
  } else if constexpr (D == 3) {
    x = (x | x << 32) & 0x001F00000000FFFF;
    x = (x | x << 16) & 0x001F0000FF0000FF;
    x = (x | x << 8) & 0x100F00F00F00F00F;
    x = (x | x << 4) & 0x10C30C30C30C30C3;
    x = (x | x << 2) & 0x1249249249249249;
  } else if constexpr (D == 4) {
    x = (x | x << 24) & 0x000000FF000000FF;
    x = (x | x << 12) & 0x000F000F000F000F;
    x = (x | x << 6) & 0x0303030303030303;
    x = (x | x << 3) & 0x1111111111111111;
  }
  return x;
}

namespace detail {

// Undoes spread_bits().
template <std::size_t D>
constexpr std::uint64_t gather_bits(std::uint64_t x) {
  std::uint64_t result = 0;
  for (std::size_t bit = 0; bit < 64 / D; ++bit) result |= (x >> (bit * D) & 1) << bit;
  return result;
}

}  // namespace detail

// The number of the cell with these coordinates, one an axis.
template <std::size_t D>
constexpr std::uint64_t morton_number(const std::uint64_t* cell) {
  std::uint64_t number = 0;
  for (std::size_t k = 0; k < D; ++k) number |= spread_bits<D>(cell[k]) << k;
  return number;
}

constexpr std::uint64_t morton_number(const std::uint64_t* cell, std::size_t dimension) {
  switch (dimension) {
    case 1: return morton_number<1>(cell);
    case 2: return morton_number<2>(cell);
    case 3: return morton_number<3>(cell);
    default: return morton_number<4>(cell);
  }
}

constexpr std::array<std::uint64_t, 4> morton_cell(std::uint64_t number, std::size_t dimension) {
  std::array<std::uint64_t, 4> cell{};
  for (std::size_t k = 0; k < dimension; ++k) switch (dimension) {
      case 1: cell[k] = number; break;
      case 2: cell[k] = detail::gather_bits<2>(number >> k); break;
      case 3: cell[k] = detail::gather_bits<3>(number >> k); break;
      default: cell[k] = detail::gather_bits<4>(number >> k); break;
    }
  return cell;
}

// How far two cells of one level are below their smallest common ancestor: given by the highest digit in which
// the numbers differ. 4 and 7 differ by 0011, one digit in 2D: one level up, where both are in cell 1.
constexpr std::size_t levels_to_common(std::uint64_t a, std::uint64_t b, std::size_t dimension) {
  return (static_cast<std::size_t>(std::bit_width(a ^ b)) + dimension - 1) / dimension;
}

// Cells of all levels in one row: level L starts at (2^(D L) - 1) / (2^D - 1), behind all that are coarser.
constexpr std::uint64_t level_start(std::size_t level, std::size_t dimension) {
  std::uint64_t start = 0;
  for (std::size_t k = 0; k < level; ++k) start = (start << dimension) + 1;
  return start;
}

}  // namespace broadphase
