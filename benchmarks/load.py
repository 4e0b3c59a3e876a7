"""A client that asks as fast as it is answered, over many connections; run by serve.py.

usage: load.py KIND ADDRESSES EXPERIMENT UNITS CONNECTIONS SECONDS  ->  JSON: answers per second of
wall time, the median and the 99th percentile of their seconds

KIND is *empty* (the endpoint that does nothing), *single* (a decision, then its reward, and so on)
or a number: so many decisions in a list, then their rewards. It speaks just enough HTTP to cost
little beside a server.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
from collections.abc import Generator
from typing import cast

import numpy as np
import uvloop

Talk = Generator[bytes, bytes | None]
"""Requests; each is sent the body of the last one's answer."""


def talk(kind: str, host: str, experiment: str, units: int, until: float) -> Talk:
    """Yield what one connection says until some time; a decision's reward is told even then."""
    if kind == "empty":
        while time.perf_counter() < until:
            yield f"GET /health HTTP/1.1\r\nhost: {host}\r\n\r\n".encode()
        return

    def post(what: str, body: object) -> bytes:
        content = json.dumps(body).encode()
        line = f"POST /v1/experiments/{experiment}/{what} HTTP/1.1"
        return (
            f"{line}\r\nhost: {host}\r\ncontent-length: {len(content)}\r\n\r\n".encode() + content
        )

    def ask() -> dict[str, str]:
        return {"unit": f"user-{random.randrange(units)}", "key": f"{random.getrandbits(64):x}"}

    def tell(decision: dict[str, str]) -> dict[str, object]:
        return {"decision": decision["decision"], "reward": float(random.random() < 0.5)}

    while time.perf_counter() < until:
        asked = ask() if kind == "single" else [ask() for _ in range(int(kind))]
        found = json.loads((yield post("decisions", asked)) or b"")
        yield post("rewards", tell(found) if kind == "single" else list(map(tell, found)))


class Connection(asyncio.Protocol):
    """One of many: sends a request, waits for the answer, and so on until all is said."""

    def __init__(self, say: Talk) -> None:
        self._say = say
        self._got = b""
        self.took: list[float] = []
        self.done = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._transport = cast("asyncio.Transport", transport)
        self._send(None)

    def _send(self, answer: bytes | None) -> None:
        self._sent = time.perf_counter()
        try:
            self._transport.write(self._say.send(answer))
        except StopIteration:
            self._transport.close()

    def data_received(self, data: bytes) -> None:
        """Go on once the answer is there in full."""
        self._got += data
        head, mark, body = self._got.partition(b"\r\n\r\n")
        if not mark:
            return
        if not head.startswith(b"HTTP/1.1 200"):
            self.done.set_exception(RuntimeError(f"{head!r} {body!r}"))
            self._transport.close()
            return
        _, _, rest = head.lower().partition(b"content-length:")
        if len(body) >= int(rest.split(b"\r", 1)[0]):
            self.took.append(time.perf_counter() - self._sent)
            self._got = b""
            self._send(body)

    def connection_lost(self, error: Exception | None) -> None:
        """Stop."""
        if not self.done.done():
            self.done.set_result(None)


async def load(
    kind: str, addresses: str, experiment: str, units: str, connections: str, seconds: str
) -> None:
    """Ask, and print how it went."""
    loop = asyncio.get_running_loop()
    start = time.perf_counter()
    opened = []
    for number in range(int(connections)):
        hosts = addresses.split(",")
        host = hosts[number % len(hosts)]
        name, _, port = host.rpartition(":")
        connection = Connection(talk(kind, host, experiment, int(units), start + float(seconds)))
        await loop.create_connection(lambda each=connection: each, name, int(port))  # type: ignore[misc]  # bound
        opened.append(connection)
    await asyncio.gather(*(each.done for each in opened))
    took = np.concatenate([each.took for each in opened])
    half, nearly = np.quantile(took, [0.5, 0.99])
    rate = len(took) / (time.perf_counter() - start)
    print(json.dumps({"answers": len(took), "rate": rate, "p50": half, "p99": nearly}))


if __name__ == "__main__":
    uvloop.run(load(*sys.argv[1:]))
