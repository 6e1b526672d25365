"""The package's algorithms as one WebAssembly module, from their own texts.

Numba compiles a text to LLVM's language before it compiles it to this machine's. That intermediate
text is taken here as it is (numba must not have optimised it: ``NUMBA_OPT=0``), joined with
``runtime.ll`` and ``libm``, optimised for wasm32 and emitted. There is no other compiler, and no
linker: an object file of one module needs its exports, and is a WebAssembly module (``binary``).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.resources import files
from itertools import product

import llvmlite.binding as llvm
import numpy as np
from numba import njit, types
from numba.core import config

from dueling import BTMB, IF, Champion, Doubler, MultiSBM, Sparring
from dueling.engine.algorithm import Algorithm
from dueling.engine.blocks import attach, layout_of
from dueling.engine.frozen import inlined
from dueling.game import Game
from dueling.later import KLUCB
from dueling.machines import UCB, Thompson, TsallisINF
from dueling.section7 import scenario

from . import binary, libm

#: Each algorithm that a page can play, under the name of its kernel.
ALGORITHMS: dict[str, Algorithm] = {
    f"{reduction.__name__}({machine.__name__})": reduction(machine)
    for reduction, machine in product(
        (Sparring, MultiSBM, Doubler, Champion), (UCB, KLUCB, Thompson, TsallisINF)
    )
} | {"IF": IF(), "BTMB": BTMB()}

TRIPLE = "wasm32-unknown-unknown"
FEATURES = "+bulk-memory,+mutable-globals,+sign-ext,+nontrapping-fptoint"
#: What a page calls besides the kernels: the generator's entries, its arrays' place, ln.
SERVICES = ("uint64_entry", "double_entry", "take_from", "libm_log", "libm_exp")
RENAMED = {f"@{name}(": f"@libm_{text.__name__}(" for name, text in libm.TEXTS.items()}
RENAMED["@sqrt("] = "@llvm.sqrt.f64("
#: What numba would raise, with the place of its source on this machine; a page sees the status.
MESSAGE = re.compile(r"^(@\S*picklebuf\S* = .*?constant \{[^}]*\}) \{.*$", re.M)


def dealt(algorithm: Algorithm, K: int = 5, checkpoints: int = 3) -> tuple:
    """The objects that the text of an algorithm is given, for some small game: its parts, the game.

    >>> [type(o).__name__ for o in dealt(ALGORITHMS["Doubler(UCB)"])]
    ['UCB', 'Multiset', 'Game']
    """
    P, rounds = scenario("arith/linear").P[:K, :K].copy(), np.arange(1, checkpoints + 1)
    game = Game(P, 1000, rounds, np.random.default_rng(0))  # so long that it keeps no log
    return (*algorithm.parts(game), game)


def module(algorithms: dict[str, Algorithm] = ALGORITHMS) -> bytes:
    """The WebAssembly module with a function for each algorithm, called with its objects' places.

    The functions return 0, or another number where the text would raise.
    """
    if int(config.OPT):
        raise RuntimeError("NUMBA_OPT is not 0; set it before numba is imported.")
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    whole = llvm.parse_assembly(files(__package__).joinpath("runtime.ll").read_text("utf-8"))
    for text in libm.TEXTS.values():
        whole.link_in(_function(text))
    for name, algorithm in algorithms.items():
        whole.link_in(_kernel(name, algorithm))
    exports = (*SERVICES, *algorithms)
    return binary.with_exports(_emitted(whole, exports), exports)


def _kernel(name: str, algorithm: Algorithm) -> llvm.ModuleRef:
    """The algorithm's loop over its objects, as a function of the addresses of their blocks."""
    layouts = tuple(layout_of(o) for o in dealt(algorithm))
    loop, attached = inlined(algorithm.text, False), attach(layouts)

    def kernel(addresses):
        loop(*attached(addresses))

    words = ["i64"] * len(layouts)
    return _alone(kernel, (types.UniTuple(types.int64, len(words)),), name, words, "i32")


def _function(text: Callable) -> llvm.ModuleRef:
    """A function of numbers of ``libm``."""
    n, f = text.__code__.co_argcount, inlined(text, False)
    call = (lambda x: f(x)) if n == 1 else (lambda x, y: f(x, y))
    return _alone(call, (types.float64,) * n, f"libm_{text.__name__}", ["double"] * n, "double")


def _alone(f: Callable, signature: tuple, name: str, words: list, gives: str) -> llvm.ModuleRef:
    """LLVM's text of a function and all that it calls, under a plain name.

    Numba's own function takes the address of its result and of an exception, and returns a status.
    """
    dispatcher = njit(no_cfunc_wrapper=True)(f)
    dispatcher.compile(signature)
    (overload,) = dispatcher.overloads.values()
    text = overload.library.get_llvm_str()
    for old, new in RENAMED.items():
        text = text.replace(old, new)
    text = MESSAGE.sub(r"\1 zeroinitializer", text)
    taken = ", ".join(f"{word} %a{i}" for i, word in enumerate(words))
    status = "%status" if gives == "i32" else "%value"
    text += f"""
define {gives} @"{name}"({taken}) {{
  %result = alloca double
  %exception = alloca ptr
  %status = call i32 @"{overload.fndesc.llvm_func_name}"(ptr %result, ptr %exception, {taken})
  %value = load double, ptr %result
  ret {gives} {status}
}}
"""
    part = llvm.parse_assembly(text)
    for thing in (*part.functions, *part.global_variables):
        if not thing.is_declaration and thing.name != name:
            thing.linkage = "internal"
    return part


def _emitted(whole: llvm.ModuleRef, exports: tuple[str, ...]) -> bytes:
    """The object file of a module in which nothing but the exports is seen from outside."""
    machine = llvm.Target.from_triple(TRIPLE).create_target_machine(opt=3, features=FEATURES)
    whole.triple, whole.data_layout = TRIPLE, str(machine.target_data)
    for thing in (*whole.functions, *whole.global_variables):
        if not thing.is_declaration and thing.name not in (*exports, "__multi3"):
            thing.linkage = "internal"
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    passes = llvm.create_pass_builder(machine, options)
    passes.getModulePassManager().run(whole, passes)
    return machine.emit_object(whole)
