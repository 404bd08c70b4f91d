"""`[tool.statelint]` to `Config`, checked, with errors that name the key."""

from __future__ import annotations

import difflib
import functools
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal

import msgspec
from pathspec import GitIgnoreSpec

from statelint.model.names import COUNTER_NAMES, STATE_NAMES

FailOn = Literal["error", "warning", "info"]
Check = Callable[[Any], Any]
"""A raw value to the checked one; raises `_Wrong`."""


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
        state_argnum: which positional argument of the step the state is.
        returns: where the state stands in the step's result; found by its treedef when left out.
        x64: trace with 64-bit types enabled.
        env: environment variables to set before jax is imported.
        line: of the table's header in the file.
    """

    name: str
    step: str
    state: str
    args: tuple[Any, ...] = ()
    state_args: tuple[Any, ...] = ()
    state_argnum: int = 0
    returns: int | str | tuple[int | str, ...] | None = None
    x64: bool = False
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
        state_names: shell patterns of names that are states, in place of the default ones.
        counter_names: shell patterns of names that are step counters, in place of the default ones.
        fail_on: the least severity that fails the run.
        probe: the probes declared here.
        file: the file all this was read from, as shown to the user; None for the defaults.
        root: the folder that patterns and paths are relative to.
    """

    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    per_file_ignores: dict[str, tuple[str, ...]] = {}
    exclude: tuple[str, ...] | None = None
    extend_exclude: tuple[str, ...] = ()
    respect_gitignore: bool = True
    python: str | None = None
    probe_timeout: float = 120.0
    state_names: tuple[str, ...] = STATE_NAMES
    counter_names: tuple[str, ...] = COUNTER_NAMES
    fail_on: FailOn = "warning"
    probe: tuple[ProbeTable, ...] = ()
    file: str | None = None
    root: str = "."


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
        raise ConfigError([f"{where.removesuffix('.')}: expected a table, got {_kind(table)}"])
    errors: list[str] = []
    values = _values(table, _config_checks(rules), where, errors)
    values["probe"] = _probes(values.get("probe", ()), _header_lines(text), f"{where}probe", errors)
    if errors:
        raise ConfigError(errors)
    return Config(**values, file=shown(file), root=os.path.dirname(os.path.abspath(file)))


def _values(table: dict[str, Any], checks: Mapping[str, Check], where: str, errors: list[str]) -> dict[str, Any]:
    """The table's checked values by field; what is wrong goes to ``errors``."""
    values: dict[str, Any] = {}
    for written, raw in table.items():
        key = written.replace("_", "-")
        field = key.replace("-", "_")
        if key not in checks:
            errors.append(f"{where}{written}: unknown key{_did_you_mean(key, checks)}")
        elif field in values:
            errors.append(f"{where}{written}: given twice")
        else:
            try:
                values[field] = checks[key](raw)
            except _Wrong as wrong:
                errors.extend(f"{where}{written}{line}" for line in wrong.lines)
    return values


def _probes(tables: Iterable[Any], lines: list[int], where: str, errors: list[str]) -> tuple[ProbeTable, ...]:
    probes: list[ProbeTable] = []
    for number, table in enumerate(tables):
        here = f"{where}[{number}]."
        wrong: list[str] = []
        values = _values(table, _PROBE_CHECKS, here, wrong)
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


def _did_you_mean(word: str, words: Iterable[str]) -> str:
    close = difflib.get_close_matches(word, list(words), n=1)
    return f" (did you mean {close[0]}?)" if close else ""


# --- what a value may be --------------------------------------------------------------------------------


class _Wrong(Exception):
    """What is wrong with a value: what follows its key, one line each."""

    def __init__(self, *lines: str) -> None:
        self.lines = lines


def _expected(what: str, value: object) -> _Wrong:
    return _Wrong(f": expected {what}, got {_kind(value)}")


def _kind(value: object) -> str:
    kinds = {
        bool: "a boolean",
        int: "an integer",
        float: "a float",
        str: "a string",
        list: "an array",
        dict: "a table",
    }
    return kinds.get(type(value), "a date or time")


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise _expected("a string", value)
    return value


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise _expected("a boolean", value)
    return value


def _index(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise _expected("an integer", value)
    if value < 0:
        raise _Wrong(": must not be negative")
    return value


def _seconds(value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise _expected("a number of seconds", value)
    if not 0 < value < float("inf"):
        raise _Wrong(": must be more than 0 seconds")
    return float(value)


def _array(value: Any) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise _expected("an array", value)
    return tuple(value)


def _strings(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise _expected("an array of strings", value)
    for item in value:
        if not isinstance(item, str):
            raise _Wrong(f": expected an array of strings, got one with {_kind(item)}")
    return tuple(value)


def _patterns(value: Any) -> tuple[str, ...]:
    wrong = [f": not a pattern: {pattern!r}" for pattern in _strings(value) if not _is_pattern(pattern)]
    if wrong:
        raise _Wrong(*wrong)
    return tuple(value)


def _is_pattern(pattern: str) -> bool:
    try:
        GitIgnoreSpec.from_lines([pattern])
    except (ValueError, re.error):
        return False
    return True


def _table(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _expected("a table", value)
    return value


def _tables(value: Any) -> tuple[dict[str, Any], ...]:
    if not isinstance(value, list):
        raise _expected("an array of tables ([[...]])", value)
    for item in value:
        if not isinstance(item, dict):
            raise _expected("an array of tables ([[...]])", item)
    return tuple(value)


def _environment(value: Any) -> dict[str, str]:
    table = _table(value)
    others = {name: item for name, item in table.items() if not isinstance(item, str)}
    wrong = [f".{name}: expected a string, got {_kind(item)}" for name, item in others.items()]
    if wrong:
        raise _Wrong(*wrong)
    return table


def _severity(value: Any) -> str:
    if value not in ("error", "warning", "info"):
        raise _Wrong(f": expected error, warning or info, got {value!r}")
    return str(value)


def _object(value: Any) -> str:
    if not re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*", _string(value)):
        raise _Wrong(f': expected "module:name", got {value!r}')
    return str(value)


def _place(value: Any) -> int | str | tuple[int | str, ...]:
    items = value if isinstance(value, list) else [value]
    for item in items:
        if not isinstance(item, int | str) or isinstance(item, bool):
            raise _expected("an index, a name, or an array of these", item)
    return tuple(value) if isinstance(value, list) else value


def _rules(rules: Mapping[str, str], value: Any) -> tuple[str, ...]:
    selectors = _strings(value)
    unknown = unknown_rules(selectors, rules)
    if unknown:
        raise _Wrong(*(f": {line}" for line in unknown))
    return selectors


def _per_file(rules: Mapping[str, str], value: Any) -> dict[str, tuple[str, ...]]:
    ignores: dict[str, tuple[str, ...]] = {}
    wrong: list[str] = []
    for pattern, selectors in _table(value).items():
        try:
            _patterns([pattern.removeprefix("!")])
            ignores[pattern] = _rules(rules, selectors)
        except _Wrong as error:
            wrong += [f".{msgspec.json.encode(pattern).decode()}{line}" for line in error.lines]
    if wrong:
        raise _Wrong(*wrong)
    return ignores


def _config_checks(rules: Mapping[str, str]) -> dict[str, Check]:
    some_rules = functools.partial(_rules, rules)
    return {
        "select": some_rules,
        "extend-select": some_rules,
        "ignore": some_rules,
        "per-file-ignores": functools.partial(_per_file, rules),
        "exclude": _patterns,
        "extend-exclude": _patterns,
        "respect-gitignore": _boolean,
        "python": _string,
        "probe-timeout": _seconds,
        "state-names": _strings,
        "counter-names": _strings,
        "fail-on": _severity,
        "probe": _tables,
    }


_PROBE_CHECKS: dict[str, Check] = {
    "name": _string,
    "step": _object,
    "state": _object,
    "args": _array,
    "state-args": _array,
    "state-argnum": _index,
    "returns": _place,
    "x64": _boolean,
    "env": _environment,
}


# --- which rules run ------------------------------------------------------------------------------------


def matching(selector: str, rules: Mapping[str, str]) -> frozenset[str]:
    """The codes that a code, a prefix of codes, a name or `ALL` stands for; none when it is unknown."""
    if selector == "ALL":
        return frozenset(rules)
    if selector in rules.values():
        return frozenset(code for code, name in rules.items() if name == selector)
    if re.fullmatch(r"SL\d{0,3}", selector):
        return frozenset(code for code in rules if code.startswith(selector))
    return frozenset()


def unknown_rules(selectors: Iterable[str], rules: Mapping[str, str]) -> list[str]:
    """One line for each selector that stands for no rule."""
    return [
        f"unknown rule {selector!r}{_did_you_mean(selector, (*rules, *rules.values()))}"
        for selector in selectors
        if not matching(selector, rules)
    ]


def resolve(
    select: Iterable[str], ignore: Iterable[str], rules: Mapping[str, str], *, start: Iterable[str] = ()
) -> frozenset[str]:
    """The codes selected, and those to ``start`` with, that are not ignored.

    Where `select` and `ignore` both name a rule, the more specific holds, and of two alike `ignore`.
    """
    said = [(_specificity(text), order, text) for order, texts in enumerate((select, ignore)) for text in texts]
    enabled = set(start)
    for _, ignored, selector in sorted(said):
        codes = matching(selector, rules)
        enabled = enabled - codes if ignored else enabled | codes
    return frozenset(enabled)


def _specificity(selector: str) -> int:
    if selector == "ALL":
        return 0
    return len(selector) if re.fullmatch(r"SL\d{0,3}", selector) else len("SL000")
