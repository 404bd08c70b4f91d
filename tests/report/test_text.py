from __future__ import annotations

import re

import msgspec
import pytest

from statelint.diagnostics import Diagnostic, Fix, Location, Related, Severity, replace
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
        "1 error, 1 warning, 1 info in 14 files, 3 probes (1 probe failed)",
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
        ({}, "Nothing found in 14 files, 3 probes (1 probe failed)"),
        ({"probes": ()}, "All clean: 14 files checked"),
        ({"probes": (), "files": 1}, "All clean: 1 file checked"),
        ({"probes": (), "files": 0}, "Nothing to check: no Python files"),
        ({"probes": (), "files": 0, "probes_left": 1}, "Nothing to check: no Python files (1 probe not run)"),
        ({"probes": (), "probes_left": 2}, "All clean: 14 files checked (2 probes not run)"),
        (
            {"probes": (), "probes_left": 2, "elsewhere": True},
            "All clean: 14 files checked (2 probes of other files not run)",
        ),
        ({"probes": (), "hidden": 8}, "Nothing new: 14 files checked (8 findings hidden by the baseline)"),
        ({"probes": (), "unparsed": 1}, "Nothing found in 14 files (1 file not parsed)"),
    ],
)
def test_summary_when_clean(report: Report, changes: dict[str, object], summary: str) -> None:
    assert render(msgspec.structs.replace(report, diagnostics=(), **changes))[-1] == summary


@pytest.mark.parametrize(
    ("safe", "edits", "kind"),
    [(True, True, "fix (--fix)"), (False, True, "fix (--fix --unsafe-fixes)"), (True, False, "help")],
)
def test_what_can_be_fixed_is_marked(safe: bool, edits: bool, kind: str) -> None:
    at = Location("a.py", 1)
    fix = Fix(safe, "write it", replace(at, "it") if edits else ())
    lines = list(renderer("text")(Report(diagnostics=(finding("m", fix=fix),), files=1), Look()))
    assert f"  = {kind}: write it" in lines


def finding(message: str, path: str = "a.py", **more: object) -> Diagnostic:
    return Diagnostic("SL401", "shared-buffer", Severity.ERROR, message, Location(path, 1), **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", [name for name in FORMATS if name not in ("json", "sarif")])
def test_no_line_is_without_end(name: str) -> None:
    places = tuple(Related(Location("a.py", line), "x" * 10_000) for line in range(1, 2000))
    long = finding("1" * 100_000, fix=Fix(True, "y" * 10_000), related=places)
    lines = "\n".join(render(Report(diagnostics=(long,), files=1), name)).splitlines()
    assert max(map(len, lines)) < 900
    assert len(lines) < 40


@pytest.mark.parametrize("name", ["json", "sarif"])
def test_what_programs_read_is_not_cut(name: str) -> None:
    report = Report(diagnostics=(finding("1" * 100_000),), files=1)
    assert "1" * 100_000 in "".join(render(report, name))


def test_a_path_is_shown_whole_and_as_it_is_in_a_string() -> None:
    place = Related(Location("o\nther.py", 2), "here")
    report = Report(diagnostics=(finding("m", "new\nline.py" + "x" * 500, related=(place,)),), files=1)
    lines = render(report)
    assert lines[0].startswith("new\\nline.py" + "x" * 500 + ":1:1: ")
    assert "  = note: o\\nther.py:2: here" in [line.replace("  =", " =").replace(" =", "  =") for line in lines]
