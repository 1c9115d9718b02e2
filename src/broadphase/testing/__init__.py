"""Scenes to try a broad phase on, and the plain answers to compare with. Public: made for your tests too."""

from broadphase.testing import oracle, query_oracle, shape_oracle, world_oracle
from broadphase.testing.comparing import assert_same_answers, assert_same_pairs, checksum
from broadphase.testing.moving import MovingScene, moving
from broadphase.testing.scenes import SCENES, Scene, make_scene
from broadphase.testing.simd import simd_level, simd_levels

__all__ = [
    "SCENES",
    "MovingScene",
    "Scene",
    "assert_same_answers",
    "assert_same_pairs",
    "checksum",
    "make_scene",
    "moving",
    "oracle",
    "query_oracle",
    "shape_oracle",
    "simd_level",
    "simd_levels",
    "world_oracle",
]
