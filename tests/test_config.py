from __future__ import annotations

from pathlib import Path

import pytest

from statelint.config import Config, ConfigError, load
from statelint.model.names import STATE_NAMES
from statelint.selectors import matching, resolve

RULES = {
    "SL101": "python-step-counter",
    "SL102": "python-scalar-leaf",
    "SL201": "static-number",
    "SL401": "shared-buffer",
}


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def read(text: str, name: str = "pyproject.toml", **options: str) -> Config:
    Path(name).write_text(text)
    return load(RULES, **options)


def errors(text: str, name: str = "pyproject.toml", **options: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        read(text, name, **options)
    return list(caught.value.lines)


def test_every_key(tmp_path: Path) -> None:
    config = read(
        """
[tool.statelint]
select = ["SL1", "ALL"]
extend-select = ["shared-buffer"]
ignore = ["SL102"]
per-file-ignores = {"tests/**" = ["SL4"]}
exclude = ["old"]
extend_exclude = ["gen/*.py"]
respect-gitignore = false
python = ".venv/bin/python"
probe-timeout = 5
state-names = ["*World"]
counter-names = ["tick"]
fail-on = "error"

[[tool.statelint.probe]]
step = "pkg.train:Trainer.step"
state = "pkg.train:init"

[[tool.statelint.probe]]
name = "second"
step = "a:b"
state = "a:c"
args = ["f32[3]", {x = ["i32[]", 2]}]
state_args = ["f32[]"]
state-argnum = 1
returns = [0, "state"]
x64 = true
env = {XLA_FLAGS = "--x"}
"""
    )
    assert config.select == ("SL1", "ALL")
    assert config.extend_select == ("shared-buffer",)
    assert config.ignore == ("SL102",)
    assert config.per_file_ignores == {"tests/**": ("SL4",)}
    assert (config.exclude, config.extend_exclude) == (("old",), ("gen/*.py",))
    assert config.respect_gitignore is False
    assert config.python == ".venv/bin/python"
    assert config.probe_timeout == 5.0
    assert (config.state_names, config.counter_names) == (("*World",), ("tick",))
    assert config.fail_on == "error"
    assert (config.file, config.root) == ("pyproject.toml", str(tmp_path))
    first, second = config.probe
    assert (first.name, first.line, first.state_argnum, first.returns) == ("step", 16, 0, None)
    assert (second.name, second.line) == ("second", 20)
    assert second.args == ("f32[3]", {"x": ["i32[]", 2]})
    assert (second.state_args, second.state_argnum, second.returns) == (("f32[]",), 1, (0, "state"))
    assert (second.x64, second.env) == (True, {"XLA_FLAGS": "--x"})


def test_all_errors_at_once_each_with_its_key() -> None:
    assert errors(
        """
[tool.statelint]
per-file-ignores = "SL101"
selct = ["SL1"]
ignore = ["SL9", "shared-bufer"]
exclude = ["ok", 3]
extend-exclude = ["!"]
respect-gitignore = "yes"
probe-timeout = 0
fail-on = "never"
python = 3

[[tool.statelint.probe]]
step = "train.step"
stat = "a:b"
state_argnum = -1
state-argnum = 1
env = {A = 1}
returns = 1.5

[[tool.statelint.probe]]
name = "twice"
step = "a:b"
state = "a:b"

[[tool.statelint.probe]]
name = "twice"
step = "a:b"
state = "a:b"
"""
    ) == [
        f"pyproject.toml: tool.statelint.{line}"
        for line in (
            "per-file-ignores: expected a table, got a string",
            "selct: unknown key (did you mean select?)",
            "ignore: unknown rule 'SL9'",
            "ignore: unknown rule 'shared-bufer' (did you mean shared-buffer?)",
            "exclude: expected an array of strings, got one with an integer",
            "extend-exclude: not a pattern: '!'",
            "respect-gitignore: expected a boolean, got a string",
            "probe-timeout: must be more than 0 and at most 86400 seconds",
            "fail-on: expected error, warning or info, got 'never'",
            "python: expected a string, got an integer",
            "probe[0].step: expected \"module:name\", got 'train.step'",
            "probe[0].stat: unknown key (did you mean state?)",
            "probe[0].state_argnum: must not be negative",
            "probe[0].env.A: expected a string, got an integer",
            "probe[0].returns: expected an index, a name, or an array of these, got a float",
            "probe[0].state: missing",
            "probe[2].name: another probe is called 'twice' too",
        )
    ]


@pytest.mark.parametrize(
    ("setting", "wrong"),
    [
        ("probe-timeout = 1e300", "probe-timeout: must be more than 0 and at most 86400 seconds"),
        ("probe-timeout = nan", "probe-timeout: must be more than 0 and at most 86400 seconds"),
        ("probe-memory = 8", 'probe-memory: expected an amount of memory like "8GB", got an integer'),
        ("probe-memory = '8 gigs'", 'probe-memory: not an amount of memory like "8GB" or "512MiB": \'8 gigs\''),
        ("probe-memory = '8GB '", 'probe-memory: not an amount of memory like "8GB" or "512MiB": \'8GB \''),
        ("probe-memory = '64MB'", "probe-memory: must be at least 100MB: jax alone needs more"),
        ("exclude = ['[']", "exclude: not a pattern: '['"),
        ("exclude = ['']", "exclude: not a pattern: ''"),
        ("exclude = ['lib/[!ab']", "exclude: not a pattern: 'lib/[!ab'"),
        ("state-names = ['[']", "state-names: not a pattern: '['"),
        ("counter-names = ['']", "counter-names: not a pattern: ''"),
        ("per-file-ignores = {'!' = ['SL1']}", 'per-file-ignores."!": not a pattern'),
        ("per-file-ignores = {'!!a.py' = ['SL1']}", 'per-file-ignores."!!a.py": not a pattern'),
        ("per-file-ignores = {'' = ['SL1']}", 'per-file-ignores."": not a pattern'),
    ],
)
def test_a_value_that_can_mean_nothing(setting: str, wrong: str) -> None:
    assert errors(f"[tool.statelint]\n{setting}\n") == [f"pyproject.toml: tool.statelint.{wrong}"]


@pytest.mark.parametrize("pattern", ["[ab].py", "[]a]", "[!]]x", "!keep", r"\[x", "a[0-9]*"])
def test_patterns_with_brackets(pattern: str) -> None:
    assert read(f"[tool.statelint]\nexclude = ['{pattern}']\n").exclude == (pattern,)


def test_per_file_ignores_names_the_pattern() -> None:
    assert errors('[tool.statelint.per-file-ignores]\n"a.py" = "SL1"\n"b.py" = ["SL7"]\n') == [
        'pyproject.toml: tool.statelint.per-file-ignores."a.py": expected an array of strings, got a string',
        "pyproject.toml: tool.statelint.per-file-ignores.\"b.py\": unknown rule 'SL7'",
    ]


@pytest.mark.parametrize("written", ["probe = 3", "probe = [3]", "[tool.statelint.probe]\nstep = 'a:b'"])
def test_probe_must_be_an_array_of_tables(written: str) -> None:
    (line,) = errors(f"[tool.statelint]\n{written}\n")
    assert line.startswith("pyproject.toml: tool.statelint.probe: expected an array of tables ([[...]]), got ")


def test_broken_toml_is_one_line() -> None:
    (line,) = errors("[tool.statelint\n")
    assert line.startswith("pyproject.toml: is not valid TOML: ")
    assert "line 1" in line


def test_a_table_that_is_none() -> None:
    assert errors("[tool]\nstatelint = 3\n") == ["pyproject.toml: tool.statelint: expected a table, got an integer"]


def test_not_utf8() -> None:
    Path("pyproject.toml").write_bytes(b"[tool.statelint]\n# \xff\n")
    with pytest.raises(ConfigError, match=r"pyproject\.toml: is not UTF-8"):
        load(RULES)


def test_the_nearest_file_with_the_table(tmp_path: Path) -> None:
    inner = tmp_path / "pkg" / "deep"
    inner.mkdir(parents=True)
    (tmp_path / "pkg" / "pyproject.toml").write_text("[project]\nname = 'x'\n[broken")
    (tmp_path / "pyproject.toml").write_text("[tool.statelint]\nignore = ['SL1']\n")
    (inner / "a.py").write_text("")
    assert load(RULES, start="pkg/deep/a.py").ignore == ("SL1",)
    (tmp_path / "pkg" / "pyproject.toml").write_text("[tool.statelint]\n")
    assert load(RULES, start="pkg/deep/a.py") == Config(file="pkg/pyproject.toml", root=str(tmp_path / "pkg"))
    assert load(RULES, start="pkg/deep/a.py", isolated=True) == Config(root=str(tmp_path))


def test_a_named_file() -> None:
    assert read("ignore = ['SL1']", "statelint.toml", file="statelint.toml").ignore == ("SL1",)
    assert read("[tool.statelint]\nignore = ['SL2']", "ci.toml", file="ci.toml").ignore == ("SL2",)
    assert errors("ignored = 1", "statelint.toml", file="statelint.toml") == [
        "statelint.toml: ignored: unknown key (did you mean ignore?)"
    ]
    assert errors("[project]\n", file="pyproject.toml") == ["pyproject.toml: has no [tool.statelint] table"]
    assert errors("", file="nowhere.toml") == ["nowhere.toml: cannot be read: No such file or directory"]


def test_defaults_when_there_is_no_file() -> None:
    config = load(RULES)
    assert config.select is None
    assert config.probe_timeout == 120.0
    assert config.state_names == STATE_NAMES


@pytest.mark.parametrize(
    ("text", "size"),
    [("8GB", 8 * 10**9), ("8 GiB", 8 * 2**30), ("1.5TB", 15 * 10**11), ("512MiB", 2**29), ("200000000B", 2 * 10**8)],
)
def test_an_amount_of_memory(text: str, size: int) -> None:
    assert read(f"[tool.statelint]\nprobe-memory = '{text}'").probe_memory == size


@pytest.mark.parametrize(
    ("selector", "codes"),
    [
        ("SL101", {"SL101"}),
        ("SL1", {"SL101", "SL102"}),
        ("SL10", {"SL101", "SL102"}),
        ("SL", set(RULES)),
        ("ALL", set(RULES)),
        ("shared-buffer", {"SL401"}),
        ("S", set()),
        ("", set()),
        ("SL9", set()),
        ("shared", set()),
    ],
)
def test_what_a_selector_stands_for(selector: str, codes: set[str]) -> None:
    assert matching(selector, RULES) == codes


@pytest.mark.parametrize(
    ("select", "ignore", "codes"),
    [
        (["SL1"], ["SL101"], {"SL102"}),
        (["SL101"], ["SL1"], {"SL101"}),
        (["ALL"], ["SL1", "static-number"], {"SL401"}),
        (["shared-buffer", "SL1"], ["SL"], {"SL401", "SL101", "SL102"}),
        (["SL101"], ["SL101"], set()),
        (["SL101"], ["python-step-counter"], set()),
    ],
)
def test_the_more_specific_one_holds(select: list[str], ignore: list[str], codes: set[str]) -> None:
    assert resolve(select, ignore, RULES) == codes
