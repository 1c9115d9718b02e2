"""Where the core can be changed by machine, one small change at a time."""

import random
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

# The parts of the core whose tests are in question, and how many changes are made in each.
SUBJECTS = {
    "grid": (["grid"], 60),
    "sweep": (["sweep"], 45),
    "trees": (["tree", "bvh", "octree", "linear_tree"], 90),
    "narrow": (["narrow"], 75),
    "touching": (["world"], 30),
}

# Functions that only estimate or choose among ways that all lead to the same answer: a change in them costs time, and
# no test of answers can notice it. No function belongs here that writes what an answer is read from.
ESTIMATES = {
    "grid/plan.hpp": ("cover",),
    "grid/plan.cpp": (
        "meeting_share", "on_many_scales", "blurred_share", "largest_heap", "cut_blurred_axis", "undecided_share",
        "shape_of", "searches_cost", "even_cost", "cost_by_sample",
    ),
    "sweep/sweep_direction.hpp": (
        "sample_rows", "take", "overlapping", "overlapping_share", "sweep_share", "best_axis",
    ),
    "sweep/sweep_index.hpp": ("take_sample", "cost", "cheapest"),
    "tree/blocks.hpp": ("look", "is_blurred", "blocks_are_blurred"),
    "tree/rank_order.hpp": ("half_area", "improve", "are_alike", "crosses"),
    "bvh/build.hpp": ("sample_is_blurred",),
    "bvh/bvh.hpp": ("is_worse", "crosses_otherwise"),
    "octree/lattice.hpp": ("smallest_cell",),
}  # fmt: skip

# And lines that only bring memory near, take it early, or say whether threads are worth their start.
_SPEED = re.compile(
    r"prefetch|\bread_(?:soon|ahead)\b|\.reserve\(|\bworkers (?:<=|>) 1\b|kTasksWorthThreads|kWorthAWorker"
)


@dataclass(frozen=True, order=True)
class Place:
    """One change: `text[start:end]` becomes `changed` where the mutant is on. Offsets are of the unchanged file."""

    file: str
    start: int
    end: int
    changed: str
    kind: str
    line: int
    is_statement: bool = False

    def switched(self, number: int, text: str) -> str:
        """Return the code that is either one, by the number of the mutant that is on."""
        old = text[self.start : self.end]
        if self.is_statement:
            return f"{{ if (!BROADPHASE_MUTANT({number})) {{ {old} }} }}"
        changed = self.changed.replace("\n", " ")  # so that lines keep their numbers
        return f"(BROADPHASE_MUTANT({number}) ? ({changed}) : ({old}))"


def without_words(text: str) -> str:
    """Return the code with comments and strings as blanks, so that offsets stay."""
    pattern = r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\''
    return re.sub(pattern, lambda found: re.sub(r"[^\n]", " ", found.group()), text, flags=re.DOTALL)


# What ends an operand of a comparison, outside brackets: all that binds less, and what begins or ends an expression.
_ENDS = re.compile(r"&&|\|\||[,;{}?]| : | [-+*/%&|^]?= | <<= | >>= | [&|^] |\breturn\b|\bthrow\b|\bcase\b")
_OPEN, _CLOSE = "([", ")]"


def left_of(code: str, place: int) -> int:
    """Return where the expression begins whose last operator is at the place."""
    depth, at = 0, place
    while at > 0:
        character = code[at - 1]
        if character in _CLOSE:
            depth += 1
        elif character in _OPEN:
            if depth == 0:
                break
            depth -= 1
        elif depth == 0 and (found := _ending(code, at)) is not None:
            at = found
            break
        at -= 1
    return at + len(code[at:place]) - len(code[at:place].lstrip())


def _ending(code: str, at: int) -> int | None:
    """Return the place where an operand begins, if what stands before it ends another one."""
    for found in _ENDS.finditer(code, max(0, at - 8), at):
        if found.end() == at:
            return at
    return None


def right_of(code: str, place: int) -> int:
    """Return where the operand ends that begins at the place."""
    depth, at = 0, place
    while at < len(code):
        if code[at] in _OPEN:
            depth += 1
        elif code[at] in _CLOSE:
            if depth == 0:
                break
            depth -= 1
        elif depth == 0 and _ENDS.match(code, at):
            break
        at += 1
    return place + len(code[place:at].rstrip())


_FLIPS = {"<": ["<=", ">="], "<=": ["<", ">"], ">": [">=", "<="], ">=": [">", "<"], "==": ["!="], "!=": ["=="]}
_COMPARISON = re.compile(r" (<=|>=|==|!=|<|>) ")
_LOGICAL = re.compile(r" (&&|\|\|) ")
_ONE = re.compile(r"(?<= [-+] )1(?![\w.])")
_EXTREME = re.compile(r"std::(min|max)\(")
_STATEMENT = re.compile(
    r"^ +((?:[\w.\[\]()*>-]+ (?:[-+|&*^]?=|<<=|>>=) |(?:\+\+|--)|[\w.>-]+\()[^;{}]*;)$", re.MULTILINE
)
_CONDITION = re.compile(r"\bif \(")
# Where no number of a running program may stand, or where a name is declared.
_SKIPPED = re.compile(
    r"\b(constexpr|static_assert|template|requires|concept|using|typename|return_type|case|operator|static const)\b"
    r"|#|\bassert\("
)


def bodies_of(name: str, code: str) -> list[tuple[int, int]]:
    """Return where the bodies of the functions of this name lie in the code, without words."""
    bodies = []
    for match in re.finditer(rf"\b{name}\(", code):
        close = _closing(code, match.end() - 1)
        if body := re.compile(r"\)[^;,(){}]*\{").match(code, close):
            bodies.append((match.start(), _closing(code, body.end() - 1)))
    return bodies


def _closing(code: str, opening: int) -> int:
    """Return the place of the bracket that closes the one at the place."""
    depth = 0
    for at in range(opening, len(code)):
        depth += (code[at] in "([{") - (code[at] in ")]}")
        if depth == 0:
            return at
    raise ValueError(f"a bracket without an end: {code[opening : opening + 40]}")


def places_of(file: str, text: str) -> list[Place]:
    """Return every change of one file that this tool knows how to make, and that may alter an answer."""
    code = without_words(text)
    found: list[Place] = []
    estimates = []
    for name in ESTIMATES.get(file, ()):
        if not (bodies := bodies_of(name, code)):
            raise ValueError(f"core/{file} has no function {name}")
        estimates += bodies

    def add(start: int, end: int, changed: str, kind: str, is_statement: bool = False) -> None:
        first = code.rfind("\n", 0, start) + 1
        last = code.find("\n", end)
        if _SPEED.search(code, first, last) or any(begin <= start < stop for begin, stop in estimates):
            return
        if not _SKIPPED.search(code, first, last) and 0 < end - start < 400 and "//" not in changed:
            found.append(Place(file, start, end, changed, kind, code.count("\n", 0, start) + 1, is_statement))

    for match in _COMPARISON.finditer(code):
        start, end = left_of(code, match.start()), right_of(code, match.end())
        for other in _FLIPS[match.group(1)]:
            changed = f"{text[start : match.start()]} {other} {text[match.end() : end]}"
            add(start, end, changed, f"{match.group(1)} becomes {other}")
    for match in _LOGICAL.finditer(code):
        start, end = match.end(), right_of(code, match.end())
        add(start, end, "true" if match.group(1) == "&&" else "false", f"right of {match.group(1)} dropped")
    for match in _ONE.finditer(code):
        add(match.start(), match.end(), "0", "1 becomes 0")
        add(match.start(), match.end(), "2", "1 becomes 2")
    for match in _EXTREME.finditer(code):
        end = right_of(code, match.start())
        other = "max" if match.group(1) == "min" else "min"
        if code[match.end() - 1 : end].endswith(")"):
            add(match.start(), end, f"std::{other}{text[match.end() - 1 : end]}", f"{match.group(1)} becomes {other}")
    for match in _STATEMENT.finditer(code):
        add(match.start(1), match.end(1), "", "statement dropped", is_statement=True)
    for match in _CONDITION.finditer(code):
        end = right_of(code, match.end())
        if code[end : end + 1] == ")":
            add(match.end(), end, "false", "condition never holds")
            add(match.end(), end, "true", "condition always holds")
    return found


def chosen(core: Path, seed: int, refused: Iterable[tuple[str, int, int]], spare: float = 0) -> list[Place]:
    """Return the sample: changes that do not lie in one another, as many in each subject as `SUBJECTS` says.

    `spare`: as many more, as a share of these, for those that the compiler will refuse.
    """
    refused = set(refused)
    sample: list[Place] = []
    for folders, count in SUBJECTS.values():
        files = [path for folder in folders for path in sorted((core / folder).glob("*.?pp"))]
        places = [place for path in files for place in places_of(str(path.relative_to(core)), path.read_text())]
        random.Random(seed).shuffle(places)
        taken: list[Place] = []
        for place in places:
            if len(taken) >= count * (1 + spare):
                break
            if (place.file, place.start, place.end) in refused:
                continue
            if any(p.file == place.file and p.start < place.end and place.start < p.end for p in taken):
                continue
            taken.append(place)
        sample += taken
    return sample
