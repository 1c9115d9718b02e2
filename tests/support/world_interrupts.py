"""Exceptions at any line or instruction inside the calls of a world: what comes of them is one state or the other."""

import sys
from pathlib import Path

import numpy as np

import broadphase as bp
from broadphase.world import world as world_module

FOLDER = str(Path(world_module.__file__).parents[1])
TETRAHEDRON = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]])
EVENTS = ("enter", "stay", "exit", "exit_handles", "pairs", "deferred", "removed_handles")


def is_called_by_user(frame):
    """Whether a handler or hook has called this: what is raised there is the handler's own exception."""
    while frame is not None:
        if frame.f_code.co_filename == __file__ and frame.f_code.co_name in ("hear", "update", "on_enter", "on_exit"):
            return True
        frame = frame.f_back
    return False


class RaiseAt:
    """Raise before an instruction, or a line, of the library's own code, counted from 0, as Ctrl-C might."""

    def __init__(self, number, error, *, lines=False):
        self.left, self.error, self.lines = number, error, lines

    def __call__(self, frame, event, _):
        if event == "call" and not (frame.f_code.co_filename.startswith(FOLDER) and not is_called_by_user(frame)):
            return None
        frame.f_trace_opcodes = not self.lines
        if event == ("line" if self.lines else "opcode"):
            self.left -= 1
            if self.left < 0:
                sys.settrace(None)
                raise self.error
        return self


class Loud(bp.Actor):
    """Writes down what its hooks are called with."""

    def __init__(self, log):
        self.log = log

    def update(self, info):
        self.velocity[:] = self.velocity  # a hook that reads and writes

    def on_enter(self, other):
        self.log.append(("hook enter", self.handle, other.handle))

    def on_exit(self, other):
        self.log.append(("hook exit", self.handle, other.handle))


class Quiet(bp.Actor):
    """Has a hook that does nothing."""

    def on_stay(self, other):
        pass


class Play:
    """A world with something of everything, and what was heard of it."""

    def __init__(self, dimension, seed, **options):
        rng = np.random.default_rng(seed)
        self.log = []
        self.world = world = bp.World(dimension, bounds=[[0] * dimension, [9] * dimension], **options)
        self.ball = bp.Circle if dimension == 2 else bp.Sphere
        world.layer("wall", priority=2)
        world.add_many(
            self.ball(rng.uniform(0.3, 0.9, 16)), rng.uniform(0, 9, (16, dimension)),
            velocities=rng.uniform(-4, 4, (16, dimension)), layer=["wall", "default"] * 8,
            boundary=["remove", "bounce", "none", "wrap"] * 4, ccd=[True, False, False, False] * 4,
            update_interval=[1, 1, 2, 1] * 4,
        )  # fmt: skip
        if dimension == 3:
            world.add_many([bp.ConvexHull(TETRAHEDRON), bp.Mesh(TETRAHEDRON, [[0, 1, 2]])], [[4] * 3, [5] * 3])
        self.held = world.positions, world.velocities  # which longer ones will replace
        self.loud = Loud(self.log)
        world.add(self.ball(2), position=[4] * dimension, actor=self.loud, data="loud")
        world.ignore([[0, 1]])
        for kind in ("enter", "stay", "exit"):
            getattr(world, f"on_{kind}")("wall")(self.hear)
        world.on_exit(self.loud, "default")(self.hear)
        world.on_step(lambda frame: self.log.append(("frame", frame.number)))
        world.step(0.1)
        world.remove([3, 4])
        world.step(0.1)
        self.free = world.add(self.ball(0.5), position=[2] * dimension)
        world.query([[0] * dimension + [9] * dimension])  # builds an index
        world.remove([7])
        world.move([5, 6], np.full((2, dimension), 3.0))
        world.refresh()
        self.held[0][0] += 0.25

    def hear(self, event):
        self.log.append((event.kind, event.number, event.actor.handle, event.other.handle))

    def state(self):
        """Give all that can be seen of it, but for what was heard."""
        world = self.world
        rows, stored = world.rows, world.to_bytes()
        arrays = (rows, world.handles(), world.boxes[rows], world.positions[rows], world.pairs)
        actors = [(actor.handle, type(actor).__name__, actor.data) for actor in map(world.actor, rows.tolist())]
        stats = {name: value for name, value in world.stats().items() if "seconds" not in name and name != "bytes"}
        everywhere = world.query([[-np.inf] * world.dim + [np.inf] * world.dim]).rows.tolist()
        return [stored, *(array.tobytes() for array in arrays), actors, stats, everywhere, self.loud.data]


def fresh(play):
    return bp.World.from_bytes(play.world.to_bytes())


def add(play):
    d = play.world.dim
    play.world.add(play.ball(0.7), position=[1.5] * d, actor=Loud(play.log), data=[1], layer="more", group=1)


def add_many(play):
    d = play.world.dim
    shapes = [bp.ConvexHull(TETRAHEDRON * 2), bp.Box(1, 1, 1)] if d == 3 else [bp.Rectangle(1, 1), bp.Point()]
    play.world.add_many(
        shapes * 12, np.linspace(1, 8, 24 * d).reshape(24, d), rotations=np.ones(24) if d == 2 else [[1, 0, 0, 1]] * 24,
        sensor=True, mask={"wall"}, boundary="bounce", actor=Quiet,
    )  # fmt: skip


def as_actor(play):
    play.loud.data, play.loud.velocity, play.loud.layer = "other", [1] * play.world.dim, "wall"


CHANGES = {
    "add": add,
    "add_many": add_many,
    "remove": lambda play: play.world.remove([0, play.loud.row, 8]),
    "move": lambda play: play.world.move([1, 2], np.full((2, play.world.dim), 4.0), velocities=[1] * play.world.dim),
    "set_shapes": lambda play: play.world.set_shapes(
        [1, play.loud.row], [bp.Capsule([0] * play.world.dim, [1] * play.world.dim, 0.3)] * 2
    ),
    "set_filters": lambda play: play.world.set_filters([1, 2], layer="more", mask="wall", group=-1),
    "sleep": lambda play: play.world.sleep([1, 2]),
    "ignore": lambda play: play.world.ignore([[1, 2], [2, 5]]),
    "unignore": lambda play: play.world.unignore([[0, 1]]),
    "layer": lambda play: play.world.layer("more", priority=1),
    "method": lambda play: setattr(play.world, "method", "grid"),
    "refresh": lambda play: play.world.refresh(),
    "data": lambda play: setattr(play.free, "data", "kept"),
    "step": lambda play: play.world.step(0.3),
    "step with a budget": lambda play: play.world.step(0.3, budget=bp.Budget(tests=3)),
    "query": lambda play: play.world.nearest([[4.0] * play.world.dim], k=3),
    "to_bytes, from_bytes": fresh,
    "on_enter": lambda play: play.world.on_enter("default", "wall")(play.hear),
    "clear_handlers": lambda play: play.world.clear_handlers(),
    "remove_handler": lambda play: play.world.remove_handler(play.hear),
}  # fmt: skip


def length_of(play, change, *, lines):
    """Count the instructions, or lines, of a change."""
    tracer = RaiseAt(10**9, KeyboardInterrupt, lines=lines)
    sys.settrace(tracer)
    try:
        change(play)
    finally:
        sys.settrace(None)
    return 10**9 - tracer.left


def outcome_of(play):
    """Give what can be seen of a world now, and what comes of it."""
    found = [play.state()]
    for _ in range(3):
        frame = play.world.step(0.1)
        found.append([getattr(frame, event).tobytes() for event in EVENTS])
    play.world.validate()
    # In any order: what an exception has left over is delivered after the subscribers have been called.
    return [*found, sorted(map(str, play.log)), play.state()]


class Interrupts:
    """A change, and the two outcomes that it may have wherever it is interrupted."""

    def __init__(self, dimension, options, name, *, lines=False):
        self.make = lambda: Play(dimension, 5, **options)
        self.change, self.lines, self.where = CHANGES[name], lines, (name, dimension, options)
        self.length = length_of(self.make(), self.change, lines=lines)
        self.before = outcome_of(self.make())
        changed = self.make()
        self.change(changed)
        self.after = outcome_of(changed)

    def check(self, number, error):
        """Interrupt at one place."""
        play = self.make()
        sys.settrace(RaiseAt(number, error, lines=self.lines))
        try:
            self.change(play)
        except error:
            pass
        finally:
            sys.settrace(None)
        play.world.validate()
        outcome = outcome_of(play)
        assert outcome in (self.before, self.after), (*self.where, number)
