"""What a function's body binds, so that a name can be followed to the one expression that it stands for."""

from __future__ import annotations

import libcst as cst

from statelint.source.concrete import annotation_name, children, from_cst
from statelint.source.scope import Binding
from statelint.source.terms import Term


def bindings(node: cst.FunctionDef | cst.Lambda) -> dict[str, Binding]:
    """The names that a function binds: its parameters, and what its body assigns."""
    assigned: dict[str, list[Term | None]] = {}
    annotated: dict[str, str] = {}
    if isinstance(node, cst.FunctionDef):
        _Body(assigned, annotated).read(node.body)
    found = {
        name: Binding(terms[0] if len(terms) == 1 else None, annotated.get(name, ""))
        for name, terms in assigned.items()
    }
    for parameter in parameters(node):
        found[parameter.name.value] = Binding(None, annotation_name(parameter.annotation), parameter=True)
    return found


def parameters(node: cst.FunctionDef | cst.Lambda) -> list[cst.Param]:
    """All parameters of a function."""
    params = node.params
    stars = [star for star in (params.star_arg, params.star_kwarg) if isinstance(star, cst.Param)]
    return [*params.posonly_params, *params.params, *params.kwonly_params, *stars]


class _Body:
    """Gathers what is assigned; None stands for what is not to be followed."""

    def __init__(self, assigned: dict[str, list[Term | None]], annotated: dict[str, str]) -> None:
        self.assigned = assigned
        self.annotated = annotated

    def read(self, body: cst.CSTNode) -> None:
        stack: list[tuple[cst.CSTNode, bool]] = [(body, True)]
        while stack:
            node, straight = stack.pop()
            match node:
                case cst.FunctionDef() | cst.ClassDef():
                    self._bind(node.name, None)
                    continue
                case cst.Lambda():
                    continue
                case cst.Assign():
                    for target in node.targets:
                        self._bind(target.target, from_cst(node.value) if straight else None)
                case cst.AnnAssign(value=cst.BaseExpression() as value):
                    self._bind(node.target, from_cst(value) if straight else None)
                    if isinstance(node.target, cst.Name):
                        self.annotated[node.target.value] = annotation_name(node.annotation)
                case cst.AugAssign() | cst.For() | cst.CompFor() | cst.NamedExpr():
                    self._bind(node.target, None)
                case cst.AsName():
                    self._bind(node.name, None)
                case cst.Del():
                    self._bind(node.target, None)
            straight = straight and not isinstance(node, _BRANCHES)
            stack.extend((child, straight) for child in children(node))

    def _bind(self, target: cst.BaseExpression, value: Term | None) -> None:
        if isinstance(target, cst.Name):
            self.assigned.setdefault(target.value, []).append(value)
        elif isinstance(target, cst.Tuple | cst.List):
            parts = value.parts if value is not None and value.form in ("tuple", "list") and not value.starred else ()
            paired = len(parts) == len(target.elements)
            for position, element in enumerate(target.elements):
                self._bind(element.value, parts[position].value if paired else None)


_BRANCHES = (cst.If, cst.For, cst.While, cst.Try, cst.TryStar, cst.Match)
