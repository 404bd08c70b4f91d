"""The command line and its exit codes, nothing else."""

from __future__ import annotations

import io
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import TextIO

import click
import msgspec

from statelint import __version__, catalogue, changes, config, files, linter, showing
from statelint.diagnostics import Severity
from statelint.model.trace import ProbeFailure
from statelint.options import Options, UsageError
from statelint.report import FORMATS, Fixed, Look, Report, renderer, state, state_json
from statelint.report.base import escaped
from statelint.report.statistics import FORMATS as STATISTICS
from statelint.report.statistics import renderer as statistics_renderer

CLEAN, FOUND, FAILED, INTERRUPTED = 0, 1, 2, 130
"""Exit codes: nothing found, something found, statelint could not do its work, Ctrl-C."""

EXAMPLES = """\b
Examples:
  statelint                        lint the current folder and run its probes
  statelint --no-probe train.py    read the source only; runs none of it
  statelint --select SL4,SL101 .   only some rules: codes, prefixes or names
  statelint --diff .               what --fix would write
  statelint show train.py          the state of its probes, leaf by leaf, and what it weighs
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


Option = Callable[[Callable[..., int]], Callable[..., int]]
"""What click's option makes: a decorator of a command."""


def _split(ctx: click.Context, parameter: click.Parameter, values: Iterable[str]) -> tuple[str, ...]:
    named: list[str] = []
    for value in values:
        texts = [text.strip() for text in value.split(",") if text.strip()]
        if not texts:
            raise click.UsageError(f"{parameter.opts[0]}: {value!r} names no rule")
        named += texts
    return tuple(named)


def _rules_option(name: str, text: str) -> Option:
    return click.option(name, multiple=True, metavar="RULES", callback=_split, help=text)


def _not_empty(ctx: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    if value == "":
        raise click.UsageError(f"{parameter.opts[0]}: '' names no file")
    return value


def _file_option(*names: str, text: str, metavar: str = "FILE") -> Option:
    return click.option(*names, metavar=metavar, callback=_not_empty, help=text)


_color_option = click.option(
    "--color", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True, help="Colours."
)


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
@_file_option("--output-file", text="Write the report to FILE.")
@click.option("--no-probe", is_flag=True, help="Read the source only: run no code of the project.")
@_file_option("--python", text="The interpreter to run probes under, which must have jax.", metavar="PYTHON")
@click.option(
    "--restore",
    type=click.Choice(["orbax", "flax"]),
    help="Take the states of probes through a real checkpoint of this library.",
)
@click.option("--measure", is_flag=True, help="Run the steps of probes for real, and report what they compile.")
@_file_option("--config", "config_file", text="Read this file in place of the nearest pyproject.toml.")
@click.option("--isolated", is_flag=True, help="Read no configuration.")
@click.option("--fix", is_flag=True, help="Make the fixes that are safe, and report what remains.")
@click.option("--unsafe-fixes", is_flag=True, help="With --fix or --diff: make the other fixes too.")
@click.option("--diff", is_flag=True, help="Show the fixes as a diff, and write nothing.")
@click.option("--add-ignore", is_flag=True, help="Write comments that silence what is found.")
@click.option("--write-baseline", is_flag=True, help="Put up with what is found: write it to the baseline.")
@click.option("--statistics", is_flag=True, help="Count the findings of each rule in place of showing them.")
@click.option("--exit-zero", is_flag=True, help="Exit 0 even when something is found.")
@click.option(
    "--fail-on",
    type=click.Choice([severity.value for severity in reversed(Severity)]),
    help="The least severity that makes the exit code 1.  [default: warning]",
)
@click.option("-q", "--quiet", is_flag=True, help="Print one line for a finding, and nothing else.")
@_color_option
def check(
    paths: tuple[str, ...],
    select: tuple[str, ...],
    extend_select: tuple[str, ...],
    ignore: tuple[str, ...],
    output_format: str,
    output_file: str | None,
    no_probe: bool,
    python: str | None,
    restore: str | None,
    measure: bool,
    config_file: str | None,
    isolated: bool,
    fix: bool,
    unsafe_fixes: bool,
    diff: bool,
    add_ignore: bool,
    write_baseline: bool,
    statistics: bool,
    exit_zero: bool,
    fail_on: str | None,
    quiet: bool,
    color: str,
) -> int:
    """Lint files and folders; the current folder when none is named.

    Exit codes: 0 nothing found, 1 something found, 2 statelint could not do its work.
    """
    _check_combination(
        {"--fix": fix, "--diff": diff, "--add-ignore": add_ignore, "--write-baseline": write_baseline},
        {"--config": config_file is not None, "--isolated": isolated},
    )
    if statistics and output_format not in STATISTICS:
        raise click.UsageError(f"--statistics does not go with --output-format {output_format}")
    _check_folder()
    settings = config.load(linter.rule_names(), start=paths[0] if paths else ".", file=config_file, isolated=isolated)
    options = Options(
        select=select,
        extend_select=extend_select,
        ignore=ignore,
        probe=not no_probe,
        python=python,
        renew_baseline=write_baseline,
        restore=restore,
        measure=measure,
    )
    if diff:
        return _show_fixes(changes.fix(paths, settings, options, unsafe=unsafe_fixes), exit_zero=exit_zero)
    fixed = _make_fixes(changes.fix(paths, settings, options, unsafe=unsafe_fixes)) if fix else None
    report = msgspec.structs.replace(linter.run(paths, settings, options), fixed=fixed)
    if add_ignore:
        return _silence(changes.ignore(paths, settings, report), exit_zero=exit_zero)
    if report.files == 0:
        _say(f"statelint: warning: no Python files found under {', '.join(paths) or '.'}")
    look = Look(quiet=quiet, colour=_colours(color, to_file=output_file is not None))
    render = statistics_renderer(output_format) if statistics else renderer(output_format)
    text = "".join(f"{line}\n" for line in render(report, look))
    if output_file is None:
        _print(text)
    else:
        _write(output_file, text)
    return CLEAN if exit_zero else _exit_code(report, fail_on or settings.fail_on)


@statelint.command()
@click.argument("targets", nargs=-1, metavar="[PATH | MODULE:NAME]...")
@click.option(
    "--output-format", type=click.Choice(["text", "json"]), default="text", show_default=True, help="The form."
)
@click.option("--all", "everything", is_flag=True, help="Show each leaf, also where many are alike.")
@_file_option("--python", text="The interpreter to run probes under, which must have jax.", metavar="PYTHON")
@_file_option("--config", "config_file", text="Read this file in place of the nearest pyproject.toml.")
@click.option("--isolated", is_flag=True, help="Read no configuration.")
@_color_option
def show(
    targets: tuple[str, ...],
    output_format: str,
    everything: bool,
    python: str | None,
    config_file: str | None,
    isolated: bool,
    color: str,
) -> int:
    """Show the state of each probe, leaf by leaf, and what it weighs.

    Probes are those declared in files and folders, the current one when nothing is named, and those named as
    module:name. Exit codes: 0 all were traced, 1 some could not be, 2 there is nothing to show.
    """
    _check_combination({"--config": config_file is not None, "--isolated": isolated})
    _check_folder()
    start = next((target for target in targets if not showing.is_reference(target)), ".")
    settings = config.load(linter.rule_names(), start=start, file=config_file, isolated=isolated)
    outcomes = showing.show(targets, settings, Options(python=python))
    look = {"colour": _colours(color, to_file=False), "fold": sys.stdout.isatty()}
    _print(state_json.as_json(outcomes) if output_format == "json" else state.as_text(outcomes, everything, **look))
    return FOUND if any(isinstance(outcome, ProbeFailure) for outcome in outcomes) else CLEAN


def _check_combination(*groups: dict[str, bool]) -> None:
    """At most one option of each group may be given."""
    for group in groups:
        given = [name for name, is_given in group.items() if is_given]
        if len(given) > 1 and given != ["--fix", "--diff"]:
            raise click.UsageError(f"{given[0]} does not go with {given[1]}")


def _check_folder() -> None:
    """The current folder, which all paths are shown relative to, may be gone."""
    try:
        os.getcwd()
    except OSError as error:
        raise UsageError([f"the current folder cannot be read: {error.strerror}"]) from None


def _show_fixes(made: changes.Changes, *, exit_zero: bool) -> int:
    """The diff, and beside it what it is."""
    _print("".join(line for change in made.files for line in change.diff()))
    _say_refused(made, "cannot be fixed")
    if made.files:
        _say(f"Would fix {_extent(made)}")
    return FOUND if made.files and not exit_zero else CLEAN


def _make_fixes(made: changes.Changes) -> Fixed:
    made.write()
    _say_refused(made, "cannot be fixed")
    return _extent(made)


def _silence(made: changes.Changes, *, exit_zero: bool) -> int:
    made.write()
    _say_refused(made, "cannot be ignored")
    _print(f"Ignored {_extent(made)}\n")
    return FOUND if made.refused and not exit_zero else CLEAN


def _extent(made: changes.Changes) -> Fixed:
    return Fixed(len(made.settled), len(made.files))


def _say_refused(made: changes.Changes, what: str) -> None:
    for finding, reason in made.refused:
        at = finding.location
        _say(f"statelint: warning: {at.path}:{at.line}:{at.column}: {finding.code} {what}: {reason}")


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
    try:
        files.write(file, text.encode("utf-8", errors="backslashreplace"))
    except BrokenPipeError:
        pass  # whoever reads it has read enough
    except OSError as error:
        raise UsageError([f"--output-file: {file}: cannot be written: {error.strerror}"]) from None


@statelint.command()
@click.argument("name", required=False, metavar="[CODE|PREFIX|NAME]")
@click.option(
    "--output-format", type=click.Choice(["text", "json"]), default="text", show_default=True, help="The form."
)
def rule(name: str | None, output_format: str) -> int:
    """Explain a rule, or list all of them, or those of a prefix."""
    found = catalogue.named(name or "ALL")
    if output_format == "json":
        _print(catalogue.as_json(found))
    elif len(found) > 1:
        _print(catalogue.table(found))
    else:
        _print(catalogue.page(found[0], colour=_colours("auto", to_file=False)))
    return CLEAN


# --- the process ----------------------------------------------------------------------------------------


def main(arguments: Sequence[str]) -> int:
    """Run a command line, and give its exit code. No error of the user's ends in a traceback."""
    warnings.simplefilter("ignore")  # what Python has to say of the linted code is not ours to print
    _prepare_streams()
    try:
        return int(statelint.main(list(arguments), prog_name="statelint", standalone_mode=False) or CLEAN)
    except click.ClickException as error:
        return _fail([_joined(error.format_message())])
    except (config.ConfigError, UsageError) as error:
        return _fail(error.lines)
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except SystemExit:  # so click ends when nobody takes its help
        return CLEAN
    except OSError as error:
        what = f"{error.filename}: cannot be read or written" if error.filename else "the output cannot be written"
        return _fail([f"{what}: {error.strerror}"])
    except Exception as error:  # exit code 1, which Python gives a traceback, would say that something was found
        at = traceback.extract_tb(error.__traceback__)[-1]
        return _fail([_joined(f"internal error at {at.filename}:{at.lineno}: {type(error).__name__}: {error}")])
    finally:
        _close(sys.stdout)
        _close(sys.stderr)


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
        _say(f"statelint: error: {line}")
    return FAILED


def _joined(text: str) -> str:
    return " ".join(text.split())


def _say(line: str) -> None:
    """A line beside the report. Where nobody takes it, it is lost: the exit code has the last word."""
    try:
        print(escaped(line), file=sys.stderr, flush=True)
    except OSError:
        _close(sys.stderr)


def _print(text: str) -> None:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        _close(sys.stdout)
    except OSError as error:
        raise UsageError([f"the report cannot be written: {error.strerror}"]) from None


def _close(stream: TextIO) -> None:
    """Flush; when nobody takes it, let what is left go nowhere, also at the interpreter's end."""
    try:
        stream.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
