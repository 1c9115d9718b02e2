"""The narrow phase: which shapes touch, where, how far apart they are, and when they meet."""

from broadphase.contacts.answers import Contacts, Impacts, ShapeRayHits
from broadphase.contacts.questions import contacts, distance, overlaps, raycast, time_of_impact

__all__ = ["Contacts", "Impacts", "ShapeRayHits", "contacts", "distance", "overlaps", "raycast", "time_of_impact"]
