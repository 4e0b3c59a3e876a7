"""`Agent`: the same rules, live. Ask what to play; tell what came of it; see what is believed.

Rewards may be told late and out of order. Which of them count then matters: where failures are
known later than successes (a sale at once, a non-sale after a week), those told so far are a biased
sample, and the true model would be ruled out. So by default an arm counts only the rewards up to
its first decision that is still pending. `Agent.forget` gives a decision up, and those behind it
count again; what is forgotten is missing from the sample, so forgetting brings a bias of its own if
it depends on the reward. ``late="all-in-order"`` counts the rewards of all arms in the order of
decisions, as `Agent.verdict` needs where delays depend on rewards. ``late="any"`` counts whatever
is told, which is right where they do not.

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
from fpbandits.agent.rewards import oddity, unit_reward
from fpbandits.agent.saving import Saved
from fpbandits.agent.spread import spread_fits
from fpbandits.agent.spread import warning as spread_warning
from fpbandits.agent.why import Why, why
from fpbandits.core.arrays import Floats
from fpbandits.core.checks import checked_path, known_name, number
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


_LOOK_EVERY = 20
"""An agent looks at the spread of rewards when it is told the reward of every so many decisions."""

_SPREAD = -1
"""In place of an arm, among what was warned of."""


@dataclass(frozen=True, slots=True)
class Decision:
    """Play ``arm``, and tell its reward under ``id``; in ``context``, if there are any.

    ``probability`` is how likely this arm was to be played: 1 where nothing is drawn, and None
    where the policy draws and cannot tell.
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
        A policy, or its name, as "fp-ucb"; by default the default one.
    seed
        Where a randomised policy and exploration get their randomness from.
    late
        Which rewards count while others are pending: "in-order", those of each arm up to its first
        pending decision; "all-in-order", those up to the first pending decision of all; "any". If
        the truth moves by the problem's transitions, it is "all-in-order".
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

        ``among`` names the arms that are eligible for this decision; by default all are. Which arm
        is best, and what others lose, is then by these. See docs/verdicts.md.
        """
        problem = self._ready.problem
        index = problem.context_index(context) if problem.contexts or context is not None else 0
        some = None if among is None else self._eligible(among)
        with self._lock:
            decide = self._decide if self._explore else self._next_planned
            arm, probability = decide(index, some)
            number = self._ledger.hand_out(index * len(problem.arms) + arm)
        return Decision(number, problem.arms[arm], context, probability)

    def follow(
        self, arm: str, context: str | None = None, among: Iterable[str] | None = None
    ) -> Decision:
        """Play ``arm`` whatever the policy says, and return what it would have decided.

        For an agent that goes through the log of decisions that were made already.
        """
        arms = self.problem.arms
        wanted = arms.index(known_name("arm", arm, arms))
        decision = self.ask(context, among)
        if decision.arm != arm:
            pair = self.problem.context_index(context) * len(arms) + wanted
            with self._lock:
                self._ledger.replace(decision.id, pair)
        return decision

    def tell(self, id: int | Decision, reward: float) -> None:
        """Take in the reward of a decision, in the user's units; late and out of order is fine.

        The decision is named by its id; itself will do.
        """
        number = id.id if isinstance(id, Decision) else id
        with self._lock:
            arm, number = self._ledger.arm_of(number), int(number)
            value = unit_reward(self._ready, arm, reward, ("decision", number))
            self._settle(number, value)
            crowd = self._crowd(arm) if self._ledger.joins_a_crowd(number) else None
            looks = self._squares is not None and number % _LOOK_EVERY == 0
            spread = self._spread() if looks else None
        odd = None if value in (0.0, 1.0) else oddity(self._ready, value, reward)
        for remark in (crowd, odd, spread):
            if remark is not None:
                warnings.warn(remark, stacklevel=2)

    def forget(self, id: int | Decision) -> None:
        """Give a decision up: its reward will never come."""
        number = id.id if isinstance(id, Decision) else id
        with self._lock:
            self._ledger.arm_of(number)
            self._settle(int(number), None)

    def observe(self, arm: str, reward: float, context: str | None = None) -> None:
        """Take in a reward, in the user's units, of a decision that this agent did not make.

        For a warm start: the history of a user, told before the first `ask`.
        """
        arms = self._ready.problem.arms
        pair = arms.index(known_name("arm", arm, arms))
        pair += self._ready.problem.context_index(context) * len(arms)
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
        odd = oddity(self._ready, value, reward)
        if odd is not None:
            warnings.warn(odd, stacklevel=2)

    @property
    def problem(self) -> Problem:
        """The candidate models."""
        return self._ready.problem

    @property
    def policy(self) -> Policy:
        """The rule that it plays by."""
        return self._ready.policy

    @property
    def pending(self) -> dict[int, str]:
        """The decisions that are pending: neither told nor forgotten."""
        with self._lock:
            names = self.problem.pair_names
            return {number: names[pair] for number, pair in self._ledger.out.items()}

    @property
    def blocked(self) -> dict[str, Blocked]:
        """The arms of which rewards were told that do not count yet, and what blocks them."""
        with self._lock:
            arms = enumerate(self.problem.pair_names)
            found = {name: self._ledger.blocked(arm) for arm, name in arms}
        return {name: blocked for name, blocked in found.items() if blocked is not None}

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
            kept = [(*divmod(pair, len(arms)), reward) for pair, reward in self._log]
        return [
            (arms[arm], rewards.zero + rewards.width * reward, *contexts[context : context + 1])
            for context, arm, reward in kept
        ]

    @property
    def misfits(self) -> int:
        """How many decisions were planned while no model fitted what was seen.

        FP-UCB's first episode, in which nothing can fit, is left out. More than a few mean that the
        truth is not among the models, or that rewards are biased.
        """
        return int(self._seen.counters[MISFITS::COUNTERS].sum())

    def plausible(self) -> dict[str, float]:
        """Return the models that fit what was seen, the best first, and by how many nats.

        Each is judged by its own means, whatever the policy. The true model is missing, ever, with
        probability at most the policy's ``false_alarm``, or one in a thousand. If the truth moves,
        each is judged by the posterior: the model that is true at the next decision is missing with
        that probability at any one decision.
        """
        with self._lock:
            level = getattr(self.policy, "false_alarm", 0.0) or FALSE_ALARM
            if self._filter is not None:
                left = posterior_margins(self._weights(), level)
            else:
                left = margins(self.problem, self._seen.plays, self._seen.sums, level)
        fitting = np.flatnonzero(left >= 0)
        order = fitting[np.argsort(-left[fitting], kind="stable")]
        return {self.problem.models[i]: float(left[i]) for i in order}

    @property
    def spread_fits(self) -> bool:
        """Whether rewards spread as some plausible model says; see `fpbandits.agent.spread`.

        Where they do not, means may be right and the likelihood still wrong. True for policies that
        weigh models by means alone, and as long as no model is plausible.
        """
        with self._lock:
            return self._fits_by_spread()

    def posterior(self) -> dict[str, float]:
        """Return the probability of each model, by the rewards that count.

        If the truth moves, it is the truth of the next decision.
        Exact Bayes for the problem and its prior, whatever the policy makes of the rewards itself.
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

        It is wrong, at whatever time one looks, with probability at most ``error``, if one of the
        models is right, the truth does not change, and which rewards are late or missing does not
        depend on rewards; where delays do, use ``late="all-in-order"``. It follows from the present
        posterior, so later rewards may withdraw it. docs/verdicts.md has the proof.
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
        """Return what the next decision rests on: per arm what it is expected to lose, and why.

        It names the arm that `ask` gives next, unless that decision explores, and changes nothing.
        """
        index, own = self.problem.context_index(context), self._ready
        some = None if among is None else self._eligible(among)
        with self._lock:
            arm, seen = self._preview(index, some)
            reasons = None if seen is None else own.reasons(seen, index, some)
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
            among=some,
            planned=seen is None,
            explore=self._explore,
        )

    def _eligible(self, among: Iterable[str]) -> Arms | None:
        """Return the eligible arms by index; None if all are."""
        some, policy = eligible_arms(self.problem, among), self.policy
        if some is not None and policy.eligible is Eligible.REFUSED:
            raise InputError(
                f"{policy} cannot decide among some of the arms: leave out among, or choose "
                "another policy, such as frugal",
                about=("among",),
            )
        return some

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
        """Draw the posterior over time, of an agent made with ``log=True``; write it to a file."""
        from fpbandits.agent.figure import posterior_figure

        return posterior_figure(self, None if path is None else checked_path(path))

    def __repr__(self) -> str:
        return (
            f"Agent({self.problem.name!r}, {self.policy}: {self._ledger.next:,} asked, "
            f"{len(self._ledger.out):,} pending)"
        )

    def _repr_html_(self) -> str:
        from fpbandits.agent.html import agent_html

        seen = self._seen
        return agent_html(self, seen.plays, seen.sums)

    def _fits_by_spread(self) -> bool:
        if self._squares is None:
            return True
        seen, problem = self._seen, self.problem
        plausible = margins(problem, seen.plays, seen.sums, FALSE_ALARM) >= 0
        fits = spread_fits(problem, seen.plays, seen.sums, self._squares)
        return bool((plausible & fits).any() or not plausible.any())

    def _spread(self) -> str | None:
        """Say, once, that rewards do not spread as the models say."""
        if _SPREAD in self._warned or self._fits_by_spread():
            return None
        self._warned += (_SPREAD,)
        return spread_warning(self.problem)

    def _crowd(self, arm: int) -> str | None:
        """Say, once per arm, that its rewards pile up behind one that is not told."""
        blocked = self._ledger.blocked(arm)
        if blocked is None or blocked.rewards < CROWD or arm in self._warned:
            return None
        self._warned += (arm,)
        return blocked.warning(f"arm {quote(self.problem.pair_names[arm])}")
