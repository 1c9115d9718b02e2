"""Rectangles that bounce in a window, red where they touch, at 60 frames per second: pip install broadphase pygame-ce.

python examples/rectangles_pygame.py --count 5000    # Space pauses, Escape quits
"""

import argparse
from time import perf_counter

import numpy as np
import pygame

import broadphase as bp

SIZE, EDGE = (1120, 840), 6  # of the window and of a rectangle, in pixels
BACKGROUND, APART, TOUCHING = (20, 23, 28), (138, 155, 176), (213, 94, 0)


def make_world(count: int) -> bp.World:
    """Make a world of squares at random positions, with velocities of up to 5 pixels per axis and frame."""
    rng, reach = np.random.default_rng(7), np.array(SIZE) - EDGE
    world = bp.World(dim=2, bounds=[[0, 0], SIZE], boundary="bounce")
    places, velocities = rng.uniform(EDGE, reach, (count, 2)), rng.uniform(-5, 5, (count, 2))
    world.add_many(bp.Rectangle(EDGE, EDGE), places, velocities=velocities)
    return world


def main(arguments: list[str] | None = None) -> bp.World:
    """Run until the window is closed, or for a number of frames."""
    parser = argparse.ArgumentParser(description="Rectangles that bounce in a window.")
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--frames", type=int, default=0, help="0: until the window is closed")
    options = parser.parse_args(arguments)
    pygame.font.init()
    screen, clock, font = pygame.display.set_mode(SIZE), pygame.time.Clock(), pygame.font.Font(None, 24)
    tiles = [pygame.Surface((EDGE - 1, EDGE - 1)) for _ in range(2)]
    for tile, colour in zip(tiles, (APART, TOUCHING), strict=True):
        tile.fill(colour)
    world, dt, frames = make_world(options.count), 1.0, 0
    while not options.frames or frames < options.frames:
        for event in pygame.event.get():
            if event.type == pygame.QUIT or (event.type == pygame.KEYDOWN and event.key == pygame.K_ESCAPE):
                return world
            if event.type == pygame.KEYDOWN and event.key == pygame.K_SPACE:
                dt = 1.0 - dt
        begin, frame = perf_counter(), world.step(dt)
        took, frames = perf_counter() - begin, frames + 1
        touching = np.isin(world.rows, frame.pairs)
        screen.fill(BACKGROUND)
        pictures = map(tiles.__getitem__, touching.tolist())
        screen.fblits(list(zip(pictures, (world.positions - EDGE / 2).tolist(), strict=True)))
        text = f"{len(world):,} rectangles, {len(frame.pairs):,} pairs: {1e3 * took:.2f} ms"
        screen.blit(font.render(f"{text}, {clock.get_fps():.0f} fps", True, "white", BACKGROUND), (8, 8))
        pygame.display.flip()
        clock.tick(60)
    return world


if __name__ == "__main__":
    main()
