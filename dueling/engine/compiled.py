"""``run(text, *objects)`` does what ``text(*objects)`` does, at the speed of C.

With ``blocks`` and ``frozen`` beside it, the only module that knows numba. An object here is any
plain Python instance whose fields are numbers, NumPy arrays, a generator and other such objects.
Its fields are laid into a block of 8-byte words (an array as its address and shape, a generator as
the address of NumPy's ``bitgen_t``, an object as the address of its own block), its methods are
compiled against that layout, and after the run the numbers are written back, so that compiled and
plain runs leave the same objects behind. Nothing is reference-counted inside: the Python side owns
all memory. Assigning an array to a field copies it; a read-only array stays so.

A compilation freezes what a text reads from outside (globals, closures, attributes of modules). It
remembers these values, and a run that finds others compiles anew. Where a text or a class from
outside of this package takes part, the indices of the whole run are checked; what numba need not
check is refused there, and so are functions of NumPy that are not known to be safe.

What stays different: compiled whole numbers have 64 bits; compiled ``math`` does not check its
domain, ``log(0)`` is -inf; and ``a.sum()`` adds from left to right, where NumPy adds nine or more
numbers in another order, so that the last bit may differ (a loop is the same in both). The same
goes for ``x**2``, which is x * x when compiled, and for ``np.exp`` and its kin on single numbers;
products and ``math`` are the same in both.

Why not numba's own classes: with ``jitclass`` the games take 1.97 times as long, with ``structref``
2.07, with named tuples about 3, for the reference counts at each access (numba issue 4522). Once
those are free, this module can go.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.pool import ThreadPool

import numpy as np
from numba import config, njit, types
from numba.core import ir
from numba.core.errors import NumbaError, UnsupportedBytecodeError

from .blocks import Layout, attach, fields, kind, layout_of, pack, write_back
from .frozen import compilable, current, foreign, inlined, kept, places

__all__ = ["compilable", "fields", "kind", "run"]


def run(text: Callable, *objects) -> None:
    """``text(*objects)``, compiled; each object is an instance or a list of alike instances."""
    layouts = tuple(map(layout_of, objects))
    checked = foreign(text) or any(layout.foreign for layout in layouts)
    layouts = tuple(layout_of(o, True) for o in objects) if checked else layouts
    blocks: dict = {}
    addresses = tuple(pack(o, layout, blocks) for o, layout in zip(objects, layouts, strict=True))
    kernel = current((text, layouts)) or _apart(
        lambda: kept((text, layouts), lambda: _kernel(text, layouts, checked))
    )
    try:
        kernel(addresses)
    except ZeroDivisionError:
        raise ValueError(
            f"{_title(text, layouts)} divides by zero; a compiled run stops here, where NumPy's own"
            " numbers go on with inf or nan. Test the divisor first, or use compiled=False."
        ) from None
    finally:
        for items, layout, block in blocks.values():
            write_back(items, layout, block)


def _apart(make: Callable):
    """What ``make`` makes, in a thread of its own: Ctrl-C, half-way, would leave numba unusable."""
    with ThreadPool(1) as pool:
        return pool.apply(make)


def _kernel(text: Callable, layouts: tuple, checked: bool) -> tuple[Callable, list]:
    if config.DISABLE_JIT:
        raise ValueError("numba may not compile: unset NUMBA_DISABLE_JIT, or use compiled=False.")
    loop, attached = inlined(text, checked), attach(layouts)

    @njit(nogil=True, no_cfunc_wrapper=True)
    def kernel(addresses):
        loop(*attached(addresses))

    try:
        kernel.compile((types.UniTuple(types.int64, len(layouts)),))
    except (NumbaError, UnsupportedBytecodeError) as error:
        raise ValueError(
            f"{_title(text, layouts)} cannot be compiled ({_reason(error, layouts)}); "
            "compiled=False runs it as plain Python."
        ) from error
    methods = [(layout.cls, layout.methods.values()) for layout in _inside(layouts)]
    for owner, functions in [*methods, (text, [loop])]:
        _refuse_losses(functions)
        if foreign(owner):
            _refuse_unchecked(functions)
    return kernel, places(text)


def _title(text: Callable, layouts: tuple) -> str:
    return f"{text.__name__} over {', '.join(str(layout) for layout in layouts)}"


def _reason(error: Exception, layouts: tuple) -> str:
    for layout in _inside(layouts):
        for name, f in layout.texts.items():
            if "super" in f.__code__.co_names:
                return f"{name} of {layout} calls super(), which only plain Python has"
    lines = str(error).strip().splitlines()
    for line in lines:
        if called := re.match(r" >>> (.+)", line):
            return f"numba has no {called[1]}"
        if not re.match(r"\s*$|.*Failed in|.*Resolution failure|No implementation", line):
            return line.strip()
    return lines[0]


def _inside(layouts: Iterable) -> Iterator[Layout]:
    """The layouts of objects, of the items of lists, and of the objects that fields hold."""
    for layout in (getattr(layout, "item", layout) for layout in layouts):
        yield layout
        yield from _inside(f for f in layout.fields.values() if isinstance(f, Layout))


_LOSSY = {types.int64: (types.Float, "a whole number"), types.boolean: (types.Number, "a truth")}


def _refuse_losses(functions: Iterable) -> None:
    """Refuse a compiled function that assigns what a field cannot hold: numba would truncate it."""
    for f in functions:
        for types_of, assignment in _assignments(f):
            holder, value = types_of[assignment.target.name], types_of[assignment.value.name]
            field = holder.fields[assignment.attr] if isinstance(holder, Layout) else None
            refused, what = _LOSSY.get(field, ((), ""))
            if refused and isinstance(value, refused):
                raise ValueError(
                    f"field {assignment.attr!r} of {holder} is {what}, but {f.__name__} assigns a "
                    f"{value} to it; set it in __init__ with its lasting type."
                )
        _refuse_losses(f.helpers)


_UNCHECKED = {
    types.NumpyFlatType: "a.flat",
    types.ArrayCTypes: "a.ctypes",
    types.CPointer: "a pointer",
    types.ExternalFunctionPointer: "a function of C",
    types.Dispatcher: "a function that is compiled apart",
}
#: Functions of NumPy and methods of arrays whose text in numba compares indices and shapes.
_CHECKED = {
    np.all, np.any, np.arange, np.argmax, np.argmin, np.argsort, np.array, np.array_equal,
    np.asarray, np.copy, np.count_nonzero, np.cumprod, np.cumsum, np.diff, np.dot, np.empty,
    np.empty_like, np.eye, np.finfo, np.flatnonzero, np.flip, np.full, np.full_like, np.identity,
    np.iinfo, np.linspace, np.max, np.mean, np.median, np.min, np.nonzero, np.ones, np.ones_like,
    np.outer, np.prod, np.ravel, np.reshape, np.round, np.searchsorted, np.shape, np.size, np.sort,
    np.std, np.sum, np.take, np.transpose, np.unique, np.var, np.vdot, np.where, np.zeros,
    np.zeros_like, np.linalg.det, np.linalg.inv, np.linalg.norm, np.linalg.solve,
}  # fmt: skip
_METHODS = {
    "all", "any", "argmax", "argmin", "argsort", "astype", "copy", "cumprod", "cumsum", "dot",
    "fill", "flatten", "max", "mean", "min", "nonzero", "prod", "ravel", "reshape", "sort", "std",
    "sum", "take", "transpose", "var", "view",
}  # fmt: skip


def _refuse_unchecked(functions: Iterable) -> None:
    """Refuse a compiled function that reaches memory where numba need not check an index."""
    for f in functions:
        helpers = [types.Dispatcher(helper) for helper in f.helpers]
        for overload in f.overloads.values():
            about = overload.type_annotation
            uses = [_unchecked(held) for held in about.typemap.values() if held not in helpers]
            if what := next(filter(None, [*uses, *_written(about)]), None):
                raise ValueError(
                    f"{f.__name__} uses {what}, where an index need not be checked; write a[i] and "
                    "@compilable functions, or use compiled=False."
                )
        _refuse_unchecked(f.helpers)


def _unchecked(held: types.Type) -> str | None:
    """What a variable of this type is, if it may lead to memory where no index is checked."""
    if isinstance(held, types.BoundFunction):
        name = held.template.key[1] if isinstance(held.template.key, tuple) else held.template.key
        name = str(name).removeprefix("array.")
        return f"a.{name}" if isinstance(held.this, types.Array) and name not in _METHODS else None
    if not isinstance(held, types.Function):
        return _UNCHECKED.get(type(held))
    f = held.typing_key
    plain = getattr(f, "__module__", None) in ("builtins", "math") or isinstance(f, np.ufunc)
    return None if plain or f in _CHECKED else getattr(f, "__name__", str(f))


def _written(about) -> Iterator[str]:
    """What writes an array into another one, whose shape numba does not compare."""
    for step in (step for block in about.blocks.values() for step in block.find_exprs()):
        arguments = getattr(about.calltypes.get(step), "args", ())
        if step.op == "inplace_binop" and all(isinstance(one, types.Array) for one in arguments):
            yield "a += b or its kin with an array b"
        f = about.typemap[step.func.name] if step.op == "call" else None
        ufunc = getattr(f, "typing_key", None)
        if isinstance(ufunc, np.ufunc) and len(arguments) > ufunc.nin:
            yield f"{ufunc.__name__} with an array for its result"


def _assignments(f: Callable) -> Iterator:
    """Each assignment to an attribute in a compiled function, with the types of its variables."""
    for overload in f.overloads.values():
        about = overload.type_annotation
        for block in about.blocks.values():
            yield from ((about.typemap, step) for step in block.find_insts(ir.SetAttr))
