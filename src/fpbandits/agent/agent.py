"""`Agent`: plays a policy live. Ask what to play, tell its reward, see what is believed.

Rewards may be told late and out of order. Which of them count then matters: where failures are
known later than successes (a sale at once, a non-sale after a week), the rewards told so far are a
biased sample, and the true model may be ruled out. So by default an arm counts only the rewards up
to its first decision that is still pending. `Agent.forget` gives a decision up, and the rewards
behind it count. A forgotten reward is missing from the sample, which is biased if forgetting
depends on the reward. ``late="all-in-order"`` counts the rewards of all arms in the order of
decisions, as `Agent.verdict` needs where delays depend on rewards. ``late="any"`` counts every
reward as soon as it is told, which is right where delays do not depend on rewards.

An agent may be used from several threads.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from fpbandits.agent import belief
from fpbandits.agent.belief import Belief
from fpbandits.agent.ledger import CROWD, Blocked
from fpbandits.agent.ledger import Late as Late
from fpbandits.agent.plausible import FALSE_ALARM, margins, posterior_margins
from fpbandits.agent.rewards import odd_reward_warning, unit_reward
from fpbandits.agent.saving import Saved
from fpbandits.agent.spread import spread_fits, spread_warning
from fpbandits.agent.why import Why, why
from fpbandits.core.arrays import Floats
from fpbandits.core.checks import checked_path, number
from fpbandits.core.renamed import refuses_old_attributes
from fpbandits.core.streams import HISTORY
from fpbandits.engine.contract import COUNTERS, MISFITS
from fpbandits.engine.policy import Eligible, Policy
from fpbandits.engine.ready import Arms
from fpbandits.errors import ConflictError, InputError, quote, wrong_value
from fpbandits.problem.chain import refuse_moving
from fpbandits.problem.eligible import eligible_arms
from fpbandits.problem.posterior import Play
from fpbandits.problem.problem import Problem

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_CHECK_EVERY = 20
"""The spread of rewards is checked at every so many decisions, when their reward is told."""

_SPREAD = -1
"""Stands for the spread of rewards in `_warned`, whose other entries are pairs."""


@dataclass(frozen=True, slots=True)
class Decision:
    """Play ``arm``, and tell its reward under ``id``; ``context`` is the one that was asked for.

    ``probability`` is how likely this arm was to be played: 1 if nothing is drawn at random, None
    if the policy draws and cannot tell.
    """

    id: int
    arm: str
    context: str | None = None
    probability: float | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        context = "" if self.context is None else f", context={self.context!r}"
        return f"Decision(id={self.id}, arm={self.arm!r}{context})"


@refuses_old_attributes
class Agent(Saved):
    """Plays a problem live, by a policy.

    Parameters
    ----------
    problem
        The candidate models; or what `load_problem` takes, such as "paper:two".
    policy
        A policy, or its name, such as "fp-ucb"; by default `Frugal`.
    seed
        The seed of a randomised policy and of exploration.
    late
        Which rewards count while others are pending: "in-order", those of each arm up to its first
        pending decision; "all-in-order", those up to the first pending decision of all arms; "any",
        every reward. If the truth moves by the problem's transitions, it is "all-in-order".
    explore
        Share of decisions that are uniform over the arms, so that the agent's own log can tell what
        other policies would have earned. It costs that share of what a random arm loses.
    log
        Whether to keep every reward that counts, for `log` and `plot`.

    Examples
    --------
    >>> import fpbandits as fpb
    >>> problem = fpb.Problem.bernoulli([[.9, .5], [.2, .5]], models=["x", "y"])
    >>> agent = fpb.Agent(problem, fpb.FPUCB())
    >>> for reward in [1, 0] * 20:
    ...     decision = agent.ask()
    ...     agent.tell(decision.id, reward)
    >>> list(agent.plausible())
    ['x']
    >>> agent.best_arm().arm, agent.verdict(error=0.01)
    ('arm1', 'arm1')
    """

    __slots__ = ()

    def ask(self, context: str | None = None, among: Iterable[str] | None = None) -> Decision:
        """Return what to play next, in a context if the problem has any.

        ``among`` names the arms that are eligible for this decision; by default all are. Arms are
        then compared with the best eligible arm. See docs/verdicts.md.
        """
        return self._hand_out(context, among)

    def follow(
        self, arm: str, context: str | None = None, among: Iterable[str] | None = None
    ) -> Decision:
        """Play ``arm`` whatever the policy says, and return what it would have decided.

        For an agent that replays a log of decisions.
        """
        return self._hand_out(context, among, instead=self.problem.pair_index(arm, context))

    def tell(self, id: int | Decision, reward: float) -> None:
        """Take in the reward of a decision, in the user's units; late and out of order is fine.

        ``id`` is the decision's id, or the decision itself.
        """
        number = id.id if isinstance(id, Decision) else id
        with self._lock:
            arm, number = self._ledger.arm_of(number), int(number)
            value = unit_reward(self._ready, arm, reward, ("decision", number))
            self._resolve(number, value)
            crowd = self._crowd_warning(arm) if self._ledger.joins_a_crowd(number) else None
            checks = self._squares is not None and number % _CHECK_EVERY == 0
            spread = self._spread_warning() if checks else None
        odd = odd_reward_warning(self._ready, value, reward)
        for warning in (crowd, odd, spread):
            if warning is not None:
                warnings.warn(warning, stacklevel=2)

    def forget(self, id: int | Decision) -> None:
        """Give a decision up: its reward will never come."""
        number = id.id if isinstance(id, Decision) else id
        with self._lock:
            self._ledger.arm_of(number)  # an error if it is not pending
            self._resolve(int(number), None)

    def observe(self, arm: str, reward: float, context: str | None = None) -> None:
        """Take in a reward, in the user's units, of a decision that this agent did not make.

        For a warm start: the history of a user, told before the first `ask`.
        """
        pair = self.problem.pair_index(arm, context)
        value = unit_reward(self._ready, pair, reward, ("arm", arm))
        if self._filter is not None and self._ledger.next:
            raise ConflictError(
                f"the truth of {self.problem.name} moves with every decision: observe history "
                "before the first ask"
            )
        with self._lock:
            if self._filter is not None:
                self._filter.move_back()
                self._count_at(self._filter, -1, pair, value)
            stream = self._stream(self._from_history, HISTORY)
            self._from_history += 1
            self._take_in(pair, value, stream)
        warning = odd_reward_warning(self._ready, value, reward)
        if warning is not None:
            warnings.warn(warning, stacklevel=2)

    @property
    def problem(self) -> Problem:
        """The candidate models."""
        return self._ready.problem

    @property
    def policy(self) -> Policy:
        """The policy it plays by."""
        return self._ready.policy

    @property
    def pending(self) -> dict[int, str]:
        """The decisions that are neither told nor forgotten, by id, and their arms."""
        with self._lock:
            names = self.problem.pair_names
            return {number: names[pair] for number, pair in self._ledger.pending.items()}

    @property
    def blocked(self) -> dict[str, Blocked]:
        """The arms with rewards that were told and do not count yet, and what blocks them."""
        with self._lock:
            pairs = enumerate(self.problem.pair_names)
            by_name = {name: self._ledger.blocked(pair) for pair, name in pairs}
        return {name: blocked for name, blocked in by_name.items() if blocked is not None}

    @property
    def observed(self) -> int:
        """How many rewards it took in by `observe`."""
        return self._from_history

    @property
    def plays(self) -> dict[str, Any]:
        """How many rewards of each arm count so far, by context if there are any."""
        return self.problem.by_name(self._seen.plays.tolist())

    @property
    def log(self) -> list[Play]:
        """The rewards that count, in the order of counting, as `Problem.posterior` takes them."""
        if self._log is None:
            raise InputError("this agent keeps no log: make it with log=True", about=("log",))
        arms, rewards, contexts = self.problem.arms, self.problem.rewards, self.problem.contexts
        with self._lock:
            plays = [(*divmod(pair, len(arms)), reward) for pair, reward in self._log]
        zero, width, (low, high) = rewards.zero, rewards.width, rewards.range
        return [  # rounding could take a reward out of the range
            (arms[arm], min(max(zero + width * unit, low), high), *contexts[context : context + 1])
            for context, arm, unit in plays
        ]

    @property
    def misfits(self) -> int:
        """How many decisions were planned while no model fitted the rewards.

        FP-UCB's first episode, in which nothing can fit, is left out. More than a few mean that the
        truth is not among the models, or that the rewards are a biased sample.
        """
        return int(self._seen.counters[MISFITS::COUNTERS].sum())

    def plausible(self) -> dict[str, float]:
        """Return the models that fit the rewards, the best first, and by how many nats.

        Each is judged by its own means. The probability that the true one is ever missing is at
        most ``false_alarm``, or one in a thousand (approximately, for revenue). If the truth moves,
        models are judged by the posterior, and this is the probability at each decision.
        """
        with self._lock:
            level = getattr(self.policy, "false_alarm", 0.0) or FALSE_ALARM
            if self._filter is not None:
                if self._unweighed:
                    return {}
                nats = posterior_margins(self._weights(), level)
            else:
                nats = margins(self.problem, self._seen.plays, self._seen.sums, level)
        fitting = np.flatnonzero(nats >= 0)
        order = fitting[np.argsort(-nats[fitting], kind="stable")]
        return {self.problem.models[i]: float(nats[i]) for i in order}

    @property
    def spread_fits(self) -> bool:
        """Whether rewards spread as some plausible model says; see `fpbandits.agent.spread`.

        If not, means may be right and the likelihood still wrong. It is True for policies that
        weigh models by means alone, and while no model is plausible.
        """
        with self._lock:
            return self._spread_fits()

    def posterior(self) -> dict[str, float]:
        """Return the probability of each model, given the rewards that count.

        It is exact Bayes for the problem and its prior, whatever the policy makes of the rewards.
        If the truth moves, it is the probability of being true at the next decision.
        """
        with self._lock:
            weights = self._weights()
        return dict(zip(self.problem.models, weights.tolist(), strict=True))

    def best_arm(self, context: str | None = None) -> Belief:
        """Return the arm that is most likely best, how likely, and what it is expected to lose."""
        index = self.problem.context_index(context)
        with self._lock:
            return belief.best_arm(self.problem, self._weights(), index)

    def verdict(self, error: float = 0.05, context: str | None = None) -> str | None:
        """Return the arm that is best under every model not ruled out, or None.

        The probability that it is ever wrong, however often one looks, is at most ``error`` if one
        of the models is right, the truth does not change, and which rewards are late or missing
        does not depend on rewards; where delays do, use ``late="all-in-order"``. It follows from
        the present posterior, so later rewards may withdraw it. docs/verdicts.md has the proof.
        """
        share, index = number(error, "error"), self.problem.context_index(context)
        if not 0 < share < 1:
            raise wrong_value("error", error, "be a probability, above 0 and below 1")
        refuse_moving(self.problem, "a verdict")
        if getattr(self.policy, "change_rate", 0):
            raise ConflictError(
                f"{self.policy} expects the truth to change, and a verdict is for one that does "
                "not: leave out change_rate"
            )
        with self._lock:
            return belief.verdict(self.problem, self._weights(), index, share)

    def why(self, context: str | None = None, among: Iterable[str] | None = None) -> Why:
        """Return the reasons of the next decision: each arm's expected loss, and how arms compare.

        It names the arm that `ask` gives next, unless that decision explores, and changes nothing.
        """
        index = self.problem.context_index(context)
        eligible = None if among is None else self._eligible(among)
        with self._lock:
            arm, seen = self._preview(index, eligible)
            reasons = None if seen is None else self._ready.reasons(seen, index, eligible)
            try:
                posterior = self._weights()
            except ConflictError:
                posterior = None
        return why(
            self.problem,
            str(self.policy),
            arm,
            index,
            reasons,
            posterior,
            among=eligible,
            planned=seen is None,
            explore=self._explore,
        )

    def _hand_out(
        self, context: str | None, among: Iterable[str] | None, instead: int | None = None
    ) -> Decision:
        """Return what the policy decides, and note that it is played, or the pair ``instead``."""
        problem = self._ready.problem
        index = problem.context_index(context)
        eligible = None if among is None else self._eligible(among)
        with self._lock:
            decide = self._decide if self._explore else self._next_planned
            arm, probability = decide(index, eligible)
            pair = index * len(problem.arms) + arm if instead is None else instead
            number = self._ledger.hand_out(pair)
        return Decision(number, problem.arms[arm], context, probability)

    def _eligible(self, among: Iterable[str]) -> Arms | None:
        """Return the eligible arms by index; None if all are."""
        eligible, policy = eligible_arms(self.problem, among), self.policy
        if eligible is not None and policy.eligible is Eligible.REFUSED:
            raise InputError(
                f"{policy} cannot decide among some of the arms: leave out among, or choose "
                "another policy, such as frugal",
                about=("among",),
            )
        return eligible

    def _weights(self) -> Floats:
        """Return the posterior, in the order of models."""
        if self._unweighed:
            raise ConflictError(
                f"there is no posterior: {self._unweighed:,} rewards counted by their means alone, "
                "because no model allows them or an earlier version saved this agent"
            )
        if self._filter is not None:
            return self._filter.at(self._ledger.next)
        seen = self._seen
        return self.problem.weights.of(seen.plays, seen.sums, seen.statistics)

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draw the posterior over time, and write it to a file; it takes ``log=True``."""
        from fpbandits.agent.figure import posterior_figure

        return posterior_figure(self, None if path is None else checked_path(path))

    def __repr__(self) -> str:
        return (
            f"Agent({self.problem.name!r}, {self.policy}: {self._ledger.next:,} asked, "
            f"{len(self._ledger.pending):,} pending)"
        )

    def _repr_html_(self) -> str:
        from fpbandits.agent.html import agent_html

        seen = self._seen
        return agent_html(self, seen.plays, seen.sums)

    def _spread_fits(self) -> bool:
        seen, squares = self._seen, self._squares
        return squares is None or spread_fits(self.problem, seen.plays, seen.sums, squares)

    def _spread_warning(self) -> str | None:
        """Warn, once, that rewards do not spread as the models say."""
        if _SPREAD in self._warned or self._spread_fits():
            return None
        self._warned += (_SPREAD,)
        return spread_warning(self.problem)

    def _crowd_warning(self, pair: int) -> str | None:
        """Warn, once per pair, that many of its rewards are blocked by one decision."""
        blocked = self._ledger.blocked(pair)
        if blocked is None or blocked.rewards < CROWD or pair in self._warned:
            return None
        self._warned += (pair,)
        return blocked.warning(f"arm {quote(self.problem.pair_names[pair])}")
