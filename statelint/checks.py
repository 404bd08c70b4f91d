"""What a value of the configuration may be."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from statelint import patterns
from statelint.diagnostics import Severity
from statelint.selectors import unknown_rules

DAY = 86_400
"""Seconds: longer than anyone waits for a probe, and no more than a system can."""

_LEAST_MEMORY = 10**8
"""Bytes: Python and jax do not start in less."""

Check = Callable[[Any], Any]
"""A raw value to the checked one; raises `Wrong`."""


class Wrong(Exception):
    """What is wrong with a value: what follows its key, one line each."""

    def __init__(self, *lines: str) -> None:
        self.lines = lines


def _expected(what: str, value: object) -> Wrong:
    return Wrong(f": expected {what}, got {kind_of(value)}")


def kind_of(value: object) -> str:
    """What TOML calls it."""
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
        raise Wrong(": must not be negative")
    return value


def _indices(value: Any) -> int | tuple[int, ...]:
    return tuple(map(_index, value)) if isinstance(value, list) else _index(value)


def _mesh(value: Any) -> int | dict[str, int]:
    sizes = value.values() if isinstance(value, dict) else [value]
    if not all(map(_index, sizes)):
        raise Wrong(": must be more than 0")
    found: int | dict[str, int] = value
    return found


def _seconds(value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise _expected("a number of seconds", value)
    if not 0 < value <= DAY:
        raise Wrong(f": must be more than 0 and at most {DAY} seconds")
    return float(value)


_UNITS = {"B": 1} | {
    f"{prefix}{binary}B": (1024 if binary else 1000) ** power
    for power, prefix in enumerate("KMGT", 1)
    for binary in ("", "i")
}
_MEMORY = re.compile(rf"(\d+(?:\.\d+)?) ?({'|'.join(_UNITS)})")


def _memory(value: Any) -> int:
    if not isinstance(value, str):
        raise _expected('an amount of memory like "8GB"', value)
    amount = _MEMORY.fullmatch(value)
    if amount is None:
        raise Wrong(f': not an amount of memory like "8GB" or "512MiB": {value!r}')
    if (size := int(float(amount[1]) * _UNITS[amount[2]])) < _LEAST_MEMORY:
        raise Wrong(f": must be at least {_LEAST_MEMORY // 10**6}MB: jax alone needs more")
    return size


def _array(value: Any) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise _expected("an array", value)
    return tuple(value)


def _strings(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise _expected("an array of strings", value)
    for item in value:
        if not isinstance(item, str):
            raise Wrong(f": expected an array of strings, got one with {kind_of(item)}")
    return tuple(value)


def _patterns(value: Any) -> tuple[str, ...]:
    wrong = [f": not a pattern: {pattern!r}" for pattern in _strings(value) if not _is_pattern(pattern)]
    if wrong:
        raise Wrong(*wrong)
    return tuple(value)


def _is_pattern(pattern: str) -> bool:
    """It is well-formed, and says something of some file: a blank line and a comment do not."""
    if not patterns.is_pattern(pattern) or _UNCLOSED.search(pattern):
        return False
    return any(part.include is not None for part in patterns.spec([pattern]).patterns)


_UNCLOSED = re.compile(r"(?<!\\)\[[!^]?\]?[^\]]*$")
"""A bracket that nothing closes, so that the pattern is about names with a bracket in them."""


def _names(value: Any) -> tuple[str, ...]:
    wrong = [f": not a pattern: {name!r}" for name in _strings(value) if not name or _UNCLOSED.search(name)]
    if wrong:
        raise Wrong(*wrong)
    return tuple(value)


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
    wrong = [f".{name}: expected a string, got {kind_of(item)}" for name, item in others.items()]
    if wrong:
        raise Wrong(*wrong)
    return table


def _severity(value: Any) -> str:
    if value not in ("error", "warning", "info"):
        raise Wrong(f": expected error, warning or info, got {value!r}")
    return str(value)


def _object(value: Any) -> str:
    if not re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*", _string(value)):
        raise Wrong(f': expected "module:name", got {value!r}')
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
        raise Wrong(*(f": {line}" for line in unknown))
    return selectors


def _per_file(rules: Mapping[str, str], value: Any) -> dict[str, tuple[str, ...]]:
    ignores: dict[str, tuple[str, ...]] = {}
    wrong: list[str] = []
    for pattern, selectors in _table(value).items():
        try:
            if not _is_pattern(pattern.removeprefix("!")) or pattern.startswith("!!"):
                raise Wrong(": not a pattern")
            ignores[pattern] = _rules(rules, selectors)
        except Wrong as error:
            wrong += [f".{msgspec.json.encode(pattern).decode()}{line}" for line in error.lines]
    if wrong:
        raise Wrong(*wrong)
    return ignores


def _severities(rules: Mapping[str, str], value: Any) -> dict[str, Severity]:
    severities: dict[str, Severity] = {}
    wrong: list[str] = []
    for selector, severity in _table(value).items():
        wrong += (f": {line}" for line in unknown_rules([selector], rules))
        try:
            severities[selector] = Severity(_severity(severity))
        except Wrong as error:
            wrong += [f".{selector}{line}" for line in error.lines]
    if wrong:
        raise Wrong(*wrong)
    return severities


def config_checks(rules: Mapping[str, str]) -> dict[str, Check]:
    """The keys of `[tool.statelint]`, given the names of all rules by their codes."""
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
        "probe-memory": _memory,
        "state-names": _names,
        "counter-names": _names,
        "fail-on": _severity,
        "severity": functools.partial(_severities, rules),
        "baseline": _string,
        "probe": _tables,
    }


PROBE_CHECKS: dict[str, Check] = {
    "name": _string,
    "step": _object,
    "state": _object,
    "args": _array,
    "state-args": _array,
    "state-argnum": _indices,
    "state-returns": _place,
    "returns": _place,
    "donate": _place,
    "static-argnames": _strings,
    "x64": _boolean,
    "mesh": _mesh,
    "env": _environment,
}
"""The keys of `[[tool.statelint.probe]]`."""
