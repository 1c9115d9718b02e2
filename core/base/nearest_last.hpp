// The order of a stack from which walks take the nearest box first.
#pragma once

namespace broadphase {

// The last entry takes its place among those from `begin` on, which are in order, the least last; of equal ones it
// comes first, so that it is taken last.
template <class Entry, class Number>
void put_nearest_last(Entry* begin, Entry* last, Number Entry::* bound) {
  const Entry one = *last;
  for (; last > begin && last[-1].*bound <= one.*bound; --last) *last = last[-1];
  *last = one;
}

}  // namespace broadphase
