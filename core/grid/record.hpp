// What the grid and its kernels hand to each other. Plain data: this header is read by every SIMD level.
#pragma once

#include <cstddef>
#include <cstdint>

namespace broadphase {

// Coordinates are mapped to whole numbers: 2^15 steps to a cell, counted from the scene's origin. The map is monotone,
// so two different numbers are in the true order; two equal ones decide nothing, and the boxes themselves are compared.
inline constexpr int kCellBits = 15;
inline constexpr std::int32_t kCellSteps = 1 << kCellBits;
// Inside a cell, numbers are counted from its centre. A box that began before the cell has this lower number.
inline constexpr std::int16_t kBeganBefore = -(kCellSteps / 2) - 1;

// A box as seen from one cell. Upper numbers are stored negated: `lower_i + negated_upper_j <= 0` is half of a test.
// Up to three dimensions fit one 128-bit register, the row number in two parts in between.
template <std::size_t D>
struct Record {
  std::int16_t lower[3];
  std::uint16_t row_low;
  std::int16_t negated_upper[3];
  std::uint16_t row_high;
};
template <>
struct Record<4> {
  std::int16_t lower[4];
  std::int16_t negated_upper[4];
  std::uint32_t row;
};
static_assert(sizeof(Record<3>) == 16 && sizeof(Record<2>) == 16 && sizeof(Record<4>) == 20);

// The map of an axis along which boxes lie on many scales: its stretch is cut at quantiles, and each segment gets as
// many steps as the next, however short it is.
inline constexpr int kSegmentBits = 7;
inline constexpr std::size_t kSegments = std::size_t{1} << kSegmentBits;
template <class T>
struct Segments {
  // Ascending; of equal begins, the last segment takes all. Behind the last one, NaN: nothing lies past it.
  T begin[kSegments + 1], inverse_width[kSegments];
};

// How the scene is cut: cells along each axis, and the map to whole numbers.
template <class T>
struct GridLayout {
  std::size_t sweep_axis;
  std::size_t split_axes[2];    // the two with the shortest cells; the same one twice where there is one axis
  std::int32_t cells[4];        // along each axis
  std::int32_t cell_stride[4];  // in the numbering of cells
  std::int32_t largest[4];      // cells * kCellSteps - 1
  T origin[4], scale[4];
  const Segments<T>* segments[4];  // in place of origin and scale, where not null
  std::size_t cell_count;
};

// Where records are filed: chunks of 2^chunk_bits records, strung together for each cell, so that the boxes need to be
// read only once.
struct ChunkPool {
  void* records;
  std::uint32_t* next_chunk;   // of each chunk; kNoChunk: its cell's last
  std::uint32_t* first_chunk;  // of each cell
  std::uint32_t* slots;  // of each cell: number of the record to write next; where its low chunk_bits are zero, in
                         // a chunk still to be taken. Chunk 0 belongs to no cell, so that 0 stands for none yet.
  std::uint32_t used, capacity;
  int chunk_bits;
  std::uint32_t at_a_time;  // as many chunks as kRecordsAtATime records may take
};
inline constexpr std::uint32_t kNoChunk = 0xffffffffu;

// A kernel that files many boxes at a time makes sure of the chunks first: of so many records, each cell may start one
// chunk, and fill others.
inline constexpr std::size_t kRecordsAtATime = 512;

// Rows [begin, end) of a set of boxes, to be filed.
template <class T>
struct FileBoxes {
  const T* lower;
  const T* upper;
  std::ptrdiff_t lower_stride, upper_stride;
  std::size_t begin, end;
  T grow;
  bool drop_empty;  // leave out boxes without interior
  bool valid;       // set to false by a box with NaN or with lower > upper
  const GridLayout<T>* layout;
  ChunkPool* pool;
  const std::uint32_t* rows;  // the boxes' numbers in `lower` and `upper`; none: they are filed from the first on
};

// Records of one cell that lie together.
struct RecordRun {
  const void* records;
  std::size_t count;
};
struct CellRecords {
  const RecordRun* runs;
  std::size_t run_count, count;
};

// One set's share of one cell, sorted along the sweep axis, as structure of arrays.
struct CellArrays {
  std::int16_t* lower[4];
  std::int16_t* negated_upper[4];
  std::uint16_t* began_before;  // bit d: the box began before the cell along axis d
  std::uint32_t* row;
  std::uint32_t* bucket_end;
  std::size_t count;
};

// Sweep coordinates to buckets, common to both sets of a cell.
struct Buckets {
  std::int32_t lowest;
  std::int32_t shift;
  std::uint32_t count;
};

// 32 tests. Bit k is of `record` and `candidate + k` or, with kDiagonal in `record`, of `record + k` and
// `candidate + k`. Sure: they overlap; possible: equal numbers leave it open.
struct CandidateBlock {
  std::uint32_t record, candidate, sure, possible;
};
inline constexpr std::size_t kBlockLanes = 32;
inline constexpr std::uint32_t kDiagonal = std::uint32_t{1} << 31;

// Records [begin, end) of `a` are to be tested each against its run in `b`: of the same set, against those behind it.
// Then a and b are one, and `begin` and `end` multiples of 32, or the end of all.
struct SweepRequest {
  const CellArrays* a;
  const CellArrays* b;
  const Buckets* buckets;
  std::size_t sweep_axis;
  bool skip_own_bucket;  // of another set: from the bucket behind the record's own on
  std::size_t begin, end;
  std::size_t capacity;  // in blocks; three or more
  // Where the last call stopped: the candidate to go on with, 0 at a new record, and of 32 records of one set those
  // that are still to be tested, one by one, from the candidate of the first on; of another set, whether all 32 are,
  // side by side.
  std::uint32_t begin_candidate = 0, left = 0, left_candidate = 0;
};

// Readable entries beyond the last one of a CellArrays, holding values that overlap nothing: 32 records are tested at
// a time, against others up to two behind the last.
inline constexpr std::size_t kCellPadding = 2 * kBlockLanes + 1;

}  // namespace broadphase
