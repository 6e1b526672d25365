"""What a reader's text draws from: the run's own generator, or chance that nobody can repeat."""

import dis
import inspect
import random
import re
import sys
import sysconfig
from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, partial
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from .frozen import foreign

OWN = "draw from the rng that a machine is given, or a run cannot be repeated"
SOURCES = (random.Random, np.random.Generator, np.random.RandomState, np.random.BitGenerator)
LIBRARIES = tuple(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib"))


def shared() -> tuple:
    """The state of the random numbers that all of Python shares."""
    kind, keys, *rest = np.random.get_state()
    return random.getstate(), kind, keys.tobytes(), *rest


def refuse_shared(*things: Any) -> None:
    """Refuse texts and objects that name any other chance, even where they reach it late.

    From each thing on: the helpers of a text, the methods and fields of an object, closures.
    """
    seen, todo = {}, list(things)
    while todo:
        thing = todo.pop()
        if id(thing) in seen:
            continue
        seen[id(thing)] = thing
        for words, value in _around(thing):
            if words and _is_chance(value):
                raise ValueError(f"{thing.__qualname__} draws from {words}; {OWN}.")
            todo.append(value)


def _is_chance(value: Any) -> bool:
    """Whether a value is a source of random numbers, one of its methods, or what makes sources."""
    if isinstance(getattr(value, "__self__", value), SOURCES):
        return True
    home = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
    return value is not np.random.Generator and bool(re.match(r"(numpy\.)?random\b", str(home)))


def _around(thing: Any) -> Iterable:
    """What a thing leads to; with the words for it, where it is a text that names it."""
    if isinstance(thing, FunctionType):
        return _named(thing) if foreign(thing) and not _is_library(thing) else ()
    return (("", value) for value in _held(thing))


def _held(thing: Any) -> Iterable:
    """The functions of a class, and what a container, a partial or another object holds."""
    if isinstance(thing, type):
        return () if _is_library(thing) else _methods(thing)
    if isinstance(thing, list | tuple | Mapping):
        return thing.values() if isinstance(thing, Mapping) else thing
    if isinstance(thing, partial) or hasattr(thing, "py_func"):
        return (getattr(thing, "func", None) or thing.py_func, *getattr(thing, "args", ()))
    odd = isinstance(thing, ModuleType) or _is_library(type(thing))
    return () if odd else (type(thing), *getattr(thing, "__dict__", {}).values())


def _methods(cls: type) -> list:
    """The functions of a class, properties among them."""
    members = (member for _, member in inspect.getmembers_static(cls))
    return [getattr(m, "__func__", None) or getattr(m, "fget", m) for m in members]


def _is_library(thing: Any) -> bool:
    """Whether a function or class belongs to Python or to an installed package."""
    home = sys.modules.get(thing.__module__)
    beside = thing.__module__ == "__main__" or hasattr(thing, "compilable") or not foreign(thing)
    return not beside and str(getattr(home, "__file__", "")).startswith(LIBRARIES)


def _named(f: FunctionType) -> Iterator[tuple[str, Any]]:
    """What a function's text names outside of itself, such as ``np.random.random``."""
    cells = (getattr(cell, "cell_contents", None) for cell in f.__closure__ or ())
    names = {"DEREF": dict(zip(f.__code__.co_freevars, cells))}
    return _read(f.__code__, names | {"GLOBAL": ChainMap({}, f.__globals__)})


def _read(code: CodeType, names: dict) -> Iterator[tuple[str, Any]]:
    """The values at the ends of chains of names, and those that local names stand for."""
    names, chain, source = names | {"FAST": {}}, ("", None), None
    for act, name in [*_steps(code), ("END", "")]:
        (words, value), (what, _, where) = chain, act.partition("_")
        if act == "IMPORT_FROM":
            chain = name, getattr(source, name, source)
            continue
        if where == "ATTR" and isinstance(value, ModuleType):
            chain = f"{words}.{name}", getattr(value, name, None)
            continue
        if value is not None:
            yield chain
        chain = name, names.get(where, {}).get(name) if what == "LOAD" else None
        if what == "STORE" and where in names:
            names[where][name] = value
        elif what == "IMPORT":
            source = sys.modules.get(name)
            chain = name, source
        elif what == "CODE":
            yield from _read(name, names)


@cache
def _steps(code: CodeType) -> list[tuple[str, Any]]:
    """What a code object does with names, act by act, such as ("LOAD_GLOBAL", "np")."""
    steps = []
    for step in dis.get_instructions(code):
        if isinstance(step.argval, CodeType):
            steps.append(("CODE", step.argval))
        elif step.opname not in ("EXTENDED_ARG", "PUSH_NULL"):
            op = step.opname.replace("METHOD", "ATTR")
            acts = re.findall("(?:LOAD|STORE)_(?:GLOBAL|DEREF|FAST|ATTR)|IMPORT_[A-Z]+", op)
            names = step.argval if isinstance(step.argval, tuple) else [step.argval]
            steps += zip(acts or ["OTHER"], names)
    return steps
