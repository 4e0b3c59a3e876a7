"""A user's own policies: loaded from files, identified by their code, sent to workers.

A rule that was changed is another rule, even under the same name. `code_of` is a digest of the
source of all that a policy's class runs: its own methods and, recursively, the user's functions,
classes and constants that they mention. Comments, docstrings, line numbers and file names do not
count, nor do installed packages, except the policy's own.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from textwrap import dedent
from types import CodeType, FunctionType, ModuleType
from typing import Any, cast

import numpy as np

from fpbandits.core.storage import read_whole, shown
from fpbandits.engine.policy import Policy
from fpbandits.errors import InputError, said, unknown

_INSTALLED = tuple(
    str(Path(sysconfig.get_path(name)).resolve())
    for name in ("stdlib", "platstdlib", "purelib", "platlib")
)
"""The folders of installed packages."""

_LARGEST_FILE = 2**20
"""The largest file of a policy, in bytes."""

_GENERATED = "<string>"
"""The file name of methods that dataclasses and named tuples generate."""

_WITH_DOCSTRINGS = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def is_own(kind: type[Policy]) -> bool:
    """Tell whether a policy is the user's, not the package's."""
    return not kind.__module__.startswith("fpbandits.")


def load_class(path: Path, name: str) -> type[Policy]:
    """Return a policy's class from a Python file; the same text gives the same class."""
    source = read_whole(path, _LARGEST_FILE)
    digest = hashlib.sha256(str(path.resolve()).encode() + source).hexdigest()
    # The module's name is unique, and changes with the text.
    module_name = f"{path.stem}_{digest}"
    module = sys.modules.get(module_name) or _import_file(path, source, module_name)
    known = {
        value.__name__: value
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, Policy)
        and is_own(value)
        and not inspect.isabstract(value)
    }
    if name not in known:
        if not known:
            none = "there is no policy in it: a class of PlainPolicy"
            raise InputError(none, place=(shown(path),))
        raise unknown("policy", name, known).at(shown(path))
    _digest(known[name])  # reads the source now: the file may change while its code is in use
    return known[name]


def _import_file(path: Path, source: bytes, name: str) -> ModuleType:
    """Run a file's source as a module of this name, or raise an error that names the file.

    Python's own import takes bytecode that it kept, even of an earlier text, if a file was edited
    within a second and has the same size.
    """
    spec = spec_from_file_location(name, path)
    assert spec is not None
    module = sys.modules[name] = module_from_spec(spec)
    sys.path.insert(0, str(path.resolve().parent))  # it may import files beside it
    try:
        exec(compile(source, str(path), "exec", dont_inherit=True), vars(module))
    except BaseException as error:
        del sys.modules[name]
        if not isinstance(error, Exception):
            raise
        reason = f"cannot be imported ({type(error).__name__}: {said(error)})"
        raise InputError(reason, place=(shown(path),)) from error
    finally:
        sys.path.remove(str(path.resolve().parent))
    return module


def find_loaded(name: str, code: str) -> type[Policy] | None:
    """Return the user's class of this name and code; None if it is not imported yet."""

    def subclasses(kind: type[Policy]) -> Iterator[type[Policy]]:
        for subclass in kind.__subclasses__():
            yield subclass
            yield from subclasses(subclass)

    users = [kind for kind in subclasses(cast(Any, Policy)) if is_own(kind)]
    named = [kind for kind in reversed(users) if getattr(kind, "name", None) == name]
    return next((kind for kind in named if _digest(kind) == code), None)


def code_of(policy: Policy) -> str | None:
    """Return a digest of the code of a user's own policy; None for one of the package."""
    return _digest(type(policy)) if is_own(type(policy)) else None


def _digest(kind: type) -> str:
    digest = hashlib.sha256()
    for part in _Walk(kind).parts(kind):
        digest.update(part.encode() + b"\0")
    return digest.hexdigest()[:32]


class _Walk:
    """Visits all that decides what a class does, each value once.

    The package of the class counts as the user's, even if it is installed.
    """

    def __init__(self, kind: type) -> None:
        self._home = kind.__module__.split(".")[0]
        # The values visited so far, by id; a value that is kept alive keeps its id to itself.
        self._met: dict[int, Any] = {}

    def parts(self, value: Any) -> Iterator[str]:
        """Yield texts that change if ``value`` does something else."""
        value = getattr(value, "py_func", value)  # what Numba compiled
        value = getattr(value, "__func__", value)  # static and class methods
        if isinstance(value, bool | int | float | complex | str | bytes | None):
            yield repr(value)
            return
        if id(value) in self._met:
            return
        self._met[id(value)] = value
        if isinstance(value, FunctionType):
            if self._counts(value.__module__, value.__code__.co_filename):
                yield from self._function(value)
        elif isinstance(value, ModuleType):
            file = getattr(value, "__file__", None)
            if file and self._counts(value.__name__, file):
                yield Path(file).read_text(encoding="utf-8", errors="replace")
        elif isinstance(value, type):
            file = getattr(sys.modules.get(value.__module__), "__file__", None)
            if self._counts(value.__module__, file):
                yield from self._class(value)
        elif isinstance(value, property):
            yield from self.parts((value.fget, value.fset))
        elif isinstance(value, np.ndarray):
            yield f"{value.dtype} {value.tolist()!r}"
        elif isinstance(value, set | frozenset):
            yield from sorted(map(repr, value))
        elif isinstance(value, tuple | list | dict):
            yield type(value).__name__
            for part in value.items() if isinstance(value, dict) else value:
                yield from self.parts(part)
        else:
            yield type(value).__qualname__

    def _counts(self, module: str | None, file: str | None) -> bool:
        """Tell whether code of this module and file is part of the digest."""
        return (module or "").split(".")[0] == self._home or _is_users(module, file)

    def _class(self, kind: type) -> Iterator[str]:
        """Yield the name, fields, bases and attributes of a class, but not generated methods."""
        attributes = dict(sorted(vars(kind).items()))
        yield from (kind.__qualname__, *attributes.get("__dataclass_fields__", ()))
        yield from self.parts(kind.__bases__)
        for name, part in attributes.items():
            written = isinstance(part, FunctionType) and part.__code__.co_filename != _GENERATED
            if not name.startswith("__") or (written and not name.startswith("__annotate")):
                yield name
                yield from self.parts(part)

    def _function(self, function: FunctionType) -> Iterator[str]:
        """Yield the code of a function, and its defaults, closure and globals."""
        yield from self._code(function.__code__)
        yield from self.parts((function.__defaults__, function.__kwdefaults__))
        for cell in function.__closure__ or ():
            with suppress(ValueError):  # not filled yet
                yield from self.parts(cell.cell_contents)
        for name in sorted(_names(function.__code__)):
            if name in function.__globals__:
                yield name
                yield from self.parts(function.__globals__[name])

    def _code(self, code: CodeType) -> Iterator[str]:
        """Yield the source of a code object; its bytecode if it was typed in and has none."""
        text = _text(code)
        if text is not None:
            yield text
            return
        yield from (code.co_code.hex(), *code.co_names)
        for constant in code.co_consts:
            code_within = isinstance(constant, CodeType)
            yield from self._code(constant) if code_within else self.parts(constant)


@lru_cache(maxsize=4096)  # read once: the file may change while its code is in use
def _text(code: CodeType) -> str | None:
    """Return the source of a function without comments and docstrings, if there is any."""
    try:
        source = dedent(inspect.getsource(code))
        tree = ast.parse(source)
    except SyntaxError:  # a lambda in the middle of something else
        return source
    except (OSError, TypeError):
        return None
    for node in ast.walk(tree):
        if isinstance(node, _WITH_DOCSTRINGS) and ast.get_docstring(node) is not None:
            del node.body[0]
    return ast.unparse(tree)


def _names(code: CodeType) -> set[str]:
    """Return the names of globals and attributes that code mentions, inner functions included."""
    inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return set(code.co_names).union(*map(_names, inner))


def _is_users(module: str | None, file: str | None) -> bool:
    """Tell whether code is the user's own: typed in, or in a file that is not installed."""
    if (module or "").split(".")[0] in sys.stdlib_module_names:
        return False
    if file is None or file.startswith("<"):
        return True
    package = str(Path(__file__).resolve().parent.parent)
    return not str(Path(file).resolve()).startswith((*_INSTALLED, package))


@contextmanager
def sent_by_value(policies: Iterable[Policy]) -> Iterator[None]:
    """Let cloudpickle send users' code whole: a worker may not be able to import it."""
    import cloudpickle

    modules: dict[str, ModuleType] = {}
    for name in {type(policy).__module__ for policy in policies if is_own(type(policy))}:
        _collect_modules(name, modules)
    for name in ("__main__", *cloudpickle.list_registry_pickle_by_value()):
        modules.pop(name, None)  # cloudpickle sends these whole anyway
    for module in modules.values():
        cloudpickle.register_pickle_by_value(module)
    try:
        yield
    finally:
        for module in modules.values():
            cloudpickle.unregister_pickle_by_value(module)


def _collect_modules(name: str, modules: dict[str, ModuleType]) -> None:
    """Add a module, if it is the user's, and those of the user's that it takes something from."""
    module = sys.modules.get(name)
    if module is None or name in modules or not _is_users(name, getattr(module, "__file__", None)):
        return
    modules[name] = module
    for value in list(vars(module).values()):
        home = getattr(value, "__name__" if isinstance(value, ModuleType) else "__module__", None)
        if isinstance(home, str):
            _collect_modules(home, modules)
