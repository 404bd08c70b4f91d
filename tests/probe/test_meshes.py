"""Several devices: what is said of placements is what JAX does, in a process that has four CPU devices."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.probe import meshes, placed
from tests.probe.meshes import IN_A_MESH, STEPS
from tests.probe.placed import REFUSED

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def observed() -> dict[str, Any]:
    """What a process with four devices observes, step by step."""
    devices = {"XLA_FLAGS": "--xla_force_host_platform_device_count=4", "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-m", "tests.probe.observing"]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **devices}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("name", [*STEPS, *IN_A_MESH])
def test_predicted_is_measured(observed: dict[str, Any], name: str) -> None:
    seen = observed[name]
    assert (seen["error"], seen["uncompiled"]) == (None, None)
    assert seen["compiled"] == seen["real"] == seen["measured"]
    # What the compiler chooses is not known before it is asked.
    assert (seen["predicted"] == seen["real"]) == (name not in meshes.CHOSEN + placed.CHOSEN)


@pytest.mark.parametrize("name", REFUSED)
def test_what_jit_refuses_is_refused_at_that_call(observed: dict[str, Any], name: str) -> None:
    seen, call = observed[name], REFUSED[name][0]
    assert seen["real"].startswith(f"call {call}: ValueError: ")
    assert [number for number, _ in seen["refused"]] == [call, call]
    assert seen["predicted"] == [call - 1, call - 1]
    (message,) = seen["found"]
    assert message.startswith(
        "the step fails in call 1: jit is given" if "devices" in seen["real"] else "the step fails"
    )


def test_a_refusal_names_what_is_where(observed: dict[str, Any]) -> None:
    errors = {name: observed[name]["refused"][0][1] for name in REFUSED}
    assert errors["a_device_and_a_mesh"] == (
        "jit is given incompatible devices: ['n'] committed to cpu:0 and ['w'] replicated over 4 devices"
    )
    assert errors["constrained_to_other_devices"] == (
        "jit is given incompatible devices: the state committed to cpu:0 "
        "and what the step names replicated over 4 devices"
    )
    assert errors["out_shardings_that_cut_otherwise"] == (
        "the state is replicated over 4 devices, and the in_shardings of the jit say sharded P('data') over 4 devices"
    )


def test_what_moves_is_found(observed: dict[str, Any]) -> None:
    moves = {name: seen["moves"] for name, seen in observed.items() if "moves" in seen}
    assert moves["counter_on_the_mesh"] == moves["explicit"] == moves["leaf_that_is_made_anew"] == []
    replicated = "replicated over 4 devices"
    assert moves["unread_and_all_on_the_mesh"] == moves["unread_beside_a_device"] == []
    assert moves["unread_beside_a_mesh"] == [["['loss']", "uncommitted", replicated]]
    assert moves["counter_not_on_the_mesh"] == [["['n']", "uncommitted", replicated]]
    assert moves["explicit_counter_not_on_the_mesh"] == [["['n']", "uncommitted", replicated]]
    across, down = "sharded P('data') over 4 devices", "sharded P(None, 'data') over 4 devices"
    assert moves["explicit_transposed"] == [["", across, down], ["", down, across]]
    assert moves["explicit_sum_follows_its_parts"] == [["['sum']", replicated, "sharded P('data') over 4 devices"]]
    assert moves["moments_that_follow_their_params"] == [
        ["['m']", replicated, "sharded P('data', 'model') over 4 devices"]
    ]


def test_the_move_is_blamed_on_the_line_that_makes_it(observed: dict[str, Any]) -> None:
    lines = (Path(__file__).parent / "meshes.py").read_text().splitlines()

    def line(name: str) -> str:
        (finding,) = [finding for finding in observed[name]["found"] if finding[0] == "SL703"]
        return lines[finding[1] - 1].strip()

    assert line("explicit_transposed").startswith("return lambda x: x.T * 2")
    assert line("moments_that_follow_their_params").startswith('return {"w": s["w"] - s["m"], "m": 0.9')
    assert line("counter_not_on_the_mesh").startswith("return jnp.zeros((), jnp.int32)")


def test_donated_bytes_that_are_lost_to_a_sharding(observed: dict[str, Any]) -> None:
    seen = observed["donated_and_gathered"]
    assert seen["donation"] == {"asked": 128, "reused": 128, "compiled": {"asked": 32, "promised": 32, "reused": 0}}
    messages = [finding[2] for finding in seen["found"] if finding[0] == "SL404"]
    assert messages == [
        "compiled, the step reuses 0 of the 32 bytes donated on each device, where shapes and dtypes promise 32"
    ]
    kept = observed["donated_over_the_mesh"]["donation"]["compiled"]
    assert kept == {"asked": 36, "promised": 36, "reused": 36}
