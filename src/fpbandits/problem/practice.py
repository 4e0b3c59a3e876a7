"""`practice`: sets of models as people have them, drawn at random by kind.

A seed draws one problem of each kind, always the same one, and another seed draws others, so that
no policy is tuned to one draw:

* *demand*: 4 to 12 prices and 6 to 40 demand curves, logistic or of a constant elasticity. A reward
  is the price, less the cost if the elasticity is constant, or nothing.
* *tastes*: user types who like one to three of 8 to 20 items much and the others little; also by
  daytime, as stars from 1 to 5, and as the share of a film that is watched.
* *links*: radio rates from 6 to 54 Mbit/s under states of a channel; a reward is the rate or
  nothing. Also where a noisy measurement of the signal is seen before each packet.
* *trials*: a control and 1 to 3 treatments, each as good as the control, or a little better or
  worse; and 4 to 6 doses with a normal outcome, under curves that saturate or fall again.
* *sets*: uniform means, and means from a few levels only, so that many models look alike.
* *features*: normal rewards linear in known features of segment and offer, and chances of a sale
  logistic in them.

Every problem has a prior, from which its truth is to be drawn. Names say the kind.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from fpbandits.core.arrays import Floats
from fpbandits.core.shares import checked_prior
from fpbandits.problem.problem import Problem

Random = np.random.Generator

_RATES = (6, 9, 12, 18, 24, 36, 48, 54)
"""Radio rates in Mbit/s."""

_RATE_NAMES = [f"{rate} Mbit/s" for rate in _RATES]

_NEEDED = np.array([5, 6, 8, 10, 14, 18, 22, 24])
"""The signal, in dB, at which half the packets of each rate arrive."""

_SEGMENTS = ["north", "east", "south", "west"]


def practice(seed: int = 0) -> list[Problem]:
    """Draw a problem of every kind.

    >>> [problem.name for problem in practice(1)][:3]
    ['logistic demand', 'elastic demand', 'tastes']
    """
    problems = []
    for number, (kind, draw) in enumerate(_KINDS.items()):
        random = np.random.default_rng([seed, number])
        problem = draw(random)
        # Some models are a few times as common as others.
        weights = random.gamma(2, size=len(problem.models)) + 0.1
        prior = checked_prior(dict(zip(problem.models, weights, strict=True)), problem.models)
        problems.append(replace(problem, name=kind, prior=prior))
    return problems


def _prices(random: Random) -> Floats:
    """Draw prices in euros, in steps of half a euro."""
    prices = np.geomspace(8, 8 * random.uniform(2, 4), random.integers(4, 13))
    halves: Floats = np.round(2 * prices) / 2
    return halves


def _logistic_demand(random: Random) -> Problem:
    prices, models = _prices(random), int(random.integers(6, 41))
    middle = random.uniform(prices[0], prices[-1], (models, 1))
    steepness = random.uniform(3, 10, (models, 1))
    highest = random.uniform(0.1, 0.7, (models, 1))
    chances = highest / (1 + np.exp(steepness * (prices / middle - 1)))
    return Problem.bernoulli(chances, value=prices, arms=_in_euros(prices))


def _elastic_demand(random: Random) -> Problem:
    prices, models = _prices(random), int(random.integers(6, 41))
    elasticity = random.uniform(1.1, 4, (models, 1))
    highest = random.uniform(0.1, 0.7, (models, 1))
    # Without a cost the lowest price would be best under every model.
    cost = round(random.uniform(0.4, 0.8) * prices[0])
    chances = highest * (prices / prices[0]) ** -elasticity
    return Problem.bernoulli(chances, value=prices - cost, arms=_in_euros(prices))


def _in_euros(prices: Floats) -> list[str]:
    return [f"{price:g} EUR" for price in prices]


def _liking(random: Random, models: int, arms: int) -> Floats:
    """Draw how much each type likes each item: one to three of them much, the others little."""
    liking = random.uniform(0.02, 0.12, arms) * random.uniform(0.7, 1.3, (models, 1))
    for row in liking:
        liked = random.choice(arms, random.integers(1, 4), replace=False)
        row[liked] = random.uniform(0.15, 0.7, len(liked))
    return liking


def _tastes(random: Random) -> Problem:
    models = int(random.integers(4, 17))
    means = _liking(random, models, int(random.integers(8, 21)))
    return Problem.bernoulli(means)


def _tastes_by_daytime(random: Random) -> Problem:
    models, arms, contexts = int(random.integers(4, 13)), int(random.integers(4, 9)), 3
    means = np.stack([_liking(random, models, arms) for _ in range(contexts)], axis=1)
    return Problem.bernoulli(
        means,
        contexts=["morning", "noon", "evening"],
        shares=random.dirichlet([5] * contexts).tolist(),
    )


def _stars(random: Random) -> Problem:
    """Draw ratings from 1 to 5 stars: one, and a binomial number of four more."""
    from scipy.stats import binom

    models, arms = int(random.integers(4, 13)), int(random.integers(4, 9))
    quality = random.uniform(0.3, 0.9, (models, arms, 1))
    laws: Floats = np.asarray(binom.pmf(np.arange(5), 4, quality))
    laws /= laws.sum(axis=2, keepdims=True)
    return Problem.discrete(laws, support=[1, 2, 3, 4, 5], range=(1, 5))


def _watched(random: Random) -> Problem:
    models = int(random.integers(4, 13))
    means = random.uniform(0.15, 0.85, (models, int(random.integers(4, 11))))
    return Problem.beta(means, round(random.uniform(1.5, 8), 1))


def _arrival(signal: Floats, width: float) -> Floats:
    """Return how likely a packet arrives, by signal and rate; ``width`` is in dB, too."""
    chances: Floats = 1 / (1 + np.exp((_NEEDED - signal[..., np.newaxis]) / width))
    return np.clip(chances, 1e-4, 1 - 1e-4)


def _links(random: Random) -> Problem:
    models = int(random.integers(6, 17))
    signal = np.linspace(4, 27, models) + random.uniform(-0.5, 0.5, models)
    chances = _arrival(signal, random.uniform(0.8, 2))
    return Problem.bernoulli(chances, value=_RATES, arms=_RATE_NAMES)


def _links_measured(random: Random) -> Problem:
    # Models differ in how far the measured signal is off: by interference, or a poor receiver.
    models, measured = int(random.integers(5, 13)), np.array([8.0, 14.0, 20.0])
    error = np.linspace(-8, 5, models) + random.uniform(-0.4, 0.4, models)
    return Problem.bernoulli(
        _arrival(measured + error[:, np.newaxis], random.uniform(0.8, 2)),
        value=_RATES,
        arms=_RATE_NAMES,
        contexts=["weak", "fair", "strong"],
        shares=random.dirichlet([4, 4, 4]).tolist(),
    )


def _trial(random: Random) -> Problem:
    """Draw three effects, of which each treatment has one: a model for each combination."""
    treatments, control = int(random.integers(1, 4)), random.uniform(0.25, 0.6)
    effects = np.array([0.0, random.uniform(0.08, 0.2), -random.uniform(0.05, 0.15)])
    combinations = np.stack(np.meshgrid(*[effects] * treatments, indexing="ij"), -1)
    means = control + combinations.reshape(-1, treatments)
    means = np.column_stack([np.full(len(means), control), means])
    return Problem.bernoulli(means)


def _doses(random: Random) -> Problem:
    doses, models = np.linspace(0, 1, random.integers(4, 7)), int(random.integers(6, 19))
    half = random.uniform(0.1, 0.8, (models, 1))  # the dose of half the largest effect
    harm = random.choice([0.0, 1.0], (models, 1)) * random.uniform(0.5, 2, (models, 1))
    effect = random.uniform(0.5, 2, (models, 1)) * doses / (doses + half) - harm * doses**2
    return Problem.gaussian(10 * effect, round(random.uniform(4, 15), 1))


def _uniform(random: Random) -> Problem:
    models, arms = int(random.integers(6, 41)), int(random.integers(3, 11))
    means = random.uniform(0.05, 0.95, (models, arms))
    return Problem.bernoulli(means)


def _coarse(random: Random) -> Problem:
    models, arms = int(random.integers(8, 61)), int(random.integers(3, 7))
    levels = np.sort(random.choice(np.arange(1, 20) / 20, random.integers(3, 6), replace=False))
    means = np.unique(random.choice(levels, (models, arms)), axis=0)
    return Problem.bernoulli(means)


def _features(random: Random) -> tuple[Floats, Floats]:
    """Draw weights[model] and features[segment][offer] of three properties."""
    models, offers = int(random.integers(5, 17)), int(random.integers(3, 9))
    return random.normal(size=(models, 3)), random.normal(size=(len(_SEGMENTS), offers, 3))


def _linear(random: Random) -> Problem:
    weights, features = _features(random)
    deviation = round(random.uniform(1, 4), 1)
    return Problem.linear(weights, features, deviation, contexts=_SEGMENTS)


def _sales(random: Random) -> Problem:
    weights, features = _features(random)
    constant = np.full((*features.shape[:2], 1), -random.uniform(1, 3))
    weights = np.column_stack([weights, np.ones(len(weights))])
    features = np.concatenate([features, constant], axis=2)
    return Problem.logistic(weights, features, contexts=_SEGMENTS)


_KINDS: dict[str, Callable[[Random], Problem]] = {
    "logistic demand": _logistic_demand,
    "elastic demand": _elastic_demand,
    "tastes": _tastes,
    "tastes by daytime": _tastes_by_daytime,
    "stars": _stars,
    "share watched": _watched,
    "links": _links,
    "links, measured": _links_measured,
    "trial": _trial,
    "doses": _doses,
    "uniform means": _uniform,
    "coarse means": _coarse,
    "linear offers": _linear,
    "logistic sales": _sales,
}
"""How each kind is drawn. A kind's index is part of its seed: add new ones at the end."""
