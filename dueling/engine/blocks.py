"""Objects as blocks of 8-byte words, and how compiled code reads and writes them."""

import ctypes
import inspect
import operator
import struct
from collections.abc import Callable
from functools import cache, partial
from itertools import count
from types import FunctionType, ModuleType
from typing import Any

import numba
import numpy as np
from numba import types
from numba.core import cgutils
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

from .frozen import foreign, inlined, kept, places


class Layout(types.Type):
    """The numba type of an instance: which field is at which word, and the compiled methods.

    Where ``checked``, these test their indices; ``foreign`` tells of a class from outside in it.
    """

    serial = count()

    def __init__(self, cls: type, fields: dict, checked: bool):
        self.cls, self.fields, self.texts = cls, fields, _texts(cls)
        self.methods = {name: inlined(f, checked) for name, f in self.texts.items()}
        self.objects = {name for name, field in fields.items() if isinstance(field, Layout)}
        self.foreign = foreign(cls) or any(fields[name].foreign for name in self.objects)
        self.at, self.format = {}, ""
        for name, field in fields.items():
            self.at[name] = len(self.format)
            words = 1 + (field.ndim if isinstance(field, types.Array) else 0)
            self.format += "d" if field == types.float64 else "q" * words
        back = {types.boolean: bool, types.int64: int, types.float64: float}
        kept = [(name, back[field]) for name, field in fields.items() if field in back]
        self.numbers = [(name, self.at[name], what) for name, what in kept]
        super().__init__(name=f"{cls.__name__}.{next(self.serial)}")

    def __str__(self):
        return self.cls.__name__


class Row(types.Type):
    """The numba type of a list of instances of one layout: their number, then their blocks."""

    def __init__(self, item: Layout, checked: bool):
        self.item, self.checked, self.foreign = item, checked, item.foreign
        super().__init__(name=f"{'checked ' if checked else ''}list of {item.name}")


def _texts(cls: type) -> dict:
    """The methods of a class by name, as they are now."""
    methods = inspect.getmembers(cls, inspect.isfunction)
    return {name: f for name, f in methods if not name.startswith("__")}


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
_SIMPLE = {bool: types.boolean, int: types.int64, float: types.float64}
_SIMPLE[np.random.Generator] = types.npy_rng


def kind(value: Any) -> object:
    """What a field's type is to the compiler: equal kinds share one compilation."""
    what = type(value)
    if what is np.ndarray:
        return (value.dtype, value.ndim, value.flags.writeable)
    simple = _KINDS.get(what, what)
    return simple if simple in _SIMPLE or not _is_object(value) else _shape(value)


def _is_object(value) -> bool:
    """Whether a field holds an object with fields of its own."""
    odd = isinstance(value, type | FunctionType | ModuleType)
    return hasattr(value, "__dict__") and not odd


def _shape(o) -> tuple:
    """The key of an object's layout: its class, and the names and kinds of its fields."""
    values = fields(o)
    return (type(o), *values, *map(kind, values.values()))


def layout_of(o: Any, checked: bool = False) -> types.Type:
    """The numba type of an object, or of a list of them; indices in it may be ``checked``."""
    if isinstance(o, list):
        if len(alike := {_shape(item) for item in o}) != 1:
            raise ValueError(f"a list of machines holds {len(alike)} kinds; all must be alike.")
        return Row(layout_of(o[0], checked), checked)
    return kept((_shape(o), checked), lambda: _new_layout(o, checked))


def _new_layout(o, checked: bool) -> tuple[Layout, list]:
    cls = type(o)
    held = {name: _numba_type(o, name, value, checked) for name, value in fields(o).items()}
    layout = Layout(cls, held, checked)
    for name in layout.methods:
        _lower_method(name)
    methods = [(partial(getattr, cls, name, None), f) for name, f in layout.texts.items()]
    layout.places = methods + places(*layout.texts.values())
    held = [field.places for field in layout.fields.values() if isinstance(field, Layout)]
    return layout, sum(held, layout.places)


def _numba_type(o, name: str, value, checked: bool) -> types.Type:
    if (simple := _KINDS.get(type(value), type(value))) in _SIMPLE:
        return _SIMPLE[simple]
    if type(value) is np.ndarray and value.dtype in (np.bool_, np.int64, np.float64):
        item, fixed = numba.from_dtype(value.dtype), not value.flags.writeable
        return types.Array(item, value.ndim, "C", readonly=fixed)
    if type(value) is not np.ndarray and _is_object(value):
        return layout_of(value, checked)
    what = f"{value.dtype} array" if type(value) is np.ndarray else type(value).__name__
    raise ValueError(
        f"field {name!r} of {type(o).__name__} is a {what}; a compiled object holds numbers, "
        "arrays of bool, int64 or float64 and such objects. compiled=False runs it as plain Python."
    )


_bitgen = ctypes.pythonapi.PyCapsule_GetPointer
_bitgen.restype, _bitgen.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)


def _words(o, layout: Layout, blocks: dict) -> list:
    words = []
    for name, value in fields(o).items():
        what = type(value)
        if what is np.ndarray:
            words.append(_address(o, name, value) if value.size else 0)
            words.extend(value.shape)
        elif what is np.random.Generator:
            words.append(_bitgen(value.bit_generator.capsule, b"BitGenerator"))
        elif name in layout.objects:
            words.append(pack(value, layout.fields[name], blocks))
        else:
            words.append(int(value) if what is np.bool_ else value)
    return words


def _address(o, name: str, array: np.ndarray) -> int:
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(array))
    except TypeError:  # it is read-only, or not in C order
        if array.flags.c_contiguous:
            return array.__array_interface__["data"][0]
    raise ValueError(
        f"array {name!r} of {type(o).__name__} is not in C order; "
        "np.array(a, order='C') makes a copy that is."
    )


def pack(o: Any, layout: types.Type, blocks: dict) -> int:
    """The address of the object's block, one for each object and run."""
    if id(o) not in blocks:
        many = isinstance(o, list)
        items, item = (o, layout.item) if many else ([o], layout)
        try:
            parts = [struct.pack(item.format, *_words(i, item, blocks)) for i in items]
        except struct.error:
            raise ValueError(
                f"a whole number among the fields of {item} has more than 64 bits; "
                "compiled=False runs it as plain Python."
            ) from None
        head = struct.pack("q", len(items)) if many else b""
        blocks[id(o)] = items, item, bytearray(b"".join([head, *parts, b"\0"]))
    return ctypes.addressof(ctypes.c_char.from_buffer(blocks[id(o)][2]))


def write_back(items: list, layout: Layout, block: bytearray) -> None:
    """Give the objects the numbers that a run left in their block."""
    size = 8 * len(layout.format)
    first = len(block) - 1 - size * len(items)
    for i, o in enumerate(items):
        words, values = struct.unpack_from(layout.format, block, first + i * size), vars(o)
        for name, word, what in layout.numbers:
            value = what(words[word])
            if name in values or value != getattr(type(o), name):
                values[name] = value


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
    if isinstance(field, Layout):
        return _object(context, builder, field, _fixed(context, builder, block, word))
    if field == types.boolean:
        flag = _load(context, builder, block, word, types.int64)
        return builder.trunc(flag, context.get_value_type(types.boolean))
    return _load(context, builder, block, word, field)


@lower_setattr_generic(Layout)
def _set_field(context, builder, sig, args, name):
    layout, value = sig.args[0], args[1]
    field = layout.fields[name]
    if isinstance(field, types.Array):
        target = _get_field(context, builder, layout, args[0], name)
        context.compile_internal(builder, _copy, types.void(field, field), (value, target))
        return
    if field == types.boolean:
        field, value = types.int64, builder.zext(value, context.get_value_type(types.int64))
    block = _block(context, builder, layout, args[0])
    builder.store(value, _pointer(context, builder, block, layout.at[name], field))


def _copy(source, target):
    if source.shape != target.shape:
        raise ValueError("a compiled field was assigned an array of another shape.")
    for i in range(target.size):  # compiles faster than target[...] = source
        target.flat[i] = source.flat[i]


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
        size = context.get_constant(types.intp, 8 * len(row.item.format))
        block = builder.add(_block(context, builder, row, args[0]), size.type(8))
        return _object(context, builder, row.item, builder.add(block, builder.mul(args[1], size)))

    return row.item(row, types.intp), codegen


@intrinsic
def _length(context, row):
    def codegen(context, builder, sig, args):
        return _fixed(context, builder, _block(context, builder, row, args[0]), 0)

    return types.intp(row), codegen


@overload(len)
def _row_len(row):
    if isinstance(row, Row):
        return lambda row: _length(row)


@overload(operator.getitem)
def _row_getitem(row, i):
    if not isinstance(row, Row):
        return None

    def checked(row, i):
        at = i if i >= 0 else i + len(row)
        if not 0 <= at < len(row):
            raise IndexError("list index out of range")
        return _item(row, at)

    return checked if row.checked else lambda row, i: _item(row, i)


def attach(layouts: tuple) -> Callable:
    """A compiled function from the addresses of blocks to the objects of these layouts."""
    together = types.Tuple(layouts)

    @intrinsic
    def attach(context, addresses):
        def codegen(context, builder, sig, args):
            blocks = (builder.extract_value(args[0], i) for i in range(len(layouts)))
            objects = [
                _object(context, builder, layout, block)
                for layout, block in zip(layouts, blocks, strict=True)
            ]
            return context.make_tuple(builder, together, objects)

        return together(addresses), codegen

    return attach
