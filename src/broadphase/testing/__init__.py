"""Seeded scenes, the plain oracle of pairs, and the comparison of pair sets. Public: made for your tests too."""

from broadphase.testing import oracle
from broadphase.testing.comparing import assert_same_pairs, checksum
from broadphase.testing.moving_scenes import MovingScene, moving
from broadphase.testing.scenes import SCENES, Scene, make_scene
from broadphase.testing.simd import simd_level, simd_levels

__all__ = [
    "SCENES", "MovingScene", "Scene", "assert_same_pairs", "checksum", "make_scene", "moving", "oracle", "simd_level",
    "simd_levels",
]  # fmt: skip
