"""The narrow phase: which shapes touch, where, how far apart they are, and when they meet."""

from broadphase.narrow.queries import contacts, distance, overlaps, raycast, time_of_impact
from broadphase.narrow.results import Contacts, Impacts, ShapeRayHits

__all__ = ["Contacts", "Impacts", "ShapeRayHits", "contacts", "distance", "overlaps", "raycast", "time_of_impact"]
