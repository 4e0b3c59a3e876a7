"""What can be learned for free: `analyze` and two pictures of the models, after every edit."""

from __future__ import annotations

from typing import NamedTuple

from nicegui import run, ui

from fpbandits.core.markup import html_table
from fpbandits.lab.heat import KINDS, confusion_picture, means_picture
from fpbandits.lab.parts import Notice, offer, table
from fpbandits.lab.session import LAST_VALID, Session
from fpbandits.problem.problem import Problem
from fpbandits.theory.analysis import analyze
from fpbandits.theory.figure import MOST_MODELS, confusion

_MOST_TRUTHS = 64
"""With more models than this, only the chosen truth is analyzed."""


class Analyzed(NamedTuple):
    """The analysis of a problem, as HTML.

    Two tables, for the ``chosen`` truth and an ``overview`` of all truths, and two pictures.
    """

    chosen: str
    overview: str
    means: str
    confusion: str


def analyze_as_html(problem: Problem, truth: str) -> Analyzed:
    """Analyze a problem under ``truth`` in detail, and under every other model in a line."""
    under_truth = analyze(problem, truth).cases[0]
    facts = [[name, text] for name, text in under_truth.facts.items()]
    title = f"{under_truth.truth}: {under_truth.verdict}"
    chosen = html_table(title, ["", ""], facts, text_columns=2)
    overview = ""
    if len(problem.models) <= _MOST_TRUTHS:
        whole = analyze(problem)
        above = [f"Note: {whole.tie_notice}"] if whole.tie_notice else []
        head = ["if this is the truth", "regret is", "any policy"]
        rows = [[case.truth, case.verdict, case.facts["any policy"]] for case in whole.cases]
        overview = html_table(whole.summary, head, rows, text_columns=3, above=above)
    picture = f"Not drawn: more than {MOST_MODELS:,} models."
    if len(problem.models) <= MOST_MODELS:
        picture = confusion_picture(problem, confusion(problem))
    return Analyzed(chosen, overview, means_picture(problem), picture)


class AnalysisPart:
    """The part of the page that shows the analysis under a chosen truth."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._latest = object()  # the latest request; only its answer is shown
        self._truth = ui.select([], label="if the truth is", with_input=True)
        self._truth.classes("field").on_value_change(self._choose)
        self._notice = Notice()
        self._chosen = table().classes("verdict")
        with ui.element("div").classes("pictures"):
            with ui.element("figure"):
                self._means = ui.html(sanitize=False).classes("picture")
                self._range = ui.html(tag="figcaption")
            with ui.element("figure"):
                self._confusion = ui.html(sanitize=False).classes("picture")
                legend = "".join(
                    f'<span class="key"><i style="background:{colour}"></i> {words}</span>'
                    for words, colour in KINDS.values()
                )
                ui.html(
                    "Row: the truth. Column: a model that, while you play well, … "
                    f'<span class="keys">{legend}</span>',
                    sanitize=False,
                    tag="figcaption",
                )
        self._overview = table().classes("glance")
        session.listen(self._show)
        self._show()

    def _show(self) -> None:
        """Offer the truths of the present problem, and have it analyzed."""
        problem = self._session.problem
        if self._session.marks:
            self._notice.warn(LAST_VALID)
        else:
            self._notice.say("")
        offer(self._truth, problem.models, problem.truth or problem.models[0])
        self._request(problem, str(self._truth.value))

    def _choose(self) -> None:
        if self._truth.value in self._session.problem.models:
            self._request(self._session.problem, self._truth.value)

    def _request(self, problem: Problem, truth: str) -> None:
        """Have a problem analyzed once the present event is handled."""
        request = self._latest = object()
        ui.timer(0, lambda: self._update(problem, truth, request), once=True)

    async def _update(self, problem: Problem, truth: str, request: object) -> None:
        """Analyze a problem and show the result, unless there is a newer request."""
        if request is not self._latest:
            return
        analyzed = None
        with self._notice.refusals():
            analyzed = await run.io_bound(analyze_as_html, problem, truth)
        if analyzed is None or request is not self._latest:  # an error, or a newer request
            return
        low, high = problem.range
        scale = f"rewards in [{low:g}, {high:g}]" if problem.rewards.bounded else "unit of rewards"
        self._chosen.content, self._overview.content = analyzed.chosen, analyzed.overview
        self._means.content, self._confusion.content = analyzed.means, analyzed.confusion
        self._range.content = (
            f"Mean reward ({scale}; regret has the same unit), dark is low. A dot marks a best arm."
        )
