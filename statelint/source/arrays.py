"""What functions make of their arguments: a weak array, the same buffer, a new one. Measured facts only."""

from __future__ import annotations

from statelint.model.source import Kind

_NUMPY = "jax.numpy"
_LAX = "jax.lax"


def _under(module: str, *names: str) -> tuple[str, ...]:
    return tuple(f"{module}.{name}" for name in names)


_UNARY = (
    *("exp", "exp2", "expm1", "log", "log1p", "sqrt", "square", "cbrt", "abs", "negative"),
    *("sin", "cos", "tan", "sinh", "cosh", "tanh", "arcsin", "arccos", "arctan", "floor", "ceil", "sign"),
)
_OF_INTS = ("square", "abs", "negative", "sign")
_BINARY = ("maximum", "minimum", "add", "subtract", "multiply", "divide", "true_divide", "power", "mod")

WEAK_OF: dict[str, tuple[tuple[int, str], ...]] = {
    **dict.fromkeys(_under(_NUMPY, "asarray", "array"), ((0, "object"),)),
    "jax.numpy.full": ((1, "fill_value"),),
    "jax.lax.full": ((1, "fill_value"),),
    **dict.fromkeys(_under(_NUMPY, "zeros_like", "ones_like", "empty_like", "full_like"), ((0, "a"),)),
    **dict.fromkeys(_under(_NUMPY, "where"), ((1, "x"), (2, "y"))),
    "jax.lax.select": ((1, "on_true"), (2, "on_false")),
    **dict.fromkeys(_under(_NUMPY, "broadcast_to", "tile", "repeat", "reshape", "expand_dims"), ((0, "a"),)),
    **dict.fromkeys(_under(_NUMPY, "stack", "hstack", "vstack", "concatenate"), ((0, "arrays"),)),
    "jax.device_put": ((0, "x"),),
    "jax.numpy.clip": ((0, "arr"), (1, "min"), (2, "max")),
    **dict.fromkeys(_under(_NUMPY, *_UNARY), ((0, "x"),)),
    **dict.fromkeys(_under(_NUMPY, *_BINARY), ((0, "x1"), (1, "x2"))),
}
"""Functions whose result is weak when these arguments are all weak and no dtype is given."""

FLOATS: frozenset[str] = frozenset(
    _under(_NUMPY, *(name for name in _UNARY if name not in _OF_INTS), "divide", "true_divide")
)
"""Those of `WEAK_OF` that make floats of ints."""

SEQUENCES: frozenset[str] = frozenset(_under(_NUMPY, "stack", "hstack", "vstack", "concatenate"))
"""Those of `WEAK_OF` that take a sequence of arrays: weak when all in it are. Elsewhere a list is strong."""

DTYPE_AT: dict[str, int] = {
    **dict.fromkeys(_under(_NUMPY, "asarray", "array", "zeros_like", "ones_like", "empty_like"), 1),
    **dict.fromkeys(("jax.numpy.full", "jax.lax.full", "jax.numpy.full_like"), 2),
    **dict.fromkeys(_under(_NUMPY, "stack", "concatenate"), 2),
    **dict.fromkeys(_under(_NUMPY, "hstack", "vstack"), 1),
}
"""The position at which a function of `WEAK_OF` takes a dtype; all of these take `dtype=` too."""

SAME_BUFFER: dict[str, int] = {
    **dict.fromkeys(_under(_NUMPY, "asarray"), 0),
    **dict.fromkeys(("jax.device_put", "jax.lax.stop_gradient", "flax.nnx.clone"), 0),
}
"""Functions that give back the buffer of this argument, when they are given no other."""

MAPS: frozenset[str] = frozenset({"jax.tree.map", "jax.tree_util.tree_map", "jax.tree_map", "optax.tree.map"})
"""Functions that map a function over the leaves of a tree; the identity keeps the buffers."""

INTS: frozenset[str] = frozenset(
    _under(_NUMPY, *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)))
)
"""Dtypes of ints, and what makes an array of one."""

NO_CONTAINERS: frozenset[str] = frozenset(
    ("types.MappingProxyType", *_under("collections", "UserDict", "UserList", "Counter", "deque", "ChainMap"))
)
"""Containers that JAX does not look into: a leaf, and none that jit takes."""

DICTS: frozenset[str] = NO_CONTAINERS | {"dict", "collections.OrderedDict", "collections.defaultdict"}
"""Classes whose subclasses JAX does not look into either."""

_TREES = ("zeros_like", "ones_like", "full_like", "random_like", "cast", "scale", "add", "sub", "mul", "div")

MAKERS: frozenset[str] = frozenset(
    {
        *WEAK_OF,
        *MAPS,
        *_under(_NUMPY, "zeros", "ones", "empty", "arange", "linspace", "logspace", "eye", "identity"),
        *_under(_NUMPY, "copy", "diag", "ravel", "squeeze", "transpose", "sum", "mean", "dot", "matmul"),
        *_under(_NUMPY, "float16", "bfloat16", "float32", "float64", "bool_", "einsum"),
        *_under(_NUMPY, "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *_under("jax.random", "key", "PRNGKey", "normal", "uniform", "split", "fold_in", "randint"),
        *_under(_LAX, "broadcast", "iota", "broadcast_in_dim"),
        *_under("optax.tree", *_TREES),
        *_under("optax.tree_utils", *(f"tree_{name}" for name in _TREES)),
        "jax.nn.one_hot",
    }
)
"""Functions that surely give a jax array, or a tree of them."""

CONSTANTS: frozenset[str] = frozenset(
    {
        *_under(_NUMPY, "pi", "e", "inf", "nan", "euler_gamma"),
        *_under("numpy", "pi", "e", "inf", "nan", "euler_gamma"),
        *_under("math", "pi", "e", "inf", "nan", "tau"),
    }
)
"""Python floats by name."""

CALL_KINDS: dict[str, Kind] = {
    "int": Kind.INT,
    "float": Kind.FLOAT,
    "bool": Kind.BOOL,
    "complex": Kind.COMPLEX,
    "str": Kind.STRING,
    "tuple": Kind.TUPLE,
    "list": Kind.LIST,
    "sorted": Kind.LIST,
    "dict": Kind.DICT,
    "collections.OrderedDict": Kind.DICT,
    "collections.defaultdict": Kind.DICT,
    "set": Kind.SET,
    "functools.partial": Kind.CALLABLE,
    **dict.fromkeys(
        _under("numpy", "array", "asarray", "zeros", "ones", "empty", "full", "arange", "linspace", "eye"),
        Kind.NUMPY,
    ),
}
"""What calls of these give, besides jax arrays."""

FRESH: dict[str, str] = {
    "functools.partial": "a partial",
    "jax.tree_util.Partial": "a Partial",
    **dict.fromkeys(("jax.jit", "jax.vmap", "jax.grad", "jax.value_and_grad"), "a transformed function"),
}
"""Calls whose result never equals that of another such call."""

OPTIMIZERS: frozenset[str] = frozenset(
    (
        *("adam", "adamw", "adamax", "nadam", "sgd", "noisy_sgd", "rmsprop", "adagrad", "adafactor", "adabelief"),
        *("lamb", "lars", "lion", "radam", "yogi", "novograd", "fromage", "sm3", "rprop", "lbfgs", "chain"),
        *("multi_transform", "masked", "MultiSteps", "inject_hyperparams", "apply_if_finite"),
        *("constant_schedule", "cosine_decay_schedule", "exponential_decay", "linear_schedule", "join_schedules"),
        *("polynomial_schedule", "piecewise_constant_schedule", "warmup_cosine_decay_schedule"),
    )
)
"""What optax makes of closures: transformations and schedules, equal to nothing but themselves."""

ANNOTATIONS: dict[str, Kind] = {
    "int": Kind.INT,
    "float": Kind.FLOAT,
    "bool": Kind.BOOL,
    "complex": Kind.COMPLEX,
    "str": Kind.STRING,
    "None": Kind.NONE,
    **dict.fromkeys(("tuple", "typing.Tuple"), Kind.TUPLE),
    **dict.fromkeys(("list", *_under("typing", "List", "MutableSequence")), Kind.LIST),
    "collections.abc.MutableSequence": Kind.LIST,
    **dict.fromkeys(
        (
            *("dict", "collections.defaultdict", "collections.OrderedDict", "collections.abc.MutableMapping"),
            *_under("typing", "Dict", "DefaultDict", "OrderedDict", "MutableMapping"),
        ),
        Kind.DICT,
    ),
    **dict.fromkeys(("set", "collections.abc.MutableSet", *_under("typing", "Set", "MutableSet")), Kind.SET),
    **dict.fromkeys(("typing.Callable", "collections.abc.Callable"), Kind.CALLABLE),
    **dict.fromkeys(
        (
            *_under("chex", "Array", "ArrayDevice", "PRNGKey"),
            "jax.Array",
            "jax.numpy.ndarray",
            "jaxtyping.Array",
        ),
        Kind.ARRAY,
    ),
    **dict.fromkeys(("numpy.ndarray", "chex.ArrayNumpy", "numpy.typing.NDArray"), Kind.NUMPY),
}
"""What a field of this annotation holds."""

ARRAY_SHAPES: frozenset[str] = frozenset(
    (
        *_under("jaxtyping", "Float", "Int", "Integer", "UInt", "Bool", "Complex", "Num", "Real", "Inexact"),
        *_under("jaxtyping", "Shaped", "Key", "Float16", "BFloat16", "Float32", "Float64", "Int32"),
    )
)
"""jaxtyping's subscripted annotations: `Float[Array, "n"]`, `Float[np.ndarray, "n"]`."""

TREE_ANNOTATIONS: frozenset[str] = frozenset(
    {
        *("optax.Params", "optax.Updates", "chex.ArrayTree", "chex.ArrayDeviceTree", "jaxtyping.PyTree"),
        *("optax.base.Params", "optax._src.base.Params", "flax.core.FrozenDict", "flax.typing.VariableDict"),
        *("haiku.Params", "flax.core.frozen_dict.FrozenDict"),
    }
)
"""Annotations of parameters that hold arrays, or trees of them."""
