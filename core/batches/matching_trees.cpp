#include "batches/matching_trees.hpp"

#include <bit>
#include <utility>

#include "base/samples.hpp"
#include "boxes/grown_boxes.hpp"
#include "bvh/build.hpp"
#include "tree/median_order.hpp"

namespace broadphase {

namespace {

// Of rows that are looked at, how many match. A tree of half of them is walked twice as fast at the most.
class Share {
 public:
  void add(bool matches) {
    ++looked_at_;
    matching_ += matches ? 1 : 0;
  }
  bool is_large() const { return 2 * matching_ > looked_at_; }

 private:
  std::size_t looked_at_ = 0, matching_ = 0;
};

template <class Use>
void for_each_row_of(const Blocks& blocks, std::int32_t block, const Use& use) {
  for (auto left = static_cast<std::uint32_t>(blocks.occupied(block) & blocks.rows(block)); left != 0; left &= left - 1)
    use(blocks.child(block)[std::countr_zero(left)]);
}

template <class Use>
void for_each_row(const BlockTree& tree, const Use& use) {
  const Blocks& blocks = tree.blocks;
  for (std::vector<std::int32_t> stack{tree.root}; !stack.empty();) {
    const std::int32_t block = stack.back();
    stack.pop_back();
    for_each_row_of(blocks, block, use);
    for (auto left = static_cast<std::uint32_t>(blocks.occupied(block) & ~blocks.rows(block)); left != 0;
         left &= left - 1)
      stack.push_back(blocks.child(block)[std::countr_zero(left)]);
    if (blocks.next(block) != kNoBlock) stack.push_back(blocks.next(block));
  }
}

}  // namespace

std::vector<std::int32_t> rows_in(const Blocks& blocks, std::int32_t block) {
  std::vector<std::int32_t> rows;
  for_each_row_of(blocks, block, [&](std::int32_t row) { rows.push_back(row); });
  return rows;
}

std::vector<std::int32_t> rows_of(const BlockTree& tree) {
  std::vector<std::int32_t> rows;
  for_each_row(tree, [&](std::int32_t row) { rows.push_back(row); });
  return rows;
}

void pack_rows(const std::vector<std::int32_t>& rows, const AnyBoxes& boxes, const Kernels& kernels, BlockTree& tree) {
  Interrupt never;
  if (rows.empty()) return;
  boxes.use([&]<class T>(const BoxView<T>& given) {
    TreePacker<T, MedianOrder<T>>().pack(tree, GrownBoxes<T>{given, tree.dimension()}, rows.data(), rows.size(),
                                         nullptr, kernels, 1, never);
  });
}

MatchingTree tree_of_matching(const BlockTree& tree, const AnyBoxes& boxes, const QueryFilter& filter,
                              std::size_t query, const Kernels& kernels) {
  constexpr std::size_t kSample = 16;
  const Blocks& blocks = tree.blocks;
  if (tree.root == kNoBlock) return nullptr;
  const AllowedRows allowed(filter, query, boxes.count());
  Share sampled, all;
  const StratifiedSample sample(blocks.limit(), kSample);
  for (std::size_t at = 0; at < sample.size(); ++at)
    for_each_row_of(blocks, static_cast<std::int32_t>(sample[at]), [&](std::int32_t row) {
      if (static_cast<std::size_t>(row) < boxes.count())  // not so of a block that is not in the tree, perhaps
        sampled.add(allowed.has(row));
    });
  if (sampled.is_large()) return nullptr;
  std::vector<std::int32_t> rows;
  for_each_row(tree, [&](std::int32_t row) {
    const bool matches = allowed.has(row);
    all.add(matches);
    if (matches) rows.push_back(row);
  });
  if (all.is_large()) return nullptr;
  const std::shared_ptr<BlockTree> packed(new BlockTree{Blocks(tree.dimension()), kNoBlock, {}});
  pack_rows(rows, boxes, kernels, *packed);
  return packed;
}

}  // namespace broadphase
