"""The policies, by name: one rule a file.

A new policy is a file beside these and a place in `POLICIES`; the tests find it there.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from fpbandits.errors import InputError, quote, unknown
from fpbandits.policies.ata import ATA
from fpbandits.policies.base import Policy
from fpbandits.policies.bpr import BPR
from fpbandits.policies.fp_llr import FPLLR
from fpbandits.policies.fp_ucb import FPUCB
from fpbandits.policies.imed import IMED
from fpbandits.policies.kl_ucb import KLUCB
from fpbandits.policies.least_squares import LeastSquares
from fpbandits.policies.optimist import Optimist
from fpbandits.policies.ossb import OSSB
from fpbandits.policies.thompson import Thompson
from fpbandits.policies.thompson_theta import ThompsonTheta
from fpbandits.policies.ucb1 import UCB1
from fpbandits.policies.ucb_c import UCBC
from fpbandits.policies.ucb_s import UCBS

__all__ = [
    "ATA",
    "BPR",
    "DEFAULT",
    "FPLLR",
    "FPUCB",
    "IMED",
    "KLUCB",
    "OSSB",
    "POLICIES",
    "UCB1",
    "UCBC",
    "UCBS",
    "LeastSquares",
    "Optimist",
    "Policy",
    "Thompson",
    "ThompsonTheta",
    "parse_policy",
]

POLICIES: dict[str, type[Policy]] = {
    policy.name: policy
    for policy in (
        FPUCB,
        FPLLR,
        Optimist,
        UCBS,
        UCBC,
        ATA,
        OSSB,
        LeastSquares,
        ThompsonTheta,
        BPR,
        UCB1,
        KLUCB,
        IMED,
        Thompson,
    )
}

DEFAULT = Optimist


def parse_policy(word: str) -> Policy:
    """Make a policy from its name and options, as the command line writes them.

    >>> parse_policy("fp-ucb:slack=0.05")
    FPUCB(slack=0.05)
    """
    name, *options = word.split(":")
    if name not in POLICIES:
        raise unknown("policy", name, POLICIES)
    known = [option.name for option in fields(POLICIES[name])]
    values: dict[str, Any] = {}
    for option in options:
        key, _, text = option.partition("=")
        if key not in known:
            if not known:
                raise InputError(
                    f"policy {quote(name)} has no options, but {quote(option)} is given"
                )
            raise unknown(f"option of {name}", key, known)
        if key in values:
            raise InputError(f"policy {quote(word)}: {key} is given twice")
        if key == "prior":
            values[key] = text
            continue
        try:
            values[key] = float(text)
        except ValueError:
            raise InputError(
                f"policy {quote(word)}: expected {key}=NUMBER, not {quote(option)}"
            ) from None
    return POLICIES[name](**values)
