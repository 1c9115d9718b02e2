// The sorters of rows, compiled once for all that use them.
#include "base/radix_sort.hpp"

namespace broadphase {

template class RowSorter<float>;
template class RowSorter<double>;
template class RowSorter<std::uint32_t>;
template class RowSorter<std::uint64_t>;

}  // namespace broadphase
