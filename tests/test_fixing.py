"""Fixes: what they make of a rule's faulty fixture, of real packages, and of every kind of file."""

from __future__ import annotations

import compileall
import contextlib
import importlib.util
import os
import shutil
import stat
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import statelint
from statelint import changes, config, files, fixing, linter
from statelint.cli import main
from statelint.diagnostics import Diagnostic, Fix, Location, Severity, replace, wrap
from statelint.options import Options
from tests.modules import load
from tests.statelint_cli import ROOT

if TYPE_CHECKING:
    from types import ModuleType

SETTINGS = config.Config()
STATE = 'state = {"params": jnp.ones(3), "step": 0}\n'
FIXED = 'state = {"params": jnp.ones(3), "step": jnp.zeros((), jnp.int32)}\n'
WORD = "# of jax\n"
"""A file is read only where it speaks of jax, or builds a state of another file."""


def fix(*paths: Path, unsafe: bool = True, **options: Any) -> changes.Changes:
    made = changes.fix([str(path) for path in paths], SETTINGS, Options(probe=False, **options), unsafe=unsafe)
    made.write()
    return made


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "train.py"


def fixed(file: Path, source: str, **options: Any) -> str:
    file.write_text(textwrap.dedent(source))
    fix(file, **options)
    text = file.read_text()
    compile(text, str(file), "exec")
    return text


# --- every rule that has a fix


def rules_with_fixes() -> list[str]:
    folders = sorted((ROOT / "fixtures").glob("SL*_*"))
    found = linter.source_findings([(str(path), path.read_bytes()) for path in map(bad, folders)], SETTINGS, Options())
    fixable = [each for each in found if each.fix is not None and each.fix.edits]
    names = {Path(each.location.path).parent.name for each in fixable if each.code in each.location.path}
    return sorted(names)


def bad(folder: Path) -> Path:
    return folder / "bad.py"


WITH_FIXES = rules_with_fixes()


def test_the_rules_that_promise_a_fix_have_one() -> None:
    assert {name[:5] for name in WITH_FIXES} >= {
        *("SL101", "SL102", "SL103", "SL201", "SL202", "SL302", "SL305", "SL401", "SL501", "SL605"),
    }


@pytest.mark.parametrize("name", WITH_FIXES)
def test_the_fixed_fixture_is_clean_runs_and_keeps_its_avals(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"fixed_{name}" / "bad.py"
    path.parent.mkdir()
    shutil.copy(bad(ROOT / "fixtures" / name), path)
    fix(path, select=(name[:5],))
    left = linter.source_findings([(str(path), path.read_bytes())], SETTINGS, Options(select=(name[:5],)))
    assert [finding for finding in left if finding.fix is not None and finding.fix.edits] == []
    before, after = avals(load(bad(ROOT / "fixtures" / name))), avals(load(path))
    assert {key: leaves for key, leaves in after.items() if key in before} == before
    assert after.keys() == probes(load(path)).keys()


def probes(module: ModuleType) -> dict[str, Any]:
    return {name: probe for name, probe in vars(module).items() if isinstance(probe, statelint.Probe)}


def avals(module: ModuleType) -> dict[str, list[tuple[str, tuple[int, ...], str]]]:
    """The leaves that go into the step of each probe that can be traced, without their weak types.

    A Python number, static or not, counts as the array that it would be.
    """
    found = {}
    for name, probe in probes(module).items():
        with contextlib.suppress(TypeError):
            found[name] = _leaves(probe)
    return found


def _leaves(probe: Any) -> list[tuple[str, tuple[int, ...], str]]:
    trace = statelint.trace(probe.step, probe.state, *probe.args, state_args=probe.state_args)
    numbers = {"int": "int32", "float": "float32", "bool": "bool"}
    leaves = [
        (leaf.path, tuple(leaf.aval.shape), leaf.aval.dtype)
        if leaf.aval is not None
        else (leaf.path, (), numbers.get(leaf.python_type, leaf.python_type))
        for leaf in trace.leaves
    ]
    statics = [(static.path, (), numbers[static.type]) for static in trace.statics if static.type in numbers]
    return sorted([*leaves, *statics])


# --- what is safe


@pytest.mark.parametrize(
    "source",
    [
        STATE,
        'state = {"params": jnp.ones(3), "step": jnp.asarray(0)}\n',
        'state = {"params": params, "ema": params}\n',
    ],
)
def test_safe_fixes(file: Path, source: str) -> None:
    source = f"import jax\nimport jax.numpy as jnp\nparams = jnp.ones(3)\n{source}"
    assert fixed(file, source, unsafe=False) != source


@pytest.mark.parametrize(
    "source",
    [
        'state = {"params": jnp.ones(3), "scale": 0.5}\n',
        'state = {"params": jnp.ones(3), "scale": jnp.asarray(0.5)}\n',
        "@flax.struct.dataclass\nclass State:\n    w: jax.Array\n    step: int = 0\n",
        "class State(eqx.Module):\n    w: jax.Array\n    step: jax.Array\nstate = State(jnp.ones(3), 0)\n",
        "@flax.struct.dataclass\nclass State:\n    w: jax.Array\n    step: int\nstate = State(jnp.ones(3), 0)\n",
        "@struct.dataclass\nclass State:\n    w: jax.Array\n    lr: float = struct.field(pytree_node=False)\n",
    ],
)
def test_unsafe_fixes(file: Path, source: str) -> None:
    source = f"import equinox as eqx, flax, jax\nimport jax.numpy as jnp\nfrom flax import struct\n{source}"
    assert fixed(file, source, unsafe=False) == source
    assert fixed(file, source) != source


# --- what is written


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("0", "jnp.zeros((), jnp.int32)"),
        ("1", "jnp.asarray(1, jnp.int32)"),
        ("jnp.asarray(0)", "jnp.asarray(0, dtype=jnp.int32)"),
        ("jnp.full(\n    (),\n    0,  # zero\n)", "jnp.full(\n    (),\n    0, dtype=jnp.int32,  # zero\n)"),
        ("jnp.array(1 / 2)", "jnp.array(1 / 2, dtype=jnp.float32)"),
        ("jnp.exp(1)", "jnp.asarray(jnp.exp(1), jnp.float32)"),
        ("jnp.where(True, 1, 0)", "jnp.asarray(jnp.where(True, 1, 0), jnp.int32)"),
        ("3_000_000_000", "3_000_000_000"),
    ],
)
def test_a_number_gets_its_dtype(file: Path, before: str, after: str) -> None:
    template = 'import jax.numpy as jnp\nstate = {{"params": jnp.ones(3), "step": {}}}\n'
    assert fixed(file, template.format(before)) == template.format(after)


@pytest.mark.parametrize(
    ("flavour", "before", "after"),
    [
        (
            "@struct.dataclass\nclass State:",
            "0",
            "dataclasses.field(default_factory=lambda: jnp.zeros((), jnp.int32))",
        ),
        (
            "@struct.dataclass\nclass State:",
            "struct.field(pytree_node=True, default=0)",
            "struct.field(pytree_node=True, default_factory=lambda: jnp.zeros((), jnp.int32))",
        ),
        (
            "@struct.dataclass\nclass State:",
            "struct.field(default_factory=lambda: 0)",
            "struct.field(default_factory=lambda: jnp.zeros((), jnp.int32))",
        ),
        ("class State(typing.NamedTuple):", "0", "jnp.zeros((), jnp.int32)"),
    ],
)
def test_a_default_is_made_anew_where_it_can_be(file: Path, flavour: str, before: str, after: str) -> None:
    template = (
        "import dataclasses, typing\nimport jax\nimport jax.numpy as jnp\nfrom flax import struct\n\n"
        "{}\n    step: jax.Array = {}\n\n\nState()\n"
    )
    text = fixed(file, template.format(flavour, before))
    assert text == template.format(flavour, after)
    subprocess.run([sys.executable, str(file)], check=True)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("import jax\n", "import jax\n"),
        ("import jax.numpy as np\n", "import jax.numpy as np\n"),
        ("from jax import numpy\n", "from jax import numpy\n"),
        ("from jax import lax\n", "from jax import lax\nimport jax.numpy as jnp\n"),
        ('"""Doc."""\n\nfrom __future__ import annotations\n', None),
        ('#!/usr/bin/env python\n# Licence.\n"""Doc."""\n', None),
        ("# Licence.\n", None),
        ("import jax.random\nimport os\n", "import jax.random\nimport os\n"),
        ("import os; x = 1\n", "import os; x = 1\nimport jax.numpy as jnp\n"),
        ("jnp = 3\nimport os\n", "import jax.numpy\njnp = 3\nimport os\n"),
        ("import typing\nif typing.TYPE_CHECKING:\n    import jax.numpy as jnp\n", None),
    ],
)
def test_the_module_goes_by_the_name_that_the_file_gives_it(file: Path, before: str, after: str | None) -> None:
    text = fixed(file, before + WORD + 'def init_state(params):\n    return {"params": params, "step": 0}\n')
    namespace: dict[str, Any] = {}
    exec(compile(text, "train.py", "exec"), namespace)
    assert namespace["init_state"](3)["step"].dtype == "int32"
    if after is not None:
        assert text.startswith(after)


def test_a_name_that_is_shadowed_is_not_used(file: Path) -> None:
    text = fixed(
        file,
        """
        import jax
        import jax.numpy as jnp

        def init_state(params, jnp):
            return {"params": params, "step": 0}

        def init_other_state(params):
            return {"params": params, "step": 0}
        """,
    )
    assert '"step": jax.numpy.zeros((), jax.numpy.int32)' in text
    assert '"step": jnp.zeros((), jnp.int32)' in text


def test_a_fix_without_a_name_for_its_module_is_refused(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = 'jax = jnp = None\ndef init_state(params):\n    return {"params": params, "step": 0}\n'
    file.write_text(source)
    assert main(["--isolated", "--no-probe", "--fix", str(file)]) == 1
    assert "SL101 cannot be fixed: every usual name for jax.numpy means something else here" in capsys.readouterr().err
    assert file.read_text() == source


def test_a_fix_that_would_not_parse_is_refused() -> None:
    def finding(fix: Fix) -> Diagnostic:
        return Diagnostic("SL101", "n", Severity.ERROR, "m", fix.edits[0].at, fix=fix)

    one, two = Location("a.py", 1, 5, 1, 6), Location("a.py", 2, 5, 2, 6)
    patched = fixing.patch(
        "a.py",
        b"x = 1\ny = 2\n",
        [finding(Fix(True, "", replace(one, "("))), finding(Fix(True, "", replace(two, "3")))],
    )
    assert patched.data == b"x = 1\ny = 3\n"
    assert [reason for _, reason in patched.refused] == ["the result would not parse"]
    assert len(patched.fixed) == 1


def test_fixes_that_overlap_are_made_in_turn() -> None:
    def finding(fix: Fix) -> Diagnostic:
        return Diagnostic("SL101", "n", Severity.ERROR, "m", fix.edits[0].at, fix=fix)

    at = Location("a.py", 1, 5, 1, 6)
    both = [finding(Fix(True, "", wrap(at, "f(", ")"))), finding(Fix(True, "", replace(at, "2")))]
    assert fixing.patch("a.py", b"x = 1\n", both).data == b"x = f(1)\n"


def test_silenced_findings_are_not_fixed(file: Path) -> None:
    source = f"import jax.numpy as jnp\n{STATE.rstrip()}  # statelint: ignore[SL101]\n"
    assert fixed(file, source) == source


KEYED = """
import jax
from jax import random

def init_state():
    return {{"key": random.key(0), "x": jax.numpy.zeros(3)}}

def step(state):
{}
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            '    x = random.normal(state["key"], (3,))\n    return {"key": state["key"], "x": x}',
            '    key, subkey = random.split(state["key"])\n    x = random.normal(subkey, (3,))\n'
            '    return {"key": key, "x": x}',
        ),
        (
            '    return {"x": random.normal(state["key"], (3,)), "key": state["key"]}',
            '    key, subkey = random.split(state["key"])\n    return {"x": random.normal(subkey, (3,)), "key": key}',
        ),
        (
            '    x = random.normal(state["key"], (3,)) + random.uniform(state["key"])\n'
            '    return {"key": state["key"], "x": x}',
            None,
        ),
        (
            '    key = 3\n    x = random.normal(state["key"], (3,))\n    return {"key": state["key"], "x": x * key}',
            None,
        ),
        ('    x = random.normal(state["key"], (3,))\n    return {**state, "x": x}', None),
    ],
)
def test_a_key_is_split_where_that_is_plain(file: Path, before: str, after: str | None) -> None:
    assert fixed(file, KEYED.format(before), select=("SL305",)) == KEYED.format(after or before)


@pytest.mark.parametrize(
    ("field", "mended"),
    [
        ("rate: float = struct.field(pytree_node=False)", "rate: jax.Array"),
        ("rate: float | None = struct.field(pytree_node=False)", "rate: float | None"),
        ("n: int = dataclasses.field(metadata=dict(pytree_node=False))", "n: jax.Array"),
        ('n: int = dataclasses.field(metadata={"pytree_node": False})', "n: jax.Array"),
        (
            "rate: float = struct.field(pytree_node=False, default=0.5)",
            "rate: jax.Array = dataclasses.field(default_factory=lambda: jnp.asarray(0.5, jnp.float32))",
        ),
        (
            "rate: float = struct.field(pytree_node=False, repr=False)",
            "rate: jax.Array = struct.field(repr=False)",
        ),
        (
            "rate: float = dataclasses.field(metadata=dict(pytree_node=False, unit=None))",
            "rate: float = dataclasses.field(metadata=dict(pytree_node=True, unit=None))",
        ),
        ("step: int = 0", "step: jax.Array = dataclasses.field(default_factory=lambda: jnp.zeros((), jnp.int32))"),
    ],
)
def test_a_static_number_becomes_a_plain_array(file: Path, field: str, mended: str) -> None:
    head = "import dataclasses\n\nimport jax\nimport jax.numpy as jnp\nfrom flax import struct\n\n\n"
    state = "@struct.dataclass\nclass State:\n    w: jax.Array\n    {}\n"
    assert fixed(file, head + state.format(field)) == head + state.format(mended)
    left = linter.source_findings([(str(file), file.read_bytes())], SETTINGS, Options(extend_select=("SL104",)))
    assert [finding.code for finding in left] == ([] if "jax.Array" in mended else ["SL104"])


def test_a_folded_key_is_split(file: Path) -> None:
    before = '    k = random.fold_in(state["key"], 0)\n    return {"key": state["key"], "x": random.normal(k, (3,))}'
    after = (
        '    key, subkey = random.split(state["key"])\n    k = random.fold_in(subkey, 0)\n'
        '    return {"key": key, "x": random.normal(k, (3,))}'
    )
    assert fixed(file, KEYED.format(before), select=("SL305",)) == KEYED.format(after)


def test_a_jit_goes_before_the_function_it_was_in(file: Path) -> None:
    source = """
        import jax

        def loss(x):
            return x.sum()

        # Runs it all.
        def main(x, rate):
            for _ in range(3):
                x = jax.jit(jax.grad(loss))(x)
                x = jax.jit(lambda v: v * rate)(x)
                x = jax.jit(jax.grad(late))(x)
            return x

        def late(x):
            return x.sum()
        """
    text = fixed(file, source, select=("SL501",))
    assert "jitted_main = jax.jit(jax.grad(loss))\n\n\n# Runs it all.\ndef main(x, rate):" in text
    assert "x = jitted_main(x)" in text
    assert "x = jax.jit(lambda v: v * rate)(x)" in text
    assert "x = jax.jit(jax.grad(late))(x)" in text


def test_a_fix_in_one_file_is_followed_into_another(tmp_path: Path) -> None:
    (tmp_path / "state.py").write_text(
        "import jax\nfrom flax import struct\n\n@struct.dataclass\nclass State:\n    w: jax.Array\n"
        "    rate: float = struct.field(pytree_node=False)\n"
    )
    (tmp_path / "build.py").write_text(
        "import jax.numpy as jnp\nfrom state import State\n\nstate = State(jnp.ones(3), rate=0.5)\n"
    )
    fix(tmp_path)
    assert "rate=jnp.asarray(0.5, jnp.float32)" in (tmp_path / "build.py").read_text()
    assert fix(tmp_path).files == ()


# --- every byte else


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1"])
@pytest.mark.parametrize("final", [True, False])
def test_line_ends_encoding_and_final_newline_stay(file: Path, end: str, encoding: str, final: bool) -> None:
    head = ["# -*- coding: latin-1 -*-" if encoding == "latin-1" else "# é", "name = 'é'\t \x0c# ü"]
    lines = [*head, WORD.rstrip(), "if True:", "\timport os", "", STATE.rstrip()]
    text = end.join(lines) + (end if final else "")
    file.write_bytes(text.encode(encoding))
    assert len(fix(file).settled) == 1
    expected = [head[0], "import jax.numpy as jnp", *lines[1:-1], FIXED.rstrip()]
    assert file.read_bytes() == (end.join(expected) + (end if final else "")).encode(encoding)


def test_mixed_line_ends_stay(file: Path) -> None:
    file.write_bytes(b"import os\r\nimport sys\n" + WORD.encode() + STATE.encode() + b"\r\nx = 1\r")
    fix(file)
    assert file.read_bytes() == (
        b"import os\r\nimport sys\nimport jax.numpy as jnp\n" + WORD.encode() + FIXED.encode() + b"\r\nx = 1\r"
    )


def test_columns_are_characters(file: Path) -> None:
    source = 'import jax.numpy as jnp\nstate = {"名": jnp.ones(2), "params": jnp.ones(3), "step": 0}\n'
    assert fixed(file, source) == source.replace("0}", "jnp.zeros((), jnp.int32)}")


def test_mode_and_link_stay(tmp_path: Path, file: Path) -> None:
    target = tmp_path / "target.txt"
    target.write_text(f"import jax.numpy as jnp\n{STATE}")
    target.chmod(0o754)
    file.symlink_to(target)
    fix(file)
    assert file.is_symlink()
    assert target.read_text() == f"import jax.numpy as jnp\n{FIXED}"
    assert stat.S_IMODE(target.stat().st_mode) == 0o754
    assert sorted(path.name for path in tmp_path.iterdir()) == ["target.txt", "train.py"]


def test_what_cannot_be_written_is_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.py"
    path.write_text("old")

    def fail(*_: object) -> None:
        raise OSError("no")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="no"):
        files.write(str(path), b"new")
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("a.py", "old")]


def test_what_is_not_to_be_written_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.py"
    path.write_text("old")
    path.chmod(0o444)
    if os.geteuid() == 0:  # who may write everything
        monkeypatch.setattr(os, "access", lambda path, mode: bool(os.stat(path).st_mode & 0o222))
    with pytest.raises(PermissionError):
        files.write(str(path), b"new")
    assert path.read_text() == "old"


def test_a_killed_process_leaves_no_half_written_file(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    size = 2_000_000
    path.write_bytes(b"a" * size)
    code = (
        "import itertools, sys\nfrom statelint import files\n"
        "for byte in itertools.cycle(b'ab'):\n"
        f"    files.write(sys.argv[1], bytes([byte]) * {size})\n    print(flush=True)\n"
    )
    for _ in range(5):
        with subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()
            process.kill()
        data = path.read_bytes()
        assert data in (b"a" * size, b"b" * size)


# --- the command line


def test_diff_shows_and_writes_nothing(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(file.parent)
    source = f"import jax.numpy as jnp\n{STATE}"
    file.write_text(source)
    assert main(["--isolated", "--diff", "train.py"]) == 1
    out, err = capsys.readouterr()
    assert out.splitlines()[:2] == ["--- train.py", "+++ train.py"]
    assert f"-{STATE}+{FIXED}" in out
    assert err == "Would fix 1 finding in 1 file\n"
    assert file.read_text() == source
    file.write_text("x = 1\n")
    assert main(["--isolated", "--diff", "train.py"]) == 0
    assert capsys.readouterr().out == ""


def test_the_report_says_what_was_fixed_and_what_can_be(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text('import jax.numpy as jnp\nstate = {"params": jnp.ones(3), "step": 0, "rate": 0.5}\n')
    assert main(["--isolated", "--no-probe", str(file)]) == 1
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "1 fixable with --fix (1 more with --unsafe-fixes)",
        "2 warnings in 1 file",
    ]
    assert main(["--isolated", "--no-probe", "--fix", str(file)]) == 1
    assert capsys.readouterr().out.splitlines()[-3:] == [
        "Fixed 1 finding in 1 file",
        "1 fixable with --fix --unsafe-fixes",
        "1 warning in 1 file",
    ]
    assert main(["--isolated", "--no-probe", "--fix", "--unsafe-fixes", str(file)]) == 0
    assert capsys.readouterr().out.splitlines() == ["Fixed 1 finding in 1 file", "All clean: 1 file checked"]


def test_what_a_probe_confirms_is_fixed(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(ROOT / "fixtures/SL103_weak_typed_array/bad.py", file)
    main(["--isolated", "--fix", "--unsafe-fixes", "--python", sys.executable, str(file)])
    assert capsys.readouterr().out.splitlines() == ["Fixed 5 findings in 1 file", "All clean: 1 file, 2 probes checked"]


@pytest.mark.parametrize(
    "pair", [("--fix", "--add-ignore"), ("--diff", "--write-baseline"), ("--fix", "--write-baseline")]
)
def test_options_that_do_not_go_together(pair: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*pair, "."]) == 2
    assert capsys.readouterr().err == f"statelint: error: {pair[0]} does not go with {pair[1]}\n"


# --- real code


@pytest.mark.parametrize("package", ["optax", "flax", "equinox", "chex"])
def test_real_packages_still_compile_and_are_fixed_once(package: str, tmp_path: Path) -> None:
    spec = importlib.util.find_spec(package)
    assert spec is not None
    assert spec.origin is not None
    shutil.copytree(Path(spec.origin).parent, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    made = fix(tmp_path / package)
    assert made.refused == ()
    assert compileall.compile_dir(tmp_path / package, quiet=1)
    assert fix(tmp_path / package).files == ()
