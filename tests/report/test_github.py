from __future__ import annotations

from statelint.report import Look, Report, renderer


def test_workflow_commands(report: Report) -> None:
    assert list(renderer("github")(report, Look())) == [
        "::error file=train.py,line=3,endLine=3,col=22,endColumn=27,title=SL401 shared-buffer"
        "::state.mu and state.nu share one buffer: donating this state fails",
        "::warning file=train.py,line=5,col=18,title=SL101 python-step-counter::state.count is weak",
        "::notice file=a%2Cb%3Ac.py,line=1,endLine=3,col=2,endColumn=4,title=SL401 shared-buffer::50%25, a:b%0Ac",
        "1 error, 1 warning, 1 note in 14 files, 3 probes (1 probe failed)",
    ]


def test_quiet(report: Report) -> None:
    lines = list(renderer("github")(report, Look(quiet=True)))
    assert len(lines) == 3
    assert all(line.startswith("::") for line in lines)
