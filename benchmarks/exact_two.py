"""What optimist loses on the paper's first problem under θ¹ in the mean, without simulation.

Θ = {(.9, .5), (.2, .5)}, the truth is the first model. Arm 2 pays the same under both, so only arm
1 moves W = ℓ(θ²) − ℓ(θ¹): by ln(2/9) after a success and by ln 8 after a failure. θ¹ promises most,
so arm 1 is played whenever θ¹ is plausible. It is not while W > c(t) = (1 + δ) ln t + b; then arm 2
is played, W stands still, and arm 1 is back at the first time u with c(u) ≥ W.

Such waits are rare under θ¹ and long: at time t their chance is below e^{−c(t)}, and a wait that
begins with W > c(t) + x is longer than t·e^{x/(1 + δ)}, so the plays of arm 2 have a tail of index
1 + δ. For δ < 1 their variance is infinite, or grows as a power of T: simulation shows a mean that
has not met its largest terms. But e^{W} is the likelihood ratio, so

    E₁[plays of arm 2 by T] = Σ_{t < T} P₁(W_t > c(t)) = Σ_{t < T} E₂[e^{−W_t}; W_t > c(t)].

Under θ² waits are what always happens, and the weight e^{−W} makes up for their length. The walk
has two steps, so a dictionary of all (successes, time) after each play of arm 1, with their chance
under θ², is enough. What is left out for being less likely than `RARE` can add at most its chance
times Σ_t e^{−c(t)}.

**For ever.** Past `FAR` the clock stands still between waits, but for a share of 1/t. A wait that
ends at t is followed by one from t to R·t, with ln R = h/(1 + δ) and h how far the walk first gets
above where it was. It adds e^{−b} (R·t)^{−δ} (1 − 1/R), so all that follow add e^{−b} t^{−δ}·φ with

    φ = E₂[R^{−δ} (1 − 1/R)] / (1 − E₂[R^{−δ}]).

With δ = 0 there is no limit: the plays grow by e^{−b} E₂[1 − 1/R]/E₂[ln R] per unit of ln T.

``tuning.py`` prints the values for the table in docs/optimist.md.
"""

from __future__ import annotations

import math
from collections import defaultdict

GAP = 0.4
SUCCESS = 0.2  # of arm 1, under θ²
UP, DOWN = math.log(8), math.log(2 / 9)
EQUAL = 1e-9
"""Misfits that differ by no more are equal for the policy."""

RARE, FAR = 1e-14, 1e12


def mean_regret(horizon: float, delta: float, offset: float) -> float:
    """Return E₁ of the regret at a horizon, which may be infinite."""
    further = _further(delta) if horizon == math.inf else 0.0
    plays = 0.0  # of arm 2, in the mean
    states = {(0, 0.0): 1.0}
    tried = 0
    while states:
        tried += 1
        after: defaultdict[tuple[int, float], float] = defaultdict(float)
        for (wins, t), chance in states.items():
            for more, share in ((1, SUCCESS), (0, 1 - SUCCESS)):
                likely = chance * share
                walk = (wins + more) * DOWN + (tried - wins - more) * UP
                now = t + 1
                if walk > (1 + delta) * math.log(now) + offset + EQUAL:
                    back = math.ceil(math.exp((walk - offset - EQUAL) / (1 + delta)))
                    plays += likely * math.exp(-walk) * (min(back, horizon) - now)
                    now = back
                if horizon == math.inf and now >= FAR:
                    plays += likely * math.exp(-offset) * now**-delta * further
                elif now < horizon and likely > RARE:
                    after[wins + more, now] += likely
        states = dict(after)
    return GAP * plays


def growth(offset: float) -> float:
    """Return by how much regret grows per unit of ln T with δ = 0."""
    heights = _first_heights()
    gained = sum(chance * -math.expm1(-height) for height, chance in heights.items())
    return GAP * math.exp(-offset) * gained / sum(h * chance for h, chance in heights.items())


def _further(delta: float) -> float:
    """Return φ: what all waits add that follow one which ends at time 1, far out, with b = 0."""
    if delta == 0:
        return math.inf
    kept = gained = 0.0
    for height, chance in _first_heights().items():
        rest = math.exp(-height / (1 + delta))
        kept += chance * rest**delta
        gained += chance * rest**delta * (1 - rest)
    return gained / (1 - kept)


def _first_heights() -> dict[float, float]:
    """Return how far the walk first gets above its start under θ², and with what chance."""
    heights: defaultdict[float, float] = defaultdict(float)
    below, tried = {0: 1.0}, 0  # successes, while the walk is not above
    while below:
        tried += 1
        after: defaultdict[int, float] = defaultdict(float)
        for wins, chance in below.items():
            for more, share in ((1, SUCCESS), (0, 1 - SUCCESS)):
                height = (wins + more) * DOWN + (tried - wins - more) * UP
                if height > 0:
                    heights[height] += chance * share
                elif chance * share > RARE:
                    after[wins + more] += chance * share
        below = dict(after)
    return dict(heights)
