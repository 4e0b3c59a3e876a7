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
from dataclasses import dataclass
from functools import cached_property

from fpbandits.agent.agent import Agent, Late
from fpbandits.core.checks import checked_name, known_name, number, whole_number
from fpbandits.core.renamed import with_new_options
from fpbandits.engine.policy import Policy
from fpbandits.errors import InputError, TooLargeError, listed, quote, unknown, wrong_type
from fpbandits.policies import DEFAULT, POLICIES
from fpbandits.policies.parsing import made, options_of
from fpbandits.problem.files import SIZE_LIMITS, problem_from_toml
from fpbandits.problem.problem import Problem

LONGEST_NAME = 200
"""Letters in the name of an experiment or a unit, and in a key."""

LONGEST_WAIT = 10 * 365 * 86_400.0

_FIELDS = ("problem", "policy", "seed", "late", "reward_wait", "default_reward")


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
        return cls(
            id,
            name,
            problem_from_toml(fields["problem"], name),
            policy_of(with_new_options(fields["policy"])),
            fields["seed"],
            fields["late"],
            fields["reward_wait"],
            fields["default_reward"],
            definition,
        )

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

    def context(self, given: object) -> str | None:
        """Return a context of the problem, or say which there are."""
        contexts = self.problem.contexts
        if given is None and not contexts:
            return None
        if not contexts:
            raise InputError(f"{self.name} has no contexts: leave it out", about=("context",))
        if given is None:
            which = f"{self.name} has contexts: say which, one of {listed(contexts)}"
            raise InputError(which, about=("context",))
        return known_name("context", given, contexts)


def checked_experiment(name: object, body: object) -> Experiment:
    """Return the experiment that someone asks for, with number 0, or say what is wrong with it.

    A decision is made and every default reward is told once, so that what cannot work is refused
    here.
    """
    title = short_name("the experiment", name)
    if "/" in title:
        slash = f"its name {quote(title)} stands in addresses: no /"
        raise InputError(slash, place=("the experiment",))
    if not isinstance(body, dict):
        raise InputError(f"an experiment is an object with {', '.join(_FIELDS)}, not {quote(body)}")
    for field in body:
        if field not in _FIELDS:
            raise unknown("field", str(field), _FIELDS)
    text = body.get("problem")
    if not isinstance(text, str):
        raise wrong_type("problem", text, "the text of a TOML file")
    if len(text) > SIZE_LIMITS[".toml"]:
        long = f"problem has more than {SIZE_LIMITS['.toml']:,} letters"
        raise TooLargeError(long, about=("problem",))
    try:
        text.encode()
        problem = problem_from_toml(text, title)
    except UnicodeEncodeError as error:
        half = f"letter {error.start + 1} is half of one"
        raise InputError(half, place=("problem",)) from None
    except InputError as error:
        raise error.at("problem") from None
    late = body.get("late", "in-order")
    wait, default = body.get("reward_wait"), body.get("default_reward")
    if wait is not None:
        wait = number(wait, "reward_wait")
        if not 0 < wait <= LONGEST_WAIT:
            longest = f"it must be above 0 and at most {LONGEST_WAIT:g} seconds"
            raise InputError(f"reward_wait is {wait:g}: {longest}", about=("reward_wait",))
    if default is not None:
        if wait is None:
            lone = "default_reward needs reward_wait: it counts when that has passed"
            raise InputError(lone, about=("default_reward",))
        default = number(default, "default_reward")
    policy = policy_of(body.get("policy"))
    seed = whole_number("seed", body.get("seed", 0), most=2**63 - 1)
    definition = {
        "problem": text,
        "policy": str(policy),
        "seed": seed,
        "late": late,
        "reward_wait": wait,
        "default_reward": default,
    }
    experiment = Experiment(
        0, title, problem, policy, seed, late, wait, default, json.dumps(definition)
    )
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


def short_name(owner: str, name: object) -> str:
    """Return a name of an experiment, a unit or a key, or say what is wrong with it."""
    return checked_name(owner, name, most=LONGEST_NAME)


def policy_of(word: object) -> Policy:
    """Return one of the package's policies; a file of someone's own is not run here."""
    if word is None:
        return DEFAULT()
    if not isinstance(word, str):
        raise wrong_type("policy", word, "a text such as 'frugal'")
    name, *options = word.split(":")
    kind = POLICIES[known_name("policy", name, POLICIES)]
    return made(kind, options_of(kind, options))
