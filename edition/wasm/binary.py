"""An object file of LLVM as a WebAssembly module: its sections, with one of exports.

LLVM fills in the addresses of an object file as if its data began at 0 and its table of functions
at 1. Where nothing else is linked in, that is how they lie.
"""

from __future__ import annotations

from collections.abc import Iterator

MAGIC = b"\0asm\1\0\0\0"
CUSTOM, EXPORTS, BEFORE_CODE = 0, 7, (8, 9, 12, 10, 11)  # the sections that come after exports
SYMBOLS, FUNCTION, DATA, SECTION = 8, 0, 1, 3
UNDEFINED, NAMED = 0x10, 0x40


def encoded(n: int) -> bytes:
    """A whole number as in WebAssembly (LEB128): seven bits to a byte, the lowest first.

    >>> encoded(300).hex()
    'ac02'
    """
    low, rest = n & 127, n >> 7
    return bytes([low | 128]) + encoded(rest) if rest else bytes([low])


class Reader:
    """Bytes, read from the front.

    >>> Reader(encoded(300) + b"rest").number()
    300
    """

    def __init__(self, data: bytes):
        self.data, self.at = data, 0

    def __bool__(self) -> bool:
        return self.at < len(self.data)

    def bytes(self, n: int) -> bytes:
        """The next n bytes."""
        self.at += n
        return self.data[self.at - n : self.at]

    def byte(self) -> int:
        """The next byte."""
        return self.bytes(1)[0]

    def number(self) -> int:
        """The next whole number."""
        byte = self.byte()
        return byte if byte < 128 else byte - 128 + (self.number() << 7)

    def block(self) -> bytes:
        """The next bytes, after their number."""
        return self.bytes(self.number())


def sections(module: bytes) -> Iterator[tuple[int, bytes]]:
    """The sections of a module or an object file: kind and contents."""
    reader = Reader(module)
    if reader.bytes(len(MAGIC)) != MAGIC:
        raise ValueError("module does not begin as WebAssembly, version 1, does.")
    while reader:
        yield reader.byte(), reader.block()


def functions(module: bytes) -> dict[str, int]:
    """The number of each named function, from an object file's table of symbols."""
    for kind, body in sections(module):
        reader = Reader(body)
        if kind == CUSTOM and reader.block() == b"linking":
            reader.number()  # the version
            while reader:
                part, contents = reader.byte(), Reader(reader.block())
                if part == SYMBOLS:
                    return dict(_symbols(contents))
    return {}


def _symbols(reader: Reader) -> Iterator[tuple[str, int]]:
    for _ in range(reader.number()):
        kind, flags = reader.byte(), reader.number()
        here = not flags & UNDEFINED
        if kind == DATA:
            reader.block()
            [reader.number() for _ in range(3 if here else 0)]
        else:
            number = reader.number()
            named = kind != SECTION and (here or flags & NAMED)
            name = reader.block().decode() if named else ""
            if kind == FUNCTION and here:
                yield name, number


def with_exports(object_file: bytes, names: tuple[str, ...]) -> bytes:
    """The module of an object file that shows the functions of these names."""
    at = functions(object_file)
    entries = [_named(name) + b"\0" + encoded(at[name]) for name in names]
    parts = [(kind, body) for kind, body in sections(object_file) if kind != CUSTOM]
    first = next(i for i, (kind, _) in enumerate(parts) if kind in BEFORE_CODE)
    parts.insert(first, (EXPORTS, encoded(len(entries)) + b"".join(entries)))
    return MAGIC + b"".join(bytes([kind]) + encoded(len(b)) + b for kind, b in parts)


def _named(name: str) -> bytes:
    return encoded(len(name.encode())) + name.encode()
