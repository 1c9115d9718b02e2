"""Read boxes from files, and write pairs to files."""

from broadphase.io.box_file import BoxFile
from broadphase.io.reading import FORMATS, read_boxes
from broadphase.io.writing import PAIR_FORMATS, write_pairs

__all__ = ["FORMATS", "PAIR_FORMATS", "BoxFile", "read_boxes", "write_pairs"]
