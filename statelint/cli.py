"""The command line and its exit codes, nothing else."""

from __future__ import annotations

import difflib
import io
import json
import os
import shutil
import sys
import traceback
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TextIO

import click

from statelint import __version__, config, linter, rules
from statelint.diagnostics import Severity
from statelint.report import FORMATS, Look, Report, renderer

CLEAN, FOUND, FAILED, INTERRUPTED = 0, 1, 2, 130
"""Exit codes: nothing found, something found, statelint could not do its work, Ctrl-C."""

EXAMPLES = """\b
Examples:
  statelint                        lint the current folder and run its probes
  statelint --no-probe train.py    read the source only; runs none of it
  statelint --select SL4,SL101 .   only some rules: codes, prefixes or names
  statelint rule SL401             what a rule is about, and how to mend it
"""


class _DefaultGroup(click.Group):
    """A group whose first command need not be named: `statelint PATHS` is `statelint check PATHS`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        own = {*self.commands, "--help", "-h", "--version"}
        return super().parse_args(ctx, args if args and args[0] in own else ["check", *args])


_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


@click.group(
    cls=_DefaultGroup,
    context_settings=_SETTINGS,
    options_metavar="[check] [OPTIONS]",
    subcommand_metavar="[PATHS]...",
)
@click.version_option(__version__, message="%(prog)s %(version)s", prog_name="statelint")
def statelint() -> None:
    """Find what makes JAX compile again, refuse a carry or fail a donation, before the first run.

    statelint reads the source, and traces the steps that are declared as probes. `statelint check --help`
    lists the options.
    """


statelint.epilog = EXAMPLES


Options = Callable[[Callable[..., int]], Callable[..., int]]
"""What click's option makes: a decorator of a command."""


def _split(ctx: click.Context, parameter: click.Parameter, values: Iterable[str]) -> tuple[str, ...]:
    return tuple(text.strip() for value in values for text in value.split(",") if text.strip())


def _rules_option(name: str, text: str) -> Options:
    return click.option(name, multiple=True, metavar="RULES", callback=_split, help=text)


@statelint.command(epilog=EXAMPLES)
@click.argument("paths", nargs=-1, type=click.Path(), metavar="[PATHS]...")
@_rules_option("--select", "Run these rules only: codes, prefixes (SL1), names or ALL; comma-separated.")
@_rules_option("--extend-select", "Run these rules too.")
@_rules_option("--ignore", "Do not run these rules.")
@click.option(
    "--output-format",
    type=click.Choice(FORMATS),
    default="text",
    show_default=True,
    help="The form of the report.",
)
@click.option("--output-file", metavar="FILE", help="Write the report to FILE.")
@click.option("--no-probe", is_flag=True, help="Read the source only: run no code of the project.")
@click.option("--python", metavar="PYTHON", help="The interpreter to run probes under, which must have jax.")
@click.option("--config", "config_file", metavar="FILE", help="Read this file in place of the nearest pyproject.toml.")
@click.option("--isolated", is_flag=True, help="Read no configuration.")
@click.option("--exit-zero", is_flag=True, help="Exit 0 even when something is found.")
@click.option(
    "--fail-on",
    type=click.Choice([severity.value for severity in reversed(Severity)]),
    help="The least severity that makes the exit code 1.  [default: warning]",
)
@click.option("-q", "--quiet", is_flag=True, help="Print one line for a finding, and nothing else.")
@click.option(
    "--color",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    show_default=True,
    help="Colours.",
)
def check(
    paths: tuple[str, ...],
    select: tuple[str, ...],
    extend_select: tuple[str, ...],
    ignore: tuple[str, ...],
    output_format: str,
    output_file: str | None,
    no_probe: bool,
    python: str | None,
    config_file: str | None,
    isolated: bool,
    exit_zero: bool,
    fail_on: str | None,
    quiet: bool,
    color: str,
) -> int:
    """Lint files and folders; the current folder when none is named.

    Exit codes: 0 nothing found, 1 something found, 2 statelint could not do its work.
    """
    settings = config.load(linter.rule_names(), start=paths[0] if paths else ".", file=config_file, isolated=isolated)
    options = linter.Options(
        select=select, extend_select=extend_select, ignore=ignore, probe=not no_probe, python=python
    )
    report = linter.run(paths, settings, options)
    if report.files == 0:
        click.echo(f"statelint: warning: no Python files found under {', '.join(paths) or '.'}", err=True)
    look = Look(quiet=quiet, colour=_colours(color, to_file=output_file is not None))
    text = "".join(f"{line}\n" for line in renderer(output_format)(report, look))
    if output_file is None:
        _print(text)
    else:
        _write(output_file, text)
    return CLEAN if exit_zero else _exit_code(report, fail_on or settings.fail_on)


def _exit_code(report: Report, fail_on: str) -> int:
    least = Severity(fail_on).rank
    return FOUND if any(finding.severity.rank >= least for finding in report.diagnostics) else CLEAN


def _colours(choice: str, *, to_file: bool) -> bool:
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return not to_file and sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def _write(file: str, text: str) -> None:
    """Write a file whole or not at all; what is no regular file (a device, a pipe) is written to as it is."""
    target = os.path.realpath(file)
    exists = os.path.exists(target)
    temporary = f"{target}.{os.getpid()}.tmp"
    destination = target if exists and not os.path.isfile(target) else temporary
    try:
        with open(destination, "w", encoding="utf-8", errors="backslashreplace") as stream:
            stream.write(text)
        if destination == temporary:
            if exists:
                shutil.copymode(target, temporary)
            os.replace(temporary, target)
    except OSError as error:
        raise linter.UsageError([f"--output-file: {file}: cannot be written: {error.strerror}"]) from None


@statelint.command()
@click.argument("name", required=False, metavar="[CODE|NAME]")
@click.option(
    "--output-format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="The form.",
)
def rule(name: str | None, output_format: str) -> int:
    """Explain a rule, or list all of them."""
    found = list(rules.load().values()) if name is None else [_rule_named(name)]
    if output_format == "json":
        _print(json.dumps([_rule_as_json(module) for module in found], indent=2) + "\n")
    elif name is None:
        _print("".join(f"{line}\n" for line in _rule_table(found)))
    else:
        _print_page(found[0])
    return CLEAN


def _rule_named(name: str) -> rules.RuleModule:
    by_name = {module.rule.name: module for module in rules.load().values()}
    module = rules.load().get(name.upper()) or by_name.get(name.lower())
    if module is None:
        close = difflib.get_close_matches(name, [*rules.load(), *by_name], n=1)
        raise click.UsageError(f"unknown rule {name!r}" + (f" (did you mean {close[0]}?)" if close else ""))
    return module


def _rule_as_json(module: rules.RuleModule) -> dict[str, Any]:
    return {
        "code": module.rule.code,
        "name": module.rule.name,
        "severity": module.rule.severity.value,
        "by": module.by,
        "default": module.rule.default,
        "since": module.rule.since,
        "summary": module.summary,
        "page": module.page,
    }


def _rule_table(modules: Sequence[rules.RuleModule]) -> Iterable[str]:
    rows = [("code", "name", "by", "severity", "summary")]
    for module in modules:
        summary = module.summary if module.rule.default else f"(pedantic) {module.summary}"
        rows.append((module.rule.code, module.rule.name, module.by, module.rule.severity.value, summary))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
    yield ""
    yield "by: S reads the source, P traces a probe. (pedantic): off unless selected."


def _print_page(module: rules.RuleModule) -> None:
    page = f"# {module.rule.code}: {module.rule.name}\n\n{module.page}\n"
    if not _colours("auto", to_file=False):
        _print(page)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    screen = Console(file=io.StringIO(), force_terminal=True, width=min(shutil.get_terminal_size().columns, 100))
    with screen.capture() as captured:
        screen.print(Markdown(page))
    _print(captured.get())


# --- the process ----------------------------------------------------------------------------------------


def main(arguments: Sequence[str]) -> int:
    """Run a command line, and give its exit code. No error of the user's ends in a traceback."""
    warnings.simplefilter("ignore")  # what Python has to say of the linted code is not ours to print
    _prepare_streams()
    try:
        return int(statelint.main(list(arguments), prog_name="statelint", standalone_mode=False) or CLEAN)
    except click.ClickException as error:
        return _fail([error.format_message()])
    except (config.ConfigError, linter.UsageError) as error:
        return _fail(error.lines)
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except Exception as error:  # exit code 1, which Python gives a traceback, would say that something was found
        at = traceback.extract_tb(error.__traceback__)[-1]
        return _fail([f"internal error at {at.filename}:{at.lineno}: {type(error).__name__}: {error}"])
    finally:
        _close(sys.stdout)


def _prepare_streams() -> None:
    """Make sure that there is something to write to, and that it takes every character."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed before we began
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _fail(lines: Iterable[str]) -> int:
    for line in lines:
        print(f"statelint: error: {' '.join(line.split())}", file=sys.stderr)
    return FAILED


def _print(text: str) -> None:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        _close(sys.stdout)
    except OSError as error:
        raise linter.UsageError([f"the report cannot be written: {error.strerror}"]) from None


def _close(stream: TextIO) -> None:
    """Flush; when nobody takes it, let what is left go nowhere, also at the interpreter's end."""
    try:
        stream.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
