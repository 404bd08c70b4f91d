"""Files to readings: over files, whatever their bytes, and at no more cost than needed."""

from __future__ import annotations

import ast
import gc
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from statelint import rules
from statelint.model.names import Names
from statelint.model.source import StateClass, StateValue, SyntaxFault
from statelint.source.project import Project, Reading
from statelint.source.words import PARSED_AT_MOST, are_many
from tests.statelint_cli import ROOT

if TYPE_CHECKING:
    from pathlib import Path

STATE = """
from flax import struct
import jax

@struct.dataclass
class TrainState:
    w: jax.Array
    step: jax.Array
"""


def read(source: str | bytes, path: str = "train.py") -> Reading:
    data = source if isinstance(source, bytes) else source.encode()
    (reading,) = Project(Names()).read([(path, data)])
    return reading


def findings(reading: Reading) -> list[tuple[str, int, int]]:
    found = [each for each in rules.in_source(reading.parts) if rules.load()[each.code].rule.default]
    return [(each.code, each.location.line, each.location.column) for each in found]


def lint_tree(folder: Path, files: dict[str, str], *linted: str) -> list[str]:
    for name, source in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(source)
    given = [(str(folder / name), (folder / name).read_bytes()) for name in linted]
    readings = Project(Names()).read(given)
    return [finding.code for reading in readings for finding in rules.in_source(reading.parts)]


class TestOverFiles:
    @pytest.mark.parametrize(
        "train",
        [
            "from pkg.state import TrainState\ns = TrainState(w, 0)",
            "from .state import TrainState as TS\nimport jax\ns = TS(w, 0)",
            "import pkg.state\nimport jax\ns = pkg.state.TrainState(w, 0)",
            "from pkg import state as st\nimport jax\ns = st.TrainState(w, 0)",
            "from pkg import TrainState\ns = TrainState(w, 0)",
            "from pkg.state import *\nimport jax\ns = TrainState(w, step=0)",
            "from pkg.state import TrainState\nimport jax\nState = TrainState\ns = State(w, 0)",
        ],
    )
    def test_class_of_another_file(self, tmp_path: Path, train: str) -> None:
        files = {
            "pkg/__init__.py": "from .state import TrainState",
            "pkg/state.py": STATE,
            "pkg/train.py": train,
        }
        assert lint_tree(tmp_path, files, "pkg/train.py") == ["SL101"]

    def test_the_same_whether_the_other_file_is_linted_or_not(self, tmp_path: Path) -> None:
        files = {
            "pyproject.toml": "",
            "src/pkg/__init__.py": "",
            "src/pkg/state.py": STATE,
            "scripts/train.py": "import jax\nfrom pkg.state import TrainState\ns = TrainState(w, 0)",
        }
        assert lint_tree(tmp_path, files, "scripts/train.py") == ["SL101"]
        assert lint_tree(tmp_path, files, "scripts/train.py", "src/pkg/state.py") == ["SL101"]

    def test_given_content_goes_before_the_disk(self, tmp_path: Path) -> None:
        (tmp_path / "state.py").write_text("")
        given = [
            (str(tmp_path / "train.py"), b"import jax\nfrom state import TrainState\ns = TrainState(w, 0)"),
            (str(tmp_path / "state.py"), STATE.encode()),
        ]
        parts = [part for reading in Project(Names()).read(given) for part in reading.parts]
        assert any(isinstance(part, StateValue) for part in parts)

    def test_the_same_one_by_one(self, tmp_path: Path) -> None:
        """A file may be read after another has looked into it, or again."""
        files = {
            "train.py": "import jax\nfrom state import TrainState\ns = TrainState(w, 0)",
            "state.py": STATE + "s = TrainState(w, 0)",
        }
        for name, source in files.items():
            (tmp_path / name).write_text(source)
        given = [(str(tmp_path / name), source.encode()) for name, source in files.items()]
        project = Project(Names(), given)
        found = [len(findings(reading)) for file in (*given, given[0]) for reading in project.read([file])]
        assert found == [1, 1, 1]

    def test_imports_in_a_circle(self, tmp_path: Path) -> None:
        files = {
            "a.py": "import jax\nfrom b import TrainState\ns = TrainState(w, 0)",
            "b.py": "import jax\nfrom a import TrainState",
        }
        assert lint_tree(tmp_path, files, "a.py", "b.py") == []

    def test_fields_of_a_base_in_another_file(self, tmp_path: Path) -> None:
        files = {
            "base.py": "from flax import struct\nclass Base(struct.PyTreeNode):\n    w: object\n",
            "train.py": "import jax\nfrom base import Base\nclass S(Base):\n    step: object\ns = S(1, 0)",
        }
        assert lint_tree(tmp_path, files, "train.py") == ["SL101"]

    def test_unknown_base_leaves_positions_untold(self, tmp_path: Path) -> None:
        source = (
            "import jax\nfrom flax import struct\nfrom elsewhere import Mixin\n"
            "class S(Mixin, struct.PyTreeNode):\n    step: object\ns = S(0)\nr = S(step=0)"
        )
        assert [(code, line) for code, line, _ in findings(read(source))] == [("SL101", 7)]


class TestClasses:
    def test_class_with_its_own_constructor_takes_other_arguments(self) -> None:
        source = (
            "import jax, equinox as eqx\nclass Model(eqx.Module):\n    step: jax.Array\n    w: jax.Array\n"
            "    def __init__(self, seed, width):\n        ...\nm = Model(0, 3)"
        )
        assert findings(read(source)) == []

    def test_class_of_a_function_goes_before_one_of_the_module(self) -> None:
        source = STATE + (
            "def f(w):\n    class TrainState:\n        pass\n    return TrainState(w, 0)\ns = TrainState(w, 0)"
        )
        (value,) = (part for part in read(source).parts if isinstance(part, StateValue))
        assert value.at.line == 13

    def test_undecorated_subclass_of_a_dataclass_is_no_pytree(self) -> None:
        source = STATE + "class Sub(TrainState):\n    count: int = 0\n"
        classes = [part.short_name for part in read(source).parts if isinstance(part, StateClass)]
        assert classes == ["TrainState"]

    def test_train_state_subclass(self) -> None:
        source = (
            "from flax.training import train_state\nimport jax\nclass TrainState(train_state.TrainState):\n"
            "    ema: object\ndef make(params):\n"
            "    return TrainState.create(apply_fn=f, params=params, tx=tx, ema=params)"
        )
        assert [code for code, *_ in findings(read(source))] == ["SL401"]


class TestBytes:
    @pytest.mark.parametrize(
        "data",
        [
            b"\xff\xfe jax",
            b"# coding: nope\nimport jax",
            b"# coding: utf-16\nimport jax",
            b"import jax\0",
            b"import jax\nx = '\xe9'",
            b"import jax\nx = (",
            b"x = (",
            b"import jax\nx = " + b"(" * 5000,
            b"import jax\nx = " + b"-" * 100_000 + b"1",
            b"import jax\nstate = {'params': " + b"[" * 150 + b"]" * 150 + b", 'x': " + b"-" * 900 + b"a}",
        ],
    )
    def test_unreadable(self, data: bytes) -> None:
        (fault,) = read(data).parts
        assert isinstance(fault, SyntaxFault)
        assert "\n" not in fault.message

    def test_undecodable_text_is_none(self) -> None:
        assert read(b"import jax\nx = '\xe9'").text is None

    def test_place_of_an_undecodable_byte(self) -> None:
        (fault,) = read(b"import jax\n\nx = '\xe9'").parts
        assert isinstance(fault, SyntaxFault)
        assert fault.at.line == 3

    @pytest.mark.parametrize(
        "prefix",
        [b"", b"\xef\xbb\xbf", b"# coding: latin-1\n\xe9 = 1\n", b"\x0c\n", b"#\xc2\x85\n#\x0b#\x1c\n"],
    )
    @pytest.mark.parametrize("newline", [b"\n", b"\r\n", b"\r"])
    def test_places(self, prefix: bytes, newline: bytes) -> None:
        encoding = "latin-1" if b"latin" in prefix else "utf-8"
        body = "import jax\nif 1:\n\tstate = {'é': 'ü', 'params': f(), 'count': 0}".replace("'ü'", "g")
        data = (prefix + body.encode(encoding)).replace(b"\n", newline)
        before = prefix.count(b"\n")
        assert findings(read(data)) == [("SL101", before + 3, 2 + len("state = {'é': g, 'params': f(), 'count': "))]

    def test_columns_of_fields_count_characters(self) -> None:
        source = STATE + "    é: int = 1; count: int = 0\n"
        assert sorted(findings(read(source))) == [("SL101", 9, 30), ("SL102", 9, 14)]

    def test_statements_on_one_line(self) -> None:
        source = "import jax; state = {'params': 1 if x else y, 'step': 0}; z = 1\n"
        assert findings(read(source)) == [("SL101", 1, 55)]


@pytest.mark.parametrize(
    "line",
    [
        "type Pair = tuple[int, int]",
        "def f[T](x: T) -> T: return x",
        "class C[T]: ...",
        "x = f'{'a'}'",
        "x = f'{\n1\n}'; y = 1",
    ],
)
def test_newer_syntax_is_read(line: str) -> None:
    source = f"import jax\n{line}\nstate = {{'params': p, 'step': 0}}\n"
    assert findings(read(source)) == [("SL101", 3 + line.count("\n"), 31)]


class TestProbes:
    def test_names_and_lines(self) -> None:
        source = """
from statelint import Probe as P
import statelint
a = P(step=f, state=g)
b: object = statelint.Probe(
    f, g)
P(f, g, name="named")
if True:
    P(step=mod.f, state=g)
def hidden():
    P(f, g)
"""
        assert [(probe.name, probe.at.line) for probe in read(source).probes] == [
            ("a", 4),
            ("b", 5),
            ("named", 7),
            ("mod.f", 9),
        ]

    def test_one_that_comes_with_all_else(self) -> None:
        assert [probe.name for probe in read("from statelint import *\np = Probe(f, g)").probes] == ["p"]

    def test_another_probe(self) -> None:
        assert read("import jax\nfrom oscilloscope import Probe\np = Probe(f, g)").probes == ()


def imported(source: str) -> bool:
    code = (
        "import sys\nfrom statelint.model.names import Names\nfrom statelint.source.project import Project\n"
        f"list(Project(Names()).read([('a.py', {source.encode()!r})]))\nprint('libcst' in sys.modules)"
    )
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "True\n"


class TestCost:
    def test_no_libcst_without_jax(self) -> None:
        assert not imported("class AppState:\n    pass\nstate = {'params': 1, 'step': 0}\ns = AppState()")

    def test_no_libcst_where_a_state_is_built(self) -> None:
        assert not imported("import jax\nstate = {'params': 1, 'step': 0}")

    def test_libcst_for_what_python_does_not_read(self) -> None:
        assert imported("import jax\nstate = {'params': 1 'step': 0}")

    def test_trees_are_let_go(self) -> None:
        """Without the garbage collector: a run is faster without it."""
        files = [(str(path), path.read_bytes()) for path in sorted((ROOT / "fixtures").rglob("*.py"))]
        gc.collect()
        before = _trees()
        gc.disable()
        try:
            project = Project(Names())
            assert len(list(project.read(files))) == len(files)
            assert _trees() <= before
        finally:
            gc.enable()


def _trees() -> int:
    return sum(isinstance(each, ast.FunctionDef) for each in gc.get_objects())


class TestFilesThatSayNothingOfJax:
    def read(self, *given: bytes, screen: bool) -> list[Reading]:
        files = [(f"{at}.py", data) for at, data in enumerate(given)]
        return list(Project(Names(), screen=screen).read(files))

    def test_they_are_parsed_all_the_same(self) -> None:
        (reading,) = self.read(b"x = (\n", screen=False)
        assert not reading.screened
        assert isinstance(reading.parts[0], SyntaxFault)

    def test_they_may_be_screened_off(self) -> None:
        latin = b"# coding: latin-1\nx = '\xe9'"
        readings = self.read(b"x = (\n", b"x = '\xe9'", b"x = 1\n\0", latin, b"import jax\nx = (", screen=True)
        assert [reading.screened for reading in readings] == [True, False, False, False, False]
        faults = [any(isinstance(part, SyntaxFault) for part in reading.parts) for reading in readings]
        assert faults == [False, True, True, False, True]

    def test_an_alias_of_itself_is_no_class(self, tmp_path: Path) -> None:
        for aliases in ("FooState = FooState.inner", "FooState = BarState.a\nBarState = FooState.b"):
            files = {"lib.py": f"import jax\n{aliases}\n", "use.py": "from lib import FooState\ns = FooState(step=0)\n"}
            assert lint_tree(tmp_path, files, "lib.py", "use.py") == []
            assert lint_tree(tmp_path, {"one.py": f"{files['lib.py']}s = FooState(step=0)\n"}, "one.py") == []

    def test_a_record_called_a_state_is_none_of_jax(self, tmp_path: Path) -> None:
        fields = "    line: str\n    params: dict\n    step: object\n"
        record = f"from typing import NamedTuple\nclass ParseState(NamedTuple):\n{fields}"
        built = "def init():\n    return ParseState('', {}, 0)\n"
        files = {"record.py": record + built, "other.py": "from record import ParseState\n" + built}
        assert lint_tree(tmp_path, files, "record.py", "other.py") == lint_tree(tmp_path, files, "other.py") == []
        files["record.py"] = f"import jax\n{record}"
        of_jax = lint_tree(tmp_path, files, "record.py", "other.py")
        assert of_jax == ["SL105", *lint_tree(tmp_path, files, "other.py")] == ["SL105", "SL101"]

    def test_when_they_are_many(self) -> None:
        other = b"# a comment\n" * (PARSED_AT_MOST // 24 + 1)
        assert are_many([other, other])
        assert not are_many([other, b"import jax\n" + other])
        assert not are_many([b"import jax\n" + other] * 4)
