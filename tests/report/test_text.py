from __future__ import annotations

import re

import msgspec
import pytest

from statelint.diagnostics import Diagnostic, Location, Severity
from statelint.report import FORMATS, Look, Report, renderer


def render(report: Report, name: str = "text", **look: bool) -> list[str]:
    return list(renderer(name)(report, Look(**look)))


def test_each_finding_in_full(report: Report) -> None:
    assert render(report) == [
        "train.py:3:22: SL401 [error] state.mu and state.nu share one buffer: donating this state fails",
        "  |",
        "2 |     zeros = jax.tree.map(jnp.zeros_like, params)",
        "3 |     return State(zeros, zeros)",
        "  |                         ^^^^^",
        "4 |",
        "  = seen: in the source, and confirmed by probe train",
        "  = note: train.py:40: probe train is declared here",
        "  = help: Make a second buffer",
        "  = more: statelint rule SL401",
        "",
        "train.py:5:18: SL101 [warning] state.count is weak",
        "  |",
        "4 |",
        "5 | 名前 = State(count=0)",
        "  |                    ^",
        "  = seen: in the source",
        "  = more: statelint rule SL101",
        "",
        "a,b:c.py:1:2: SL401 [info] 50%, a:b c",
        "  = seen: in the source",
        "",
        "1 error, 1 warning, 1 note in 14 files, 3 probes (1 probe failed)",
    ]


def test_concise_and_quiet(report: Report) -> None:
    lines = render(report, "concise")
    assert len(lines) == 4
    assert render(report, "concise", quiet=True) == render(report, quiet=True) == lines[:3]


@pytest.mark.parametrize("name", FORMATS)
def test_colour_adds_escapes_and_nothing_else(report: Report, name: str) -> None:
    painted = render(report, name, colour=True)
    assert [re.sub(r"\x1b\[[\d;]*m", "", line) for line in painted] == render(report, name)
    assert (painted != render(report, name)) == (name in ("text", "concise"))


@pytest.mark.parametrize(
    ("line", "column", "end", "carets"),
    [
        ("x = y", 5, 6, "    ^"),
        ("\tx = y", 6, 7, "        ^"),
        ("ab\tx", 4, 5, "    ^"),
        ("'名' + y", 7, 8, "       ^"),
        ("e\N{COMBINING ACUTE ACCENT} + y", 6, 7, "    ^"),
        ("short", 99, 120, "     ^"),
        ("one = State(", 7, None, "      ^^^^^^"),
    ],
)
def test_carets_stand_below_what_they_mark(line: str, column: int, end: int | None, carets: str) -> None:
    at = Location("a.py", 1, column, 1 if end else 3, end or 2)
    finding = Diagnostic("SL401", "shared-buffer", Severity.ERROR, "m", at)
    report = Report(diagnostics=(finding,), files=1, source=lambda path: [line, "mu,", ")"])
    assert render(report)[3] == "  | " + carets


def test_source_cannot_steer_the_terminal() -> None:
    finding = Diagnostic("SL401", "shared-buffer", Severity.ERROR, "a\x1b[2Jb", Location("a\x07.py", 1))
    report = Report(diagnostics=(finding,), files=1, source=lambda path: ["x = '\x1b[2J'"])
    text = "\n".join(render(report))
    assert "\x1b" not in text
    assert "\x07" not in text


@pytest.mark.parametrize(
    ("changes", "summary"),
    [
        ({}, "All clean: 14 files, 2 probes checked (1 probe failed)"),
        ({"probes": ()}, "All clean: 14 files checked"),
        ({"probes": (), "files": 1}, "All clean: 1 file checked"),
        ({"probes": (), "files": 0}, "All clean: 0 files checked"),
        ({"probes": (), "probes_left": 2}, "All clean: 14 files checked (2 probes not run)"),
        ({"probes": (), "unparsed": 1}, "All clean: 13 files checked (1 file not parsed)"),
    ],
)
def test_summary_when_clean(report: Report, changes: dict[str, object], summary: str) -> None:
    assert render(msgspec.structs.replace(report, diagnostics=(), **changes))[-1] == summary
