"""JUnit's XML, which CI servers show as tests: a suite for each file, a failed test for each finding."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

import msgspec

from statelint.baseline import NOT_CHECKED
from statelint.diagnostics import Diagnostic
from statelint.report import text
from statelint.report.base import Look, Report, counted, escaped, one_line, plain, summary

_TALLIES = {"tests": "testcase", "failures": "failure", "errors": "error", "skipped": "skipped"}


def render(report: Report, look: Look) -> Iterator[str]:
    """One document. What is clean passes, and what was not checked is skipped where no finding says so."""
    root = Element("testsuites", name="statelint")
    by_file: dict[str, list[Diagnostic]] = {path: [] for path in report.paths}
    for finding in report.diagnostics:
        by_file.setdefault(finding.location.path, []).append(finding)
    for path in sorted(by_file):
        _file(SubElement(root, "testsuite", name=_shown(path)), path, by_file[path], report)
    _probes(root, report)
    if len(root) == 0:  # CI servers take a report without tests for a broken one
        suite = SubElement(root, "testsuite", name="statelint")
        case = SubElement(suite, "testcase", classname="statelint", name="nothing found")
        SubElement(case, "skipped", message=_shown(summary(report, Look())))
    for suite in (*root, root):
        for tally, tag in _TALLIES.items():
            suite.set(tally, str(sum(1 for _ in suite.iter(tag))))
        suite.set("time", "0")
    ElementTree.indent(root)
    # ASCII: whatever the stream's encoding is, this is what the declaration says.
    yield from ElementTree.tostring(root, encoding="us-ascii", xml_declaration=True).decode().split("\n")


def _file(suite: Element, path: str, findings: Sequence[Diagnostic], report: Report) -> None:
    for finding, name in zip(findings, _names(findings), strict=True):
        case = _case(suite, path, name, finding.location.line)
        kind = "error" if finding.code in NOT_CHECKED else "failure"
        outcome = SubElement(case, kind, type=finding.severity.value, message=_shown(one_line(finding.message)))
        alone = msgspec.structs.replace(report, diagnostics=(finding,))
        outcome.text = plain("\n".join(text.findings(alone, Look())).strip())
    if not findings:
        case = _case(suite, path, "nothing found")
        if not report.paths[path]:
            SubElement(case, "skipped", message="not checked: it does not parse")


def _names(findings: Iterable[Diagnostic]) -> Iterator[str]:
    """Names that stay when lines move, as CI servers know a test again by its name; those alike are numbered."""
    seen: Counter[str] = Counter()
    for finding in findings:
        name = f"{finding.code} {finding.name}" + (f" {finding.field}" if finding.field else "")
        seen[name] += 1
        yield name if seen[name] == 1 else f"{name} ({seen[name]})"


def _probes(root: Element, report: Report) -> None:
    if not report.probes and not report.probes_left:
        return
    suite = SubElement(root, "testsuite", name="probes")
    for probe in report.probes:
        case = _case(suite, probe.path, f"probe {probe.name}", probe.line)
        if probe.executables is None:
            SubElement(case, "skipped", message="not checked: it could not be traced")
    if report.probes_left:
        message = f"{counted(report.probes_left, 'probe')} {report.left}"
        SubElement(SubElement(suite, "testcase", classname="probes", name="other probes"), "skipped", message=message)


def _case(suite: Element, path: str, name: str, line: int = 1) -> Element:
    # What follows a dot is taken for the name of a class.
    classname, _ = os.path.splitext(path)
    attributes = {"classname": classname, "name": name, "file": path, "line": str(line), "time": "0"}
    return SubElement(suite, "testcase", {key: _shown(value) for key, value in attributes.items()})


def _shown(value: str) -> str:
    return plain(escaped(value))
