"""How a server goes on among hostile connections: how quickly, and in how much memory.

    python benchmarks/attacks.py [SECONDS [CONNECTIONS]]

Connections send a head byte by byte, half a head, half a body, nothing, or a head or trailers
without end; those that are refused come again after some seconds. Meanwhile one client looks at
/health and another one asks for decisions. Wanted: hostile connections are refused, no other
request gets 5xx but 503, every look at /health takes at most 100 ms, and the server's memory
grows by less than 100 MB.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from concurrent.futures import ProcessPoolExecutor
from itertools import cycle, islice

import httpx
import numpy as np
from serve import Server, put, serving

POST = b"POST /v1/experiments/pricing/decisions HTTP/1.1\r\nhost: 127.0.0.1\r\n"
ENDLESS = b"a" * 2**16
HOSTILE = {
    "a slow head": (b"GET /health HTTP/1.1\r\nhost: 127.0.0.1\r\n", b"a: b\r\n", 0.5),
    "half a head": (POST, b"", 0.5),
    "half a body": (POST + b'content-length: 900\r\n\r\n{"unit"', b"", 0.5),
    "nothing": (b"", b"", 0.5),
    "an endless head": (POST + b"y: ", ENDLESS, 0.0),
    "endless trailers": (
        POST + b"transfer-encoding: chunked\r\n\r\n1\r\n{\r\n0\r\ny: ",
        ENDLESS,
        0.0,
    ),
}
"""What a connection sends first, what it sends again and again, and how many seconds apart."""

AGAIN = 5.0
"""Seconds after which a connection that was refused comes again."""

Refusals = Counter[tuple[str, str]]
"""How often connections of a kind were closed after which status."""


async def attack(host: str, port: int, kind: str, refusals: Refusals, until: float) -> None:
    """Open hostile connections of a kind, one after the other."""
    first, more, pause = HOSTILE[kind]
    while time.monotonic() < until:
        reader, writer = await asyncio.open_connection(host, port)
        reading = asyncio.create_task(reader.read())
        writer.write(first)
        try:
            while not reading.done() and time.monotonic() < until:
                writer.write(more)
                await writer.drain()
                await asyncio.wait([reading], timeout=pause)
        except ConnectionError:
            pass
        if time.monotonic() < until:
            answer = await asyncio.gather(reading, return_exceptions=True)
            status = str(answer[0])[11:14] if isinstance(answer[0], bytes) else "closed"
            refusals[kind, status] += 1
        reading.cancel()
        writer.close()
        await asyncio.sleep(min(AGAIN, max(0.0, until - time.monotonic())))


async def repeat(
    call: Callable[[int], Awaitable[httpx.Response]], statuses: Counter[int], until: float
) -> list[float]:
    """Send requests one after the other; return the seconds that each answer took."""
    took: list[float] = []
    while time.monotonic() < until:
        began = time.perf_counter()
        answer = await call(len(took))
        took.append(time.perf_counter() - began)
        statuses[answer.status_code] += 1
        await asyncio.sleep(0.02)
    return took


def attack_all(address: str, seconds: float, connections: int) -> Refusals:
    """Attack a server over many connections; in a process of its own, apart from what measures."""
    host, _, port = address.partition(":")
    refusals, until = Refusals(), time.monotonic() + seconds

    async def attacks() -> None:
        kinds = islice(cycle(HOSTILE), connections)
        await asyncio.gather(*(attack(host, int(port), kind, refusals, until) for kind in kinds))

    asyncio.run(attacks())
    return refusals


async def measure(
    server: Server, until: float, statuses: Counter[int]
) -> tuple[list[float], list[float]]:
    """Look at /health and ask for decisions; return how long each answer took."""
    async with httpx.AsyncClient(base_url=f"http://{server.address}", timeout=60) as client:
        path = "/v1/experiments/pricing/decisions"
        return await asyncio.gather(
            repeat(lambda n: client.get("/health"), statuses, until),
            repeat(lambda n: client.post(path, json={"unit": f"u{n}"}), statuses, until),
        )


def main() -> None:
    """Serve a new store, attack the server, and print how it went."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 45.0
    connections = int(sys.argv[2]) if len(sys.argv) > 2 else 1_000
    with tempfile.TemporaryDirectory() as folder, serving(f"sqlite:///{folder}/a.db") as server:
        put(server)
        # httpx takes 70 ms for its first request, to import parts of itself.
        asyncio.run(measure(server, time.monotonic() + 0.1, Counter()))
        before, statuses = server.memory(), Counter[int]()
        with ProcessPoolExecutor(1) as pool:
            attacking = pool.submit(attack_all, server.address, seconds, connections)
            took = asyncio.run(measure(server, time.monotonic() + seconds, statuses))
            after, refusals = server.memory(), attacking.result()
    for (kind, status), count in sorted(refusals.items()):
        print(f"{kind}: {count} connections, {status}")
    for name, answers in zip(("/health", "decisions"), took, strict=True):
        p50, p99, most = 1000 * np.quantile(answers, [0.5, 0.99, 1.0])
        print(f"{name}: median {p50:.0f} ms, 99 % {p99:.0f} ms, most {most:.0f} ms, {len(answers)}")
    print(f"statuses: {dict(statuses)}; memory: {before:.0f} MB before, {after:.0f} MB after")


if __name__ == "__main__":
    main()
