"""Tests stand where their module does: src/fpbandits/a/b.py is tested in tests/a/test_b.py."""

from __future__ import annotations

import io
import tokenize
from pathlib import Path

import fpbandits

TESTS = Path(__file__).parent
SOURCES = Path(fpbandits.__file__).parent
SHORT = 30
"""Modules with no more lines of code than this may do without tests of their own."""

ELSEWHERE = {
    "evaluation/result.py": "made and read in evaluation/test_evaluate, report/test_evaluation",
    "fitting/kernels.py": "by hand and reward by reward: fitting/test_em, test_errors",
    "paper/report/bounds.py": "the whole report is drawn and read in paper/test_reproduce",
    "service/adopt.py": "with every store, by stores.py; service/test_upgrade, cli/test_upgrade",
    "service/batches.py": "service/test_batcher; with every store, by stores.py",
}
"""Modules that are tested elsewhere, and where."""

OF_NO_MODULE = {
    "test_conftest.py",
    "test_docs.py",
    "test_layout.py",
    "test_reference.py",
    "test_hostile.py",
    "test_old_files.py",
    "test_walk.py",
    "policies/test_leaps.py",
    "policies/test_stability_checks.py",
    "fitting/test_odd_logs.py",
    "simulation/test_store_crashes.py",
    "service/test_server_crashes.py",
    "service/test_chaos.py",
    "service/test_upgrade.py",
    "service/test_http_fuzz.py",
}
"""Tests of a page, of the repository, of all that is public, and those of a module that are slow
enough for a file of their own."""


def modules() -> dict[str, Path]:
    return {path.relative_to(SOURCES).as_posix(): path for path in SOURCES.rglob("*.py")}


def mirrored(module: str) -> str:
    """The place of a module's tests.

    >>> mirrored("a/b.py"), mirrored("__init__.py")
    ('a/test_b.py', 'test_init.py')
    """
    path = Path(module)
    return (path.parent / f"test_{path.stem.strip('_')}.py").as_posix()


def lines_of_code(text: str) -> int:
    """Lines that hold something other than comments and texts on their own.

    >>> lines_of_code('"a docstring"\\n\\nx = 1  # one\\ny = (\\n    2\\n)\\n')
    4
    """
    lines: set[int] = set()
    statement: list[tokenize.TokenInfo] = []
    nothing = (tokenize.COMMENT, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.NEWLINE:
            if any(each.type != tokenize.STRING for each in statement):
                lines.update(n for each in statement for n in range(each.start[0], each.end[0] + 1))
            statement = []
        elif token.type not in nothing:
            statement.append(token)
    return len(lines)


def test_modules_have_tests_in_their_place() -> None:
    missing = [
        mirrored(module)
        for module, path in modules().items()
        if module not in ELSEWHERE
        and lines_of_code(path.read_text()) > SHORT
        and not (TESTS / mirrored(module)).exists()
    ]
    assert sorted(missing) == []


def test_tests_have_a_module_in_their_place() -> None:
    places = {mirrored(module) for module in modules()} | OF_NO_MODULE
    tests = {path.relative_to(TESTS).as_posix() for path in TESTS.rglob("test_*.py")}
    assert sorted(tests - places) == []


def test_what_is_said_to_be_elsewhere_is_there_no_more_than_it_must() -> None:
    for module, reason in ELSEWHERE.items():
        assert module in modules(), "the module is gone: so should be its line"
        assert not (TESTS / mirrored(module)).exists(), "it has tests of its own now"
        assert reason
