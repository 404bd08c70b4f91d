"""The linters that statelint is measured against: how they are installed, and how they are run.

Each runs its default rules, reads no settings but empty ones, and keeps no cache unless it is given one.
"""

from __future__ import annotations

import subprocess
import sys
import venv
from collections.abc import Iterable
from pathlib import Path

VERSIONS = {"ruff": "0.17.6", "flake8": "7.5.0", "fixit": "2.2.1", "pylint": "4.1.4", "jaxlint": "0.1.0a1"}

Command = tuple[str, ...]


def statelint(*arguments: str | Path) -> Command:
    """`statelint check` of the source alone. Without -P, Python would look for modules among the linted code."""
    options = ("check", "--isolated", "--no-probe", "--output-format", "concise")
    return (sys.executable, "-P", "-m", "statelint", *options, *map(str, arguments))


class Peers:
    """A virtual environment that holds them.

    Args:
        folder: where it is, or is made.
    """

    def __init__(self, folder: Path) -> None:
        self.bin = folder / "bin"
        record = folder / "versions.txt"
        wanted = "\n".join(f"{name}=={version}" for name, version in VERSIONS.items())
        if not record.exists() or record.read_text() != wanted:
            venv.create(folder, clear=True, with_pip=True)
            pip = [str(self.bin / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            subprocess.run([*pip, *wanted.split("\n")], check=True)
            record.write_text(wanted)
        # Tools that would look for settings are given these.
        self.empty = folder / "empty"
        self.empty.mkdir(exist_ok=True)
        for name in ("fixit.toml", "jaxlint.toml", "pylintrc"):
            (self.empty / name).touch()

    def ruff(self, *arguments: str | Path) -> Command:
        """`ruff check`, in the form that takes it the least to print."""
        return self._command("ruff", "check", "--isolated", "--output-format", "concise", *arguments)

    def flake8(self, *arguments: str | Path) -> Command:
        """flake8 over all cores, which is its default."""
        return self._command("flake8", "--isolated", *arguments)

    def fixit(self, *arguments: str | Path) -> Command:
        """fixit over all cores, which is its default."""
        return self._command("fixit", "--quiet", "--config-file", self.empty / "fixit.toml", "lint", *arguments)

    def pylint(self, *arguments: str | Path) -> Command:
        """Pylint over all cores."""
        options = ("--recursive", "y", "--persistent", "n", "--jobs", "0", "--rcfile", self.empty / "pylintrc")
        return self._command("pylint", "--exit-zero", *options, *arguments)

    def jaxlint(self, *arguments: str | Path) -> Command:
        """Jaxlint over all cores, which is its default."""
        options = ("--format", "compact", "--config", self.empty / "jaxlint.toml")
        return self._command("jaxlint", "check", *options, *arguments)

    def survivors_of_jaxlint(self, files: Iterable[Path]) -> list[Path]:
        """The files that jaxlint does not crash on; one that it does ends its whole run."""
        script = Path(__file__).with_name("jaxlint_survivors.py")
        command = [str(self.bin / "python"), str(script), str(self.empty)]
        names = "\n".join(map(str, files))
        run = subprocess.run(command, input=names, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        run.check_returncode()
        return [Path(line) for line in run.stdout.splitlines()]

    def _command(self, tool: str, *arguments: str | Path) -> Command:
        return (str(self.bin / tool), *map(str, arguments))
