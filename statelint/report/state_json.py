"""What `statelint show --output-format json` prints, version 1."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import msgspec

from statelint.budget import budget
from statelint.config import shown
from statelint.diagnostics import Location
from statelint.model.trace import LeafTrace, ProbeFailure, StepTrace
from statelint.report.rows import KINDS, sharers

VERSION = 1


def as_json(outcomes: Sequence[StepTrace | ProbeFailure]) -> str:
    """One JSON object; every leaf, whatever their number. Paths are below the state, as in the report of a run."""
    document = {"version": VERSION, "probes": [_probe(outcome) for outcome in outcomes]}
    return json.dumps(document, indent=2) + "\n"


def _probe(outcome: StepTrace | ProbeFailure) -> dict[str, Any]:
    site = outcome.probe.at
    place = (shown(site.path), site.line) if outcome.probe.is_placed else (None, None)
    head = {"name": outcome.probe.name, **dict(zip(("path", "line"), place, strict=True))}
    if isinstance(outcome, ProbeFailure):
        at = _at(outcome.at) if outcome.is_placed else dict.fromkeys(("path", "line", "column"))
        return {**head, "failed": {"message": outcome.message, **at}}
    sharing = sharers(outcome)
    return {
        **head,
        "failed": None,
        "jit": outcome.jit,
        "donates": outcome.donates,
        "executables": msgspec.to_builtins(outcome.executables),
        "refused": msgspec.to_builtins(outcome.refused),
        **({} if outcome.compiled_donation is None else {"donation": msgspec.to_builtins(outcome.compiled_donation)}),
        "leaves": [_leaf(leaf, sharing.get(leaf.path, ())) for leaf in outcome.leaves],
        "statics": [
            {
                "path": static.path,
                "owner": static.owner,
                "type": static.type,
                "value": static.value,
                "changed": static.changed,
                "after": static.after,
            }
            for static in outcome.statics
        ],
        "structure": [
            {"call": change.call, "path": change.path, "before": change.before, "after": change.after}
            for change in outcome.structure
        ],
        "budget": msgspec.to_builtins(budget(outcome)),
    }


def _leaf(leaf: LeafTrace, shares: Sequence[str]) -> dict[str, Any]:
    aval = leaf.aval
    return {
        "path": leaf.path,
        "kind": KINDS[leaf.held],
        "type": leaf.python_type,
        "value": leaf.value,
        "aval": str(aval) if aval else None,
        "dtype": aval.dtype if aval else None,
        "shape": aval.shape if aval else None,
        "weak": aval.weak if aval else None,
        "bytes": leaf.nbytes,
        "donated": leaf.donated,
        "lost": leaf.lost,
        "shares": list(shares),
        "shares_argument": leaf.shares_argument,
        "changes": [
            {"call": change.call, "before": change.before.described, "after": change.after.described}
            for change in leaf.changes
        ],
        "moves": msgspec.to_builtins(leaf.moves),
        "value_after": leaf.value_after,
        "made": _at(leaf.made) if leaf.made else None,
    }


def _at(at: Location) -> dict[str, Any]:
    return {"path": shown(at.path), "line": at.line, "column": at.column}
