from __future__ import annotations

import pytest

from statelint.diagnostics import Diagnostic, Fix, Location, Related, Severity, replace
from statelint.model.costs import Executables
from statelint.report import ProbeReport, Report

SOURCE = {
    "train.py": [
        "def create(params):",
        "\tzeros = jax.tree.map(jnp.zeros_like, params)",
        "\treturn State(zeros, zeros)",
        "",
        "名前 = State(count=0)",
    ],
    "wide.py": ["x = '名前'; y = 0"],
}

SHARED = Diagnostic(
    "SL401",
    "shared-buffer",
    Severity.ERROR,
    "state.mu and state.nu share one buffer: donating this state fails",
    Location("train.py", 3, 22, 3, 27),
    detector="both",
    field="opt_state.nu",
    probe="train",
    fix=Fix(True, "Make a second buffer"),
    related=(Related(Location("train.py", 40), "probe train is declared here"),),
)
COUNTER = Diagnostic(
    "SL101",
    "python-step-counter",
    Severity.WARNING,
    "state.count is weak",
    Location("train.py", 5, 18),
    field="count",
)
ADVICE = Diagnostic("SL401", "shared-buffer", Severity.INFO, "50%, a:b\nc", Location("a,b:c.py", 1, 2, 3, 4))


ODD_PATHS = (
    "with space.py",
    "名前/模型.py",
    "caf\udce9.py",
    "new\nline.py",
    "tab\tescape\x1b[2J.py",
    "<&\"'>.py",
    "100%,a:b.py",
    "\N{GRINNING FACE}.py",
    "x=#?.py",
)
ODD_MESSAGES = (
    "plain",
    "two\r\nlines",
    "\x00\x1b[31m\x7f\x85",
    "]]> <failure/> &amp; \"'",
    "lone \ud800 and byte \udce9",
    "\ufffe\uffff\N{GRINNING FACE}",
    "%0A ::error::no, {0} [link](there)",
)


@pytest.fixture
def odd() -> Report:
    """Every odd path with every odd message, all of it with a place that is related and a fix."""
    findings = [
        Diagnostic(
            "SL401",
            "shared-buffer",
            Severity.ERROR,
            message,
            Location(path, 1, 2, 1, 3),
            field=f"params[{message!r}]",
            probe=message,
            fix=Fix(True, message, replace(Location(path, 1, 2, 1, 3), message)),
            related=(Related(Location(path, 2), message),),
        )
        for path in ODD_PATHS
        for message in ODD_MESSAGES
    ]
    return Report(
        diagnostics=tuple(findings),
        files=len(ODD_PATHS),
        paths=dict.fromkeys(ODD_PATHS, True),
        probes=tuple(ProbeReport(message, ODD_PATHS[3], 1) for message in ODD_MESSAGES),
        source=lambda path: ["ab\x1bcd", "名前"],
        edits=lambda finding: finding.fix.edits if finding.fix else (),
    )


@pytest.fixture
def report() -> Report:
    return Report(
        diagnostics=(SHARED, COUNTER, ADVICE),
        files=14,
        probes=(
            ProbeReport("train", "other.py", 3, Executables(9, 9)),
            ProbeReport("train", "train.py", 40, Executables(1, 0)),
            ProbeReport("broken", "train.py", 50),
        ),
        source=lambda path: SOURCE.get(path, ()),
        pages={"SL401": "docs/rules/SL401.md", "SL101": "docs/rules/SL101.md"},
    )
