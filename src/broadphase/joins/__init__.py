"""`join`: the rows of two tables whose intervals or boxes overlap, or are nearest, side by side.

`joining` reads the tables and makes the result; `search` finds the rows; `nearest_intervals` and `nearest_boxes` find
the nearest ones, along one axis and along several.
"""

from broadphase.joins.joining import join as join

__all__ = ["join"]
