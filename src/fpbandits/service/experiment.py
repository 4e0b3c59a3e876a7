"""`Experiment`: a problem, a policy and a seed under a name; none of these ever changes.

Its *definition* is what someone asked for, as JSON: the problem as the text of a TOML file, the
policy as its name and options. Two definitions are the same experiment if they agree in every
field.

What does change is its *status*, and the *revision* of its policy's rule: a server that has another
revision does not decide for it until an administrator adopts that one. Each change makes a new
*edition*, so that a server notices when it knows an old one.

Each unit has an agent of its own. Its seed comes from the experiment's and from the unit's name, so
that a randomised policy does not draw the same for all of them.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from fpbandits.agent import state as agent_state
from fpbandits.agent.agent import Agent, Late
from fpbandits.core.checks import known_name
from fpbandits.core.renamed import rename_old_options
from fpbandits.engine.policy import Policy
from fpbandits.errors import (
    ConflictError,
    InputError,
    TooLargeError,
    UnavailableError,
    UnknownError,
    listed,
    quote,
    within,
)
from fpbandits.policies import DEFAULT
from fpbandits.policies.parsing import package_policy
from fpbandits.problem.files import problem_from_toml
from fpbandits.problem.problem import Problem
from fpbandits.service.control import Control
from fpbandits.service.messages import DEFINITION, Definition, short_name
from fpbandits.service.settings import Settings

STATES = agent_state.SCHEMA
"""The schema of units' states, which are those of their agents."""

OPEN = "open"
"""The status of an experiment that takes requests."""

CLOSED = "closed"
"""… that takes rewards and no more decisions."""

MIGRATING = "migrating"
"""… that takes no requests until `migrate` is done."""

ADOPTING = "adopting"
"""… that takes no requests until `adopt` is done."""

DELETING = "deleting"
"""… that takes no requests any more."""


class Stamp(NamedTuple):
    """Identifies one edition of an experiment: a name may be used again, and so may a number."""

    id: int
    created: float
    edition: int


NOT_KEPT = Stamp(0, 0.0, 0)
"""The stamp of an experiment that is in no store."""


class Kept(NamedTuple):
    """An experiment as a store keeps it."""

    id: int
    name: str
    definition: str
    status: str
    revision: int
    states: int
    edition: int
    created: float

    @property
    def stamp(self) -> Stamp:
        """Which experiment it is, and which edition of it."""
        return Stamp(self.id, self.created, self.edition)

    def changing(self) -> dict[str, Any]:
        """Return what an `Experiment` has beside its definition."""
        changing = {"revision": self.revision, "states": self.states, "status": self.status}
        return {**changing, "stamp": self.stamp}

    def changed(self, status: str, revision: int | None = None) -> Kept:
        """Return its next edition; another revision comes with states that were rebuilt for it."""
        edition = self._replace(status=status, edition=self.edition + 1)
        return edition if revision is None else edition._replace(revision=revision, states=STATES)

    def shown(self) -> dict[str, Any]:
        """Return all of it as HTTP shows it."""
        about = {"name": self.name, "created": self.created, "status": self.status}
        return {**about, **json.loads(self.definition), "revision": self.revision}


@dataclass(frozen=True, eq=False)
class Experiment:
    """What is decided, by which policy, and until when rewards count.

    Attributes
    ----------
    name
        What it is called.
    problem, policy, seed, late, explore
        What each unit's agent is made of.
    reward_wait, default_reward
        After so many seconds, a decision without a reward expires: the default reward counts, or if
        that is None, the decision is forgotten. Without a wait a reward may come at any time.
    control
        Units that always get one arm, if there are any.
    definition
        All of it, as JSON.
    revision, states
        The revision of the policy's rule that the experiment is played by, and the schema of its
        units' states.
    status, stamp
        Whether it takes requests, and which experiment of a store it is.
    most_pending
        Pending decisions that a unit may have.
    """

    name: str
    problem: Problem
    policy: Policy
    seed: int
    late: Late
    reward_wait: float | None
    default_reward: float | None
    definition: str
    revision: int
    explore: float = 0.0
    control: Control | None = None
    states: int = STATES
    status: str = OPEN
    stamp: Stamp = NOT_KEPT
    most_pending: int = Settings.most_pending

    @classmethod
    def from_definition(cls, name: str, definition: str) -> Experiment:
        """Return the experiment that a definition describes, with the rule's present revision."""
        fields = json.loads(definition)
        fields["problem"] = problem_from_toml(fields["problem"], name)
        fields["control"] = Control.of(definition)
        policy = fields["policy"] = package_policy(rename_old_options(fields["policy"]))
        return cls(name=name, definition=definition, revision=policy.revision, **fields)

    @classmethod
    def from_kept(cls, kept: Kept) -> Experiment:
        """Return the experiment that a store holds."""
        return replace(cls.from_definition(kept.name, kept.definition), **kept.changing())

    @cached_property
    def id(self) -> int:
        """The experiment's number in the store."""
        return self.stamp.id

    @property
    def rule(self) -> str:
        """The policy and the revision of its rule that decides, as "frugal@2"."""
        return f"{self.policy.name}@{self.revision}"

    @property
    def is_current(self) -> bool:
        """Whether this version of fpbandits has its revision, and reads its units' states."""
        return self.revision == self.policy.revision and self.states == STATES

    def check_serving(self) -> None:
        """Raise an error unless this version may change the experiment's units."""
        if self.status in (OPEN, CLOSED) and self.is_current:
            return
        who = quote(self.name)
        if self.status == DELETING:
            raise ConflictError(f"{who} is being deleted")
        if self.status in (MIGRATING, ADOPTING):
            raise UnavailableError(f"{who} is {self.status}, and takes requests when that is done")
        if self.revision != self.policy.revision:
            ours = f"{self.policy.name}@{self.policy.revision}"
            reason = f"{who} is decided by {self.rule}, and this server has {ours}"
            raise UnavailableError(
                f"{reason}: adopt that revision, or ask a server of that version"
            )
        reason = f"the states of {who} are of an earlier version"
        raise UnavailableError(f"{reason}: stop its servers and run fpbandits upgrade")

    def check_open(self) -> None:
        """Raise an error unless the experiment takes new decisions."""
        if self.status == CLOSED:
            raise ConflictError(f"{quote(self.name)} is closed: it takes rewards, no new decisions")

    def as_kept(self, kept: Kept) -> Experiment:
        """Return the same experiment as a store keeps it; the prepared policy is shared."""
        return self._changed(**kept.changing())

    def with_most_pending(self, most_pending: int) -> Experiment:
        """Return the same experiment with another limit; the prepared policy is shared."""
        return self._changed(most_pending=most_pending)

    def _changed(self, **changes: Any) -> Experiment:
        changed = replace(self, **changes)
        vars(changed)["_first"] = self._first
        return changed

    def agent(self, unit: str, own_state: str | None = None) -> Agent:
        """Return the agent of a unit in this state; without one, a new agent."""
        return self._first.another(seed=self.seed_of(unit), own_state=own_state)

    def new_agent(self, unit: str, first_decision: int) -> Agent:
        """Return a new agent whose decisions are numbered from there on: its unit was erased."""
        state = json.loads(self.agent(unit).own_state())
        return self.agent(unit, json.dumps({**state, "next": first_decision}))

    def control_arm(self, unit: str, among: Sequence[str] | None = None) -> str | None:
        """Return the arm that a unit of the control group gets; None if the policy decides.

        That is for other units, and where only arms ``among`` some are eligible and this is none.
        """
        control = self.control
        if control is None or (among is not None and control.arm not in among):
            return None
        return control.arm if control.has(unit) else None

    def seed_of(self, unit: str) -> int:
        """Return the seed of a unit's agent."""
        digest = hashlib.sha256(f"{self.seed} {unit}".encode()).digest()
        return int.from_bytes(digest[:6], "big")

    def check_context(self, context: str | None) -> None:
        """Refuse a context that the problem does not have, in a time that does not depend on it.

        No similar names are looked for: with many contexts that takes milliseconds per request.
        """
        if context in self._contexts:
            return
        if context is None or None in self._contexts:
            self.problem.context_index(context)  # raises an error that says so
        known = f"known are {listed(self.problem.contexts)}"
        about = (("context", context or ""),)
        raise UnknownError(f"unknown context {quote(context)}: {known}", about=about)

    def eligible(self, among: Sequence[str]) -> list[str] | None:
        """Return the arms that are eligible, in the problem's order; None if all are.

        An unknown arm is refused, likewise without a look for similar names.
        """
        unknown = next((arm for arm in among if arm not in self._arms), None)
        if unknown is not None:
            known = f"known are {listed(self.problem.arms)}"
            about = (("arm", unknown),)
            raise UnknownError(f"unknown arm {quote(unknown)}: {known}", about=about)
        named = set(among)
        eligible = [arm for arm in self.problem.arms if arm in named]
        return None if len(eligible) == len(self.problem.arms) else eligible

    @cached_property
    def _arms(self) -> frozenset[str]:
        return frozenset(self.problem.arms)

    @cached_property
    def _contexts(self) -> frozenset[str | None]:
        return frozenset(self.problem.contexts or (None,))

    @cached_property
    def _first(self) -> Agent:
        """An agent that never decides; those of all units are made from it."""
        return Agent(self.problem, self.policy, late=self.late, explore=self.explore)


def checked_experiment(
    name: object, body: object, *, most_means: int = Settings.most_means
) -> Experiment:
    """Return the experiment that someone asks for, or say what is wrong with it.

    An agent decides once, and observes the default reward of every arm, so that a definition that
    cannot work is refused here.
    """
    title = short_name("the experiment", name)
    if "/" in title:
        reason = f"its name {quote(title)} stands in addresses: no /"
        raise InputError(reason, place=("the experiment",))
    asked = DEFINITION.read(body)
    if asked.default_reward is not None and asked.reward_wait is None:
        reason = "default_reward needs reward_wait: it counts when that has passed"
        raise InputError(reason, about=("default_reward",))
    policy = DEFAULT() if asked.policy is None else package_policy(asked.policy)
    definition = asked._replace(policy=str(policy))._asdict()
    with within("problem"):
        experiment = Experiment.from_definition(title, json.dumps(definition))
        _check_size(experiment.problem, most_means)
    if experiment.control is not None:
        with within("control"):
            known_name("arm", experiment.control.arm, experiment.problem.arms)
    _try(experiment)
    return experiment


def reward_wait(definition: str) -> float | None:
    """Return for how many seconds an experiment waits for rewards; None: for ever."""
    wait: float | None = json.loads(definition).get("reward_wait")
    return wait


def same_definition(first: str, second: str) -> bool:
    """Tell whether two definitions agree; words of earlier versions count as their new ones."""
    return complete_definition(first) == complete_definition(second)


def complete_definition(definition: str) -> dict[str, Any]:
    """Return all fields of a stored definition: with defaults, and new names of old options."""
    fields = {**Definition._field_defaults, **json.loads(definition)}
    return {**fields, "policy": rename_old_options(fields["policy"])}


def _check_size(problem: Problem, most_means: int) -> None:
    means = len(problem.models) * problem.pairs
    if means > most_means:
        sizes = f"{len(problem.models):,} models of {problem.pairs:,} means each"
        raise TooLargeError(f"{sizes}: at most {most_means:,} means are served")


def _try(experiment: Experiment) -> None:
    """Decide, and observe the default reward of every arm: what is wrong raises an error."""
    agent = experiment.agent("")
    contexts = experiment.problem.contexts or (None,)
    agent.ask(contexts[0])
    if experiment.default_reward is None:
        return
    agent = experiment.agent("")  # a new one: history must come before decisions
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for context in contexts:
            for arm in experiment.problem.arms:
                agent.observe(arm, experiment.default_reward, context)
