"""Which rules run, and where."""

from __future__ import annotations

import functools
import os

import msgspec

from statelint import baseline, patterns, rules
from statelint.config import Config
from statelint.diagnostics import Diagnostic
from statelint.options import Options, UsageError
from statelint.selectors import resolve, severities, unknown_rules


def settled(config: Config, options: Options) -> Config:
    """The configuration with what the options say in place of it, or besides."""
    extended = options.extend_select if options.select else (*config.extend_select, *options.extend_select)
    return msgspec.structs.replace(
        config,
        select=options.select or config.select,
        extend_select=extended,
        ignore=(*config.ignore, *options.ignore),
    )


def selection(config: Config, options: Options, *, dashes: str = "--") -> frozenset[str]:
    """The codes of the rules that run, but for what a file is spared.

    Args:
        dashes: what stands before the name of an option where it is given.

    Raises:
        UsageError: an option names no rule, or none is left.
    """
    names = rules.names()
    asked = {"select": options.select, "extend-select": options.extend_select, "ignore": options.ignore}
    wrong = [f"{dashes}{option}: {line}" for option, texts in asked.items() for line in unknown_rules(texts, names)]
    if wrong:
        raise UsageError(wrong)
    said = settled(config, options)
    default = [] if said.select is not None else [code for code, module in rules.load().items() if module.rule.default]
    wanted, unwanted = [*(said.select or ()), *said.extend_select], said.ignore
    if not wanted and not default:
        raise UsageError([f"{config.file}: select: no rule is selected"])
    if not resolve(wanted, unwanted, names, start=default):
        raise UsageError(["no rule is left to run: all that are selected are ignored too"])
    # What says that something was not checked runs unless it is ignored by its code.
    always = [code for code in baseline.NOT_CHECKED if code in names]
    return resolve([*wanted, *always], unwanted, names, start=default)


class Scope:
    """The codes that run in a file: the selected ones without its `per-file-ignores`.

    Args:
        dashes: what stands before the name of an option where it is given.
    """

    def __init__(self, config: Config, options: Options, *, dashes: str = "--") -> None:
        names = rules.names()
        self._enabled = selection(config, options, dashes=dashes)
        self._severities = severities(config.severity, names)
        self._root = os.path.realpath(config.root)
        self._ignores = [
            (
                patterns.spec([pattern.removeprefix("!")]),
                pattern.startswith("!"),
                resolve(codes, (), names),
            )
            for pattern, codes in config.per_file_ignores.items()
        ]
        self.of = functools.cache(self._of)

    def _of(self, path: str) -> frozenset[str]:
        if not self._ignores:
            return self._enabled
        relative = os.path.relpath(os.path.realpath(path), self._root)
        ignored = (codes for spec, negated, codes in self._ignores if spec.match_file(relative) != negated)
        return self._enabled.difference(*ignored)

    def holds(self, finding: Diagnostic) -> bool:
        """Whether its rule runs in its file."""
        return finding.code in self.of(finding.location.path)

    def weighed(self, finding: Diagnostic) -> Diagnostic:
        """With the severity that the configuration gives to its rule."""
        severity = self._severities.get(finding.code, finding.severity)
        return msgspec.structs.replace(finding, severity=severity)
