"""Read boxes from files, and write pairs and events to files."""

from broadphase.io.box_file import BoxFile
from broadphase.io.events import EVENT_COLUMNS, EVENT_FORMATS, write_events
from broadphase.io.reading import FORMATS, read_boxes
from broadphase.io.writing import PAIR_FORMATS, write_pairs

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
