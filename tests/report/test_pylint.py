"""Read by diff-quality, and by the expression of Jenkins' warnings plugin."""

from __future__ import annotations

import re

from diff_cover.violationsreporters.violations_reporter import PylintDriver, Violation

from statelint.report import Look, Report, renderer
from statelint.report.base import escaped

JENKINS = re.compile(r"(.*):(\d+): \[(\D\d*).*\] (.*)")


def render(report: Report, **look: bool) -> list[str]:
    return list(renderer("pylint")(report, Look(**look)))


def test_lines(report: Report) -> None:
    assert render(report) == [
        "train.py:3: [SL401] state.mu and state.nu share one buffer: donating this state fails",
        "train.py:5: [SL101] state.count is weak",
        "a,b:c.py:1: [SL401] 50%, a:b c",
        "1 error, 1 warning, 1 info in 14 files, 3 probes (1 probe failed)",
    ]
    assert render(report, quiet=True) == render(report)[:3]


def test_diff_quality_reads_it(report: Report) -> None:
    assert PylintDriver().parse_reports(["\n".join(render(report))])["train.py"] == [
        Violation(3, "SL401: state.mu and state.nu share one buffer: donating this state fails"),
        Violation(5, "SL101: state.count is weak"),
    ]


def test_jenkins_reads_odd_names_and_messages(odd: Report) -> None:
    read = [JENKINS.fullmatch(line) for line in render(odd, quiet=True)]
    assert [match and (match[1], match[2]) for match in read] == [
        (escaped(finding.location.path), "1") for finding in odd.diagnostics
    ]


def test_the_summary_is_no_finding(report: Report) -> None:
    assert JENKINS.fullmatch(render(report)[-1]) is None
