"""mUCB (Azar, Lazaric, Brunskill 2013): optimism over the models that fit arm by arm.

After t plays a model θ fits if on every arm |μ̂_i − μ_i(θ)| ≤ ε_i = √(ln(|Θ|t³)/(2n_i)). Of the
fitting models take the one whose best arm pays most, and play that arm; the first of equals.

The source has ln(|Θ|T²/δ) with δ = 1/T, for a known horizon T; here t replaces T. By Hoeffding's
inequality, for each of L arms and each number of plays up to t, the probability that the truth θ°
does not fit after t plays is at most L·t·2e^{−ln(|Θ|t³)} = 2L/(|Θ|t²). And if θ° fits while an arm
i is played that is best under θ but not under θ°, then μ_i(θ) ≥ max_j μ_j(θ°) > μ_i(θ°), and both
are within ε_i of μ̂_i: so n_i ≤ 2 ln(|Θ|t³)/(μ_i(θ) − μ_i(θ°))². Let Γ_i be the least of these
distances over such θ; it is at least Δ_i. For rewards in [0, 1], where a play loses at most 1,

    E[R(T)] ≤ Σ Δ_i (1 + 2 ln(|Θ|T³)/Γ_i²) + (π²/3)·L/|Θ|.

UCB-S is the same rule with the radius √(α ln t/(4n_i)), at its default α = 4 a smaller one; the
code is shared. If no model fits, which the source leaves open, play by UCB1's index.
"""

from __future__ import annotations

import math

from fpbandits.engine.policy import Eligible
from fpbandits.policies.shared.box import Box
from fpbandits.policies.shared.levels import ThetaPolicy, theta
from fpbandits.policies.ucb_s import UCBS
from fpbandits.problem.problem import Problem


class MUCBData(Box):
    """What mUCB prepares."""


class MUCB(ThetaPolicy):
    """mUCB: optimism over the models that fit arm by arm; the radius grows with their number.

    References
    ----------
    M. G. Azar, A. Lazaric, E. Brunskill: Sequential Transfer in Multi-armed Bandit with Finite Set
    of Models, NeurIPS 2013.
    """

    name = "m-ucb"
    eligible = Eligible.MARKED
    guarantee = "E[R(T)] ≤ 2 ln(|Θ|T³) Σ Δ_i/Γ_i² + a constant, Γ_i ≥ Δ_i"

    def prepare(self, problem: Problem) -> MUCBData:
        """Sort Θ into levels, and write ln(mt³)/2, for m models, as scale·ln t + offset."""
        return MUCBData(theta(problem), 1.5, math.log(len(problem.models)) / 2)

    workspace = UCBS.workspace
    plan = staticmethod(UCBS.plan)
    holds_for = staticmethod(UCBS.holds_for)
