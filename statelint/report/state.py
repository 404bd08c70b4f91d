"""What `statelint show` prints: the state of each probe as a table, and what it weighs."""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from statelint.budget import Budget, Peak, budget, in_bytes
from statelint.config import shown
from statelint.diagnostics import Location
from statelint.model.costs import Extra
from statelint.model.paths import label
from statelint.model.trace import ProbeFailure, StepTrace
from statelint.report.base import escaped, one_line
from statelint.report.rows import MANY, Row, collapsed, rows

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

WIDE = 10_000
"""Columns where nobody looks: no line is folded."""

EXTRAS = 8
"""Of what makes more executables necessary, how much is named."""

Outcome = StepTrace | ProbeFailure


def as_text(outcomes: Sequence[Outcome], everything: bool, *, colour: bool, fold: bool) -> str:
    """The states as tables, without a line around anything.

    Args:
        everything: a row for each leaf; else those that are alike are one row where there are many.
        fold: what is wider than the terminal; else no line is folded.
    """
    from rich.console import Console

    screen = Console(
        file=io.StringIO(),
        width=shutil.get_terminal_size().columns if fold else WIDE,
        force_terminal=colour,
        color_system="standard" if colour else None,
        highlight=False,
        markup=False,
        emoji=False,
    )
    with screen.capture() as captured:
        for number, outcome in enumerate(outcomes):
            if number:
                screen.print()
            _print(screen, outcome, everything=everything)
    return "".join(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def _print(screen: Console, outcome: Outcome, *, everything: bool) -> None:
    screen.print(f"{escaped(outcome.probe.name)}  {_site(outcome)}", style="bold", soft_wrap=True)
    if isinstance(outcome, ProbeFailure):
        at = f" at {_place(outcome.at)}" if outcome.is_placed else ""
        message = outcome.message.removeprefix(f'"{outcome.probe.name}": ')
        screen.print(f"FAILED{at}: {one_line(message)}", style="bold red")
        return
    table = rows(outcome)
    short = table if everything or len(table) < MANY else collapsed(table)
    weight = budget(outcome)
    for line in _costs(outcome):
        screen.print(line)
    screen.print()
    screen.print(_state(short))
    for line in _remarks(outcome, table, short):
        screen.print(line, style="dim")
    screen.print()
    screen.print(_weights(weight))
    if weight.peak is not None:
        screen.print()
        screen.print(_peak(weight.peak))
        for line in NOT_COUNTED:
            screen.print(line, style="dim")
    screen.print()
    screen.print(_kinds(weight))


def _site(outcome: Outcome) -> str:
    # One that is asked for by name, and cannot be imported, is declared nobody knows where.
    return _place(outcome.probe.at) if outcome.probe.is_placed else ""


def _place(at: Location) -> str:
    return f"{escaped(shown(at.path))}:{at.line}"


def _costs(trace: StepTrace) -> Iterator[str]:
    """Under which jit, how many executables, and what makes each but the first necessary."""
    unknown = "" if trace.jitted else ", as nothing has jitted it yet"
    donates = {True: ", donating the state", False: ", donating nothing of it", None: unknown}
    yield f"under {trace.jit}{donates[trace.donates]}"
    if any(leaf.held == "invalid" for leaf in trace.leaves):
        yield f"{trace.jit} refuses this state"
        return
    loop, restore = trace.executables.loop, trace.executables.restore
    if trace.refused is not None:
        yield f"call {trace.refused.call} fails: {one_line(trace.refused.error)}"
    else:
        executables = "a new one at every call" if loop is None else f"{loop} in a loop"
        yield f"executables: {executables}, {restore} more after a restore"
    if trace.compiled_donation is not None:
        yield trace.compiled_donation.described
    extras = list(dict.fromkeys(_extra(extra, trace) for extra in trace.extras))
    yield from extras[:EXTRAS]
    if len(extras) > EXTRAS:
        yield f"  and {len(extras) - EXTRAS:,} more"


def _extra(extra: Extra, trace: StepTrace) -> str:
    """What makes executables necessary: one line for all of them where it does so at every call."""
    alike = [other for other in trace.extras if (other.path, other.is_move) == (extra.path, extra.is_move)]
    is_endless = extra.call is not None and len(alike) > 1 and trace.always_changes(extra.path)
    first = alike[0] if is_endless else extra
    when = "at every call" if is_endless else "after a restore" if extra.call is None else f"at call {extra.call}"
    line = _place(trace.at(first.at))
    more = " -> ..." if is_endless else ""
    return escaped(f"  {when}: {extra.label}: {first.before} -> {first.after}{more} ({line})")


def _state(table: Sequence[Row]) -> RenderableType:
    """The rows under their heads; columns that would be empty are left out, and said in words below."""
    columns = {
        "path": [row.path for row in table],
        "kind": [row.kind for row in table],
        "aval": [row.aval for row in table],
        "x": [f"x {row.count:,}" if row.count > 1 else "" for row in table],
        "weak": ["weak" if row.weak else "" for row in table],
        "bytes": [f"{row.bytes:,}" if row.kind not in ("static", "refused") else "" for row in table],
        "donated": ["donated" if row.donated else "" for row in table],
        "shares with": [", ".join(row.shares) for row in table],
        "changes": [row.changes for row in table],
    }
    kept = {head: cells for head, cells in columns.items() if any(cells)}
    return _table(kept, list(zip(*kept.values(), strict=True)), right=("bytes", "x"))


def _remarks(trace: StepTrace, table: Sequence[Row], short: Sequence[Row]) -> Iterator[str]:
    """What the columns that are left out would say, what the structure does, and what is not shown."""
    is_whole = trace.refused is None and not trace.structure
    nothing = {
        "nothing is weakly typed": any(row.weak for row in table),
        "nothing is donated": any(row.donated for row in table),
        "nothing shares a buffer": any(row.shares for row in table),
        "every row comes back as it went in": any(row.changes for row in table) or not is_whole,
    }
    if said := [text for text, is_untrue in nothing.items() if not is_untrue]:
        yield ", ".join(said).capitalize()
    for change in trace.structure:
        before, after = change.before or "nothing", change.after or "nothing"
        yield f"structure: call {change.call}: {escaped(change.label)}: {before} -> {after}"
    if len(short) < len(table):
        yield f"{len(table):,} rows in {len(short):,}, as those that are alike are one: --all shows each"


def _weights(weight: Budget) -> RenderableType:
    cells = [(label(part.path), _leaves(part.leaves), in_bytes(part.bytes)) for part in weight.subtrees]
    cells.append(("all", _leaves(weight.leaves), in_bytes(weight.bytes)))
    if weight.params is not None:
        cells.append((f"params: {label(weight.params.path)}", "", in_bytes(weight.params.bytes)))
    if weight.optimizer is not None:
        cells.append(("optimizer", "", f"{in_bytes(weight.optimizer.bytes)} = {weight.optimizer.text}"))
    return _table(dict.fromkeys(("bytes by subtree", "leaves", "")), cells)


def _leaves(count: int) -> str:
    return f"{count:,} {'leaf' if count == 1 else 'leaves'}"


def _peak(peak: Peak) -> RenderableType:
    rows_of = (
        ("goes in", peak.given, ""),
        ("comes out", peak.returned, ""),
        ("of which reused", peak.reused, "in buffers that the step donates"),
        ("held at the peak", peak.held, f"without donation {in_bytes(peak.not_donating)}"),
    )
    return _table(
        dict.fromkeys(("copies of the state", "", " ")),
        [(what, in_bytes(count), note) for what, count, note in rows_of],
    )


NOT_COUNTED = (
    "Not counted: gradients and all other temporaries, the step's other arguments and results, padding.",
    "An array over several devices counts as a whole.",
)


def _kinds(weight: Budget) -> RenderableType:
    heads = ("kind of field", "is", "costs memory", "costs executables", "can be donated", "here")
    cells = [
        (each.kind, each.part, each.memory, each.executables, each.donation, f"{each.count:,}") for each in weight.kinds
    ]
    return _table(dict.fromkeys(heads), cells, right=("here",))


def _table(heads: Iterable[str], cells: Iterable[Sequence[str]], right: Sequence[str] = ()) -> RenderableType:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for head in heads:
        table.add_column(head, overflow="fold", justify="right" if head in right else "left")
    for row in cells:
        table.add_row(*(Text(escaped(cell)) for cell in row))
    return table
