"""How rules become machine code: found by the type of what a policy prepared.

The compiled loops call the three rules of a policy: `Policy.plan` says which arms are played next,
`Policy.holds_for` for how many rounds that is certain, and `Policy.observe` takes in a reward.
Whose rules these are follows from the type of their first argument, the named tuple that the policy
prepared, which is its own: `prepare` notes it, and the compiler looks there.
`fpbandits.engine.code_cache` keeps the machine code.

A rule is made of many small functions, and only the loop that calls it is ever called itself. So
only the loop, with everything in it, is optimised as a whole and turned into machine code; the
functions below it are simplified one by one and linked into it (`_HelperCompiler`). Numba by itself
would optimise each of them with all that it calls, once per level of nesting: twice the time for
machine code that is no faster.

Much here is Numba's own and may change with its version, which `constraints.txt` fixes.
"""

from __future__ import annotations

import gc
import itertools
import re
from collections.abc import Callable
from functools import cache
from inspect import isfunction
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from llvmlite import ir
from numba import njit, typeof, types
from numba.core import boxing, cgutils, config, pythonapi
from numba.core.caching import NullCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_lock import global_compiler_lock
from numba.core.errors import NumbaError
from numba.extending import NativeValue, overload, register_jitable

from fpbandits.engine.code_cache import PACKAGE, Numba, code_cache, is_foreign
from fpbandits.errors import InputError, quote
from fpbandits.families import binomial

if TYPE_CHECKING:
    from fpbandits.engine.contract import Prepared
    from fpbandits.engine.policy import Policy
    from fpbandits.problem.problem import Problem

Function = TypeVar("Function", bound=Callable[..., Any])
MachineCode = Callable[..., int]
"""A compiled loop, or `ready.plan_once`, for arguments of certain types."""

_FOLDER = Path(__file__).resolve().parents[1]
"""The package's own files."""

_OPTIMISE = 2
"""LLVM's level of optimisation."""

COMPILED: Numba = {
    "error_model": "numpy",
    "forceinline": True,
    "_nrt": False,
    "no_cfunc_wrapper": True,
}
"""How loops and the package's rules are compiled: dividing by zero gives infinity, as in NumPy;
calls are inlined; and references to arrays are not counted, which would cost more than the rules
themselves. So rules allocate nothing: the caller provides a workspace. C calls none of this, and
what it would need is left out."""


class _Library(JITCodeLibrary):
    """Machine code of one loop, optimised as a whole once.

    Numba does that twice, the first time to save counts of references, of which the package's rules
    have none. More than `_OPTIMISE` takes longer and is no faster.
    """

    def _optimize_functions(self, module: Numba) -> None:
        module.data_layout = self._codegen._data_layout
        for function in module.functions:
            passes, builder = self._codegen._function_pass_manager(opt=_OPTIMISE)
            passes.run(function, builder)

    def _optimize_final_module(self) -> None:
        passes, builder = self._codegen._module_pass_manager(opt=_OPTIMISE)
        passes.run(self._final_module, builder)


class _HelperLibrary(_Library):
    """Code that is linked into its callers, and never run on its own."""

    def finalize(self) -> None:
        """Link the callees, as Numba does, and leave the rest to the library that links this."""
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return an address that Numba stores and never calls; 0 would mean that there is none."""
        library: Numba = self
        library._ensure_finalized()
        return 1

    @property
    def codegen(self) -> Numba:
        """The object whose `set_env` Numba calls: this one, which has no environment to set."""
        return self

    def set_env(self, name: str, environment: object) -> None:
        """Set nothing."""


class _LoopCompiler(Compiler):
    """Numba's compiler, for loops that Python calls."""

    library_type = _Library

    def __init__(self, typing: Numba, target: Numba, library: Numba, *others: Numba) -> None:
        """Take a library of this class in place of Numba's own, ``library``."""
        kind, numba_compiler = cast(Numba, self.library_type), cast(Numba, super())
        library = kind(target.codegen(), f"fpbandits {next(_numbers)}")
        library.enable_object_caching()
        numba_compiler.__init__(typing, target, library, *others)

    def _compile_core(self) -> Numba:
        """Compile without collecting garbage, which takes a tenth of the time and finds little."""
        collects, numba_compiler = gc.isenabled(), cast(Numba, super())
        gc.disable()
        try:
            return numba_compiler._compile_core()
        finally:
            if collects:
                gc.enable()


class _HelperCompiler(_LoopCompiler):
    """Numba's compiler, for functions that only compiled code calls."""

    library_type = _HelperLibrary


_numbers = itertools.count()
"""Numbers that make names of libraries and types unique."""

HELPER: Numba = {**COMPILED, "no_cpython_wrapper": True, "pipeline_class": _HelperCompiler}
"""How rules, and what they call, are compiled: into their caller."""

_ALLOCATING: Numba = {**COMPILED, "_nrt": True}
"""Rules from elsewhere may allocate: their authors should not have to think of it. They are
compiled by Numba's own compiler, and count their references themselves; the loop around them counts
none."""


def jitted(function: Function) -> Function:
    """Mark a function that rules call: it stays a Python function, and is compiled into these."""
    register_jitable(**HELPER)(function)
    return function


for _function in (value for value in vars(binomial).values() if isfunction(value)):
    # Drawing a binomial number is longer than most rules, and most calls return early: it is not
    # worth a copy at each call. It is done here since families know nothing of the engine.
    register_jitable(**{**HELPER, "forceinline": False})(_function)

_BITS = types.NumPyRandomBitGeneratorType("bit_generator")
_unbox_counted: Numba = boxing.unbox_numpy_random_generator


def _unbox_generator(kind: Numba, generator: Numba, c: Numba) -> Numba:
    """Take a Generator into compiled code; where references are not counted, take none to it.

    Numba takes one all the same, and a block of memory to note it in, and gives both back only
    where references are counted: every call would leak them. The caller holds the Generator anyway.
    """
    if c.context.enable_nrt:
        return _unbox_counted(kind, generator, c)
    bits = c.pyapi.object_getattr_string(generator, "bit_generator")
    native = cgutils.create_struct_proxy(kind)(c.context, c.builder)
    native.bit_generator, native.parent = _unbox_bits(bits, c), generator
    native.meminfo = cgutils.voidptr_t(None)
    c.pyapi.decref(bits)
    return NativeValue(native._getvalue())


def _unbox_bits(bits: Numba, c: Numba) -> Numba:
    """Take what draws a Generator's bits into compiled code, by the address that C code gets.

    Numba asks for the same by way of ctypes, which takes longer than most decisions. At the address
    is a ``bitgen_t`` of NumPy's C API: the state, and the functions that draw from it.
    """
    pointer = cgutils.voidptr_t
    capsule = c.pyapi.object_getattr_string(bits, "capsule")
    signature = ir.FunctionType(pointer, [c.pyapi.pyobj, pointer])
    address_of = cgutils.get_or_insert_function(c.builder.module, signature, "PyCapsule_GetPointer")
    name = c.context.insert_const_string(c.builder.module, "BitGenerator")
    address = c.builder.call(address_of, [capsule, name])
    c.pyapi.decref(capsule)
    word = c.context.get_value_type(types.uintp)
    fields = c.builder.bitcast(address, word.as_pointer())
    words = [c.builder.load(cgutils.gep(c.builder, fields, index)) for index in range(4)]
    native = cgutils.create_struct_proxy(_BITS)(c.context, c.builder)
    native.parent, native.bit_generator = bits, c.builder.ptrtoint(address, word)
    native.state_address = native.state = words[0]  # Numba has it twice
    native.fnptr_next_uint64, native.fnptr_next_uint32, native.fnptr_next_double = words[1:]
    return native._getvalue()


# This holds for all of the process. Other code counts references, and finds Numba's own way.
pythonapi._unboxers.functions[types.NumPyRandomGeneratorType] = _unbox_generator


def compiled(function: Function) -> Function:
    """Compile a function, keep the machine code on disk, and let it run beside other threads."""
    dispatcher: Numba = njit(nogil=True, pipeline_class=_LoopCompiler, **COMPILED)(function)
    dispatcher._cache = code_cache(function)
    dispatcher.is_announced = True  # `engine.compilations` logs a line if that takes long
    return cast(Function, dispatcher)


_policies: dict[type, type[Policy]] = {}
"""The policy whose rules are played, by the type of what it prepared."""


def dispatch_by_type(rule: Callable[..., Any]) -> None:
    """Let compiled code that calls `Policy.plan`, say, find a rule by the type of ``prepared``."""
    for foreign, options in ((False, HELPER), (True, _ALLOCATING)):
        _dispatch_by_type(rule, foreign, options)


def _dispatch_by_type(rule: Callable[..., Any], foreign: bool, options: Numba) -> None:
    """Do so for policies of the package, or for those from elsewhere (``foreign``)."""

    # Strictness would compare annotations too.
    @overload(rule, strict=False, jit_options=options)
    def choose(prepared: Numba, *others: Numba) -> Callable[..., Any] | None:
        policy = _policies.get(getattr(prepared, "instance_class", type(None)))
        if policy is None or is_foreign(prepared) is not foreign:
            return None
        policy_rule: Callable[..., Any] = getattr(policy, rule.__name__)
        return policy_rule


def prepare(policy: Policy, problem: Problem) -> Prepared:
    """Return what a policy makes of a problem, with the policy's rules noted for the compiler."""
    if config.DISABLE_JIT:  # type: ignore[attr-defined]  # Numba sets it when it is imported
        raise InputError(
            "its rule must be compiled, and NUMBA_DISABLE_JIT forbids it: unset it"
        ).at(policy.name)
    if problem.contexts and policy.contexts.value == "refused":
        raise InputError(
            f"{policy.name} knows nothing of contexts, and {problem.name} has "
            f"{len(problem.contexts)}: frugal, thompson-theta or kl-ucb would do"
        )
    prepared, kind = policy.prepare(problem), type(policy)
    tuple_type: Any = type(prepared)
    if kind.__module__.startswith(PACKAGE):  # each of these has a named tuple of its own
        _policies[tuple_type] = kind
        return prepared
    if not (isinstance(prepared, tuple) and hasattr(tuple_type, "_fields")):
        raise InputError(
            f"prepare returned {quote(prepared)}: it must be a named tuple", place=(policy.name,)
        )
    return _unique_type(kind, tuple_type)(*prepared)


@cache
def _unique_type(kind: type[Policy], tuple_type: type[Any]) -> type[Any]:
    """Return a type for what a policy from elsewhere prepares, under a name that no other has.

    The compiler takes named tuples of one name and with the same fields for the same type, whoever
    made them; and a policy that builds on another's rule may prepare just what that one does.
    Machine code of such rules is never kept on disk, so the name may differ from process to
    process.
    """
    name = f"{kind.__name__}{tuple_type.__name__}{next(_numbers)}"
    unique = type(name, (tuple_type,), {"__module__": kind.__module__})
    _policies[unique] = kind
    return unique


def compile_for(policy: Policy, function: Numba, arguments: tuple[object, ...]) -> MachineCode:
    """Return the machine code of a compiled function for arguments of these types.

    A call of it does not look at the arguments' types, which takes longer than most decisions.
    """
    signature = tuple(map(typeof, arguments))
    try:
        function.compile(signature)
    except NumbaError as error:
        raise uncompilable(policy, error) from error
    code: MachineCode = function.overloads[signature].entry_point
    return code


def load_code(function: Numba, arguments: tuple[object, ...]) -> MachineCode | None:
    """Return such machine code if it was compiled before or is kept on disk, else None."""
    signature = tuple(map(typeof, arguments))
    with global_compiler_lock:
        code = function.overloads.get(signature)
        # Where nothing is kept, `load_overload` would warn that someone has to wait: nobody does.
        if code is None and not isinstance(function._cache, NullCache):
            code = function._cache.load_overload(signature, function.targetctx)
            if code is not None:
                function.add_overload(code)  # the next call need not read it again
    return None if code is None else code.entry_point


def uncompilable(policy: Policy, error: NumbaError) -> InputError:
    """Say in one line that a rule cannot be compiled, why and where: Numba says it in sixty."""
    message = str(error)
    # It has lines such as 'NumbaTypeError: Failed in nopython mode', 'TypingError: No match …',
    # '>>> sort(array(float64, 1d, C))' and 'File "mine.py", line 7'.
    reasons = re.findall(r"Error: (?!Failed in)(.+)", message)
    reasons += re.findall(r">>> (?!plan|holds_for|observe)(.+)", message)
    places = [
        f" ({file}, line {line})"
        for file, line in re.findall(r'File "(.+)", line (\d+)', message)
        if "site-packages" not in file and not Path(file).is_relative_to(_FOLDER)
    ]
    why, where = [*reasons, "Numba does not know how"][0], [*places, ""][0]
    return InputError(
        f"its rule cannot be compiled: {why[:200]}{where}; a PlainPolicy need not be"
    ).at(policy.name)
