"""Whether losses stop under one truth, and how fast they grow: in words for those who decide.

If some model looks like the truth while its best arm is played and has a better arm, every policy
that does well under all models must go on trying other arms. It loses at least c·ln T in the long
run (Theorem 2, over all arms): c·ln 10 each time that the number of plays grows tenfold. Otherwise
losses can stop, and with the default policy they do, but for some truths whose best arms tie. It
then takes about ln(1/error)/D plays of the best arm i to tell the truth θ° from a model θ, where
D = D(P_i(θ°)‖P_i(θ)) is the information of one play, in nats.
"""

from __future__ import annotations

import math

import numpy as np

from fpbandits.core.checks import amount
from fpbandits.errors import counted
from fpbandits.theory.lower import Theorem2
from fpbandits.theory.structure import Structure
from fpbandits.theory.verdicts import first_of, pick

ERROR = 0.05
"""The probability with which the truth may be mistaken for another model."""


def outlook(structure: Structure, truth: int, lower: Theorem2, default: float | None) -> str:
    """Say whether losses stop under the model ``truth``, how soon, or how fast they grow.

    Parameters
    ----------
    structure, truth
        The models, and the index of the true one.
    lower
        The lower bound under this truth.
    default
        The bound of the default policy, as `default_bound` returns it.
    """
    problem = structure.problem
    name, arm = problem.models[truth], problem.arms[structure.best_arm[truth]]
    if len(lower.confusion_set):
        coefficient = lower.all_arms.coefficient * problem.rewards.width
        return confused_outlook(name, arm, pick(problem.models, lower.confusion_set), coefficient)
    verb = "can stop" if default is None else "stop"
    return f"losses {verb}: {_plays_until_known(structure, truth, arm)}"


def confused_outlook(truth: str, best: str, confused: tuple[str, ...], coefficient: float) -> str:
    """Say whether losses stop where playing ``best`` does not tell the truth from some models.

    ``coefficient`` is that of Theorem 2, in the user's units.
    """
    reason = f"playing {best} does not tell {truth} from {first_of(confused)}"
    if not coefficient:
        return f"losses can stop: {reason}, but other arms do so at no cost"
    return (
        f"losses never stop: {reason}, so other arms must be tried again and again. In the long "
        f"run this costs at least {amount(math.log(10) * coefficient)} more each time the number "
        "of plays grows tenfold"
    )


def _plays_until_known(structure: Structure, truth: int, arm: str) -> str:
    """Say how many plays of the best arm tell the truth from the models with another best arm."""
    problem, index = structure.problem, structure.best_arm[truth]
    rivals = np.flatnonzero(~structure.best_arms[:, index])
    if not len(rivals):
        return f"{arm} is best under every model"
    nats = problem.rewards.divergence(truth, rivals)[:, index]
    hardest = int(nats.argmin())
    plays = max(1, math.ceil(math.log(1 / ERROR) / float(nats[hardest])))
    name, rival = problem.models[truth], problem.models[rivals[hardest]]
    others = "" if len(rivals) == 1 else ", fewer from the others"
    verb = "tells" if plays == 1 else "tell"
    return f"about {counted(plays, 'play')} of {arm} {verb} {name} from {rival}{others}"
