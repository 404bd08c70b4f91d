"""What a run and a declaration can ask of the worker: devices, real checkpoints, real steps."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.statelint_cli import lint

MESH = """
import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding, PartitionSpec
from statelint import Probe


def create(place):
    mesh = jax.make_mesh((4,), ("data",))
    weights = jax.device_put(jnp.ones(8), NamedSharding(mesh, PartitionSpec("data")))
    step = jnp.zeros((), jnp.int32)
    return {"w": weights, "step": jax.device_put(step, NamedSharding(mesh, PartitionSpec())) if place else step}


def train_step(state):
    return {"w": state["w"] * 0.9, "step": state["step"] + 1}


half = Probe(train_step, lambda: create(False), mesh=4)
fast = {"XLA_FLAGS": "--xla_cpu_enable_fast_math=false"}
whole = Probe(train_step, lambda: create(True), mesh={"data": 2, "model": 2}, env=fast)
alone = Probe(train_step, {"w": "f32[8]", "step": "i32[]"}, donate="state")
"""


def run(folder: Path, text: str, *options: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The probes of a file by name, and what is found."""
    (folder / "train.py").write_text(text)
    report = lint(["train.py"], "--isolated", "--no-cache", *options, cwd=folder)
    return {probe["name"]: probe for probe in report["checked"]["probes"]}, report["diagnostics"]


def test_a_mesh_gives_the_worker_its_devices(tmp_path: Path) -> None:
    probes, found = run(tmp_path, MESH, "--measure")
    assert {name: probe["executables"]["loop"] for name, probe in probes.items()} == {"half": 2, "whole": 1, "alone": 1}
    assert all(probe["measured"] == probe["executables"] for probe in probes.values())
    assert [(finding["code"], finding["probe"], finding["field"]) for finding in found] == [
        ("SL703", "half", "['step']")
    ]
    assert "replicated over 4 devices" in found[0]["message"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["train.py"]


def test_a_mesh_in_a_table(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[[tool.statelint.probe]]\nname = "half"\nstep = "model:train_step"\nstate = "model:create"\nmesh = 4\n'
        "state_args = []\n"
    )
    (tmp_path / "model.py").write_text(MESH.split("half =")[0].replace("create(place)", "create(place=False)"))
    report = lint(["."], cwd=tmp_path)
    assert [finding["code"] for finding in report["diagnostics"]] == ["SL703"]


def test_a_mesh_that_is_not_there() -> None:
    from statelint import trace

    with pytest.raises(Exception, match="mesh = 4096 needs 4096 devices"):
        trace(lambda s: s, "f32[2]", mesh=4096)


PLAIN = """
from statelint import Probe

probe = Probe(lambda s: {"w": s["w"] * 2, "count": s["count"] + 1}, {"w": "f32[3]", "count": 0})
"""


@pytest.mark.parametrize("how", ["flax", "orbax"])
def test_restore_and_measure(tmp_path: Path, how: str) -> None:
    pytest.importorskip("orbax.checkpoint" if how == "orbax" else "flax")
    jax = pytest.importorskip("jax")
    if how == "orbax" and not hasattr(jax.monitoring, "record_scalar"):
        pytest.skip("this orbax needs a newer jax")
    probes, found = run(tmp_path, PLAIN, "--restore", how, "--measure")
    assert probes["probe"]["executables"] == {"loop": 1, "restore": 1} == probes["probe"]["measured"]
    assert {finding["code"] for finding in found} == ({"SL101"} if how == "flax" else {"SL101", "SL703"})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["train.py"]


def test_what_was_measured_is_told_in_text(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(PLAIN)
    command = [sys.executable, "-m", "statelint", "--isolated", "--measure", "train.py"]
    output = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stdout
    expected = "predicted 1 executable, 1 more after a restore; measured 1 executable, 1 more after a restore"
    assert f"probe probe: {expected}" in output


def test_nothing_is_measured_unless_asked(tmp_path: Path) -> None:
    probes, _ = run(tmp_path, PLAIN)
    assert "measured" not in probes["probe"]


def test_probes_of_an_optimizer_and_an_environment_are_declared_in_code(tmp_path: Path) -> None:
    pytest.importorskip("optax")
    text = """
import jax.numpy as jnp
import optax
from statelint import Probe


class Solver:
    def init(self, x):
        return {"x": x, "n": jnp.zeros((), jnp.int32)}

    def step(self, state):
        return {"x": state["x"] * 0.5, "n": state["n"] + 1}


tx = Probe.optimizer(optax.contrib.cocob(), params={"w": "f32[3]"})
solver = Probe.environment(Solver(), state_args=("f32[3]",))
"""
    probes, found = run(tmp_path, text)
    assert probes["tx"]["executables"] == probes["solver"]["executables"] == {"loop": 1, "restore": 0}
    assert {(finding["code"], finding["line"]) for finding in found} == {("SL401", 15)}


COMPILED = """
import functools

import jax
import jax.numpy as jnp
from statelint import Probe


@functools.partial(jax.jit, donate_argnums=0)
def train_step(state):
    return {"mu": state["mu"].astype(jnp.bfloat16), "nu": state["nu"] * 0.9}


def torn():
    first, second = jax.devices()
    return {"w": jax.device_put(jnp.ones(3), first), "b": jax.device_put(jnp.ones(3), second)}


donated = Probe(train_step, {"mu": "f32[1024]", "nu": "f32[1024]"})
tear = Probe(lambda s: {"w": s["w"] + s["b"], "b": s["b"]}, torn, mesh=2)
large = Probe(lambda x: x * 2, "f32[1000000,1000000]")
"""


def test_compiled_figures_and_a_step_that_jit_refuses(tmp_path: Path) -> None:
    probes, found = run(tmp_path, COMPILED, "--compile")
    # Four terabytes are compiled for, and not allocated.
    assert probes["large"]["executables"] == {"loop": 1, "restore": 0}
    said = {(finding["code"], finding["probe"]): finding for finding in found}
    assert said.keys() >= {("SL302", "donated"), ("SL404", "donated"), ("SL902", "tear")}
    lost = said["SL404", "donated"]["message"]
    assert lost.endswith("; compiled, the step reuses 4,096 of the 8,192 bytes donated on each device")
    refused = said["SL902", "tear"]
    assert refused["message"].startswith("the step fails in call 1: jit is given incompatible devices")
    assert COMPILED.splitlines()[refused["line"] - 1].startswith("tear = ")


def test_nothing_is_compiled_unless_asked(tmp_path: Path) -> None:
    _, found = run(tmp_path, COMPILED)
    assert {finding["code"] for finding in found if finding["probe"] == "donated"} == {"SL302", "SL404"}
    assert {finding["probe"] for finding in found if finding["code"] == "SL902"} == {"tear"}
    assert not any("compiled, the step" in finding["message"] for finding in found)


KEYED = """
import functools
import jax
import jax.numpy as jnp
from statelint import Probe

@functools.partial(jax.jit, donate_argnums=0)
def step(s):
    key, used = jax.random.split(s["key"])
    return {"w": s["w"] + jax.random.normal(used, (3,)), "count": s["count"] + 1, "key": key}

probe = Probe(step, lambda: {"w": jnp.zeros(3), "count": 0, "key": jax.random.key(0)})
"""


def test_a_checkpoint_that_fails_is_told_beside_the_trace(tmp_path: Path) -> None:
    pytest.importorskip("flax")
    probes, found = run(tmp_path, KEYED, "--restore", "flax", "--measure")
    assert probes["probe"]["executables"] == {"loop": 1, "restore": 1} == probes["probe"]["measured"]
    assert {finding["code"] for finding in found} == {"SL101", "SL902"}
    (failed,) = [finding for finding in found if finding["code"] == "SL902"]
    assert failed["message"].startswith("traced, but its state cannot be saved by flax: TypeError: ")
    assert failed["message"].endswith("; save jax.random.key_data(state['key']) in place of the typed key")


def test_the_advice_on_keys_is_given_only_where_it_helps(tmp_path: Path) -> None:
    pytest.importorskip("flax")
    (tmp_path / "flax").mkdir()
    (tmp_path / "flax" / "__init__.py").write_text("")  # one without the part that saves
    _, found = run(tmp_path, KEYED, "--restore", "flax")
    (failed,) = [finding["message"] for finding in found if finding["code"] == "SL902"]
    assert "cannot be saved by flax: ImportError: cannot import name 'serialization'" in failed
    assert "key_data" not in failed


def test_raw_keys_are_saved(tmp_path: Path) -> None:
    pytest.importorskip("flax")
    _, found = run(tmp_path, KEYED.replace("jax.random.key(0)", "jax.random.PRNGKey(0)"), "--restore", "flax")
    assert "SL902" not in {finding["code"] for finding in found}


def test_a_step_that_fails_on_a_restored_state_keeps_its_trace(tmp_path: Path) -> None:
    text = """
from statelint import Probe

def step(s):
    assert s["count"].aval.weak_type, "strong"
    return {"w": s["w"] * 2, "count": s["count"] + 1}

probe = Probe(step, {"w": "f32[3]", "count": 0})
"""
    probes, found = run(tmp_path, text)
    assert probes["probe"]["executables"]["loop"] == 1
    messages = [finding["message"] for finding in found if finding["code"] == "SL902"]
    assert messages == ["traced, but the step fails on a restored state: AssertionError: strong"]


def test_the_compiled_program_is_told_in_text_and_json(tmp_path: Path) -> None:
    probes, _ = run(tmp_path, KEYED, "--compile")
    assert probes["probe"]["donation"] == {"asked": 20, "promised": 20, "reused": 20}
    assert "donation" not in run(tmp_path, KEYED)[0]["probe"]
    plain, _ = run(tmp_path, PLAIN, "--compile")
    assert plain["probe"]["donation"] == {"asked": 0, "promised": 0, "reused": 0}
    command = [sys.executable, "-m", "statelint", "--isolated", "--compile", "train.py"]
    for text, said in ((KEYED, "reuses 20 of the 20 bytes donated on each device"), (PLAIN, "is given none of")):
        (tmp_path / "train.py").write_text(text)
        output = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stdout
        assert f"\nprobe probe: compiled, the step {said}" in output
