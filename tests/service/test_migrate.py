"""New models for units that have a history: arms retired and added, and what comes later."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from stores import one, put

from fpbandits.agent.agent import Agent
from fpbandits.errors import ConflictError, InputError
from fpbandits.policies.frugal import Frugal
from fpbandits.problem.files import problem_from_toml
from fpbandits.service import migrate as migrate_module
from fpbandits.service.batches import handle_together
from fpbandits.service.experiment import Experiment, checked_experiment
from fpbandits.service.export import Rewards
from fpbandits.service.messages import Ask, Request, Tell
from fpbandits.service.migrate import migrate
from fpbandits.service.step import Event, Unit
from fpbandits.service.store import Change, Store, Wanted, open_store
from fpbandits.service.unit_state import unpack_unit
from fpbandits.service.verify import verify

OLD = """
arms = ["a", "b", "c"]
[models]
x = [0.9, 0.5, 0.1]
y = [0.2, 0.5, 0.8]
"""
NEW = """
arms = ["a", "c", "d"]
[models]
x = [0.85, 0.15, 0.3]
y = [0.25, 0.75, 0.3]
z = [0.3, 0.4, 0.9]
"""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(open_store(str(tmp_path / "a.db"), make=True)) as store:
        yield store


def agent_of(store: Store, name: str, unit: str) -> Agent:
    kept = store.experiment(name)
    assert kept is not None
    row = store.unit((kept.id, unit))
    experiment = Experiment.from_kept(kept)
    return unpack_unit(experiment, unit, None if row is None else row.state)[0]


def history_of(store: Store, experiment: Experiment) -> list[tuple[str, Event]]:
    with store.history(experiment.id) as history:
        return list(history.events())


def played(store: Store, units: int = 6, visits: int = 8) -> dict[str, list[tuple[str, float]]]:
    """Serve units whose truth is x or y by turns, and return what each got."""
    experiment, random = put(store, problem=OLD, policy="ucb1"), np.random.default_rng(3)
    told: dict[str, list[tuple[str, float]]] = {}
    names = [f"u{place}" for place in range(units)]
    for visit in range(visits):
        decided = handle_together(store, [(experiment, Ask(unit)) for unit in names])
        tells: list[tuple[Experiment, Request]] = []
        for place, answer in enumerate(decided):
            assert isinstance(answer, dict)
            arm = experiment.problem.arms.index(answer["arm"])
            reward = float(random.random() < experiment.problem.means[place % 2][arm])
            told.setdefault(names[place], []).append((answer["arm"], reward))
            tells.append((experiment, Tell((names[place], visit), reward)))
        handle_together(store, tells)
    return told


def test_one_arm_retired_and_one_added_leaves_the_posterior_of_the_rest(store: Store) -> None:
    told = played(store)
    found = migrate(store, "e", "new", {"problem": NEW}, retire=["b"])
    for unit, history in told.items():
        alone = Agent(problem_from_toml(NEW, "new"))
        for arm, reward in history:
            if arm != "b":
                alone.observe(arm, reward)
        migrated = agent_of(store, "new", unit)
        assert migrated.posterior() == pytest.approx(alone.posterior(), rel=1e-12)
        assert migrated.plays == alone.plays
    assert found.retired == {"b": sum(arm == "b" for each in told.values() for arm, _ in each)}
    assert found.rewards == found.added == 48 - found.retired["b"]
    assert sum(after.total() for after in found.types.values()) == found.units == 6
    assert verify(store).shown == []


def test_an_arm_is_retired_only_by_its_name(store: Store) -> None:
    played(store, 1, 3)
    with pytest.raises(InputError, match=r"arm 'b': it was played in 'e'.* --retire 'b'"):
        migrate(store, "e", "new", {"problem": NEW})
    with pytest.raises(InputError, match="unknown arm 'B'"):
        migrate(store, "e", "new", {"problem": NEW}, retire=["B"])
    with pytest.raises(InputError, match="have the arm 'a': it is not retired"):
        migrate(store, "e", "new", {"problem": NEW}, retire=["a", "b"])
    assert store.experiment("new") is None


def test_units_are_counted_by_what_their_type_was_and_is(store: Store) -> None:
    """The same two models under other names: whoever was x is p, and y is q."""
    played(store, 10, 30)
    renamed = OLD.replace("x =", "p =").replace("y =", "q =")
    found = migrate(store, "e", "new", {"problem": renamed})
    assert {old: list(new) for old, new in found.types.items()} == {"x": ["p"], "y": ["q"]}
    assert [new.total() for new in found.types.values()] == [5, 5]
    impossible = OLD.replace("0.9", "1.0").replace("0.2", "1.0")
    wrong = migrate(store, "e", "wrong", {"problem": impossible})
    assert wrong.types["y"]["none"] == 5


def test_rewards_of_pending_decisions_come_with_the_next_run(store: Store) -> None:
    """Also while the new experiment is served, and without what they blocked until then."""
    experiment = put(store, policy="fp-ucb", reward_wait=1000)
    arms = [one(store, experiment, Ask("u"))["arm"] for _ in range(4)]
    first = next(n for n in range(4) if arms.count(arms[n]) > 1)
    later = [n for n in range(4) if n != first]
    for number in later:
        one(store, experiment, Tell(("u", number), 1.0))
    same = [n for n in later if arms[n] == arms[first]]
    found = migrate(store, "e", "new", {})
    assert (found.rewards, found.pending, found.blocked) == (3 - len(same), 1, len(same))
    new = put(store, "new", policy="fp-ucb", reward_wait=1000)
    for _ in range(4):
        one(store, new, Ask("u"))
    one(store, new, Tell(("u", 1), 0.0))
    one(store, experiment, Tell(("u", first), 0.0))
    found = migrate(store, "e", "new", {})
    assert (found.rewards, found.added, found.pending) == (4, 1 + len(same), 0)
    assert migrate(store, "e", "new", {}).added == 0
    agent = agent_of(store, "new", "u")
    assert agent.observed == 4
    assert list(agent.pending) == [0, 2, 3]
    # That includes when decisions expire: what was observed is not what was decided here.
    assert verify(store).shown == []


def test_another_history_is_not_mixed_in(store: Store) -> None:
    played(store, 2, 3)
    other = put(store, "other", problem=OLD)
    for number in range(4):
        one(store, other, Ask("u0"))
        one(store, other, Tell(("u0", number), 1.0))
    migrate(store, "e", "new", {})
    with pytest.raises(ConflictError, match="'u0': its history is that of another experiment"):
        migrate(store, "other", "new", {})
    assert agent_of(store, "new", "u0").observed == 3


def test_nothing_is_migrated_back_or_to_itself(store: Store) -> None:
    """Rewards would count twice."""
    played(store, 2, 3)
    migrate(store, "e", "new", {})
    plays = agent_of(store, "e", "u0").plays
    for old in ("e", "new"):
        with pytest.raises(ConflictError, match=f"'e' is no newer than '{old}'.*count twice"):
            migrate(store, old, "e", {})
    assert agent_of(store, "e", "u0").plays == plays


def test_a_unit_of_any_size_is_given_part_by_part(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrate_module, "_AT_ONCE", 7)
    told, words = played(store, 1, 40), list[str]()
    found = migrate(store, "e", "new", {}, progress=words.append)
    assert found.added == len(told["u0"]) == 40
    assert words[0] == "7 rewards checked"
    assert words[-1] == "40 of 40 rewards given"
    assert words.count("21 of 40 rewards given") == 1
    alone = Agent(problem_from_toml(OLD, "alone"), "ucb1")
    for arm, reward in told["u0"]:
        alone.observe(arm, reward)
    assert agent_of(store, "new", "u0").plays == alone.plays


def test_what_a_unit_has_observed_is_not_read_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A unit may have a million rewards; meanwhile the store is locked."""
    read, inherited = list[int](), migrate_module._inherited

    def counting(*arguments: Any) -> Any:
        observed, is_erased = inherited(*arguments)
        read.append(observed.total())
        return observed, is_erased

    monkeypatch.setattr(migrate_module, "_inherited", counting)
    monkeypatch.setattr(migrate_module, "_AT_ONCE", 7)
    played(store, 2, 20)
    assert [migrate(store, "e", "new", {}).added for _ in range(2)] == [40, 0]
    assert read == []
    experiment = put(store, problem=OLD)
    one(store, experiment, store.find_events((experiment.id, "u1")))
    one(store, experiment, Ask("u1"))
    one(store, experiment, Tell(("u1", 20), 1.0))
    assert migrate(store, "e", "new", {}).added == 1
    assert read == [20]  # of the unit that was erased


def test_equal_rewards_of_one_moment_are_all_given_once(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Decisions of one list share their time, so nothing tells some of them apart."""
    experiment = put(store, problem=OLD)
    handle_together(store, [(experiment, Ask("u")) for _ in range(12)])
    for numbers in (range(5), range(5, 12)):
        for number in numbers:
            one(store, experiment, Tell(("u", number), 1.0))
        monkeypatch.setattr(migrate_module, "_AT_ONCE", 2)
        assert migrate(store, "e", "new", {}).added == len(numbers)
        assert migrate(store, "e", "new", {}).added == 0
    assert agent_of(store, "new", "u").plays == agent_of(store, "e", "u").plays


def test_a_unit_that_is_erased_meanwhile_gets_no_more(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    played(store, 1, 2)
    migrate(store, "e", "new", {})
    experiment, new = put(store, problem=OLD), put(store, "new", problem=OLD)
    for number in range(2, 9):
        one(store, experiment, Ask("u0"))
        one(store, experiment, Tell(("u0", number), 1.0))

    def erase(words: str) -> None:
        if words == "4 of 9 rewards given":
            assert agent_of(store, "new", "u0").observed == 4
            one(store, new, store.find_events((new.id, "u0")))

    monkeypatch.setattr(migrate_module, "_AT_ONCE", 2)
    assert migrate(store, "e", "new", {}, progress=erase).added == 2
    assert [line.event.kind for line in store.log(new.id, 0, 99)] == ["erased"]


def test_a_unit_that_an_earlier_version_brought_back_gets_no_more(store: Store) -> None:
    """In 0.9.0 a unit that was erased in the new experiment inherited its history again."""
    played(store, 1, 3)
    migrate(store, "e", "new", {})
    new, experiment = put(store, "new", problem=OLD), put(store, problem=OLD)
    one(store, new, store.find_events((new.id, "u0")))
    with store.transaction(Wanted([new.stamp], [(new.id, "u0")])) as transaction:
        row = transaction.rows[new.id, "u0"]
        unit = Unit(new, "u0", row.steps, row.state, {}, lambda number: ())
        unit.observe(next(Rewards(experiment.late).rows(history_of(store, experiment))), 0)
        transaction.write([Change.of(row.id, unit)])
    found = migrate(store, "e", "new", {})
    assert (found.added, found.erased) == (0, 1)
    assert [line.event.kind for line in store.log(new.id, 0, 99)] == ["erased", "observed"]


def test_a_shorter_history_of_another_experiment_is_refused_too(store: Store) -> None:
    played(store, 1, 5)
    other = put(store, "other", problem=OLD, policy="ucb1")
    one(store, other, Ask("u0"))
    one(store, other, Tell(("u0", 0), 1.0))
    migrate(store, "e", "new", {})
    with pytest.raises(ConflictError, match="'u0': its history is that of another experiment"):
        migrate(store, "other", "new", {})


def test_where_the_truth_moves_units_that_are_served_get_no_more_history(store: Store) -> None:
    moving = OLD + "[transitions]\nx = {x = 0.9, y = 0.1}\ny = {x = 0.1, y = 0.9}\n"
    experiment = put(store, problem=moving, policy="frugal")
    for unit in "uv":
        for _ in range(3):
            one(store, experiment, Ask(unit))
        one(store, experiment, Tell((unit, 0), 1.0))
    found = migrate(store, "e", "new", {})
    assert (found.added, found.decided) == (2, {})
    new = put(store, "new", problem=moving, policy="frugal")
    one(store, new, Ask("v"))
    for number in (1, 2):
        for unit in "uv":
            one(store, experiment, Tell((unit, number), 1.0))
    for added in (2, 0):
        found = migrate(store, "e", "new", {})
        assert (found.units, found.rewards, found.added) == (2, 4, added)
        assert found.decided == {"v": 2}
    assert [agent_of(store, "new", unit).observed for unit in "uv"] == [3, 1]
    assert verify(store).shown == []


def test_an_old_definition_may_have_old_options(store: Store) -> None:
    wanted = checked_experiment("e", {"problem": OLD, "policy": "frugal:false_alarm=0.01"})
    definition = wanted.definition.replace("false_alarm=0.01", "safe=7")
    store.add_experiment("e", definition, wanted.revision)
    migrate(store, "e", "new", {"problem": NEW})
    kept = store.experiment("new")
    assert kept is not None
    policy = Experiment.from_kept(kept).policy
    assert isinstance(policy, Frugal)
    assert policy.false_alarm == pytest.approx(np.exp(-7))
    assert "safe" not in kept.definition
    with pytest.raises(InputError, match="'safe': it is now false_alarm"):
        migrate(store, "e", "newer", {"policy": "frugal:safe=7"})


def test_a_control_group_keeps_its_units_and_needs_an_arm(store: Store) -> None:
    experiment = put(store, problem=OLD, control={"arm": "b", "share": 0.5})
    units = [f"u{n}" for n in range(9)]
    for unit in units:
        one(store, experiment, Ask(unit))
        one(store, experiment, Tell((unit, 0), 1.0))
    advice = "the control group: its arm 'b' is missing .* with --control ARM"
    for retire in ([], ["b"]):
        with pytest.raises(InputError, match=advice):
            migrate(store, "e", "new", {"problem": NEW}, retire=retire)
    with pytest.raises(InputError, match="control: unknown arm 'z'"):
        migrate(store, "e", "new", {"problem": NEW}, retire=["b"], control="z")
    assert store.experiment("new") is None
    migrate(store, "e", "new", {"problem": NEW}, retire=["b"], control="c")
    kept = store.experiment("new")
    assert kept is not None
    new = Experiment.from_kept(kept)
    before = [unit for unit in units if experiment.control_arm(unit) == "b"]
    assert [unit for unit in units if new.control_arm(unit) == "c"] == before != []
    put(store, "without")
    with pytest.raises(InputError, match="'without' has no control group"):
        migrate(store, "without", "newer", {}, control="a")


def test_units_whose_rewards_the_old_models_do_not_allow_are_of_no_type_there(
    store: Store,
) -> None:
    """Under the old models arm a always pays; under the new ones a unit whom it fails is y."""
    sure = OLD.replace("0.9, 0.5, 0.1", "1.0, 0.5, 0.1").replace("0.2, 0.5, 0.8", "1.0, 0.5, 0.8")
    experiment = put(store, problem=sure, policy="ucb1")
    for unit, reward in (("u", 0.0), ("v", 1.0)):
        one(store, experiment, Ask(unit))
        one(store, experiment, Tell((unit, 0), reward))
    found = migrate(store, "e", "new", {"problem": OLD})
    assert found.types == {"x": {"x": 1}, "none": {"y": 1}}


def test_a_reward_that_new_models_cannot_give_is_refused_with_its_place(store: Store) -> None:
    wide = 'range = [0, 5]\nreward = "beta"\nconcentration = 2.0\n' + OLD
    experiment = put(store, problem=wide, policy="ucb1")
    for number, reward in enumerate((1.0, 0.5, 3.0)):
        one(store, experiment, Ask("u"))
        one(store, experiment, Tell(("u", number), reward))
    narrow = 'reward = "beta"\nconcentration = 2.0\n' + OLD
    with pytest.raises(InputError, match="unit 'u', reward 3") as refused:
        migrate(store, "e", "new", {"problem": narrow})
    assert refused.value.path[:4] == ["unit", "u", "reward", "3"]
    assert store.experiment("new") is None


def test_equal_rewards_of_a_unit_that_was_erased_are_told_apart_by_their_number(
    store: Store,
) -> None:
    experiment = put(store, problem=OLD, policy="ucb1")
    one(store, experiment, Ask("u"))
    one(store, experiment, store.find_events((experiment.id, "u")))
    handle_together(store, [(experiment, Ask("u")) for _ in range(12)])
    for number in range(1, 13):  # all of one moment, and each arm several times
        one(store, experiment, Tell(("u", number), 1.0))
        assert migrate(store, "e", "new", {}).added == 1
    assert agent_of(store, "new", "u").plays == agent_of(store, "e", "u").plays


def test_an_arm_that_the_definition_names_for_control_is_refused_as_that(store: Store) -> None:
    put(store, problem=OLD, control={"arm": "b", "share": 0.5})
    control = {"arm": "b", "share": 0.25}
    with pytest.raises(InputError, match="control: unknown arm 'b'"):
        migrate(store, "e", "new", {"problem": NEW, "control": control}, retire=["b"])
    with pytest.raises(InputError, match="unknown policy 'ucb7'"):
        migrate(store, "e", "new", {"policy": "ucb7"})
