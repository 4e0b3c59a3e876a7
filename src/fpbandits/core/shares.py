"""Validation of shares that add up to 1: of contexts, of models, and of moves between models."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from fpbandits.core.checks import is_list, number, number_text, plain_list, plain_text
from fpbandits.core.names import there_are
from fpbandits.errors import InputError, Place, counted, quote, unknown, wrong_type

Transitions = tuple[tuple[float, ...], ...]
"""The probability of moving from each model to each, [from][to]."""

MOST_MOVING = 1_000
"""The most models that transitions are given for: the table has models × models entries."""


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
    """Return the prior probability of each model, from weights; those not given are 1.

    Without weights it is None: problems without a prior have all models equally likely.
    """
    if given is None:
        return None
    if not isinstance(given, Mapping):
        wanted = "prior gives weights by name, as {'theta1': 3}"
        raise InputError(f"{wanted}, not {quote(given)}", about=("prior",))
    weights = dict.fromkeys(models, 1.0)
    for name, weight in given.items():
        if name not in weights:
            raise unknown("model", name, models).at("prior")
        weights[name] = number(weight, ("prior", name))
        if not weights[name] >= 0:
            raise InputError(
                f"prior of {quote(name)} is {quote(weight)}: it must be 0 or more",
                about=(("prior", name),),
            )
    shares = np.array(list(weights.values()))
    if not shares.any():
        raise InputError("the prior leaves no model possible", about=("prior",))
    # Weights that add up to 1 are not touched, so that a saved problem is loaded bit for bit. Those
    # above 1 do not, and their sum might overflow.
    if max(shares) > 1 or abs(shares.sum() - 1) > 1e-12:
        # A power of two rounds nothing, but for weights that are next to 0 beside the largest.
        shares = np.ldexp(shares, -np.frexp(shares.max())[1])
        shares /= shares.sum()
    return tuple(shares.tolist())


def checked_transitions(given: object, models: tuple[str, ...]) -> Transitions | None:
    """Return the probability of moving from each model to each; None if the truth does not move.

    The table, and each of its rows, is by name, as {"loyal": {"loyal": 0.9, "thrifty": 0.1}, …}, or
    a list in the order of models. Every model has a row; a name that a row leaves out is 0 there.
    """
    if given is None:
        return None
    if len(models) > MOST_MOVING:
        raise _transitions_error(
            f"transitions take at most {MOST_MOVING:,} models, and there are {len(models):,}"
        )
    rows = _by_model(given, models, (), "a row for every model")
    for model in models:
        if model not in rows:
            raise _transitions_error(
                f"no transitions from model {quote(model)}: one that stays for good has "
                f"{{{quote(model)} = 1}}"
            )
    return tuple(_checked_moves(rows[model], model, models) for model in models)


def _checked_moves(given: object, model: str, models: tuple[str, ...]) -> tuple[float, ...]:
    """Return the probabilities of moving from one model to each."""
    place = ("transitions", model)
    moves = dict.fromkeys(models, 0.0)
    for name, chance in _by_model(given, models, (place,), "a probability for every model").items():
        moves[name] = number(chance, place, ("model", name))
        if not 0 <= moves[name] <= 1:
            raise InputError(
                f"the probability of moving to it is {quote(chance)}: it must be from 0 to 1",
                place=(place, ("model", name)),
            )
    total = sum(moves.values())
    if abs(total - 1) > 1e-9:
        raise InputError(f"they add up to {total:.12g}, not 1", place=(place,))
    return tuple(moves.values())


def _by_model(
    given: object, models: tuple[str, ...], place: Place, wanted: str
) -> dict[str, object]:
    """Return what is given for models, by names or as a list in their order.

    ``place`` is that of a row, and empty for the table itself.
    """
    if is_list(given) and len(given) == len(models):
        return dict(zip(models, plain_list(given), strict=True))
    if not isinstance(given, Mapping):
        found = f"{len(given)} values" if is_list(given) else quote(given)
        if place:
            raise InputError(f"expected {wanted}, not {found}", place=place)
        raise _transitions_error(f"transitions have {wanted}, not {found}")
    known = dict.fromkeys(models)
    for name in given:
        if name not in known:
            raise unknown("model", str(name), models).at(*(place or ("transitions",)))
    return {plain_text(name): value for name, value in given.items()}


def _transitions_error(reason: str) -> InputError:
    return InputError(reason, about=("transitions",))
