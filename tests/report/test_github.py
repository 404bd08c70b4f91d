from __future__ import annotations

import json
import re
from pathlib import Path

import msgspec
import pytest

from statelint.diagnostics import Location
from statelint.report import Look, Report, renderer

MATCHER = Path(__file__).parent.parent.parent / "statelint/editors/github.json"


@pytest.fixture(autouse=True)
def _no_workflow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)


def test_workflow_commands(report: Report) -> None:
    assert list(renderer("github")(report, Look())) == [
        "::error file=train.py,line=3,endLine=3,col=22,endColumn=27,title=SL401 shared-buffer"
        "::state.mu and state.nu share one buffer: donating this state fails",
        "::warning file=train.py,line=5,col=18,title=SL101 python-step-counter::state.count is weak",
        "::notice file=a%2Cb%3Ac.py,line=1,endLine=3,title=SL401 shared-buffer::50%25, a:b%0Ac",
        "1 error, 1 warning, 1 info in 14 files, 3 probes (1 probe failed)",
    ]


def test_quiet(report: Report) -> None:
    lines = list(renderer("github")(report, Look(quiet=True)))
    assert len(lines) == 3
    assert all(line.startswith("::") for line in lines)


def test_odd_names_and_messages_come_back(odd: Report) -> None:
    lines = list(renderer("github")(odd, Look(quiet=True)))
    for line, finding in zip(lines, odd.diagnostics, strict=True):
        command, written, message = re.fullmatch(r"::(\w+) ([^\n\r]*?)::([^\n\r]*)", line).groups()  # type: ignore[union-attr]
        properties = dict(each.split("=", 1) for each in written.split(","))
        assert command == "error"
        assert _unescaped(properties["file"]) == finding.location.path
        assert properties["title"] == f"{finding.code} {finding.name}"
        assert _unescaped(message) == finding.message


@pytest.fixture
def below(report: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Report:
    """A report on a folder of a repository, as a step of a workflow makes it: one path below it, one beside it."""
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    first = report.diagnostics[0]
    beside = msgspec.structs.replace(first, location=Location(str(tmp_path / "a.py"), 1), related=())
    return msgspec.structs.replace(report, diagnostics=(first, beside))


def test_paths_are_those_of_the_repository(below: Report) -> None:
    lines = list(renderer("github")(below, Look(quiet=True)))
    assert [re.findall("file=(.*?),", line) for line in lines] == [["sub/train.py"], ["a.py"]]


def test_they_are_for_the_problem_matcher_too(below: Report) -> None:
    (pattern,) = json.loads(Path(MATCHER).read_text(encoding="utf-8"))["problemMatcher"][0]["pattern"]
    for name in ("concise", "text"):
        lines = list(renderer(name)(below, Look()))
        found = [match[pattern["file"]] for match in map(re.compile(pattern["regexp"]).match, lines) if match]
        assert found == ["sub/train.py", "a.py"]
    assert "  = note: sub/train.py:40: probe train is declared here" in lines


def test_they_are_for_code_scanning_too(below: Report, tmp_path: Path) -> None:
    (run,) = json.loads("".join(renderer("sarif")(below, Look())))["runs"]
    places = [result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in run["results"]]
    assert places == ["sub/train.py", "a.py"]
    assert run["originalUriBaseIds"]["%SRCROOT%"]["uri"] == f"{tmp_path.as_uri()}/"


def test_a_file_outside_of_the_repository_keeps_its_path(below: Report, tmp_path: Path) -> None:
    outside = str(tmp_path.parent / "b.py")
    finding = msgspec.structs.replace(below.diagnostics[0], location=Location(outside, 1))
    report = msgspec.structs.replace(below, diagnostics=(finding,))
    assert f"file={outside}," in next(renderer("github")(report, Look()))


def _unescaped(text: str) -> str:
    """As GitHub's runner reads it."""
    for escape, char in {"%0D": "\r", "%0A": "\n", "%3A": ":", "%2C": ",", "%25": "%"}.items():
        text = text.replace(escape, char)
    return text
