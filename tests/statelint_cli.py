"""Runs the command line for tests, and reads its JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).parent.parent


def lint(paths: Sequence[Path | str], *options: str, cwd: Path = ROOT) -> dict[str, Any]:
    """The JSON of one run, its paths resolved. A run that could not do its work fails here."""
    command = [sys.executable, "-m", "statelint", "--output-format", "json", *options, *map(str, paths)]
    environment = {key: value for key, value in os.environ.items() if key != "VIRTUAL_ENV"}
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), *filter(None, [environment.get("PYTHONPATH")])])
    run = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=600)
    assert run.returncode in (0, 1), run.stderr
    report = json.loads(run.stdout)
    for entry in [*report["diagnostics"], *report["checked"]["probes"]]:
        entry["path"] = (cwd / entry["path"]).resolve()
    return report
