"""Steps run from the state they are given to the one they give back, and where the two differ.

A step is paired with its first state where both are in sight: the carry of a loop, `state = step(state, ...)`,
`(init, update)` given to one call or returned together, `reset` and `step` of one class, one init beside it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from statelint.diagnostics import Location
from statelint.model.names import CARRIES, is_init, is_step
from statelint.model.paths import last_name
from statelint.model.source import Kind, StateField
from statelint.model.turns import Change, KeyUse, Turn, UnregisteredState
from statelint.source import flavours
from statelint.source.classes import Known
from statelint.source.compare import compare
from statelint.source.execution import Execution, Frame, Returned, parameter_names
from statelint.source.expressions import Expressions
from statelint.source.index import Index
from statelint.source.outline import Outline
from statelint.source.prospects import Prospects
from statelint.source.rewrites import split_key
from statelint.source.symbols import UNKNOWN, Function, Value
from statelint.source.terms import annotation_head, dotted
from statelint.source.walking import walk

_PROBE = ((0, "step"), (1, "state"))

_STEP = re.compile(r"\.\w+|\[[^\]]*\]")


def read(outline: Outline, index: Index) -> list[Turn | UnregisteredState]:
    """The turns of a file; none of one that is nested too deeply to be run."""
    turns = _Turns(outline, index)
    try:
        return turns.find()
    except RecursionError:
        return []
    finally:
        turns.forget()


class _Turns:
    """Runs everything in a file once, and each step that is met with the state it is met with."""

    def __init__(self, outline: Outline, index: Index) -> None:
        self.outline = outline
        self.index = index
        self.names = index.names
        self.expressions = Expressions(outline, index)
        self.execution = Execution(outline, self.expressions)
        self.prospects = Prospects(outline, index.names)
        self.annotated: dict[tuple[ast.AST, str, bool], dict[str, Value]] = {}
        self.met: dict[int, list[Value]] = {}
        self.told: set[tuple[str, Location]] = set()
        self.found: list[Turn] = []
        self.plain: list[UnregisteredState] = []

    def find(self) -> list[Turn | UnregisteredState]:
        self._watching(True)
        top = Frame(self.expressions.top)
        self.execution.block(self.outline.body, top)
        self.execution.is_whole = True
        self._explore([each for each in top.names.functions() if isinstance(each.node, ast.FunctionDef)])
        for name in self.outline.classes:
            self._explore([Function(node, top.names, name, bound=1) for node in self._methods(name)])
        return [*self.found, *dict.fromkeys(self.plain)]

    def forget(self) -> None:
        """Let go of the file's functions."""
        self._watching(False)
        self.expressions.forget()

    def _methods(self, cls: str) -> Iterator[ast.FunctionDef]:
        for name, node in self.outline.defined.items():
            if name.rpartition(".")[0] == cls and "staticmethod" not in map(dotted, node.decorator_list):
                yield node

    def _watching(self, on: bool) -> None:
        self.expressions.watch = self._call if on else None
        self.execution.watch = self._assign if on else None

    def _explore(self, functions: list[Function]) -> None:
        """Run the functions of one scope, and those inside them; then pair what no call pairs."""
        for function in functions:
            if not self.prospects.is_worth(function):
                continue
            frame = self.execution.run(function, self._annotated(function))
            self._explore([each for each in frame.names.functions() if _is_inside(each.node, function.node)])
        firsts = [function for function in functions if is_init(function.name)]
        for step in functions:
            if is_step(step.name) and id(step.node) not in self.met:
                self._beside(step, firsts)

    # Pairs.

    def _call(self, node: ast.expr, name: str, values: list[Value], words: dict[str, Value]) -> None:
        if name in flavours.LOOPS:
            body_at, first_at, parameter, part = flavours.LOOPS[name]
            first = values[first_at] if len(values) > first_at else words.get("init", words.get("init_val", UNKNOWN))
            if first.plain is not None:
                spot = first.spot if first.spot is not None else node
                self.plain.append(UnregisteredState(first.plain.short, self._at(spot), f"`{name}`", first.plain.at))
            if len(values) > body_at:
                self._turn(values[body_at].function, first, parameter, part, name.removeprefix("jax."))
        elif name in flavours.PROBES:
            step, state = (words.get(word, values[at] if at < len(values) else UNKNOWN) for at, word in _PROBE)
            if step.function is not None and "state_argnum" not in words:
                states = [state] if state.function is None else self._first_states(state.function)
                self._pair(step.function, states, 0)
        else:
            given = [value.function for value in (*values, *words.values()) if value.function is not None]
            steps = [function for function in given if is_step(function.name)]
            firsts = [function for function in given if is_init(function.name)]
            if name in flavours.TRANSFORMATIONS and len(steps) == len(firsts) == 1:
                returns = self._quietly(firsts[0], self._annotated(firsts[0]))
                if len(returns) == 1:
                    self._turn(steps[0], returns[0].value, 1, "[1]")
            elif len(steps) == len(firsts) == 1:
                self._pair(steps[0], self._first_states(firsts[0]), self._state_parameter(steps[0]))
            elif len(given) == 1 and isinstance(node, ast.Tuple):
                self._together(given[0], [value for value in values if value.node in ("dict", "class")])

    def _together(self, step: Function, states: list[Value]) -> None:
        """`step, state, ...` in one tuple, where the step reads what the state has."""
        parameter = self._state_parameter(step) or 0
        names = parameter_names(step.node)[step.bound :]
        if parameter < len(names):
            read = _keys_read(step, names[parameter])
            self._pair(step, [state for state in states if _fits(state, read)], parameter)

    def _pair(self, step: Function, states: list[Value], parameter: int | None) -> None:
        if len(states) == 1:
            self._turn(step, states[0], parameter)

    def _assign(self, node: ast.Assign, frame: Frame) -> None:
        """`state = step(state, ...)`."""
        call = node.value
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            return
        step = (frame.names.get(call.func.id) or UNKNOWN).function
        if step is None or not (is_step(step.name) or step.name in self.outline.jitted):
            return
        target = node.targets[0]
        bound = [element.id for element in _elements(target) if isinstance(element, ast.Name)]
        for position, argument in enumerate(call.args):
            if isinstance(argument, ast.Name) and bound.count(argument.id) == 1:
                first = frame.names.get(argument.id) or UNKNOWN
                at = [getattr(each, "id", None) for each in _elements(target)].index(argument.id)
                self._turn(step, first, position, f"[{at}]" if isinstance(target, ast.Tuple) else "")

    def _beside(self, step: Function, firsts: list[Function]) -> None:
        """A step that nothing calls: with the one state that the inits beside it make, or with an unknown one."""
        parameter = self._state_parameter(step)
        if parameter is None:
            return
        states = [state for first in firsts for state in self._first_states(first)]
        read = _keys_read(step, parameter_names(step.node)[parameter + step.bound])
        fitting = [state for state in states if _fits(state, read)]
        first = fitting[0] if len(fitting) == 1 else UNKNOWN
        if first.node or self._annotated(step) or "random" in self.outline.text.content:
            self._turn(step, first, parameter)

    def _first_states(self, first: Function) -> list[Value]:
        """The states that a function returns, where it returns the same in all its branches."""
        returns = self._quietly(first, self._annotated(first))
        if len(returns) != 1:
            return []
        value = returns[0].value
        parts = value.items.values() if value.node == "tuple" else [value]
        return [part for part in parts if part.node in ("dict", "FrozenDict", "class")]

    def _state_parameter(self, step: Function) -> int | None:
        """The position of the parameter that is named or annotated like a state."""
        names = parameter_names(step.node)[step.bound :]
        known = [name for name in names if name in self._annotated(step, states=True)]
        named = [name for name in names if self.names.is_state(name)]
        told = known or named
        if len(told) == 1:
            return names.index(told[0])
        return 0 if not told and len(names) > 0 and names[0] in CARRIES else None

    def _annotated(self, function: Function, *, states: bool = False) -> dict[str, Value]:
        """Parameters whose annotation is a pytree class."""
        key = (function.node, function.cls, states)
        if key not in self.annotated:
            self.annotated[key] = self._read_annotations(function, states=states)
        return self.annotated[key]

    def _read_annotations(self, function: Function, *, states: bool) -> dict[str, Value]:
        arguments = function.node.args
        found = {}
        for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]:
            if argument.annotation is not None:
                name = annotation_head(argument.annotation)
                known = self.index.known(self.outline, name, function.cls) if name else None
                if known is not None and (known.cls.is_state or not states):
                    found[argument.arg] = _of_class(known)
        return found

    # One turn.

    def _quietly(self, function: Function, given: dict[str, Value]) -> list[Returned]:
        """Run a function without looking for further pairs in it."""
        watching = self.expressions.watch is not None
        self._watching(False)
        returns = self.execution.run(function, given).returns
        self._watching(watching)
        return returns

    def _turn(
        self,
        step: Function | None,
        first: Value,
        parameter: int | None,
        part: str | None = None,
        loop: str | None = None,
    ) -> None:
        if step is None or parameter is None or not self.expressions.is_plain(step):
            return
        names = parameter_names(step.node)[step.bound :]
        if parameter >= len(names):
            return
        annotated = self._annotated(step)
        if not first.node:
            first = annotated.get(names[parameter], UNKNOWN)
        met = self.met.setdefault(id(step.node), [])
        if any(first is other for other in met):
            return
        met.append(first)
        given = first.taken_from("")
        returns = self._quietly(step, {**annotated, names[parameter]: given})
        is_filtered = loop is None and self.outline.jitted.get(step.name) == "equinox"
        changes: list[Change] = []
        keys: list[KeyUse] = []
        for returned in returns:
            after = _chosen(returned.value, first, part)
            if after is not None and after.origin != "":
                changes += compare(first, after, self.outline.text, self._at(step.node), is_filtered=is_filtered)
                keys += self._uses(step, returned, after)
        turn = Turn(
            step.name,
            self._at(step.node),
            loop,
            tuple(change for change in changes if self._is_told(change) and self._is_new(change.path, change.at)),
            tuple(use for use in keys if self._is_new(use.path or "", use.at)),
        )
        if turn.changes or turn.keys:
            self.found.append(turn)

    def _is_told(self, change: Change) -> bool:
        """Not a counter that the jit holds static: that is told where it starts."""
        is_number = change.aspect == "static" and change.field is None
        return not (is_number and change.before == "int" and self.names.is_counter(last_name(change.path)))

    def _is_new(self, path: str, at: Location) -> bool:
        """Not told yet, by the same step with another state or by another return."""
        known = (path, at) in self.told
        self.told.add((path, at))
        return not known

    def _uses(self, step: Function, returned: Returned, after: Value) -> Iterator[KeyUse]:
        for path, node in returned.used.items():
            kept = _at_path(after, path)
            if path and kept.origin == path:
                place = self._at(kept.spot if kept.spot is not None else node)
                split = split_key(step.node, node, kept.spot, self.outline.text)
                yield KeyUse(path.removeprefix("."), place, self._at(node), split)
        for node in returned.fixed:
            yield KeyUse(None, self._at(node), self._at(node))

    def _at(self, node: ast.expr | ast.FunctionDef | ast.Lambda) -> Location:
        return self.outline.text.at(node)


def _is_inside(node: ast.FunctionDef | ast.Lambda, outer: ast.FunctionDef | ast.Lambda) -> bool:
    """A function defined in another, told by their lines."""
    return isinstance(node, ast.FunctionDef) and outer.lineno < node.lineno <= (outer.end_lineno or outer.lineno)


def _elements(target: ast.expr) -> list[ast.expr]:
    return target.elts if isinstance(target, ast.Tuple | ast.List) else [target]


def _of_class(known: Known) -> Value:
    items = {f".{field.name}": _of_field(field) for field in known.cls.fields}
    return Value("class", known=known, items=items)


def _of_field(field: StateField) -> Value:
    """What its annotation says of a field."""
    if field.kind in (Kind.INT, Kind.FLOAT):
        return Value("array", "int" if field.kind is Kind.INT else "float", python=True)
    return Value("array", "int") if re.match(r"(\w+\.)?U?Int(eger)?\d*\[", field.annotation) else UNKNOWN


def _at_path(value: Value, path: str) -> Value:
    for step in _STEP.findall(path):
        value = value.get(step)
    return value


def _chosen(value: Value, first: Value, part: str | None) -> Value | None:
    """Where in what was returned the state is; None where that is not to be told."""
    if part is not None:
        return value.get(part) if part else value
    if _alike(value, first):
        return value
    alike = [item for item in value.items.values() if _alike(item, first)] if value.node == "tuple" else []
    return alike[0] if len(alike) == 1 else None


def _alike(value: Value, first: Value) -> bool:
    """The state that was given with parts replaced, one of its class, or a dict of some of its keys."""
    if value.base == "" or value.origin == "":
        return True
    if not first.node:
        return any(item.origin == step for step, item in value.items.items())
    if value.node == "class":
        both = first.known is not None and value.known is not None
        return both and _fields(value) == _fields(first)
    is_dict = value.node in ("dict", "FrozenDict") and first.node in ("dict", "FrozenDict")
    return is_dict and len(value.items.keys() & first.items.keys()) * 2 >= len(first.items)


def _fields(value: Value) -> set[str]:
    return set(value.known.by_name) if value.known is not None else set()


def _keys_read(step: Function, parameter: str) -> set[str]:
    """The steps of the path that the function takes from its state: `['w']`, `.w`."""
    found = set()
    for node in walk([step.node]):
        match node:
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=key)) if name == parameter:
                found.add(f"[{key!r}]")
            case ast.Attribute(value=ast.Name(id=name), attr=attribute) if name == parameter:
                found.add(f".{attribute}")
    return found


def _fits(state: Value, read: Iterable[str]) -> bool:
    """The step reads something of this state, and nothing that it has not."""
    if state.node == "class" and state.known is not None:
        known = {f".{field.name}" for field in state.known.cls.fields}
        used = {step for step in read if step not in _METHODS}
        return bool(used) and used <= known
    used = set(read)
    return bool(used) and used <= state.items.keys()


_METHODS = frozenset({".replace", "._replace"})
