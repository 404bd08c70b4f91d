from __future__ import annotations

import errno
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from statelint import config, findings, linter, rules
from statelint.cli import main
from statelint.diagnostics import Diagnostic, Fix, Location, Severity
from statelint.model.costs import Executables
from statelint.options import Options, UsageError
from statelint.report import Look, Report
from statelint.report.base import summary

TRAIN = """
import jax
import jax.numpy as jnp


def init_state():
    return {"tau": jnp.asarray(0.0), "w": jnp.ones(3)}


@jax.jit
def step(state, x):
    return {"tau": state["tau"] + jnp.ones(()), "w": state["w"] + x}
"""
"""`tau` is weak in the source (SL103) and drifts in the trace (SL304), at line 7."""

IN_CODE = "\nfrom statelint import Probe\n\ntrain = Probe(step=step, state=init_state, args=('f32[3]',))\n"

IN_TOML = """
[tool.statelint]
{settings}
[[tool.statelint.probe]]
name = "train"
step = "train:step"
state = "train:init_state"
args = ["f32[3]"]
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)


def lint(*paths: str, **options: object) -> Report:
    settings = config.load(rules.names(), start=paths[0] if paths else ".")
    return linter.run(paths, settings, Options(**options))  # type: ignore[arg-type]


def found(report: Report) -> list[tuple[str, int, str, str]]:
    return [(d.location.path, d.location.line, d.code, d.detector) for d in report.diagnostics]


# --- selection


@pytest.mark.parametrize(
    ("settings", "options", "codes"),
    [
        ("", {}, {"SL103"}),
        ("select = ['SL4']", {}, set()),
        ("select = ['SL4']", {"select": ("weak-typed-array",)}, {"SL103"}),
        ("select = ['SL4']", {"extend_select": ("SL1",)}, {"SL103"}),
        ("extend-select = ['ALL']\nignore = ['SL103']", {}, set()),
        ("ignore = ['SL103']", {"select": ("SL1",)}, set()),
        ("", {"ignore": ("SL1",)}, set()),
        ("per-file-ignores = {'train.py' = ['SL1']}", {}, set()),
        ("per-file-ignores = {'!train.py' = ['SL1']}", {}, {"SL103"}),
        ("per-file-ignores = {'lib/' = ['weak-typed-array']}", {}, {"SL103"}),
    ],
)
def test_which_rules_run(settings: str, options: dict[str, object], codes: set[str]) -> None:
    Path("train.py").write_text(TRAIN)
    Path("pyproject.toml").write_text(f"[tool.statelint]\n{settings}\n")
    assert {d.code for d in lint(**options).diagnostics} == codes


def test_per_file_ignores_are_relative_to_the_file_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("lib/sub").mkdir(parents=True)
    Path("lib/sub/train.py").write_text(TRAIN)
    Path("pyproject.toml").write_text("[tool.statelint]\nper-file-ignores = {'lib/sub/*' = ['SL103']}\n")
    assert lint().diagnostics == lint(os.path.abspath("lib")).diagnostics == ()
    monkeypatch.chdir("lib/sub")
    assert lint().diagnostics == lint("train.py").diagnostics == ()


def test_what_says_that_a_file_was_not_checked_runs_whatever_is_selected() -> None:
    Path("broken.py").write_text("def f(:\n")
    report = lint(select=("SL401",))
    assert ([d.code for d in report.diagnostics], report.files, report.unparsed) == (["SL900"], 1, 1)
    silent = lint(ignore=("SL900",))
    assert (silent.diagnostics, silent.unparsed) == ((), 1)


def test_wrong_options_are_gathered() -> None:
    with pytest.raises(UsageError) as caught:
        lint(select=("SL1", "nonsense"), ignore=("XX",))
    assert caught.value.lines == ("--select: unknown rule 'nonsense'", "--ignore: unknown rule 'XX'")


def test_files_that_cannot_be_read_are_gathered() -> None:
    Path("a.py").write_text("")
    with pytest.raises(UsageError) as caught:
        lint("a.py", "gone.py", "lost.py")
    assert caught.value.lines == ("gone.py: no such file or folder", "lost.py: no such file or folder")


# --- probes


@pytest.mark.parametrize("declared", ["code", "toml"])
def test_both_detectors_make_one_finding(declared: str) -> None:
    Path("train.py").write_text(TRAIN + (IN_CODE if declared == "code" else ""))
    Path("pyproject.toml").write_text(IN_TOML.format(settings="") if declared == "toml" else "")
    report = lint()
    assert found(report) == [("train.py", 7, "SL304", "both")]
    (finding,) = report.diagnostics
    (source,) = lint(probe=False).diagnostics
    assert (source.code, source.detector) == ("SL103", "source")
    assert (finding.location, finding.fix) == (source.location, source.fix)
    (probe,) = report.probes
    assert (probe.name, probe.executables) == ("train", Executables(2, 0))
    assert (probe.path, probe.line) == (("train.py", 16) if declared == "code" else ("pyproject.toml", 4))
    assert report.executables(finding) == Executables(2, 0)
    assert (probe.path, probe.line) in {(related.location.path, related.location.line) for related in finding.related}


def test_probes_that_do_not_run_are_counted() -> None:
    Path("train.py").write_text(TRAIN + IN_CODE)
    report = lint(probe=False)
    assert (report.probes, report.probes_left) == ((), 1)


def test_a_probe_that_fails_is_a_finding_and_the_others_run() -> None:
    Path("train.py").write_text(TRAIN + IN_CODE)
    Path("pyproject.toml").write_text(IN_TOML.format(settings="").replace("train:step", "train:stop"))
    report = lint(select=("SL3",))
    assert found(report) == [("pyproject.toml", 4, "SL902", "probe"), ("train.py", 7, "SL304", "probe")]
    assert [probe.executables for probe in report.probes] == [None, Executables(2, 0)]


def test_a_finding_in_a_file_that_was_not_linted() -> None:
    Path("train.py").write_text(TRAIN)
    Path("other.py").write_text("from train import step\n")
    Path("pyproject.toml").write_text(IN_TOML.format(settings="").replace("train:step", "other:step"))
    report = lint("other.py")
    assert found(report) == [("train.py", 7, "SL304", "probe")]
    assert report.source("train.py")[6].strip().startswith('return {"tau"')
    Path("train.py").write_text(TRAIN.replace("jnp.ones(3)}", "jnp.ones(3)}  # statelint: ignore[SL304]"))
    assert lint("other.py").diagnostics == ()


@pytest.mark.parametrize(
    ("paths", "ran"),
    [
        ((), ["train", "installed"]),
        ((".",), ["train", "installed"]),
        (("pkg", "."), ["train", "installed"]),
        (("src",), ["train"]),
        (("src/pkg/train.py",), ["train"]),
        (("src/pkg/__init__.py",), []),
        (("other.py",), []),
    ],
)
def test_which_probes_of_the_configuration_run(paths: tuple[str, ...], ran: list[str]) -> None:
    Path("src/pkg").mkdir(parents=True)
    Path("pkg").mkdir()
    Path("src/pkg/__init__.py").write_text("")
    Path("src/pkg/train.py").write_text(TRAIN)
    Path("other.py").write_text("")
    text = IN_TOML.format(settings="").replace('"train:', '"pkg.train:')
    Path("pyproject.toml").write_text(
        text + '[[tool.statelint.probe]]\nname = "installed"\nstep = "operator:neg"\nstate = "math:pi"\n'
    )
    report = lint(*paths)
    assert sorted(probe.name for probe in report.probes) == sorted(ran)
    assert report.probes_left == 2 - len(ran)


def test_codes_of_probes_are_not_judged_where_one_did_not_run() -> None:
    Path("train.py").write_text(TRAIN)
    Path("other.py").write_text("x = 1  # statelint: ignore[SL304]\n")
    Path("pyproject.toml").write_text(IN_TOML.format(settings=""))
    assert lint("other.py").diagnostics == ()
    assert {d.code for d in lint().diagnostics} == {"SL304", "SL901"}


def test_paths_are_shown_as_the_user_gave_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("train.py").write_text(TRAIN + IN_CODE)
    assert found(lint(str(tmp_path))) == [(f"{tmp_path}/train.py", 7, "SL304", "both")]
    Path("deep").mkdir()
    monkeypatch.chdir("deep")
    assert found(lint("../train.py")) == [("../train.py", 7, "SL304", "both")]


def test_two_probes_that_meet_one_fault_make_one_finding() -> None:
    again = "again = Probe(step=step, state=init_state, args=('f32[3]',))\n"
    Path("train.py").write_text(TRAIN + IN_CODE + again)
    report = lint()
    assert found(report) == [("train.py", 7, "SL304", "both")]
    assert [probe.name for probe in report.probes] == ["train", "again"]
    notes = [related.message for related in report.diagnostics[0].related]
    assert notes[-2:] == ["probe train is declared here", "probe again is declared here"]


@pytest.mark.parametrize("silence", ["comment", "option"])
def test_a_probe_that_failed_is_never_called_clean(silence: str) -> None:
    Path("train.py").write_text(
        "from statelint import Probe\n\nlost = Probe(step=print, state='f32[3]')  # statelint: ignore[SL902]\n"
    )
    report = lint(ignore=("SL902",) if silence == "option" else ())
    assert report.diagnostics == ()
    assert summary(report, Look()) == "Nothing found in 1 file, 1 probe (1 probe failed)"


def test_a_file_that_cannot_be_imported_is_said_once() -> None:
    probes = "".join(f"p{number} = Probe(step=step, state=init_state)\n" for number in range(3))
    Path("train.py").write_text(f"{TRAIN}\nimport nowhere_at_all\nfrom statelint import Probe\n{probes}")
    report = lint(select=("SL902",))
    (finding,) = report.diagnostics
    assert (finding.location.line, report.probes_failed) == (14, 3)
    assert finding.message.startswith("not traced: ModuleNotFoundError: No module named 'nowhere_at_all'")
    assert [related.location.line for related in finding.related] == [16, 17, 18]


@pytest.mark.parametrize(
    ("option", "setting", "line"),
    [
        ("no/python", "", "--python: no/python is not an executable file"),
        (None, "python = 'no/python'", "pyproject.toml: python: "),
        (None, "python = 'pyproject.toml'", "pyproject.toml: python: "),
    ],
)
def test_an_interpreter_that_is_not_there(option: str | None, setting: str, line: str) -> None:
    Path("train.py").write_text(TRAIN)
    Path("pyproject.toml").write_text(IN_TOML.format(settings=setting))
    with pytest.raises(UsageError) as caught:
        lint(python=option)
    (said,) = caught.value.lines
    assert said.startswith(line)
    assert said.endswith("is not an executable file")
    assert lint(python=option, probe=False).probes_left == 1


def test_the_interpreter_is_relative_to_the_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("bin").mkdir()
    Path("bin/python").write_text(f'#!/bin/sh\necho ran >> "{Path.cwd()}/ran"\nexec "{sys.executable}" "$@"\n')
    Path("bin/python").chmod(0o755)
    Path("deep").mkdir()
    Path("deep/a.py").write_text("")
    Path("train.py").write_text(TRAIN)
    Path("pyproject.toml").write_text(IN_TOML.format(settings="python = 'bin/python'"))
    monkeypatch.chdir("deep")
    assert [d.code for d in lint().diagnostics] == ["SL304"]
    assert Path("../ran").exists()


def test_the_active_environment_runs_the_probes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "env/bin").mkdir(parents=True)
    python = tmp_path / "env/bin/python"
    python.write_text(f'#!/bin/sh\ntouch "{tmp_path}/ran"\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "env"))
    Path("train.py").write_text(TRAIN + IN_CODE)
    assert [d.code for d in lint("train.py").diagnostics] == ["SL304"]
    assert (tmp_path / "ran").exists()


def test_a_file_that_cannot_be_read_is_one_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("train.py").write_text(TRAIN + IN_CODE)
    Path("locked.py").write_text(TRAIN)
    Path("locked.py").chmod(0)
    if os.geteuid() == 0:  # who may read everything
        opened = open
        monkeypatch.setattr("builtins.open", lambda path, *rest, **named: refused(opened, path, *rest, **named))
    report = lint("train.py", "locked.py")
    (unread,) = [each for each in report.diagnostics if each.code == "SL900"]
    assert (unread.location.path, unread.message) == ("locked.py", "not checked: cannot be read: Permission denied")
    assert {each.code for each in report.diagnostics} == {"SL304", "SL900"}
    assert report.unparsed == 1


def refused(opened: Any, path: Any, *rest: Any, **named: Any) -> Any:
    if path == "locked.py":
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return opened(path, *rest, **named)


# --- comments


def test_a_comment_silences_either_detector() -> None:
    Path("train.py").write_text(
        TRAIN.replace("jnp.ones(3)}", "jnp.ones(3)}  # statelint: ignore[SL103,SL304]") + IN_CODE
    )
    assert lint().diagnostics == ()
    assert lint(probe=False).diagnostics == ()


def test_comments_are_judged_by_what_ran() -> None:
    Path("train.py").write_text(TRAIN + IN_CODE + "a = 1  # statelint: ignore[SL304]\nb = 2  # statelint: ignore\n")
    unused = [(code, line) for _, line, code, _ in found(lint()) if code == "SL901"]
    assert unused == [("SL901", 17), ("SL901", 18)]
    assert "SL901" not in {d.code for d in lint(probe=False).diagnostics}


def test_where_the_probe_failed_its_rules_are_not_judged() -> None:
    Path("train.py").write_text(TRAIN + IN_CODE.replace("f32[3]", "f32[7]") + "a = 1  # statelint: ignore[SL304]\n")
    assert {d.code for d in lint().diagnostics} == {"SL103", "SL902"}


def test_a_rule_that_is_off_in_a_file_is_not_judged_there() -> None:
    Path("a.py").write_text("x = 1  # statelint: ignore[SL103, SL401]\n")
    Path("pyproject.toml").write_text("[tool.statelint]\nper-file-ignores = {'a.py' = ['SL103']}\n")
    (finding,) = lint().diagnostics
    assert "SL401" in finding.message
    assert "SL103" not in finding.message


# --- what the probe refutes

STRONG = """
import jax
import jax.numpy as jnp
from statelint import Probe


def build():
    zeros = jnp.zeros(3)
    return {
        "step": 0, "tau": jnp.asarray(0.0), "rate": 0.5,  # HERE
        "mu": zeros,
        "nu": zeros,
    }


def init_state():
    return jax.tree.map(lambda leaf: jnp.array(leaf, jnp.asarray(leaf).dtype), build())


@jax.jit
def step(state):
    return jax.tree.map(lambda leaf: leaf + jnp.ones((), leaf.dtype), state)


train = Probe(step=step, state=init_state)
"""
"""What makes the state mends it elsewhere, which the source does not see."""
WEAK = STRONG.replace("jnp.array(leaf, jnp.asarray(leaf).dtype)", "jnp.array(leaf)")
SOURCE_SAYS = {"SL101": "step", "SL103": "tau", "SL102": "rate", "SL401": "nu"}


def said(text: str, **options: object) -> set[tuple[str, str]]:
    Path("train.py").write_text(text)
    report = lint(**options)
    assert report.probes_failed == 0
    return {(d.code, (d.field or "").strip("[']")) for d in report.diagnostics}


def test_the_probe_refutes_what_the_source_cannot_see() -> None:
    assert said(STRONG, probe=False) == set(SOURCE_SAYS.items())
    assert said(STRONG) == set()
    assert {field for _, field in said(WEAK)} == {"step", "tau", "rate"}


def test_one_probe_that_confirms_outweighs_those_that_refute() -> None:
    text = """
import jax
import jax.numpy as jnp
from statelint import Probe


def build():
    zeros = jnp.zeros(3)
    return {"tau": jnp.asarray(0.0), "mu": zeros, "nu": zeros}


def init_state():
    return jax.tree.map(lambda leaf: jnp.array(leaf, leaf.dtype), build())


def step(state):
    return jax.tree.map(lambda leaf: leaf * 2, state)


mended = Probe(step=step, state=init_state)
"""
    assert said(text) == set()
    assert said(text + "bare = Probe(step=step, state=build)\n") == {("SL103", "tau"), ("SL401", "nu")}


def test_what_no_probe_saw_is_not_refuted() -> None:
    aside = "\n\ndef other_state():\n    zeros = jnp.zeros(3)\n    return {'step': 0, 'mu': zeros, 'nu': zeros}\n"
    assert said(STRONG + aside) == {("SL101", "step"), ("SL401", "nu")}


def test_a_comment_on_what_the_probe_refutes_is_used() -> None:
    text = STRONG.replace("# HERE", "# statelint: ignore[SL101, SL102, SL103]")
    assert said(text) == set()
    assert said(text, probe=False) == {("SL401", "nu")}


# --- one finding for one fault


def test_a_shared_buffer_is_reported_at_the_later_place_by_both() -> None:
    text = """
import jax
import jax.numpy as jnp
from statelint import Probe


def init_state():
    params = jnp.zeros(3)
    return {
        "params": params,
        "ema": params,
    }


train = Probe(step=jax.jit(lambda state: state, donate_argnums=0), state=init_state)
"""
    Path("train.py").write_text(text)
    assert [each for each in found(lint()) if each[2] == "SL401"] == [("train.py", 11, "SL401", "both")]
    assert "state['params'] and state['ema'] share" in lint(select=("SL401",)).diagnostics[0].message


def test_a_weak_leaf_is_one_finding_however_it_came_to_be_weak() -> None:
    kept = findings.dearest([finding("SL103", "step", detector="probe"), finding("SL101", "step", fix=True)])
    assert [(d.code, d.detector, d.fix) for d in kept] == [("SL103", "both", Fix(True, "mend step"))]


def finding(
    code: str,
    field: str | None,
    *,
    line: int = 1,
    column: int = 1,
    detector: str = "source",
    fix: bool = False,
) -> Diagnostic:
    at = Location("a.py", line, column)
    message = f"{detector} on {field}"
    mend = Fix(True, f"mend {field}") if fix else None
    return Diagnostic(code, code, Severity.ERROR, message, at, detector=detector, field=field, fix=mend)  # type: ignore[arg-type]


def test_each_is_confirmed_by_the_probes_word_on_its_own_field() -> None:
    seen = [
        finding("SL101", "count", column=5, fix=True),
        finding("SL101", "step", column=9),
        finding("SL102", "lr", line=2),
    ]
    traced = [finding("SL101", name, detector="probe") for name in ("opt.step", "opt.count", "opt.extra")]
    merged = {d.field: d for d in findings.confirmed(seen, traced)}
    assert {field: (d.detector, d.location.column) for field, d in merged.items()} == {
        "lr": ("source", 1),
        "opt.step": ("both", 9),
        "opt.count": ("both", 5),
        "opt.extra": ("both", 5),
    }
    assert merged["opt.count"].message == "probe on opt.count"
    assert merged["opt.count"].fix == Fix(True, "mend count")


def test_a_drift_takes_the_weak_leaf_of_its_name_and_line_only() -> None:
    drift = finding("SL304", "opt['tau']", detector="probe")
    kept = [
        finding("SL103", "nu"),
        finding("SL103", "tau", line=2),
        finding("SL401", "tau"),
        finding("SL102", None),
    ]
    result = findings.dearest([drift, finding("SL103", "tau", column=7, fix=True), *kept])
    assert [d for d in result if d.code != "SL304"] == kept
    (merged,) = (d for d in result if d.code == "SL304")
    assert (merged.detector, merged.location.column, merged.fix) == ("both", 7, Fix(True, "mend tau"))


@pytest.mark.parametrize("adopt", [["--add-ignore"], ["--write-baseline"], ["--no-probe", "--add-ignore"]])
def test_what_is_put_up_with_is_so_with_probes_and_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, adopt: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pyproject.toml").write_text('[tool.statelint]\nbaseline = "known.json"\n')
    Path("known.json").write_text('{"version": 1, "findings": {}}')
    Path("train.py").write_text(
        "import jax.numpy as jnp\nfrom statelint import Probe\n\n\n"
        "def create_state():\n"
        '    return {"params": jnp.zeros(3), "loss_ema": jnp.asarray(0.0)}\n\n\n'
        "def step(state, loss):\n"
        '    return {"params": state["params"], "loss_ema": state["loss_ema"] * loss}\n\n\n'
        'probe = Probe(step=step, state=create_state, args=("f32[]",))\n'
    )
    assert main([]) == 1
    main(adopt)
    assert (main([]), main(["--no-probe"])) == (0, 0)
