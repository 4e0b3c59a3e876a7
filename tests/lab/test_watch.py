"""The tables of Watch."""

from __future__ import annotations

import re

from fpbandits import Problem
from fpbandits.lab.run import Run
from fpbandits.lab.watch import models_table


def test_models_have_their_posterior_and_margin() -> None:
    run = Run(Problem.bernoulli([[1.0, 0.5], [0.2, 0.5]], models=["a", "b"]), "frugal", "a")
    for _ in range(12):
        run.play()
    (margin,) = run.agent.plausible().values()
    rows = [
        [re.sub("<[^>]*>", "", cell) for cell in row.split("</td>")]
        for row in models_table(run).split("<tr>")[2:]
    ]
    posterior = run.agent.posterior()
    assert [[row[0], row[1], row[3]] for row in rows] == [
        ["a (the truth)", f"{posterior['a']:.3g}", f"{margin:.3g}"],
        ["b", f"{posterior['b']:.3g}", "ruled out"],
    ]
