"""What a server counts, as Prometheus reads it."""

from __future__ import annotations

from fpbandits.service.metrics import Metrics

SECONDS = ["0.001", "0.002", "0.005", "0.01", "0.02", "0.05", "0.1", "0.2", "0.5"]
SECONDS += ["1.0", "2.0", "5.0", "10.0", "+Inf"]
REQUESTS = [f"{n}.0" for n in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 4000)] + ["+Inf"]


def samples(metrics: Metrics) -> dict[str, float]:
    """All samples, but for the times at which they were made."""
    lines = metrics.text().decode().splitlines()
    pairs = (line.rpartition(" ") for line in lines if not line.startswith("#"))
    return {name: float(value) for name, _, value in pairs if "_created" not in name}


def histogram(name: str, ends: list[str], seen: list[float], label: str = "") -> dict[str, float]:
    """What Prometheus wants: how many were at most each end, their number and sum."""
    buckets = {
        f'{name}_bucket{{le="{end}"{label}}}': sum(each <= float(end) for each in seen)
        for end in ends
    }
    after = f"{{{label.removeprefix(',')}}}" if label else ""
    return {**buckets, f"{name}_count{after}": len(seen), f"{name}_sum{after}": sum(seen)}


def test_answers_transactions_and_events_are_counted() -> None:
    metrics, waiting = Metrics(), 7
    metrics.watch(lambda: waiting)
    times = [0.0005, 0.001, 0.0015, 0.03, 0.75, 1.5, 4.0, 20.0]
    for seconds in times:
        metrics.answered("/health", "GET", 200, seconds)
    metrics.answered("/health", "GET", 503, 8.0)
    sizes = [1, 2, 3, 8, 30, 400, 1500, 3000]
    for size, seconds in zip(sizes, times, strict=True):
        metrics.committed(size, seconds, {("e", "decision"): size, ("f", "reward"): 2})
    route = 'route="/health"'
    assert samples(metrics) == {
        f'fpbandits_answers_total{{method="GET",{route},status="200"}}': 8,
        f'fpbandits_answers_total{{method="GET",{route},status="503"}}': 1,
        **histogram("fpbandits_answer_seconds", SECONDS, [*times, 8.0], f",{route}"),
        **histogram("fpbandits_transaction_requests", REQUESTS, [float(n) for n in sizes]),
        **histogram("fpbandits_transaction_seconds", SECONDS, times),
        'fpbandits_events_total{experiment="e",kind="decision"}': sum(sizes),
        'fpbandits_events_total{experiment="f",kind="reward"}': 2 * len(sizes),
        "fpbandits_waiting_requests": 7,
    }
    waiting = 0
    assert samples(metrics)["fpbandits_waiting_requests"] == 0
