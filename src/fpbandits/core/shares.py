"""Validation of shares that add up to 1: context probabilities, and the prior of models."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from fpbandits.core.checks import is_list, number, number_text, plain_list, plain_text
from fpbandits.core.names import there_are
from fpbandits.errors import InputError, counted, quote, unknown, wrong_type


def checked_shares(given: object, contexts: tuple[str, ...]) -> tuple[float, ...]:
    """Return the probability of each context; equal ones, if none are given."""
    if given is None:
        return tuple(1 / len(contexts) for _ in contexts)
    if not contexts:
        raise _shares_error("shares say how often each context comes, and there are no contexts")
    if not is_list(given):
        raise wrong_type("shares", given, "a list with a number per context")
    if len(given) != len(contexts):
        raise _shares_error(
            f"{there_are(len(given), 'share')} for {counted(len(contexts), 'context')}"
        )
    numbers = [
        number(share, ("shares", context))
        for share, context in zip(plain_list(given), contexts, strict=True)
    ]
    for share, context in zip(numbers, contexts, strict=True):
        if not share > 0:
            raise _shares_error(
                f"the share of context {quote(context)} is {number_text(share)}: it must be above 0"
            )
    if abs(sum(numbers) - 1) > 1e-9:
        raise _shares_error(f"the shares of contexts add up to {sum(numbers):.12g}, not 1")
    return tuple(numbers)


def _shares_error(reason: str) -> InputError:
    return InputError(reason, about=("shares",))


def checked_prior(given: object, models: tuple[str, ...]) -> tuple[float, ...] | None:
    """Return the prior probability of each model, from weights; those not given are 1."""
    if given is None:
        return None
    if not isinstance(given, Mapping):
        wanted = "prior gives weights by name, as {'theta1': 3}"
        raise InputError(f"{wanted}, not {quote(given)}", about=("prior",))
    weights = dict.fromkeys(models, 1.0)
    for name, weight in given.items():
        if name not in weights:
            raise unknown("model", name, models).at("prior")
        weights[plain_text(name)] = number(weight, ("prior", name))
        if not weights[name] >= 0:
            raise InputError(
                f"prior of {quote(name)} is {quote(weight)}: it must be 0 or more",
                about=(("prior", name),),
            )
    shares = np.array(list(weights.values()))
    if not shares.any():
        raise InputError("the prior leaves no model possible", about=("prior",))
    # Weights that add up to 1 are not touched, so that a saved problem is loaded bit for bit.
    if max(shares) > 1 or abs(shares.sum() - 1) > 1e-12:
        # Scaling by a power of two rounds nothing, and keeps the sum of large weights finite.
        shares = np.ldexp(shares, -np.frexp(shares.max())[1])
        shares /= shares.sum()
    return tuple(shares.tolist())
