"""Every rule is proved on a faulty module and its mended twin: by what is said, and by what JAX then does.

A folder of `fixtures` is a rule's. Comments in its modules say what is expected:

- `# expect: SL101` at a line that the source rules must flag, and no other;
- `# expect-probe: SL304` at a line that must be flagged when the probes run;
- `# costs NAME: loop=1 restore=1` for a probe: what a loop and a restore compile (`loop=every`: a new
  executable every call; `raises="..."`: what the loop fails with);
- `# costs sweep: executables=5` for a function `sweep` that gives a probe and a series of states for it.
- `# costs fault: compiles=5` for a function `fault` that calls what is jitted: what that compiles in all
  (`raises="..."`: what it fails with, `raises=nothing` that it does not).

Elsewhere a function `fault` runs what no probe can measure, and says whether it went wrong. A rule that does not
run unless it is selected is selected in its own folder.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any

import pytest

from statelint import rules
from tests.modules import load
from tests.reality import executables, measure_call, measure_probe
from tests.statelint_cli import ROOT, lint

if TYPE_CHECKING:
    from pathlib import Path

FIXTURES = ROOT / "fixtures"
FOLDERS = sorted(FIXTURES.glob("SL*_*"))
MODULES = [folder / name for folder in FOLDERS for name in ("bad.py", "good.py")]


def code_of(path: Path) -> str:
    return path.parent.name.partition("_")[0]


def marked(path: Path, marker: str) -> set[tuple[int, str]]:
    lines = enumerate(path.read_text().splitlines(), start=1)
    found = ((line, match) for line, text in lines for match in re.findall(rf"# {marker}: ([\w, ]*\w)", text))
    return {(line, code) for line, codes in found for code in re.split(r",\s*", codes)}


def costs(path: Path) -> dict[str, dict[str, str]]:
    """By the probe's name, which is empty for the only probe of a file."""
    found = re.findall(r"^# costs ?(\w*): (.*)$", path.read_text(), flags=re.MULTILINE)
    return {name: dict(part.split("=", 1) for part in shlex.split(text)) for name, text in found}


def short(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


COSTS = [
    pytest.param(path, name, cost, id=f"{short(path)}-{name or 'probe'}")
    for path in MODULES
    for name, cost in costs(path).items()
    if name not in ("sweep", "fault")
]
SWEEPS = [
    pytest.param(path, int(costs(path)["sweep"]["executables"]), id=short(path))
    for path in MODULES
    if "sweep" in costs(path)
]
CALLED = [pytest.param(path, costs(path)["fault"], id=short(path)) for path in MODULES if "fault" in costs(path)]
FAULTS = [
    folder
    for folder in FOLDERS
    if "def fault" in (folder / "bad.py").read_text() and "fault" not in costs(folder / "bad.py")
]
PEDANTIC = [folder for folder in FOLDERS if not rules.load()[code_of(folder / "bad.py")].rule.default]
STALE = [folder for folder in FOLDERS if "def wrong_result" in (folder / "bad.py").read_text()]


def findings(report: dict[str, Any], path: Path) -> list[dict[str, Any]]:
    return [finding for finding in report["diagnostics"] if finding["path"] == path]


def places(report: dict[str, Any], path: Path) -> set[tuple[int, str]]:
    return {(finding["line"], finding["code"]) for finding in findings(report, path)}


def lint_all(*options: str) -> dict[str, Any]:
    """One report of all folders, each with its own rule selected."""
    default = [folder for folder in FOLDERS if folder not in PEDANTIC]
    reports = [lint(default, "--isolated", *options)]
    for folder in PEDANTIC:
        reports.append(lint([folder], "--isolated", "--extend-select", code_of(folder / "bad.py"), *options))
    return {
        "diagnostics": [finding for report in reports for finding in report["diagnostics"]],
        "checked": {"probes": [probe for report in reports for probe in report["checked"]["probes"]]},
    }


@pytest.fixture(scope="module")
def by_source():
    return lint_all("--no-probe")


@pytest.fixture(scope="module")
def by_both():
    return lint_all()


def probe_of(path: Path, name: str) -> Any:
    """The declared probe of this name, or the only one."""
    from statelint import Probe

    declared = {key: value for key, value in vars(load(path)).items() if isinstance(value, Probe)}
    return declared[name] if name else next(iter(declared.values()))


def test_each_rule_has_its_folder_and_each_folder_its_rule():
    expected = {f"{code}_{module.rule.name.replace('-', '_')}" for code, module in rules.load().items()}
    assert {folder.name for folder in FOLDERS} == expected


@pytest.mark.parametrize("path", MODULES, ids=short)
def test_source_flags_the_marked_lines_and_no_others(by_source, path):
    assert places(by_source, path) == marked(path, "expect")


@pytest.mark.parametrize("path", MODULES, ids=short)
def test_probes_flag_the_marked_lines(by_both, path):
    assert marked(path, "expect-probe") <= places(by_both, path)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_each_detector_of_a_rule_sees_its_fault(by_both, folder):
    code = code_of(folder / "bad.py")
    detectors = {finding["detector"] for finding in findings(by_both, folder / "bad.py") if finding["code"] == code}
    module = rules.load()[code]
    seen = {"source", "probe"} if "both" in detectors else detectors
    assert {name for name, has in (("source", module.in_source), ("probe", module.in_trace)) if has} <= seen


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_mended_module_is_clean(by_source, by_both, folder):
    assert findings(by_source, folder / "good.py") == []
    assert findings(by_both, folder / "good.py") == []


@pytest.mark.parametrize(("path", "name", "cost"), COSTS)
def test_it_costs_what_it_says(path, name, cost):
    seen = measure_probe(probe_of(path, name))
    if "raises" in cost:
        assert cost["raises"] in (seen.error or "")
    else:
        assert seen.error is None
    if "loop" in cost:
        assert ("every" if seen.loop is None else str(seen.loop), str(seen.restore)) == (
            cost["loop"],
            cost["restore"],
        )
    if path.stem == "good":
        assert (seen.loop, seen.restore, seen.error) == (1, 0, None)


@pytest.mark.parametrize(("path", "name", "cost"), COSTS)
def test_the_probe_predicts_the_cost(by_both, path, name, cost):
    reported = [
        probe for probe in by_both["checked"]["probes"] if probe["path"] == path and name in ("", probe["name"])
    ]
    assert len(reported) == 1
    if "loop" in cost:
        loop = None if cost["loop"] == "every" else int(cost["loop"])
        assert reported[0]["executables"] == {"loop": loop, "restore": int(cost["restore"])}


@pytest.mark.parametrize(("path", "name", "cost"), COSTS)
def test_a_cost_is_never_predicted_without_a_finding(by_both, path, name, cost):
    at = probe_of(path, name).site[1]
    (probe,) = [probe for probe in by_both["checked"]["probes"] if (probe["path"], probe["line"]) == (path, at)]
    blamed = [finding["code"] for finding in findings(by_both, path) if finding["probe"] == probe["name"]]
    assert bool(blamed) or cost == {"loop": "1", "restore": "0"}


@pytest.mark.parametrize(("path", "expected"), SWEEPS)
def test_a_series_of_states_costs_what_it_says(path, expected):
    probe, states = load(path).sweep()
    assert executables(probe.step, states, probe.args) == expected


@pytest.mark.parametrize("folder", STALE, ids=lambda folder: folder.name)
def test_the_faulty_module_gives_a_wrong_result_and_the_mended_one_does_not(folder):
    stale, right = load(folder / "bad.py").wrong_result()
    assert stale != pytest.approx(right, rel=1e-2)
    mended, right = load(folder / "good.py").wrong_result()
    assert mended == pytest.approx(right)


@pytest.mark.parametrize("folder", FAULTS, ids=lambda folder: folder.name)
def test_the_fault_shows_in_the_faulty_module_and_not_in_the_mended_one(folder):
    assert load(folder / "bad.py").fault()
    assert not load(folder / "good.py").fault()


@pytest.mark.parametrize(("path", "cost"), CALLED)
def test_what_is_called_costs_what_it_says(path, cost):
    compiles, error = measure_call(load(path).fault)
    if "compiles" in cost:
        assert (compiles, error) == (int(cost["compiles"]), None)
    elif cost["raises"] == "nothing":
        assert error is None
    else:
        assert cost["raises"] in error


DEMO = FIXTURES / "demo"


@pytest.fixture(scope="module")
def report():
    return lint(["."], cwd=DEMO)


class TestDemo:
    """The project with a fault of each family."""

    def test_each_family_is_found(self, report):
        found = {(finding["path"].name, finding["code"]) for finding in report["diagnostics"]}
        assert found == {
            ("state.py", "SL101"),
            ("state.py", "SL201"),
            ("state.py", "SL304"),
            ("optim.py", "SL302"),
            ("optim.py", "SL401"),
            ("train.py", "SL301"),
            ("train.py", "SL501"),
        }

    def test_both_detectors_have_their_say(self, report):
        assert {finding["detector"] for finding in report["diagnostics"]} == {"source", "probe", "both"}
        assert {probe["name"] for probe in report["checked"]["probes"]} == {"train", "evaluation"}

    @pytest.mark.parametrize("name", ["train", "evaluation"])
    def test_the_probes_predict_what_it_costs(self, report, monkeypatch, name):
        monkeypatch.syspath_prepend(DEMO)
        from shallow_net import state, train

        from statelint import Probe

        declared = {
            "train": Probe(
                step=train.train_step,
                state=state.create_state,
                state_args=("key<fry>[]",),
                args=("f32[64,2]", "i32[64]"),
                returns=0,
            ),
            "evaluation": train.evaluation,
        }
        seen = measure_probe(declared[name])
        (reported,) = [probe for probe in report["checked"]["probes"] if probe["name"] == name]
        assert reported["executables"] == {"loop": seen.loop, "restore": seen.restore}
        assert (seen.loop, seen.restore) == {"train": (2, 1), "evaluation": (2, 0)}[name]
        assert (seen.donation_error is not None) == (name == "train")
