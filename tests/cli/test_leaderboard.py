"""``fpbandits leaderboard`` as a person and a script meet it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command import refusal, run

from fpbandits import leaderboard
from fpbandits.cli import main
from fpbandits.leaderboard import Contest, Leaderboard, Standing, contests
from fpbandits.simulation import runner


def test_command(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def few(group: str | None = None, seed: int = 0) -> list[Contest]:
        return contests("paper")[:2]

    monkeypatch.setattr(leaderboard, "contests", few)
    words = ["leaderboard", "--runs", "4", "--horizon", "100", "--out", str(tmp_path)]
    with pytest.raises(SystemExit) as caught:
        main(words)
    output = capsys.readouterr()
    assert caught.value.code == 0
    for word in ("frugal:false_alarm=0.001", "thompson-theta", "two θ²", "score"):
        assert word in output.out
    assert f"wrote {tmp_path / 'leaderboard.json'}" in output.err
    board = (tmp_path / "leaderboard.json").read_bytes()

    def idle(cells: object, pieces: object, *others: object, **more: object) -> None:
        assert pieces == []

    with monkeypatch.context() as resumed:
        resumed.setattr(runner, "play_ranges", idle)
        with pytest.raises(SystemExit) as caught:
            main(words)
    assert caught.value.code == 0
    assert (tmp_path / "leaderboard.json").read_bytes() == board
    with pytest.raises(SystemExit) as caught:
        main([*words, "--seed", "1"])
    assert caught.value.code == 2
    assert "holds other runs (seed 0 there, 1000 here)" in capsys.readouterr().err
    for words, message in (
        (["--runs", "1"], "runs is 1: it must be at least 2"),
        (["--horizon", "0"], "horizon is 0: it must be at least 1"),
        (["--seed", "-1"], "seed is -1: it must be at least 0"),
    ):
        with pytest.raises(SystemExit) as caught:
            main(["leaderboard", *words])
        assert caught.value.code == 2
        assert capsys.readouterr().err == f"error: {message}\n"


def test_ones_own_problems(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    file = tmp_path / "mine.csv"
    file.write_text("model,a,b\nx,0.5,0.4\ny,0.5,0.9\n")
    words = ["leaderboard", str(file), "paper:two", "--runs", "4", "--horizon", "100"]
    code, out, err = run(capsys, *words, "--out", str(tmp_path / "out"))
    assert code == 0
    assert f"wrote {tmp_path / 'out' / 'leaderboard.json'}" in err
    head = next(line.split() for line in out.splitlines() if line.split())
    assert head == ["policy", "mine", "paper:two", "score", "×", "floor"]
    assert max(map(len, out.splitlines())) <= 80
    assert "random" not in out
    board = json.loads(run(capsys, *words, "--json")[1])
    assert [contest["group"] for contest in board["contests"]] == ["own", "own"]
    assert board["policies"].keys() >= {"frugal", "frugal:false_alarm=0.001", "ucb1"}
    assert "there is no such file" in refusal(capsys, "leaderboard", "paper:two", "none.toml")
    assert "two problems are called 'mine'" in refusal(capsys, "leaderboard", *[str(file)] * 2)


def test_groups(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """What is played is what the group and the seed ask for; who wins is known in advance."""
    asked: list[object] = []

    def know_all(*, among: list[Contest], seed: int, **rest: object) -> Leaderboard:
        asked.append((rest["runs"], rest["horizon"]))
        standings = {
            policy: {contest.name: Standing(mean, 0.1, mean, None) for contest in among}
            for policy, mean in (("second", 98765.4), ("first", 0.123))
        }
        return Leaderboard(among, standings, 2 * 10**4, 400, seed)

    monkeypatch.setattr(leaderboard, "play", know_all)
    for group in ("paper", "random", "wrong", "practice"):
        words = ["leaderboard", "--group", group]
        board = json.loads(run(capsys, *words, "--json", "--seed", "3")[1])
        expected = [
            (c.name, c.group, len(c.problem.models), len(c.problem.arms), c.lower_bound)
            for c in contests(group, 3)
        ]
        assert [tuple(contest.values())[:5] for contest in board["contests"]] == expected
        out = run(capsys, *words)[1]
        assert max(map(len, out.splitlines())) <= 132
        assert ("score" in out) is (group != "wrong")
    run(capsys, "leaderboard", "--group", "practice", "--runs", "50", "--horizon", "1e3", "--json")
    run(capsys, "leaderboard", "--json")
    usual = None, None
    assert asked == [*[usual] * 8, (50, 1000), usual], "what is usual for a group is up to `play`"


def test_groups_that_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    message = refusal(capsys, "leaderboard", "--group", "practise")
    assert "group 'practise'" in message
    assert "practice" in message
    message = refusal(capsys, "leaderboard", "paper:two", "--group", "paper")
    assert "--group and problems of your own exclude each other: give one of them" in message
    message = refusal(capsys, "leaderboard", "--group", "practice", "--seed", "-1")
    assert "seed is -1: it must be at least 0" in message


def test_nothing_is_cut(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four problems with long names are wider than the terminal; the caption says the delay."""
    monkeypatch.setenv("COLUMNS", "80")
    files = [tmp_path / f"my pricing problem {number}.csv" for number in range(1, 5)]
    for file in files:
        file.write_text("model,a,b\nx,0.5,0.4\ny,0.5,0.9\n")
    standing = Standing(123.4, 0.1, 456.7, None)

    def known(*, among: list[Contest], **rest: object) -> Leaderboard:
        names = [contest.name for contest in among]
        standings = {"frugal:false_alarm=0.001": dict.fromkeys(names, standing)}
        return Leaderboard(among, standings, 10, 5, 0, dict.fromkeys(names, 1.0), 30)

    monkeypatch.setattr(leaderboard, "play", known)
    out = run(capsys, "leaderboard", *map(str, files))[1]
    lines = out.splitlines()
    rule = next(row for row, line in enumerate(lines) if "───" in line)
    heads = " ".join(lines[:rule]).split()
    names = [*["my", "pricing", "problem"] * 4, *"1234"]
    assert sorted(heads) == sorted([*names, "policy", "score", "×", "floor"])
    row = lines[rule + 1].split()
    assert row == ["frugal:false_alarm=0.001", *["123", "(457)"] * 4, "1.00", "123.40"]
    words = " ".join(out.split())
    assert "5 runs, arms shuffled, rewards 30 decisions late" in words
    assert "half the width of the rewards' range added to both" in words
