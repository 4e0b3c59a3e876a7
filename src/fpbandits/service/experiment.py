"""`Experiment`: a problem, a policy and a seed under a name; it never changes.

Its *definition* is what someone asked for, as JSON: the problem as the text of a TOML file, the
policy as a word. Two definitions are the same experiment if they agree in every field.

Each unit has an agent of its own. Its seed comes from the experiment's and from the unit's name, so
that a randomised policy does not draw the same for all of them.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from dataclasses import dataclass, replace
from functools import cached_property

from fpbandits.agent.agent import Agent, Late
from fpbandits.core.checks import known_name
from fpbandits.core.renamed import rename_old_options
from fpbandits.engine.policy import Policy
from fpbandits.errors import InputError, quote, within
from fpbandits.policies import DEFAULT, POLICIES
from fpbandits.policies.parsing import made, options_of
from fpbandits.problem.files import problem_from_toml
from fpbandits.problem.problem import Problem
from fpbandits.service.messages import DEFINITION, short_name


@dataclass(frozen=True, eq=False)
class Experiment:
    """What is decided, how, and until when rewards count.

    Attributes
    ----------
    id
        Its number in the store.
    name
        What it is called.
    problem, policy, seed, late
        What each unit's agent is made of.
    reward_wait, default_reward
        A decision not told within so many seconds counts as this reward, or is forgotten if there
        is none; None: it may be told at any time.
    definition
        All of it, as JSON.
    """

    id: int
    name: str
    problem: Problem
    policy: Policy
    seed: int
    late: Late
    reward_wait: float | None
    default_reward: float | None
    definition: str

    @classmethod
    def from_definition(cls, id: int, name: str, definition: str) -> Experiment:
        """Return the experiment that a store holds."""
        fields = json.loads(definition)
        fields["problem"] = problem_from_toml(fields["problem"], name)
        fields["policy"] = policy_of(rename_old_options(fields["policy"]))
        return cls(id=id, name=name, definition=definition, **fields)

    def stored(self, id: int) -> Experiment:
        """Return the same experiment with its number in a store; what is prepared is shared."""
        found = replace(self, id=id)
        vars(found)["_first"] = self._first
        return found

    def agent(self, unit: str, own_state: str | None = None) -> Agent:
        """Return the agent of a unit: one that knows nothing yet, or as its state says."""
        return self._first.another(seed=self.seed_of(unit), own_state=own_state)

    def seed_of(self, unit: str) -> int:
        """Return the seed of a unit's agent."""
        digest = hashlib.sha256(f"{self.seed} {unit}".encode()).digest()
        return int.from_bytes(digest[:6], "big")

    @cached_property
    def _first(self) -> Agent:
        """The agent that all others are like; nobody asks it."""
        return Agent(self.problem, self.policy, late=self.late)


def checked_experiment(name: object, body: object) -> Experiment:
    """Return the experiment that someone asks for, with number 0, or say what is wrong with it.

    A decision is made and every default reward is told once, so that what cannot work is refused
    here.
    """
    title = short_name("the experiment", name)
    if "/" in title:
        slash = f"its name {quote(title)} stands in addresses: no /"
        raise InputError(slash, place=("the experiment",))
    asked = DEFINITION.read(body)
    if asked.default_reward is not None and asked.reward_wait is None:
        alone = "default_reward needs reward_wait: it counts when that has passed"
        raise InputError(alone, about=("default_reward",))
    definition = asked._replace(policy=str(policy_of(asked.policy)))._asdict()
    with within("problem"):
        experiment = Experiment.from_definition(0, title, json.dumps(definition))
    _try(experiment)
    return experiment


def _try(experiment: Experiment) -> None:
    agent = experiment.agent("")
    contexts = experiment.problem.contexts or (None,)
    agent.ask(contexts[0])
    if experiment.default_reward is None:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for context in contexts:
            for arm in experiment.problem.arms:
                agent.observe(arm, experiment.default_reward, context)


def policy_of(word: str | None) -> Policy:
    """Return one of the package's policies; a file of someone's own is not run here."""
    if word is None:
        return DEFAULT()
    name, *options = word.split(":")
    kind = POLICIES[known_name("policy", name, POLICIES)]
    return made(kind, options_of(kind, options))
