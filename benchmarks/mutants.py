"""Are the tests able to fail? Change the code at random places, and see whether they notice.

A *mutant* is the package with one small change: a comparison or a condition turned round, another
operator or constant. ``python benchmarks/mutants.py SEED COUNT [FOLDER …]`` draws some by a seed
from all of ``src/fpbandits``, or from the modules whose paths begin with one of the folders given.
Each is tried in a copy of the project, two at a time: first the test file that mirrors the module,
then the other tests of its package, up to the first failure. A mutant that no test notices is
printed: either a test is missing, or the change makes no difference to anyone.

What cannot make a difference is not drawn: the words of errors, types, and how a figure looks.

Rules are compiled again for each mutant of a module that is compiled. For the others the machine
code at hand is used, which is the same and saves minutes.

A test that notices a mutant must pass without it. A test may take LIMIT seconds: a mutant that
takes longer counts as noticed only if the same tests of the unchanged package, with everything to
be compiled, need less than half of that each.
"""

from __future__ import annotations

import argparse
import ast
import multiprocessing
import os
import random
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = Path("src", "fpbandits")
LIMIT = 240.0
WORKERS = 2

NOT_COPIED = (".git", ".venv", "report")

COMPILED = ("engine/", "families/", "policies/", "simulation/kernel.py", "fitting/kernels.py")
NOT_COMPILED = ("policies/own.py", "policies/parsing.py", "policies/listing.py")
CODE_CACHE = PACKAGE / "engine" / "code_cache.py"
DIGEST = "SOURCES = digest_of(sources())"
PASSED = (0, 5)
"""Exit codes of pytest: all passed; there were none."""
UNKNOWN = 4
"""Another: no test has that name, as those that a mutant named."""

OPPOSITE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}

CHECKED = re.compile("strict|stacklevel|daemon|repr")
"""Arguments that check what is true anyway, or that only a reader of a traceback sees."""
LOOKS = re.compile(
    "above|alpha|borderaxespad|capsize|colou?r|columnspacing|dpi|edgecolor|figsize|fontsize|"
    "framealpha|frameon|height|left|length|linewidth|loc|markersize|ncols|nbins|pad|rotation|s|"
    "size|style|width|width_ratios|xlim|ylim|zorder|_LEGEND|"
    "collapse_padding|no_wrap|pad_edge|padding"
)
"""Arguments and variables of a module that draws: sizes, colours, margins."""
DRAWN = re.compile(
    "annotate|axvline|blank|clip|legend|locator_params|set_tick_params|set_title|set_[xy]lim|text|"
    "tick_params"
)
"""Functions and methods with such arguments, in a module that draws."""
SAID = re.compile("warn|info|debug|warning|error|exception|reshape")
"""Functions that say something; and one to which every negative number says the same."""


class Mutant(NamedTuple):
    """A module, and its text with one change."""

    module: Path
    line: int
    before: str
    after: str
    text: str


def changed(node: ast.AST, setting: bool) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    """Yield the ways in which a node can be changed: what is replaced, and by what.

    A number of a setting, a constant that has a name, becomes 0: a little more would do as well.
    """
    match node:
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            other = ast.Compare(left, [OPPOSITE[type(op)]()], [right])
            yield node, f"({ast.unparse(other)})"
        case ast.BinOp(left=left, op=op, right=right) if type(op) in COMPUTED:
            if not any(map(_is_text, (left, right))):
                yield node, f"({ast.unparse(ast.BinOp(left, COMPUTED[type(op)](), right))})"
        case ast.AugAssign(target=target, op=op, value=value) if type(op) in COMPUTED:
            if not _is_text(value):
                yield node, ast.unparse(ast.AugAssign(target, COMPUTED[type(op)](), value))
        case ast.BoolOp(op=op, values=values):
            turned = ast.Or() if isinstance(op, ast.And) else ast.And()
            yield node, f"({ast.unparse(ast.BoolOp(turned, values))})"
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            # A comparison is turned round where it stands.
            if not (isinstance(test, ast.Compare) and len(test.ops) == 1):
                yield test, f"(not ({ast.unparse(test)}))"
        case ast.Constant(value=bool(value)):
            yield node, str(not value)
        case ast.Constant(value=int(value) | float(value)):
            yield node, repr(type(value)(0) if setting and value else value + 1)


def _is_setting(part: ast.stmt) -> bool:
    match part:
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name.isupper()
    return False


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr | ast.List | ast.Tuple) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def _name(node: ast.AST) -> str:
    """Return what an expression calls, or is assigned to, without what stands before a dot."""
    return getattr(node, "attr", getattr(node, "id", ""))


def _matters(node: ast.AST, draws: bool) -> bool:
    """Tell whether a change within a node can matter to anyone who runs the code."""
    match node:
        case ast.Raise() | ast.Assert():
            return False
        case ast.If(test=test):
            return ast.unparse(test) not in (
                "TYPE_CHECKING",
                "not TYPE_CHECKING",
                "__name__ == '__main__'",
            )
        case ast.Call(func=called):
            name = _name(called)
            return not (SAID.fullmatch(name) or (draws and DRAWN.fullmatch(name)))
        case ast.keyword(arg=str(name)):
            return not (CHECKED.fullmatch(name) or (draws and LOOKS.fullmatch(name)))
        case ast.Assign(targets=[target]) | ast.AnnAssign(target=target):
            return not (draws and LOOKS.fullmatch(_name(target)))
    return True


def _drawn(tree: ast.AST, draws: bool) -> Iterator[ast.AST]:
    """Walk a tree, but for types and what makes no difference."""
    for name, field in ast.iter_fields(tree):
        if name in ("annotation", "returns", "type_params", "decorator_list"):
            continue
        for child in field if isinstance(field, list) else [field]:
            if isinstance(child, ast.AST) and _matters(child, draws):
                yield child
                yield from _drawn(child, draws)


def _is(text: str, node: ast.AST) -> bool:
    with suppress(SyntaxError):
        return ast.unparse(ast.parse(f"({text}\n)", mode="eval")) == ast.unparse(node)
    with suppress(SyntaxError):
        return ast.unparse(ast.parse(text)) == ast.unparse(node)
    return False


def mutants_of(module: Path) -> list[Mutant]:
    """Return every mutant of a module."""
    text = (ROOT / module).read_text()
    lines = text.splitlines(keepends=True)
    draws = any(word in text for word in ("matplotlib", "<svg", "from rich"))
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line.encode()))
    whole, found = text.encode(), []
    tree = ast.parse(text)
    settings = {node for part in tree.body if _is_setting(part) for node in ast.walk(part)}
    for node in _drawn(tree, draws):
        for place, after in changed(node, node in settings):
            first = starts[place.lineno - 1] + place.col_offset
            last = starts[(place.end_lineno or 0) - 1] + (place.end_col_offset or 0)
            before = whole[first:last].decode()
            if not _is(before, place):  # within an f-string, before Python 3.12
                continue
            new = (whole[:first] + after.encode() + whole[last:]).decode()
            found.append(Mutant(module, place.lineno, before, after, new))
    return found


def drawn(seed: int, count: int, folders: list[str]) -> list[Mutant]:
    """Draw mutants, each place of the code with the same chance."""
    modules = sorted(path.relative_to(ROOT) for path in (ROOT / PACKAGE).rglob("*.py"))
    everywhere = [
        mutant
        for module in modules
        if not folders or str(module.relative_to(PACKAGE)).startswith(tuple(folders))
        for mutant in mutants_of(module)
    ]
    return random.Random(seed).sample(everywhere, min(count, len(everywhere)))


def tests_of(module: Path) -> list[list[str]]:
    """Return what to run, in turn: the file that mirrors a module, then the rest of its package.

    Policies have plain twins, which need no compiler, so these come next. Of one policy's module
    only the tests that have its name are run.
    """
    own = module.relative_to(PACKAGE)
    mirror = Path("tests", own.parent, f"test_{own.stem.strip('_')}.py")
    first = [[str(mirror), str(module)]] if (ROOT / mirror).exists() else []
    if len(own.parts) == 1:  # modules beside the packages: the tests that are beside theirs
        beside = [path.relative_to(ROOT) for path in sorted((ROOT / "tests").glob("test_*.py"))]
        return [*first, [str(path) for path in beside if path != mirror]]
    folder = own.parts[0]
    rest = [f"tests/{folder}", str(PACKAGE / folder), f"--ignore={mirror}"]
    if folder != "policies":
        return [*first, rest]
    word = own.stem.replace("_", "-")
    named = ["-k", word] if f'    name = "{word}"\n' in (ROOT / module).read_text() else []
    twins = "tests/policies/test_init.py"
    return [*first, [twins, *named], [*rest, f"--ignore={twins}", *named]]


class Copy:
    """A copy of the project, in which one mutant at a time is tried."""

    def __init__(self, place: Path) -> None:
        from fpbandits.engine.code_cache import SOURCES  # not in a process that tests a mutant

        self.place, self.digest = place, SOURCES
        self.checked: set[str] = set()
        place.mkdir()
        for source in ROOT.iterdir():
            if source.is_file():
                shutil.copy2(source, place)
            elif source.name not in NOT_COPIED:
                shutil.copytree(source, place / source.name)

    def noticed(self, mutant: Mutant) -> str:
        """Tell by which test a mutant is noticed; "" if by none."""
        for tests in tests_of(mutant.module):
            by = self._failure(mutant, tests)
            if by:
                return by
        return ""

    def _failure(self, mutant: Mutant, tests: list[str]) -> str:
        changes = {mutant.module: mutant.text}
        inside = str(mutant.module.relative_to(PACKAGE))
        if not inside.startswith(COMPILED) or inside in NOT_COMPILED:
            text = (ROOT / CODE_CACHE).read_text()
            changes[CODE_CACHE] = text.replace(DIGEST, f'SOURCES = "{self.digest}"')
        try:
            for path, text in changes.items():
                (self.place / path).write_text(text)
            code, said = self._run(tests, LIMIT)
        finally:
            for path in changes:
                shutil.copy2(ROOT / path, self.place / path)
        if code in PASSED:
            return ""
        if "Timeout (" in said:
            return "a test that did not end" if self._end_soon(tests) else ""
        failed = [line for line in said.splitlines() if line.startswith(("FAILED", "ERROR"))]
        if not failed and code > 0:  # nothing was tested: that is no test's merit
            raise RuntimeError(said)
        by = failed[0].split(" - ")[0] if failed else f"{tests[0]}: crashed by signal {-code}"
        if by.startswith("FAILED "):
            self._check(by.removeprefix("FAILED "))
        return by

    def _check(self, test: str) -> None:
        """Raise an error if a test fails without a change, too: then it tells nothing."""
        function = test.partition("[")[0]
        if function not in self.checked:
            code, said = self._run([test], LIMIT)
            if code not in (*PASSED, UNKNOWN):
                raise RuntimeError(said)
            self.checked.add(function)

    def _end_soon(self, tests: list[str]) -> bool:
        """Tell whether each test ends in time without a change, with no machine code at hand."""
        with tempfile.TemporaryDirectory() as empty:
            return self._run(tests, LIMIT / 2, NUMBA_CACHE_DIR=empty)[0] in PASSED

    def _run(self, tests: list[str], limit: float, **settings: str) -> tuple[int, str]:
        """Run tests up to the first failure; return the exit code, and what was printed."""
        words = ["-x", "-q", "-p", "no:cacheprovider", *tests]
        words += ["-o", f"faulthandler_timeout={limit}", "-o", "faulthandler_exit_on_timeout=true"]
        with tempfile.NamedTemporaryFile("w+") as output:
            process = PROCESSES.Process(
                target=_pytest, args=(words, self.place, output.name, settings)
            )
            process.start()
            assert process.pid is not None
            try:
                process.join()
            finally:
                with suppress(ProcessLookupError):  # what tests started and left behind
                    os.killpg(process.pid, 9)
                process.join()
            return process.exitcode or 0, output.read()


PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(
    ["matplotlib.figure", "numba", "pytest", "rich", "scipy.optimize", "scipy.stats"]
)
"""Processes that begin with what takes longest to import."""


def _pytest(words: list[str], place: Path, output: str, settings: dict[str, str]) -> None:
    """Run pytest in a copy of the project, in a process group of its own."""
    os.setsid()
    file = os.open(output, os.O_WRONLY | os.O_APPEND)
    os.dup2(file, 1)
    os.dup2(file, 2)
    os.chdir(place)
    os.environ |= {"PYTHONPATH": str(place / "src"), "PYTHONDONTWRITEBYTECODE": "1", **settings}
    sys.path[:0] = ["", str(place / "src")]
    sys.dont_write_bytecode = True

    import numba
    import pytest

    numba.core.config.reload_config()
    code = pytest.main(words)
    sys.stdout.flush()
    os._exit(code)


def main() -> None:
    """Draw mutants, try them, and print those that no test noticed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seed", type=int)
    parser.add_argument("count", type=int)
    parser.add_argument("folders", nargs="*", metavar="FOLDER")
    parser.add_argument("--first", type=int, default=0, help="how many to leave out")
    parser.add_argument("--workers", type=int, default=WORKERS, help="how many at a time")
    words = parser.parse_args()
    mutants = drawn(words.seed, words.count, words.folders)[words.first :]
    free: SimpleQueue[Copy] = SimpleQueue()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(words.workers) as pool:
        for number in range(words.workers):
            free.put(Copy(Path(folder, str(number))))

        def tried(mutant: Mutant) -> tuple[Mutant, str, float]:
            copy, start = free.get(), time.monotonic()
            try:
                return mutant, copy.noticed(mutant), time.monotonic() - start
            except RuntimeError as error:  # a test tells nothing: this says nothing of the others
                return mutant, f"ERROR, try it again: {error}", time.monotonic() - start
            finally:
                free.put(copy)

        caught = 0
        for done in as_completed(pool.submit(tried, mutant) for mutant in mutants):
            mutant, by, took = done.result()
            caught += bool(by) and not by.startswith("ERROR,")
            where = f"{mutant.module.relative_to(PACKAGE)}:{mutant.line}"
            print(f"{where:40} {took:4.0f} s  {by or 'NOTICED BY NO TEST'}", flush=True)
            if not by:
                print(f"    - {mutant.before}\n    + {mutant.after}", flush=True)
    print(f"\nnoticed: {caught} of {len(mutants)}, {caught / len(mutants):.1%}")


if __name__ == "__main__":
    main()
