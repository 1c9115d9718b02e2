"""Search for cliffs: calls that cost far more than the plain call for as much input and output.

A case is a public call with features at random: how boxes are spread, in which order and state they are, options. Its
plain case has none of them: even boxes, as many, with the same axes, dtype and kind of shape. Two densities of it give
the cost of a row of input and of one of output, by the clock of the thread. A case is listed if it takes more than four
times what its input and output would cost so, repeated, and is not as fast as another way to the same answer, where
there is one; or four times as long as that. Features without which it would still be a cliff are left out: the rest
are the cause, and cases are listed by it. Pairs that filters and batches leave out count as output.

    python -m benchmarks.search_cliffs                  # an hour
    python -m benchmarks.search_cliffs --quick          # five minutes
    python -m benchmarks.search_cliffs World nms        # subjects by the beginnings of their names
    python -m benchmarks.search_cliffs --seed 417       # one case, by its seed
"""
