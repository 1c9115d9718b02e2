"""The demo: a live page in the browser, and the simulation behind it. The page needs the extra ``demo``."""

from broadphase.demo.page import DemoPage, start_demo
from broadphase.demo.scenes import SCENES
from broadphase.demo.simulation import Simulation

__all__ = ["SCENES", "DemoPage", "Simulation", "start_demo"]
