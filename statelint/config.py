"""`[tool.statelint]` to `Config`, checked, with errors that name the key."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from statelint.checks import DAY, PROBE_CHECKS, Check, Wrong, config_checks, kind_of
from statelint.diagnostics import Severity
from statelint.model.names import COUNTER_NAMES, STATE_NAMES, Names
from statelint.selectors import did_you_mean

FailOn = Literal["error", "warning", "info"]

# For `statelint schema`. What is checked here is in `checks`, which has words for what is wrong.
Index = Annotated[int, Meta(ge=0)]
Size = Annotated[int, Meta(gt=0)]
Seconds = Annotated[float, Meta(gt=0, le=DAY)]
Selector = Annotated[str, Meta(extra_json_schema={"$ref": "#/$defs/Selector"})]
Pattern = Annotated[str, Meta(extra_json_schema={"$ref": "#/$defs/Pattern"})]
NamePattern = Annotated[str, Meta(extra_json_schema={"$ref": "#/$defs/NamePattern"})]
ObjectName = Annotated[str, Meta(extra_json_schema={"$ref": "#/$defs/ObjectName"})]
Place = int | str | tuple[int | str, ...]


class ConfigError(Exception):
    """Everything that is wrong with a configuration: one line each, naming the file and the key."""

    def __init__(self, lines: Iterable[str]) -> None:
        self.lines = tuple(lines)
        super().__init__("\n".join(self.lines))


class ProbeTable(msgspec.Struct, frozen=True, kw_only=True):
    """One `[[tool.statelint.probe]]`.

    Attributes:
        name: what reports call it; the last name of its step when left out.
        step: the step, as `module:name`.
        state: the state or its factory, as `module:name`.
        args: the step's other arguments, in JAX's own notation or as `module:name`, nested in arrays
            and tables.
        state_args: the factory's arguments, in the same form.
        state_argnum: which positional argument of the step the state is; several for a state that is a tuple.
        state_returns: where the state stands in the factory's result; all of it when left out.
        returns: where the state stands in the step's result; found by its treedef when left out.
        donate: which arguments a plain step will be jitted to donate, by position or name.
        static_argnames: which arguments a plain step will be jitted to hold static.
        x64: trace with 64-bit types enabled.
        mesh: how many CPU devices the probe needs, or the sizes of its mesh's axes.
        env: environment variables to set before jax is imported.
        line: of the table's header in the file.
    """

    name: str
    step: ObjectName
    state: ObjectName
    args: tuple[Any, ...] = ()
    state_args: tuple[Any, ...] = ()
    state_argnum: Index | tuple[Index, ...] = 0
    state_returns: Place | None = None
    returns: Place | None = None
    donate: Place | None = None
    static_argnames: tuple[str, ...] = ()
    x64: bool = False
    mesh: Size | dict[str, Size] | None = None
    env: dict[str, str] = {}
    line: int = 1


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """The configuration in force.

    Attributes:
        select: rules to run, in place of the default ones: codes, prefixes of codes, names or `ALL`.
        extend_select: rules to run besides.
        ignore: rules not to run.
        per_file_ignores: rules not to run on files, by a pattern as in .gitignore (`!`: on all others).
        exclude: patterns, as in .gitignore, of what is not walked into; in place of the default ones.
        extend_exclude: patterns besides.
        respect_gitignore: leave out what git ignores.
        python: the interpreter that probes run under; relative to the file's folder.
        probe_timeout: seconds that a probe may take.
        probe_memory: bytes that a probe's process may hold; half of the machine's memory when None.
        state_names: shell patterns of names that are states, in place of the default ones.
        counter_names: shell patterns of names that are step counters, in place of the default ones.
        fail_on: the least severity that fails the run.
        severity: severities of findings, by rules, in place of their own.
        baseline: the file of the findings that are put up with; relative to the file's folder.
        probe: the probes declared here.
        file: the file all this was read from, as shown to the user; None for the defaults.
        root: the folder that patterns and paths are relative to.
        given: the fields that the file gives a value.
    """

    select: tuple[Selector, ...] | None = None
    extend_select: tuple[Selector, ...] = ()
    ignore: tuple[Selector, ...] = ()
    per_file_ignores: dict[Pattern, tuple[Selector, ...]] = {}
    exclude: tuple[Pattern, ...] | None = None
    extend_exclude: tuple[Pattern, ...] = ()
    respect_gitignore: bool = True
    python: str | None = None
    probe_timeout: Seconds = 120.0
    probe_memory: int | None = None
    state_names: tuple[NamePattern, ...] = STATE_NAMES
    counter_names: tuple[NamePattern, ...] = COUNTER_NAMES
    fail_on: FailOn = "warning"
    severity: dict[Selector, Severity] = {}
    baseline: str | None = None
    probe: tuple[ProbeTable, ...] = ()
    file: str | None = None
    root: str = "."
    given: frozenset[str] = frozenset()

    @property
    def names(self) -> Names:
        """What is called a state and what a counter."""
        return Names(self.state_names, self.counter_names)


# --- finding and reading the file -----------------------------------------------------------------------


def load(rules: Mapping[str, str], *, start: str = ".", file: str | None = None, isolated: bool = False) -> Config:
    """The configuration that holds for ``start``.

    Args:
        rules: the names of all rules by their codes.
        start: a file or folder; the nearest pyproject.toml at or above it with a `[tool.statelint]` is read.
        file: read this file instead.
        isolated: read no file.

    Raises:
        ConfigError: a file cannot be read or is not well-formed, or a key is wrong.
    """
    if isolated:
        return Config(root=os.getcwd())
    if file is not None:
        return _from_named_file(file, rules)
    for candidate in _candidates(start):
        text = _read(candidate)
        # A pyproject.toml that never says our name is not ours to judge, even if it is broken.
        if "statelint" not in text:
            continue
        table = _subtable(_parse(candidate, text))
        if table is not None:
            return _checked(candidate, text, table, "tool.statelint.", rules)
    return Config(root=os.getcwd())


def _candidates(start: str) -> Iterator[str]:
    folder = os.path.abspath(start)
    while True:
        candidate = os.path.join(folder, "pyproject.toml")
        if os.path.isfile(candidate):
            yield candidate
        above = os.path.dirname(folder)
        if above == folder:
            return
        folder = above


def _from_named_file(file: str, rules: Mapping[str, str]) -> Config:
    text = _read(file)
    document = _parse(file, text)
    table = _subtable(document)
    if table is not None:
        return _checked(file, text, table, "tool.statelint.", rules)
    if os.path.basename(file) == "pyproject.toml":
        raise ConfigError([f"{shown(file)}: has no [tool.statelint] table"])
    return _checked(file, text, document, "", rules)


def _read(file: str) -> str:
    try:
        with open(file, encoding="utf-8") as stream:
            return stream.read()
    except OSError as error:
        raise ConfigError([f"{shown(file)}: cannot be read: {error.strerror}"]) from None
    except UnicodeDecodeError:
        raise ConfigError([f"{shown(file)}: is not UTF-8, as TOML must be"]) from None


def _parse(file: str, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError([f"{shown(file)}: is not valid TOML: {error}"]) from None


def _subtable(document: dict[str, Any]) -> Any:
    tool = document.get("tool")
    return tool.get("statelint") if isinstance(tool, dict) else None


def shown(file: str) -> str:
    """A path as a user reads it: relative to the current folder when it is below it, else absolute."""
    absolute = os.path.abspath(file)
    relative = os.path.relpath(absolute)
    return absolute if relative.split(os.sep)[0] == os.pardir else relative


# --- checking the table ---------------------------------------------------------------------------------


def _checked(file: str, text: str, table: Any, prefix: str, rules: Mapping[str, str]) -> Config:
    where = f"{shown(file)}: {prefix}"
    if not isinstance(table, dict):
        raise ConfigError([f"{where.removesuffix('.')}: expected a table, got {kind_of(table)}"])
    errors: list[str] = []
    values = _values(table, config_checks(rules), where, errors)
    given = frozenset(values)
    values["probe"] = _probes(values.get("probe", ()), _header_lines(text), f"{where}probe", errors)
    if errors:
        raise ConfigError(errors)
    return Config(**values, file=shown(file), root=os.path.dirname(os.path.abspath(file)), given=given)


def _values(table: dict[str, Any], checks: Mapping[str, Check], where: str, errors: list[str]) -> dict[str, Any]:
    """The table's checked values by field; what is wrong goes to ``errors``."""
    values: dict[str, Any] = {}
    for written, raw in table.items():
        key = written.replace("_", "-")
        field = key.replace("-", "_")
        if key not in checks:
            errors.append(f"{where}{written}: unknown key{did_you_mean(key, checks)}")
        elif field in values:
            errors.append(f"{where}{written}: given twice")
        else:
            try:
                values[field] = checks[key](raw)
            except Wrong as wrong:
                errors.extend(f"{where}{written}{line}" for line in wrong.lines)
    return values


def _probes(tables: Iterable[Any], lines: list[int], where: str, errors: list[str]) -> tuple[ProbeTable, ...]:
    probes: list[ProbeTable] = []
    for number, table in enumerate(tables):
        here = f"{where}[{number}]."
        wrong: list[str] = []
        values = _values(table, PROBE_CHECKS, here, wrong)
        given = {key.replace("_", "-") for key in table}
        wrong += [f"{here}{key}: missing" for key in ("step", "state") if key not in given]
        if not wrong:
            values.setdefault("name", re.split(r"[.:]", values["step"])[-1])
            values["line"] = lines[number] if number < len(lines) else 1
            if values["name"] in {probe.name for probe in probes}:
                wrong.append(f"{here}name: another probe is called {values['name']!r} too")
            else:
                probes.append(ProbeTable(**values))
        errors += wrong
    return tuple(probes)


def _header_lines(text: str) -> list[int]:
    header = re.compile(r"\s*\[\[\s*(tool\s*\.\s*statelint\s*\.\s*)?probe\s*\]\]")
    return [number for number, line in enumerate(text.split("\n"), 1) if header.match(line)]
