"""What a state weighs: by subtree, the optimizer against the params, a step at its peak, and the kinds of field."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from statelint.model.avals import Aval
from statelint.model.names import is_optimizer, is_params
from statelint.model.paths import steps
from statelint.model.trace import LeafTrace, StepTrace
from statelint.model.wording import listed

MIRRORS = ("mu", "nu", "ema", "momentum", "velocity", "target", "average")
"""How the name of a tree begins that is like the params and is not them."""


class Part(msgspec.Struct, frozen=True):
    """A subtree of the state: its path, its leaves and their bytes."""

    path: str
    leaves: int
    bytes: int


class Optimizer(msgspec.Struct, frozen=True):
    """What the optimizer carries, measured in params.

    Attributes:
        paths: its subtrees; where nothing is called an optimizer, all that is beside the params.
        like_params: bytes of the leaves that have the path and the shape of a leaf of the params.
        multiple: these, as a multiple of the params' bytes.
        remainder: bytes of all other leaves, which ``remainder_names`` names.
        text: it in words: `2 x params + 4 B (count)`.
    """

    paths: tuple[str, ...]
    leaves: int
    bytes: int
    like_params: int
    multiple: float
    remainder: int
    remainder_names: tuple[str, ...]
    text: str


class Peak(msgspec.Struct, frozen=True):
    """The copies of the state that a step holds at once: the one that goes in and the one that comes out.

    Attributes:
        given, returned: bytes of the state before and after the step.
        reused: bytes of what comes out that stand in a buffer which the step donates.
        held: given and returned without the reused: what this step holds.
        not_donating: what it would hold if it donated nothing.
    """

    given: int
    returned: int
    reused: int
    held: int
    not_donating: int


class Kind(msgspec.Struct, frozen=True):
    """One of the four kinds of field, what it costs, and how many of it the state has."""

    kind: str
    part: str
    memory: str
    executables: str
    donation: str
    count: int


class Budget(msgspec.Struct, frozen=True):
    """What a state weighs.

    Attributes:
        subtrees: those right below the state, in their order.
        params, optimizer: None where nothing is called params.
        peak: None where the step was not traced.
    """

    bytes: int
    leaves: int
    subtrees: tuple[Part, ...]
    params: Part | None
    optimizer: Optimizer | None
    peak: Peak | None
    kinds: tuple[Kind, ...]


def budget(trace: StepTrace) -> Budget:
    """What the state of a trace weighs."""
    groups: dict[str, list[LeafTrace]] = {}
    for leaf in trace.leaves:
        groups.setdefault("".join(steps(leaf.path)[:1]), []).append(leaf)
    params = _params(trace.leaves)
    return Budget(
        bytes=_bytes(trace.leaves),
        leaves=len(trace.leaves),
        subtrees=tuple(_part(path, leaves) for path, leaves in groups.items()),
        params=_part(params, list(_below(trace.leaves, params))) if params is not None else None,
        optimizer=_optimizer(trace.leaves, groups, params) if params is not None else None,
        peak=_peak(trace.leaves),
        kinds=tuple(_kinds(trace)),
    )


def _bytes(leaves: Iterable[LeafTrace]) -> int:
    return sum(leaf.nbytes for leaf in leaves)


def _part(path: str, leaves: Sequence[LeafTrace]) -> Part:
    return Part(path, len(leaves), _bytes(leaves))


def _is_below(path: str, root: str) -> bool:
    return path == root or (path.startswith(root) and (not root or path[len(root)] in ".["))


def _below(leaves: Iterable[LeafTrace], root: str) -> Iterable[LeafTrace]:
    return (leaf for leaf in leaves if _is_below(leaf.path, root))


# --- params and optimizer -------------------------------------------------------------------------------


def _params(leaves: Sequence[LeafTrace]) -> str | None:
    """The path of the params: the subtree of that name, or of that of a model, that is nearest to the root."""
    found: dict[str, tuple[int, int]] = {}
    for leaf in leaves:
        walked = steps(leaf.path)
        names = [_name(step) for step in walked]
        for depth, name in enumerate(names, start=1):
            if name.startswith(MIRRORS) or is_optimizer(name):
                break
            if is_params(name) or name == "model":
                # What is called params is meant before what is called a model, also when it stands inside.
                found.setdefault("".join(walked[:depth]), (int(name == "model"), depth))
    return min(found, key=lambda path: found[path], default=_mirrored(leaves))


def _mirrored(leaves: Sequence[LeafTrace]) -> str | None:
    """In a tuple, which names nothing: the first part of which each leaf has its like in another one."""
    positions = dict.fromkeys(walked[0] for leaf in leaves if (walked := steps(leaf.path)))
    for position in positions if all(re.fullmatch(r"\[\d+\]", step) for step in positions) else ():
        weights = {leaf.path.removeprefix(position): leaf for leaf in _below(leaves, position)}
        others = [leaf for leaf in leaves if not _is_below(leaf.path, position)]
        if weights.keys() == {end for leaf in others for end in _twins(leaf, weights)}:
            return position
    return None


def _name(step: str) -> str:
    return step.strip(".[]'\"")


def _optimizer(leaves: Sequence[LeafTrace], groups: dict[str, list[LeafTrace]], params: str) -> Optimizer | None:
    paths = [path for path in groups if is_optimizer(_name(path))] or [
        path for path in groups if not _is_below(params, path)
    ]
    carried = [leaf for path in paths for leaf in groups[path]]
    if not carried:
        return None
    weights = {leaf.path.removeprefix(params): leaf for leaf in _below(leaves, params)}
    rest = [leaf for leaf in carried if not _twins(leaf, weights)]
    total, remainder = _bytes(carried), _bytes(rest)
    of_params = _bytes(weights.values())
    multiple = (total - remainder) / of_params if of_params else 0.0
    names = tuple(Counter(leaf.name or leaf.path for leaf in rest))
    return Optimizer(
        paths=tuple(paths),
        leaves=len(carried),
        bytes=total,
        like_params=total - remainder,
        multiple=multiple,
        remainder=remainder,
        remainder_names=names,
        text=_in_params(total - remainder, of_params, remainder, names),
    )


def _twins(leaf: LeafTrace, weights: dict[str, LeafTrace]) -> list[str]:
    """Which of the params a leaf stands for: their path ends its own, and the shape is the same."""
    walked = steps(leaf.path)
    ends = ["".join(walked[start:]) for start in range(len(walked) + 1)]
    return [end for end in ends if (twin := weights.get(end)) and _form(leaf) == _form(twin) is not None]


def _form(leaf: LeafTrace) -> tuple[tuple[int, ...], str] | None:
    return (leaf.aval.shape, leaf.aval.family) if leaf.aval else None


def _in_params(like: int, of_params: int, remainder: int, names: Sequence[str]) -> str:
    """`2 x params + 4 B (count)`; what is no whole multiple is said to be about one."""
    ratio = like / of_params if of_params else 0.0
    is_exact = of_params > 0 and like * 4 % of_params == 0
    multiple = f"{'' if is_exact else 'about '}{ratio:.3g} x params"
    rest = f"{in_bytes(remainder)} ({listed(names)})" if names else ""
    return " + ".join(filter(None, [multiple if like else "", rest])) or "nothing"


# --- the peak -------------------------------------------------------------------------------------------


def _peak(leaves: Sequence[LeafTrace]) -> Peak | None:
    """None when no call was traced: what comes out is not known."""
    if not any(leaf.out for leaf in leaves):
        return None
    given = _bytes(leaves)
    returned = sum(map(_returned, leaves))
    reused = sum(_returned(leaf) for leaf in leaves if leaf.donated and leaf.lost is None)
    return Peak(given, returned, reused, given + returned - reused, given + returned)


def _returned(leaf: LeafTrace) -> int:
    if leaf.out is None:
        return 0
    size = math.prod(leaf.out.shape)
    if leaf.aval is not None and leaf.aval.dtype == leaf.out.dtype and (before := math.prod(leaf.aval.shape)):
        return leaf.nbytes // before * size
    return _itemsize(leaf.out) * size


def _itemsize(aval: Aval) -> int:
    """Bytes of one element: `bool` has no width in its name, a key's is that of its implementation."""
    if aval.family == "key":
        return 8 if "fry" in aval.dtype else 16
    width = re.search(r"\d+", aval.dtype)
    return max(int(width[0]) // 8, 1) if width else 1


# --- the kinds ------------------------------------------------------------------------------------------


def _kinds(trace: StepTrace) -> Iterable[Kind]:
    held = Counter(leaf.held for leaf in trace.leaves)
    traced = [leaf for leaf in trace.leaves if leaf.held in ("array", "numpy", "key")]
    subtrees = {"".join(walked[:end]) for walked in map(steps, _paths(traced)) for end in range(1, len(walked))}
    every = "one for each value"
    yield Kind("array leaf", "leaf", "yes", "none while its aval stays", "yes", len(traced))
    yield Kind(
        "subtree of leaves", "structure over leaves", "its leaves'", "one for each form", "leaf by leaf", len(subtrees)
    )
    yield Kind("static field", "structure", "no", every, "no", len(trace.statics) + held["static"])
    yield Kind("Python scalar", "leaf", "yes", "one more, once an array takes its place", "no", held["python"])


def _paths(leaves: Iterable[LeafTrace]) -> Iterable[str]:
    return (leaf.path for leaf in leaves)


# --- numbers --------------------------------------------------------------------------------------------


def in_bytes(count: int) -> str:
    """`4 B`, `1,050,624 B (1.0 MiB)`."""
    exact = f"{count:,} B"
    if count < 2**10:
        return exact
    power = min(int(math.log2(count)) // 10, 5)
    return f"{exact} ({count / 2 ** (10 * power):.1f} {'KMGTP'[power - 1]}iB)"
