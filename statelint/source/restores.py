"""Checkpoints that are read back with nothing to say what their containers were."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from statelint.model.names import STATE_KEYS, Names
from statelint.model.turns import Restore
from statelint.source.outline import Outline
from statelint.source.terms import dotted
from statelint.source.walking import walk

_ORBAX = "orbax.checkpoint"
_CHECKPOINTERS = frozenset({"PyTreeCheckpointer", "StandardCheckpointer", "Checkpointer", "AsyncCheckpointer"})
_PLACED_BACK = ("from_state_dict", "from_bytes")


def read(outline: Outline, names: Names) -> Iterator[Restore]:
    """The restores of a file; none where something puts the result back into a state."""
    content = outline.text.content
    if any(word in content for word in _PLACED_BACK):
        return
    checkpointers = set(_checkpointers(outline))
    for node in walk(outline.body):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call) if _is_state(name, names):
                if _is_bare(call, checkpointers, outline):
                    yield Restore(f"`{outline.text.read(outline.text.at(call.func))}`", outline.text.at(call), name)


def _is_state(name: str, names: Names) -> bool:
    return names.is_state(name) or name in STATE_KEYS


def _checkpointers(outline: Outline) -> Iterator[str]:
    """What is bound to a checkpointer of orbax: `checkpointer`, `self.checkpointer`."""
    for node in walk(outline.body):
        match node:
            case ast.Assign(targets=[target], value=ast.Call() as call) if _is_checkpointer(call, outline):
                yield dotted(target)
            case ast.withitem(context_expr=ast.Call() as call, optional_vars=ast.Name(id=name)):
                if _is_checkpointer(call, outline):
                    yield name


def _is_checkpointer(call: ast.Call, outline: Outline) -> bool:
    module, _, last = outline.absolute(dotted(call.func)).rpartition(".")
    return module == _ORBAX and last in _CHECKPOINTERS


def _is_bare(call: ast.Call, checkpointers: set[str], outline: Outline) -> bool:
    """A restore that is given a place and no target."""
    name = outline.absolute(dotted(call.func))
    words = {word.arg for word in call.keywords}
    if name == "flax.serialization.msgpack_restore":
        return True
    if name == "flax.training.checkpoints.restore_checkpoint":
        target = next((word.value for word in call.keywords if word.arg == "target"), None)
        target = call.args[1] if len(call.args) > 1 else target
        return isinstance(target, ast.Constant) and target.value is None
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "restore" or len(call.args) != 1 or words:
        return False
    owner = call.func.value
    made_here = isinstance(owner, ast.Call) and _is_checkpointer(owner, outline)
    return made_here or (bool(dotted(owner)) and dotted(owner) in checkpointers)
