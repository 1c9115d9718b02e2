"""Sprites: `broadphase.adapters.pygame` beside pygame-ce."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.adapters import faster
from benchmarks.measuring import load
from benchmarks.rows import Row

COUNT = 2000


def rows(pace: float) -> Iterator[Row]:
    """Yield the rows; each takes some seconds times `pace`."""
    theirs = load("pygame.sprite", "pygame-ce")
    ours = load("broadphase.adapters.pygame", "pygame-ce")
    bullets, enemies = made(theirs, theirs.Group, COUNT, 0), made(theirs, theirs.Group, COUNT, 1)
    kept_bullets, kept_enemies = made(theirs, ours.Group, COUNT, 0), made(theirs, ours.Group, COUNT, 1)
    one = bullets.sprites()[7]

    def by_loop() -> dict[Any, list[Any]]:
        others, found = enemies.sprites(), {}
        rects = [sprite.rect for sprite in others]
        for sprite in bullets:
            if hits := sprite.rect.collidelistall(rects):
                found[sprite] = [others[row] for row in hits]
        return found

    def group(module: Any, **options: Any) -> Any:
        return lambda: module.groupcollide(bullets, enemies, False, False, **options)

    yield faster("groupcollide, 2000 × 2000", group(theirs), group(ours), 10.0, 4 * pace)
    yield faster("groupcollide, beside Rect.collidelistall", by_loop, group(ours), 3.0, pace)
    circle = {"collided": theirs.collide_circle}
    yield faster("groupcollide, circles", group(theirs, **circle), group(ours, **circle), 10.0, 8 * pace)
    yield faster(
        "spritecollide in 2000",
        lambda: theirs.spritecollide(one, enemies, False),
        lambda: ours.spritecollide(one, enemies, False),
        1.0,
        pace,
    )
    yield faster(
        "spritecollide in 2000, circles",
        lambda: theirs.spritecollide(one, enemies, False, theirs.collide_circle),
        lambda: ours.spritecollide(one, enemies, False, theirs.collide_circle),
        1.0,
        pace,
    )
    with kept_bullets.still(), kept_enemies.still():
        yield faster(
            "spritecollide in 2000, Group.still",
            lambda: theirs.spritecollide(one, enemies, False),
            lambda: ours.spritecollide(one, kept_enemies, False),
            5.0,
            pace,
        )
        yield faster(
            "groupcollide, 2000 × 2000, Group.still",
            group(theirs),
            lambda: ours.groupcollide(kept_bullets, kept_enemies, False, False),
            20.0,
            4 * pace,
        )
    for count in (10, 100):
        yield from small_rows(theirs, ours, count, pace)
    crowd, others = made(theirs, theirs.Group, COUNT, 4, side=10), made(theirs, theirs.Group, COUNT, 5, side=10)
    # A crowd of circles is left to pygame: as long, and a little more or less.
    for what, options, least in (("", {}, 1.0), (", circles", circle, None)):
        yield faster(
            f"groupcollide, 2000 × 2000 at one spot{what}",
            lambda options=options: theirs.groupcollide(crowd, others, False, False, **options),  # type: ignore[misc]
            lambda options=options: ours.groupcollide(crowd, others, False, False, **options),  # type: ignore[misc]
            least,
            4 * pace,
        )


def small_rows(theirs: Any, ours: Any, count: int, pace: float) -> Iterator[Row]:
    """Yield the rows of small groups, where a plain loop has to do."""
    few, others = made(theirs, theirs.Group, count, 2), made(theirs, theirs.Group, count, 3)
    one = few.sprites()[0]
    yield faster(
        f"groupcollide, {count} × {count}",
        lambda: theirs.groupcollide(few, others, False, False),
        lambda: ours.groupcollide(few, others, False, False),
        1.0,
        pace,
    )
    yield faster(
        f"spritecollide in {count}",
        lambda: theirs.spritecollide(one, others, False),
        lambda: ours.spritecollide(one, others, False),
        None,
        pace,
    )


def made(theirs: Any, group: Any, count: int, seed: int, side: int = 2000) -> Any:
    """Make a group of sprites of 20 pixels, about one other within reach of each in a group of 2000."""
    sprites = group()
    for x, y in np.random.default_rng(seed).integers(0, side, (count, 2)).tolist():
        theirs.Sprite(sprites).rect = theirs.pygame.Rect(x, y, 20, 20)
    return sprites
