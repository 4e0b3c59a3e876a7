"""The report as a whole: whole or not at all, the same for the same seed, and self-contained."""

from __future__ import annotations

import json
import math
import re
import resource
import shutil
from html.parser import HTMLParser
from inspect import signature
from pathlib import Path
from typing import Any

import pytest
from command import run

from fpbandits import InputError, __version__
from fpbandits.cli import main
from fpbandits.paper import reproduce
from fpbandits.paper.claims import judge, verdict_counts
from fpbandits.paper.material import Material
from fpbandits.paper.report.figures import FIGURES
from fpbandits.paper.report.page import chapters
from fpbandits.report.figures import rendered
from fpbandits.simulation import runner, store, workers

KEYS = {"id", "claim", "paper", "measured", "verdict", "evidence"}


@pytest.fixture(scope="module")
def report(results_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report drawn from the shared results."""
    folder = tmp_path_factory.mktemp("drawn")
    shutil.copytree(results_folder, folder / "results")
    with pytest.raises(SystemExit) as caught:
        main(["reproduce", "--from", str(folder)])
    assert caught.value.code == 0
    return folder


def _drawn_only(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Leave all other figures empty: drawing them takes most of the time."""

    def figure_files(figure: Any, stem: Path) -> dict[Path, bytes]:
        if figure is not None:
            return rendered(figure, stem)
        return {stem.with_name(f"{stem.name}.{kind}"): b"" for kind in ("png", "svg")}

    chosen = {name: draw if name in names else lambda _: None for name, draw in FIGURES.items()}
    monkeypatch.setattr(reproduce, "FIGURES", chosen)
    monkeypatch.setattr(reproduce, "rendered", figure_files)


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch, material: Material) -> None:
    """Draw nothing, and compute what depends on no run only once: both take long."""
    _drawn_only(monkeypatch)
    monkeypatch.setattr(reproduce, "analyze_problems", lambda: material.analyses)
    monkeypatch.setattr(reproduce, "compute_numbers", lambda: material.numbers)


WORDS = ("--runs", "10", "--seed", "3")


@pytest.fixture(scope="module")
def of_ten_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of few runs, without figures, that nothing disturbed."""
    folder = tmp_path_factory.mktemp("few") / "report"
    with pytest.MonkeyPatch.context() as monkeypatch:
        _drawn_only(monkeypatch)
        monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
        with pytest.raises(SystemExit) as caught:
            main(["reproduce", "--out", str(folder), *WORDS])
    assert caught.value.code == 0
    return folder


def test_a_summary_counts_the_verdicts(made_up: Material) -> None:
    claims = judge(made_up)
    counts = verdict_counts(claims)
    words = (
        f"of 53 statements of the paper {counts['holds']} hold, {counts['beyond']} hold beyond "
        f"some time, {counts['fails']} fail"
    )
    assert sum(counts.values()) == 53
    assert reproduce.Report(Path("r"), claims, 1_000).summary() == words
    assert reproduce.Report(Path("r"), claims, 999).summary() == (
        f"{words}; with 999 runs limits are wide: a true statement may “fail” because it takes "
        "1,000 to show it"
    )
    lines = reproduce.claims_json(claims[:1]).decode().split("\n")
    assert lines[:3] == ["[", " {", '  "id": "bounded",']
    assert "B(θ°)" in lines[3]
    assert lines[-2:] == ["]", ""]


def test_a_report_needs_a_folder_of_its_own_and_results_to_be_from(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the report needs a folder of its own: name one"):
        reproduce.reproduce(Path("."))  # noqa: PTH201  # as it is given
    with pytest.raises(InputError, match="there is no folder results in it, as reports have"):
        reproduce.reproduce(tmp_path / "a", source=tmp_path)
    with pytest.raises(InputError, match="runs is 9: it must be at least 10"):
        reproduce.reproduce(tmp_path / "a", runs=9)
    with pytest.raises(InputError, match="seed is -1: it must be at least 0"):
        reproduce.reproduce(tmp_path / "a", seed=-1)
    assert signature(reproduce.reproduce).parameters["seed"].default == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("undrawn")
def test_progress_says_that_figures_are_drawn(report: Path, tmp_path: Path) -> None:
    told: list[tuple[str, float, float]] = []
    reproduce.reproduce(tmp_path / "b", source=report, progress=lambda *news: told.append(news))
    assert told == [("drawing the figures", 0.0, 1.0)]
    reproduce.reproduce(tmp_path / "c", source=report, progress=None)


def test_everything_is_written(report: Path) -> None:
    claims = json.loads((report / "claims.json").read_text())
    assert len(claims) > 40
    for claim in claims:
        assert claim.keys() >= KEYS
        verdict = claim["verdict"]
        assert verdict in ("holds", "fails") or float(verdict.removeprefix("holds beyond T=")) > 1
    figures = {path.name for path in (report / "figures").iterdir()}
    for number in range(1, 9):
        found = {name for name in figures if name.startswith(f"fig{number}-")}
        assert len(found) == 4, number  # two pictures, each as PNG and SVG
    for name in figures:
        assert f"{Path(name).stem}.png" in figures
        assert f"{Path(name).stem}.svg" in figures


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: set[str] = set()
        self.sources: list[str] = []
        self.tags: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.tags.append(tag)
        if tag not in ("meta", "link", "img"):
            self.open.append(tag)
        if "id" in given:
            assert given["id"] not in self.ids
            self.ids.add(given["id"])
        if "href" in given:
            self.links.add(given["href"])
        if "src" in given:
            self.sources.append(given["src"])
            assert given["alt"]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_needs_nothing_but_itself(report: Path) -> None:
    text = (report / "report.html").read_text()
    page = _Page()
    page.feed(text)
    assert page.open == []
    assert len(page.sources) == len(list((report / "figures").glob("*.svg")))
    assert all(source.startswith("data:image/svg+xml;base64,") for source in page.sources)
    assert {link for link in page.links if not link.startswith("#")} == {"data:,"}
    assert {link[1:] for link in page.links if link.startswith("#")} <= page.ids
    assert not {"script", "iframe", "object", "video"} & set(page.tags)
    for word in ("url(", "@import", "http:", "https:"):
        assert word not in text
    for claim in json.loads((report / "claims.json").read_text()):
        assert claim["id"] in page.ids


class _Claims(HTMLParser):
    """The claims on a page, each with its badge's kind, and the headings of their sections."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.kinds: dict[str, str] = {}
        self.sections: list[tuple[set[str], set[str]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "section":
            self.sections.append((set(given["class"].split()), set()))
        elif tag == "article":
            self.kinds[given["id"]] = given["class"].removeprefix("claim-")
            self.sections[-1][1].add(given["class"].replace("claim-", "some-"))


def test_failures_can_be_seen_on_their_own(report: Path) -> None:
    """Links to marks before the sections hide, by style alone, what is of another kind."""
    text = (report / "report.html").read_text()
    found = _Claims(text)
    verdicts = {
        claim["id"]: claim["verdict"] for claim in json.loads((report / "claims.json").read_text())
    }
    assert found.kinds == {
        name: verdict if verdict in ("holds", "fails") else "beyond"
        for name, verdict in verdicts.items()
    }
    assert all(said == there for said, there in found.sections)
    for kind in ("holds", "beyond", "fails"):
        assert f'href="#only-{kind}"' in text
        assert text.index(f'id="only-{kind}"') < text.index("<section")
        assert f"#only-{kind}:target ~ section article:not(.claim-{kind})" in text
        assert f"#only-{kind}:target ~ section:not(.some-{kind})" in text


@pytest.mark.usefixtures("undrawn")
def test_the_page_says_what_it_is_about_and_when_it_was_made(
    report: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", str(20_000 * 86_400))
    page = reproduce.reproduce(tmp_path / "b", source=report).path.read_text()
    assert "Bounded Regret for Finitely Parameterized Multi-Armed Bandits" in page
    assert "Kishan Panaganti and Dileep Kalathil" in page
    assert f"Made on 4 October 2024 with fpbandits {__version__}" in page
    assert "prefers-color-scheme: dark" in page


def test_numbers_and_symbols_are_as_people_write_them(report: Path) -> None:
    text = re.sub(r'(src|alt)="[^"]*"|<style>.*?</style>', "", _page(report), flags=re.S)
    assert re.findall(r"\d[eE][+-]?\d+", re.sub(r"sources \w+", "", text)) == []
    assert re.findall(r"[A-Za-zα-ω]_[\w{]", text) == []
    assert "C<sub>i</sub>" in text
    assert "10¹²" in text


def _page(report: Path) -> str:
    return (report / "report.html").read_text()


def test_the_same_results_make_the_same_bytes(
    report: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All claims, and a few of the figures."""
    _drawn_only(monkeypatch, *list(FIGURES)[:3], "far-fp-ucb", "ties")
    code, out, err = run(capsys, "reproduce", "--from", str(report), "--out", str(tmp_path / "b"))
    assert (code, err) == (0, f"wrote {tmp_path / 'b' / 'report.html'}\n")
    assert " hold, " in out
    written = (path for path in (tmp_path / "b").rglob("*") if path.stat().st_size)
    again = [path for path in written if path.suffix in (".png", ".svg", ".json")]
    assert len(again) == 12
    assert len(list((tmp_path / "b" / "results" / "chunks").glob("*.npz"))) >= 1
    for path in again:
        assert path.read_bytes() == (report / path.relative_to(tmp_path / "b")).read_bytes()


def test_every_figure_is_in_a_chapter_and_has_words(material: Material) -> None:
    written = [chapter for part in chapters(material).values() for chapter in part]
    assert all(chapter["title"] and chapter["text"] for chapter in written)
    captions = [item for chapter in written for item in chapter["figures"].items()]
    assert all(caption for _, caption in captions)
    assert sorted(name for name, _ in captions) == sorted(FIGURES)
    assert len({chapter["title"] for chapter in written}) == len(written)


@pytest.mark.usefixtures("undrawn")
def test_the_same_seed_gives_the_same_claims_and_another_one_others(
    of_ten_runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written = {}
    for folder, seed in (("a", "3"), ("b", "4")):
        words = ["reproduce", "--out", str(tmp_path / folder), "--runs", "10", "--seed", seed]
        code, out, _ = run(capsys, *words, "--json")
        assert code == 0
        written[folder] = (tmp_path / folder / "claims.json").read_bytes()
        assert out.encode() == written[folder]
    assert written["a"] == (of_ten_runs / "claims.json").read_bytes() != written["b"]


@pytest.mark.usefixtures("undrawn")
def test_ctrl_c_keeps_what_is_finished(
    of_ten_runs: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")  # lest midnight come between the two

    def interrupted(*arguments: Any, on_played: Any, **more: Any) -> None:
        done: list[int] = []

        def until(played: Any) -> None:
            done.append(played.runs.size)
            on_played(played)
            if sum(done) > 100:
                raise KeyboardInterrupt

        workers.play_ranges(*arguments, on_played=until, **more)

    words = ["reproduce", "--out", str(tmp_path / "report"), *WORDS]
    with monkeypatch.context() as impatient:
        impatient.setattr(runner, "play_ranges", interrupted)
        impatient.setattr(store, "EVERY", math.inf)  # one file, however slow the machine
        code, _, err = run(capsys, *words)
    assert code == 130
    assert "%: finished runs are kept in" in err
    assert "Traceback" not in err
    assert [path.name for path in (tmp_path / "report").iterdir()] == ["results"]
    chunks = tmp_path / "report" / "results" / "chunks"
    kept = {path: path.stat().st_mtime_ns for path in chunks.iterdir()}
    assert len(kept) == 1

    assert run(capsys, *words)[0] == 0
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    for name in ("claims.json", "report.html"):
        assert (tmp_path / "report" / name).read_bytes() == (of_ten_runs / name).read_bytes()


@pytest.mark.usefixtures("undrawn")
def test_a_full_disk_leaves_no_half_report(
    report: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A limit on the size of files stands for it: some files are smaller, some larger."""
    out = tmp_path / "report"
    words = ["reproduce", "--from", str(report), "--out", str(out)]
    limit = round(1.2 * (report / "claims.json").stat().st_size)
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, unlimited[1]))
    try:
        code, _, err = run(capsys, *words)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
    assert code == 2
    assert err.startswith(f"error: {out}")
    assert err.endswith("cannot be written (File too large)\n")
    assert err.count("\n") == 1
    assert [path for path in out.rglob("*") if path.is_file()] == []
    assert run(capsys, *words)[0] == 0
    assert (out / "report.html").stat().st_size > limit


@pytest.mark.usefixtures("undrawn")
def test_a_folder_in_the_reports_place_stops_all_of_it(
    report: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "out" / "report.html").mkdir(parents=True)
    code, _, err = run(capsys, "reproduce", "--from", str(report), "--out", str(tmp_path / "out"))
    assert code == 2
    assert "report.html: cannot be written (Is a directory)" in err
    assert not [path for path in (tmp_path / "out").rglob("*") if path.is_file()]


@pytest.mark.usefixtures("undrawn")
def test_other_folders_are_not_written_into(
    report: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a" / "results").mkdir(parents=True)
    (tmp_path / "a" / "results" / "manifest.json").write_text("{}")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "manifest.json").write_text("{}")
    for name, where, message in (
        ("a", "a/results", "holds other results"),
        ("b", "b", "holds runs of something else"),
    ):
        words = ["reproduce", "--from", str(report), "--out", str(tmp_path / name)]
        code, _, err = run(capsys, *words)
        assert code == 2
        assert err == f"error: {tmp_path / where}: {message}: name another folder\n"
