r"""Frugality: buy information where it is cheapest, and none that comes for free.

Let p be the posterior, θ̂ the model of largest p, and the *leader* the best arm of θ̂ (if several
are best, the one of least expected loss). Playing arm i is expected to lose c_i = Σ_θ p(θ)·Δ_i(θ).
If θ holds, playing the leader for good loses g(θ) per play: the *stake* of θ is p(θ)·g(θ). So θ
should be ruled out before the leader is played for good. If θ does not hold, one play of arm i
tells D̄_i(θ) nats against it on average. The arm's *information value* is V_i:

    D̄_i(θ) = Σ_{φ≠θ} w_θ(φ)·D_i(φ‖θ) / W_θ,
    V_i = Σ_θ p(θ)·g(θ)·W_θ·D̄_i(θ)/(1 + D̄_i(θ)),
    w_θ(φ) = p(φ)·e^{−⅛ Σ_j m_j·J_j(θ,φ)},    W_θ = Σ_{φ≠θ} w_θ(φ).

D_i(φ‖θ) is the divergence of arm i's distribution under φ from that under θ: what a play tells
against θ if φ holds. m_j is the number of pending plays of arm j. They will tell θ from φ by
themselves, so what they tell need not be bought; J_j(θ,φ) = D_j(θ‖φ) + D_j(φ‖θ), and e^{−J/8} is
the Bhattacharyya affinity of normal rewards. If nothing is pending, w_θ(φ) is p(φ), and W_θ the
probability that θ does not hold. More than a nat at once is of little more use, hence D̄/(1 + D̄).

**Of all arms, play the one of largest V_i/c_i if that ratio is at least 1/h(t), else the leader.**
h(t) is the number of plays for which the information will be of use: κt^{1+δ} if nobody knows,
T − t + 1 if ``horizon`` is T, and H if ``lifetime`` is H, where each play may be the last with
probability 1/H.

The leader is among these arms. It costs next to nothing, so as a rule it has the largest ratio as
long as it tells anything of use, and what it tells for free is not bought. What only other arms
tell is bought where a nat costs least. With contexts, the arms for all contexts are chosen jointly,
to maximise V/c, where V and c are averages over contexts, by their shares, of the V_i and c_i of
their arms; g(θ) is such an average of what the leaders lose.
``docs/default.md`` has what is proven and how well it does.

When models may be wrong, with ``false_alarm``: θ̂ is the likeliest of the models whose means fit
the rewards. Models likelier than θ̂ do not fit, and are left out of p; less likely ones stay in p,
whether they fit or not. If no model fits, the policy drops the models and plays IMED
(`fpbandits.policies.shared.giving_up`). Late and seldom, an arm that is hardly played is played in
place of the leader, to check what θ̂ says of it (`fpbandits.policies.shared.doubt`).

When the truth changes with probability ``change_rate`` before each play, the posterior leaks to the
prior at that rate, and h is at most change_rate^{−(1+δ)/2}, which is t^{1+δ} (without κ) at t =
1/√change_rate. A model that was ruled out has regained a belief of about n·change_rate after n
plays, and is tested when that is about 1/h: after some 1/√change_rate plays. Then the tests cost as
much as the changes that are missed (``docs/changing.md``). If the problem has transitions, p
follows them, and the rate is that at which the chain forgets (`fpbandits.problem.chain`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fpbandits.core.arrays import Counts
from fpbandits.engine.compiling import jitted
from fpbandits.engine.contract import CONTEXT, Ahead, Envelope, Plan, Random, State
from fpbandits.engine.envelope import certain_rounds
from fpbandits.engine.policy import Contexts, Eligible, Reasons
from fpbandits.errors import InputError
from fpbandits.policies.frugal_leap import keeps_leading
from fpbandits.policies.frugal_value import (
    MOST_RIVALS,
    Belief,
    FrugalData,
    FrugalWork,
    choose,
    cutoff,
    h_of,
    information_value,
    lead,
    reward_costs,
)
from fpbandits.policies.imed import imed_holds
from fpbandits.policies.shared.belief import believe, expected_loss, fill_posterior
from fpbandits.policies.shared.doubt import arm_in_doubt, trusted_until
from fpbandits.policies.shared.fit import new_fit
from fpbandits.policies.shared.giving_up import GIVEN_UP, gives_up, mark_unfit, plan_without_models
from fpbandits.policies.shared.likelihood import LikelihoodPolicy, weigh
from fpbandits.problem.problem import Problem


@dataclass(frozen=True)
class Frugal(LikelihoodPolicy):
    """Buy information where it is cheapest, and none that comes for free.

    Parameters
    ----------
    delta : float, default 0.1
        δ of h(t) = κt^{1+δ}, the number of plays for which information will be of use; 0 or more. A
        larger one explores more, and makes the tail of regret lighter. The guarantee needs more
        than 0.
    kappa : float, default 10.0
        κ of h(t); above 0. A larger one explores more, from the first play on.
    horizon : float, default 0.0
        How many decisions there will be, if that is known: h is what is left, at least 1. 0: not
        known.
    lifetime : float, default 0.0
        How many decisions there will be on average, if each may be the last: h is that. 0: not
        known.
    false_alarm : float, default 0.0
        The largest probability with which a right model may ever be ruled out; from 0 to below 1.
        It holds while the truth stays the same; for revenue, whose tails are heavier than those of
        normal rewards, approximately. 0: models are never given up, and misfits are only counted.
    trust : float, default 250.0
        With false_alarm, arms that the models advise against are checked now and then, after play
        trust·(K − 1)⁴, K the number of arms, or of pairs of a context and an arm; 0 or more, and
        less than 0.001 counts as 0.001.
    change_rate : float, default 0.0
        Probability, from 0 to 1, that the truth is drawn anew from the prior before a play. If it
        is above 0, the problem's transitions are ignored. 0: the truth moves by the transitions, or
        never if there are none.
    likelihood : {"law", "means"}, default "law"
        Weigh models by the law of rewards, or, where that is not to be trusted, by means alone.

    References
    ----------
    This package's own; docs/default.md has its proof.
    """

    delta: float = 0.1
    kappa: float = 10.0
    horizon: float = 0.0
    lifetime: float = 0.0
    false_alarm: float = 0.0
    trust: float = 250.0
    change_rate: float = 0.0

    name = "frugal"
    revision = 4
    contexts = Contexts.TOGETHER
    eligible = Eligible.MARKED  # in ``theta``: other arms have an infinite expected loss
    # If no options but delta > 0 and kappa are set. B(θ°): the models that agree with the truth θ°
    # on its best arm, but have a better arm.
    guarantee = "O(log T), bounded where B(θ°) is empty and one arm is best"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kappa == 0:
            raise InputError("kappa is 0: it must be above 0, or nothing is worth its cost").at(
                self.name
            )
        if self.horizon > 0 and self.lifetime > 0:
            raise InputError("horizon= and lifetime= both say how long: give one").at(self.name)

    def prepare(self, problem: Problem) -> FrugalData:
        values = self.prepared_values(problem)
        # Here, costs are those of rewards to models, −ln of their likelihoods. With a change rate,
        # `theta` has large ones in place of infinite ones, so that a model can become likely again
        # after a reward that it rules out. Divergences have stand-ins of their own.
        with_infinity = replace(self, change_rate=0.0).theta(problem)
        values["cost"], values["expected"] = reward_costs(with_infinity, problem)
        values["trusted_until"] = trusted_until(self.trust, problem.pairs)
        values["shares"] = np.array(problem.shares or (1.0,))
        # ``values`` also has ``trust``, and the options of a policy that builds on this one.
        return FrugalData(**{name: values[name] for name in FrugalData._fields})

    def workspace(self, prepared: FrugalData, pairs: int) -> FrugalWork:
        """Return arrays for a decision; `FrugalWork` says what each is for."""
        models, statistics = prepared.theta.prior.size, prepared.cost.shape[2]
        now, least, most = (Belief(np.zeros(models), *np.zeros((2, pairs))) for _ in range(3))
        return FrugalWork(
            cycle=np.zeros(pairs, np.int64),
            fit=new_fit(prepared.theta),
            decided=np.zeros(2, np.int64),
            now=now,
            least=least,
            most=most,
            unfit=np.zeros(models, bool),
            leaders=np.zeros(prepared.shares.size, np.int64),
            mean=np.zeros((pairs, statistics + 1)),
            told=np.zeros(pairs),
            rivals=np.zeros(MOST_RIVALS, np.int64),
        )

    def reasons(
        self, problem: Problem, prepared: FrugalData, state: State, workspace: FrugalWork
    ) -> Reasons | None:
        """Return the rule with its h, the information values, and the posterior."""
        if state.counters[GIVEN_UP] == 1:
            return None
        first, now = state.counters[CONTEXT] * len(problem.arms), workspace.now
        # From losses on [0, 1] to the user's units.
        value = now.value[first : first + len(problem.arms)] * problem.rewards.width
        _, t = workspace.decided
        h = h_of(prepared, int(t))
        what, it, its = "the arm that tells", "it loses", "its"
        if problem.contexts:
            what, it, its = "the arms, one per context, that together tell", "they lose", "their"
        rule = (
            f"plays {what} most for what {it}, if {its} information value times {h:.4g} is at "
            f"least {its} expected loss, else the best arm of the likeliest model"
        )
        if prepared.alarm > 0:
            rule += ", unless an arm that the models advise against is due for a check"
        return Reasons(rule, {"information value": value}, now.posterior.copy())

    @staticmethod
    def plan(
        prepared: FrugalData, state: State, workspace: FrugalWork, ahead: Ahead, random: Random
    ) -> Plan:
        if state.counters[GIVEN_UP] == 1:  # no model fits
            may_repeat = plan_without_models(prepared.theta, state, workspace.cycle)
        else:
            may_repeat = _decide(prepared, state, workspace, ahead.made + 1, ahead.pending)
        rounds = certain_rounds(prepared, state, workspace, ahead) if may_repeat else 1
        return 1, rounds

    @staticmethod
    def holds_for(
        prepared: FrugalData, state: State, workspace: FrugalWork, envelope: Envelope, rounds: int
    ) -> bool:
        if state.counters[GIVEN_UP] == 1:
            return imed_holds(state, envelope, workspace.cycle[0], prepared.theta.normal, rounds)
        more = rounds - 1  # the first play is decided; `imed_holds` subtracts it itself
        return keeps_leading(prepared, state, workspace, envelope, more)


@jitted
def _decide(
    prepared: FrugalData, state: State, work: FrugalWork, t: int, pending: Counts | None
) -> bool:
    """Put the arm to play into the cycle; tell whether it may be repeated.

    It may if it is the leader and the truth does not change.
    """
    theta, fit, now = prepared.theta, work.fit, work.now
    weigh(theta, state, fit)
    # If the truth moves by transitions, no single model need fit all rewards: misfits are not
    # counted, and `LikelihoodPolicy.changes` has refused a false_alarm. With a change_rate that the
    # user gives, a false_alarm is allowed: its test uses all rewards, old ones too, so that right
    # models are given up once a change shows.
    moves = prepared.chain is not None
    if not moves and gives_up(theta, prepared.alarm, state, fit, work.cycle):
        return False  # IMED has put its arm into the cycle, for one play
    if prepared.alarm > 0:
        mark_unfit(theta, state, prepared.alarm, fit, work.unfit)
    # This turns the deficits in ``fit.deficit`` into −ln of beliefs; with a chain, which does not
    # need them, it puts these in their place.
    believe(theta, theta.prior, state, fit.deficit, prepared.change_rate, prepared.chain)
    h, context = h_of(prepared, t), state.counters[CONTEXT]
    hat = fill_posterior(fit.deficit, cutoff(h), now.posterior, work.unfit)
    expected_loss(theta, now.posterior, 0, now.loss)  # of all pairs, from 0 on
    lead(theta, now.loss, hat, work.leaders)
    information_value(prepared, work, now, hat, pending)
    leader = work.leaders[context]
    arm = choose(theta.arms, prepared.shares, now, context, h)
    if arm < 0:  # none is worth its cost
        arm = leader
    if prepared.alarm > 0 and arm == leader:
        arm = arm_in_doubt(theta, prepared.trusted_until, state, hat, context, leader, t)
    work.cycle[0], work.decided[0], work.decided[1] = arm, hat, t
    return bool(arm == leader and prepared.change_rate == 0)  # with a chain it is above 0
