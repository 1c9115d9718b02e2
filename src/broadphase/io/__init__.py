"""Read boxes from files, and write pairs and events to files."""

from broadphase.io.box_file import BoxFile
from broadphase.io.boxes import FORMATS, read_boxes
from broadphase.io.results import EVENT_COLUMNS, EVENT_FORMATS, PAIR_FORMATS, write_events, write_pairs

__all__ = [
    "EVENT_COLUMNS",
    "EVENT_FORMATS",
    "FORMATS",
    "PAIR_FORMATS",
    "BoxFile",
    "read_boxes",
    "write_events",
    "write_pairs",
]
