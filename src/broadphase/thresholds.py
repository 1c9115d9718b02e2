"""The numbers by which indexes and worlds choose between two ways, each with the scene that shows its worth.

``make tune`` measures them again: `benchmarks/tune.py` has the scenes. Those of the core are in `core/choose/costs.hpp`
and `core/world/limits.hpp`. Read them as attributes of this module, so that they can be set.
"""

# `Index.query`: with at least so many query boxes for each box of the index, the two sets are joined; fewer are looked
# up in the tree. With 10 000 and 100 000 boxes of the scenes uniform, lognormal and clusters, both take the same time
# at shares of 0.1 to 0.4; with as many queries as boxes, joining takes half the time, with a tenth, twice the time.
JOINED_SHARE = 0.3
# The same, if the tree has to be built first: then joining pays sooner.
JOINED_SHARE_WITHOUT_TREE = 0.1
# So few query boxes are never joined. A few thousand boxes, 60 queries.
FEWEST_JOINED = 64
# If queries find so many boxes each, sorting the pairs takes longer than filing the boxes in cells, even for one call.
# With 20 000 boxes and as many queries: both take the same time where each query finds two.
SEVERAL = 3.0
# If queries find so many boxes each, and cells do not suit these, a tree takes less time than joining the two sets,
# even if it has to be built. 100 000 boxes of the scene clusters, enlarged: both take the same time at 20.
TOO_MANY_JOINED = 24.0

# `BoxIndex.pairs(other)`: the boxes of `other` are looked up in the tree of an index that has at least so many boxes
# for each of them; otherwise two sets are compared. 100 000 boxes of the scene uniform, and a few hundred others.
BOXES_FOR_EACH_LOOKED_UP = 16
# `BoxIndex.pairs` keeps near pairs for the next search, and skips an arrangement that is out of date, from so many
# boxes on. 200 boxes of the scene uniform that move a little between two searches.
FEWEST_KEPT = 256
# Trees of batches are dropped after so many changes a row that they have not followed.
MOST_CHANGES_BEHIND = 4

# `Grid.query`: queries are few if there are so many boxes for each of them, and are then looked up in cells that are
# kept, after so many searches. 100 000 boxes of the scene uniform, asked by a few thousand, again and again.
BOXES_FOR_EACH_OF_FEW = 16
SEARCHES_BEFORE_CELLS = 6

# `LinearTree`: so many changed rows are kept beside the sorted ones before they are filed.
MOST_BESIDE = 256

# `nms` and `soft_nms`: from so many boxes on, pairs that overlap are found first, if there are no more than so many for
# each box. 20 000 boxes of the scene uniform, in the plane.
FEWEST_WITH_PAIRS = 1500
MOST_PAIRS_EACH = 16

# Worlds: up to so many numbers are checked one by one; for a few, NumPy takes longer. `World.move`, 1 to 1 000 bodies.
FEW_NUMBERS = 16
# The index of a world with margins drops them to an eighth where queries find more boxes than so many for each row, of
# which no more than such a share overlap without margins. 20 000 bodies, 20 of which move, and margins of a twentieth
# to a fifth of the world; and large bodies that move, most of whose neighbors do overlap.
MOST_NEAR_EACH = 32
FEWEST_OVERLAPPING = 1 / 16
# An index that nobody uses while more rows than these, and than there are in the world, come and go is dropped. 400
# bodies, and 500 that come and go between queries; 100 bodies, and 3 000 that come and go one by one.
MOST_PENDING = 1000
# Queries of a periodic world: if a box has more images than these, those that its shape has are looked for, in parts of
# the world that are halved while an image leaves out more than such a share of the smaller ones. Capsules and wide
# rectangles, five to thirty periods long, among 100 and 10 000 bodies: looking for them takes twice the time where a
# capsule of five periods meets few bodies, and a fortieth where one of thirty meets many.
FEW_IMAGES = 32
WORTH_HALVING = 0.75
