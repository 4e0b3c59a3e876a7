"""Are the tests able to fail? Change the code at random places, and see whether they notice.

A *mutant* is the package with one small change: another comparison, operator or constant, a
condition turned round. ``python benchmarks/mutants.py SEED COUNT [FOLDER …]`` draws some by a seed
from all of ``src/fpbandits``, or from the modules whose paths begin with one of the folders given.
Each is tried in a copy of its own: first the test file that mirrors the module, then all tests of
its package. A mutant that no test notices is printed as a diff: either a test is missing, or the
change makes no difference to anyone. Tests run with a limit of time, and a mutant that never ends
counts as noticed.
"""

from __future__ import annotations

import argparse
import ast
import copy
import difflib
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = Path("src", "fpbandits")
PATIENCE = 600.0
"""Seconds that the tests of one mutant may take."""

COPIED = ("src", "tests", "docs", "benchmarks", "examples", "README.md", "pyproject.toml")

COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
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


class Mutant(NamedTuple):
    """A module, and its text with one change."""

    module: Path
    line: int
    text: str


def changes(node: ast.AST) -> Iterator[Callable[[], None]]:
    """Yield the ways in which a node can be changed, each as a function that does it."""
    match node:
        case ast.Compare(ops=[compared]) if type(compared) in COMPARED:
            yield lambda: setattr(node, "ops", [COMPARED[type(compared)]()])
        case (
            ast.BinOp(op=op, left=left, right=right)
            | ast.AugAssign(op=op, target=left, value=right)
        ) if type(op) in COMPUTED:
            texts = any(isinstance(side, ast.JoinedStr) for side in (left, right))
            if not texts:  # words of a message are not what is tested here
                yield lambda: setattr(node, "op", COMPUTED[type(op)]())
        case ast.BoolOp(op=joined):
            other = ast.Or() if isinstance(joined, ast.And) else ast.And()
            yield lambda: setattr(node, "op", other)
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            yield lambda: setattr(node, "test", ast.UnaryOp(ast.Not(), test))
        case ast.Constant(value=bool(value)):
            yield lambda: setattr(node, "value", not value)
        case ast.Constant(value=int(value) | float(value)):
            yield lambda: setattr(node, "value", value + 1)


def _without_types(tree: ast.AST) -> Iterator[ast.AST]:
    """Walk a tree, but for what only a type checker reads."""
    for name, field in ast.iter_fields(tree):
        if name in ("annotation", "returns", "type_params", "decorator_list"):
            continue
        if isinstance(tree, ast.If) and ast.unparse(tree.test) == "TYPE_CHECKING":
            return
        for child in field if isinstance(field, list) else [field]:
            if isinstance(child, ast.AST):
                yield child
                yield from _without_types(child)


def places(module: Path) -> list[tuple[int, int, int]]:
    """Return all that can be changed in a module: nodes by number, the change, and the line."""
    tree = ast.parse((ROOT / module).read_text())
    return [
        (number, which, getattr(node, "lineno", 0))
        for number, node in enumerate(_without_types(tree))
        for which, _ in enumerate(changes(node))
    ]


def mutated(module: Path, number: int, which: int, line: int) -> Mutant:
    """Return a module with one change."""
    tree = copy.deepcopy(ast.parse((ROOT / module).read_text()))
    node = [*_without_types(tree)][number]
    [*changes(node)][which]()
    return Mutant(module, line, ast.unparse(ast.fix_missing_locations(tree)) + "\n")


def drawn(seed: int, count: int, folders: list[str]) -> list[Mutant]:
    """Draw mutants, each place of the code with the same chance."""
    modules = sorted(path.relative_to(ROOT) for path in (ROOT / PACKAGE).rglob("*.py"))
    chosen = [
        module
        for module in modules
        if not folders or any(str(module.relative_to(PACKAGE)).startswith(each) for each in folders)
    ]
    everywhere = [(module, *place) for module in chosen for place in places(module)]
    wanted = random.Random(seed).sample(everywhere, min(count, len(everywhere)))
    return [mutated(*each) for each in wanted]


def tests_of(module: Path) -> list[list[str]]:
    """Return what to run, in turn: the file that mirrors a module, and all tests of its package."""
    own = module.relative_to(PACKAGE)
    stem = "init" if own.stem == "__init__" else own.stem
    mirror = Path("tests", own.parent, f"test_{stem}.py")
    package = Path("tests", own.parts[0]) if len(own.parts) > 1 else Path("tests")
    whole = [str(package)]
    if len(own.parts) == 1:  # modules beside the packages: the tests that are beside theirs
        whole = [str(path.relative_to(ROOT)) for path in sorted((ROOT / "tests").glob("test_*.py"))]
    first = [[str(mirror), str(module)]] if (ROOT / mirror).exists() else []
    return [*first, whole]


def noticed(mutant: Mutant, place: Path) -> str:
    """Tell by which tests a mutant is noticed, in a copy of the project; "" if by none."""
    file = place / mutant.module
    right = file.read_text()
    file.write_text(mutant.text)
    try:
        for tests in tests_of(mutant.module):
            if _fail(tests, place):
                return tests[0]
    finally:
        file.write_text(right)
    return ""


def _fail(tests: list[str], place: Path) -> bool:
    words = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    settings = {**os.environ, "PYTHONPATH": str(place / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    process = subprocess.Popen(
        words,
        cwd=place,
        env=settings,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        return process.wait(PATIENCE) != 0
    except subprocess.TimeoutExpired:
        return True
    finally:
        with_children = os.getpgid(process.pid) if process.poll() is None else None
        if with_children is not None:
            os.killpg(with_children, 9)
        process.wait()


def shown(mutant: Mutant) -> str:
    """Return what a mutant changes, as a diff without its surroundings."""
    right = ast.unparse(ast.parse((ROOT / mutant.module).read_text())).splitlines()
    lines = difflib.unified_diff(right, mutant.text.splitlines(), n=0, lineterm="")
    return "\n".join(f"    {line}" for line in [*lines][3:])


def main() -> None:
    """Draw mutants, try them, and print those that no test noticed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seed", type=int)
    parser.add_argument("count", type=int)
    parser.add_argument("folders", nargs="*", metavar="FOLDER")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    words = parser.parse_args()
    mutants = drawn(words.seed, words.count, words.folders)
    free: SimpleQueue[Path] = SimpleQueue()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(words.workers) as pool:
        for number in range(words.workers):
            place = Path(folder, str(number))
            for name in COPIED:
                source, target = ROOT / name, place / name
                if source.is_dir():
                    shutil.copytree(source, target)
                else:
                    place.mkdir(exist_ok=True)
                    shutil.copy(source, target)
            free.put(place)

        def tried(mutant: Mutant) -> str:
            place = free.get()
            try:
                return noticed(mutant, place)
            finally:
                free.put(place)

        caught = 0
        for mutant, by in zip(mutants, pool.map(tried, mutants), strict=True):
            caught += bool(by)
            where = f"{mutant.module.relative_to(PACKAGE)}:{mutant.line}"
            print(f"{where:50} {by or 'NOTICED BY NO TEST'}", flush=True)
            if not by:
                print(shown(mutant), flush=True)
    print(f"\nnoticed: {caught} of {len(mutants)}, {caught / len(mutants):.1%}")


if __name__ == "__main__":
    main()
