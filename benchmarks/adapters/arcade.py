"""Sprites: `broadphase.adapters.arcade` beside arcade, without a window."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.adapters import faster
from benchmarks.measuring import load
from benchmarks.rows import Row


def rows(pace: float) -> Iterator[Row]:
    """Yield the rows; each takes some seconds times `pace`."""
    os.environ.setdefault("ARCADE_HEADLESS", "True")
    theirs, ours = load("arcade"), load("broadphase.adapters.arcade", "arcade")
    for what, count, world, turned, least in (
        ("2000 sprites", 2000, 2000, False, 4.0),
        ("2000 turned and scaled sprites", 2000, 2000, True, 4.0),
        ("2000 crowded sprites", 2000, 300, True, 4.0),
        ("10,000 sprites", 10_000, 4000, True, 4.0),
        ("50 sprites", 50, 300, True, None),
    ):
        sprites = made(theirs, count, world, turned)
        asking = made(theirs, 20, world, turned)
        yield faster(
            f"with_list, {what}",
            lambda sprites=sprites, asking=asking: [  # type: ignore[misc]
                theirs.check_for_collision_with_list(one, sprites, method=3) for one in asking
            ],
            lambda sprites=sprites, asking=asking: [  # type: ignore[misc]
                ours.check_for_collision_with_list(one, sprites) for one in asking
            ],
            least,
            pace,
        )
    yield from hash_rows(theirs, ours, pace)


def hash_rows(theirs: Any, ours: Any, pace: float) -> Iterator[Row]:
    """Yield the rows of the spatial hash."""
    their_list, our_list = made(theirs, 2000, 2000, True), made(theirs, 2000, 2000, True)
    their_list.enable_spatial_hashing(128)
    ours.SpatialHash.of(our_list, 128)
    asking = made(theirs, 20, 2000, True)
    view = theirs.LBWH(100, 100, 1920, 1080)
    calls = {
        "near_sprite": (lambda hashed: [hashed.get_sprites_near_sprite(one) for one in asking], 1.0),
        "near_point": (lambda hashed: [hashed.get_sprites_near_point(one.position) for one in asking], 1.0),
        "near_rect": (lambda hashed: hashed.get_sprites_near_rect(view), 1.0),
    }
    for name, (call, least) in calls.items():
        yield faster(
            f"get_sprites_{name}",
            lambda call=call: call(their_list.spatial_hash),  # type: ignore[misc]
            lambda call=call: call(our_list.spatial_hash),  # type: ignore[misc]
            least,
            pace,
        )

    def step(sprites: Any) -> None:
        for one in sprites:
            one.angle += 1.0

    yield faster("turn 2000 sprites with a spatial hash", lambda: step(their_list), lambda: step(our_list), 1.0, pace)
    yield faster(
        "with_list, 2000 sprites with a spatial hash",
        lambda: [theirs.check_for_collision_with_list(one, their_list) for one in asking],
        lambda: [ours.check_for_collision_with_list(one, our_list) for one in asking],
        1.0,
        pace,
    )


def made(theirs: Any, count: int, world: int, turned: bool) -> Any:
    """Make a list of sprites of about 20 pixels."""
    sprites, rng = theirs.SpriteList(lazy=True), np.random.default_rng(count)
    for x, y, angle, scale in (rng.random((count, 4)) * (world, world, 360, 1)).tolist():
        sprite = theirs.SpriteSolidColor(20, 20, center_x=x, center_y=y)
        if turned:
            sprite.angle, sprite.scale = angle, 0.5 + scale
        sprites.append(sprite)
    return sprites
