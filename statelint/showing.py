"""`statelint show`: the states of probes, those of files and folders and those named as `module:name`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence

from statelint import inputs, probing
from statelint.config import Config
from statelint.diagnostics import Location
from statelint.model.trace import ProbeSite, StepTrace
from statelint.options import Options, UsageError
from statelint.probing import Declared, Outcome
from statelint.progress import SILENT, Progress

REFERENCE = re.compile(r"[^\W\d]\w*(\.\w+)*:[^\W\d]\w*(\.\w+)*")
"""`package.module:name`, which is no path."""


def show(targets: Sequence[str], config: Config, options: Options, progress: Progress = SILENT) -> list[Outcome]:
    """Trace the probes that these targets declare or are.

    Args:
        targets: files, folders, and probes as `module:name`; the current folder when there are none.

    Raises:
        UsageError: a path or an interpreter is wrong, or there is no probe.
    """
    named = [target for target in targets if is_reference(target)]
    paths = [target for target in targets if target not in named]
    found = [Declared(ProbeSite(name, Location(name, 1)), reference=name) for name in named]
    if paths or not named:
        found += declared(paths, config, options, progress)
    if not found:
        raise UsageError([f"no probe is declared under {', '.join(paths) or '.'}: declare one with statelint.Probe"])
    names = config.names
    outcomes = probing.run(found, config, options, progress)
    return [outcome.named(names) if isinstance(outcome, StepTrace) else outcome for outcome in outcomes]


def is_reference(target: str) -> bool:
    """Whether a target is a probe's name, rather than a path."""
    return REFERENCE.fullmatch(target) is not None and not os.path.exists(target)


def declared(paths: Sequence[str], config: Config, options: Options, progress: Progress = SILENT) -> list[Declared]:
    """The probes that a run over these paths is about."""
    files = inputs.read_files(paths, config).read
    readings = inputs.read_sources(files, config, options, progress)
    return probing.asked_for(probing.declared(readings, config), paths, _paths(files), config)


def _paths(files: Iterable[tuple[str, bytes]]) -> Iterable[str]:
    return (path for path, _ in files)
