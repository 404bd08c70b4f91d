"""`statelint check`: lint files and folders, and run their probes."""

from __future__ import annotations

import click
import msgspec

from statelint import changes, config, linter
from statelint.cli.common import (
    CLEAN,
    EXAMPLES,
    FOUND,
    check_combination,
    check_folder,
    color_option,
    file_option,
    rules_option,
)
from statelint.cli.terminal import colours, put, say, write
from statelint.diagnostics import Severity
from statelint.options import Options
from statelint.report import FORMATS, Fixed, Look, Report, renderer
from statelint.report.statistics import FORMATS as STATISTICS
from statelint.report.statistics import renderer as statistics_renderer


@click.command("check", epilog=EXAMPLES)
@click.argument("paths", nargs=-1, type=click.Path(), metavar="[PATHS]...")
@rules_option("--select", "Run these rules only: codes, prefixes (SL1), names or ALL; comma-separated.")
@rules_option("--extend-select", "Run these rules too.")
@rules_option("--ignore", "Do not run these rules.")
@click.option(
    "--output-format",
    type=click.Choice(FORMATS),
    default="text",
    show_default=True,
    help="The form of the report.",
)
@file_option("--output-file", text="Write the report to FILE.")
@click.option("--no-probe", is_flag=True, help="Read the source only: run no code of the project.")
@file_option("--python", text="The interpreter to run probes under, which must have jax.", metavar="PYTHON")
@click.option(
    "--restore",
    type=click.Choice(["orbax", "flax"]),
    help="Take the states of probes through a real checkpoint of this library.",
)
@click.option("--measure", is_flag=True, help="Run the steps of probes for real, and report what they compile.")
@file_option("--config", "config_file", text="Read this file in place of the nearest pyproject.toml.")
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
@color_option
def command(
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
    check_combination(
        {"--fix": fix, "--diff": diff, "--add-ignore": add_ignore, "--write-baseline": write_baseline},
        {"--config": config_file is not None, "--isolated": isolated},
    )
    if statistics and output_format not in STATISTICS:
        raise click.UsageError(f"--statistics does not go with --output-format {output_format}")
    check_folder()
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
        say(f"statelint: warning: no Python files found under {', '.join(paths) or '.'}")
    look = Look(quiet=quiet, colour=colours(color, to_file=output_file is not None))
    render = statistics_renderer(output_format) if statistics else renderer(output_format)
    text = "".join(f"{line}\n" for line in render(report, look))
    if output_file is None:
        put(text)
    else:
        write(output_file, text)
    return CLEAN if exit_zero else _exit_code(report, fail_on or settings.fail_on)


def _show_fixes(made: changes.Changes, *, exit_zero: bool) -> int:
    """The diff, and beside it what it is."""
    put("".join(line for change in made.files for line in change.diff()))
    _say_refused(made, "cannot be fixed")
    if made.files:
        say(f"Would fix {_extent(made)}")
    return FOUND if made.files and not exit_zero else CLEAN


def _make_fixes(made: changes.Changes) -> Fixed:
    made.write()
    _say_refused(made, "cannot be fixed")
    return _extent(made)


def _silence(made: changes.Changes, *, exit_zero: bool) -> int:
    made.write()
    _say_refused(made, "cannot be ignored")
    put(f"Ignored {_extent(made)}\n")
    return FOUND if made.refused and not exit_zero else CLEAN


def _extent(made: changes.Changes) -> Fixed:
    return Fixed(len(made.settled), len(made.files))


def _say_refused(made: changes.Changes, what: str) -> None:
    for finding, reason in made.refused:
        at = finding.location
        say(f"statelint: warning: {at.path}:{at.line}:{at.column}: {finding.code} {what}: {reason}")


def _exit_code(report: Report, fail_on: str) -> int:
    least = Severity(fail_on).rank
    return FOUND if any(finding.severity.rank >= least for finding in report.diagnostics) else CLEAN
