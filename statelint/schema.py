"""The JSON Schema of `[tool.statelint]`, made from the configuration's own types."""

from __future__ import annotations

import inspect
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from statelint.checks import PROBE_CHECKS, config_checks
from statelint.config import Config, ProbeTable

DIALECT = "https://json-schema.org/draft/2020-12/schema"

_CLOSED = r"(?:\\\[|\\(?!\[)|[^\[\\]|\[[!^]?\]?[^\]]*\])"
"""A character of a pattern, or its brackets, which must be closed."""
_NAME = r"[^\u0000-@\[-^`{-\u007f][^\u0000-/:-@\[-^`{-\u007f]*"
"""A Python identifier, as far as engines without Unicode's classes can tell."""

_WRITTEN: dict[str, dict[str, Any]] = {
    "probe-memory": {"type": "string", "pattern": r"^\d+(\.\d+)? ?([KMGT]i?)?B$", "examples": ["8GB", "512MiB"]}
}
"""The keys whose values are not held as they are written."""


def schema(rules: Mapping[str, str]) -> dict[str, Any]:
    """The schema, given the names of all rules by their codes. It is never stricter than what reads the file."""
    made = msgspec.json.schema(Config)["$defs"]
    probe = _table(ProbeTable, made["ProbeTable"], PROBE_CHECKS, "#/$defs/ProbeTable")
    probe["required"].remove("name")  # left out, it is that of the step
    return {
        "$schema": DIALECT,
        "title": "statelint",
        "description": "The table [tool.statelint] of pyproject.toml, or the whole of a file that --config names.",
        **_table(Config, made["Config"], config_checks(rules), "#"),
        "$defs": {
            "ProbeTable": probe,
            "Severity": made["Severity"],
            "Selector": {
                "description": "The code of a rule, a prefix of codes, a name or ALL.",
                "enum": ["ALL", *sorted(_prefixes(rules)), *rules.values()],
            },
            "Pattern": {
                "description": "A pattern as in .gitignore.",
                "type": "string",
                "pattern": rf"^(?!!?\s*$|#){_CLOSED}+$",
            },
            "NamePattern": {"description": "A shell pattern.", "type": "string", "pattern": f"^{_CLOSED}+$"},
            "ObjectName": {
                "description": "module:name",
                "type": "string",
                "pattern": rf"^{_NAME}(\.{_NAME})*:{_NAME}(\.{_NAME})*$",
            },
        },
    }


def _prefixes(codes: Iterable[str]) -> set[str]:
    return {code[:length] for code in codes for length in range(len("SL"), len(code) + 1)}


def _table(kind: type, made: dict[str, Any], keys: Iterable[str], here: str) -> dict[str, Any]:
    """What may stand in a table that is read into ``kind``: these keys, each once."""
    texts = _attributes(kind)
    fields = {key: key.replace("-", "_") for key in keys}
    spellings = {key: _spellings(key) for key in fields if "-" in key}
    twice = [list(pair) for each in spellings.values() for pair in itertools.combinations(each, 2)]
    made_of = {key: _WRITTEN.get(key, made["properties"][field]) for key, field in fields.items()}
    return {
        "type": "object",
        "properties": {key: _property(made_of[key], texts.get(field)) for key, field in fields.items()},
        "patternProperties": {
            f"^{key.replace('-', '[-_]')}$": {"$ref": f"{here}/properties/{key}"} for key in spellings
        },
        "additionalProperties": False,
        "required": made["required"],
        "not": {"anyOf": [{"required": pair} for pair in twice]},
    }


def _spellings(key: str) -> Iterator[str]:
    """An underscore does for a hyphen."""
    words = key.split("-")
    for marks in itertools.product("-_", repeat=len(words) - 1):
        yield "".join(map("".join, zip(words, (*marks, ""), strict=True)))


def _property(made: dict[str, Any], description: str | None) -> dict[str, Any]:
    """A key left out is None in our types; TOML has no such value."""
    kinds = [kind for kind in made.get("anyOf", ()) if kind != {"type": "null"}]
    others = {name: value for name, value in made.items() if name != "anyOf" and value is not None}
    one_of = kinds[0] if len(kinds) == 1 else {"anyOf": kinds} if kinds else {}
    return {**({"description": description} if description else {}), **one_of, **others}


def _attributes(kind: type) -> dict[str, str]:
    """What the docstring says of each field."""
    _, _, text = (inspect.getdoc(kind) or "").partition("Attributes:\n")
    return {
        name: " ".join(said.split()) for name, said in re.findall(r"^    (\w+): (.*(?:\n {8}.*)*)", text, re.MULTILINE)
    }
