"""Scenes: a world, groups of bodies and rules in a small file, to be built, run and measured."""

from broadphase.scenes.groups import Group
from broadphase.scenes.loading import NAMES, load, parse
from broadphase.scenes.rules import Emit, Remove
from broadphase.scenes.scene import EventLog, Run, Scene

__all__ = ["NAMES", "Emit", "EventLog", "Group", "Remove", "Run", "Scene", "load", "parse"]
