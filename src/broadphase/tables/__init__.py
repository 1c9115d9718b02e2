"""Tables of pandas, polars, PyArrow and DuckDB, and Arrow data of any library: read as arrays, and made of rows.

`names` finds the columns of corners; `arrow` reads Arrow data; `libraries` opens a table of any library, and makes one
of the same; `corners` and `keys` make columns of two tables comparable. `lengths` reads margins and distances along
axes, and `meeting` moves corners so that comparing them decides which rows overlap.

A layer over all these libraries, such as narwhals 2.29, would not do: its columns of integers with nulls become
float64, so that 2**62 + 1 is rounded; it takes no rows of DuckDB's relations, and rows with nulls for missing ones only
in some libraries.
"""
