"""The schema accepts what the configuration accepts, and refuses what it refuses for its shape."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import jsonschema
import pytest

from statelint import rules
from statelint.checks import PROBE_CHECKS, config_checks
from statelint.config import ConfigError, load
from statelint.schema import schema

ROOT = Path(__file__).parent.parent
SCHEMA = json.loads(json.dumps(schema(rules.names())))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)

VALUES = """
true
0
3
-1
90_000
1.5
1979-05-27
""
" "
"x"
"!"
"#x"
"lib/[!ab"
"lib/[ab].py"
"!keep"
"*_state"
"ALL"
"SL"
"SL10"
"SL9"
"SL8"
"SL101"
"SL1011"
"sl101"
"shared-buffer"
"shared-bufer"
"error"
"fatal"
"8GB"
"512 MiB"
"8 Gb"
"1.5e9B"
"train.step"
"train:step"
"pkg.train:Trainer.step"
"módulo:passo"
"a:b:c"
"1a:b"
[]
["x"]
[""]
["["]
["lib/*", "!keep"]
["lib/*", 3]
["SL1", "shared-buffer"]
["SL1", "SL8"]
[0, 1]
[0, -1]
[0, "state"]
[0, 1.5]
[true]
[{}]
[{step = "a:b", state = "a:c"}]
[{step = "a:b"}]
[{step = "a:b", state = "a:c", other = 1}]
{}
{x = 1}
{x = 0}
{x = "1"}
{x = ["SL1"]}
{x = ["SL8"]}
{x = "SL1"}
{SL1 = "error"}
{SL8 = "error"}
{SL1 = "fatal"}
{"[" = ["SL1"]}
{"" = ["SL1"]}
{"!tests/**" = ["SL1"]}
""".strip().split("\n")


def accepts(text: str, folder: Path) -> tuple[bool, bool]:
    """Whether the configuration, and whether the schema, takes this file."""
    file = folder / "pyproject.toml"
    file.write_text(text, encoding="utf-8")
    try:
        load(rules.names(), file=str(file))
    except ConfigError:
        read = False
    else:
        read = True
    return read, VALIDATOR.is_valid(tomllib.loads(text)["tool"]["statelint"])


def test_it_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$schema"] == jsonschema.Draft202012Validator.META_SCHEMA["$id"]


def test_every_key_has_a_description() -> None:
    for table, keys in ((SCHEMA, config_checks(rules.names())), (SCHEMA["$defs"]["ProbeTable"], PROBE_CHECKS)):
        assert list(table["properties"]) == list(keys)
        assert all(each["description"] for each in table["properties"].values())


@pytest.mark.parametrize("key", config_checks(rules.names()))
def test_keys_of_the_table(key: str, tmp_path: Path) -> None:
    told = {accepts(f"[tool.statelint]\n{key} = {value}\n", tmp_path) for value in VALUES}
    assert told == {(True, True), (False, False)}


@pytest.mark.parametrize("key", PROBE_CHECKS)
def test_keys_of_a_probe(key: str, tmp_path: Path) -> None:
    others = {"step": '"a:b"', "state": '"a:c"'}
    told = set()
    for value in VALUES:
        written = "".join(f"{name} = {each}\n" for name, each in {**others, key: value}.items())
        told.add(accepts(f"[[tool.statelint.probe]]\n{written}", tmp_path))
    assert told == {(True, True), (False, False)}


@pytest.mark.parametrize("spelled", ["per-file-ignores", "per_file_ignores", "per-file_ignores"])
def test_an_underscore_does_for_a_hyphen(spelled: str, tmp_path: Path) -> None:
    assert accepts(f'[tool.statelint]\n{spelled} = {{"a.py" = ["SL1"]}}\n', tmp_path) == (True, True)
    assert accepts(f'[tool.statelint]\n{spelled} = "SL1"\n', tmp_path) == (False, False)


@pytest.mark.parametrize(
    "wrong",
    [
        "[tool]\nstatelint = 3",
        "[tool.statelint]\nselct = []",
        "[tool.statelint]\nextend-select = []\nextend_select = []",
        "[tool.statelint]\nline = 3",
        "[tool.statelint]\nroot = '.'",
        "[tool.statelint]\nfile = 'x'",
        "[tool.statelint.probe]\nstep = 'a:b'\nstate = 'a:c'",
        "[[tool.statelint.probe]]\nstep = 'a:b'",
        "[[tool.statelint.probe]]\nstep = 'a:b'\nstate = 'a:c'\nline = 3",
        "[[tool.statelint.probe]]\nstep = 'a:b'\nstate = 'a:c'\nstate-args = []\nstate_args = []",
    ],
)
def test_wrong_tables(wrong: str, tmp_path: Path) -> None:
    assert accepts(wrong, tmp_path) == (False, False)


SHOWN = [
    (path.name, block)
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    for block in re.findall(r"```toml\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)
    if "tool.statelint" in block
]


@pytest.mark.parametrize(("page", "block"), SHOWN)
def test_what_the_pages_show_is_accepted(page: str, block: str, tmp_path: Path) -> None:
    assert accepts(block, tmp_path) == (True, True)


def test_projects_here_are_accepted(tmp_path: Path) -> None:
    files = [path for path in (ROOT / "fixtures").rglob("pyproject.toml") if "statelint" in path.read_text()]
    assert files
    for path in files:
        assert accepts(path.read_text(encoding="utf-8"), tmp_path) == (True, True)


def test_the_published_copy_is_up_to_date() -> None:
    command = [sys.executable, "-m", "statelint", "schema"]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert json.loads(printed) == SCHEMA
    assert (ROOT / "docs/statelint.schema.json").read_text(encoding="utf-8") == printed, "run `make docs`"
