"""Call sites: what a file says of its jits and of the calls that go to them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from statelint.diagnostics import Location
from statelint.model.callsites import DonatedRead, JitSite, StaleAttribute, StaticArgument
from statelint.model.names import Names
from statelint.model.source import SyntaxFault
from statelint.source import arguments, flow, jitting, methods
from statelint.source.calling import Calling
from statelint.source.outline import TOO_DEEP, Outline
from statelint.source.sites import Sites
from statelint.source.tree import Scope, Tree

Found = JitSite | StaticArgument | DonatedRead | StaleAttribute | SyntaxFault


def read(outline: Outline, names: Names) -> Iterator[Found]:
    """What stands in a file that may jit, or run a loop of `jax.lax`."""
    tree = Tree(ast.Module(outline.body, []))
    sites = Sites(outline, tree)
    calling = Calling(outline, tree, sites)
    yield from jitting.sites(sites, calling, names)
    yield from methods.stale(sites)
    calls = {call.node: call for call in sites.jit_calls() if not calling.in_trace(call.node)}
    yield from arguments.static(sites, calling, calls.values())
    donating: dict[Scope, None] = {}
    for call in calls.values():
        if call.donated:
            donating[tree.scope(call.node)] = None
    for scope in donating:
        try:
            yield from flow.reads(scope, sites, calls)
        except RecursionError:
            yield SyntaxFault(Location(outline.text.path, getattr(scope, "lineno", 1)), TOO_DEEP)
