"""The command line: one command a file, and how a run ends."""

from __future__ import annotations

import importlib
import sys
import traceback
import warnings
from collections.abc import Iterable, Sequence

import click
from click.shell_completion import CompletionItem

from statelint import __version__, config
from statelint.cli.common import CLEAN, EXAMPLES, FAILED, INTERRUPTED
from statelint.cli.terminal import close, prepare_streams, say
from statelint.options import UsageError

COMMANDS = ("check", "show", "rule", "schema", "editor", "completion", "clean")
"""Each is the module of its name in this folder, which holds ``command``. It is imported when it is asked for."""


class _Group(click.Group):
    """A group whose first command need not be named: `statelint PATHS` is `statelint check PATHS`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        own = {*COMMANDS, "--help", "-h", "--version"}
        is_whole = (args and args[0] in own) or (ctx.resilient_parsing and not args)
        return super().parse_args(ctx, args if is_whole else ["check", *args])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """What a shell offers for the first word: a command, or what may follow `check`."""
        check = self.get_command(ctx, "check")
        assert check is not None
        options = check.shell_complete(ctx, incomplete) if incomplete.startswith("-") else []
        # Bash forgets what comes before a file.
        return [CompletionItem(incomplete, type="file"), *super().shell_complete(ctx, incomplete), *options]

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"{__name__}.{cmd_name}").command
        return command


_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


@click.group(
    cls=_Group,
    epilog=EXAMPLES,
    context_settings=_SETTINGS,
    options_metavar="[check] [OPTIONS]",
    subcommand_metavar="[PATHS]...",
)
@click.version_option(__version__, message="%(prog)s %(version)s", prog_name="statelint")
def statelint() -> None:
    """Find what makes JAX compile again, refuse a carry or fail a donation, before the first run.

    All options: statelint check --help

    statelint reads the source, and traces the steps that are declared as probes.
    """


def main(arguments: Sequence[str]) -> int:
    """Run a command line, and give its exit code. No error of the user's ends in a traceback."""
    warnings.simplefilter("ignore")  # what Python has to say of the linted code is not ours to print
    prepare_streams()
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
        close(sys.stdout)
        close(sys.stderr)


def _fail(lines: Iterable[str]) -> int:
    for line in lines:
        say(f"statelint: error: {line}")
    return FAILED


def _joined(text: str) -> str:
    return " ".join(text.split())
