"""What `--help` shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from statelint.cli import COMMANDS
from statelint.cli.check import SECTIONS, command


def shown(*arguments: str) -> str:
    env = {**os.environ, "COLUMNS": "80"}
    run = [sys.executable, "-m", "statelint", *arguments, "--help"]
    return subprocess.run(run, env=env, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("arguments", [(), *((name,) for name in COMMANDS)], ids=" ".join)
def test_it_fits_into_80_columns(arguments: tuple[str, ...]) -> None:
    text = shown(*arguments)
    assert [line for line in text.splitlines() if len(line) > 80] == []


def test_every_command_is_listed_with_a_whole_sentence() -> None:
    _, _, commands = shown().partition("Commands:\n")
    listed = re.findall(r"^  (\w+) +(\S.*)$", commands.split("\n\n")[0], re.MULTILINE)
    assert [name for name, _ in listed] == list(COMMANDS)
    assert [line for _, line in listed if not line.endswith(".") or line.endswith("...")] == []


def test_every_option_of_check_stands_in_the_section_that_names_it() -> None:
    sections = dict(re.findall(r"^(\w+):\n((?:  .*\n)+)", shown("check"), re.MULTILINE))
    assert list(sections) == list(SECTIONS)
    for title, names in SECTIONS.items():
        options = {option.name: option.opts for option in command.params}
        long = {max(options.get(name, [f"--{name}"]), key=len) for name in names}
        assert set(re.findall(r"^  (?:-\w, )?(--[\w-]+)", sections[title], re.MULTILINE)) == long
    named = [name for names in SECTIONS.values() for name in names]
    assert len(named) == len(set(named))
