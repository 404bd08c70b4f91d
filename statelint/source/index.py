"""The project's files by module: where a name is defined, and what pytree class it is."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from statelint.files import place
from statelint.model.names import Names
from statelint.model.source import StateClass
from statelint.source import arrays, flavours
from statelint.source.classes import Classes, Known, Place
from statelint.source.declared import ClassOutline
from statelint.source.outline import Outline

_PROJECT_FILES = ("pyproject.toml", "setup.py", "setup.cfg", ".git")
_INSTALLED = ("site-packages", "dist-packages")

MOST_HOPS = 50
"""Imports and aliases that are followed to a class: an alias of itself has no end."""


class Home(msgspec.Struct, frozen=True):
    """Where a file stands: the folder its imports start from, and its dotted name there.

    Attributes:
        looked_at: the `__init__.py` files that say so; the last is not there.
    """

    root: Path
    module: str
    is_package: bool
    looked_at: tuple[str, ...] = ()


def _package(folder: Path) -> Home:
    """By the `__init__.py` files at and above it."""
    parts: list[str] = []
    looked_at = [folder / "__init__.py"]
    while os.path.isfile(looked_at[-1]) and folder.name:
        parts.append(folder.name)
        folder = folder.parent
        looked_at.append(folder / "__init__.py")
    return Home(folder, ".".join(reversed(parts)), True, tuple(map(str, looked_at)))


class Search(msgspec.Struct, frozen=True):
    """The file of a module, and the places where it was looked for, up to that file."""

    found: str | None
    places: tuple[str, ...]


class Origin(msgspec.Struct, frozen=True):
    """Where a dotted name comes from: the file of the module that it starts with, and its name there."""

    found: str | None
    rest: str
    places: frozenset[str]


class Index:
    """Finds what names stand for over the files of a project, drawing their outlines as they are needed.

    Args:
        load: the outline of a file; None when it cannot be read.

    Attributes:
        looked_at: by the path of a file the places, with a file there or none, at which its names were looked for.
        absent: those of them where there was none.
    """

    def __init__(self, names: Names, load: Callable[[str], Outline | None]) -> None:
        self.names = names
        self.looked_at: dict[str, set[str]] = {}
        self.absent: set[str] = set()
        self._load = load
        self._named: dict[tuple[str, str, str], Known | None] = {}
        self._packages: dict[str, Home] = {}
        self._files: dict[tuple[Path, str], Search] = {}
        self._origins: dict[tuple[Path, str], Origin] = {}
        self._roots: dict[Path, tuple[Path, ...]] = {}
        self._classes = Classes(names, self._find)

    # Names to classes.

    def known(self, outline: Outline, name: str, scope: str = "") -> Known | None:
        """The pytree class that a name in a file stands for."""
        key = (outline.text.path, name, scope)
        if key not in self._named:
            found = self._find(outline, name, scope)
            self._named[key] = (
                self._classes.known(*found) if found is not None else self._classes.library(outline.absolute(name))
            )
        return self._named[key]

    def classes(self, outline: Outline) -> Iterable[StateClass]:
        """The pytree classes that a file defines."""
        for cls in outline.classes.values():
            known = self._classes.known(outline, cls)
            if known is not None:
                yield known.cls

    def plain(self, outline: Outline, name: str, scope: str = "") -> ClassOutline | None:
        """The dataclass that a name stands for, where nothing makes it, or a base of it, known to JAX."""
        found = self._find(outline, name, scope) if name else None
        if found is None or self._classes.known(*found) is not None:
            return None
        home, cls = found
        decorators = {home.absolute(decorator.name) for decorator in cls.decorators}
        known = {cls.short, name} & (home.known_to_jax | outline.known_to_jax)
        is_plain = len(decorators) == 1 and decorators <= flavours.PLAIN_DATACLASSES
        return cls if is_plain and not cls.bases and not known else None

    def stranger(self, outline: Outline, name: str, scope: str = "") -> str:
        """What the values of a class are, in the words of a message, where they surely are leaves that jit refuses."""
        if self.plain(outline, name, scope) is not None:
            return "a plain dataclass,"
        found = self._find(outline, name, scope)
        if found is None or self._classes.known(*found) is not None:
            return ""
        home, cls = found
        bases = {home.absolute((base.inner or base).name) for base in cls.bases}
        known = {cls.short, name} & (home.known_to_jax | outline.known_to_jax)
        return "a subclass of dict," if not bases.isdisjoint(arrays.DICTS) and not known and not cls.decorators else ""

    def _find(self, outline: Outline, name: str, scope: str) -> Place | None:
        local = outline.find_class(name, scope)
        if local is not None:
            return outline, local
        head = name.partition(".")[0]
        if head not in outline.imports and not outline.stars and head not in outline.constants:
            return None
        return self._resolve(outline, name, frozenset())

    def _resolve(self, outline: Outline, name: str, seen: frozenset[tuple[str, str]]) -> Place | None:
        """Follow imports, aliases and re-exports to the class's definition."""
        key = (outline.text.path, name)
        if key in seen or len(seen) > MOST_HOPS:
            return None
        seen |= {key}
        local = outline.find_class(name, "")
        if local is not None:
            return outline, local
        head, dot, rest = name.partition(".")
        if head in outline.imports:
            return self._resolve_absolute(outline, outline.absolute(name), seen)
        alias = outline.constants.get(head)
        if alias is not None and alias.form == "name":
            return self._resolve(outline, f"{alias.name}{dot}{rest}", seen)
        for module in outline.stars:
            found = self._resolve_absolute(outline, f"{module}.{name}", seen)
            if found is not None:
                return found
        return None

    def _resolve_absolute(self, outline: Outline, name: str, seen: frozenset[tuple[str, str]]) -> Place | None:
        origin = self._origin(outline.text.path, name)
        self.looked_at.setdefault(outline.text.path, set()).update(origin.places)
        target = self._load(origin.found) if origin.found is not None else None
        return self._resolve(target, origin.rest, seen) if target is not None else None

    # Modules to files.

    def home(self, path: str) -> Home:
        """Where a file stands."""
        around = self._package(path)
        stem = Path(path).stem
        if stem == "__init__":
            return around
        module = f"{around.module}.{stem}" if around.module else stem
        return msgspec.structs.replace(around, module=module, is_package=False)

    def _package(self, path: str) -> Home:
        """The package that a file is in, asked for once a folder."""
        folder = os.path.dirname(path)
        if folder not in self._packages:
            found = _package(Path(place(folder)))
            self.absent.add(found.looked_at[-1])
            if found.root not in self._roots:
                self._climb(found.root)
            self._packages[folder] = msgspec.structs.replace(found, looked_at=(*found.looked_at, str(found.root)))
        return self._packages[folder]

    def _origin(self, importer: str, name: str) -> Origin:
        own = self._package(importer)
        key = (own.root, name)
        if key not in self._origins:
            self._origins[key] = self._trace(own, name)
        return self._origins[key]

    def _trace(self, own: Home, name: str) -> Origin:
        parts = name.split(".")
        places: set[str] = set()
        for cut in range(len(parts) - 1, 0, -1):
            search = self._search(own, ".".join(parts[:cut]))
            places.update(search.places)
            if search.found is not None:
                return Origin(search.found, ".".join(parts[cut:]), frozenset(places))
        return Origin(None, "", frozenset(places))

    def _search(self, own: Home, module: str) -> Search:
        key = (own.root, module)
        if key not in self._files:
            places: list[str] = []
            found = None
            relative = os.path.join(*module.split("."))
            for root in self._search_roots(own, module):
                for path in (f"{root}{os.sep}{relative}.py", os.path.join(root, relative, "__init__.py")):
                    if found is None:
                        places.append(path)
                        found = path if os.path.isfile(path) else None
            self.absent.update(places[:-1] if found else places)
            self._files[key] = Search(found, tuple(places))
        return self._files[key]

    def _search_roots(self, own: Home, module: str) -> Iterable[Path]:
        if any(part in _INSTALLED for part in own.root.parts):
            same_package = module.partition(".")[0] == own.module.partition(".")[0]
            return (own.root,) if same_package else ()
        return self._roots[own.root]

    def _climb(self, root: Path) -> None:
        """Up to where the project begins; from each folder on the way, and from its `src`, modules are imported."""
        passed: list[Path] = []
        looked_at = self.looked_at.setdefault(str(root), set())
        is_found = False
        for folder in (root, *root.parents):
            marks = [os.path.join(folder, name) for name in _PROJECT_FILES]
            passed.append(folder)
            looked_at.update(marks)
            missing = [mark for mark in marks if not os.path.exists(mark)]
            self.absent.update(missing)
            if is_found := len(missing) < len(marks):
                break
        # Where none begins, the folder stands alone.
        self._roots[root] = tuple(
            each for folder in passed[: None if is_found else 1] for each in (folder, folder / "src")
        )
