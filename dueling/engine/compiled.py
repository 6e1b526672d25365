"""``run(text, *objects)`` does what ``text(*objects)`` does, at the speed of C.

The only module that knows numba. An object here is any plain Python instance whose fields are
numbers, NumPy arrays and at most generators. Its fields are laid into a block of 8-byte words (an
array as its address and shape, a generator as the address of NumPy's ``bitgen_t``), its methods
are compiled against that layout, and after the run the numbers are written back, so that compiled
and plain runs leave the same objects behind. Nothing is reference-counted inside: the Python side
owns all memory. Assigning an array to a field copies it into the field's own memory.

A compilation freezes what a text reads from outside (globals, closures, attributes of modules). It
remembers these values, and a run that finds others compiles anew.

What stays different: compiled whole numbers have 64 bits; an index outside of its array is not
noticed; compiled ``math`` does not check its domain, ``log(0)`` is -inf; and ``a.sum()`` adds from
left to right, where NumPy adds nine or more numbers in another order, so that the last bit may
differ (a loop is the same in both). The same goes for ``x**2``, which is x * x when compiled, and
for ``np.exp`` and its kin on single numbers; products and ``math`` are the same in both.
"""

import ctypes
import dis
import inspect
import operator
import re
import struct
import threading
from collections.abc import Callable
from functools import cache, partial
from itertools import count
from multiprocessing.pool import ThreadPool
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

import numba
import numpy as np
from numba import njit, types
from numba.core import cgutils
from numba.core.errors import NumbaError, UnsupportedBytecodeError
from numba.core.typing.templates import AbstractTemplate, AttributeTemplate
from numba.extending import (
    infer_getattr,
    intrinsic,
    lower_builtin,
    lower_getattr_generic,
    lower_setattr_generic,
    models,
    overload,
    register_model,
)
from numba.np.arrayobj import populate_array


def compilable(f: Callable) -> Callable:
    """Marks a helper function that compiled texts may call by its name."""
    f.compilable = True
    return f


def run(text: Callable, *objects) -> None:
    """``text(*objects)``, compiled; each object is an instance or a list of alike instances."""
    layouts = tuple(_layout(o) for o in objects)
    blocks = [bytearray(_pack(o, layout)) for o, layout in zip(objects, layouts, strict=True)]
    kernel = _current((text, layouts)) or _apart(
        lambda: _kept((text, layouts), lambda: _kernel(text, layouts))
    )
    addresses = tuple(
        ctypes.addressof(ctypes.c_char.from_buffer(block)) if block else 0 for block in blocks
    )
    try:
        kernel(addresses)
    except ZeroDivisionError:
        raise ValueError(
            f"{_title(text, layouts)} divides by zero; a compiled run stops here, where NumPy's own"
            " numbers go on with inf or nan. Test the divisor first, or use compiled=False."
        ) from None
    finally:
        for o, layout, block in zip(objects, layouts, blocks, strict=True):
            _write_back(o, layout, block)


def _apart(make: Callable):
    """What ``make`` makes, in a thread of its own: Ctrl-C, half-way, would leave numba unusable."""
    with ThreadPool(1) as pool:
        return pool.apply(make)


def _kernel(text: Callable, layouts: tuple) -> tuple[Callable, list]:
    loop, attach = _compiled(text), _attach(layouts)

    @njit(nogil=True, no_cfunc_wrapper=True)
    def kernel(addresses):
        loop(*attach(addresses))

    try:
        kernel.compile((types.UniTuple(types.int64, len(layouts)),))
    except (NumbaError, UnsupportedBytecodeError) as error:  # the latter for super() since 3.12
        raise ValueError(
            f"{_title(text, layouts)} cannot be compiled ({_reason(error, layouts)}); "
            "compiled=False runs it as plain Python."
        ) from error
    return kernel, _places(text)


def _title(text: Callable, layouts: tuple) -> str:
    return f"{text.__name__} over {', '.join(str(layout) for layout in layouts)}"


def _reason(error: Exception, layouts: tuple) -> str:
    for layout in (getattr(layout, "item", layout) for layout in layouts):
        for name, f in layout.texts.items():
            if "super" in _names(f.__code__):
                return f"{name} of {layout} calls super(), which only plain Python has"
    lines = str(error).strip().splitlines()
    for line in lines:
        if called := re.match(r" >>> (.+)", line):
            return f"numba has no {called[1]}"
        if not re.match(r"\s*$|.*Failed in|.*Resolution failure|No implementation", line):
            return line.strip()
    return lines[0]


# --- what a compilation freezes -------------------------------------------------------------------

_lock = threading.RLock()
_made: dict = {}  # key -> [(what was made, [(a place that it read, the value there)])]


def _kept(key, make: Callable):
    """What ``make`` made for this key; made anew where a place that it read has changed."""
    found = _current(key)
    if found is None:
        with _lock:
            found = _current(key)
            if found is None:
                found, places = make()
                _made.setdefault(key, []).append((found, places))
    return found


def _current(key):
    for made, places in _made.get(key, ()):
        if all((now := place()) is then or _same(now, then) for place, then in places):
            return made
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


def _places(*functions: Callable) -> list:
    """All places that these functions and their helpers read, with the values there."""
    found, seen, todo = [], set(), list(functions)
    while todo:
        seen.add(f := todo.pop())
        for place in _around(f):
            value = place()
            found.append((place, value.copy() if type(value) is np.ndarray else value))
            if _is_helper(value) and value not in seen:
                todo.append(value)
    return found


def _is_helper(value) -> bool:
    return isinstance(value, FunctionType) and hasattr(value, "compilable")


_inlined = njit(forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def _compiled(f: FunctionType) -> Callable:
    """The function for the compiler; the helpers that it calls are compiled functions too."""

    def swapped(value):
        helper = _is_helper(value) and value is not f
        return _kept(value, lambda: (_compiled(value), _places(value))) if helper else value

    if not any(_is_helper(place()) for place in _around(f)):
        return _inlined(f)
    names = [name for name in _names(f.__code__) if name in f.__globals__]
    names = f.__globals__ | {name: swapped(f.__globals__[name]) for name in names}
    cells = tuple(CellType(swapped(cell.cell_contents)) for cell in f.__closure__ or ())
    copy = FunctionType(f.__code__, names, f.__name__, f.__defaults__, cells or None)
    return _inlined(copy)


# --- the layout of an object ----------------------------------------------------------------------


class Layout(types.Type):
    """The numba type of an instance: which field is at which word, and the compiled methods."""

    serial = count()

    def __init__(self, cls: type, fields: dict):
        self.cls, self.fields, self.texts = cls, fields, _texts(cls)
        self.methods = {name: _compiled(f) for name, f in self.texts.items()}
        self.at, self.words, self.format = {}, 0, ""
        for name, field in fields.items():
            self.at[name] = self.words
            words = 1 + (field.ndim if isinstance(field, types.Array) else 0)
            self.words += words
            self.format += "d" if field == types.float64 else "q" * words
        back = {types.boolean: bool, types.int64: int, types.float64: float}
        kept = [(name, back[field]) for name, field in fields.items() if field in back]
        self.numbers = [(name, self.at[name], what) for name, what in kept]
        super().__init__(name=f"{cls.__name__}.{next(self.serial)}")

    def __str__(self):
        return self.cls.__name__


class Row(types.Type):
    """The numba type of a list of instances of one layout."""

    def __init__(self, item: Layout):
        self.item = item
        super().__init__(name=f"list of {item.name}")


def _texts(cls: type) -> dict:
    """The methods of a class by name, as they are now."""
    found = inspect.getmembers(cls, inspect.isfunction)
    return {name: f for name, f in found if not name.startswith("__")}


@cache
def _constants(cls: type) -> list[str]:
    """The names of the numbers that a class holds for all of its instances."""
    names = dict.fromkeys(name for base in reversed(cls.__mro__) for name in vars(base))
    numbers = [name for name in names if type(getattr(cls, name, None)) in (bool, int, float)]
    return [name for name in numbers if not name.startswith("__")]


def fields(o: Any) -> dict:
    """Every field of the object by name: its class's numbers as they are now, its own values."""
    cls = type(o)
    if not (shared := _constants(cls)):
        return vars(o)
    return {**{name: getattr(cls, name) for name in shared}, **vars(o)}


_KINDS = {np.float64: float, np.int64: int, np.int32: int, np.bool_: bool}


def kind(value: Any) -> object:
    """What a field's type is to the compiler: equal kinds share one compilation."""
    if type(value) is np.ndarray:
        return (value.dtype, value.ndim)
    return _KINDS.get(type(value), type(value))


def _shape(o) -> tuple:
    """The key of an object's layout: its class, and the names and kinds of its fields."""
    own = fields(o)
    arrays = [kind(value) for value in own.values() if type(value) is np.ndarray]
    return (type(o), *own, *_kinds(*map(type, own.values())), *arrays)


@cache
def _kinds(*found: type) -> tuple:
    return tuple(_KINDS.get(what, what) for what in found)


def _layout(o) -> types.Type:
    if isinstance(o, list):
        if len(alike := {_shape(item) for item in o}) != 1:
            raise ValueError(f"a list of machines holds {len(alike)} kinds; all must be alike.")
        return Row(_layout(o[0]))
    return _kept(_shape(o), lambda: _new_layout(o))


def _new_layout(o) -> tuple[Layout, list]:
    cls = type(o)
    layout = Layout(cls, {name: _numba_type(o, name, value) for name, value in fields(o).items()})
    for name in layout.methods:
        _lower_method(name)
    methods = [(partial(getattr, cls, name, None), f) for name, f in layout.texts.items()]
    return layout, methods + _places(*layout.texts.values())


_SIMPLE = {bool: types.boolean, int: types.int64, float: types.float64}
_SIMPLE[np.random.Generator] = types.npy_rng


def _numba_type(o, name: str, value) -> types.Type:
    if kind(value) in _SIMPLE:
        return _SIMPLE[kind(value)]
    if type(value) is np.ndarray and value.dtype in (np.bool_, np.int64, np.float64):
        return types.Array(numba.from_dtype(value.dtype), value.ndim, "C")
    raise ValueError(
        f"field {name!r} of {type(o).__name__} is a {_said(value)}; a compiled object holds"
        " numbers and arrays of bool, int64 or float64. compiled=False runs it as plain Python."
    )


def _said(value) -> str:
    return f"{value.dtype} array" if type(value) is np.ndarray else type(value).__name__


_bitgen = ctypes.pythonapi.PyCapsule_GetPointer
_bitgen.restype, _bitgen.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)


def _words(o) -> list:
    words = []
    for name, value in fields(o).items():
        what = type(value)
        if what is np.ndarray:
            words.append(_address(o, name, value) if value.size else 0)
            words.extend(value.shape)
        elif what is np.random.Generator:
            words.append(_bitgen(value.bit_generator.capsule, b"BitGenerator"))
        else:
            words.append(int(value) if what is np.bool_ else value)
    return words


def _address(o, name: str, array: np.ndarray) -> int:
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(array))
    except (TypeError, ValueError, BufferError):
        raise ValueError(
            f"array {name!r} of {type(o).__name__} is read-only or not in C order; "
            "np.array(a, order='C') makes a copy that is neither."
        ) from None


def _pack(o, layout) -> bytes:
    if isinstance(o, list):
        return b"".join(_pack(item, layout.item) for item in o)
    try:
        return struct.pack(layout.format, *_words(o))
    except struct.error:
        raise ValueError(
            f"a whole number among the fields of {layout} has more than 64 bits; "
            "compiled=False runs it as plain Python."
        ) from None


def _write_back(o, layout, block) -> None:
    if isinstance(o, list):
        size = 8 * layout.item.words
        for i, item in enumerate(o):
            _write_back(item, layout.item, block[i * size : (i + 1) * size])
        return
    words, own = struct.unpack(layout.format, block), vars(o)
    for name, word, what in layout.numbers:
        value = what(words[word])
        if name in own or value != getattr(type(o), name):
            own[name] = value


# --- how compiled code reads and writes a block ---------------------------------------------------

for _type in (Layout, Row):

    @register_model(_type)
    class _Model(models.StructModel):
        def __init__(self, dmm, fe_type):
            super().__init__(dmm, fe_type, [("block", types.intp)])


def _pointer(context, builder, address, word: int, ty):
    address = builder.add(address, context.get_constant(types.intp, 8 * word))
    return builder.inttoptr(address, context.get_value_type(ty).as_pointer())


def _load(context, builder, address, word: int, ty=types.intp):
    return builder.load(_pointer(context, builder, address, word, ty))


def _fixed(context, builder, address, word: int, ty=types.intp):
    """A word that no run changes, such as an array's address: loaded once where that is enough."""
    load = _load(context, builder, address, word, ty)
    load.set_metadata("invariant.load", builder.module.add_metadata([]))
    return load


def _block(context, builder, ty, value):
    return cgutils.create_struct_proxy(ty)(context, builder, value=value).block


def _object(context, builder, ty, block):
    proxy = cgutils.create_struct_proxy(ty)(context, builder)
    proxy.block = block
    return proxy._getvalue()


@infer_getattr
class _Attributes(AttributeTemplate):
    key = Layout

    def generic_resolve(self, layout, name):
        if name in layout.fields:
            return layout.fields[name]
        if name not in layout.methods:
            return None
        method = types.Dispatcher(layout.methods[name])

        class Method(AbstractTemplate):
            key = (Layout, name)

            def generic(self, args, kws):
                return method.get_call_type(self.context, (layout, *args), kws).as_method()

        return types.BoundFunction(Method, layout)


@cache
def _lower_method(name: str) -> None:
    @lower_builtin((Layout, name), Layout, types.VarArg(types.Any))
    def call(context, builder, sig, args):
        method = context.get_function(types.Dispatcher(sig.args[0].methods[name]), sig)
        context.add_linking_libs(getattr(method, "libs", ()))
        return method(builder, args)


@lower_getattr_generic(Layout)
def _get_field(context, builder, layout, value, name):
    block = _block(context, builder, layout, value)
    field, word = layout.fields[name], layout.at[name]
    if field == types.npy_rng:
        return _generator(context, builder, _fixed(context, builder, block, word))
    if isinstance(field, types.Array):
        return _array(context, builder, field, block, word)
    if field == types.boolean:
        flag = _load(context, builder, block, word, types.int64)
        return builder.trunc(flag, context.get_value_type(types.boolean))
    return _load(context, builder, block, word, field)


@lower_setattr_generic(Layout)
def _set_field(context, builder, sig, args, name):
    layout, value = sig.args[0], args[1]
    field = layout.fields[name]
    if isinstance(field, types.Array):
        own = _get_field(context, builder, layout, args[0], name)
        context.compile_internal(builder, _copy, types.void(field, field), (own, value))
        return
    if field == types.boolean:
        field, value = types.int64, builder.zext(value, context.get_value_type(types.int64))
    block = _block(context, builder, layout, args[0])
    builder.store(value, _pointer(context, builder, block, layout.at[name], field))


def _copy(own, given):
    if own.shape != given.shape:
        raise ValueError("a compiled field was assigned an array of another shape.")
    for i in range(own.size):  # compiles faster than own[...] = given
        own.flat[i] = given.flat[i]


def _array(context, builder, ty, block, word: int):
    array, item = context.make_array(ty)(context, builder), context.get_data_type(ty.dtype)
    shape = [_fixed(context, builder, block, word + 1 + d) for d in range(ty.ndim)]
    strides = [context.get_constant(types.intp, context.get_abi_sizeof(item))]
    for n in reversed(shape[1:]):
        strides.insert(0, builder.mul(strides[0], n))
    data = builder.inttoptr(_fixed(context, builder, block, word), item.as_pointer())
    populate_array(array, data, shape, strides, strides[-1], meminfo=None)
    return array._getvalue()


def _generator(context, builder, address):
    """NumPy's generator from its ``bitgen_t``: {state, next_uint64, next_uint32, next_double}."""
    bits = cgutils.create_struct_proxy(types.npy_bitgen)(context, builder)
    bits.parent = cgutils.get_null_value(bits.parent.type)
    bits.state_address = bits.bit_generator = address
    parts = ("state", "fnptr_next_uint64", "fnptr_next_uint32", "fnptr_next_double")
    for word, part in enumerate(parts):
        setattr(bits, part, _fixed(context, builder, address, word, types.uintp))
    rng = cgutils.create_struct_proxy(types.npy_rng)(context, builder)
    rng.bit_generator = bits._getvalue()
    rng.meminfo = cgutils.get_null_value(rng.meminfo.type)
    rng.parent = cgutils.get_null_value(rng.parent.type)
    return rng._getvalue()


@intrinsic
def _item(context, row, i):
    def codegen(context, builder, sig, args):
        size = context.get_constant(types.intp, 8 * row.item.words)
        block = _block(context, builder, row, args[0])
        block = builder.add(block, builder.mul(args[1], size))
        return _object(context, builder, row.item, block)

    return row.item(row, types.intp), codegen


@overload(operator.getitem)
def _row_getitem(row, i):
    if isinstance(row, Row):
        return lambda row, i: _item(row, i)


def _attach(layouts: tuple):
    together = types.Tuple(layouts)

    @intrinsic
    def attach(context, addresses):
        def codegen(context, builder, sig, args):
            blocks = (builder.extract_value(args[0], i) for i in range(len(layouts)))
            made = [
                _object(context, builder, layout, block)
                for layout, block in zip(layouts, blocks, strict=True)
            ]
            return context.make_tuple(builder, together, made)

        return together(addresses), codegen

    return attach
