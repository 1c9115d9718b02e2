"""
A game: tiles, coins, a guard that sees you
===========================================

A platform game in one file: a level of tiles drawn as text, coins to pick up, platforms
to jump through from below, walls to slide along, a guard with a line of sight, and
saving. If there is a display, it opens a window of ``pygame-ce`` that the arrow keys
control. Then a bot plays, and the last cells draw what happened. See :doc:`/games`.
"""

import os
import sys
from itertools import groupby

import matplotlib.pyplot as plt
import numpy as np

import broadphase as bp

LEVEL = """
X..............................................X
X..............................................X
X................................o.............X
X.........................o.o..====......o..o..X
X.................o.....====............=====..X
X........o......====.........o.................X
X......====.................XX...........X..o..X
X..P.........o...XX.....o...XX..o..G..o..X....EX
XXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX
"""
SIZE, SPEED, JUMP, GRAVITY, DT = (0.8, 0.9), 6.0, 15.0, 32.0, 1 / 60

# %%
# Each run of walls becomes one long box: a body that slides over it meets no seams
# between tiles. Coins and the exit are sensors: they have events, and no contacts.


class Player(bp.Actor):
    """What the keys move. Its data is saved with the world."""


def make_world():
    """Return the world of the level; the player is the only actor with a class."""
    world = bp.World(dim=2)
    for layer in ("player", "wall", "platform", "coin", "guard", "exit"):
        world.layer(layer)
    lines = LEVEL.strip().splitlines()[::-1]
    for y, line in enumerate(lines):
        x = 0
        for tile, run in groupby(line):
            width = len(list(run))
            middle, cells = (x + width / 2, y + 0.5), np.arange(x, x + width) + 0.5
            if tile == "X":
                wall = bp.AABB(width, 1)
                world.add(wall, position=middle, body_type="static", layer="wall")
            elif tile == "=":
                plank, place = bp.AABB(width, 0.3), (middle[0], y + 0.85)
                world.add(plank, position=place, body_type="static", layer="platform")
            elif tile == "o":
                for cell in cells:
                    world.add(
                        bp.Circle(0.3),
                        position=(cell, y + 0.5),
                        sensor=True,
                        layer="coin",
                    )
            elif tile == "E":
                world.add(bp.AABB(0.6, 1), position=middle, sensor=True, layer="exit")
            elif tile == "G":
                world.add(
                    bp.Circle(0.4),
                    position=(middle[0], y + 1.4),
                    body_type="static",
                    layer="guard",
                    mask={"player"},
                )
            elif tile == "P":
                world.add(
                    bp.AABB(*SIZE),
                    position=(x + 0.5, y + 0.5),
                    layer="player",
                    actor=Player,
                    data={"coins": 0, "on_ground": False, "won": False},
                )
            x += width
    return world


# %%
# Handlers are code, so a saved world does not contain them: register them with each new
# or loaded world.


class Game:
    """A world, and the rules of this game."""

    def __init__(self, world):
        self.world = world
        self.player = world.actor(rows_of(world, "player")[0])
        self.guard = world.actor(rows_of(world, "guard")[0])
        self.platforms = set(rows_of(world, "platform"))
        world.on_enter("player", "coin")(self.pick_up)
        world.on_enter("player", "exit")(self.win)

    def pick_up(self, event):
        """Take the coin out of the world."""
        event.actor.data["coins"] += 1
        event.other.remove()

    def win(self, event):
        """Reach the exit."""
        event.actor.data["won"] = True

    def step(self, run, jump):
        """Move by one frame; ``run`` is -1, 0 or 1."""
        player = self.player
        falling = player.velocity[1] - GRAVITY * DT
        if jump and player.data["on_ground"]:
            falling = JUMP
        player.velocity = (SPEED * run, max(falling, -20.0))
        foot = player.position[1] - SIZE[1] / 2
        frame = self.world.step(dt=DT)
        self.slide(frame.contacts, foot)

    def slide(self, contacts, foot):
        """Push the player out of what it touches, and keep the motion along it."""
        player, count = self.player, self.world.slots
        table = contacts.padded(8, count)
        player.data["on_ground"] = False
        for k in range(min(8, int(table.counts[player.row]))):
            other = int(table.pairs[player.row, k].sum()) - player.row
            normal, depth = table.normals[player.row, k], table.depths[player.row, k]
            if other in self.platforms:
                top = self.world.positions[other, 1] + 0.15
                if player.velocity[1] > 0 or foot < top - 1e-6:
                    continue  # from below, or from the side
            player.position = player.position - normal * depth
            into = max(0.0, float(player.velocity @ normal))
            player.velocity = player.velocity - into * normal
            player.data["on_ground"] |= bool(normal[1] < -0.5)

    def is_seen(self):
        """Say whether the guard sees the player: the first thing on the line to it."""
        way = self.player.position - self.guard.position
        hit = self.world.raycast(
            tuple(self.guard.position),
            tuple(way),
            12.0,
            mask={"player", "wall", "platform"},
            ignore=self.guard,
        )
        return hit is not None and hit.actor == self.player

    def bot(self):
        """Run to the right, and jump where a wall is ahead, or now and then."""
        begin, row = tuple(self.player.position), self.player.row
        ahead = self.world.raycast(begin, (1, 0), 1.6, mask="wall", ignore=row)
        coin = self.world.raycast(begin, (1, 1.4), 3.0, mask="coin", ignore=row)
        return 1, ahead is not None or coin is not None


def rows_of(world, layer):
    """Return the rows in a layer."""
    bit = np.uint64(world.layer(layer))
    return world.rows[world.layers[world.rows] & bit != 0].tolist()


# %%
# A window, if there is a display.


def play_in_window(game):
    """Play by the arrow keys: S saves, L loads, Escape ends."""
    import pygame

    scale, (wide, high) = 20, (48, 9)
    screen = pygame.display.set_mode((wide * scale, high * scale))
    clock, saved = pygame.time.Clock(), game.world.to_bytes()
    colours = {"wall": "#50555C", "platform": "#8A6F3C", "coin": "#E0A800"}
    colours |= {"guard": "#C0392B", "exit": "#3C8D5A", "player": "#2B6C99"}
    while not game.player.data["won"]:
        for event in pygame.event.get():
            key = event.key if event.type == pygame.KEYDOWN else None
            if event.type == pygame.QUIT or key == pygame.K_ESCAPE:
                return
            if key == pygame.K_s:
                saved = game.world.to_bytes()
            elif key == pygame.K_l:
                game = Game(bp.World.from_bytes(saved, actors={"player": Player}))
        keys = pygame.key.get_pressed()
        run = int(keys[pygame.K_RIGHT]) - int(keys[pygame.K_LEFT])
        game.step(run, keys[pygame.K_UP])
        screen.fill("#F4F1EA" if not game.is_seen() else "#F6D6CF")
        for layer, colour in colours.items():
            for lower, upper in game.world.boxes[rows_of(game.world, layer)]:
                left, top = lower[0], high - upper[1]
                area = np.array([left, top, *(upper - lower)]) * scale
                pygame.draw.rect(screen, colour, area.tolist())
        coins = game.player.data["coins"]
        pygame.display.set_caption(f"{coins} coins")
        pygame.display.flip()
        clock.tick(60)


has_display = sys.platform in ("win32", "darwin") or "DISPLAY" in os.environ
if has_display and "sphinx" not in sys.modules:
    play_in_window(Game(make_world()))
game = Game(make_world())

# %%
# The bot plays. After three seconds the game is saved. At the end the saved game is
# loaded and continued, with the same outcome.


def play(game, frames, save_at=None):
    """Let the bot play; return the path, the lines of sight, and the saved game."""
    path, lines, saved = [], [], b""
    for number in range(frames):
        if number == save_at:
            saved = game.world.to_bytes()
        if game.player.data["won"]:
            break
        game.step(*game.bot())
        path.append(game.player.position.copy())
        if game.is_seen():
            lines.append((game.guard.position.copy(), path[-1]))
    return np.array(path), lines, saved


path, lines, saved = play(game, 900, save_at=180)
again = Game(bp.World.from_bytes(saved, actors={"player": Player}))
path_again, _, _ = play(again, 900 - 180)
data = game.player.data
print(f"{data['coins']} coins in {len(path)} frames, won: {data['won']}")
print(f"seen by the guard in {len(lines)} frames")
print(f"loaded, the same end: {np.array_equal(path[-1], path_again[-1])}")

# %%
# The level at the end, the path of the player, and when the guard saw it.

figure, axes = plt.subplots(figsize=(12, 2.9), layout="constrained")
bp.plot(game.world, ax=axes, pairs=False)
for begin, end in lines[::3]:
    axes.plot(*np.transpose([begin, end]), color="#C0392B", linewidth=0.5, alpha=0.5)
for layer, colour in (("coin", "#E0A800"), ("exit", "#3C8D5A"), ("guard", "#C0392B")):
    axes.scatter(*game.world.positions[rows_of(game.world, layer)].T, color=colour)
axes.plot(*path.T, color="#2B6C99", linewidth=1.5)
axes.set(xlim=(0, 48), ylim=(0, 9), xlabel="", ylabel="")
axes.set_title(f"{data['coins']} coins; seen in {len(lines)} of {len(path)} frames")
plt.show()
