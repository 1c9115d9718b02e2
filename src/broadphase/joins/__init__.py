"""Overlap joins of tables: rows of two tables whose intervals, or boxes, overlap."""

from broadphase.joins.overlap_join import join

__all__ = ["join"]
