from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from statelint.report.rows import Row, collapsed

ROOT = Path(__file__).parent.parent
LESSON = ROOT / "fixtures" / "lesson"

SHARED = """\
import jax
import jax.numpy as jnp
from statelint import Probe

def create():
    zero = jnp.zeros(3)
    return {"mean": zero, "square": zero, "scale": 1.0, "key": jax.random.key(0)}

def step(state):
    return {**state, "mean": state["mean"].astype(jnp.bfloat16)}

welford = Probe(step=step, state=create)
"""

LAYERS = """\
import jax
import jax.numpy as jnp
from statelint import Probe

def create():
    return {"layers": [{"w": jnp.zeros((4, 4)), "b": jnp.zeros(4)} for _ in range(30)], "out": jnp.zeros(4)}

def step(state):
    return jax.tree.map(lambda leaf: leaf * 0.9, state)

train = Probe(step=step, state=create)
"""


def show(folder: Path, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "statelint", "show", "--no-cache", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **env}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def as_json(folder: Path, *arguments: str) -> list[dict]:
    done = show(folder, "--output-format", "json", *arguments)
    assert done.stderr == ""
    return json.loads(done.stdout)["probes"]


class TestLesson:
    def test_the_table_shows_each_leaf_in_the_treedefs_order(self):
        done = show(LESSON, "adam.py")
        assert done.returncode == 0, done.stderr
        paths = re.findall(r"^(state\[\S+)  +array", done.stdout, re.MULTILINE)
        assert paths == [
            "state['opt']['count']",
            "state['opt']['mu']['b']",
            "state['opt']['mu']['w']",
            "state['opt']['nu']['b']",
            "state['opt']['nu']['w']",
            "state['params']['b']",
            "state['params']['w']",
        ]

    def test_the_budget_stands_under_it(self):
        text = " ".join(show(LESSON, "adam.py").stdout.split())
        assert "params: state['params'] 1,050,624 B" in text
        assert "2,101,252 B (2.0 MiB) = 2 x params + 4 B (count)" in text
        assert "held at the peak 3,151,876 B (3.0 MiB) without donation 6,303,752 B" in text

    def test_a_weak_counter_is_said_to_cost_one_more_executable(self):
        weak, strong = as_json(LESSON, "step_number.py")
        assert (weak["name"], strong["name"]) == ("weak", "strong")
        assert [leaf["weak"] for probe in (weak, strong) for leaf in probe["leaves"]] == [True, False]
        assert [probe["executables"] for probe in (weak, strong)] == [
            {"loop": 1, "restore": 1},
            {"loop": 1, "restore": 0},
        ]

    def test_what_an_executable_is_due_to_is_named(self):
        lines = show(LESSON, "step_number:weak").stdout.splitlines()
        assert "executables: 1 in a loop, 1 more after a restore" in lines
        assert "  after a restore: state: weak int32[] -> int32[] (step_number.py:57)" in lines

    def test_static_fields_are_shown(self, tmp_path):
        declared = "import statelint\nprobe = statelint.Probe(step=train_step, state=create_state)\n"
        (tmp_path / "kinds.py").write_text((LESSON / "kinds_of_field.py").read_text() + declared)
        (probe,) = as_json(tmp_path)
        assert [(static["path"], static["value"]) for static in probe["statics"]] == [("activation", "'tanh'")]
        assert [leaf["kind"] for leaf in probe["leaves"]] == ["array", "array", "array", "Python scalar"]
        assert re.search(r"state\.activation +static +'tanh'", show(tmp_path).stdout)


class TestColumns:
    @pytest.fixture
    def project(self, tmp_path):
        (tmp_path / "loop.py").write_text(SHARED)
        return tmp_path

    def test_json_tells_kinds_sharing_and_changes(self, project):
        (probe,) = as_json(project, "loop.py")
        leaves = {leaf["path"]: leaf for leaf in probe["leaves"]}
        assert leaves["['mean']"]["shares"] == ["['square']"]
        assert leaves["['mean']"]["changes"][0] == {"call": 1, "before": "float32[3]", "after": "bfloat16[3]"}
        assert leaves["['key']"]["kind"] == "key"
        assert leaves["['scale']"]["kind"] == "Python scalar"
        assert leaves["['scale']"]["aval"] == "float32[]"
        assert leaves["['mean']"]["made"]["line"] == 7

    def test_the_table_tells_the_same(self, project):
        text = show(project).stdout
        assert re.search(r"state\['mean'\] .* state\['square'\] +call 1: bfloat16\[3\]", text)
        assert re.search(r"state\['scale'\] +Python scalar +float32\[\] +weak", text)
        assert "Nothing is donated" in text

    def test_a_pipe_is_given_plain_text_that_no_width_folds(self, project):
        done = show(project, LC_ALL="C", COLUMNS="20", PYTHONIOENCODING="ascii:strict")
        assert done.stdout.isascii()
        assert "\x1b" not in done.stdout
        assert max(map(len, done.stdout.splitlines())) > 80
        assert done.stdout == "".join(f"{line.rstrip()}\n" for line in done.stdout.splitlines())

    def test_a_terminal_is_given_lines_that_fit(self, project):
        ours, theirs = pty.openpty()
        command = [sys.executable, "-m", "statelint", "show", "--no-cache", "--color", "never"]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "60"}
        with subprocess.Popen(command, cwd=project, env=environment, stdout=theirs):
            os.close(theirs)
            text = b"".join(_chunks(ours)).decode()
        assert max(map(len, text.splitlines())) <= 60


def _chunks(descriptor):
    while True:
        try:
            chunk = os.read(descriptor, 4096)
        except OSError:
            break
        if not chunk:
            break
        yield chunk
    os.close(descriptor)


class TestMany:
    @pytest.fixture
    def project(self, tmp_path):
        (tmp_path / "layered.py").write_text(LAYERS)
        return tmp_path

    def test_layers_that_are_alike_are_one_row(self, project):
        text = show(project).stdout
        assert re.search(r"state\['layers'\]\[0\.\.29\]\['w'\] +array +float32\[4,4\] +x 30 +1,920", text)
        assert "61 rows in 3" in text

    def test_all_shows_each(self, project):
        text = show(project, "--all").stdout
        assert len(re.findall(r"^state\['layers'\]\[\d+\]", text, re.MULTILINE)) == 60

    def test_json_has_each(self, project):
        (probe,) = as_json(project)
        assert len(probe["leaves"]) == 61


class TestCollapsed:
    @staticmethod
    def paths(*paths, **other):
        return [
            (row.path, row.count) for row in collapsed([Row(path, "array", "float32[]", **other) for path in paths])
        ]

    def test_numbers_at_several_places(self):
        names = [f"state.layers_{layer}.w{part}" for layer in range(11) for part in (1, 2)]
        assert self.paths(*sorted(names)) == [("state.layers_0..10.w1,2", 22)]

    def test_not_when_some_are_missing(self):
        names = ["state.a0.w0", "state.a0.w1", "state.a1.w0"]
        assert self.paths(*names) == [(name, 1) for name in names]

    def test_other_avals_stay_apart(self):
        table = [Row(f"state[{number}]", "array", "f32[2]" if number == 1 else "f32[]") for number in range(3)]
        assert [row.path for row in collapsed(table)] == ["state[0,2]", "state[1]"]

    def test_bytes_add_up_and_sharing_is_kept(self):
        table = [Row(f"a[{number}]", "array", "f32[]", bytes=4, shares=(f"b[{number}]",)) for number in range(5)]
        (row,) = collapsed(table)
        assert (row.bytes, row.count, row.shares) == (20, 5, ("b[0..4]",))


class TestTargets:
    def test_a_probe_by_its_name(self):
        (probe,) = as_json(LESSON, "adam:train")
        assert (probe["name"], probe["path"], len(probe["leaves"])) == ("train", "adam.py", 7)
        assert probe["line"] == (LESSON / "adam.py").read_text().split("\ntrain = ")[0].count("\n") + 2

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            ("adam:nothing", "has no attribute 'nothing'"),
            ("adam:train_step", "and no statelint.Probe"),
            ("no_such_module:train", "No module named 'no_such_module'"),
        ],
    )
    def test_a_name_that_is_no_probe_fails_with_the_reason(self, name, message):
        done = show(LESSON, name)
        assert done.returncode == 1
        assert message in done.stdout

    def test_a_failed_probe_is_shown_beside_the_others(self, tmp_path):
        (tmp_path / "a.py").write_text(
            "import statelint\nbroken = statelint.Probe(step=lambda s: 1 / 0, state='f32[]')\n"
        )
        (tmp_path / "b.py").write_text(LAYERS)
        done = show(tmp_path)
        assert done.returncode == 1
        assert "FAILED at a.py:2: ZeroDivisionError" in done.stdout
        assert "state['out']" in done.stdout
        failed, traced = as_json(tmp_path)
        assert (failed["failed"]["line"], traced["failed"]) == (2, None)

    def test_a_probe_of_the_configuration(self, tmp_path):
        (tmp_path / "m.py").write_text("def step(state):\n    return state + 1\n")
        (tmp_path / "s.py").write_text("import jax.numpy as jnp\nstate = jnp.zeros(3)\n")
        (tmp_path / "pyproject.toml").write_text(
            '[[tool.statelint.probe]]\nname = "count"\nstep = "m:step"\nstate = "s:state"\n'
        )
        (probe,) = as_json(tmp_path)
        assert (probe["name"], probe["path"]) == ("count", "pyproject.toml")
        assert [leaf["path"] for leaf in probe["leaves"]] == [""]

    @pytest.mark.parametrize(
        ("arguments", "line"),
        [
            ([], "no probe is declared under .: declare one with statelint.Probe"),
            (["nowhere.py"], "nowhere.py: no such file or folder"),
            (["--python", "nowhere", "m:p"], "--python: nowhere is not an executable file"),
            (["--isolated", "--config", "x.toml"], "--config does not go with --isolated"),
        ],
    )
    def test_what_cannot_be_done_is_one_line(self, tmp_path, arguments, line):
        (tmp_path / "a.py").write_text("x = 1\n")
        done = show(tmp_path, *arguments)
        assert (done.returncode, done.stdout, done.stderr) == (2, "", f"statelint: error: {line}\n")


def test_equinox_holds_numbers_static(tmp_path):
    (tmp_path / "m.py").write_text(
        "import equinox as eqx\nimport jax.numpy as jnp\nfrom statelint import Probe\n\n"
        "class Model(eqx.Module):\n    w: object\n    rate: float = 0.5\n\n"
        "probe = Probe(step=eqx.filter_jit(lambda m: m), state=lambda: Model(jnp.zeros(3)))\n"
    )
    (probe,) = as_json(tmp_path)
    assert [(leaf["path"], leaf["kind"], leaf["value"]) for leaf in probe["leaves"]] == [
        ("w", "array", None),
        ("rate", "static", "0.5"),
    ]
    assert {kind["kind"]: kind["count"] for kind in probe["budget"]["kinds"]}["static field"] == 1


def test_a_state_that_jit_refuses_is_shown_all_the_same(tmp_path):
    (tmp_path / "m.py").write_text(
        "from statelint import Probe\nprobe = Probe(step=lambda s: s, state={'a': 'text', 'b': 1.0})\n"
    )
    done = show(tmp_path)
    assert done.returncode == 0
    assert "jax.jit refuses this state" in done.stdout
    assert re.search(r"state\['a'\] +refused +'text'", done.stdout)


def test_a_call_that_fails_is_named(tmp_path):
    (tmp_path / "m.py").write_text(
        "from statelint import Probe\nimport jax.numpy as jnp\n"
        "def step(s):\n    assert s.shape == (2,)\n    return jnp.concatenate([s, s])\n"
        "probe = Probe(step=step, state='f32[2]')\n"
    )
    assert "call 2 fails: AssertionError" in show(tmp_path).stdout


def test_an_extra_of_a_literal_state_stands_at_its_probe(tmp_path):
    (tmp_path / "train.py").write_text("from statelint import Probe\n\np = Probe(lambda s: s + 1, 0)\n")
    assert "  after a restore: state: weak int32[] -> int32[] (train.py:3)\n" in show(tmp_path, "train.py").stdout


DONATING = """\
import functools
import jax
import jax.numpy as jnp
from statelint import Probe

@functools.partial(jax.jit, donate_argnums=0)
def step(state):
    return {"w": state["w"] * 2, "step": state["step"] + 1}

probe = Probe(step, lambda: {"w": jnp.zeros(3), "step": 0})
"""


class TestDonation:
    @pytest.fixture
    def project(self, tmp_path):
        (tmp_path / "m.py").write_text(DONATING)
        return tmp_path

    def test_a_python_scalar_is_never_donated(self, project):
        text = show(project).stdout
        assert re.search(r"state\['w'\] +array .* donated$", text, re.MULTILINE)
        assert re.search(r"state\['step'\] +Python scalar +int32\[\] +weak +4$", text, re.MULTILINE)
        assert re.search(r"of which reused +12 B ", text)
        assert re.search(r"^Python scalar .* no +1$", text, re.MULTILINE)
        (probe,) = as_json(project)
        assert {leaf["path"]: leaf["donated"] for leaf in probe["leaves"]} == {"['step']": False, "['w']": True}
        assert probe["donates"] is True

    def test_the_compiled_program_tells_what_it_reuses(self, project):
        assert (
            "compiled, the step reuses 12 of the 12 bytes donated on each device\n" in show(project, "--compile").stdout
        )
        (probe,) = as_json(project, "--compile")
        assert probe["donation"] == {"asked": 12, "promised": 12, "reused": 12}
        assert "donation" not in as_json(project)[0]


@pytest.mark.parametrize(("jit", "under"), [("@jax.jit", ""), ("", ", as nothing has jitted it yet")])
def test_a_refused_state_says_whether_the_step_is_jitted(tmp_path, jit, under):
    (tmp_path / "m.py").write_text(
        f"import jax\nfrom statelint import Probe\n\n{jit}\ndef step(state):\n    return state\n\n"
        "probe = Probe(step, {'a': 'text', 'b': 1.0})\n"
    )
    assert f"under jax.jit{under}\njax.jit refuses this state\n" in show(tmp_path).stdout


def test_what_changes_at_every_call_is_one_line(tmp_path):
    (tmp_path / "m.py").write_text(
        "import jax\nimport jax.numpy as jnp\nfrom flax import struct\nfrom statelint import Probe\n\n"
        "@struct.dataclass\nclass State:\n    w: jax.Array\n    n: int = struct.field(pytree_node=False, default=0)\n\n"
        "def step(state):\n    return state.replace(n=state.n + 1)\n\n"
        "probe = Probe(step, lambda: State(jnp.zeros(3)))\n"
    )
    lines = [line for line in show(tmp_path).stdout.splitlines() if line.startswith("  ")]
    assert lines == ["  at every call: state.n: 0 -> 1 -> ... (m.py:12)"]


def test_a_name_that_stands_for_nothing_has_no_place():
    done = show(LESSON, "adam:nothing")
    assert done.stdout == "adam:nothing\nFAILED: module 'adam' has no attribute 'nothing'\n"
    (probe,) = as_json(LESSON, "adam:nothing")
    assert (probe["path"], probe["line"], probe["failed"]["path"], probe["failed"]["line"]) == (None,) * 4
