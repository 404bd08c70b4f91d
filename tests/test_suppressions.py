from __future__ import annotations

import textwrap

import pytest

from statelint.diagnostics import Diagnostic, Location, Severity
from statelint.rules import in_source
from statelint.suppressions import Ignores, read

RULES = {
    "SL101": "python-step-counter",
    "SL304": "weak-type-drift",
    "SL401": "shared-buffer",
    "SL901": "unused-ignore",
}
ALL = frozenset(RULES) - {"SL901"}


def ignores(text: str) -> Ignores:
    return Ignores(read("a.py", textwrap.dedent(text).lstrip("\n"), RULES), RULES)


def finding(code: str, line: int, end_line: int | None = None) -> Diagnostic:
    return Diagnostic(code, RULES[code], Severity.ERROR, "m", Location("a.py", line, 1, end_line, 9))


def unused(
    comments: Ignores, judged: frozenset[str] = ALL, *, complete: bool = True
) -> list[tuple[int, tuple[str, ...]]]:
    return [(part.at.line, part.codes) for part in comments.unused(judged, complete=complete)]


@pytest.mark.parametrize(
    "comment",
    [
        "# statelint: ignore[SL401]",
        "# statelint: ignore[SL101, SL401]",
        "# statelint:ignore[sl401]",
        "#statelint: ignore [shared-buffer]",
        "# statelint: ignore",
        "# statelint: ignore because it is donated elsewhere",
        "# type: ignore  # statelint: ignore[SL401]",
        "# noqa: SL401",
        "# noqa:E501,SL401 for a reason",
        "# noqa : sl401",
        "# NOQA",
    ],
)
def test_silences(comment: str) -> None:
    assert ignores(f"x = 1  {comment}\n").silence(finding("SL401", 1))


@pytest.mark.parametrize(
    "line",
    [
        "x = 1  # statelint: ignore[SL101]",
        "x = 1  # statelint: ignored",
        "x = 1  # statelint: ignore-files",
        "x = 1  # statelint: ignore[]",
        "x = 1  # noqa: E501",
        "x = 1  # ruff: noqa",
        "x = 1  # noqa-like",
        "x = '# statelint: ignore'",
        "x = '''\n# noqa\n'''",
    ],
)
def test_does_not_silence(line: str) -> None:
    comments = ignores(line + "\n")
    assert not any(comments.silence(finding("SL401", number)) for number in (1, 2))


def test_a_comment_holds_for_what_spans_its_line() -> None:
    comments = ignores(
        """
        state = State(
            mu=zeros,  # statelint: ignore[SL401]
            nu=zeros,
        )
        """
    )
    assert comments.silence(finding("SL401", 1, 4))
    assert not comments.silence(finding("SL401", 3))
    assert not comments.silence(finding("SL401", 1))


def test_a_whole_file() -> None:
    comments = ignores("x = 1\n# statelint: ignore-file[SL401]\n")
    assert comments.silence(finding("SL401", 99))
    assert not comments.silence(finding("SL101", 1))
    assert ignores("# statelint: ignore-file\n").silence(finding("SL101", 5))


def test_nothing_silences_what_is_said_of_the_comments() -> None:
    assert not ignores("# statelint: ignore-file\n").silence(finding("SL901", 1))
    assert not ignores("x = 1  # statelint: ignore[SL901]\n").silence(finding("SL901", 1))


def test_text_that_tokenize_refuses() -> None:
    comments = ignores("x = (  # statelint: ignore[SL401]\n  '''\n")
    assert comments.silence(finding("SL401", 1))


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_and_form_feeds(end: str) -> None:
    comments = ignores(end.join(["a = 1", "\x0cb = 2", "c = 3  # noqa: SL401", ""]))
    assert comments.silence(finding("SL401", 3))


def test_unused_codes_one_by_one() -> None:
    comments = ignores(
        """
        a = 1  # statelint: ignore[SL101, shared-buffer, SL777]
        b = 1  # statelint: ignore[SL401]
        c = 1  # statelint: ignore
        d = 1  # noqa: SL101
        e = 1  # noqa
        f = 1  # noqa: E501
        """
    )
    assert comments.silence(finding("SL101", 1))
    assert unused(comments) == [(1, ("SL401", "SL777")), (2, ("SL401",)), (3, ()), (4, ("SL101",))]


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        ("SL401", "nothing here is silenced by ignoring SL401"),
        ("SL1", "a comment names each rule in full, and does not take the prefix SL1"),
        ("SL989", "there is no rule SL989"),
        (
            "SL101, SL401, SL4, nonsense",
            "nothing here is silenced by ignoring SL101 and SL401; "
            "a comment names each rule in full, and does not take the prefix SL4; there is no rule nonsense",
        ),
    ],
)
def test_what_is_said_of_a_code_that_silences_nothing(codes: str, message: str) -> None:
    parts = ignores(f"a = 1  # statelint: ignore[{codes}]\n").unused(ALL, complete=True)
    assert [finding.message for finding in in_source(parts)] == [message]


def test_where_it_stands() -> None:
    (part,) = ignores("é = 1  # why # statelint: ignore[SL401]  \n").unused(ALL, complete=True)
    assert part.at == Location("a.py", 1, 14, 1, 40)


def test_what_did_not_run_is_not_judged() -> None:
    comments = ignores("a = 1  # statelint: ignore[SL101, SL304]\nb = 1  # statelint: ignore\n")
    assert unused(comments, frozenset({"SL101"}), complete=False) == [(1, ("SL101",))]
    assert unused(comments, frozenset(), complete=False) == []


def test_a_file_that_is_off_says_nothing_of_its_comments() -> None:
    comments = ignores("# statelint: ignore-file\na = 1  # statelint: ignore[SL401]\n")
    assert unused(comments) == [(1, ()), (2, ("SL401",))]
    assert comments.silence(finding("SL101", 9))
    assert unused(comments) == []
