"""The narrow phase: which shapes touch, where, how far apart they are, and when they meet."""

from broadphase.narrow.clash import Clashes, clashes
from broadphase.narrow.clearance import Clearances, clearances
from broadphase.narrow.grouping import ClashGroups
from broadphase.narrow.queries import contacts, distance, overlapping_faces, overlaps, raycast, time_of_impact
from broadphase.narrow.results import Contacts, Impacts, PaddedContacts, ShapeRayHits, ShapeRayHitsAll

__all__ = [
    "ClashGroups", "Clashes", "Clearances", "Contacts", "Impacts", "PaddedContacts", "ShapeRayHits", "ShapeRayHitsAll",
    "clashes", "clearances", "contacts", "distance", "overlapping_faces", "overlaps", "raycast", "time_of_impact",
]  # fmt: skip
