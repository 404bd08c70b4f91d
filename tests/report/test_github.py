from __future__ import annotations

import re

from statelint.report import Look, Report, renderer


def test_workflow_commands(report: Report) -> None:
    assert list(renderer("github")(report, Look())) == [
        "::error file=train.py,line=3,endLine=3,col=22,endColumn=27,title=SL401 shared-buffer"
        "::state.mu and state.nu share one buffer: donating this state fails",
        "::warning file=train.py,line=5,col=18,title=SL101 python-step-counter::state.count is weak",
        "::notice file=a%2Cb%3Ac.py,line=1,endLine=3,title=SL401 shared-buffer::50%25, a:b%0Ac",
        "1 error, 1 warning, 1 note in 14 files, 3 probes (1 probe failed)",
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


def _unescaped(text: str) -> str:
    """As GitHub's runner reads it."""
    for escape, char in {"%0D": "\r", "%0A": "\n", "%3A": ":", "%2C": ",", "%25": "%"}.items():
        text = text.replace(escape, char)
    return text
