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


def test_the_way_to_the_options_stands_before_all_else_but_what_it_is() -> None:
    paragraphs = [" ".join(text.split()) for text in shown().split("\n\n")]
    assert paragraphs[2] == "All options: statelint check --help"


def test_a_folder_of_caches_is_deleted_by_clean_and_filled_by_others() -> None:
    texts = {name: " ".join(shown(name).split()) for name in ("check", "show", "clean")}
    assert "--cache-dir FOLDER Delete the caches" in texts["clean"]
    assert all("--cache-dir FOLDER Keep what was found out here" in texts[name] for name in ("check", "show"))


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
