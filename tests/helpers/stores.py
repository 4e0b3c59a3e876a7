"""What every store must do: one suite, which each store's tests inherit."""

from __future__ import annotations

import json
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from waiting import LONG

from fpbandits.agent import state as agent_state
from fpbandits.agent.agent import Agent
from fpbandits.errors import ConflictError, Error, InputError, UnavailableError, UnknownError
from fpbandits.logs.log import read_log
from fpbandits.service import adopt as adopt_module
from fpbandits.service import migrate as migrate_module
from fpbandits.service import store as store_module
from fpbandits.service.adopt import adopt, needs_adopting, renew_states
from fpbandits.service.batches import handle_together
from fpbandits.service.experiment import MIGRATING, OPEN, Experiment, checked_experiment
from fpbandits.service.export import export
from fpbandits.service.messages import Ask, Expire, Forget, Request, Tell
from fpbandits.service.migrate import migrate
from fpbandits.service.report import report
from fpbandits.service.statuses import MissingError
from fpbandits.service.step import Event, Unit
from fpbandits.service.store import (
    Change,
    Rebuilt,
    StaleError,
    Store,
    Transaction,
    UnitKey,
    Wanted,
    open_store,
)
from fpbandits.service.verify import verify

PROBLEM = """
arms = ["a", "b"]
[models]
x = [0.9, 0.5]
y = [0.2, 0.5]
"""
THREE_ARMS = """
arms = ["a", "b", "c"]
[models]
x = [0.1, 0.2, 0.9]
y = [0.2, 0.1, 0.9]
"""
CONTEXTS = """
arms = ["a", "b"]
contexts = ["here", "there"]
[models.x]
here = [0.9, 0.5]
there = [0.3, 0.4]
[models.y]
here = [0.2, 0.5]
there = [0.8, 0.1]
"""


def put(store: Store, name: str = "e", problem: str = PROBLEM, **fields: Any) -> Experiment:
    """Keep an experiment unless it is there, and return it."""
    wanted = checked_experiment(name, {"problem": problem, "policy": "ucb1", **fields})
    kept, _ = store.add_experiment(wanted.name, wanted.definition, wanted.revision)
    return Experiment.from_kept(kept)


def one(store: Store, experiment: Experiment, request: Request) -> dict[str, Any]:
    """Serve one request; raise what is wrong with it."""
    (outcome,) = handle_together(store, [(experiment, request)])
    if isinstance(outcome, Error):
        raise outcome
    return outcome


def served(store: Store, experiment: Experiment, requests: list[Request]) -> list[dict[str, Any]]:
    """Serve requests together; all of them must be right."""
    outcomes = handle_together(store, [(experiment, each) for each in requests])
    assert not [each for each in outcomes if isinstance(each, Error)]
    return outcomes  # type: ignore[return-value]


@contextmanager
def ahead(store: Store, seconds: float) -> Iterator[None]:
    """Let a store's clock be ahead for a while."""
    transaction: Any = store.transaction

    @contextmanager
    def later(wanted: Wanted) -> Iterator[Transaction]:
        with transaction(wanted) as found:
            found.now += seconds
            yield found

    store.transaction = later  # type: ignore[method-assign]
    yield
    store.transaction = transaction  # type: ignore[method-assign]


def let_time_pass(store: Store, alter: Callable[[str], None]) -> None:
    """Move a store's clock on by 2,000 seconds for good, and back what is due by its own."""
    ahead(store, 2000).__enter__()
    alter("UPDATE units SET due = due - 2000")


def events(store: Store, experiment: Experiment) -> list[tuple[str | None, Event]]:
    return [(unit, event) for _, unit, event in store.log(experiment.id, 0, 10**6)]


def everything(store: Store, experiment: Experiment) -> Any:
    """All that a store holds of an experiment."""
    with store.history(experiment.id) as history:
        return list(history.events()), list(history.states())


def write(transaction: Transaction, place: UnitKey, event: Event) -> None:
    """Write an event, and no state worth the name."""
    row = transaction.rows[place]
    transaction.write([Change(place[0], row.id, event.step, "{}", None, [event])])


class StoreContract:
    """Tests of the promises in `Store`; subclasses say where the store is."""

    @pytest.fixture
    def address(self) -> str:
        """Where there is room for a store, and none yet."""
        raise NotImplementedError

    @pytest.fixture
    def alter(self, address: str) -> Callable[[str], None]:
        """Return what runs a statement of SQL behind the store's back."""
        raise NotImplementedError

    @pytest.fixture
    def opened(self, address: str) -> Iterator[Callable[[], Store]]:
        """Return what opens the store: each call as another server would."""
        with ExitStack() as stack:

            def open_another() -> Store:
                store = open_store(address, make=True, patience=0.5)
                stack.callback(store.close)
                return store

            yield open_another

    @pytest.fixture
    def store(self, opened: Callable[[], Store]) -> Store:
        return opened()

    @pytest.mark.parametrize("policy", ["ucb1", "thompson-theta", "frugal"])
    @pytest.mark.parametrize("problem", [PROBLEM, CONTEXTS], ids=["plain", "contexts"])
    def test_a_unit_decides_as_a_single_agent_told_in_that_order(
        self, opened: Callable[[], Store], problem: str, policy: str
    ) -> None:
        stores = opened(), opened()
        experiment = put(stores[0], problem=problem, policy=policy, seed=3)
        agents: dict[str, Agent] = {}
        out: list[tuple[str, int]] = []
        random = np.random.default_rng(1)
        for _ in range(25):
            requests: list[Request] = []
            expected: list[dict[str, Any]] = []
            for _ in range(random.integers(1, 12)):
                if out and random.random() < 0.5:
                    unit, number = out.pop(random.integers(len(out)))
                    if random.random() < 0.1:
                        requests.append(Forget((unit, number)))
                        agents[unit].forget(number)
                    else:
                        reward = float(random.integers(2))
                        requests.append(Tell((unit, number), reward))
                        agents[unit].tell(number, reward)
                    status = "forgotten" if isinstance(requests[-1], Forget) else "told"
                    expected.append({"decision": f"{number}@{unit}", "status": status})
                else:
                    unit = f"unit {random.integers(5)}"
                    contexts = experiment.problem.contexts
                    context = str(random.choice(contexts)) if contexts else None
                    if unit not in agents:
                        seed = experiment.seed_of(unit)
                        agents[unit] = Agent(experiment.problem, policy, seed=seed)
                    decision = agents[unit].ask(context)
                    requests.append(Ask(unit, None, context))
                    out.append((unit, decision.id))
                    expected.append(
                        {"decision": f"{decision.id}@{unit}", "unit": unit, "arm": decision.arm}
                    )
            store = stores[random.integers(2)]
            assert handle_together(store, [(experiment, each) for each in requests]) == expected
        found = verify(stores[1])
        assert found.differences == 0
        assert found.decisions == sum(len(json_of(agent)) for agent in agents.values())
        for unit, agent in agents.items():
            row = store.unit((experiment.id, unit))
            assert row is not None
            assert row.state is not None
            assert row.state == agent.own_state()
            assert len(row.state) < 2000

    def test_the_same_key_gets_the_same_decision(self, opened: Callable[[], Store]) -> None:
        first, second = opened(), opened()
        experiment = put(first)
        answer = one(first, experiment, Ask("u", "k"))
        again = handle_together(
            second,
            [(experiment, Ask("u", key)) for key in ("new", "k", "new")]
            + [(experiment, Ask("v", "k"))],
        )
        assert again[1] == answer
        assert again[0] == again[2] != answer
        assert again[3] == {"decision": "0@v", "unit": "v", "arm": "a"}
        assert [event.key for _, event in events(first, experiment)] == ["k", "new", "k"]
        # Another experiment's units are other units.
        assert one(first, put(first, "f"), Ask("u", "k"))["decision"] == "0@u"

    def test_decisions_among_eligible_arms_are_logged_and_verified(self, store: Store) -> None:
        experiment = put(store, policy="frugal")
        for number, among in enumerate([["b"], ["a"], None, ["b"], None, ["a"]] * 3):
            key = f"k{number}"
            decided = one(store, experiment, Ask("u", key, None, among))
            assert among is None or [decided["arm"]] == among
            assert one(store, experiment, Ask("u", key, None, among)) == decided
            one(store, experiment, Tell(("u", number), number % 2))
        logged = [each.event for each in store.log(experiment.id, 0, 100)]
        kept = [event.eligible for event in logged if event.kind == "decision"]
        assert kept == [["b"], ["a"], None, ["b"], None, ["a"]] * 3
        found = verify(store)
        assert (found.decisions, found.differences) == (18, 0)

    def test_a_key_stands_for_one_request(self, store: Store) -> None:
        experiment = put(store, problem=CONTEXTS)
        one(store, experiment, Ask("u", "k", "here"))
        before = everything(store, experiment)
        with pytest.raises(ConflictError, match="'k' of 'u' was used in the context 'here'"):
            one(store, experiment, Ask("u", "k", "there"))
        assert everything(store, experiment) == before

    def test_a_key_gets_its_arm_whatever_is_eligible_when_it_is_repeated(
        self, store: Store
    ) -> None:
        experiment = put(store, problem=THREE_ARMS)
        first = one(store, experiment, Ask("u", "some", None, ["b", "a"]))
        everywhere = one(store, experiment, Ask("u", "all"))
        before = everything(store, experiment)
        for among in (["a", "b", "a"], ["c"], None):
            assert one(store, experiment, Ask("u", "some", None, among)) == first
            assert one(store, experiment, Ask("u", "all", None, among)) == everywhere
        assert everything(store, experiment) == before

    def test_a_closed_experiment_repeats_its_answers_and_decides_no_more(
        self, store: Store
    ) -> None:
        experiment = put(store)
        first = one(store, experiment, Ask("u", "k"))
        kept = store.experiment("e")
        assert kept is not None
        closed = Experiment.from_kept(store.change_experiment(kept, "closed"))
        before = everything(store, experiment)
        requests: list[Request] = [Ask("u", "k"), Ask("u", "other"), Ask("new", "k"), Ask("u")]
        same, *refused = handle_together(store, [(closed, each) for each in requests])
        assert same == first
        assert [str(each) for each in refused] == [
            "'e' is closed: it takes rewards, no new decisions"
        ] * 3
        assert everything(store, experiment) == before
        assert one(store, closed, Tell(("u", 0), 1.0))["status"] == "told"

    def test_two_servers_asked_at_once_agree(self, opened: Callable[[], Store]) -> None:
        stores = [opened() for _ in range(3)]
        experiment = put(stores[0])
        answers: list[dict[tuple[str, str], Any]] = [{} for _ in stores]
        failures: list[Exception] = []

        def serve(store: Store, found: dict[tuple[str, str], Any], seed: int) -> None:
            random = np.random.default_rng(seed)
            try:
                for count in range(25):
                    asks = [
                        Ask(f"u{unit}", f"k{count // 3}")
                        for unit in random.choice(6, 4, replace=False)
                    ]
                    while True:
                        try:
                            served = handle_together(store, [(experiment, ask) for ask in asks])
                            break
                        except UnavailableError:  # a server would say 503, and be asked again
                            continue
                    for ask, outcome in zip(asks, served, strict=True):
                        assert not isinstance(outcome, Error)
                        assert found.setdefault((ask.unit, str(ask.key)), outcome) == outcome
            except Exception as error:
                failures.append(error)

        threads = [
            threading.Thread(target=serve, args=(store, found, place))
            for place, (store, found) in enumerate(zip(stores, answers, strict=True))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        first = answers[0]
        for found in answers[1:]:
            assert all(first[key] == found[key] for key in first.keys() & found.keys())
        keys = [(unit, event.key) for unit, event in events(stores[0], experiment)]
        assert len(keys) == len(set(keys)) == len({key for found in answers for key in found})
        assert verify(stores[0]).differences == 0

    def test_a_unit_that_is_erased_leaves_a_tombstone_and_its_numbers_go_on(
        self, opened: Callable[[], Store], alter: Callable[[str], None]
    ) -> None:
        first, second = opened(), opened()
        experiment = put(first, policy="thompson-theta", seed=3, reward_wait=100, default_reward=0)
        for number in range(4):
            one(first, experiment, Ask("u", f"k{number}"))
        one(first, experiment, Tell(("u", 0), 1.0))
        one(first, experiment, Ask("v", "k"))
        erase = first.find_events((experiment.id, "u"))
        assert len(erase.events) == 5
        # After a restore, positions that were found may be those of others.
        of_v = first.find_events((experiment.id, "v")).events
        erase = erase._replace(events=[*erase.events, *of_v])
        # What happens until it is erased goes, too, also by way of another server.
        one(second, experiment, Tell(("u", 1), 1.0))
        batch: list[Request] = [Ask("u", "new"), erase, Ask("u", "k0"), Tell(("u", 0), 1.0)]
        outcomes = handle_together(first, [(experiment, each) for each in batch])
        assert outcomes[1] == {"unit": "u", "status": "erased"}
        assert isinstance(outcomes[2], dict)
        assert outcomes[2]["decision"] == "5@u"
        assert isinstance(outcomes[3], ConflictError)
        with pytest.raises(ConflictError, match="'2@u' was erased"):
            one(second, experiment, Forget(("u", 2)))
        found = [
            (unit, event.kind, event.number, event.step)
            for unit, event in events(first, experiment)
        ]
        assert found == [
            ("v", "decision", 0, 1),
            ("u", "erased", 5, 8),
            ("u", "decision", 5, 9),
        ]
        # It decides as an agent that knows nothing and has made five decisions.
        agent = experiment.agent("u")
        for _ in range(5):
            agent.forget(agent.ask().id)
        assert outcomes[2]["arm"] == agent.ask().arm
        one(second, experiment, Tell(("u", 5), 1.0))
        verified = verify(first)
        assert (verified.differences, verified.erased, verified.decisions) == (0, 1, 2)
        # Erased again it is as it was; unless something has happened since.
        for _ in range(2):
            one(first, experiment, first.find_events((experiment.id, "u")))
        assert [event.kind for unit, event in events(first, experiment) if unit == "u"] == [
            "erased"
        ]
        with pytest.raises(MissingError):
            one(first, experiment, first.find_events((experiment.id, "nobody")))
        # A tombstone accounts for what comes before it and for nothing else.
        one(first, experiment, Ask("u"))
        alter("UPDATE events SET step = step + 1 WHERE kind = 'decision' AND number = 6")
        assert verify(first).shown == ["e: u: event 12 is numbered 13"]

    def test_an_experiment_is_deleted_some_at_a_time(
        self, opened: Callable[[], Store], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(store_module, "_AT_ONCE", 2)
        store, other = opened(), opened()
        experiment, stays = put(store), put(store, "stays")
        for each in (experiment, stays):
            handle_together(store, [(each, Ask(f"u{n}")) for n in range(3)])
        kept = store.experiment("e")
        assert kept is not None
        store.change_experiment(kept, "deleting")
        with pytest.raises(StaleError):
            one(other, experiment, Ask("u0"))
        with pytest.raises(ConflictError, match="is being deleted"):
            adopt(store, "e")
        assert other.delete_some(kept.id)
        found = verify(store)
        assert (found.deleting, found.decisions, found.shown) == (["e"], 3, [])
        for refuses in (verify, report, lambda store, name: migrate(store, name, "new", {})):
            with pytest.raises(ConflictError, match="'e' is being deleted"):
                refuses(store, "e")
        assert [other.delete_some(kept.id) for _ in range(4)] == [True] * 3 + [False]
        assert [each.name for each in store.experiments()] == ["stays"]
        assert (len(events(store, experiment)), len(events(store, stays))) == (0, 3)
        again = put(store)
        assert again.id != experiment.id
        assert one(store, again, Ask("u0"))["decision"] == "0@u0"
        assert verify(store).decisions == 4

    def test_what_is_deleted_meanwhile_is_no_half_of_a_log(
        self, opened: Callable[[], Store], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        """Between the moment that an experiment is found and the one as of which it is read."""
        monkeypatch.setattr(store_module, "_AT_ONCE", 1)
        store, other = opened(), opened()
        find = store.experiments

        def delete(name: str, parts: int) -> None:
            kept = other.experiment(name)
            assert kept is not None
            other.change_experiment(kept, "deleting")
            for _ in range(parts):
                other.delete_some(kept.id)

        readers: list[Callable[[], Any]] = [
            lambda: report(store, "e"),
            lambda: export(store, "e", tmp_path / "a.csv"),
            lambda: migrate(store, "e", "new", {}),
        ]
        for parts in (1, 5):  # the last of these deletes the experiment itself
            for read in (None, *readers):
                experiment = put(store)
                handle_together(store, [(experiment, Ask("u")), (experiment, Ask("v"))])
                found = find()
                delete("e", parts)
                with monkeypatch.context() as patched:
                    patched.setattr(store, "experiments", lambda found=found: found)
                    if read is None:
                        result = verify(store)
                        assert (result.deleting, result.events, result.shown) == (["e"], 0, [])
                    else:
                        with pytest.raises(ConflictError, match="'e' is being deleted"):
                            read()
                while other.delete_some(experiment.id):
                    pass
        assert list(tmp_path.glob("a.csv*")) == []
        # Verifying the first may take long.
        first, second = put(store, "e"), put(store, "f")
        handle_together(store, [(first, Ask("u")), (second, Ask("u"))])
        result = verify(store, None, lambda units: delete("f", 3))
        assert (result.deleting, result.decisions, result.shown) == (["f"], 1, [])

    def test_keys_are_forgotten_by_their_age(
        self, store: Store, alter: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(store_module, "_AT_ONCE", 2)
        experiment = put(store)
        for number in range(5):
            one(store, experiment, Ask("u", f"k{number}"))
        alter("UPDATE events SET time = time - 100 WHERE number < 3")
        position, places = 0, []
        while (found := store.forget_keys(position, keep=50.0)) is not None:
            position = found
            places.append(found)
        assert len(places) == 2
        keys = [event.key for _, event in events(store, experiment)]
        assert keys == [None, None, None, "k3", "k4"]
        assert one(store, experiment, Ask("u", "k2"))["decision"] == "5@u"
        assert one(store, experiment, Ask("u", "k3"))["decision"] == "3@u"
        assert verify(store).differences == 0

    @pytest.mark.parametrize("jumped", [(0,), (1, 2, 3)], ids=str)
    def test_keys_are_forgotten_though_the_clock_was_ahead(
        self,
        store: Store,
        alter: Callable[[str], None],
        monkeypatch: pytest.MonkeyPatch,
        jumped: tuple[int, ...],
    ) -> None:
        monkeypatch.setattr(store_module, "_AT_ONCE", 2)
        experiment = put(store)
        for number in range(8):
            one(store, experiment, Ask("u", f"k{number}"))
        alter("UPDATE events SET time = time - 100 WHERE number < 6")
        for number in (*jumped, 7):  # the last is new, whatever its date
            alter(f"UPDATE events SET time = time + 1e9 WHERE number = {number}")
        position: int | None = 0
        while position is not None:
            position = store.forget_keys(position, keep=50.0)
        keys = [event.key for _, event in events(store, experiment)]
        assert keys == [None] * 6 + ["k6", "k7"]

    def test_a_report_counts_what_the_log_holds(self, store: Store) -> None:
        control = {"arm": "b", "share": 0.4}
        experiment = put(store, control=control, policy="thompson-theta", seed=1)
        random = np.random.default_rng(0)
        for number in range(8):
            asks: list[Request] = [Ask(f"u{n}") for n in range(30)]
            arms = [each["arm"] for each in served(store, experiment, asks)]
            tells: list[Request] = [
                Tell((f"u{n}", number), float(random.random() < (0.9 if arm == "a" else 0.5)))
                for n, arm in enumerate(arms)
                if (n, number) not in ((3, 7), (4, 7))
            ]
            served(store, experiment, tells)
        one(store, experiment, Forget(("u3", 7)))
        found = report(store, "e")
        in_control = {f"u{n}" for n in range(30) if experiment.control_arm(f"u{n}") == "b"}
        assert 5 < len(in_control) < 20
        arm_of, rewards = {}, []
        for unit, event in events(store, experiment):
            if event.kind == "decision":
                arm_of[unit, event.number] = event.arm
                assert unit not in in_control or (event.arm, event.probability) == ("b", 1.0)
            elif event.kind == "reward":
                rewards.append((unit, arm_of[unit, event.number], event.reward or 0.0))
        assert (found["units"], found["decisions"], found["rewards"]) == (30, 240, 238)
        assert (found["pending"], found["forgotten"]) == (1, 1)
        for arm in "ab":
            told = [reward for _, each, reward in rewards if each == arm]
            assert found["arms"][arm]["rewards"] == len(told)
            assert found["arms"][arm]["mean_reward"] == pytest.approx(np.mean(told))
        assert sum(each["units"] for each in found["models"].values()) == 30
        # Looks are at 100, 125, 156 and 195 rewards, in the order of the log.
        assert [each["rewards"] for each in found["over_time"]] == [100, 125, 156, 195]
        for look in found["over_time"]:
            groups = [
                [
                    reward
                    for unit, _, reward in rewards[: look["rewards"]]
                    if (unit in in_control) is it
                ]
                for it in (False, True)
            ]
            means = [float(np.mean(group)) for group in groups]
            assert [look["policy"], look["control"]] == pytest.approx(means)
            low, high = look["interval"]
            assert -1 <= low < means[0] - means[1] < high <= 1
        last = found["over_time"][-1]
        assert found["control"]["interval"] == last["interval"]
        assert found["control"]["control"]["units"] == len(in_control)
        assert found["control"]["sample_ratio"]["fits"]
        assert verify(store).differences == 0
        # Who is in the control group follows from the name, and verify checks it.
        with pytest.raises(InputError, match="unknown arm 'c'"):
            put(store, "f", control={"arm": "c", "share": 0.4})

    def test_a_report_looks_at_as_many_units_as_asked_for(self, store: Store) -> None:
        """Two experiments enrol in turn, so that the ids of each are all odd or all even."""
        both = put(store, "e"), put(store, "f")
        for number in range(11):
            for experiment in both:
                one(store, experiment, Ask(f"u{number}"))
        # With every second unit there are 6, with every third 4, and so on.
        wanted = {1: 1, 2: 2, 3: 3, 4: 4, 5: 4, 6: 6, 10: 6, 11: 11, 12: 11}
        for name in "ef":
            found = {most: report(store, name, most_units=most)["looked_at"] for most in wanted}
            assert found == wanted, name

    def test_a_unit_that_no_model_allows_is_in_the_report(self, store: Store) -> None:
        sure = """
            [models]
            x = [1.0, 0.5]
            y = [1.0, 0.4]
        """
        experiment = put(store, problem=sure, policy="frugal")
        for number in range(12):
            one(store, experiment, Ask("u"))
            one(store, experiment, Tell(("u", number), 0.0))
        found = report(store, "e")
        assert found["looked_at"] == 1
        assert found["misfits"] > 0
        assert [model["units"] for model in found["models"].values()] == [0, 0]

    def test_a_reward_counts_once(self, store: Store) -> None:
        experiment = put(store)
        one(store, experiment, Ask("u"))
        told = {"decision": "0@u", "status": "told"}
        work = [(experiment, Tell(("u", 0), 1.0)), (experiment, Tell(("u", 0), 1.0))]
        assert handle_together(store, work) == [told, told]
        before = everything(store, experiment)
        assert one(store, experiment, Tell(("u", 0), 1.0)) == told
        with pytest.raises(ConflictError, match=r"'0@u' has the reward 1\.0 already"):
            one(store, experiment, Tell(("u", 0), 0.0))
        with pytest.raises(ConflictError, match="cannot be forgotten"):
            one(store, experiment, Forget(("u", 0)))
        assert everything(store, experiment) == before
        assert [event.kind for _, event in events(store, experiment)] == ["decision", "reward"]

    def test_what_is_forgotten_stays_so(self, store: Store) -> None:
        experiment = put(store)
        one(store, experiment, Ask("u"))
        for _ in range(2):
            assert one(store, experiment, Forget(("u", 0)))["status"] == "forgotten"
        with pytest.raises(ConflictError, match="was forgotten"):
            one(store, experiment, Tell(("u", 0), 1.0))
        assert [event.kind for _, event in events(store, experiment)] == ["decision", "forgot"]

    def test_what_is_refused_changes_nothing(self, store: Store) -> None:
        experiment = put(store)
        one(store, experiment, Ask("u", "k"))
        before = everything(store, experiment)
        refused: list[tuple[Request, type[Error]]] = [
            (Tell(("u", 1), 1.0), MissingError),
            (Tell(("nobody", 0), 1.0), MissingError),
            (Forget(("nobody", 0)), MissingError),
            (Tell(("u", 0), 7.0), InputError),
            (Ask("new", "k", "here"), InputError),
            (Ask("new", "k", None, ["a", "c"]), UnknownError),
        ]
        outcomes = handle_together(store, [(experiment, request) for request, _ in refused])
        assert [type(outcome) for outcome in outcomes] == [kind for _, kind in refused]
        assert everything(store, experiment) == before

    def test_one_that_is_wrong_does_not_disturb_the_others(self, store: Store) -> None:
        experiment = put(store)
        work: list[tuple[Experiment, Request]] = [
            (experiment, Ask("u")),
            (experiment, Tell(("u", 9), 1.0)),
            (experiment, Tell(("u", 0), 1.0)),
        ]
        decided, unknown, told = handle_together(store, work)
        assert isinstance(unknown, UnknownError)
        assert decided == {"decision": "0@u", "unit": "u", "arm": "a"}
        assert told == {"decision": "0@u", "status": "told"}

    def test_a_transaction_that_fails_leaves_nothing(self, opened: Callable[[], Store]) -> None:
        store, other = opened(), opened()
        experiment = put(store)
        place = experiment.id, "u"
        event = Event(1, "decision", 0, "k", "a", None, None, None, 0.0, "", 1)
        wanted = Wanted([experiment.stamp], [place])
        with suppress(ZeroDivisionError), store.transaction(wanted) as transaction:
            write(transaction, place, event)
            raise ZeroDivisionError
        assert everything(other, experiment) == ([], [])
        assert one(other, experiment, Ask("u", "k"))["decision"] == "0@u"

    def test_the_database_itself_refuses_a_second_decision_or_reward(self, store: Store) -> None:
        experiment = put(store)
        one(store, experiment, Ask("u", "k"))
        one(store, experiment, Tell(("u", 0), 1.0))
        before = everything(store, experiment)
        place = experiment.id, "u"
        for kind, key in (("decision", "k"), ("reward", None)):
            event = Event(3, kind, 0, key, "a", None, None, 1.0, 0.0, "", 1)
            wanted = Wanted([experiment.stamp], [], [place])
            with pytest.raises(Error), store.transaction(wanted) as transaction:
                write(transaction, place, event)
            assert everything(store, experiment) == before

    def test_what_another_thread_reads_is_not_closed(self, store: Store) -> None:
        """SQLite would crash."""
        reading: Any = store
        reading._patience = 0
        with reading._reading() as reader:
            store.close()
            assert reader.execute("SELECT 1").fetchone() == (1,)
        store.close()
        with pytest.raises(Exception, match="closed"):
            reader.execute("SELECT 1")

    def test_what_was_written_is_there_after_closing(self, opened: Callable[[], Store]) -> None:
        first = opened()
        experiment = put(first)
        one(first, experiment, Ask("u", "k"))
        first.close()
        again = opened()
        assert one(again, put(again), Ask("u", "k"))["decision"] == "0@u"
        assert len(events(again, experiment)) == 1

    @pytest.mark.parametrize("default", [None, 0.0])
    def test_rewards_are_waited_for_only_so_long(
        self, store: Store, alter: Callable[[str], None], default: float | None
    ) -> None:
        experiment = put(store, reward_wait=1000, default_reward=default)
        for _ in range(3):
            one(store, experiment, Ask("u"))
        one(store, experiment, Tell(("u", 1), 1.0))
        assert store.due(9) == []
        let_time_pass(store, alter)
        assert store.due(9) == [("e", "u")]
        late = {"decision": "0@u", "status": "late"}
        with pytest.raises(
            InputError, match=r"'0@u': the reward 1\.5 is outside the range \[0, 1\]"
        ):
            one(store, experiment, Tell(("u", 0), 1.5))
        assert one(store, experiment, Tell(("u", 0), 1.0)) == late
        assert one(store, experiment, Tell(("u", 0), 1.0)) == late
        with pytest.raises(ConflictError, match="has the reward"):
            one(store, experiment, Tell(("u", 0), 0.5))
        assert one(store, experiment, Forget(("u", 2))) == {"decision": "2@u", "status": "late"}
        assert one(store, experiment, Tell(("u", 1), 1.0))["status"] == "told"
        assert [(event.kind, event.number, event.reward) for _, event in events(store, experiment)][
            3:
        ] == [
            ("reward", 1, 1.0),
            ("expired", 0, default),
            ("expired", 2, default),
            ("late", 0, 1.0),
        ]
        assert store.due(9) == []
        found = verify(store)
        assert (found.decisions, found.differences) == (3, 0)

    def test_a_sweep_lets_expire_what_nobody_asks_for(
        self, store: Store, alter: Callable[[str], None]
    ) -> None:
        experiment = put(store, reward_wait=1000)
        one(store, experiment, Ask("u"))
        one(store, experiment, Ask("v"))
        let_time_pass(store, alter)
        assert handle_together(store, [(experiment, Expire("u")), (experiment, Expire("w"))])
        assert [(unit, event.kind) for unit, event in events(store, experiment)] == [
            ("u", "decision"),
            ("v", "decision"),
            ("u", "expired"),
        ]
        assert store.due(9) == [("e", "v")]
        assert store.unit((experiment.id, "w")) is None

    def test_experiments_do_not_change(self, store: Store) -> None:
        assert store.experiments() == []
        assert store.experiment("a") is None
        kept, new = store.add_experiment("a", "{}", 1)
        assert new
        assert store.add_experiment("a", '{"b": 1}', 2) == (kept, False)
        other, _ = store.add_experiment("b", "{}", 1, status=MIGRATING)
        assert store.experiments() == [kept, other]
        assert (kept.status, other.status) == (OPEN, MIGRATING)
        assert store.experiments("a") == store.experiments("", 2)[1:] == [other]
        assert store.experiments("", 1) == [kept]
        assert store.count_experiments() == 2
        assert abs(kept.created - time.time()) < LONG

    def test_the_log_can_be_read_from_any_place(self, store: Store) -> None:
        experiment, other = put(store), put(store, "other")
        for place in range(5):
            one(store, experiment, Ask(f"u{place % 2}"))
            one(store, other, Ask("u"))
        whole = store.log(experiment.id, 0, 99)
        assert [line.unit for line in whole] == ["u0", "u1", "u0", "u1", "u0"]
        assert [line.event.step for line in whole] == [1, 1, 2, 2, 3]
        assert store.log(experiment.id, whole[1].seq, 2) == whole[2:4]
        assert store.log(experiment.id, whole[-1].seq, 2) == []

    def test_who_waits_for_a_unit_is_told_in_time(self, opened: Callable[[], Store]) -> None:
        store, other = opened(), opened()
        experiment = put(store)
        one(store, experiment, Ask("u"))
        with (
            other.transaction(Wanted([experiment.stamp], [], [(experiment.id, "u")])),
            pytest.raises(UnavailableError),
        ):
            one(store, experiment, Ask("u"))
        assert one(store, experiment, Ask("u"))["decision"] == "1@u"

    def test_replay_finds_what_was_altered(
        self, store: Store, alter: Callable[[str], None]
    ) -> None:
        experiment = put(store)
        for number in range(4):
            one(store, experiment, Ask("u"))
            one(store, experiment, Tell(("u", number), 1.0))
        one(store, experiment, Ask("v"))
        assert (verify(store).decisions, verify(store).shown) == (5, [])
        alter("UPDATE events SET arm = 'b' WHERE number = 2 AND kind = 'decision'")
        first, *_, last = verify(store).shown
        assert first == "e: 2@u: logged b, and now it is a (2@u)"
        assert last == "e: u: its state does not follow from the log"
        alter("UPDATE events SET arm = 'a' WHERE number = 2 AND kind = 'decision'")
        alter("UPDATE events SET reward = 0 WHERE number = 2 AND kind = 'reward'")
        assert "e: u: its state does not follow from the log" in verify(store).shown
        alter("UPDATE events SET reward = 1 WHERE number = 2 AND kind = 'reward'")
        assert verify(store).shown == []
        alter("DELETE FROM events WHERE number = 3 AND kind = 'reward'")
        assert verify(store).shown == ["e: u: 8 events are kept, and 7 are logged"]
        alter("DELETE FROM events WHERE number = 1 AND kind = 'decision'")
        shown = verify(store).shown
        assert "e: u: event 3 is numbered 4" in shown
        assert any("1@u: reward cannot be" in line for line in shown)

    def test_replay_finds_what_was_altered_beside_the_arms(
        self, store: Store, alter: Callable[[str], None]
    ) -> None:
        experiment = put(store, policy="thompson-theta", reward_wait=1000)
        for _ in range(3):
            one(store, experiment, Ask("u"))
        one(store, experiment, Tell(("u", 1), 1.0))
        assert verify(store).shown == []
        alter("UPDATE events SET probability = probability * 0.9 WHERE number = 2")
        (line,) = verify(store).shown
        assert line.startswith("e: 2@u: logged with probability ")
        alter("UPDATE events SET probability = probability / 0.9 WHERE number = 2")
        assert verify(store).shown == []
        # A decision that nobody would let expire.
        kept = store.unit((experiment.id, "u"))
        assert kept is not None
        assert kept.state is not None
        due, _, own = kept.state.partition("\n")
        assert [number for number, _ in json.loads(due)] == [0, 2]
        shorter = json.dumps(json.loads(due)[:1])
        alter(f"UPDATE units SET state = '{shorter}\n{own}'")
        assert verify(store).shown == ["e: u: its state does not follow from the log"]

    @pytest.mark.parametrize("ending", ["csv", "parquet"])
    def test_an_exported_log_is_read_by_fit(
        self, store: Store, tmp_path: Path, ending: str
    ) -> None:
        experiment = put(
            store, problem=CONTEXTS, policy="thompson-theta", reward_wait=100, late="any"
        )
        rewards = {}
        for place in range(30):
            ask = Ask(f"u{place % 3}", None, "there" if place % 2 else "here")
            answer = one(store, experiment, ask)
            if place % 5:
                reward = float(place % 4 == 0)
                one(store, experiment, Tell((ask.unit, place // 3), reward))
                rewards[answer["decision"]] = (ask.unit, answer["arm"], ask.context, reward)
        path = tmp_path / f"log.{ending}"
        assert export(store, "e", path).counted == len(rewards) == 24
        log = read_log(
            path, unit="unit", arm="arm", reward="reward", context="context", numbers=["propensity"]
        )
        assert len(log.reward) == 24
        assert log.reward.sum() == sum(reward for *_, reward in rewards.values())
        assert set(log.arms) == {arm for _, arm, _, _ in rewards.values()}
        assert [each.name for each in tmp_path.iterdir() if each.is_file()] == [path.name]

    def test_new_models_begin_with_the_history_of_the_old(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        old = put(store, reward_wait=1000, late="any")
        told: dict[str, list[tuple[str, float]]] = {}
        random = np.random.default_rng(5)
        for place in range(40):
            unit = f"u{place % 7}"
            arm = one(store, old, Ask(unit))["arm"]
            if random.random() < 0.8:
                reward = float(random.integers(2))
                one(store, old, Tell((unit, place // 7), reward))
                told.setdefault(unit, []).append((arm, reward))
        one(store, old, Ask("nothing told"))
        models = {"problem": PROBLEM.replace("0.2", "0.3"), "policy": "fp-ucb"}

        # Interrupted in the middle of a unit, and taken up again.
        monkeypatch.setattr(migrate_module, "_AT_ONCE", 3)
        with pytest.raises(KeyboardInterrupt):
            migrate(store, "e", "new", models, progress=interrupt_giving)
        kept = store.experiment("new")
        assert kept is not None
        assert kept.status == MIGRATING
        with pytest.raises(ConflictError, match="'new' is another experiment"):
            migrate(store, "e", "new", {**models, "seed": 7})
        assert migrate(store, "e", "new", models).units == 7
        kept = store.experiment("new")
        assert kept is not None
        assert kept.status == OPEN
        assert migrate(store, "e", "new", models).added == 0

        new = Experiment.from_kept(kept)
        assert (new.reward_wait, str(new.policy)) == (1000.0, "fp-ucb")
        for unit, rewards in told.items():
            agent = Agent(new.problem, "fp-ucb", seed=new.seed_of(unit))
            for arm, reward in rewards:
                agent.observe(arm, reward)
            assert one(store, new, Ask(unit))["arm"] == agent.ask().arm
        assert sum(event.kind == "observed" for _, event in events(store, new)) == sum(
            map(len, told.values())
        )
        assert store.unit((new.id, "nothing told")) is None
        assert verify(store).shown == []
        # What was observed is history for the next one, too; here each reward is a transaction.
        monkeypatch.setattr(migrate_module, "_AT_ONCE", 1)
        migrate(store, "new", "newer", {})
        newer = put(store, "newer", **models, reward_wait=1000, late="any")
        assert len(events(store, newer)) == sum(map(len, told.values()))

    def test_models_that_do_not_allow_the_history_are_refused_and_not_kept(
        self, store: Store
    ) -> None:
        experiment = put(store)
        one(store, experiment, Ask("u"))
        one(store, experiment, Tell(("u", 0), 1.0))
        with pytest.raises(InputError, match=r"'u', arm 'a': it was played in 'e'"):
            migrate(store, "e", "new", {"problem": PROBLEM.replace('"a"', '"c"')})
        assert store.experiment("new") is None

    def test_an_experiment_that_is_another_one_now_is_left_alone(
        self, store: Store, alter: Callable[[str], None]
    ) -> None:
        """As after a back-up was restored under a server that runs: numbers are given again."""
        known, other = put(store, "b"), put(store, "other")
        one(store, known, Ask("u", "k"))
        alter("UPDATE experiments SET name = 'c', created = created + 1 WHERE name = 'b'")
        before = everything(store, known)
        requests: list[Request] = [Ask("u", "k"), Ask("new"), Tell(("u", 0), 1.0)]
        work = [*((known, each) for each in requests), (other, Ask("u"))]
        *stale, served = handle_together(store, work)
        assert [type(each) for each in stale] == [StaleError] * 3
        assert served == {"decision": "0@u", "unit": "u", "arm": "a"}
        assert everything(store, known) == before
        alter("DELETE FROM events WHERE experiment = " + str(known.id))
        alter("DELETE FROM units WHERE experiment = " + str(known.id))
        alter("DELETE FROM experiments WHERE name = 'c'")
        assert isinstance(handle_together(store, [(known, Ask("u"))])[0], StaleError)

    def test_a_change_of_an_experiment_is_noticed_by_every_server(
        self, opened: Callable[[], Store]
    ) -> None:
        first, second = opened(), opened()
        experiment = put(first)
        kept = first.experiment("e")
        assert kept is not None
        closed = second.change_experiment(kept, "closed", kind="closed")
        assert closed == first.experiment("e") == kept._replace(status="closed", edition=1)
        with pytest.raises(StaleError):
            first.change_experiment(kept, "open")
        with pytest.raises(StaleError):
            first.rebuild(kept, [])
        assert isinstance(handle_together(first, [(experiment, Ask("u"))])[0], StaleError)
        ((_, unit, event),) = first.log(kept.id, 0, 9)
        assert (unit, event.kind, event.step, event.revision) == (None, "closed", 0, 1)
        assert abs(event.time - time.time()) < LONG
        reopened = Experiment.from_kept(second.change_experiment(closed, "open"))
        work = [(experiment, Ask("u")), (reopened, Ask("u")), (experiment, Ask("u", context="x"))]
        stale, decided, wrong = handle_together(first, work)
        assert (type(stale), type(wrong)) == (StaleError, StaleError)
        assert decided == {"decision": "0@u", "unit": "u", "arm": "a"}

    def test_nobody_changes_an_experiment_while_its_units_are_changed(
        self, opened: Callable[[], Store]
    ) -> None:
        store, other = opened(), opened()
        experiment = put(store)
        kept = store.experiment("e")
        assert kept is not None
        with other.transaction(Wanted([experiment.stamp], [(experiment.id, "u")])):
            with pytest.raises(UnavailableError):
                store.change_experiment(kept, "closed", kind="closed")
            with pytest.raises(UnavailableError):
                store.rebuild(kept, [Rebuilt("u", "1", None)])
        assert store.experiment("e") == kept
        assert everything(store, experiment) == ([], [("u", 0, None)])

    def test_states_of_several_units_are_replaced(self, store: Store) -> None:
        experiment = put(store, reward_wait=1000)
        for unit in "uvw":
            one(store, experiment, Ask(unit))
        kept = store.experiment("e")
        assert kept is not None
        before = everything(store, experiment)
        store.rebuild(kept, [Rebuilt("u", "1", None), Rebuilt("w", "2", 5.0)])
        written, states = everything(store, experiment)
        assert written == before[0]
        assert states == [("u", 1, "1"), before[1][1], ("w", 1, "2")]
        assert store.due(9) == [("e", "w")]

    def test_writing_can_be_tested(self, store: Store) -> None:
        experiment = put(store)
        store.check_writing()
        one(store, experiment, Ask("u"))
        store.check_writing()
        assert len(events(store, experiment)) == 1

    def test_units_and_experiments_can_be_left_out_of_a_sweep(
        self, store: Store, alter: Callable[[str], None]
    ) -> None:
        for name in "ef":
            experiment = put(store, name, reward_wait=1000)
            for unit in "uv":
                one(store, experiment, Ask(unit))
        let_time_pass(store, alter)
        due = [("e", "u"), ("e", "v"), ("f", "u"), ("f", "v")]
        assert sorted(store.due(9)) == due
        assert len(store.due(3)) == 3
        assert sorted(store.due(9, ["e"])) == due[2:]
        assert sorted(store.due(9, [], [("e", "v"), ("f", "u")])) == [("e", "u"), ("f", "v")]
        alter("UPDATE experiments SET status = 'migrating' WHERE name = 'f'")
        assert sorted(store.due(9)) == due[:2]

    def test_a_clock_that_goes_back_holds_up_a_decision_once_more_at_the_most(
        self, store: Store, alter: Callable[[str], None]
    ) -> None:
        experiment = put(store, reward_wait=1000)
        with ahead(store, 10_000):
            one(store, experiment, Ask("u"))
        assert store.due(9) == [("e", "u")]
        one(store, experiment, Expire("u"))
        assert [event.kind for _, event in events(store, experiment)] == ["decision", "clock"]
        assert store.due(9) == []
        assert verify(store).shown == []
        let_time_pass(store, alter)
        one(store, experiment, Expire("u"))
        assert [event.kind for _, event in events(store, experiment)][2:] == ["expired"]
        assert verify(store).shown == []

    def test_a_unit_that_cannot_be_read_or_fails_concerns_nobody_else(
        self, store: Store, alter: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        experiment = put(store)
        names = ["good", "bad", "fine"]
        handle_together(store, [(experiment, Ask(name)) for name in names])
        alter("UPDATE units SET state = '{}' WHERE name = 'bad'")
        again = [(experiment, Ask(name)) for name in (*names, "bad", "good")]
        good, bad, fine, worse, better = handle_together(store, again)
        assert type(bad) is type(worse) is Error
        assert [each["decision"] for each in (good, fine, better) if isinstance(each, dict)] == [
            "1@good",
            "1@fine",
            "2@good",
        ]
        step = Unit.step

        def failing(unit: Unit, request: Request, now: float) -> Any:
            answer = step(unit, request, now)
            return 1 / 0 if request == Ask("fine", "wrong") else answer

        monkeypatch.setattr(Unit, "step", failing)
        asks = [Ask("fine"), Ask("fine", "wrong"), Ask("good")]
        first, second, third = handle_together(store, [(experiment, each) for each in asks])
        assert type(first) is type(second) is Error
        assert isinstance(third, dict)
        assert [unit for unit, _ in events(store, experiment)].count("fine") == 2

    def test_another_zlib_makes_no_difference(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        arms = [f"a{n}" for n in range(60)]
        means = [[0.3 + 0.005 * n for n in range(60)], [0.6 - 0.005 * n for n in range(60)]]
        wide = f"arms = {json.dumps(arms)}\n[models]\nx = {means[0]}\ny = {means[1]}\n"
        experiment = put(store, problem=wide)
        for number in range(120):
            one(store, experiment, Ask("u"))
            one(store, experiment, Tell(("u", number), 1 / (3 + number)))
        row = store.unit((experiment.id, "u"))

        def otherwise(content: bytes) -> bytes:
            packer = zlib.compressobj(9, zlib.DEFLATED, 9, 9, zlib.Z_HUFFMAN_ONLY)
            return packer.compress(content) + packer.flush()

        other = SimpleNamespace(compress=otherwise, decompressobj=zlib.decompressobj)
        monkeypatch.setattr(agent_state, "zlib", other)
        assert row is not None
        assert experiment.agent("u", row.state).own_state() != row.state
        assert verify(store).shown == []

    def test_a_unit_has_a_largest_number_of_pending_decisions(self, store: Store) -> None:
        experiment = put(store, reward_wait=1000).with_most_pending(most_pending=3)
        for _ in range(3):
            one(store, experiment, Ask("u"))
        with pytest.raises(ConflictError, match="'u' has 3 pending decisions, the most"):
            one(store, experiment, Ask("u"))
        one(store, experiment, Tell(("u", 1), 1.0))
        one(store, experiment, Ask("u", "k"))
        with pytest.raises(ConflictError, match="pending"):
            one(store, experiment, Ask("u"))
        assert one(store, experiment, Ask("u", "k"))["decision"] == "3@u"
        one(store, experiment, Forget(("u", 0)))
        one(store, experiment, Ask("u"))

    def test_another_revision_decides_once_it_is_adopted(
        self, store: Store, alter: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The log is another rule's; the oracle is an agent that observed the same rewards."""
        experiment = put(store, policy="thompson", reward_wait=1000)
        history: dict[str, list[tuple[str, float]]] = {"u": [], "v": []}
        random = np.random.default_rng(3)
        for number in range(30):
            for unit in history:
                arm = one(store, experiment, Ask(unit))["arm"]
                reward = float(random.integers(2))
                one(store, experiment, Tell((unit, number), reward))
                history[unit].append((arm, reward))
        one(store, experiment, Ask("v"))
        alter("UPDATE experiments SET definition = replace(definition, 'thompson', 'ucb1')")
        alter("UPDATE experiments SET revision = 0")
        alter("UPDATE events SET revision = 0")
        kept = store.experiment("e")
        assert kept is not None
        old = Experiment.from_kept(kept)
        with pytest.raises(UnavailableError, match="'e' is decided by ucb1@0, and this server has"):
            old.check_serving()
        found = verify(store)
        assert (found.decisions, found.unchecked, found.shown) == (61, 61, [])

        with pytest.raises(KeyboardInterrupt):
            adopt(store, "e", interrupt)
        half = store.experiment("e")
        assert half is not None
        with pytest.raises(UnavailableError, match="'e' is adopting"):
            Experiment.from_kept(half).check_serving()
        progress: list[int] = []
        monkeypatch.setattr(adopt_module, "_AT_ONCE", 1)
        adopted = adopt(store, "e", progress.append)
        assert progress == [1, 2]
        assert adopt(store, "e", progress.append) == adopted == store.experiment("e")
        assert (adopted.status, adopted.revision) == (OPEN, 1)
        new = Experiment.from_kept(adopted)
        new.check_serving()
        ((_, event),) = [each for each in events(store, new) if each[0] is None]
        assert (event.kind, event.number) == ("adopted", 1)
        for unit, rewards in history.items():
            agent = Agent(new.problem, "ucb1")
            for arm, reward in rewards:
                agent.observe(arm, reward)
            assert one(store, new, Ask(unit))["arm"] == agent.ask().arm
        found = verify(store)
        assert (found.decisions, found.unchecked, found.shown) == (63, 61, [])
        alter("UPDATE events SET arm = CASE arm WHEN 'a' THEN 'b' ELSE 'a' END WHERE revision = 1")
        assert any("logged" in each for each in verify(store).shown)

    def test_states_of_an_earlier_form_are_rebuilt(
        self, store: Store, alter: Callable[[str], None]
    ) -> None:
        experiment = put(store)
        for number in range(9):
            one(store, experiment, Ask("u"))
            one(store, experiment, Tell(("u", number), float(number % 2)))
        before = everything(store, experiment)
        alter("UPDATE units SET state = 'of another form'")
        assert verify(store).shown == ["e: u: its state does not follow from the log"]
        alter("UPDATE experiments SET states = 1")
        kept = store.experiment("e")
        assert kept is not None
        with pytest.raises(UnavailableError, match="run fpbandits upgrade"):
            Experiment.from_kept(kept).check_serving()
        assert renew_states(store) == 1
        assert renew_states(store) == 0
        assert everything(store, experiment) == before
        assert verify(store).shown == []

    def test_states_of_what_is_being_deleted_are_left_alone(
        self, store: Store, alter: Callable[[str], None]
    ) -> None:
        """What is left of its log cannot be repeated."""
        experiment = put(store)
        one(store, experiment, Ask("u"))
        one(store, experiment, Tell(("u", 0), 1.0))
        alter("DELETE FROM events WHERE kind = 'decision'")
        alter("UPDATE experiments SET states = 1, status = 'deleting'")
        assert renew_states(store) == 0
        for status, revision, needed in (
            ("deleting", 0, False),
            ("open", 0, True),
            ("open", 1, False),
        ):
            alter(f"UPDATE experiments SET revision = {revision}, status = '{status}'")
            kept = store.experiment("e")
            assert kept is not None
            assert needs_adopting(kept) == needed

    def test_a_closed_experiment_is_adopted_and_stays_closed(
        self, store: Store, alter: Callable[[str], None]
    ) -> None:
        for name, kinds in (
            ("open", ["closed", "reopened"]),
            ("e", ["closed"]),
            ("again", ["closed", "reopened", "closed"]),
        ):
            experiment = put(store, name)
            one(store, experiment, Ask("u"))
            kept = store.experiment(name)
            assert kept is not None
            for kind in kinds:
                status = "closed" if kind == "closed" else OPEN
                kept = store.change_experiment(kept, status, kind=kind)
            before, number = kept.status, f"WHERE id = {kept.id}"
            assert adopt(store, name) == kept
            for interrupted in (True, False):
                alter(f"UPDATE experiments SET revision = 0 {number}")
                if interrupted:
                    with pytest.raises(KeyboardInterrupt):
                        adopt(store, name, interrupt)
                    assert [each.status for each in store.experiments() if each.name == name] == [
                        "adopting"
                    ]
                adopted = adopt(store, name)
                assert (adopted.status, adopted.revision) == (before, 1)
                assert adopted == store.experiment(name)
                request = Ask("u", "again") if before == OPEN else Tell(("u", 0), 1.0)
                one(store, Experiment.from_kept(adopted), request)

    def test_units_erased_in_a_new_experiment_are_not_migrated_again(self, store: Store) -> None:
        old = put(store)
        for unit in ("u", "v"):
            for number in range(3):
                one(store, old, Ask(unit))
                one(store, old, Tell((unit, number), 1.0))
        assert migrate(store, "e", "new", {}).added == 6
        new = put(store, "new")
        one(store, new, store.find_events((new.id, "u")))
        one(store, new, Ask("u"))
        for unit in ("u", "v"):
            one(store, old, Ask(unit))
            one(store, old, Tell((unit, 3), 0.0))
        found = migrate(store, "e", "new", {})
        assert (found.units, found.rewards, found.added, found.erased) == (1, 4, 1, 1)
        of_u = [event.kind for unit, event in events(store, new) if unit == "u"]
        assert of_u == ["erased", "decision"]
        assert verify(store).shown == []

    def test_units_erased_in_an_old_experiment_go_on_in_the_new_one(self, store: Store) -> None:
        """Whether they have fewer rewards since then than before, or more."""
        old = put(store)
        for unit in ("u", "v", "w"):
            for number in range(3):
                one(store, old, Ask(unit))
                one(store, old, Tell((unit, number), 1.0))
        one(store, old, store.find_events((old.id, "w")))
        one(store, old, Ask("w"))
        one(store, old, Tell(("w", 3), 1.0))
        assert migrate(store, "e", "new", {}).not_erased == 0
        for unit in ("u", "v"):
            one(store, old, store.find_events((old.id, unit)))
        assert migrate(store, "e", "new", {}).not_erased == 2
        for number, total in ((3, 4), (4, 5), (5, 6), (6, 7), (7, 8)):
            one(store, old, Ask("u"))
            one(store, old, Tell(("u", number), 0.0))
            found = migrate(store, "e", "new", {})
            assert (found.added, found.not_erased) == (1, 2)
            row = store.unit((put(store, "new").id, "u"))
            assert row is not None
            assert row.steps == total
        new = put(store, "new")
        rewards = [event.reward for unit, event in events(store, new) if unit == "u"]
        assert rewards == [1.0] * 3 + [0.0] * 5
        one(store, new, store.find_events((new.id, "u")))
        found = migrate(store, "e", "new", {})
        assert (found.added, found.erased, found.not_erased) == (0, 1, 1)
        assert verify(store).shown == []


def interrupt(units: int) -> None:
    raise KeyboardInterrupt


def interrupt_giving(words: str) -> None:
    if words.endswith("given"):
        raise KeyboardInterrupt


def json_of(agent: Agent) -> range:
    return range(int(agent.state()["next"]))
