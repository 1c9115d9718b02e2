"""Bundled data: boxes of real scenes, in the public domain, each with the known number of its overlapping pairs."""

from broadphase.data.bundled import NAMES, DataSet, describe, load

__all__ = ["NAMES", "DataSet", "describe", "load"]
