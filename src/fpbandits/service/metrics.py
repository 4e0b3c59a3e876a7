"""A server's metrics for Prometheus: answers by route and status, transactions, the queue."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

CONTENT_TYPE = CONTENT_TYPE_LATEST

_SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)
"""Upper ends of the buckets for times."""

_REQUESTS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 4000)
"""Upper ends of the buckets for numbers of requests."""


class Metrics:
    """The metrics of one server.

    In transactions and in the queue, a request is a decision, a reward or the like; a call over
    HTTP may bring a list of them.
    """

    def __init__(self) -> None:
        registry = self._registry = CollectorRegistry()
        counter = partial(Counter, registry=registry)
        histogram = partial(Histogram, registry=registry)
        self._answers = counter(
            "fpbandits_answers", "Answers over HTTP.", ("route", "method", "status")
        )
        self._seconds = histogram(
            "fpbandits_answer_seconds",
            "From a call over HTTP to its answer.",
            ("route",),
            buckets=_SECONDS,
        )
        self._together = histogram(
            "fpbandits_transaction_requests", "Requests per transaction.", buckets=_REQUESTS
        )
        self._transactions = histogram(
            "fpbandits_transaction_seconds", "Seconds per transaction.", buckets=_SECONDS
        )
        self._events = counter(
            "fpbandits_events", "Events that this server added to the log.", ("experiment", "kind")
        )
        self._waiting = Gauge(
            "fpbandits_waiting_requests",
            "Requests in the queue and in the present transaction.",
            registry=registry,
        )

    def answered(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count an answer by its route: paths hold names of units, which are many and private."""
        answers, histogram = self._labelled(route, method, status)
        answers.inc()
        histogram.observe(seconds)

    @cache  # noqa: B019 – a server has one `Metrics`, as long as it runs
    def _labelled(self, route: str, method: str, status: int) -> tuple[Counter, Histogram]:
        return self._answers.labels(route, method, status), self._seconds.labels(route)

    def watch(self, waiting: Callable[[], int]) -> None:
        """Call ``waiting`` for the number of requests in the queue when the metrics are read."""
        self._waiting.set_function(waiting)

    def committed(
        self, requests: int, seconds: float, events: Mapping[tuple[str, str], int]
    ) -> None:
        """Count a transaction, and its events by experiment and kind."""
        self._together.observe(requests)
        self._transactions.observe(seconds)
        for (experiment, kind), count in events.items():
            self._events.labels(experiment, kind).inc(count)

    def text(self) -> bytes:
        """Return all metrics in Prometheus's format."""
        return generate_latest(self._registry)
