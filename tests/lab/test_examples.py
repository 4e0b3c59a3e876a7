from __future__ import annotations

import numpy as np
import pytest

from fpbandits.lab.examples import EXAMPLES
from fpbandits.theory.analysis import analyze


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_what_its_sentence_says(name: str) -> None:
    example = EXAMPLES[name]
    problem = example.make()
    assert problem.name == name
    assert example.sentence.endswith(".")
    analysis = analyze(problem)
    regimes = {case.truth: case.regime for case in analysis.cases}
    if name in ("pricing", "rate adaptation"):
        values = np.reshape(problem.rewards.content["value"], (-1, len(problem.arms)))
        assert (values == [float(arm.split()[0]) for arm in problem.arms]).all()
    if name == "paper:two":
        assert regimes == {"theta1": "bounded", "theta2": "logarithmic"}
    if name == "trial":
        assert regimes["worse"] == "logarithmic"
    if name == "paper:permutations":
        assert set(regimes.values()) == {"bounded"}
        assert not any(case.confusion_set for case in analysis.cases)
    if name == "paper:grid":
        assert analysis.ties
