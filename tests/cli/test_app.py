"""The commands together: help, mistakes, exit codes, and output that cannot be written."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
from contextlib import suppress
from inspect import Parameter, signature
from pathlib import Path
from typing import Any

import pytest
from command import COMMAND, refusal, run
from waiting import LONG

from fpbandits import __version__
from fpbandits.cli import main, output
from fpbandits.cli.app import COMMANDS


@pytest.mark.parametrize("words", [["analyze", "paper:two"], ["analyze", "paper:two", "--json"]])
def test_output_that_cannot_be_written_makes_one_line(words: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        process = subprocess.run(
            [*COMMAND, *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert process.returncode == 1
    assert process.stderr.startswith("error: the output could not be written (No space left")
    assert len(process.stderr.splitlines()) == 1


def test_a_terminal_without_greek_gets_question_marks() -> None:
    process = subprocess.run(
        [*COMMAND, "analyze", "paper:two", "--truth", "theta2", "--bounds"],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0
    assert "losses never stop" in process.stdout
    assert "?" in process.stdout
    assert process.stderr == ""


def test_help_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    for words in ([], ["--help"]):
        code, out, _ = run(capsys, *words)
        assert code == 0
        assert "analyze" in out
    code, out, _ = run(capsys, "--version")
    assert code == 0
    assert out.startswith("fpbandits ")


def test_no_summary_in_the_help_is_cut_off(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    _, out, _ = run(capsys, "--help")
    commands = out.partition("Commands:\n")[2].splitlines()
    assert len(commands) == len(COMMANDS), "a line for each"
    for line in commands:
        assert line.endswith(".")
        assert not line.endswith("...")
        _, text, _ = run(capsys, line.split()[0], "--help")
        assert max(map(len, text.splitlines())) <= 80
        assert line.split(maxsplit=1)[1] in " ".join(text.split())


def test_the_package_runs_as_a_module() -> None:
    command = [sys.executable, "-m", "fpbandits", "--version"]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (process.returncode, process.stderr) == (0, "")
    assert process.stdout.startswith("fpbandits ")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_can_be_shown(shell: str) -> None:
    process = subprocess.run(
        [*COMMAND, "--show-completion", shell],
        env={**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0
    assert "_FPBANDITS_COMPLETE=complete_" in process.stdout


def test_help_does_not_load_the_heavy_packages() -> None:
    script = (
        "import sys\nfrom fpbandits.cli import main\n"
        "try: main(['--help'])\nexcept SystemExit: pass\n"
        "print(sorted({'numpy', 'scipy', 'matplotlib', 'rich', 'numba'} & set(sys.modules)))"
    )
    output = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert output.stdout.splitlines()[-1] == "[]"


def test_a_closed_pipe_makes_no_traceback() -> None:
    process = subprocess.Popen(
        [*COMMAND, "analyze", "paper:grid", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert b"Traceback" not in process.stderr.read()
    process.wait(timeout=LONG)
    process.stderr.close()


def test_ctrl_c_exits_130_without_a_traceback(tmp_path: Path) -> None:
    path = tmp_path / "slow.csv"
    rows = (f"p{i},{i % 97 / 100},{i % 89 / 100},{i % 83 / 100}\n" for i in range(2000))
    path.write_text("model,a,b,c\n" + "".join(rows))
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, "analyze", str(path), "--json"],
        stdout=subprocess.PIPE,
        stderr=theirs,
        # Where the tests run in the background, a child would inherit that Ctrl-C is ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    os.close(theirs)
    err = b""
    while b"analyzing" not in err:  # its bar: the work has begun
        err += os.read(ours, 2**12)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=LONG)
    with suppress(OSError):  # the end of a terminal
        while more := os.read(ours, 2**12):
            err += more
    os.close(ours)
    assert process.returncode == 130
    assert out == b""
    assert b"Traceback" not in err


INTERRUPTED_IMPORT = """
import sys

class Interrupts:
    def find_spec(self, name, *others):
        if name == sys.argv[1]:
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupts())
from fpbandits.cli import main
main(["simulate", "paper:two", "--runs", "2", "--horizon", "10"])
"""


@pytest.mark.parametrize("module", ["typer", "fpbandits.cli.app", "numpy", "numba"])
def test_ctrl_c_may_come_while_modules_are_imported(module: str) -> None:
    process = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_IMPORT, module], capture_output=True, check=False
    )
    assert process.returncode == 130
    assert process.stdout == b""
    assert process.stderr.strip() == b""


WITHOUT_THE_EXTRA = """
import json, os, sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO

class Missing:
    def find_spec(self, name, *others):
        if name.partition(".")[0] in ("matplotlib", "jinja2"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
from fpbandits.cli import main
found = {}
for words, folder in json.load(sys.stdin).items():
    os.chdir(folder)
    with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err:
        try:
            main(words.split())
        except SystemExit as end:
            found[words] = end.code, out.getvalue(), err.getvalue(), sorted(os.listdir())
json.dump(found, sys.stdout)
"""
COLUMNS = "--unit user --arm arm --reward reward"

NOT_DRAWING = [
    "--help",
    "policies",
    "analyze paper:two",
    "simulate paper:two --policy ucb1 --horizon 100 --runs 2 --workers 1",
    f"fit log.csv {COLUMNS} --types 2 --save models.toml",
    f"evaluate log.csv paper:two {COLUMNS} --uniform",
]
DRAWING = [
    "analyze paper:two --plot figure.png",
    "simulate paper:two --out folder",
    f"fit log.csv {COLUMNS} --report folder",
    "leaderboard paper:two --out folder",
    "sweep study.toml",
    "reproduce",
]


@pytest.fixture(scope="module")
def without_the_extra(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Run commands where the packages of fpbandits[plot] cannot be imported, in one process.

    Return each command's exit code, output, errors and files. Each has a folder of its own.
    """
    rows = [f"{user},arm{arm},{user // arm % 2}" for user in range(40) for arm in (1, 2, 1)]
    folders = {}
    for words in (*NOT_DRAWING, *DRAWING):
        folder = tmp_path_factory.mktemp("without")
        (folder / "log.csv").write_text("\n".join(["user,arm,reward", *rows]))
        (folder / "study.toml").write_text('problems = { problem = "paper:two", truth = "theta1" }')
        folders[words] = str(folder)
    process = subprocess.run(
        [sys.executable, "-c", WITHOUT_THE_EXTRA],
        input=json.dumps(folders),
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    return dict(json.loads(process.stdout))


@pytest.mark.parametrize("words", NOT_DRAWING)
def test_commands_that_do_not_draw_need_no_matplotlib(
    without_the_extra: dict[str, Any], words: str
) -> None:
    code, out, err, _ = without_the_extra[words]
    assert code == 0, err
    assert out


@pytest.mark.parametrize("words", DRAWING)
def test_commands_that_draw_name_the_extra_in_one_line(
    without_the_extra: dict[str, Any], words: str
) -> None:
    code, out, err, files = without_the_extra[words]
    assert (code, out) == (2, "")
    assert err == "error: drawing needs matplotlib: pip install 'fpbandits[plot]'\n"
    assert files == ["log.csv", "study.toml"]


@pytest.mark.parametrize("command", ["simulate paper:two", "leaderboard", "reproduce"])
def test_an_empty_name_is_no_folder(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    message = refusal(capsys, *command.split(), "--runs", "2", "--out", "")
    assert "--out is empty: name a folder" in message
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("columns", ["0", "1", "-3", "many"])
def test_tables_are_printed_whatever_the_width(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    for words in (["policies"], ["analyze", "paper:two", "--bounds"]):
        code, out, _ = run(capsys, *words)
        assert code == 0
        assert "ucb" in out.lower()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["analize", "paper:two"], "No such command 'analize'. Did you mean 'analyze'?"),
        (["analyze"], "Missing argument 'problem'"),
        (["analyze", "paper:two", "--treu", "x"], "No such option: --treu"),
        (
            ["zzz"],
            "No such command 'zzz'. Known are analyze, forecast, simulate, sweep, reproduce",
        ),
        (["Did you mean"], "No such command 'Did you mean'. Known are analyze, forecast"),
        (["my'replay'"], "No such command \"my'replay'\". Known are analyze, forecast"),
        (
            ["simulate", "paper:two", "--truths", "x"],
            "No such option: --truths: did you mean --truth? Known are --truth, --truth-means",
        ),
        (["simulate", "paper:two", "--true", "x"], "No such option: --true: it is now --truth"),
        (["simulate", "paper:two", "--step"], "No such option: --step: it is now --no-leap"),
        (["simulate", "paper:two", "--exact"], "--exact: it is now --worst-case"),
        (["fit", "log.csv", "--out", "m.toml"], "No such option: --out: it is now --save"),
        (["replay", "fpbandits.db"], "No such command 'replay': it is now verify"),
        (["policies", "--zzz"], "No such option: --zzz: known are --json, --help"),
        (["--zzz"], "No such option: --zzz: known are --version, "),
        (["analyze", "paper:two", "--truth"], "Option '--truth' requires an argument"),
        (["analyze", "paper:two", "x"], "Got unexpected extra argument"),
    ],
)
def test_mistakes_get_one_line_and_exit_code_2(
    capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    assert message in refusal(capsys, *words)


DEFAULTS = {
    "analyze": {"bounds": False},
    "forecast": {"horizon": 10_000, "runs": 1000, "seed": 0, "error": 0.05, "off": 0.05},
    "simulate": {
        "horizon": 100_000,
        "runs": 100,
        "seed": 0,
        "shuffle": False,
        "no_leap": False,
        "worst_case": False,
        "delay": "0",
    },
    "leaderboard": {"seed": 0, "delay": "0"},
    "fit": {"family": "bernoulli", "missing": "refuse", "seed": 0},
    "evaluate": {"uniform": False, "missing": "refuse", "seed": 0},
    "serve": {"store": "sqlite:///fpbandits.db", "host": "127.0.0.1", "port": 8000},
    "token": {"role": "decide", "remark": ""},
    "lab": {"problem": "paper:two", "port": 0, "browser": True},
}
"""What options are if they are left out, besides those that are None or --json."""


@pytest.mark.parametrize("name", COMMANDS)
def test_what_is_left_out_is_what_the_help_says(name: str) -> None:
    parameters = signature(COMMANDS[name]).parameters
    defaults = {each.name: each.default for each in parameters.values()}
    assert defaults.pop("json", False) is False
    given = {
        option: default
        for option, default in defaults.items()
        if default not in (None, Parameter.empty)
    }
    assert given == DEFAULTS.get(name, {})


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("analyze", ["all, one by one"]),
        ("forecast", ["1e4", "drawn from the prior", "frugal", "1000", "0", "0.05", "0.05"]),
        (
            "simulate",
            [
                "the problem's own, else drawn from the prior",
                "frugal",
                "1e5",
                "100",
                "0",
                "100 times",
                "one per core",
            ],
        ),
        ("lab", ["paper:two", "0", "browser"]),
        ("serve", ["sqlite:///fpbandits.db", "127.0.0.1", "8000"]),
        ("reproduce", ["report", "1000", "0", "one per core"]),
    ],
)
def test_each_default_is_shown_once(
    capsys: pytest.CaptureFixture[str], command: str, shown: list[str]
) -> None:
    words = " ".join(run(capsys, command, "--help")[1].split())
    found = re.findall(r"\[default: ([^\]]*)\]", words)
    assert found[: len(shown)] == shown


@pytest.mark.parametrize(
    ("command", "least_width"), [(["analyze", "paper:two", "--truth", "theta1"], 80)]
)
def test_tables_get_the_width_that_they_need(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    command: list[str],
    least_width: int,
) -> None:
    widths: list[int] = []
    monkeypatch.setattr(output, "print_table", lambda table, least: widths.append(least))
    run(capsys, *command)
    assert widths == [least_width]


def test_words_may_come_from_the_command_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["fpbandits", "--version"])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 0
    assert capsys.readouterr().out == f"fpbandits {__version__}\n"


def test_output_that_nobody_takes_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A parent process may have closed both streams."""
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    for words, code in ((["--version"], 0), (["zzz"], 2)):
        with pytest.raises(SystemExit) as caught:
            main(words)
        assert caught.value.code == code


def test_a_full_disk_is_exit_code_1(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*given: object, **named: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("fpbandits.cli.app.app", fails)
    with pytest.raises(SystemExit) as caught:
        main(["policies"])
    assert caught.value.code == 1
    assert capsys.readouterr().err == (
        "error: the output could not be written (No space left on device)\n"
    )
