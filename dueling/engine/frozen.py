"""What a compilation freezes of the world around a text, and when it must be made anew."""

import dis
import threading
from collections.abc import Callable, Hashable
from functools import cache, partial
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
from numba import njit


def compilable(f: Callable) -> Callable:
    """Mark a helper function that compiled texts may call by its name.

    >>> @compilable
    ... def half(u):
    ...     return u / 2
    >>> half(3)
    1.5
    """
    f.compilable = True
    return f


def foreign(thing: Callable) -> bool:
    """Whether a text or a class is not of this package."""
    return str(thing.__module__).partition(".")[0] != __package__.partition(".")[0]


_lock = threading.RLock()
_products: dict = {}  # key -> [(what was made, [(a place that it read, the value there)])]


def kept(key: Hashable, make: Callable) -> Any:
    """What ``make`` made for this key; made anew where a place that it read has changed."""
    product = current(key)
    if product is None:
        with _lock:
            product = current(key)
            if product is None:
                product, places = make()
                _products.setdefault(key, []).append((product, places))
    return product


def current(key: Hashable) -> Any:
    """What was made for this key and still stands, or None."""
    for product, places in _products.get(key, ()):
        if all((now := place()) is then or _same(now, then) for place, then in places):
            return product
    return None


def _same(now, then) -> bool:
    if type(now) is not type(then):
        return False
    if type(now) is np.ndarray:
        return (now.dtype, now.shape, now.tobytes()) == (then.dtype, then.shape, then.tobytes())
    return isinstance(now, bool | int | float | str | tuple) and repr(now) == repr(then)


@cache
def _names(code: CodeType, instruction: str = "LOAD_GLOBAL") -> frozenset[str]:
    """The global names that a code object and its inner functions read."""
    inner = [_names(c, instruction) for c in code.co_consts if isinstance(c, CodeType)]
    reads = [i.argval for i in dis.get_instructions(code) if i.opname == instruction]
    return frozenset(reads).union(*inner)


def _around(f: FunctionType) -> list:
    """The places outside of a function that it reads: globals, cells, attributes of modules."""
    places = [partial(f.__globals__.get, name) for name in _names(f.__code__)]
    places += [partial(getattr, cell, "cell_contents", None) for cell in f.__closure__ or ()]
    modules = [vars(value) for place in places if isinstance(value := place(), ModuleType)]
    attributes = _names(f.__code__, "LOAD_ATTR") | _names(f.__code__, "LOAD_METHOD")
    return places + [partial(held.get, name) for held in modules for name in attributes]


def places(*functions: Callable) -> list:
    """All places that these functions and their helpers read, with the values there."""
    read, seen, todo = [], set(), list(functions)
    while todo:
        seen.add(f := todo.pop())
        for place in _around(f):
            value = place()
            read.append((place, value.copy() if type(value) is np.ndarray else value))
            if _is_helper(value) and value not in seen:
                todo.append(value)
    return read


def _is_helper(value) -> bool:
    return isinstance(value, FunctionType) and hasattr(value, "compilable")


def inlined(f: FunctionType, checked: bool) -> Callable:
    """The function for the compiler; the helpers that it calls are compiled functions too."""
    helpers = []

    def swapped(value):
        if not _is_helper(value) or value is f:
            return value
        try:
            helpers.append(kept((value, checked), lambda: (inlined(value, checked), places(value))))
        except RecursionError:
            such = "calls itself by way of its helpers; compiled=False runs it as plain Python"
            raise ValueError(f"{value.__name__} {such}.") from None
        return helpers[-1]

    names = [name for name in _names(f.__code__) if name in f.__globals__]
    names = f.__globals__ | {name: swapped(f.__globals__[name]) for name in names}
    cells = tuple(CellType(swapped(cell.cell_contents)) for cell in f.__closure__ or ())
    copy = FunctionType(f.__code__, names, f.__name__, f.__defaults__, cells or None)
    options = {"forceinline": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    function = njit(boundscheck=checked, **options)(copy if helpers else f)
    function.helpers = helpers
    return function
