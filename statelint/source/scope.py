"""What a name is bound to, and what an expression is: a number, a weak array, a buffer of some name."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence

from statelint.diagnostics import Location
from statelint.model.names import is_params
from statelint.model.source import Expression, Kind
from statelint.source import arrays
from statelint.source.binding import Binding
from statelint.source.terms import Term
from statelint.source.text import Text

MAX_HOPS = 20
"""Names that lead to names are followed this far."""

MAX_TERMS = 5
"""Sums and products of more terms are not looked through."""

MAX_POWER = 128
"""Powers of larger numbers are not reckoned."""


class Scope:
    """A module or a function.

    Args:
        name: dotted, with the functions and classes around it; empty for the module.
        bind: gives what is bound in it, when that is asked for.
        parent: where names are looked up next; classes are no such place.
        absolute: puts an import in the place of a module-level name.
    """

    def __init__(
        self,
        name: str,
        bind: Callable[[], Mapping[str, Binding]],
        absolute: Callable[[str], str],
        parent: Scope | None = None,
        identity: str = "",
    ) -> None:
        self.name = name
        self._bind = bind
        self.parent = parent
        self.identity = identity or name
        self._absolute = absolute

    @functools.cached_property
    def bindings(self) -> Mapping[str, Binding]:
        """What is bound in it."""
        return self._bind()

    def find(self, name: str) -> tuple[Binding, Scope] | None:
        """The binding of a simple name, and the scope that holds it."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.bindings:
                return scope.bindings[name], scope
            scope = scope.parent
        return None

    def absolute(self, name: str) -> str:
        """A dotted name from the root; empty when its head is a local value."""
        for _ in range(MAX_HOPS):
            head, dot, rest = name.partition(".")
            found = self.find(head)
            if found is None:
                return self._absolute(name)
            term = found[0].term
            if term is None or term.form != "name" or term.name == head:
                return ""
            name = f"{term.name}{dot}{rest}"
        return ""

    def follow(self, term: Term) -> tuple[Term, Scope]:
        """The expression that a name stands for, as far as that is certain, and the scope to read it in."""
        scope = self
        for _ in range(MAX_HOPS):
            if term.form != "name" or "." in term.name:
                break
            found = scope.find(term.name)
            if found is None or found[0].term is None:
                break
            term, scope = found[0].term, found[1]
        return term, scope

    # What an expression is.

    def express(self, term: Term, text: Text) -> Expression:
        """An expression as rules see it."""
        at = text.at(term.node)
        kind, number = self.kind(term)
        return Expression(
            text=text.read(at),
            at=at,
            kind=kind,
            number=number,
            weak=not kind.is_number and self.is_weak(term),
            buffer=self.buffer(term),
            numbers=self._numbers(term) if self.is_weak(term) else Kind.UNKNOWN,
            last_argument=self._last_argument(term, text),
            fresh=self.fresh(term),
        )

    def kind(self, term: Term) -> tuple[Kind, int | float | None]:
        """What it stands for, and the number it is if it is a literal one."""
        term, scope = self.follow(term)
        if term.form in _LITERALS:
            return _LITERALS[term.form], None
        match term.form:
            case "number":
                return _number_kind(term.number), _real(term)
            case "name":
                return (Kind.FLOAT if scope.absolute(term.name) in arrays.CONSTANTS else Kind.UNKNOWN), None
            case "operation":
                return scope._operation_kind(term), scope._reckoned(term)
            case "choice":
                first, second = (scope.kind(part.value)[0] for part in term.parts)
                return (first if first is second else Kind.UNKNOWN), None
            case "call":
                return scope._call_kind(term)
        return Kind.UNKNOWN, None

    def _operation_kind(self, term: Term) -> Kind:
        kinds = [self.kind(part.value)[0] for part in term.parts]
        if not term.name or not all(kind in (Kind.INT, Kind.FLOAT) for kind in kinds):
            return Kind.UNKNOWN
        return Kind.FLOAT if Kind.FLOAT in kinds or term.name == "/" else Kind.INT

    def _reckoned(self, term: Term, depth: int = 0) -> int | None:
        """The value of an operation on literal ints, of a few of them."""
        term, scope = self.follow(term)
        if term.form == "number" and type(term.number) is int:
            return term.number
        if term.form != "operation" or depth > MAX_TERMS:
            return None
        numbers = [scope._reckoned(part.value, depth + 1) for part in term.parts]
        match term.name, numbers:
            case "-", [int(only)]:
                return -only
            case "+", [int(left), int(right)]:
                return left + right
            case "-", [int(left), int(right)]:
                return left - right
            case "*", [int(left), int(right)]:
                return left * right
            case "**", [int(left), int(right)] if 0 <= right < MAX_POWER and abs(left) < MAX_POWER:
                return int(left**right)
        return None

    def _call_kind(self, term: Term) -> tuple[Kind, int | float | None]:
        name = self.absolute(term.name)
        if name in arrays.MAPS and self._maps_to_numpy(term):
            return Kind.NUMPY, None
        if name in arrays.MAKERS:
            return (Kind.UNKNOWN if name in arrays.MAPS or name.startswith("optax.") else Kind.ARRAY), None
        kind = arrays.CALL_KINDS.get(name, Kind.UNKNOWN)
        if name in ("int", "float") and len(term.parts) == 1:
            return kind, _real(term.parts[0].value)
        return kind, None

    def _maps_to_numpy(self, call: Term) -> bool:
        """`jax.tree.map(np.zeros_like, ...)`: nothing of it is on a device."""
        function = next(iter(call.positional), None)
        if function is not None and function.form == "lambda":
            function = function.parts[0].value
        return function is not None and self.absolute(function.name).startswith("numpy.")

    def fresh(self, term: Term) -> str | None:
        """What never equals another of its making, where this surely makes one."""
        if term.form == "name":
            return None
        if term.form == "lambda":
            return "a lambda"
        name = self.absolute(term.name) if term.form == "call" else ""
        if name == "float" and len(term.parts) == 1 and term.parts[0].value.name.lower() == "nan":
            return "NaN"
        if name.startswith("optax.") and name.rpartition(".")[2] in arrays.OPTIMIZERS:
            return "an optax transformation"
        return arrays.FRESH.get(name)

    def _numbers(self, term: Term) -> Kind:
        """What the numbers of a weak expression are."""
        term, scope = self.follow(term)
        kind, _ = scope.kind(term)
        if kind.is_number:
            return kind
        if term.form == "call" and scope.absolute(term.name) in arrays.FLOATS:
            return Kind.FLOAT
        if term.form == "operation" and not all(scope.is_weak(part.value) for part in term.parts):
            return Kind.FLOAT  # of ints and a float
        kinds = {scope._numbers(part) for part in scope._weak_parts(term)}
        if kinds and kinds <= {Kind.INT, Kind.FLOAT}:
            return Kind.FLOAT if Kind.FLOAT in kinds or term.name == "/" else Kind.INT
        return Kind.UNKNOWN

    def _weak_parts(self, term: Term) -> list[Term]:
        """The parts that a weak expression has its type from."""
        if term.form != "call":
            return [part.value for part in term.parts]
        name = self.absolute(term.name)
        given = [call for position, word in arrays.WEAK_OF.get(name, ()) if (call := term.argument(position, word))]
        if name in arrays.SEQUENCES:
            return [part.value for sequence in given for part in sequence.parts]
        return given

    def _last_argument(self, term: Term, text: Text) -> Location | None:
        if term.form != "call" or not term.parts:
            return None
        name = self.absolute(term.name)
        takes = name in arrays.DTYPE_AT and not self._has_dtype(term, name)
        return text.at(term.parts[-1].value.node) if takes else None

    def is_weak(self, term: Term) -> bool:
        """Surely a Python number or a weakly typed array."""
        term, scope = self.follow(term)
        match term.form:
            case "number":
                return not isinstance(term.number, bool)
            case "name":
                return scope.absolute(term.name) in arrays.CONSTANTS
            case "operation":
                weak = [scope.is_weak(part.value) for part in term.parts]
                return bool(term.name) and (all(weak) or scope._is_widened(term, weak))
            case "choice":
                return all(scope.is_weak(part.value) for part in term.parts)
            case "call":
                return scope._is_weak_call(term)
        return False

    def _is_widened(self, term: Term, weak: Sequence[bool]) -> bool:
        """An int array that meets a Python float, or a weak one: a weak float. Each part is asked but once."""
        parts = [part.value for part in term.parts]
        others = [part for part, is_weak in zip(parts, weak, strict=True) if not is_weak]
        if not others or not all(self._is_int_array(other) for other in others):
            return False
        return any(self._numbers(part) is Kind.FLOAT for part, is_weak in zip(parts, weak, strict=True) if is_weak)

    def _is_int_array(self, term: Term, depth: int = 0) -> bool:
        """Surely a strong array of ints."""
        term, scope = self.follow(term)
        if term.form == "operation":
            inner = [part.value for part in term.parts]
            ints = [depth < MAX_TERMS and scope._is_int_array(each, depth + 1) for each in inner]
            is_int = any(ints) and all(
                ok or scope.kind(each)[0] is Kind.INT for ok, each in zip(ints, inner, strict=True)
            )
            return term.name not in ("", "/") and is_int
        name = scope.absolute(term.name) if term.form == "call" else ""
        if name in arrays.INTS:
            return True
        dtype = term.keyword("dtype")
        if dtype is not None:
            return name in arrays.MAKERS and scope.absolute(dtype.name) in {*arrays.INTS, "int"}
        kinds = [scope.kind(each)[0] for each in term.positional]
        counts = kinds == [Kind.UNKNOWN] or all(kind is Kind.INT for kind in kinds)
        return name == "jax.numpy.arange" and bool(kinds) and not term.starred and counts

    def _is_weak_call(self, call: Term) -> bool:
        name = self.absolute(call.name)
        if name in ("int", "float"):
            return True
        if name not in arrays.WEAK_OF or call.starred or self._has_dtype(call, name):
            return False
        given = [call.argument(position, keyword) for position, keyword in arrays.WEAK_OF[name]]
        if any(term is None for term in given):
            return False
        if name in arrays.SEQUENCES:
            given = [part.value for term in given if term is not None for part in term.parts]
        return bool(given) and all(term is not None and self.is_weak(term) for term in given)

    @staticmethod
    def _has_dtype(call: Term, name: str) -> bool:
        at = arrays.DTYPE_AT.get(name)
        return call.keyword("dtype") is not None or (at is not None and len(call.positional) > at)

    # Whose buffer it holds.

    def buffer(self, term: Term) -> str | None:
        """A name for the buffer or tree of buffers that it surely holds; None for a new or unknown one."""
        term = self._strip(term)
        if term.form == "subscript" and term.inner is not None and is_params(term.name):
            base = term.inner.name
            return f"{self._owner(base)}[{term.name}]" if base else None
        if term.form != "name":
            return None
        head, _, rest = term.name.partition(".")
        found = self.find(head)
        if found is None:
            return None
        binding, scope = found
        if rest:
            return f"{scope.identity}:{term.name}" if is_params(term.last) else None
        if binding.term is None:
            holds = is_params(head) or (binding.parameter and binding.annotation in _ARRAY_NAMES)
            return f"{scope.identity}:{head}" if holds else None
        inner = scope._strip(binding.term)
        if inner.form in ("name", "subscript"):
            return scope.buffer(inner)
        if scope._is_on_host(inner):
            return None
        if scope._holds_arrays(inner) or (inner.form == "call" and is_params(head)):
            return f"{scope.identity}:{head}"
        return None

    def _is_on_host(self, term: Term) -> bool:
        """NumPy arrays, which have no buffer of a device."""
        is_fetched = term.form == "call" and self.absolute(term.name) == "jax.device_get"
        return is_fetched or self.kind(term)[0] is Kind.NUMPY

    def _owner(self, name: str) -> str:
        found = self.find(name.partition(".")[0])
        return f"{found[1].identity if found else ''}:{name}"

    def _strip(self, term: Term) -> Term:
        """Without the functions around it that give back the same buffer."""
        for _ in range(MAX_HOPS):
            if term.form == "call":
                inner = self._same_buffer(term)
            elif term.form == "subscript" and term.name == ":":
                inner = term.inner
            else:
                return term
            if inner is None:
                return term
            term = inner
        return term

    def _same_buffer(self, call: Term) -> Term | None:
        name = self.absolute(call.name)
        positional = call.positional
        if name in arrays.SAME_BUFFER and len(call.parts) == 1 and positional:
            return positional[0]
        if name in arrays.MAPS and len(positional) == 2 and len(call.parts) == 2:
            function = positional[0]
            body = function.parts[0].value if function.form == "lambda" and function.parts else None
            if body is not None and body.form == "name" and body.name == function.name:
                return positional[1]
        return None

    def _holds_arrays(self, term: Term) -> bool:
        """Surely a jax array, or a container with one in it that is not shared otherwise."""
        term, scope = self.follow(term)
        match term.form:
            case "call":
                made = scope.absolute(term.name) in arrays.MAKERS and not scope._is_on_host(term)
                return made or (term.last == "init" and bool(term.parts))
            case "dict" | "tuple" | "list":
                return any(scope._holds_arrays(part.value) for part in term.parts)
        return False

    def holds_arrays(self, term: Term) -> bool:
        """Surely an array, or a tree of arrays."""
        return self.buffer(term) is not None or self._holds_arrays(term)


def _number_kind(number: int | float | complex | None) -> Kind:
    return _NUMBERS.get(type(number), Kind.UNKNOWN)


def _real(term: Term) -> int | float | None:
    """The value of a literal number; a complex one has no place among them."""
    return None if isinstance(term.number, complex) else term.number


_NUMBERS: dict[type, Kind] = {bool: Kind.BOOL, int: Kind.INT, float: Kind.FLOAT, complex: Kind.COMPLEX}

_LITERALS: dict[str, Kind] = {
    "string": Kind.STRING,
    "none": Kind.NONE,
    "lambda": Kind.CALLABLE,
    "tuple": Kind.TUPLE,
    "list": Kind.LIST,
    "dict": Kind.DICT,
    "set": Kind.SET,
}


_ARRAY_NAMES = frozenset(
    {
        *arrays.TREE_ANNOTATIONS,
        *(name for name, kind in arrays.ANNOTATIONS.items() if kind is Kind.ARRAY),
        *arrays.ARRAY_SHAPES,
    }
)
