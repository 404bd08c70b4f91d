"""Whose line is it: the user's frames among those of a traceback or of a traced operation."""

from __future__ import annotations

import functools
import itertools
import os
import re
import sysconfig
from typing import Any

_OWN_TRACE = re.compile(r" ?The error occurred while tracing the function flat_\w+ .*")

Place = dict[str, Any]
"""A location as the model's `Location` has it: path, line, column from 1."""

_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_STDLIB = tuple(os.path.join(sysconfig.get_path(name), "") for name in ("stdlib", "platstdlib"))
_INSTALLED = re.compile(r"[/\\](?:site|dist)-packages[/\\]")
_SUMMARY = re.compile(r"(?P<path>.+?):(?P<line>\d+)(?::(?P<column>\d+))? \((?P<function>.*)\)")


def is_installed(path: str) -> bool:
    """Whether a file is one of an installed package."""
    return _INSTALLED.search(path) is not None


@functools.cache
def is_users(path: str) -> bool:
    """Whether a file is the user's own: not of Python, of an installed package, or of statelint."""
    path = os.path.abspath(path)
    return os.path.isfile(path) and not is_installed(path) and not path.startswith((*_STDLIB, os.path.join(_OURS, "")))


def is_ours(path: str) -> bool:
    """Whether a file is one of statelint."""
    return os.path.abspath(path).startswith(os.path.join(_OURS, ""))


def without_ours(text: str) -> str:
    """What an exception says without what JAX adds about our own wrapper."""
    return _OWN_TRACE.sub("", text)


def place(path: str, line: int, column: int = 0) -> Place:
    """A location. ``column`` counts UTF-8 bytes from 0, as Python and JAX count them."""
    text = source_line(path, line).encode()[:column].decode(errors="replace") if column else ""
    return {"path": os.path.abspath(path), "line": line, "column": len(text) + 1}


def source_line(path: str, line: int) -> str:
    """One line of a file; empty where there is none."""
    lines = _lines(path)
    return lines[line - 1] if 0 < line <= len(lines) else ""


@functools.cache
def _lines(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().split("\n")
    except Exception:  # the file may be gone, and user code may have put another function in the place of `open`
        return []


def of_operation(source_info: Any) -> list[Place]:
    """The user's frames of a traced operation, innermost first; not those from which we were called ourselves."""
    inside = itertools.takewhile(lambda match: not match["path"].startswith(_OURS), _frames(source_info))
    return [_place(match) for match in inside if is_users(match["path"])]


def of_library(source_info: Any) -> Place | None:
    """The innermost frame of a traced operation, when it is a library's."""
    innermost = next(iter(_frames(source_info)), None)
    is_library = innermost and is_installed(innermost["path"]) and os.path.isfile(innermost["path"])
    return _place(innermost) if innermost and is_library else None


_known: dict[Any, list[re.Match[str]]] = {}
"""Frames by traceback: equal ones are what the layers of a model, or the leaves of a tree, have in common."""


def _frames(source_info: Any) -> list[re.Match[str]]:
    """All frames but jax's own, innermost first."""
    if (found := _known.get(source_info.traceback)) is None:
        from jax.extend import source_info_util

        summary = source_info_util.summarize(source_info, num_frames=64)
        # summarize writes the outermost frame first.
        matches = [_SUMMARY.fullmatch(line) for line in reversed(summary.splitlines())]
        found = _known[source_info.traceback] = [match for match in matches if match]
    return found


def forget() -> None:
    """Drop what is known of tracebacks: a probe is done."""
    _known.clear()


def _place(match: re.Match[str]) -> Place:
    return place(match["path"], int(match["line"]), int(match["column"] or 0))


def of_error(error: BaseException) -> Place | None:
    """The user's line that an exception comes from; for a syntax error, the line that does not parse."""
    if isinstance(error, SyntaxError) and error.filename and is_users(error.filename):
        return place(error.filename, error.lineno or 1)
    users, at = None, error.__traceback__
    while at is not None:
        users = at if is_users(at.tb_frame.f_code.co_filename) else users
        at = at.tb_next
    if users is not None:
        code = users.tb_frame.f_code
        _, _, column, _ = next(itertools.islice(code.co_positions(), users.tb_lasti // 2, None))
        return place(code.co_filename, users.tb_lineno or 1, column or 0)
    inner = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return of_error(inner) if inner is not None else None


def one_line(error: BaseException, limit: int = 240) -> str:
    """An exception on one line of at most ``limit`` characters, without what JAX adds about our own wrapper."""
    try:
        text = str(error)
    except BaseException:
        text = ""
    text = without_ours(" ".join(text.split()))
    text = text if len(text) <= limit else text[: limit - 3] + "..."
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
