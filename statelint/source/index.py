"""The project's files by module: where a name is defined, and what pytree class it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from statelint.model.names import Names
from statelint.model.source import StateClass
from statelint.source import arrays, flavours
from statelint.source.classes import Classes, Known, Place
from statelint.source.declared import ClassOutline
from statelint.source.outline import Outline

_PROJECT_FILES = ("pyproject.toml", "setup.py", "setup.cfg", ".git")
_INSTALLED = ("site-packages", "dist-packages")


class Home(msgspec.Struct, frozen=True):
    """Where a file stands: the folder its imports start from, and its dotted name there."""

    root: Path
    module: str
    is_package: bool


def home(path: Path) -> Home:
    """By the `__init__.py` files around it."""
    is_package = path.stem == "__init__"
    parts = [] if is_package else [path.stem]
    folder = path.parent
    while (folder / "__init__.py").is_file() and folder.name:
        parts.append(folder.name)
        folder = folder.parent
    return Home(folder, ".".join(reversed(parts)), is_package)


class Index:
    """Finds what names stand for over the files of a project, drawing their outlines as they are needed.

    Args:
        load: the outline of a file; None when it cannot be read.
    """

    def __init__(self, names: Names, load: Callable[[Path], Outline | None]) -> None:
        self.names = names
        self._load = load
        self._named: dict[tuple[str, str, str], Known | None] = {}
        self._files: dict[tuple[Path, str], Path | None] = {}
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
        if key in seen:
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
        parts = name.split(".")
        for cut in range(len(parts) - 1, 0, -1):
            path = self._file(Path(outline.text.path), ".".join(parts[:cut]))
            if path is not None:
                target = self._load(path)
                return self._resolve(target, ".".join(parts[cut:]), seen) if target is not None else None
        return None

    # Modules to files.

    def _file(self, importer: Path, module: str) -> Path | None:
        folder = importer.parent
        key = (folder, module)
        if key not in self._files:
            self._files[key] = self._search(importer, module)
        return self._files[key]

    def _search(self, importer: Path, module: str) -> Path | None:
        relative = Path(*module.split("."))
        for root in self._search_roots(importer, module):
            for path in (root / relative.with_suffix(".py"), root / relative / "__init__.py"):
                if path.is_file():
                    return path
        return None

    def _search_roots(self, importer: Path, module: str) -> Iterable[Path]:
        own = home(importer.absolute())
        if any(part in _INSTALLED for part in own.root.parts):
            same_package = module.partition(".")[0] == own.module.partition(".")[0]
            return (own.root,) if same_package else ()
        if own.root not in self._roots:
            self._roots[own.root] = tuple(_roots(own.root))
        return self._roots[own.root]


def _roots(folder: Path) -> Iterable[Path]:
    """This folder and those above it up to the project's, each with its `src`; else this one alone."""
    above = (folder, *folder.parents)
    last = next((at for at, each in enumerate(above) if any((each / name).exists() for name in _PROJECT_FILES)), 0)
    for each in above[: last + 1]:
        yield each
        yield each / "src"
