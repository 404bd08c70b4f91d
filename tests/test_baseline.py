"""The baseline, the severities and the statistics of the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from statelint.cli import main

HEAD = "import jax.numpy as jnp\n"
STEP = 'state = {"w": jnp.ones(3), "step": 0}\n'
RATE = 'state = {"w": jnp.ones(3), "rate": 0.5}\n'
FILE = ".statelint-baseline.json"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text(f'[tool.statelint]\nbaseline = "{FILE}"\n')
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "a.py").write_text(HEAD + STEP + RATE)
    (tmp_path / "b.py").write_text(HEAD + STEP)
    return tmp_path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> object:
    def run(*arguments: str) -> tuple[int, list[str], list[str]]:
        code = main(["check", *arguments])
        out, err = capsys.readouterr()
        return code, out.splitlines(), err.splitlines()

    return run


class TestBaseline:
    def test_it_counts_by_file_and_rule(self, run) -> None:
        code, out, _ = run("--write-baseline")
        assert (code, out) == (0, ["Nothing new: 2 files checked (3 findings hidden by the baseline)"])
        assert json.loads(Path(FILE).read_text()) == {
            "version": 1,
            "findings": {"b.py": {"SL101": 1}, "lib/a.py": {"SL101": 1, "SL102": 1}},
        }
        written = Path(FILE).read_bytes()
        assert run("--write-baseline")[0] == 0
        assert Path(FILE).read_bytes() == written

    def test_what_was_written_is_said(self, run) -> None:
        assert run("--write-baseline")[2] == [f"Wrote {FILE}"]
        assert run("--write-baseline", "--quiet")[2] == []
        Path("pyproject.toml").write_text("[tool.statelint]\n")
        _, _, (wrote, rest) = run("--write-baseline")
        assert wrote == f"Wrote {FILE}"
        line = rest.removeprefix("It holds once [tool.statelint] says: ")
        assert run()[0] == 1
        Path("pyproject.toml").write_text(f"[tool.statelint]\n{line}\n")
        assert run()[0] == 0

    def test_lines_may_move(self, run) -> None:
        run("--write-baseline")
        Path("b.py").write_text(HEAD + "\n\n" + STEP)
        assert run()[0] == 0

    def test_beyond_the_count_all_are_shown(self, run) -> None:
        run("--write-baseline")
        Path("b.py").write_text(HEAD + STEP + STEP)
        code, out, _ = run("--output-format", "concise")
        assert code == 1
        assert [line.split()[0] for line in out[:2]] == ["b.py:2:36:", "b.py:3:36:"]
        assert out[-1] == "2 warnings in 2 files (2 findings hidden by the baseline)"

    def test_stale_entries_are_noted(self, run) -> None:
        run("--write-baseline")
        Path("b.py").unlink()
        Path("lib/a.py").write_text(HEAD + STEP)
        code, out, _ = run()
        assert (code, out) == (
            0,
            [
                "2 findings of the baseline gone: --write-baseline takes them out",
                "Nothing new: 1 file checked (1 finding hidden by the baseline)",
            ],
        )
        run("--write-baseline")
        assert json.loads(Path(FILE).read_text())["findings"] == {"lib/a.py": {"SL101": 1}}

    def test_what_was_not_judged_stays(self, run) -> None:
        run("--write-baseline")
        written = Path(FILE).read_bytes()
        assert run("lib")[1] == ["Nothing new: 1 file checked (2 findings hidden by the baseline)"]
        assert run("--select", "SL101", "lib", "--write-baseline")[0] == 0
        assert Path(FILE).read_bytes() == written

    def test_it_is_found_from_everywhere(self, run, monkeypatch: pytest.MonkeyPatch) -> None:
        run("--write-baseline")
        monkeypatch.chdir("lib")
        assert run("a.py", "../b.py")[0] == 0

    def test_what_was_not_checked_is_never_put_up_with(self, run) -> None:
        Path("b.py").write_text("def f(:\n")
        assert run("--write-baseline")[0] == 1
        assert "b.py" not in json.loads(Path(FILE).read_text())["findings"]

    def test_what_is_put_up_with_is_not_fixed(self, run) -> None:
        run("--write-baseline")
        code, out, _ = run("--fix", "--unsafe-fixes")
        assert (code, out[0]) == (0, "Fixed 0 findings in 0 files")
        assert Path("b.py").read_text() == HEAD + STEP

    @pytest.mark.parametrize(
        ("text", "line"),
        [
            ("{", "is not valid JSON: "),
            ("[]", "is no baseline: expected an object with findings"),
            ('{"version": 2, "findings": {}}', "version: expected 1, got 2"),
            ('{"version": 1, "findings": []}', "is no baseline: expected an object with findings"),
            ('{"version": 1, "findings": {"a.py": 3}}', "findings: a.py: expected an object of counts by rule"),
            ('{"version": 1, "findings": {"a.py": {"SL101": 0}}}', "findings: a.py: SL101: expected a number from 1"),
            (
                '{"version": 1, "findings": {"a.py": {"SL101": true}}}',
                "findings: a.py: SL101: expected a number from 1",
            ),
        ],
    )
    def test_a_malformed_one_is_an_error(self, run, text: str, line: str) -> None:
        Path(FILE).write_text(text)
        for options in ((), ("--write-baseline",), ("--fix",)):
            code, out, err = run(*options)
            assert (code, out, len(err)) == (2, [], 1)
            assert err[0].startswith(f"statelint: error: {FILE}: {line}")
        assert Path(FILE).read_text() == text

    def test_one_that_is_configured_must_be_there(self, run) -> None:
        assert run()[2] == [f"statelint: error: {FILE}: cannot be read: No such file or directory"]


class TestSeverity:
    @pytest.mark.parametrize(
        ("table", "severities"),
        [
            ("SL101 = 'error'", {"SL101": "error", "SL102": "warning"}),
            ("SL1 = 'info'\npython-step-counter = 'error'", {"SL101": "error", "SL102": "info"}),
            ("ALL = 'error'\nSL1 = 'info'", {"SL101": "info", "SL102": "info"}),
        ],
    )
    def test_it_is_that_of_the_configuration(self, run, table: str, severities: dict[str, str]) -> None:
        Path("pyproject.toml").write_text(f"[tool.statelint.severity]\n{table}\n")
        _, out, _ = run("--output-format", "json")
        found = json.loads("\n".join(out))["diagnostics"]
        assert {each["code"]: each["severity"] for each in found} == severities

    def test_it_decides_what_fails(self, run) -> None:
        Path("pyproject.toml").write_text("[tool.statelint.severity]\nSL1 = 'info'\n")
        assert run()[0] == 0

    @pytest.mark.parametrize(
        ("table", "line"),
        [
            ("severity = 'error'", "severity: expected a table, got a string"),
            ("severity = {SL101 = 'bad'}", "severity.SL101: expected error, warning or info, got 'bad'"),
            ("severity = {SL101 = []}", "severity.SL101: expected error, warning or info, got []"),
            ("severity = {XX = 'info'}", "severity: unknown rule 'XX'"),
            ("baseline = 3", "baseline: expected a string, got an integer"),
        ],
    )
    def test_wrong_ones(self, run, table: str, line: str) -> None:
        Path("pyproject.toml").write_text(f"[tool.statelint]\n{table}\n")
        code, _, err = run()
        assert (code, err) == (2, [f"statelint: error: pyproject.toml: tool.statelint.{line}"])


class TestStatistics:
    def test_as_text(self, run) -> None:
        Path("pyproject.toml").unlink()
        code, out, _ = run("--statistics")
        assert code == 1
        assert out == [
            "2  SL101  python-step-counter (2 fixable)",
            "1  SL102  python-scalar-leaf (1 fixable)",
            "2 fixable with --fix (1 more with --unsafe-fixes)",
            "3 warnings in 2 files",
        ]

    def test_as_json(self, run) -> None:
        Path("pyproject.toml").unlink()
        rows = json.loads("\n".join(run("--statistics", "--output-format", "json")[1]))
        assert rows[0] == {"count": 2, "code": "SL101", "name": "python-step-counter", "fixable": 2}

    def test_of_nothing(self, run) -> None:
        Path("pyproject.toml").unlink()
        assert run("--statistics", "--select", "SL4")[1] == ["All clean: 2 files checked"]

    def test_other_formats_have_none(self, run) -> None:
        assert run("--statistics", "--output-format", "github")[0] == 2
