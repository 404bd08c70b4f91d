"""Read by junitparser."""

from __future__ import annotations

import itertools

import msgspec
from junitparser import Failure, JUnitXml, Skipped, TestCase

from statelint.diagnostics import Diagnostic, Location, Severity
from statelint.report import Look, Report, renderer


def parse(report: Report) -> JUnitXml:
    text = "\n".join(renderer("junit")(report, Look()))
    assert text.isascii()
    document = JUnitXml.fromstring(text.encode())
    told = (document.tests, document.failures, document.errors, document.skipped)
    document.update_statistics()
    assert told == (document.tests, document.failures, document.errors, document.skipped)
    return document


def cases(report: Report) -> list[TestCase]:
    return list(itertools.chain.from_iterable(parse(report)))


def test_a_suite_for_each_file_and_one_for_probes(report: Report) -> None:
    report = msgspec.structs.replace(report, paths={"clean.py": True, "train.py": True})
    assert [(suite.name, suite.tests, suite.failures, suite.skipped) for suite in parse(report)] == [
        ("a,b:c.py", 1, 1, 0),
        ("clean.py", 1, 0, 0),
        ("train.py", 2, 2, 0),
        ("probes", 3, 0, 1),
    ]


def test_a_finding_is_a_failed_test_with_its_place_and_the_whole_text(report: Report) -> None:
    case = next(case for case in cases(report) if case.name == "SL401 shared-buffer opt_state.nu")
    assert (case.classname, case._elem.get("file"), case._elem.get("line")) == ("train", "train.py", "3")
    (failure,) = case.result
    assert isinstance(failure, Failure)
    assert failure.type == "error"
    assert failure.message == "state.mu and state.nu share one buffer: donating this state fails"
    assert "3 |     return State(zeros, zeros)\n  |                         ^^^^^" in failure.text
    assert "= help: Make a second buffer" in failure.text


def test_names_do_not_depend_on_lines_and_are_unique() -> None:
    def finding(line: int) -> Diagnostic:
        return Diagnostic("SL101", "python-step-counter", Severity.WARNING, "m", Location("a.py", line), field="step")

    report = Report(diagnostics=(finding(3), finding(9)), files=1, paths={"a.py": True})
    names = ["SL101 python-step-counter step", "SL101 python-step-counter step (2)"]
    assert [case.name for case in cases(report)] == names


def test_what_could_not_be_checked_is_an_error() -> None:
    broken = Diagnostic("SL900", "syntax-error", Severity.ERROR, "not checked: never closed", Location("a.py", 1))
    document = parse(Report(diagnostics=(broken,), files=1, unparsed=1, paths={"a.py": False}))
    assert (document.tests, document.failures, document.errors) == (1, 0, 1)


def test_what_was_not_checked_is_skipped_where_no_finding_says_so() -> None:
    report = Report(diagnostics=(), files=1, unparsed=1, paths={"a.py": False}, probes_left=2)
    messages = [result.message for case in cases(report) for result in case.result if isinstance(result, Skipped)]
    assert messages == ["not checked: it does not parse", "2 probes not run"]


def test_a_report_is_never_without_tests() -> None:
    (case,) = cases(Report(diagnostics=(), files=0))
    assert [result.message for result in case.result] == ["Nothing to check: no Python files"]


def test_odd_names_and_messages(odd: Report) -> None:
    found = [case for case in cases(odd) if any(isinstance(result, Failure) for result in case.result)]
    assert len(found) == len(odd.diagnostics)
    files = {case._elem.get("file") for case in found}
    assert {"caf\\udce9.py", "new\\nline.py", "<&\"'>.py", "名前/模型.py"} <= files
    assert any(result.message.startswith("]]> <failure/> &amp;") for case in found for result in case.result)
