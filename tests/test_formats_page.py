"""What docs/formats.md shows is what the command prints."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from statelint.report import FORMATS

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs/formats.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"```console\n\$ statelint (.*?)\n(.*?)```\n", PAGE, re.DOTALL)


@pytest.mark.parametrize(("options", "shown"), SHOWN)
def test_output_is_real(tmp_path: Path, options: str, shown: str) -> None:
    ((name, code),) = re.findall(r"`(\w+\.py)`:\n\n```python\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / name).write_text(code, encoding="utf-8")
    environment = {key: value for key, value in os.environ.items() if key not in ("FORCE_COLOR", "CI_PROJECT_DIR")}
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), *filter(None, [environment.get("PYTHONPATH")])])
    command = [sys.executable, "-m", "statelint", *options.split()]
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, encoding="utf-8", check=False)
    assert (run.returncode, run.stderr) == (1, "")
    pattern = "(?:.*\n)+?".join(map(re.escape, re.split(r"^\.\.\.\n", shown, flags=re.MULTILINE)))
    assert re.fullmatch(pattern, run.stdout), run.stdout


def test_every_format_has_its_section() -> None:
    sections = re.findall(r"^## (\w+)$", PAGE, re.MULTILINE)
    assert sections == list(FORMATS)
    assert [options.split()[1] for options, _ in SHOWN] == sections
