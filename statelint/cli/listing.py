"""`--show-files` and `--show-settings`: what a run would be about, without the run."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import click
import msgspec
from click.core import ParameterSource

from statelint import discovery, probing, rules, scope
from statelint.checks import config_checks
from statelint.config import Config
from statelint.options import Options
from statelint.report.base import escaped

FORMATS = ("text", "json")

_ADDED = ("extend_select", "ignore")
"""Settings that an option adds to, where others go in place of what the file says."""


_LEFT_OUT = {"select": "all but the pedantic ones", "probe-memory": "half of the machine's"}
"""What no value stands for, where that is not nothing."""


class Setting(msgspec.Struct, frozen=True):
    """A setting in force, and where its value comes from: a file, options or the default."""

    name: str
    value: Any
    source: str


def files(found: Iterable[str], output_format: str) -> str:
    """The files that would be linted."""
    if output_format == "json":
        return json.dumps(list(found), indent=2) + "\n"
    return "".join(f"{escaped(path)}\n" for path in found)


def settings(ctx: click.Context, config: Config, options: Options, output_format: str) -> str:
    """Every setting with its source, and the rules that they leave."""
    rows = [*_of_the_file(ctx, config, options), *_of_the_command_line(ctx, config, options)]
    enabled = sorted(scope.selection(config, options))
    if output_format == "json":
        shown = {row.name: {"value": row.value, "source": row.source} for row in rows}
        return json.dumps({"settings": shown, "rules": enabled}, indent=2) + "\n"
    cells = [("setting", "from", "value"), *((row.name, row.source, _text(row)) for row in rows)]
    names, sources = (max(len(row[column]) for row in cells) for column in (0, 1))
    lines = [f"{name:{names}}  {source:{sources}}  {value}" for name, source, value in cells]
    return "".join(f"{line}\n" for line in [*lines, "", f"Rules that run: {' '.join(enabled)}"])


def _of_the_file(ctx: click.Context, config: Config, options: Options) -> Iterator[Setting]:
    settled = scope.settled(config, options)
    for name in config_checks(rules.names()):
        field = name.replace("-", "_")
        sources = [config.file or ""] if field in config.given else []
        value = getattr(settled, field)
        if _is_given(ctx, field):
            replaced = field not in _ADDED or (field == "extend_select" and options.select)
            sources = [*([] if replaced else sources), f"--{name}"]
            value = value if hasattr(options, field) else ctx.params[field]
        elif field == "extend_select" and options.select:
            sources = ["--select"] if sources else []
        if field == "exclude" and value is None:
            value = discovery.EXCLUDE
        if field == "python":
            value = probing.interpreter(config, options) if options.probe else options.python or value
        yield Setting(name, msgspec.to_builtins(value), ", ".join(sources) or "default")


def _of_the_command_line(ctx: click.Context, config: Config, options: Options) -> Iterator[Setting]:
    """What only an option says."""
    fields = Config.__struct_fields__
    for parameter in ctx.command.params:
        field = parameter.name or ""
        name = max(parameter.opts, key=len).removeprefix("--")
        if isinstance(parameter, click.Argument) or field in fields or name.startswith("show-"):
            continue
        source = f"--{name}" if _is_given(ctx, field) else "default"
        value = config.file if name == "config" else getattr(options, field, ctx.params.get(field))
        yield Setting(name, value, source)


def _is_given(ctx: click.Context, field: str) -> bool:
    return ctx.get_parameter_source(field) is ParameterSource.COMMANDLINE


def _text(row: Setting) -> str:
    if row.value is None:
        return _LEFT_OUT.get(row.name, "none")
    return escaped(json.dumps(row.value, ensure_ascii=False))
