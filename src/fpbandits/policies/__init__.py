"""The policies, by name: one per file.

A new policy is a file beside these and a line here, in the order in which policies are listed. The
tests find it there.
"""

from __future__ import annotations

# isort: off
from fpbandits.engine.policy import Policy
from fpbandits.engine.plain import PlainPolicy
from fpbandits.policies.parsing import parse_policy

# In the order in which they are listed: first those that know Θ.
from fpbandits.policies.fp_ucb import FPUCB as FPUCB
from fpbandits.policies.fp_llr import FPLLR as FPLLR
from fpbandits.policies.frugal import Frugal as Frugal
from fpbandits.policies.optimist import Optimist as Optimist
from fpbandits.policies.ucb_s import UCBS as UCBS
from fpbandits.policies.m_ucb import MUCB as MUCB
from fpbandits.policies.ucb_c import UCBC as UCBC
from fpbandits.policies.ts_c import TSC as TSC
from fpbandits.policies.ata import ATA as ATA
from fpbandits.policies.ossb import OSSB as OSSB
from fpbandits.policies.least_squares import LeastSquares as LeastSquares
from fpbandits.policies.thompson_theta import ThompsonTheta as ThompsonTheta
from fpbandits.policies.ids_theta import IDSTheta as IDSTheta
from fpbandits.policies.bpr import BPR as BPR
from fpbandits.policies.ucb1 import UCB1 as UCB1
from fpbandits.policies.moss import MOSS as MOSS
from fpbandits.policies.kl_ucb import KLUCB as KLUCB
from fpbandits.policies.imed import IMED as IMED
from fpbandits.policies.thompson import Thompson as Thompson

# For small problems only, or for comparison if the truth moves.
from fpbandits.policies.optimal import Optimal as Optimal
from fpbandits.policies.belief_greedy import BeliefGreedy as BeliefGreedy
# isort: on

__all__ = ["DEFAULT", "POLICIES", "SMALL", "PlainPolicy", "Policy", "parse_policy"]

POLICIES: dict[str, type[Policy]] = {
    kind.name: kind
    for kind in list(globals().values())
    if isinstance(kind, type) and issubclass(kind, Policy) and hasattr(kind, "name")
}
"""The policies that are listed, and meant by "all", by name."""

SMALL: dict[str, type[Policy]] = {
    kind.name: POLICIES.pop(kind.name) for kind in (Optimal, BeliefGreedy)
}
"""The policies that are used by name only, and not among all: most problems are too large for them,
they must be told the horizon, or they only serve for comparison."""

DEFAULT = Frugal
"""The policy that is used if none is named."""
