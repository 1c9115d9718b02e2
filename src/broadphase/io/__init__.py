"""Read boxes and parts from files, and write pairs, events and clashes to files."""

from broadphase.io.arrow import to_arrow
from broadphase.io.box_file import BoxFile
from broadphase.io.boxes import FORMATS, read_boxes
from broadphase.io.clash_report import describe_clashes
from broadphase.io.clashes import CLASH_FORMATS, write_clashes
from broadphase.io.meshes import read_parts
from broadphase.io.part_file import Part, PartFile
from broadphase.io.results import EVENT_COLUMNS, EVENT_FORMATS, PAIR_FORMATS, write_events, write_pairs

__all__ = [
    "CLASH_FORMATS", "EVENT_COLUMNS", "EVENT_FORMATS", "FORMATS", "PAIR_FORMATS", "BoxFile", "Part", "PartFile",
    "describe_clashes", "read_boxes", "read_parts", "to_arrow", "write_clashes", "write_events", "write_pairs",
]  # fmt: skip
