"""`Player`: the decisions behind an agent, by index and on [0, 1].

The arms of a policy's plan are handed out one by one. When all are handed out the policy plans
again, with the rewards that count by then. If every reward is told at once, FP-UCB is Algorithm 1
to the letter: a plan is an episode.

**Eligible arms.** A decision among some arms takes the first arm of the plan that is eligible; the
others stay planned. If no planned arm is eligible, the policy decides among the eligible arms for
this decision alone, and the plan stays as it is.

**Exploration.** With ``explore`` = ε, a decision is uniform over the K eligible arms with
probability ε. Such a decision leaves the plan as it is: the policy's arm comes with the next
decision that does not explore. An arm that the policy would now play with probability q is played
with probability ε/K + (1 − ε)·q.

**A truth that moves.** Rewards count in the order of decisions, each as of its decision, and the
belief is moved on from there to the next decision. A policy that follows the chain is given that
belief.
"""

from __future__ import annotations

import os
from copy import deepcopy
from threading import Lock
from typing import Any, get_args

import numpy as np

from fpbandits.agent.ledger import Late, Ledger
from fpbandits.agent.state import packed, unpacked
from fpbandits.core.checks import flag, number, whole_number
from fpbandits.core.streams import EXPLORATION, PLANS, TOLD, random_stream
from fpbandits.engine.contract import State
from fpbandits.engine.policy import Policy
from fpbandits.engine.ready import NO_STREAM, Arms, Ready, ready
from fpbandits.errors import ConflictError, InputError, quote, wrong_value
from fpbandits.families.information import IMPOSSIBLE
from fpbandits.policies import DEFAULT
from fpbandits.policies.parsing import the_policy
from fpbandits.policies.shared.changing import GIVEN
from fpbandits.problem.chain import Filter
from fpbandits.problem.files import the_problem
from fpbandits.problem.problem import Problem


class Player:
    """A policy and what it has seen; `Agent` describes the parameters."""

    __slots__ = (
        "_explore",
        "_filter",
        "_from_history",
        "_ledger",
        "_lock",
        "_log",
        "_memory",
        "_packed",
        "_ready",
        "_seed",
        "_squares",
        "_to_hand_out",
        "_unweighed",
        "_warned",
    )

    def __init__(
        self,
        problem: Problem | str | os.PathLike[str],
        policy: Policy | str | None = None,
        *,
        seed: int = 0,
        late: Late = "in-order",
        explore: float = 0.0,
        log: bool = False,
    ) -> None:
        problem = the_problem(problem)
        if not isinstance(late, str) or late not in get_args(Late):
            wanted = f"late is {quote(late)}: it must be one of {', '.join(get_args(Late))}"
            raise InputError(wanted, about=("late",))
        late = checked_late(problem, late)
        # An error if the policy cannot play the problem.
        prepared = ready(DEFAULT() if policy is None else the_policy(policy), problem)
        share, seed = checked_share(prepared.policy, explore), whole_number("seed", seed)
        self._begin(prepared, seed, late, share, [] if flag("log", log) else None)

    def _begin(
        self, ready: Ready, seed: int, late: Late, explore: float, log: list[Any] | None
    ) -> None:
        """Become a player that has seen nothing."""
        self._ready, self._seed, self._explore = ready, seed, explore
        # Pair and reward, on [0, 1], of each reward that counts, if a log is kept.
        self._log = log
        self._lock = Lock()
        self._packed = packed(ready.empty)
        self._memory = ready.start()
        self._ledger = Ledger(late)
        # How many rewards `observe` took in.
        self._from_history = 0
        moves = ready.problem.transitions is not None
        self._filter = Filter(ready.problem) if moves else None
        # How many rewards count for the policy but not for the posterior: no model allows them.
        self._unweighed = 0
        # The sum of squared rewards, if the policy trusts how they spread.
        self._squares = 0.0 if ready.trusts_spread else None
        # Arms planned but not yet handed out, last one first.
        self._to_hand_out: list[int] = []
        # The pairs whose blocked rewards were warned of, and `_SPREAD` of `agent.py`.
        self._warned: tuple[int, ...] = ()

    @property
    def _seen(self) -> State:
        """The state as a view: a rule that writes to it changes the agent."""
        return unpacked(self._packed, self._ready)

    def _decide(self, context: int, among: Arms | None = None) -> tuple[int, float | None]:
        """Return the arm to play, if some decisions explore, and how likely it was."""
        share, arms = self._explore, among or range(self._ready.arms)
        random = random_stream(self._seed, self._ledger.next, EXPLORATION)
        if random.random() < share:
            arm = arms[int(random.integers(len(arms)))]
            chance = self._chance_of(arm, context, among)
        else:
            arm, chance = self._next_planned(context, among)
        return arm, None if chance is None else share / len(arms) + (1 - share) * chance

    def _next_planned(self, context: int, among: Arms | None = None) -> tuple[int, float | None]:
        """Return the policy's next arm, and how likely the policy was to choose it."""
        chance = None if self._ready.policy.randomised else 1.0
        planned = self._to_hand_out
        index = len(planned) - 1 if among is None else _last_of(planned, among)
        if index >= 0:
            return planned.pop(index), chance
        number, seen = self._ledger.next, self._seen
        if self._filter is not None:
            self._give_belief(self._filter, seen)
        stream = self._stream(number, PLANS)
        pending = self._ledger.count_pending(self._ready.none_pending)
        arms, self._memory = self._ready.plan(
            seen, number, self._memory, stream, context, pending, among
        )
        if chance is None:
            chance = self._ready.chance(seen, arms[0], context, among)
        if among is None:
            self._to_hand_out = arms[:0:-1]
        return arms[0], chance

    def _preview(self, context: int, among: Arms | None) -> tuple[int, State | None]:
        """Return the arm that the policy would play now, and the state after its plan.

        The state is None if the arm was planned before. The player does not change.
        """
        planned = self._to_hand_out
        index = len(planned) - 1 if among is None else _last_of(planned, among)
        if index >= 0:
            return planned[index], None
        number, seen = self._ledger.next, unpacked(self._packed.copy(), self._ready)
        if self._filter is not None:
            self._give_belief(self._filter, seen)
        memory, stream = deepcopy(self._memory), self._stream(number, PLANS)
        pending = self._ledger.count_pending(self._ready.none_pending)
        arms, _ = self._ready.plan(seen, number, memory, stream, context, pending, among)
        return arms[0], seen

    def _chance_of(self, arm: int, context: int, among: Arms | None) -> float | None:
        """Return how likely the policy is to play an arm now."""
        planned, seen = self._preview(context, among)
        if seen is not None and self._ready.policy.randomised:
            return self._ready.chance(seen, arm, context, among)
        return float(arm == planned)

    def _resolve(self, decision: int, reward: float | None) -> None:
        """Count what may count now that this decision is no longer pending."""
        for play, pair, value in self._ledger.resolve(decision, reward):
            if self._filter is not None:
                self._count_at(self._filter, play, pair, value)
            self._take_in(pair, value, self._stream(play, TOLD))

    def _count_at(self, belief_filter: Filter, play: int, pair: int, reward: float) -> None:
        """Count a reward as of its play, if the truth moves, unless no model allows it."""
        try:
            statistics = self._ready.problem.rewards.statistics_of(pair, reward)
        except InputError:
            belief_filter.move_to(play)
            return  # `_take_in` adds to `_unweighed`
        try:
            belief_filter.count(play, pair, reward, statistics)
        except ConflictError:
            belief_filter.move_to(play)
            self._unweighed += 1

    def _give_belief(self, belief_filter: Filter, seen: State) -> None:
        """Write the belief in the truth of the next decision to the state, if the policy reads it.

        A policy that follows the chain reads it as costs, ln max b − ln b(θ), marked `GIVEN`.
        """
        if self._ready.policy.follows(self._ready.problem):
            belief = belief_filter.at(self._ledger.next)
            with np.errstate(divide="ignore"):
                costs = np.minimum(np.log(belief.max()) - np.log(belief), IMPOSSIBLE)
            seen.extra[: len(costs)], seen.extra[-1] = costs, GIVEN

    def _take_in(self, pair: int, reward: float, stream: np.random.Generator) -> None:
        """Count a reward, on [0, 1]."""
        ready, seen = self._ready, self._seen
        if ready.upto_statistics > ready.upto_sums and not ready.looks_at_laws:
            # The policy does not use the family's statistics, but the posterior does.
            try:
                statistics = ready.problem.rewards.statistics_of(pair, reward)
            except InputError:
                self._unweighed += 1
            else:
                for k, value in enumerate(statistics):  # few, and most are 0: no array of them
                    if value:
                        seen.statistics[pair, k] += value
        self._memory = ready.observe(seen, self._ledger.next, self._memory, pair, reward, stream)
        if self._squares is not None:
            self._squares += reward * reward
        if self._log is not None:
            self._log.append([pair, reward])

    def _stream(self, number: int, purpose: int) -> np.random.Generator:
        """Return the random stream of a decision, or of a reward of the history."""
        if not self._ready.policy.randomised:
            return NO_STREAM
        return random_stream(self._seed, number, purpose)


def _last_of(planned: list[int], among: Arms) -> int:
    """Return the index of the next eligible arm in a plan, last arm first; −1 if there is none."""
    return max((index for index, arm in enumerate(planned) if arm in among), default=-1)


def checked_late(problem: Problem, late: Late) -> Late:
    """Return in which order rewards count: all in order, if the truth moves."""
    if problem.transitions is None:
        return late
    if late == "any":
        raise InputError(
            f"the truth of {problem.name} moves by its transitions, so rewards count in the order "
            "of decisions: leave out late='any'",
            about=("late",),
        )
    return "all-in-order"


def checked_share(policy: Policy, explore: float) -> float:
    """Return the share of decisions that explore, or say why none can."""
    share = number(explore, "explore")
    if not 0 <= share <= 1:
        raise wrong_value("explore", explore, "be a share of decisions, from 0 to 1")
    if share and policy.randomised and type(policy).chance is Policy.chance:
        raise InputError(
            f"{policy} draws arms and cannot tell how likely each was, so explore has no right "
            "probabilities: leave it out, or choose a policy that draws nothing, or thompson-theta",
            about=("explore",),
        )
    return share
