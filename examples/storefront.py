"""A shop that asks a service for its prices.

    fpbandits serve & python examples/storefront.py        # and open http://127.0.0.1:8080/

A visitor is a unit, known by a cookie. The key is the day: however often the page is opened, and
whichever server answers, it shows the same price until tomorrow. A sale is told at once. Who has
not bought after a day counts as no sale, which nobody has to tell: see reward_wait.
"""

from __future__ import annotations

import re
import sys
import uuid
from datetime import date
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import fpbandits as fpb

PRICES = {"9 EUR": 9.0, "12 EUR": 12.0, "15 EUR": 15.0}
KINDS = {"loyal": [0.9, 0.8, 0.7], "regular": [0.6, 0.5, 0.3], "thrifty": [0.5, 0.2, 0.05]}
MODELS = fpb.Problem.bernoulli(
    list(KINDS.values()), models=list(KINDS), arms=list(PRICES), value=list(PRICES.values())
)


class Shop(BaseHTTPRequestHandler):
    """Shows a price, and sells."""

    client: fpb.Client

    def decide(self) -> None:
        """Find out who it is, and today's price for them."""
        known = re.search(r"visitor=([0-9a-f]{32})", self.headers.get("cookie", ""))
        self.visitor = known[1] if known else uuid.uuid4().hex
        self.offer = self.client.ask(self.visitor, key=date.today().isoformat())

    def do_GET(self) -> None:
        """Show the price."""
        if self.path != "/":  # a browser asks for an icon, which is no visit
            return self.send_error(404)
        self.decide()
        return self.reply(
            f"Today, for you: {self.offer.arm} <form method=post><button>Buy</button>"
        )

    def do_POST(self) -> None:
        """Sell at the price that was shown."""
        self.decide()
        self.client.tell(self.offer, PRICES[self.offer.arm])
        self.reply(f"Sold for {self.offer.arm}. Thank you!")

    def reply(self, words: str) -> None:
        """Send a page."""
        self.send_response(200)
        self.send_header("content-type", "text/html; charset=utf-8")
        self.send_header("set-cookie", f"visitor={self.visitor}; HttpOnly; SameSite=Lax")
        self.end_headers()
        self.wfile.write(f"<!doctype html><title>Shop</title><p>{words}".encode())


def opened(service: str, port: int) -> ThreadingHTTPServer:
    """Return the shop, which asks the service at some address."""
    Shop.client = fpb.Client(service, experiment="shop")
    Shop.client.create(MODELS, reward_wait=86_400, default_reward=0)
    return ThreadingHTTPServer(("127.0.0.1", port), Shop)


if __name__ == "__main__":
    opened(sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8000", 8080).serve_forever()
