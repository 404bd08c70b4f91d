"""What earlier runs found out holds for as long as all that they looked at is the same, and harms nobody."""

import os
import subprocess
import sys
from collections.abc import Callable, Collection
from pathlib import Path

import pytest

from statelint import cache
from statelint.cache import Cache
from statelint.files import digest

NAME = f"x-{'0' * 32}.cache"


class Run:
    """A run over the files of a folder: what is not known is found out, which is that file's text in capitals."""

    def __init__(self, folder: Path, looks_at: dict[str, Collection[str]] | None = None) -> None:
        self.folder = folder
        self.looks_at = looks_at or {}

    def __call__(self, *names: str) -> list[str]:
        """The names of what was not known."""
        store = Cache(str, str(self.folder / "kept" / NAME))
        given = [(str(self.folder / name), (self.folder / name).read_bytes()) for name in names]
        known = store.known(given)
        assert all(known[path] == data.decode().upper() for path, data in given if path in known)
        fresh = {path: data.decode().upper() for path, data in given if path not in known}
        looked_at = {
            str(self.folder / name): [str(self.folder / other) for other in others]
            for name, others in self.looks_at.items()
        }
        read = {
            str(path): digest(path.read_bytes())
            for path in self.folder.glob("*")
            if path.is_file() and path.name not in names
        }
        store.learn(fresh, looked_at, read)
        return [Path(path).name for path in fresh]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a", "b", "c"):
        (tmp_path / name).write_text(f"this is {name}")
    return tmp_path


def test_a_file_is_found_out_about_once(folder: Path) -> None:
    run = Run(folder)
    assert run("a", "b") == ["a", "b"]
    assert run("a", "b", "c") == ["c"]
    (folder / "b").write_text("other")
    assert run("a", "b", "c") == ["b"]
    (folder / "b").write_text("this is b")
    assert run("b") == ["b"]


def test_what_was_looked_at_counts_at_any_remove(folder: Path) -> None:
    run = Run(folder, {"a": ["b"], "b": ["c"]})
    run("a", "b", "c")
    assert run("a", "b", "c") == []
    (folder / "c").write_text("other")
    assert run("a", "b", "c") == ["a", "b", "c"]


def test_files_that_look_at_each_other(folder: Path) -> None:
    run = Run(folder, {"a": ["b"], "b": ["a"]})
    run("a", "b", "c")
    assert run("a", "b", "c") == []
    (folder / "a").write_text("other")
    assert run("a", "b", "c") == ["a", "b"]


def test_a_file_where_there_was_none(folder: Path) -> None:
    run = Run(folder, {"a": ["d"]})
    run("a", "b")
    (folder / "d").write_text("new")
    assert run("a", "b") == ["a"]
    assert run("a", "b") == []
    (folder / "d").unlink()
    assert run("a", "b") == ["a"]


def test_what_a_run_over_fewer_files_learns_does_not_make_the_others_look_fresh(folder: Path) -> None:
    run = Run(folder, {"a": ["c"], "b": ["c"]})
    run("a", "b", "c")
    (folder / "c").write_text("other")
    assert run("a") == ["a"]
    assert run("a", "b") == ["b"]


def test_files_that_are_gone_are_let_go_of(folder: Path) -> None:
    run = Run(folder, {"a": ["b"]})
    run("a", "b", "c")
    (folder / "a").unlink()
    for turn in range(cache.PRUNED - 1):
        (folder / "c").write_text(f"other {turn}")
        run("c")
    kept = (folder / "kept" / NAME).read_bytes()
    assert str(folder / "c").encode() in kept
    assert str(folder / "a").encode() not in kept


def _cut(data: bytes, at: int) -> bytes:
    return data[:at]


def _flip(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


@pytest.mark.parametrize("damage", [_cut, _flip])
def test_a_damaged_cache_counts_for_nothing(folder: Path, damage: Callable[[bytes, int], bytes]) -> None:
    run = Run(folder, {"a": ["b"]})
    run("a", "b")
    file = folder / "kept" / NAME
    whole = file.read_bytes()
    for at in range(len(whole)):
        file.write_bytes(damage(whole, at))
        assert Cache(str, str(file)).known([(str(folder / "a"), b"this is a")]) == {}
    assert run("a", "b") == ["a", "b"]
    assert run("a", "b") == []


def test_a_sheet_of_another_form_counts_for_nothing(folder: Path) -> None:
    file = folder / NAME
    for body in (b"", b"\xc0", b"\x93\x01\x80", b"not a sheet"):
        file.write_bytes(digest(body) + body)
        assert Cache(str, str(file)).known([(str(folder / "a"), b"this is a")]) == {}


def test_a_place_where_nothing_can_be_written(folder: Path) -> None:
    store = Cache(str, str(folder / "a" / "kept" / NAME))
    assert store.known([(str(folder / "b"), b"b")]) == {}
    store.learn({str(folder / "b"): "B"}, {}, {})
    assert sorted(path.name for path in folder.iterdir()) == ["a", "b", "c"]


def test_runs_at_once_do_each_other_no_harm(folder: Path) -> None:
    program = (
        "import sys\n"
        "from statelint.cache import Cache\n"
        "for turn in range(40):\n"
        "    store = Cache(str, sys.argv[2])\n"
        "    given = [(name, b'x') for name in ('a', 'b', sys.argv[1])]\n"
        "    known = store.known(given)\n"
        "    assert all(value == key.upper() for key, value in known.items()), known\n"
        "    store.learn({name: name.upper() for name, _ in given}, {'a': ['b', 'none']}, {})\n"
    )
    command = [sys.executable, "-c", program]
    runs = [
        subprocess.Popen([*command, name, f"kept/{NAME}"], cwd=folder, stderr=subprocess.PIPE)
        for name in ("c", "a", "b")
    ]
    assert [run.communicate()[1] for run in runs] == [b""] * 3
    assert sorted(path.name for path in (folder / "kept").iterdir()) == [".gitignore", "CACHEDIR.TAG", NAME]


def test_only_the_last_used_settings_are_kept(folder: Path) -> None:
    for number in range(cache.MOST + 3):
        file = folder / "kept" / f"x-{number:032}.cache"
        Cache(str, str(file)).learn({str(folder / "a"): "A"}, {}, {})
        os.utime(file, (number, number))
    numbers = {int(path.stem.partition("-")[2]) for path in (folder / "kept").glob("*.cache")}
    assert len(numbers) <= cache.MOST + 1
    assert {0, 1}.isdisjoint(numbers)


def test_clean_takes_away_what_it_made(folder: Path) -> None:
    Run(folder)("a")
    assert cache.clean(str(folder / "kept"))
    assert not (folder / "kept").exists()
    assert not cache.clean(str(folder / "kept"))


def test_clean_leaves_what_is_not_ours(folder: Path) -> None:
    theirs = dict.fromkeys((".gitignore", "CACHEDIR.TAG", "their.cache"), "mine")
    (folder / "kept").mkdir()
    for name, text in theirs.items():
        (folder / "kept" / name).write_text(text)
    for _ in range(cache.MOST + 2):
        Run(folder)("a")
    assert cache.clean(str(folder / "kept"))
    assert {path.name: path.read_text() for path in (folder / "kept").iterdir()} == theirs


def test_modules_that_come_to_stand_in_a_folder(folder: Path) -> None:
    place, store = os.path.join(folder, ""), folder / "kept" / NAME
    store.parent.mkdir()
    about = [(str(folder / "a"), b"this is a")]
    Cache(str, str(store)).learn({str(folder / "a"): "A"}, {str(folder / "a"): [place]}, {})
    assert Cache(str, str(store)).known(about)
    (folder / "data.txt").write_text("no module")
    assert Cache(str, str(store)).known(about)
    (folder / "new.py").write_text("")
    assert not Cache(str, str(store)).known(about)
