"""The set-up for Emacs, in a real one: `compile` finds the lines, and Flymake what is not saved yet."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.editors.findings import TRAIN, expected, make, needs, run, set_up

pytestmark = needs("emacs")

COMPILE = """
(setenv "TERM" "dumb")  ; as every Emacs that is not in batch mode does
(setq compilation-skip-threshold 0)
(defvar output (compilation-start "statelint --output-format concise"))
(while (process-live-p (get-buffer-process output))
  (accept-process-output nil 0.05))
(defun next-row (move)
  (and (ignore-errors (funcall move) t)
       (vector (with-current-buffer output
                 (compilation--message->type (get-text-property (point) 'compilation-message)))
               (file-relative-name (buffer-file-name (window-buffer)) project)
               (with-current-buffer (window-buffer) (line-number-at-pos))
               (with-current-buffer (window-buffer) (1+ (current-column))))))
(princ (json-encode (vconcat (cons (next-row #'first-error)
                                   (cl-loop for row = (next-row #'next-error) while row collect row)))))
"""

FLYMAKE = """
(find-file "train.py")
(insert-file-contents "edited.txt" nil nil nil t)
(flymake-mode 1)
(flymake-start)
(while (cl-set-difference (flymake-running-backends) (flymake-reporting-backends))
  (accept-process-output nil 0.05))
(defun row (found)
  (goto-char (flymake-diagnostic-beg found))
  (vector (symbol-name (flymake-diagnostic-type found))
          (line-number-at-pos)
          (1+ (current-column))
          (flymake-diagnostic-text found)))
(defun is-before (one other)
  (< (flymake-diagnostic-beg one) (flymake-diagnostic-beg other)))
(princ (json-encode (vconcat (mapcar #'row (sort (flymake-diagnostics) #'is-before)))))
"""

TYPES = {"error": 2, "warning": 1, "info": 0}


def emacs(folder: Path, program: str) -> list[list[Any]]:
    """What a program prints in an Emacs with our set-up."""
    before = "(require 'json) (require 'cl-lib) (require 'compile) (require 'flymake)"
    before += '(set-language-environment "UTF-8") (defvar project default-directory)'
    (folder / "init.el").write_text(set_up("emacs"), encoding="utf-8")
    (folder / "program.el").write_text(f"{before}\n{program}", encoding="utf-8")
    rows: list[list[Any]] = json.loads(run(folder, "emacs", "-Q", "--batch", "-l", "init.el", "-l", "program.el"))
    return rows


def test_the_compile_buffer_leads_to_every_finding(tmp_path: Path) -> None:
    make(tmp_path)
    assert emacs(tmp_path, COMPILE) == [
        [TYPES[each.severity], each.path, each.line, each.column] for each in expected(tmp_path)
    ]


def test_flymake_shows_what_is_not_saved(tmp_path: Path) -> None:
    make(tmp_path)
    (tmp_path / "edited.txt").write_text(f"# One line more.\n{TRAIN}", encoding="utf-8")
    (tmp_path / "train.py").write_text("x = 1\n")
    shown = emacs(tmp_path, FLYMAKE)
    (tmp_path / "train.py").write_text((tmp_path / "edited.txt").read_text(encoding="utf-8"), encoding="utf-8")
    types = {"error": ":error", "warning": ":warning", "info": ":note"}
    assert shown == [
        [types[each.severity], each.line, each.column, f"{each.code} [{each.severity}] {each.message}"]
        for each in expected(tmp_path, "train.py")
    ]
