// The innermost loops, compiled once per instruction set, and the choice among them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace broadphase {

// The arguments of kernels. Each is defined in the folder of the methods that use it.
struct BallWalk;
struct BatchNearest;
struct BallsTogether;
struct BoxWalk;
struct Buckets;
struct CandidateBlock;
struct CellArrays;
struct CellRecords;
struct ConvexWalk;
struct Fan;
struct GroupWalk;
struct LookUps;
struct NearWalk;
struct NearestTogether;
struct PairWalk;
struct InterleavedNear;
struct InterleavedSweep;
struct SweepRequest;
struct SweepWalk;
struct InterleavedTouch;
struct InterleavedVisit;
struct WindowHits;
struct WindowSearch;
template <class T>
struct CurveKeys;
template <class T>
struct FileBoxes;
template <class Motion>
struct Interleaved;
template <class T>
struct PackLeaves;

// One box against a run of boxes held as structure of arrays (2 * D pointers: D lower columns, then D upper ones).
// `positions` receives the positions in [begin, end) that overlap the box, ascending; returns how many.
// Room for (end - begin) + 64 positions and readable columns up to end + 64 are preconditions.
template <class T>
struct RunQuery {
  const T* const* columns;
  std::size_t begin, end;
  const T* box;  // D lower, then D upper
};
template <class T>
using OverlapRun = std::size_t (*)(const RunQuery<T>& query, std::uint32_t* positions);

// One box against `count` blocks of a run, each of kBlockOfRun boxes: block k begins at position k * kBlockOfRun.
// Positions as of OverlapRun.
inline constexpr std::size_t kBlockOfRun = 16;
template <class T>
struct BlocksQuery {
  const T* const* columns;
  const std::uint32_t* blocks;  // ascending
  std::size_t count;
  const T* box;
};
template <class T>
using OverlapBlocks = std::size_t (*)(const BlocksQuery<T>& query, std::uint32_t* positions);

// Boxes [first, last) of some columns, each against a run of others. The first box's run is [begin, end), and each box
// behind has a run longer by `growth`, 0 or 1. Readable columns up to 64 behind the longest run are a precondition.
template <class T>
struct RunsQuery {
  const T* const* boxes;
  std::size_t first, last;
  const T* const* columns;
  std::size_t begin, end, growth;
};
// Bit l of `lanes`: the box overlaps the one at position + l.
struct RunHits {
  std::uint32_t box, position, lanes;
};
// By box and then by position, with no empty ones. Room is needed for as many as there are tests, and for one more.
template <class T>
using OverlapRuns = std::size_t (*)(const RunsQuery<T>& query, RunHits* hits);

// Boxes [first, last) of some columns, with where they end along one more axis, each against those of others that are
// in the order in which they begin there: from `from` on, of the first box, of the next one ..., that begin before it
// ends. About `most` are tested, a multiple of 32; `from` then says where to go on, or ~0 if these are all. Readable
// columns and begins up to 64 behind the last, `count`, are a precondition.
template <class T>
struct SweepQuery {
  const T* const* boxes;
  const T* ends;
  std::size_t first, last;
  std::uint32_t* from;
  const T* const* columns;
  const T* begins;
  std::size_t count, most;
};
// As OverlapRuns. Each box needs room for two more hits than are tested.
template <class T>
using SweepAhead = std::size_t (*)(const SweepQuery<T>& query, RunHits* hits);

// Arrays by dimension: entry D - 1.

// Walks through trees of blocks: see tree/walks.hpp.
struct WalkKernels {
  void (*next_by_box[4])(BoxWalk&);
  void (*next_by_distance[4])(BallWalk&);
  void (*next_by_time[4])(SweepWalk&);
  void (*next_by_distance_and_row[4])(BallWalk&);
  void (*next_by_time_and_row[4])(SweepWalk&);
  void (*next_by_region[4])(ConvexWalk&);
  bool (*pair_blocks[4])(PairWalk&);
};

// Through those whose blocks hold floats, and through wide ones: see BlockTree.
struct TreeKernels {
  WalkKernels floats, doubles;

  // As next_by_box of those that are not wide, with the rows that surely meet the box apart.
  void (*next_surely_by_box[4])(BoxWalk&);

  // Several motions in turn, in trees that are not wide: see tree/interleaved.hpp. None of those on their way may have
  // an empty stack. Those that finish go on until one of them has been to all blocks within its limit, the others until
  // one has found rows or has been to all blocks; they return which.
  std::size_t (*finish_sweep[4])(Interleaved<InterleavedSweep>&);
  std::size_t (*find_touched[4])(Interleaved<InterleavedTouch>&);
  std::size_t (*find_on_ray[4])(Interleaved<InterleavedVisit>&);

  // Candidates for the nearest rows: by whether the tree is wide; and of several points in turn.
  void (*collect_near[2][4])(NearWalk&);
  std::size_t (*finish_near[4])(Interleaved<InterleavedNear>&);
};

// Boxes of one type, packed in trees, see boxes/pack_boxes.hpp and tree/pack_kernel.hpp, and filed in the grid, see
// grid/record.hpp.
template <class T>
struct FilingKernels {
  void (*curve_keys[4])(const CurveKeys<T>&);
  bool (*pack_leaves[4])(const PackLeaves<T>&);
  std::size_t (*file_boxes[4])(FileBoxes<T>&);
};

// Kernels over eight numbers of 32 bits, `Eight` and `Fours` of simd/lanes.hpp, which wider registers do not make
// faster.
struct EightKernels {
  // Eight queries walked together: see tree/together.hpp. Those for nearest rows may be null.
  void (*nearest_together[4])(NearestTogether&);
  void (*balls_together[4])(BallsTogether&);

  // The nearest rows of a small batch: see batches/batch_nearest.hpp. Null where trees take less time.
  void (*batch_nearest[4])(BatchNearest&);

  // Which bodies each beam of a lidar meets first: see world/fan.hpp. In the plane and in space.
  void (*fan_keys[2])(const Fan&);

  // The ranks of a few numbers: see tree/pack_kernel.hpp.
  void (*rank_keys)(const std::int32_t* key, std::size_t count, std::int32_t* rank);
  FilingKernels<float> floats;
  FilingKernels<double> doubles;

  template <class T>
  const FilingKernels<T>& of() const {
    if constexpr (std::is_same_v<T, float>)
      return floats;
    else
      return doubles;
  }
};

// Boxes of one type, closed or open ones: open ones are compared strictly, and the caller leaves empty ones out.
template <class T>
struct OverlapKernels {
  OverlapRun<T> run[4];
  OverlapBlocks<T> blocks[4];
  OverlapRuns<T> runs[4];
  SweepAhead<T> ahead[3];  // by the number of axes besides the one swept along
};

// Kernels of one level.
struct Kernels {
  const char* level;
  // Of this level or of another one: SSE2 has no eight numbers, and takes those of the scalar level.
  const TreeKernels* trees;
  const EightKernels* eight;
  OverlapKernels<float> closed_f32, open_f32;
  OverlapKernels<double> closed_f64, open_f64;

  // The grid: see grid/record.hpp, and the kernels of these names.
  void (*sweep_range[4])(const CellRecords&, std::size_t axis, std::int32_t* lowest, std::int32_t* highest);
  void (*sort_cell[4])(const CellRecords&, std::size_t axis, const Buckets&, void* room, const CellArrays& to);
  std::size_t (*sweep_behind[4])(SweepRequest&, CandidateBlock*);
  std::size_t (*sweep_across[4])(SweepRequest&, CandidateBlock*);
  std::uint64_t (*count_hits)(const CandidateBlock*, std::size_t blocks);
  std::size_t (*list_hits)(const CandidateBlock*, std::size_t blocks, std::uint64_t* hits);
  void (*name_rows)(const std::uint64_t* hits, std::size_t count, const std::uint32_t* a, const std::uint32_t* b,
                    bool ordered, std::int32_t* first, std::int32_t* second);

  // Boxes looked up in cells: see grid/look_up.hpp. Returns how many.
  std::size_t (*look_up[4])(const LookUps&);

  // Neighbours: see neighbors/windows.hpp.
  std::size_t (*window_hits)(WindowSearch& search, const WindowHits& hits);

  // Nearest neighbours: see neighbors/group_walk.hpp.
  bool (*next_near_leaf)(GroupWalk& walk);
};

template <class T>
const OverlapKernels<T>& overlap_kernels(const Kernels& kernels, bool touching) {
  if constexpr (std::is_same_v<T, float>)
    return touching ? kernels.closed_f32 : kernels.open_f32;
  else
    return touching ? kernels.closed_f64 : kernels.open_f64;
}

// Levels built into this module that this processor can run, weakest first; `count` receives how many.
const Kernels* const* available_kernels(std::size_t& count);

}  // namespace broadphase
