"""`pytest --statelint`: every declared probe is a test.

Without the option this module costs an import of the standard library. With it, probes are found by reading the
files, and jax is imported only in the child process that traces them.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from statelint.diagnostics import Diagnostic
    from statelint.probing import Declared
    from statelint.report import Report


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--statelint`."""
    group = parser.getgroup("statelint")
    group.addoption("--statelint", action="store_true", help="collect the declared statelint probes as tests")


def pytest_configure(config: pytest.Config) -> None:
    """Register what collects, where it is asked for."""
    if config.getoption("--statelint"):
        config.pluginmanager.register(Plugin(config), "statelint-collector")


class Found(Exception):
    """What the rules say of a probe, as text."""


class Plugin:
    """Collects probes, and runs them when the first one is asked for."""

    def __init__(self, config: pytest.Config) -> None:
        from statelint import config as settings
        from statelint import rules

        self.pytest_config = config
        try:
            self.config = settings.load(rules.names(), start=str(config.rootpath))
        except settings.ConfigError as error:
            raise pytest.UsageError(*error.lines) from None
        self.configuration = Path(os.path.abspath(self.config.file or ""))
        self.items: list[ProbeItem] = []

    @functools.cached_property
    def linted(self) -> frozenset[str]:
        """The files that a run over the same paths reads: the configuration's `exclude` holds here, too."""
        from statelint import inputs

        arguments = [argument.partition("::")[0] for argument in self.pytest_config.args]
        found = inputs.search([path for path in arguments if os.path.exists(path)], self.config).files
        return frozenset(map(os.path.realpath, found))

    @property
    def paths(self) -> list[str]:
        """The paths that are asked for; none where all of the project is meant."""
        if (worker := getattr(self.pytest_config, "workerinput", None)) is not None:
            return list(worker["statelint_paths"])
        is_asked = self.pytest_config.args_source is pytest.Config.ArgsSource.ARGS
        return [argument.partition("::")[0] for argument in self.pytest_config.args] if is_asked else []

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker of xdist, which is always given paths, what was asked for."""
        node.workerinput["statelint_paths"] = self.paths

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """A Python file that declares probes, or the configuration."""
        is_python = file_path.suffix == ".py" and os.path.realpath(file_path) in self.linted
        if file_path == self.configuration or (is_python and b"Probe" in file_path.read_bytes()):
            return ProbeFile.from_parent(parent, path=file_path, plugin=self)
        return None

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, session: pytest.Session, items: list[pytest.Item]) -> None:
        """Add the configuration's probes that are meant, where its file is not among what is collected."""
        if self.config.probe and not any(item.path == self.configuration for item in items):
            file = ProbeFile.from_parent(session, path=self.configuration, plugin=self, paths=self.paths)
            # As pytest itself collects a file, so that what it counts are all tests.
            report = session.ihook.pytest_make_collect_report(collector=file)
            session.ihook.pytest_collectreport(report=report)
            items += report.result

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Remember the probes that are to run."""
        self.items = [item for item in session.items if isinstance(item, ProbeItem)]

    def report(self, item: ProbeItem) -> Report:
        """The run that the item's probe is in: that of all probes, or, where xdist spreads them, of its file's."""
        return self._run(item.path if hasattr(self.pytest_config, "workerinput") else None)

    @functools.cache  # noqa: B019 (as many as there are files, until pytest ends)
    def _run(self, path: Path | None) -> Report:
        from statelint import linter
        from statelint.options import Options

        probes = [item.declared for item in self.items if path in (None, item.path)]
        return linter.run_probes(probes, self.config, Options(cache=True))


class ProbeFile(pytest.File):
    """A file that declares probes; of those of the configuration the ones that a run over these paths is about."""

    def __init__(self, *, plugin: Plugin, paths: Sequence[str] = (), **arguments: Any) -> None:
        super().__init__(**arguments)
        self.plugin = plugin
        self.paths = paths

    def collect(self) -> list[ProbeItem]:
        """An item for each probe."""
        if self.path == self.plugin.configuration:
            return self._of_configuration()
        from statelint import showing
        from statelint.config import shown
        from statelint.options import Options

        declared = showing.declared([shown(str(self.path))], self.plugin.config, Options())
        return [self._item(probe) for probe in declared if probe.table is None]

    def _of_configuration(self) -> list[ProbeItem]:
        from statelint import probing

        config = self.plugin.config
        asked = probing.asked_for(probing.declared([], config), self.paths, self.plugin.linted, config)
        return [self._item(probe) for probe in asked]

    def _item(self, probe: Declared) -> ProbeItem:
        return ProbeItem.from_parent(self, name=probe.site.name, declared=probe, plugin=self.plugin)


class ProbeItem(pytest.Item):
    """A probe. It fails as a run of statelint would."""

    def __init__(self, *, declared: Declared, plugin: Plugin, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.declared = declared
        self.plugin = plugin

    def runtest(self) -> None:
        """Fail with what is found."""
        report, fail_on = self.plugin.report(self), self.plugin.config.fail_on
        found = [finding for finding in report.diagnostics if self._is_own(finding) and finding.fails(fail_on)]
        if found:
            raise Found(_text(found, report))

    def _is_own(self, finding: Diagnostic) -> bool:
        """Names may repeat, so the place decides: the finding's own, or one that is related to it."""
        places = [finding.location, *(related.location for related in finding.related)]
        here = (os.path.realpath(self.path), self.declared.site.at.line)
        return any((os.path.realpath(at.path), at.line) == here for at in places)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """What is found, without a traceback."""
        from statelint.options import UsageError

        if isinstance(excinfo.value, Found | UsageError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """The line that declares it."""
        return self.path, self.declared.site.at.line - 1, f"probe {self.name}"


def _text(found: Sequence[Diagnostic], report: Report) -> str:
    import msgspec

    from statelint.report import Look
    from statelint.report.text import findings

    return "\n".join(findings(msgspec.structs.replace(report, diagnostics=tuple(found)), Look())).rstrip()
