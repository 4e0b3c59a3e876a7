"""How fast the engine is, beside C and beside other libraries, in one run.

Run by ``make bench``. Speeds are ratios of times measured in turn within this run, the best of
several, since machines are shared and noisy. Each claim stands beside its limit.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit

from fpbandits import (
    ATA,
    FPUCB,
    UCB1,
    Agent,
    Optimist,
    PlainPolicy,
    Policy,
    Problem,
    Thompson,
    load_problem,
    simulate,
)
from fpbandits.engine.compiling import prepare
from fpbandits.engine.contract import Envelope
from fpbandits.engine.plain import Seen
from fpbandits.engine.ready import plan_once
from fpbandits.simulation.kernel import law_of, new_progress, play
from fpbandits.simulation.spec import LEAP_ERROR

HERE = Path(__file__).parent
WORK = HERE.parent / ".bench"
PEERS = {
    "pymab": (["pymab==2.0.1"], "run_pymab.py"),
    "SMPyBandits": (["SMPyBandits==0.9.7", "scipy<1.12", "numpy<2"], "run_smpybandits.py"),
    "river": (["river==0.26.1"], "run_river.py"),
}
CASES = [("paper:permutations", "0.6,0.4,0.3,0.2"), ("paper:grid", "0.4,0.3,0.2,0.2")]


def best(*works: Callable[[], object], rounds: int = 5) -> list[float]:
    """Time several pieces of work in turn, again and again; return the best time of each."""
    times = [[_seconds(work) for work in works] for _ in range(rounds)]
    return [min(column) for column in zip(*times, strict=True)]


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def claim(what: str, value: float, limit: float, *, at_least: bool = False) -> None:
    """Print a ratio beside its limit."""
    holds = value >= limit if at_least else value <= limit
    word = "at least" if at_least else "at most"
    print(f"{what:70} {value:12,.4g}   {word} {limit:8,.6g}   {'ok' if holds else 'MISSED'}")


def run_once(
    policy: Policy, problem: Problem, truth: str, horizon: int, *, stepwise: bool = False
) -> Callable[[], int]:
    """Return a call of the bare kernel, everything prepared."""
    index = problem.index(truth)
    prepared = prepare(policy, problem)
    law = law_of(problem.rewards.reordered(np.array([index]), np.arange(problem.pairs)))
    envelope = Envelope(np.array(problem.rewards.unit_means[index]), math.log(2 / LEAP_ERROR) / 2)
    arms = len(problem.arms)
    seeds = iter(range(10**6))

    def run() -> int:
        pulls = np.zeros((1, arms), np.int64)
        return play(
            prepared,
            policy.new_state(problem),
            law,
            envelope,
            policy.workspace(prepared, arms),
            np.random.default_rng(next(seeds)),
            np.array([horizon]),
            np.array([0]),
            np.array([0]),
            envelope,
            1 if stepwise else horizon,
            np.ones(1),
            False,
            new_progress(),
            pulls,
        )

    return run


@njit
def naive_fp_ucb(means: Any, best_arm: Any, truth: Any, horizon: int, generator: Any) -> Any:
    """Algorithm 1 as one would write it down: the yardstick for leaping."""
    arms = means.shape[1]
    plays, sums = np.zeros(arms, np.int64), np.zeros(arms)
    chosen = np.ones(arms, np.bool_)
    k, t = 0, 0
    while t < horizon:
        for arm in range(arms):
            if chosen[arm] and t < horizon:
                sums[arm] += generator.random() < truth[arm]
                plays[arm] += 1
                t += 1
        k += 1
        chosen[:] = False
        for theta in range(means.shape[0]):
            fits = True
            for arm in range(arms):
                radius = math.sqrt(3 * math.log(k) / plays[arm])
                if abs(sums[arm] / plays[arm] - means[theta, arm]) > radius:
                    fits = False
                    break
            if fits:
                chosen[best_arm[theta]] = True
        if not chosen.any():
            chosen[:] = True
    return plays


@dataclass(frozen=True)
class EpsilonGreedy(PlainPolicy):
    """A rule in ordinary Python, as a user would write it."""

    epsilon: float = 0.1
    name = "epsilon-greedy"

    def choose(self, seen: Seen, random: np.random.Generator) -> Any:
        """Explore now and then, else play the largest mean."""
        if seen.t < len(seen.plays):
            return seen.t
        if random.random() < self.epsilon:
            return random.integers(len(seen.plays))
        return seen.means.argmax()


def against_c() -> dict[str, float]:
    """Compare stepwise loops with C; return our steps per second."""
    print("\nStepwise, 4 Bernoulli arms, time relative to a plain C loop (gcc -O2)")
    problem, truth = load_problem(CASES[0][0]), CASES[0][1]
    speeds = {}
    program = WORK / "loops"
    WORK.mkdir(exist_ok=True)
    command = ["gcc", "-O2", "-o", str(program), str(HERE / "peers" / "loops.c"), "-lm"]
    try:
        subprocess.run(command, check=True, capture_output=True)
        have_c = True
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"no C compiler here, so no comparison with C ({error})")
        have_c = False
    for name, policy, steps, limit in (
        ("ucb1", UCB1(), 10**7, 1.5),
        ("thompson", Thompson(), 10**6, 1.2),
    ):
        ours = run_once(policy, problem, truth, steps, stepwise=True)
        times = [], []  # type: tuple[list[float], list[float]]
        ours()
        for _ in range(5):
            times[0].append(_seconds(ours))
            if have_c:
                words = [str(program), name, str(steps)]
                output = subprocess.run(words, check=True, capture_output=True, text=True).stdout
                times[1].append(float(output.split()[0]))
        speeds[name] = steps / min(times[0])
        if have_c:
            claim(f"  {name}: ours / C", min(times[0]) / min(times[1]), limit)
            both = [steps / min(column) / 1e6 for column in times]
            print(f"    {both[0]:.1f} and {both[1]:.1f} million steps/s")
    return speeds


def against_peers(speeds: dict[str, float]) -> None:
    """Compare with other libraries, each in an environment of its own."""
    print("\nSteps per second, relative to other libraries")
    problem, far = load_problem(CASES[0][0]), "fp-ucb leaping to 10^6"
    leap = run_once(FPUCB(), problem, CASES[0][1], 10**6)
    leap()
    plain = partial(simulate, problem, EpsilonGreedy(), horizon=10**5, runs=1, times=[10**5])
    speeds = speeds | {
        far: 10**6 / best(leap, rounds=20)[0],
        "plain epsilon-greedy": 10**5 / best(plain, rounds=3)[0],
        "ask and tell": 1 / ask_and_tell(Agent(problem)),
    }
    for peer, (packages, script) in PEERS.items():
        measured = _measure_peer(peer, packages, script)
        if measured is None:
            continue
        print(f"  {peer}: " + ", ".join(f"{k} {v:,.0f}" for k, v in measured.items()) + " steps/s")
        limits = {"ucb1": 100, "thompson": 10, "plain epsilon-greedy": 0.1, "ask and tell": 0.1}
        for name in limits.keys() & measured.keys():
            ratio = speeds[name] / measured[name]
            claim(f"  {name}: ours / {peer}", ratio, limits[name], at_least=True)
        fastest = max(measured.values())
        claim(f"  {far} / {peer}'s fastest", speeds[far] / fastest, 1e4, at_least=True)


def _measure_peer(peer: str, packages: list[str], script: str) -> dict[str, float] | None:
    folder = WORK / peer
    python = folder / "bin" / "python"
    # Our own pins are not theirs.
    environment = {key: value for key, value in os.environ.items() if key != "PIP_CONSTRAINT"}
    try:
        if not (folder / "ready").exists():
            subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
            words = [str(python), "-m", "pip", "install", "--quiet", *packages]
            subprocess.run(words, check=True, capture_output=True, env=environment)
            (folder / "ready").touch()
        words = [str(python), str(HERE / "peers" / script)]
        output = subprocess.run(words, check=True, capture_output=True, text=True).stdout
        measured: dict[str, float] = json.loads(output.splitlines()[-1])
    except (OSError, subprocess.CalledProcessError, ValueError) as error:
        print(f"  {peer} is left out: it could not be installed or run here ({error})")
        return None
    return measured


def leaping() -> None:
    """Compare leaping to 10^12 with going step by step to 10^6."""
    print("\nOne run to T = 10^12, time relative to step by step to T = 10^6")
    generator = np.random.default_rng(0)
    for name, truth in CASES:
        problem = load_problem(name)
        means, paid = problem.means, problem.means[problem.index(truth)]
        best_arm = means.argmax(axis=1)
        naive_fp_ucb(means, best_arm, paid, 10, generator)
        kernel = run_once(FPUCB(), problem, truth, 10**12)
        kernel()
        whole, bare, naive = best(
            partial(simulate, problem, FPUCB(), truth=truth, horizon=10**12, runs=1),
            kernel,
            partial(naive_fp_ucb, means, best_arm, paid, 10**6, generator),
        )
        claim(f"  fp-ucb, {name}: simulate() / naive loop", whole / naive, 0.1)
        claim(f"  fp-ucb, {name}: kernel / naive loop", bare / naive, 0.01)
        print(f"    {whole * 1e3:.2f} ms, {bare * 1e3:.2f} ms and {naive * 1e3:.0f} ms")
    problem, truth = load_problem(CASES[0][0]), CASES[0][1]
    far = run_once(UCB1(), problem, truth, 10**12)
    near = run_once(UCB1(), problem, truth, 10**6, stepwise=True)
    near(), far()
    one, other = best(far, near, rounds=10)
    claim("  ucb1: leaping to 10^12 / stepwise to 10^6", one / other, 1.0)
    print(f"    {one * 1e3:.1f} ms and {other * 1e3:.1f} ms")
    far = run_once(Thompson(), problem, truth, 10**15)
    near = run_once(Thompson(), problem, truth, 10**6, stepwise=True)
    near(), far()
    one, other = best(far, near, rounds=10)
    claim("  thompson: leaping to 10^15 / stepwise to 10^6", one / other, 1.0)
    print(f"    {one * 1e3:.1f} ms and {other * 1e3:.1f} ms")

    print("\nPlans in a run (mean of 20), and milliseconds, by horizon")
    print(f"{'T':>8}" + "".join(f"{name:>30}" for name in ("fp-ucb 24", "fp-ucb 256", "ucb1 24")))
    for power in range(3, 16):
        cells = []
        for policy, (name, truth) in ((FPUCB(), CASES[0]), (FPUCB(), CASES[1]), (UCB1(), CASES[0])):
            run = run_once(policy, load_problem(name), truth, 10**power)
            start = time.perf_counter()
            plans = [run() for _ in range(20)]
            cells.append(f"{np.mean(plans):14,.0f} {(time.perf_counter() - start) * 50:10.2f} ms")
        print(f"{'10^' + str(power):>8}" + "".join(f"{cell:>30}" for cell in cells))


def many_runs() -> None:
    """Time whole simulations on all cores."""
    print("\nMany runs, seconds")
    problem = load_problem(CASES[0][0])
    simulate(problem, [FPUCB(), UCB1()], horizon=100, runs=2)
    (seconds,) = best(lambda: simulate(problem, FPUCB(), horizon=10**12, runs=1000), rounds=2)
    claim("  1,000 runs of fp-ucb to 10^12, 100 times recorded", seconds, 3)
    (seconds,) = best(lambda: simulate(problem, UCB1(), horizon=10**6, runs=1000), rounds=2)
    claim("  1,000 runs of ucb1 to 10^6", seconds, 10)
    executable = str(Path(sys.executable).with_name("fpbandits"))
    words = [executable, "simulate", "paper:two", "--horizon", "1000", "--runs", "10"]
    (seconds,) = best(lambda: subprocess.run(words, check=True, capture_output=True), rounds=3)
    claim("  fpbandits simulate paper:two --horizon 1000 --runs 10", seconds, 2)


def large_sets(kind: str, count: int) -> dict[str, float]:
    """Plan 2,000 episodes on a large Θ of 16 arms; run in a process of its own."""
    generator = np.random.default_rng(0)
    shape = (count, 16)
    if kind == "distinct":
        means = generator.random(shape)
    else:
        means = generator.choice(np.linspace(0.05, 0.95, 10), shape)
    problem = Problem.bernoulli(means)
    del means
    before = _peak_bytes(reset=True)
    policy = FPUCB()
    start = time.perf_counter()
    prepared = prepare(policy, problem)
    set_up = time.perf_counter() - start
    peak = _peak_bytes()
    kept = sum(part.nbytes for part in prepared if isinstance(part, np.ndarray))
    state, truth = policy.new_state(problem), problem.means[0]
    workspace, nothing = policy.workspace(prepared, 16), np.zeros(16, np.int64)
    times = []
    for _ in range(2000):
        start = time.perf_counter()
        length = plan_once(prepared, state, workspace, 0, nothing, generator)
        times.append(time.perf_counter() - start)
        for arm in workspace.cycle[:length]:
            state.plays[arm] += 1
            state.sums[arm] += generator.random() < truth[arm]
    spent = np.array(times[2:]) * 1e3
    matrix = problem.means.nbytes
    return {
        "set_up": set_up,
        "median": float(np.median(spent)),
        "q99": float(np.quantile(spent, 0.99)),
        "kept": (kept + matrix) / matrix,
        "peak": (peak - before) / matrix + 1,
    }


def _peak_bytes(*, reset: bool = False) -> int:
    """Return the most memory this process has had, since the last reset (Linux only)."""
    if reset:
        Path("/proc/self/clear_refs").write_text("5")
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


def large() -> None:
    """Show how planning grows with Θ."""
    print("\nOne plan of fp-ucb, 16 arms, milliseconds; memory in means matrices, Θ's own included")
    print(
        f"{'|Θ|':>10} {'means':>14} {'set-up':>9} {'median':>9} {'99 %':>9} {'kept':>7} {'peak':>7}"
    )
    for kind in ("10 per arm", "distinct"):
        for count in (2, 100, 10**4, 10**5, 10**6):
            words = [sys.executable, __file__, kind, str(count)]
            output = subprocess.run(words, check=True, capture_output=True, text=True).stdout
            row = json.loads(output)
            print(
                f"{count:10,} {kind:>14} {row['set_up']:7.2f} s {row['median']:9.3f} "
                f"{row['q99']:9.3f} {row['kept']:7.2f} {row['peak']:7.2f}"
            )
        claim(f"  |Θ| = 10^6, {kind}: median plan", row["median"], 2 if kind != "distinct" else 20)
        claim(f"  |Θ| = 10^6, {kind}: memory at its peak", row["peak"], 3)


def agents() -> None:
    """Show what an agent takes."""
    print("\nAgents")
    problem = load_problem(CASES[0][0])
    tracemalloc.start()
    crowd = [Agent(problem) for _ in range(20_000)]
    size = tracemalloc.get_traced_memory()[0] / len(crowd)
    tracemalloc.stop()
    print(f"  bytes per agent (4 arms, nothing pending): {size:.0f}")
    print(f"  a million of them: {size / 1e3:.2f} GB")
    print(f"  ask and tell: {ask_and_tell(crowd[0]) * 1e6:.1f} microseconds")
    generator = np.random.default_rng(1)
    others = [Problem.bernoulli(generator.permutation(problem.means)) for _ in range(20)]
    for policy in (Optimist(), ATA()):
        turns = [Agent(other, policy) for other in others]
        ratio = ask_and_tell(*turns) / ask_and_tell(turns[0])
        claim(f"  {policy}: ask and tell, 20 problems in turn / one", ratio, 1.3)


def ask_and_tell(*agents: Agent) -> float:
    """Return the seconds that asking and telling takes, agents in turn, the best of several.

    First decisions run the rule in Python: they go on until machine code decides.
    """

    def some() -> None:
        for _ in range(2_000 // len(agents)):
            for agent in agents:
                agent.tell(agent.ask().id, 1.0)

    while not all(agent._ready._machine_code for agent in agents):
        some()
    return best(some, rounds=10)[0] / 2_000


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(large_sets(sys.argv[1], int(sys.argv[2]))))
    else:
        against_peers(against_c())
        leaping()
        many_runs()
        large()
        agents()
