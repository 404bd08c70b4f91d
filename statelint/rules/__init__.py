"""The rules: one hazard a file, found by themselves.

A module named ``SLxxx_name`` is a rule. It holds ``RULE`` and a detector or two: ``in_source(part)`` for what
stands in the code, ``in_trace(part)`` for what the probe saw. The annotation of the detector's one parameter
says which part of the model it looks at (a union for several); nothing else needs to know of it.
"""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import pkgutil
import re
import types
import typing
from collections.abc import Callable, Iterable, Iterator

import msgspec

from statelint.diagnostics import Diagnostic, Fix, Location, Related, Severity
from statelint.model.trace import ProbeFailure, StepTrace

Detect = Callable[[typing.Any], Iterator[Diagnostic]]

DOCS = "docs/rules/{code}.md"
"""Where the page of a rule stands."""


class Rule(msgspec.Struct, frozen=True):
    """The identity of a hazard.

    Attributes:
        severity: of a finding that does not say otherwise.
        default: whether the rule runs when nothing is selected; pedantic rules do not.
    """

    code: str
    name: str
    severity: Severity
    since: str = "0.1"
    default: bool = True

    def at(
        self,
        location: Location,
        message: str,
        *,
        field: str | None = None,
        severity: Severity | None = None,
        fix: Fix | None = None,
        related: tuple[Related, ...] = (),
    ) -> Diagnostic:
        """A finding of this rule."""
        return Diagnostic(
            code=self.code,
            name=self.name,
            severity=severity or self.severity,
            message=message,
            location=location,
            field=field,
            fix=fix,
            related=related,
        )


class RuleModule(msgspec.Struct, frozen=True):
    """A rule as it was found: its identity, its page and its detectors by the type of what they look at."""

    rule: Rule
    page: str
    in_source: dict[type, Detect]
    in_trace: dict[type, Detect]

    @property
    def summary(self) -> str:
        """The first sentence of the page, on one line."""
        return " ".join(self.page.split("\n\n", 1)[0].split())

    @property
    def by(self) -> str:
        """Which detectors see it, as the catalogue writes it: ``S``, ``P`` or ``S P``."""
        return " ".join(letter for letter, has in (("S", self.in_source), ("P", self.in_trace)) if has)


class RuleError(Exception):
    """A rule's file that does not keep to the form; the message names the file and what is wrong."""


@functools.cache
def load() -> dict[str, RuleModule]:
    """All rules by code, in the order of their codes.

    Raises:
        RuleError: a file in this folder is not a well-formed rule.
    """
    names = sorted(info.name for info in pkgutil.iter_modules(__path__) if re.match(r"SL\d{3}_", info.name))
    found = [_load(name) for name in names]
    return {module.rule.code: module for module in found}


@functools.cache
def names() -> dict[str, str]:
    """The names of all rules by their codes."""
    return {code: module.rule.name for code, module in load().items()}


def _load(name: str) -> RuleModule:
    module = importlib.import_module(f"{__name__}.{name}")
    rule = getattr(module, "RULE", None)
    if not isinstance(rule, Rule):
        raise RuleError(f"{name}.py: RULE is missing")
    if name != f"{rule.code}_{rule.name.replace('-', '_')}":
        raise RuleError(f"{name}.py: holds {rule.code} {rule.name}; the file's name must say the same")
    page = module.__doc__ or _page(module)
    if not page:
        raise RuleError(f"{name}.py: the docstring, which is the rule's page, is missing")
    detectors = {kind: _routes(name, getattr(module, kind, None)) for kind in ("in_source", "in_trace")}
    return RuleModule(rule=rule, page=inspect.cleandoc(page), **detectors)


def _page(module: types.ModuleType) -> str | None:
    """The docstring as its source has it: `python -OO` strips it."""
    return ast.get_docstring(ast.parse(inspect.getsource(module)))


def _routes(name: str, detect: Detect | None) -> dict[type, Detect]:
    if detect is None:
        return {}
    hints = typing.get_type_hints(detect)
    hints.pop("return", None)
    parts = [part for hint in hints.values() for part in (typing.get_args(hint) or (hint,))]
    if len(hints) != 1 or not all(
        isinstance(part, type) and part.__module__.startswith("statelint.model.") for part in parts
    ):
        raise RuleError(f"{name}.py: {detect.__name__} must take one parameter, annotated with a part of the model")
    return dict.fromkeys(parts, detect)


def in_source(parts: Iterable[object]) -> Iterator[Diagnostic]:
    """What the rules say of these parts of the source model."""
    routes = _by_type("in_source")
    for part in parts:
        for detect in routes.get(type(part), ()):
            yield from detect(part)


def in_trace(part: StepTrace | ProbeFailure) -> Iterator[Diagnostic]:
    """What the rules say of one trace, or of its failure, with the probe as a related place."""
    probe = part.probe
    declared = Related(probe.at, f"probe {probe.name} is declared here")
    for detect in _by_type("in_trace").get(type(part), ()):
        for finding in detect(part):
            places = [finding.location, *(other.location for other in finding.related)]
            is_shown = any((at.path, at.line) == (probe.at.path, probe.at.line) for at in places)
            related = (*finding.related, *_library(part, finding), *(() if is_shown else (declared,)))
            yield msgspec.structs.replace(finding, detector="probe", probe=probe.name, related=related)


def _library(part: StepTrace | ProbeFailure, finding: Diagnostic) -> Iterator[Related]:
    """The library's line that made the leaf that a finding is about, where no line of the user's did."""
    for leaf in part.leaves if isinstance(part, StepTrace) else ():
        if leaf.path == finding.field and leaf.library is not None:
            yield Related(leaf.library, "the library makes it here")


@functools.cache
def _by_type(kind: typing.Literal["in_source", "in_trace"]) -> dict[type, list[Detect]]:
    routes: dict[type, list[Detect]] = {}
    for module in load().values():
        for part, detect in getattr(module, kind).items():
            routes.setdefault(part, []).append(detect)
    return routes
