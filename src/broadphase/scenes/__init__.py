"""Scenes: a world, groups of actors and rules in a small file, to be built, run and measured."""

from broadphase.scenes.events import EventLog
from broadphase.scenes.group import Group
from broadphase.scenes.loading import NAMES, load, parse
from broadphase.scenes.rules import Emit, Remove
from broadphase.scenes.running import Run
from broadphase.scenes.scene import Scene

__all__ = ["NAMES", "Emit", "EventLog", "Group", "Remove", "Run", "Scene", "load", "parse"]
