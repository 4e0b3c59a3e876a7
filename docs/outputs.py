"""What the commands on a page print: run, compared and refreshed.

In a block that begins with ``$ `` every such line is a command, and the lines below it are its
output; ``…`` there stands for the rest of a line or of a number. A block of the kind ``toml`` whose
first line is ``# NAME.toml``, on any page, is a file in the folder where commands run, in order. A
block of the kind ``text`` is only shown.

    python docs/outputs.py [PAGE …]        refresh the outputs of these pages, or of all
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
_ELSEWHERE = {"walk.md"}
"""Pages whose commands need data that are not in this repository; examples/walk.py runs them."""
PAGES = [
    ROOT / "README.md",
    *sorted(page for page in (ROOT / "docs").glob("*.md") if page.name not in _ELSEWHERE),
]

_BLOCK = re.compile(r"^```(?:console)?\n(\$ .*?)^```$", re.DOTALL | re.MULTILINE)
_FILE = re.compile(r"^```toml\n(# (\S+\.toml)\n.*?)^```$", re.DOTALL | re.MULTILINE)
_SERVER = "localhost:8000"
"""The server that commands of curl call."""


@dataclass(frozen=True)
class Command:
    """A command of a page, what stands below it, and where that begins and ends."""

    line: str
    expected: str
    start: int
    stop: int


def commands(text: str) -> Iterator[Command]:
    r"""Find the commands of a page.

    >>> [(each.line, each.expected) for each in commands("```console\n$ a\nb\n$ c\n```\n")]
    [('a', 'b\n'), ('c', '')]
    """
    for block in _BLOCK.finditer(text):
        found = list(re.finditer(r"^\$ (.*)\n", block[1], re.MULTILINE))
        ends = [each.start() for each in found[1:]] + [len(block[1])]
        for each, end in zip(found, ends, strict=True):
            start, stop = block.start(1) + each.end(), block.start(1) + end
            yield Command(each[1], text[start:stop], start, stop)


def save_files(folder: Path) -> None:
    """Save the problem files that pages show."""
    for page in PAGES:
        for block in _FILE.finditer(page.read_text()):
            (folder / block[2]).write_text(block[1])


def agrees(expected: str, printed: str) -> bool:
    r"""Say whether a command printed what stands below it.

    >>> agrees("1.2… s\n", "1.234 s\n"), agrees("1.2 s\n", "1.234 s\n")
    (True, False)
    """
    return re.fullmatch(re.escape(expected).replace("…", ".*?"), printed) is not None


def run(line: str, folder: Path, server: str = _SERVER) -> str:
    """Run a command in a folder, and return what it prints."""
    line = line.replace(_SERVER, server)
    python, paths = (
        shlex.quote(sys.executable),
        f"{ROOT / 'src'}:{os.environ.get('PYTHONPATH', '')}",
    )
    line = re.sub(r"^(\.venv/bin/)?fpbandits\b", f"{python} -m fpbandits", line)
    line = re.sub(r"^python3? (examples/)?", lambda found: _python(python, found[1]), line)
    done = subprocess.run(
        ["bash", "-c", line],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": paths, "COLUMNS": "80", "TERM": "dumb"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"{line}: exit code {done.returncode}\n{done.stderr}")
    return "".join(f"{each.rstrip()}\n" for each in done.stdout.splitlines())


def _python(python: str, examples: str | None) -> str:
    return f"{python} {ROOT / 'examples'}/" if examples else f"{python} "


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Run a server whose store is fpbandits.db in a folder, and give its address."""
    line = [sys.executable, "-m", "fpbandits", "serve", "--port", "0"]
    with subprocess.Popen(line, cwd=folder, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        try:
            for said in server.stderr:
                if found := re.search(r"127\.0\.0\.1:\d+", said):
                    yield found[0]
                    break
        finally:
            server.terminate()


def refreshed(text: str, folder: Path, server: str) -> str:
    """Return a page with the outputs that its commands have now."""
    save_files(folder)
    parts, end = [], 0
    for command in commands(text):
        printed = run(command.line, folder, server)
        kept = agrees(command.expected, printed)
        parts += [text[end : command.start], command.expected if kept else printed]
        end = command.stop
    return "".join([*parts, text[end:]])


def main(pages: list[Path]) -> None:
    """Refresh pages."""
    for page in pages or PAGES:
        text = page.read_text()
        if not any(commands(text)):
            continue
        with TemporaryDirectory() as name, serving(Path(name)) as server:
            new = refreshed(text, Path(name), server)
        if new != text:
            page.write_text(new)
        sys.stdout.write(f"{page.name}: {'as it was' if new == text else 'refreshed'}\n")


if __name__ == "__main__":
    main([Path(name) for name in sys.argv[1:]])
