// Questions to any tree of blocks: functions over the base class of those indexes.
#include "block_index.hpp"

namespace broadphase::python {

void bind_tree_queries(nb::module_& module) { nb::class_<BlockIndex>(module, "BlockIndex"); }

}  // namespace broadphase::python
