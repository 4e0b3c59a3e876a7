"""Machine code on disk: compiled again when sources change or files are damaged, kept if it can."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import pytest
from numba import typeof
from numba.core.caching import IndexDataCacheFile
from numba.core.registry import cpu_target

import fpbandits
from fpbandits import UCB1, load_problem
from fpbandits.engine import code_cache
from fpbandits.engine.code_cache import NOT_OF_A_RUN, _Nowhere, digest_of, is_foreign, sources
from fpbandits.engine.compiling import compiled
from fpbandits.engine.ready import plan_once


def test_changed_sources_are_compiled_again() -> None:
    """The key of the machine code on disk holds a digest of all sources that go into it."""
    cache: Any = plan_once._cache  # type: ignore[attr-defined]  # Numba's
    key = cache._index_key((), cpu_target.target_context.codegen())
    assert code_cache.SOURCES in key


def test_every_source_that_decides_a_run_is_digested(tmp_path: Path) -> None:
    """A file that is added to the package counts, but for folders that only ask for runs."""
    package = tmp_path / "fpbandits"
    original = Path(fpbandits.__file__).parent
    shutil.copytree(original, package, ignore=shutil.ignore_patterns("__pycache__"))
    before = digest_of(sources(package))
    assert before == code_cache.SOURCES
    for folder in (package, *(path for path in package.iterdir() if path.is_dir())):
        added = folder / "added.py"
        added.write_text("x = 1\n")
        counts = folder.name not in NOT_OF_A_RUN
        assert (digest_of(sources(package)) != before) is counts, folder.name
        added.unlink()


RUNS = """
import sys
import fpbandits as fpb
from fpbandits.policies import POLICIES
fpb.simulate(fpb.load_problem("paper:two"), fpb.UCB1(), truth="prior", horizon=50, runs=2)
for kind in POLICIES.values():
    fpb.Agent(fpb.load_problem("paper:permutations"), kind()).ask()
files = [getattr(module, "__file__", None) for name, module in sys.modules.items()
         if name.startswith("fpbandits.")]
print(*files, sep="\\n")
"""


def test_whatever_a_run_imports_is_digested() -> None:
    done = child(RUNS)
    assert done.returncode == 0, done.stderr
    imported = {Path(file).resolve() for file in done.stdout.splitlines()}
    assert len(imported) > 40
    assert imported <= {path.resolve() for path in sources()}


def test_machine_code_that_cannot_be_kept_still_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[object] = []

    def full(*others: object) -> None:
        tried.append(others)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(IndexDataCacheFile, "save", full)
    assert compiled(_double)(21) == 42
    assert len(tried) == 1


def _double(number: int) -> int:
    return 2 * number


def child(program: str, *before: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a process of its own, in an environment with other settings."""
    return subprocess.run(
        [*before, sys.executable, "-c", program],
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        check=False,
    )


SMALL = """
def triple(number):
    return 3 * number

def halve(number):
    return number / 2
"""

CALLS = """
import sys; sys.path.insert(0, {folder!r})
import small
from fpbandits.engine.compiling import compiled
for _ in range({times}):
    triple, halve = compiled(small.triple), compiled(small.halve)
    print(triple(14), triple(1.5), halve(5.0))
    for each in (triple, halve):
        print(sum(each.stats.cache_hits.values()), sum(each.stats.cache_misses.values()))
"""


@pytest.fixture
def call(tmp_path: Path) -> Callable[..., list[str]]:
    """Call two small functions in a new process: what they return, and hits and misses of each.

    With ``times=2`` they are made and called once more there, from what is on disk by then.
    """
    (tmp_path / "small.py").write_text(SMALL)
    kept = str(tmp_path / "kept")

    def call(times: int = 1) -> list[str]:
        done = child(CALLS.format(folder=str(tmp_path), times=times), NUMBA_CACHE_DIR=kept)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout.splitlines()

    return call


RESULTS = "42 4.5 2.5"


def emptied(content: bytes) -> bytes:
    return b""


def cut(content: bytes) -> bytes:
    return content[: len(content) // 2]


def garbled(content: bytes) -> bytes:
    """Some bytes, past the beginning: a pickle still, but LLVM would abort on the code within."""
    first, last = len(content) // 10, len(content) // 5
    return content[:first] + bytes(b ^ 0x55 for b in content[first:last]) + content[last:]


def foreign(content: bytes) -> bytes:
    return b"something else\n" * 50


def test_damaged_machine_code_is_compiled_again(
    call: Callable[..., list[str]], tmp_path: Path
) -> None:
    """The index of one function, and the code of the other."""
    assert call() == [RESULTS, "0 2", "0 1"]
    for damage in (emptied, cut, garbled, foreign):
        for files in ("small.triple*.nbi", "small.halve*.nbc"):
            (file,) = (tmp_path / "kept").rglob(files)
            file.write_bytes(damage(file.read_bytes()))
        again = [RESULTS, "0 2", "0 1", RESULTS, "2 0", "1 0"]
        assert call(times=2) == again, damage.__name__


def test_machine_code_under_the_key_of_another_is_not_run(
    call: Callable[..., list[str]], tmp_path: Path
) -> None:
    """Two processes that write at once may both take the same file for different code."""
    call()
    of_whole, of_real = sorted((tmp_path / "kept").rglob("small.triple*.nbc"))
    shutil.copy(of_whole, of_real)
    assert call(times=2) == [RESULTS, "1 1", "1 0", RESULTS, "2 0", "1 0"]


class Mine(NamedTuple):
    number: int


def test_types_from_elsewhere_are_told_apart() -> None:
    """Also as part of another."""
    state = UCB1().new_state(load_problem("paper:two"))
    for own in (3, np.zeros(2), state, (state, 2.5)):
        assert not is_foreign(typeof(own))
    for foreign in (Mine(3), (2.5, Mine(3)), (state, (Mine(3), state))):
        assert is_foreign(typeof(foreign))


def test_whoever_waits_each_time_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_Nowhere, "has_warned", False)
    nowhere: Any = _Nowhere()
    nowhere.load_overload((typeof(Mine(3)),), None)  # machine code of such rules is never kept
    with pytest.warns(UserWarning, match="set NUMBA_CACHE_DIR to a folder that can, and the mach"):
        nowhere.load_overload((typeof(3),), None)
    nowhere.load_overload((typeof(3),), None)


UNPRIVILEGED = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]

PLAYED = """
import io, sys
from contextlib import redirect_stdout
from fpbandits.cli import main
sys.stderr.write("imported\\n")
for words in (["analyze", "paper:two"], ["simulate", "paper:two",
              "--policy", "least-squares", "--horizon", "50", "--runs", "3", "--json"]):
    with redirect_stdout(io.StringIO()) as out:
        try:
            main(words)
        except SystemExit as end:
            sys.stderr.write(f"{words[0]} {end.code} {bool(out.getvalue())}\\n")
"""


@pytest.mark.skipif(
    os.name != "posix" or os.geteuid() != 0 or not shutil.which("setpriv"),
    reason="only root can play another user, for whom the package is read-only",
)
def test_where_nothing_can_be_written_policies_are_compiled_each_time(tmp_path: Path) -> None:
    """Neither the package nor HOME: it runs, and says once how the code would be kept."""
    package = Path(fpbandits.__file__).parent
    with TemporaryDirectory() as folder:  # pytest's own are closed to others
        copy = Path(folder, "src", "fpbandits")
        shutil.copytree(package, copy, ignore=shutil.ignore_patterns("__pycache__"))
        for place in (Path(folder), copy.parent):
            place.chmod(0o755)
        done = child(
            PLAYED,
            *UNPRIVILEGED,
            PYTHONPATH=str(copy.parent),
            HOME="/nowhere",
            XDG_CACHE_HOME="/nowhere",
            NUMBA_CACHE_DIR="",
            MPLCONFIGDIR="/nowhere",
        )
        assert not list(copy.rglob("__pycache__"))
    told = done.stderr.splitlines()
    assert done.returncode == 0, done.stderr
    told = [line for line in told if "is compiling" not in line]  # if that takes long
    assert [line for line in told if "NUMBA_CACHE_DIR" not in line] == [
        "imported",
        "analyze 0 True",
        "simulate 0 True",
    ]
    (note,) = (line for line in told if "NUMBA_CACHE_DIR" in line)
    assert told.index(note) == 2, "when it compiles, and not before"
