"""`statelint check`: lint files and folders, and run their probes."""

from __future__ import annotations

import click
import msgspec

from statelint import baseline, config, inputs, linter, reading, rules
from statelint.cli import listing, meter, stdin, watching
from statelint.cli.common import (
    CLEAN,
    EXAMPLES,
    FOUND,
    Sectioned,
    cache_dir_option,
    check_combination,
    check_folder,
    color_option,
    compile_option,
    config_option,
    file_option,
    isolated_option,
    no_cache_option,
    python_option,
    rules_option,
)
from statelint.cli.printed import say_printed, verbose_option
from statelint.cli.terminal import colours, put, say, write
from statelint.config import Config
from statelint.diagnostics import Severity
from statelint.options import Options
from statelint.report import FORMATS, Look, Report, renderer
from statelint.report.statistics import FORMATS as STATISTICS
from statelint.report.statistics import renderer as statistics_renderer

SECTIONS = {
    "Rules": ("select", "extend_select", "ignore"),
    "Probes": ("no_probe", "python", "restore", "compile", "measure"),
    "Fixes": ("fix", "unsafe_fixes", "diff", "add_ignore", "write_baseline"),
    "Output": ("output_format", "output_file", "statistics", "quiet", "verbose", "color", "exit_zero", "fail_on"),
    "Files": ("config_file", "isolated", "stdin_filename", "show_files", "show_settings"),
    "Misc": ("watch", "no_cache", "cache_dir", "jobs", "help"),
}
"""The options by what they are about."""


@click.command(
    "check",
    cls=Sectioned,
    sections=SECTIONS,
    short_help="Lint files and folders, and run their probes.",
    epilog=EXAMPLES,
)
@click.argument("paths", nargs=-1, type=click.Path(), metavar="[PATHS]...")
@rules_option("--select", "Run these rules only: codes, prefixes (SL1), names or ALL; comma-separated.")
@rules_option("--extend-select", "Run these rules too.")
@rules_option("--ignore", "Do not run these rules.")
@click.option(
    "--output-format",
    type=click.Choice(FORMATS),
    default="text",
    show_default=True,
    metavar="FORMAT",
    help=f"The form of the report: {', '.join(FORMATS)}.",
)
@file_option("--output-file", text="Write the report to FILE.")
@file_option(
    "--stdin-filename", text="Lint standard input as if it stood in FILE, without probes; --fix prints it fixed."
)
@click.option("--no-probe", is_flag=True, help="Read the source only: run no code of the project.")
@python_option
@click.option(
    "--restore",
    type=click.Choice(["orbax", "flax"]),
    help="Take the states of probes through a real checkpoint of this library.",
)
@compile_option
@click.option("--measure", is_flag=True, help="Run the steps of probes for real, and report what they compile.")
@config_option
@isolated_option
@no_cache_option
@cache_dir_option("Keep what was found out here, not in .statelint_cache beside the configuration.")
@click.option(
    "-j",
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    help="Processes that read files.  [default: all processors]",
)
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
@verbose_option
@color_option
@click.option("--watch", is_flag=True, help="Check again whenever a file or the configuration changes.")
@click.option("--show-files", is_flag=True, help="List the files that would be linted, and lint none.")
@click.option("--show-settings", is_flag=True, help="List all settings, each with where it comes from.")
def command(
    paths: tuple[str, ...],
    select: tuple[str, ...],
    extend_select: tuple[str, ...],
    ignore: tuple[str, ...],
    output_format: str,
    output_file: str | None,
    stdin_filename: str | None,
    no_probe: bool,
    python: str | None,
    restore: str | None,
    compile: bool,
    measure: bool,
    config_file: str | None,
    isolated: bool,
    no_cache: bool,
    cache_dir: str | None,
    jobs: int | None,
    fix: bool,
    unsafe_fixes: bool,
    diff: bool,
    add_ignore: bool,
    write_baseline: bool,
    statistics: bool,
    exit_zero: bool,
    fail_on: str | None,
    quiet: bool,
    verbose: bool,
    color: str,
    watch: bool,
    show_files: bool,
    show_settings: bool,
) -> int:
    """Lint files and folders; the current folder when none is named, standard input for `-`.

    Exit codes: 0 nothing found, 1 something found, 2 statelint could not do its work.
    """
    piped = stdin.option(paths, stdin_filename)
    alone = {
        "--show-files": show_files,
        "--show-settings": show_settings,
        str(piped): piped is not None,
        "--diff": diff,
        "--add-ignore": add_ignore,
        "--write-baseline": write_baseline,
    }
    check_combination(
        {"--fix": fix, "--diff": diff, "--add-ignore": add_ignore, "--write-baseline": write_baseline},
        {"--config": config_file is not None, "--isolated": isolated},
        {str(piped): piped is not None, "--add-ignore": add_ignore},
        {str(piped): piped is not None, "--write-baseline": write_baseline},
        *({name: True, "--watch": watch} for name, given in alone.items() if given),
        {"--show-files": show_files, "--show-settings": show_settings},
    )
    if unsafe_fixes and not (fix or diff):
        raise click.UsageError("--unsafe-fixes goes with --fix or --diff")
    if statistics and output_format not in STATISTICS:
        raise click.UsageError(f"--statistics does not go with --output-format {output_format}")
    if (show_files or show_settings) and output_format not in listing.FORMATS:
        shown = "--show-files" if show_files else "--show-settings"
        raise click.UsageError(f"{shown} does not go with --output-format {output_format}")
    check_folder()
    buffer = stdin.take(stdin_filename) if piped else None
    if buffer is not None:
        paths = (buffer[0],)
    options = Options(
        select=select,
        extend_select=extend_select,
        ignore=ignore,
        # A probe imports what is saved, which may be another program than the buffer.
        probe=not no_probe and buffer is None,
        python=python,
        renew_baseline=write_baseline,
        restore=restore,
        compile=compile,
        measure=measure,
        cache=not no_cache,
        cache_dir=cache_dir,
        jobs=jobs or reading.processors(),
        buffer=buffer,
    )

    def load() -> Config:
        start = paths[0] if paths else "."
        return config.load(rules.names(), start=start, file=config_file, isolated=isolated)

    def emit(text: str, *, beside: bool = False) -> None:
        if output_file is None:
            put(text, beside=beside)
        else:
            write(output_file, text)

    def check(settings: Config) -> int:
        asked, fixed = options, None
        if fix or diff:
            with meter.progress(quiet=quiet) as progress:
                from statelint import changes  # much to import, for when something is to be written

                made = changes.fix(paths, settings, options, unsafe=unsafe_fixes, progress=progress)
            from statelint.cli import mending

            if diff:
                return mending.show(made, exit_zero=exit_zero)
            fixed, asked = mending.make(made, options)
        with meter.progress(quiet=quiet) as progress:
            report = msgspec.structs.replace(linter.run(paths, settings, asked, progress), fixed=fixed)
        if write_baseline and not quiet:
            _say_baseline(settings)
        for probe in report.probes if verbose else ():
            say_printed(probe.name, probe.printed)
        if add_ignore:
            from statelint.cli import mending

            return mending.silence(paths, settings, report, exit_zero=exit_zero)
        if report.files == 0:
            _say_empty(paths)
        exit_code = CLEAN if exit_zero else _exit_code(report, fail_on or settings.fail_on)
        report = msgspec.structs.replace(report, exit_code=exit_code)
        beside = fix and buffer is not None
        look = Look(quiet=quiet, colour=colours(color, to_file=beside or output_file is not None))
        render = statistics_renderer(output_format) if statistics else renderer(output_format)
        emit("".join(f"{line}\n" for line in render(report, look)), beside=beside)
        return exit_code

    if show_files:
        found = [buffer[0]] if buffer else inputs.search(paths, load()).files
        if not found:
            _say_empty(paths)
        emit(listing.files(found, output_format))
        return CLEAN
    if show_settings:
        emit(listing.settings(click.get_current_context(), load(), options, output_format))
        return CLEAN
    if watch:
        watching.watch(paths, load, check, quiet=quiet)
    return check(load())


def _say_empty(paths: tuple[str, ...]) -> None:
    say(f"statelint: warning: no Python files found under {', '.join(paths) or '.'}")


def _say_baseline(settings: Config) -> None:
    say(f"Wrote {config.shown(baseline.path(settings))}")
    if settings.baseline is None:
        say(f'It holds once [tool.statelint] says: baseline = "{baseline.NAME}"')


def _exit_code(report: Report, fail_on: str) -> int:
    return FOUND if any(finding.fails(fail_on) for finding in report.diagnostics) else CLEAN
