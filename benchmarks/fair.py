"""Who waits for whom: a slow experiment beside a quick one, a reader of the log beside writers.

    python benchmarks/fair.py [SECONDS]

The slow experiment's decisions take a millisecond of CPU each, and come in lists of 1,000, one
after the other. The quick one has two arms, and is asked by one connection. Wanted: the 99th
percentile of its answers stays below 250 ms. A reader follows the log every second; wanted: writers
lose at most 5 % of their rate. Spells with and without it take turns, so that both see the same
machine; before its spell the reader reads what it has missed.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from tempfile import TemporaryDirectory

import httpx
import numpy as np

import fpbandits as fpb

SLOW, QUICK = [[0.9, 0.5, 0.2], [0.2, 0.5, 0.9]], [[0.9, 0.5], [0.2, 0.5]]
SERVER = """
import sys, time
from fpbandits.agent.agent import Agent
from fpbandits.cli.app import run
ask = Agent.ask
def slowly(self, *what, **more):
    until = time.thread_time() + (0.001 if len(self.problem.arms) == 3 else 0)
    while time.thread_time() < until:
        pass
    return ask(self, *what, **more)
Agent.ask = slowly
run(["serve", "--port", "0", "--store", sys.argv[1]])
"""


@contextmanager
def serving() -> Iterator[str]:
    """Run a server in which decisions among three arms are slow, and give its address."""
    with TemporaryDirectory() as folder:
        words = [sys.executable, "-c", SERVER, f"sqlite:///{folder}/a.db"]
        process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
        try:
            assert process.stderr is not None
            found = re.search(r"http://\S+", process.stderr.readline())
            assert found
            yield found[0]
        finally:
            process.kill()
            process.communicate()


@contextmanager
def beside(work: Callable[[], object]) -> Iterator[None]:
    """Do something again and again beside the block."""
    ending = threading.Event()

    def repeat() -> None:
        while not ending.is_set():
            work()

    thread = threading.Thread(target=repeat)
    thread.start()
    try:
        yield
    finally:
        ending.set()
        thread.join()


def asked_for(seconds: float, client: httpx.Client, experiment: str, items: int) -> list[float]:
    """Ask for lists of decisions, one after the other; return how long each answer took."""
    took, until, count = list[float](), time.perf_counter() + seconds, 0
    while time.perf_counter() < until:
        count += 1
        body = [{"unit": f"u{n}", "key": f"{time.time_ns()}-{n}"} for n in range(items)]
        began = time.perf_counter()
        answer = client.post(f"/v1/experiments/{experiment}/decisions", json=body)
        took.append(time.perf_counter() - began)
        if answer.status_code == 200:  # else the machine is so busy that the list took too long
            told = [{"decision": each["decision"]} for each in answer.json()]
            client.post(f"/v1/experiments/{experiment}/forget", json=told)
    return took


def follow(address: str) -> None:
    """Read an experiment's log to its end, then every second what is new."""
    after = 0
    with httpx.Client(base_url=address, timeout=120) as client:
        while True:
            path = f"/v1/experiments/quick/log?after={after}"
            for line in client.get(path).iter_lines():
                after = json.loads(line)["seq"]
            print(after, flush=True)
            time.sleep(1)


@contextmanager
def followed(address: str) -> Iterator[None]:
    """Follow the log beside the block, in a process of its own, apart from what is measured."""
    words = [sys.executable, __file__, "follow", address]
    process = subprocess.Popen(words, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        process.stdout.readline()  # it has read what it had missed
        yield
    finally:
        process.kill()
        process.communicate()


def main() -> None:
    """Measure both."""
    if sys.argv[1:2] == ["follow"]:
        follow(sys.argv[2])
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 20.0
    with serving() as address, httpx.Client(base_url=address, timeout=120) as client:
        with fpb.Client(address) as making:
            for name, means in (("slow", SLOW), ("quick", QUICK)):
                problem = fpb.Problem.bernoulli(means)
                making.create(problem, experiment=name, policy="ucb1")
        other = httpx.Client(base_url=address, timeout=120)
        asked_for(2, client, "quick", 1)
        alone = asked_for(seconds, client, "quick", 1)
        with beside(lambda: asked_for(0.1, other, "slow", 1000)):
            beside_slow = asked_for(seconds, client, "quick", 1)
        for name, took in (("alone", alone), ("beside slow lists", beside_slow)):
            p50, p99 = 1000 * np.quantile(took, [0.5, 0.99])
            print(f"two arms, {name}: median {p50:.0f} ms, 99 % {p99:.0f} ms, {len(took)} answers")

        rates: dict[bool, list[float]] = {True: [], False: []}
        for spell in range(8):
            read = spell % 2 == 1
            with followed(address) if read else nullcontext():
                took = asked_for(seconds / 4, client, "quick", 50)
            rates[read].append(50 * len(took) / (seconds / 4))
        kept = np.mean(rates[True]) / np.mean(rates[False])
        print(f"decisions per second: {np.mean(rates[False]):.0f}; followed: {kept:.1%} of that")
        other.close()


if __name__ == "__main__":
    main()
