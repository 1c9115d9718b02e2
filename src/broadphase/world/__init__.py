"""Worlds: bodies that move, and what happens when they touch."""

from broadphase.world.actor import Actor
from broadphase.world.budget import Budget
from broadphase.world.events import Contact, Event, Impact, StepInfo
from broadphase.world.frame import Frame
from broadphase.world.hits import Hit
from broadphase.world.lidar import LidarScan
from broadphase.world.visible import Visible
from broadphase.world.world import World

__all__ = ["Actor", "Budget", "Contact", "Event", "Frame", "Hit", "Impact", "LidarScan", "StepInfo", "Visible", "World"]
