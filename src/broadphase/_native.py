"""The door to the compiled core: the only file that imports it."""

from broadphase._core import *
