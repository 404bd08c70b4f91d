from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from statelint import discovery


def make(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x = 1\n")


def find(*paths: str, **options: object) -> list[str]:
    found = discovery.find(paths or (".",), **options)  # type: ignore[arg-type]
    assert not found.errors
    return list(found.files)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_paths_stay_as_the_user_gave_them(tmp_path: Path) -> None:
    make(tmp_path, "a.py", "pkg/b.py", "pkg/sub/c.pyw", "pkg/notes.txt", "pkg/d.pyi", "pkg/e.ipynb")
    assert find(".") == ["a.py", "pkg/b.py", "pkg/sub/c.pyw"]
    assert find("pkg/") == find("./pkg") == find("pkg") == ["pkg/b.py", "pkg/sub/c.pyw"]
    assert find(str(tmp_path / "pkg")) == [f"{tmp_path}/pkg/b.py", f"{tmp_path}/pkg/sub/c.pyw"]


def test_each_file_once(tmp_path: Path) -> None:
    make(tmp_path, "pkg/a.py", "pkg/b.py")
    assert find("pkg", "pkg/a.py", "pkg/../pkg", ".") == ["pkg/a.py", "pkg/b.py"]


def test_a_file_given_by_name_is_taken_whatever_it_is_called(tmp_path: Path) -> None:
    make(tmp_path, "script", "build/made.py", "pkg/a.py")
    (tmp_path / ".gitignore").write_text("script\n")
    (tmp_path / ".git").mkdir()
    assert find("script", "build/made.py", ".") == ["build/made.py", "pkg/a.py", "script"]


def test_excluded_folders_are_not_walked_into_unless_named(tmp_path: Path) -> None:
    make(tmp_path, "a.py", ".venv/lib/site-packages/jaxy/b.py", "x/node_modules/c.py", "x/.venv/d.py")
    assert find(".") == ["a.py"]
    assert find(".venv/lib/site-packages/jaxy") == [".venv/lib/site-packages/jaxy/b.py"]
    assert find("x") == []


def test_exclude_patterns_are_relative_to_the_root(tmp_path: Path) -> None:
    make(tmp_path, "pkg/gen/a.py", "pkg/b_pb2.py", "gen/c.py", "build/d.py")
    assert find(".", exclude=("pkg/gen", "*_pb2.py")) == ["build/d.py", "gen/c.py"]
    assert find("pkg", exclude=("pkg/gen",)) == ["pkg/b_pb2.py"]
    assert find("pkg", exclude=("gen",), root="pkg") == ["pkg/b_pb2.py"]


def test_what_is_not_there_or_not_ours_is_an_error_line(tmp_path: Path) -> None:
    make(tmp_path, "book.ipynb", "a.py")
    found = discovery.find(["nowhere", "book.ipynb", "", "a.py"])
    assert found.errors == (
        "nowhere: no such file or folder",
        "book.ipynb: notebooks are not checked",
        "'': no such file or folder",
    )
    assert found.files == ("a.py",)


def test_links_are_followed_once_and_never_in_circles(tmp_path: Path) -> None:
    make(tmp_path, "real/a.py", "real/deep/b.py", "outside/c.py")
    (tmp_path / "real/deep/up").symlink_to(tmp_path / "real")
    (tmp_path / "real/self").symlink_to(".")
    (tmp_path / "real/a_link.py").symlink_to("a.py")
    (tmp_path / "real/linked").symlink_to(tmp_path / "outside")
    (tmp_path / "real/.#lock.py").symlink_to("nowhere")
    (tmp_path / "real/loop.py").symlink_to("loop.py")
    assert find("real") == ["real/a.py", "real/deep/b.py", "real/linked/c.py"]
    assert find("real", "outside") == ["outside/c.py", "real/a.py", "real/deep/b.py"]


def test_names_that_are_not_utf8(tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9.py")
    (tmp_path / name).write_text("")
    assert find(".") == [name]


IGNORES = {
    ".gitignore": (
        "*.log.py\n/top.py\ngen/\n!gen/kept.py\nsub/*.tmp.py\n**/deep/x.py\n\\#odd.py\n[z-a].py\n!\n"
        "# a comment\n*_t.py\n!important_t.py\n"
    ),
    "sub/.gitignore": "!*.log.py\nlocal.py\nboth/\n",
    "sub/keep/.gitignore": "*\n!.gitignore\n!yes.py\n",
    ".git/info/exclude": "private.py\n",
}
FILES = (
    "a.py",
    "a.log.py",
    "top.py",
    "sub/top.py",
    "gen/kept.py",
    "gen/lost.py",
    "sub/gen/lost.py",
    "sub/a.tmp.py",
    "sub/in/a.tmp.py",
    "sub/b.log.py",
    "sub/local.py",
    "local.py",
    "sub/both/a.py",
    "both/a.py",
    "some/deep/x.py",
    "some/deep/y.py",
    "#odd.py",
    "private.py",
    "sub/private.py",
    "sub/keep/no.py",
    "sub/keep/yes.py",
    "x_t.py",
    "sub/important_t.py",
)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "-q", "."], cwd=tmp_path, check=True)
    make(tmp_path, *FILES)
    for name, text in IGNORES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def not_ignored(repository: Path) -> list[str]:
    checked = subprocess.run(
        ["git", "check-ignore", "--no-index", "--stdin"],
        cwd=repository,
        input="\n".join(FILES),
        capture_output=True,
        text=True,
        check=False,
    )
    return sorted(set(FILES) - set(checked.stdout.splitlines()))


def test_ignores_what_git_ignores(repository: Path) -> None:
    kept = not_ignored(repository)
    assert 5 < len(kept) < len(FILES) - 5
    assert find(".") == kept


def test_gitignores_above_the_walk_count_up_to_the_repository(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repository.parent / ".gitignore").write_text("*.py\n")
    expected = [name for name in not_ignored(repository) if name.startswith("sub/")]
    assert find("sub") == expected
    monkeypatch.chdir(repository / "sub")
    assert find(".") == [name.removeprefix("sub/") for name in expected]


def test_an_ignored_folder_that_is_named_is_walked(repository: Path) -> None:
    assert find("gen") == ["gen/kept.py", "gen/lost.py"]


def test_gitignore_can_be_passed_over(repository: Path) -> None:
    assert find(".", respect_gitignore=False) == sorted(FILES)
