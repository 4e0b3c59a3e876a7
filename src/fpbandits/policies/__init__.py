"""The policies, by name: one rule per file.

A new policy is a file beside these and a line here, at the place where it is to be listed; the
tests find it there.
"""

from __future__ import annotations

from fpbandits.policies.ata import ATA as ATA
from fpbandits.policies.base import Policy
from fpbandits.policies.bpr import BPR as BPR
from fpbandits.policies.fp_llr import FPLLR as FPLLR

# isort: off  (in the order in which they are listed)
from fpbandits.policies.fp_ucb import FPUCB as FPUCB
from fpbandits.policies.imed import IMED as IMED
from fpbandits.policies.kl_ucb import KLUCB as KLUCB
from fpbandits.policies.least_squares import LeastSquares as LeastSquares
from fpbandits.policies.optimist import Optimist as Optimist
from fpbandits.policies.ossb import OSSB as OSSB
from fpbandits.policies.plain import PlainPolicy
from fpbandits.policies.thompson import Thompson as Thompson
from fpbandits.policies.thompson_theta import ThompsonTheta as ThompsonTheta
from fpbandits.policies.ucb1 import UCB1 as UCB1
from fpbandits.policies.ucb_c import UCBC as UCBC
from fpbandits.policies.ucb_s import UCBS as UCBS
from fpbandits.policies.words import parse_policy

# isort: on

__all__ = ["DEFAULT", "POLICIES", "PlainPolicy", "Policy", "parse_policy"]

POLICIES: dict[str, type[Policy]] = {
    each.name: each
    for each in list(globals().values())
    if isinstance(each, type) and issubclass(each, Policy) and hasattr(each, "name")
}

DEFAULT = Optimist
