"""Whether losses must go on under one truth, and how fast: in words for those who decide.

If some model looks like the truth while its best arm is played and has a better arm, every good
policy must go on trying other arms, and loses c·ln T in the long run (Theorem 2, over all arms):
c·ln 10 each time that the number of plays grows tenfold. Otherwise a policy that weighs the models
may stop losing. It then takes about ln(1/error)/D plays of the best arm i to tell the truth θ° from
a model θ, where D = D(P_i(θ°)‖P_i(θ)) is the information of one play, in nats.
"""

from __future__ import annotations

import math

import numpy as np

from fpbandits.core.checks import amount
from fpbandits.errors import counted
from fpbandits.problem.problem import Problem
from fpbandits.theory.cases import Case
from fpbandits.theory.structure import Structure
from fpbandits.theory.verdicts import first_of

ERROR = 0.05
"""The probability with which the truth may be mistaken for another model."""


def outlook(problem: Problem, case: Case) -> str:
    """Say whether losses must go on, and how fast; or how soon the truth is known."""
    lower = case.theorem2
    if lower.all_arms.coefficient > 0:
        more = amount(math.log(10) * lower.all_arms.coefficient)
        like = first_of(lower.confusion_set)
        return (
            f"losses go on, by about {more} for every tenfold of plays, whoever plays: it looks "
            f"like {like} while you play {case.best_arm}"
        )
    if lower.confusion_set:
        like = first_of(lower.confusion_set)
        return f"losses need not go on: an arm that is as good tells it from {like}"
    return f"losses stop: {_plays_until_known(problem, case)}"


def _plays_until_known(problem: Problem, case: Case) -> str:
    """Say how many plays of the best arm tell the truth from the models with another best arm."""
    structure = Structure(problem)
    truth, arm = problem.index(case.truth), problem.arms.index(case.best_arm)
    rivals = np.flatnonzero(~structure.best_arms[:, arm])
    if not len(rivals):
        return f"{case.best_arm} is best under every model"
    nats = problem.rewards.divergence(truth, rivals)[:, arm]
    hardest = int(nats.argmin())
    plays = max(1, math.ceil(math.log(1 / ERROR) / float(nats[hardest])))
    model = problem.models[rivals[hardest]]
    others = "" if len(rivals) == 1 else ", and fewer from others"
    verb = "tells" if plays == 1 else "tell"
    return f"about {counted(plays, 'play')} of {case.best_arm} {verb} it from {model}{others}"
