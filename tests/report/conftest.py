from __future__ import annotations

import pytest

from statelint.diagnostics import Diagnostic, Fix, Location, Related, Severity
from statelint.model.trace import Executables
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
