"""The command line: ``fpbandits analyze | simulate | sweep | reproduce | leaderboard | policies``.

Commands turn words into calls of the library and results into text. Whatever the caller did wrong
ends in `main`, as one line on standard error and exit code 2. Heavy imports stand inside the
commands, so that ``--help`` answers at once.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from io import StringIO, TextIOWrapper
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.exceptions import TyperException

from fpbandits import __version__
from fpbandits.errors import Error, InputError, quote

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)

Workers = Annotated[
    str | None, typer.Option("--workers", metavar="N", help="Threads.  [default: one a core]")
]
Dask = Annotated[
    str | None,
    typer.Option("--dask", metavar="ADDRESS", help="Run on the Dask cluster of this scheduler."),
]


def main(arguments: list[str] | None = None) -> None:
    """Run the command line, and exit: 0 for success, 2 for bad input, 130 for Ctrl-C.

    Output that cannot be written (a full disk, a pipe that was closed) ends with exit code 1.
    """
    words = sys.argv[1:] if arguments is None else arguments
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by whoever started us
            setattr(sys, name, StringIO())
        elif isinstance(stream, TextIOWrapper):
            # A terminal that lacks a letter shows a question mark, not a traceback.
            stream.reconfigure(errors="replace")
    try:
        code = app(words or ["--help"], prog_name="fpbandits", standalone_mode=False)
        sys.stdout.flush()
    except TyperException as error:
        _leave(2, error.format_message())
    except Error as error:
        _leave(2, str(error))
    except OSError as error:
        # What is still in the buffer would fail again when Python shuts down.
        sys.stdout = StringIO()
        _leave(1, f"the output could not be written ({error.strerror})")
    sys.exit(code if isinstance(code, int) else 0)


def _leave(code: int, message: str) -> None:
    sys.stderr.write(f"error: {' '.join(message.split())}\n")
    sys.exit(code)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"fpbandits {__version__}")
        raise typer.Exit


@app.callback()
def fpbandits(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Decide when you know the candidates.

    Bandits whose unknown environment is one of a finite set of known models.

    A PROBLEM is a .toml or .csv file, or a built-in one: paper:two, paper:permutations, paper:grid.
    """


@app.command()
def analyze(
    problem: Annotated[str, typer.Argument(help="A .toml or .csv file, or a built-in name.")],
    true: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The true parameter.  [default: each in turn]"),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON for machines.")] = False,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw the means and who is confused, as .png or .svg."),
    ] = None,
) -> None:
    """Say what a set of models allows: what is learned for free, and what must cost."""
    from fpbandits.files import load_problem
    from fpbandits.theory.analysis import analyze

    if plot is not None:
        from fpbandits.report.figures import check_figure_path, save_figure
        from fpbandits.report.structure import structure_figure

        check_figure_path(plot)
    loaded = load_problem(problem)
    figure = structure_figure(loaded) if plot is not None else None
    analysis = analyze(loaded, true=true, progress=_progress)
    if plot is not None and figure is not None:
        save_figure(figure, plot)
    if json:
        _print_json(analysis.as_dict())
    else:
        from fpbandits.report.tables import analysis_table

        _print_table(analysis_table(analysis, loaded), 80)
    if plot is not None:
        from fpbandits.storage import shown

        sys.stderr.write(f"wrote {shown(plot)}\n")


@app.command()
def simulate(
    problem: Annotated[str, typer.Argument(help="A .toml or .csv file, or a built-in name.")],
    true: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The true parameter.  [default: the problem's own]"),
    ] = None,
    true_means: Annotated[
        str | None,
        typer.Option(metavar="M,M,..", help="The arms' true means, for a truth outside Θ."),
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[:OPTION=VALUE]",
            help="A policy; may be given again.  [default: optimist]",
        ),
    ] = None,
    horizon: Annotated[str, typer.Option(metavar="T", help="Plays in a run.")] = "1e5",
    runs: Annotated[str, typer.Option(metavar="N", help="Runs of each policy.")] = "100",
    seed: Annotated[str, typer.Option(metavar="N", help="What random streams come from.")] = "0",
    times: Annotated[
        str | None,
        typer.Option(metavar="T,T,..", help="When to record.  [default: 100 times, in log t]"),
    ] = None,
    shuffle: Annotated[
        bool, typer.Option("--shuffle", help="Reorder arms and parameters in each run.")
    ] = False,
    step: Annotated[bool, typer.Option("--step", help="Play step by step.")] = False,
    exact: Annotated[
        bool, typer.Option("--exact", help="Leap only where no rewards could matter.")
    ] = False,
    workers: Workers = None,
    dask: Dask = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Keep finished runs here, and result.npz, regret.csv and regret.png in the end.",
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON for machines.")] = False,
) -> None:
    """Play policies on a problem, many runs each, at any horizon, and show their regret.

    With --out, the same command goes on after an interruption, and may ask for more runs.
    """
    from fpbandits.files import load_problem
    from fpbandits.policies import DEFAULT, parse_policy
    from fpbandits.simulation.simulate import simulate
    from fpbandits.storage import make_folder

    if true is not None and true_means is not None:
        raise InputError("--true and --true-means both say what is true: give one of them")
    if step and exact:
        raise InputError("--step and --exact exclude each other: give one of them")
    words = policy or [DEFAULT.name]
    for word in words:
        if words.count(word) > 1:
            raise InputError(f"--policy {word} is given twice")
    loaded = load_problem(problem)
    chosen = {word: parse_policy(word) for word in words}
    if out is not None:
        make_folder(out)
        if (out / "result.npz").is_file() and not (out / "manifest.json").is_file():
            raise InputError(f"{out}: holds a result of an earlier version: name another folder")
    with _playing(out, workers, dask) as (_, how):
        result = simulate(
            loaded,
            chosen,
            true=true if true_means is None else _numbers("--true-means", true_means),
            horizon=_number("--horizon", horizon),
            runs=_number("--runs", runs),
            seed=_number("--seed", seed),
            times=None if times is None else _numbers("--times", times),
            shuffle=shuffle,
            leap=not step,
            exact=exact,
            out=out,
            **how,
        )
    if out is not None:
        result.save(out / "result.npz")
        result.to_csv(out / "regret.csv")
        result.plot(out / "regret.png")
    if json:
        _print_json(result.as_dict())
    else:
        sys.stdout.write(result.table() + "\n")
    if out is not None:
        sys.stderr.write(f"wrote {out / 'result.npz'}, regret.csv and regret.png\n")


@app.command()
def reproduce(
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where the report goes.  [default: report]"),
    ] = None,
    runs: Annotated[
        str | None,
        typer.Option(metavar="N", help="Runs of most experiments.  [default: 1000]"),
    ] = None,
    seed: Annotated[
        str | None,
        typer.Option(metavar="N", help="What random streams come from.  [default: 0]"),
    ] = None,
    source: Annotated[
        Path | None,
        typer.Option(
            "--from", metavar="DIR", help="Run nothing: draw and judge the results in this report."
        ),
    ] = None,
    workers: Workers = None,
    dask: Dask = None,
    json: Annotated[bool, typer.Option("--json", help="Print the claims as JSON.")] = False,
) -> None:
    """Run every experiment of the paper, judge its claims, and write report.html.

    Finished runs are kept: after an interruption the same command goes on from there.
    """
    from fpbandits.paper.experiments import EXPERIMENTS, RUNS
    from fpbandits.paper.reproduce import claims_json, reproduce

    if source is not None and (runs is not None or seed is not None):
        raise InputError("--from takes results as they are: leave out --runs and --seed")
    folder = out or source or Path("report")
    titles = {name: experiment.title for name, experiment in EXPERIMENTS.items()}
    with _playing(folder, workers, dask, titles) as (bar, how):
        report = reproduce(
            folder,
            runs=RUNS if runs is None else _number("--runs", runs),
            seed=0 if seed is None else _number("--seed", seed),
            source=source,
            drawing=lambda share: bar.show("drawing the figures", 0.0, share),
            **how,
        )
    if json:
        sys.stdout.write(claims_json(report.claims).decode())
    else:
        sys.stdout.write(f"{report.summary()}\n")
    sys.stderr.write(f"wrote {report.path}\n")


@app.command()
def leaderboard(
    runs: Annotated[str, typer.Option(metavar="N", help="Runs in each contest.")] = "100",
    horizon: Annotated[str, typer.Option(metavar="T", help="Plays in a run.")] = "1e5",
    seed: Annotated[str, typer.Option(metavar="N", help="What random streams come from.")] = "0",
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Keep finished runs here, and leaderboard.json, .png and .svg in the end.",
        ),
    ] = None,
    workers: Workers = None,
    dask: Dask = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON for machines.")] = False,
) -> None:
    """Let every policy play the paper's problems, random ones and wrong models, and rank them.

    With --out, the same command goes on after an interruption, and may ask for more runs.
    """
    from fpbandits.leaderboard import play

    with _playing(out, workers, dask) as (_, how):
        board = play(
            runs=_number("--runs", runs),
            horizon=_number("--horizon", horizon),
            seed=_number("--seed", seed),
            out=out,
            **how,
        )
    if out is not None:
        board.save(out)
    if json:
        _print_json(board.as_dict())
    else:
        from fpbandits.report.tables import leaderboard_table

        _print_table(leaderboard_table(board.as_dict()), 132)
    if out is not None:
        sys.stderr.write(f"wrote {out / 'leaderboard.json'}, .png and .svg\n")


@app.command()
def sweep(
    study: Annotated[Path, typer.Argument(help="A .toml file; docs/scale.md shows one.")],
    runs: Annotated[
        str | None, typer.Option(metavar="N", help="Runs of each cell.  [default: the file's]")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where all goes.  [default: STUDY-out]"),
    ] = None,
    workers: Workers = None,
    dask: Dask = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON for machines.")] = False,
) -> None:
    """Play a study: problems, truths, policies with options, horizons and seeds, from one file.

    Writes study.csv, a row for each of them, and study.png and .svg, regret against what varies.
    Finished runs are kept: after an interruption the same command goes on from there.
    """
    from fpbandits.sweep.study import load_study
    from fpbandits.sweep.sweep import sweep

    loaded = load_study(study, runs=None if runs is None else _number("--runs", runs))
    folder = out or Path(f"{study.stem}-out")
    with _playing(folder, workers, dask) as (bar, how):
        for remark in loaded.remarks:
            bar.say(f"note: {remark}")
        found = sweep(loaded, out=folder, **how)
    found.save(folder)
    if json:
        _print_json(found.as_dict())
    else:
        from fpbandits.report.tables import sweep_table

        _print_table(sweep_table(loaded.against, found.points(), found.caption), 120)
    sys.stderr.write(f"wrote {folder / 'study.csv'}, study.png and study.svg\n")


@app.command()
def policies(
    json: Annotated[bool, typer.Option("--json", help="Print JSON for machines.")] = False,
) -> None:
    """List the policies: what each must know, and what is proven of it."""
    from dataclasses import fields

    from fpbandits.policies import DEFAULT, POLICIES

    rows = [
        {
            "name": name,
            "default": kind is DEFAULT,
            "knows": kind.knows,
            "guarantee": kind.guarantee,
            "leaps": kind.leaps,
            "options": {option.name: option.default for option in fields(kind)},
        }
        for name, kind in POLICIES.items()
    ]
    if json:
        _print_json(rows)
    else:
        from fpbandits.report.tables import policy_table

        _print_table(policy_table(rows))


def _print_json(content: Any) -> None:
    from json import dumps

    sys.stdout.write(dumps(content, allow_nan=False) + "\n")


def _print_table(table: Any, least_width: int = 0) -> None:
    """Print a table; narrower than ``least_width``, its figures would be cut off."""
    from rich.console import Console

    console = Console()
    console.width = max(console.width, least_width)
    console.print(table)


def _number(option: str, text: str) -> Any:
    """Read a number as people write it: 1000, 1e12, 2.5."""
    try:
        return int(text) if text.lstrip("+-").isdigit() else float(text)
    except ValueError:
        raise InputError(
            f"{option} is {quote(text)}: expected a number such as 1000 or 1e12"
        ) from None


def _numbers(option: str, text: str) -> list[Any]:
    return [_number(option, part.strip()) for part in text.split(",")]


@contextmanager
def _playing(
    out: Path | None,
    workers: str | None,
    dask: str | None,
    titles: Mapping[str, str] | None = None,
) -> Iterator[tuple[_Bar, dict[str, Any]]]:
    """Give what all long work has in common: progress, warnings as notes, workers, and Ctrl-C."""
    import warnings

    if workers is not None and dask is not None:
        raise InputError("--workers counts threads here, and --dask has workers of its own")
    how: dict[str, Any] = {}
    if workers is not None:
        how["workers"] = _number("--workers", workers)
    with ExitStack() as stack:
        bar = stack.enter_context(_Bar(titles))
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, *others: bar.say(f"note: {message}")
        if dask is not None:
            from fpbandits.simulation.cluster import dask_executor

            how["executor"] = stack.enter_context(dask_executor(dask))
        try:
            yield bar, {**how, "progress": bar.show}
        except KeyboardInterrupt:
            if out is not None:
                bar.say(
                    f"interrupted at {bar.share:.0%}: finished runs are kept in {out}, and the "
                    "same command goes on from there"
                )
            raise


class _Bar:
    """Progress and time left on a terminal; elsewhere a line for each of ``titles``, if any."""

    def __init__(self, titles: Mapping[str, str] | None = None) -> None:
        self._titles = titles or {}
        self.share, self._finished = 0.0, 0

    def __enter__(self) -> _Bar:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        console = Console(stderr=True)
        columns = (BarColumn(20), TextColumn("{task.description}"), TimeRemainingColumn())
        self._live = console.is_terminal
        self._bar = Progress(*columns, console=console, transient=True, disable=not self._live)
        self._task = self._bar.add_task("", total=1.0)
        self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.stop()

    def show(self, name: str, share: float, share_of_all: float) -> None:
        """Show what is under way; its own share is 1 once, when it is finished."""
        from rich.markup import escape

        title = self._titles.get(name, name)
        self.share = share_of_all
        self._bar.update(self._task, completed=share_of_all, description=escape(title))
        if share == 1 and self._titles and not self._live:
            self._finished += 1
            self.say(f"{self._finished} of {len(self._titles)}  {title}")

    def say(self, remark: str) -> None:
        """Write a line that stays."""
        self._bar.console.print(remark, markup=False, emoji=False, highlight=False, soft_wrap=True)


def _progress(cases: Iterable[int]) -> Iterator[int]:
    """Show a bar on a terminal; it vanishes when done and never mixes with the output."""
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    return iter(
        track(
            cases,
            description="analyzing",
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
    )
