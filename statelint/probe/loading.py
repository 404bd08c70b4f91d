"""Importing what a probe names, as the project itself would."""

from __future__ import annotations

import functools
import importlib
import importlib.machinery
import importlib.util
import os
import sys
from types import ModuleType
from typing import Any, cast

from statelint.probe.declare import Probe

_loaded: dict[str, ModuleType | BaseException] = {}
_root = ""


class LoadError(Exception):
    """A probe that names what is not there; the message is one line."""


def import_file(path: str) -> ModuleType:
    """The module that a file is, imported by its own name where it has one.

    Raises:
        Exception: whatever the module raises.
    """
    path = os.path.realpath(path)
    if path not in _loaded:
        root, name = package_of(path)
        _enter(root)
        try:
            _loaded[path] = _import_named(path, name) or _import_by_path(path)
        except BaseException as error:
            # One file may declare many probes, and is not run once more for each.
            _loaded[path] = error
            raise
    found = _loaded[path]
    if isinstance(found, BaseException):
        raise found
    return found


def package_of(path: str) -> tuple[str, str]:
    """The folder above a file's outermost package, and the file's dotted name below it."""
    folder, name = os.path.split(os.path.splitext(path)[0])
    parts = [] if name == "__init__" else [name]
    while os.path.isfile(os.path.join(folder, "__init__.py")):
        folder, package = os.path.split(folder)
        parts.insert(0, package)
    return folder, ".".join(parts)


def _enter(root: str) -> None:
    """Put one project root on the path, in place of the last one: two roots may hold modules of one name."""
    global _root
    if root == _root:
        return
    if _root:
        sys.path.remove(_root)
        for name, module in list(sys.modules.items()):
            file = getattr(module, "__file__", None) or ""
            if (
                file.startswith(os.path.join(_root, ""))
                and "site-packages" not in file
                and not name.startswith("statelint")
            ):
                del sys.modules[name]
    sys.path.insert(0, root)
    importlib.invalidate_caches()
    _root = root


def _import_named(path: str, name: str) -> ModuleType | None:
    """By name: under its package's root, or, when its relative imports want a parent, under a root further up."""
    if not all(part.isidentifier() for part in name.split(".")):
        return None
    for dotted in dict.fromkeys([name, *_longer_names(path)]):
        try:
            if not _finds(dotted, path):
                continue
            return importlib.import_module(dotted)
        except ImportError as error:
            if "no known parent package" not in str(error):
                raise
    return None


def _longer_names(path: str) -> list[str]:
    """The dotted names of a file in a namespace package, under the roots on the path."""
    found = []
    for root in sys.path:
        relative = os.path.relpath(os.path.splitext(path)[0], os.path.realpath(root or "."))
        parts = relative.split(os.sep)
        if all(part.isidentifier() for part in parts):
            found.append(".".join(parts))
    return found


def _finds(dotted: str, path: str) -> bool:
    """Whether importing this name gives this file, and not another of the same name."""
    if (module := sys.modules.get(dotted)) is not None:
        return os.path.realpath(getattr(module, "__file__", None) or "") == path
    spec = importlib.util.find_spec(dotted)
    return spec is not None and os.path.realpath(spec.origin or "") == path


def _import_by_path(path: str) -> ModuleType:
    name = f"_statelint_probed_{len(_loaded)}"
    spec = importlib.util.spec_from_file_location(name, path, loader=importlib.machinery.SourceFileLoader(name, path))
    if spec is None or spec.loader is None:
        raise LoadError(f"{path} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def is_declared_at(probe: Probe, path: str, line: int) -> bool:
    """Whether a probe was made at this line."""
    return probe.site[1] == line and os.path.realpath(probe.site[0]) == os.path.realpath(path)


def give_name(probe: Probe, module: ModuleType, name: str | None) -> None:
    """Name a probe that has no name: as the source calls it, else by its variable, else by its step."""
    if probe.name is None:
        variable = next((key for key, value in vars(module).items() if value is probe), None)
        step = getattr(probe.step, "__name__", None) or type(probe.step).__name__
        object.__setattr__(probe, "name", name or variable or step)


def from_table(table: dict[str, Any]) -> Probe:
    """The probe that a table of pyproject.toml declares.

    Raises:
        LoadError: it names what is not there.
        Exception: whatever a module that it names raises.
    """
    fields = dict(table)
    for key in ("step", "state"):
        fields[key] = named(fields[key])
    for key in ("args", "state_args"):
        fields[key] = resolved(fields.get(key, []))
    return Probe(**fields)


def probe_named(reference: str) -> Probe:
    """The probe that is `module:name`.

    Raises:
        LoadError: there is no such name, or it is no probe.
        Exception: whatever the module raises.
    """
    probe = named(reference)
    if not isinstance(probe, Probe):
        raise LoadError(f'"{reference}" is a {type(probe).__name__}, and no statelint.Probe')
    module, _, name = reference.partition(":")
    give_name(probe, sys.modules[module], name)
    return probe


def resolved(tree: Any) -> Any:
    """Arguments of a table: strings are JAX's notation or `module:name`, in lists and tables."""
    from statelint.probe.leaves import from_notation

    if isinstance(tree, str):
        return tree if from_notation(tree) is not None else named(tree)
    if isinstance(tree, dict):
        return {key: resolved(value) for key, value in tree.items()}
    if isinstance(tree, list):
        return [resolved(value) for value in tree]
    return tree


def named(reference: str) -> Any:
    """What `module:name` stands for; the name may be dotted.

    Raises:
        LoadError: the module has no such name.
    """
    module, _, name = reference.partition(":")
    if not name:
        raise LoadError(f'"{reference}" is neither JAX\'s notation nor "module:name"')
    try:
        return functools.reduce(getattr, name.split("."), cast(Any, importlib.import_module(module)))
    except AttributeError as error:
        raise LoadError(f'"{reference}": {error}') from error
