"""What the calls showed, put into words: the facts that the model's `StepTrace` is decoded from."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import jax

from statelint.probe import blame, frames, leaves, placement, spelling
from statelint.probe.adapters import is_factory
from statelint.probe.build import way
from statelint.probe.calls import Call
from statelint.probe.nodes import Node, makes_aux
from statelint.probe.sharing import Sharing
from statelint.probe.states import Difference, differences, equal, is_aval, same

if TYPE_CHECKING:
    from statelint.probe.tracer import Loop, Tracer

Facts = dict[str, Any]


class Words:
    """One probe's facts."""

    def __init__(self, tracer: Tracer, loop: Loop) -> None:
        self.tracer = tracer
        self.built = tracer.built
        self.state = tracer.first
        self.loop = loop
        self.calls = loop.calls
        self.first = loop.calls[0] if loop.calls else None
        self.sharing = Sharing(tracer.built, tracer.stepper, self.first)
        self.step_code = blame.Code(tracer.step, tracer.stepper.where)
        is_made = is_factory(tracer.state)
        self.factory_code = blame.Code(tracer.state, [way(tracer.state_returns)]) if is_made else None
        self.is_plain = tracer.adapter.name == "jax.jit"

    def facts(self) -> Facts:
        """All that the model's `StepTrace` asks for."""
        is_jitted = self.tracer.stepper.is_jitted
        found = [self._leaf(node, value, place) for node, value, place in self.state.by_path.values()]
        statics = list(self._statics())
        structure = list(self._structure())
        return {
            "adapter": self.tracer.adapter.name,
            "donates": bool(self.first.offered) if self.first and is_jitted else None,
            "jitted": is_jitted,
            "leaves": found,
            "statics": statics,
            "structure": structure,
            "executables": {"loop": self.loop.executables, "restore": self.loop.added},
            "restored": [path for path, *_ in self._of_restore()],
            "refused": self.loop.refused,
            "classes": self.tracer.classes,
            "step": self.step_code.definition(),
            "empty": [node.path for node in self.state.root.walk() if node.children is not None and _is_bare(node)],
            "donation": self._donation(),
            "compiled": self.first is not None and self.first.program is not None,
            "uncompiled": self.tracer.stepper.uncompiled,
            "unrestored": self.tracer.unrestored,
            "extras": list(self._extras(found, statics, structure)),
        }

    # Leaves.

    def _leaf(self, node: Node, value: Any, place: int) -> Facts:
        facts: Facts = {"path": node.path, "name": node.name, "python_type": spelling.type_name(node.value)}
        first = self.first.after.by_path.get(node.path) if self.first else None
        placed = self._placed(node)
        if not is_aval(value):
            facts |= {
                "held": "invalid" if self.is_plain else "static",
                "value": spelling.short(value),
                "is_dataclass": dataclasses.is_dataclass(value) and not isinstance(value, type),
                "placed": placed,
                "made": placed,
            }
            if first and self.first and not same(first[1], value):
                facts |= {"value_after": spelling.short(first[1]), "produced": self._produced(first, self.first)}
            return facts
        changed, moved = list(self._changed(node.path)), list(self._moved(node.path))
        made = self._made(place, placed)
        return (
            facts
            | self._used(place, node.path)
            | self.sharing.facts(place, node.value)
            | {"entered": self._entered(place)}
            | {
                "held": spelling.held(node.value, value),
                "aval": spelling.aval_facts(value),
                "out": spelling.aval_facts(first[1]) if first and is_aval(first[1]) else None,
                "nbytes": leaves.nbytes(value),
                "changes": [
                    {"call": number, "before": spelling.aval_facts(before), "after": spelling.aval_facts(after[1])}
                    for number, before, after in changed
                ],
                "moves": [
                    {"call": number, "before": placement.in_words(before), "after": placement.in_words(after)}
                    for number, before, after, _ in moved
                ],
                "placed": placed,
                "made": made,
                "library": self.built.library(place) or blame.library_sets(node),
                "produced": next(
                    (
                        self._produced(change[-1], self.calls[change[0] - 1])
                        for changes in (changed, moved)
                        for change in changes
                    ),
                    self._given_back(node, value),
                ),
            }
        )

    def _entered(self, place: int) -> frames.Place | None:
        """Where the subtree is put in the state in which a leaf comes to share a buffer with others."""
        group = self.built.shares.get(place)
        if group is None:
            return None
        return self._placed(self._lineages[place][self._forks[group]])

    @functools.cached_property
    def _lineages(self) -> dict[int, list[Node]]:
        """The nodes down to each leaf that shares its buffer."""
        return {at: node.lineage() for node, _, at in self.state.by_path.values() if at in self.built.shares}

    @functools.cached_property
    def _forks(self) -> dict[int, int]:
        """How many nodes those that share a buffer have in common, from the top down."""
        groups: dict[int, list[list[Node]]] = defaultdict(list)
        for place, group in self.built.shares.items():
            groups[group].append(self._lineages[place])
        return {
            group: sum(all(step is steps[0] for step in steps) for steps in zip(*lineages, strict=False))
            for group, lineages in groups.items()
        }

    def _given_back(self, node: Node, value: Any) -> frames.Place | None:
        """Where the step sets a key or a counter that it does not change."""
        is_counter = value.shape == () and jax.numpy.issubdtype(value.dtype, jax.numpy.integer)
        is_key = not is_counter and "key" in spelling.held(node.value, value)
        is_raw_key = str(value.dtype) == "uint32"
        return self.step_code.sets(node) if is_counter or is_key or is_raw_key else None

    def _used(self, place: int, path: str) -> Facts:
        """What call 1 does with the value of a leaf."""
        if self.first is None:
            return {}
        passes, drawn_again = self.first.passes(place, path), self.first.draws_again(place)
        return {
            "passed": passes,
            "read": self.first.reads(place, passes=passes),
            "raw_key": self.first.makes_key_of(place),
            "drawn_again": drawn_again,
            "used": self.first.used_at(place) if drawn_again else None,
            "donated": place in self.first.lost,
            "lost": self.first.lost.get(place),
        }

    def _changed(self, path: str) -> Iterator[tuple[int, Any, tuple[Node, Any, int]]]:
        """The calls that a leaf comes out of with another aval: number, aval before, leaf after."""
        for number, call in enumerate(self.calls, start=1):
            before, after = call.before.by_path.get(path), call.after.by_path.get(path)
            if before and after and is_aval(before[1]) and is_aval(after[1]) and not same(before[1], after[1]):
                yield number, before[1], after

    def _moved(self, path: str) -> Iterator[tuple[int, Any, Any, tuple[Node, Any, int]]]:
        """The calls that a leaf comes out of at another place: number, place before and after, leaf after."""
        for number, call in enumerate(self.calls, start=1):
            before, after = call.before.by_path.get(path), call.after.by_path.get(path)
            if before and after:
                one, other = call.before.placed[before[2]], call.after.placed[after[2]]
                if not call.before.stays(before[2], other):
                    yield number, one, other, after

    def _placed(self, node: Node) -> frames.Place | None:
        """Where the factory gives the field its value, or the class its default."""
        code = self.factory_code
        return (code.sets(node) if code else None) or blame.default_of(node) or (code.builds(node) if code else None)

    def _made(self, place: int, placed: frames.Place | None) -> frames.Place | None:
        operation = self.built.operation(place)
        if not operation or self.factory_code is None:
            return placed
        # An operation in the very function that fills the field: the field's line says more.
        return placed if placed and blame.same_function(operation[0], placed) else operation[0]

    def _produced(self, after: tuple[Node, Any, int], call: Call) -> frames.Place | None:
        node, _, place = after
        operation = call.jaxpr.operation(call.variables[place]) if place in call.variables else []
        return operation[0] if operation else self.step_code.sets(node)

    # Static fields.

    def _statics(self) -> Iterator[Facts]:
        twins = {node.path: node for node in self.first.after.root.walk()} if self.first else {}
        for node in self.state.root.walk():
            for name, value in node.statics.items():
                yield self._static(node, name, value, twins.get(node.path))

    def _static(self, node: Node, name: str, value: Any, twin: Node | None) -> Facts:
        field = Node(f"{node.path}.{name}" if node.path else name, name, value, type(value), parent=node)
        is_aux = name == "aux" and not dataclasses.is_dataclass(node.kind)
        is_safe = is_aux and makes_aux(node) and not spelling.holds_mutable(value)
        kind = spelling.static_kind(value)
        facts: Facts = {
            "path": field.path,
            "name": name,
            "kind": "other" if kind == "mutable" and is_safe else kind,
            "type": spelling.type_name(value),
            "owner": node.kind.__name__,
            "value": spelling.short(value),
            "rebuilt": self._rebuilds(node.path, name, value),
            "is_aux": is_aux,
            "declared": blame.declaration_of(field),
            "made": self._placed(field),
        }
        if twin is not None and twin.kind is node.kind and name in twin.statics:
            is_equal = equal(value, twin.statics[name])
            facts["comparable"] = is_equal is not None
            if not is_equal:
                facts |= {
                    "changed": True,
                    "after": spelling.short(twin.statics[name]),
                    "produced": self._changed_at(field),
                }
        return facts

    def _changed_at(self, field: Node) -> frames.Place | None:
        """Where the step, or of a state that changes in place a method of the class, sets a static field."""
        if found := self.step_code.sets(field):
            return found
        return blame.method_sets(field) if self.tracer.adapter.in_place else self.step_code.result()

    def _rebuilds(self, path: str, name: str, value: Any) -> bool | None:
        """Whether a static value is equal to itself when the state is built again; None where that cannot be told."""
        if any(leaf != leaf for leaf in jax.tree_util.tree_leaves(value) if isinstance(leaf, float)):
            return False
        if not _is_doubtful(value):
            return True
        twin = self._second.get(path)
        return equal(value, twin.statics[name]) if twin is not None and name in twin.statics else None

    @functools.cached_property
    def _second(self) -> dict[str, Node]:
        """The state built a second time, which is done only where some static value is in doubt."""
        if self.factory_code is None:
            return {}
        return {node.path: node for node in self.tracer.rebuilt().flat.root.walk()}

    # The whole.

    def _structure(self) -> Iterator[Facts]:
        seen: set[str] = set()
        for number, differing in self._differing.items():
            for path, before, after, node in differing:
                if path not in seen and self._told_as[path] == path:
                    seen.add(path)
                    produced = self.step_code.sets(node) or self.step_code.result()
                    yield {"call": number, "path": path, "before": before, "after": after, "produced": produced}

    @functools.cached_property
    def _differing(self) -> dict[int, list[Difference]]:
        """By the number of a call, where the trees before and after it differ in structure."""
        return {
            number: list(differences(call.before.root, call.after.root))
            for number, call in enumerate(self.calls, start=1)
        }

    @functools.cached_property
    def _told_as(self) -> dict[str, str]:
        """By the path of what a call changes of the structure, that of what stands for it: a container that grows at
        every call is told of by what the first one adds.
        """
        first: dict[str, tuple[int, str]] = {}
        told: dict[str, str] = {}
        for number, differing in self._differing.items():
            for path, _, _, node in differing:
                since, one = first.setdefault(node.parent.path if node.parent else "", (number, path))
                told.setdefault(path, path if since == number else one)
        return told

    def _donation(self) -> Facts | None:
        if self.first is None or not (self.first.lost or self.first.program):
            return None
        sizes = {place: leaves.nbytes(self.state.values[place]) for place in self.first.lost}
        reused = [place for place, why in self.first.lost.items() if why is None]
        return {
            "asked": sum(sizes.values()),
            "reused": sum(sizes[place] for place in reused),
            "compiled": self._compiled_donation(reused),
        }

    def _compiled_donation(self, reused: list[int]) -> Facts | None:
        """The same of one device, and what the compiled program makes of it."""
        call = self.first
        if call is None or call.program is None or call.program.aliased is None:
            return None
        sizes = {place: call.program.on_one_device(call.inputs[place], self.state.values[place]) for place in call.lost}
        promised = sum(sizes[place] for place in reused)
        return {"asked": sum(sizes.values()), "promised": promised, "reused": call.program.aliased}

    def _extras(self, found: list[Facts], statics: list[Facts], structure: list[Facts]) -> Iterator[Facts]:
        """For each executable beyond the first one of the loop, and those of a restore, what is to blame."""
        everything = [*found, *statics, *structure]
        produced = {facts["path"]: facts.get("produced") or facts.get("made") for facts in everything}
        made = {facts["path"]: facts.get("made") or facts.get("produced") for facts in everything}
        for number, call in enumerate(self.calls, start=1):
            if any(call.after.key_equals(earlier.before) for earlier in self.calls[:number]):
                continue
            for change in (*call.before.changes_to(call.after), *_of_nodes(call, self._differing[number])):
                path = self._told_as.get(change[0], change[0])
                yield _extra(number + 1, (path, *change[1:]), produced)
        for change in self._of_restore():
            yield _extra(None, change, made)

    def _of_restore(self) -> list[Change]:
        if not self.loop.added or self.loop.restored is None:
            return []
        return list(self.calls[-1].after.changes_to(self.loop.restored))


Change = tuple[str, str, str, bool]
"""Path, before and after in words, and whether it is only the place of a leaf."""


def _extra(call: int | None, change: Change, lines: dict[str, Any]) -> Facts:
    path, before, after, is_move = change
    return {"call": call, "path": path, "before": before, "after": after, "is_move": is_move, "at": lines.get(path)}


def _of_nodes(call: Call, differing: Sequence[Difference]) -> Iterator[Change]:
    """What a call changes of the treedef: nodes, then static fields."""
    for path, before, after, _ in differing:
        yield path, before or "nothing", after or "nothing", False
    twins = {node.path: node for node in call.after.root.walk()}
    for node in call.before.root.walk():
        twin = twins.get(node.path)
        for name, value in node.statics.items() if twin is not None and twin.kind is node.kind else ():
            if twin is not None and name in twin.statics and not equal(value, twin.statics[name]):
                path = f"{node.path}.{name}" if node.path else name
                yield path, spelling.short(value), spelling.short(twin.statics[name]), False


def _is_bare(node: Node) -> bool:
    return all(child.children is not None and _is_bare(child) for child in node.children or ())


def _is_doubtful(value: Any) -> bool:
    """Whether a value may differ from itself made anew: one that is equal by identity, or holds such."""
    if value is None or isinstance(value, str | bytes | bool | int | float | complex | type):
        return False
    if inspect.isfunction(value) or inspect.isbuiltin(value):
        return "<locals>" in value.__qualname__ or "<lambda>" in value.__qualname__
    if type(value) in (tuple, list):
        return any(map(_is_doubtful, value))
    return True
