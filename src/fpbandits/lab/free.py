"""What can be learned for free: the words of `analyze`, pictures, bounds; after every edit."""

from __future__ import annotations

from typing import NamedTuple

from nicegui import run, ui

from fpbandits.core.markup import html_table
from fpbandits.errors import Error
from fpbandits.lab.heat import KINDS, confusion, confusion_picture, means_picture
from fpbandits.lab.parts import Notice, heading
from fpbandits.lab.workbook import Workbook
from fpbandits.problem.problem import Problem
from fpbandits.theory.analysis import analyze
from fpbandits.theory.figure import MOST_MODELS

_MOST_TRUTHS = 64
"""With more models than this the cases are looked at one by one."""


class Answer(NamedTuple):
    """What there is to say of a problem, as HTML."""

    words: str
    glance: str
    means: str
    confusion: str


def answer(problem: Problem, truth: str) -> Answer:
    """Say what can be learned for free under ``truth``, and at a glance under every other."""
    case = analyze(problem, truth).cases[0]
    facts = [[name, text] for name, text in case.facts.items()]
    words = html_table(f"{case.truth}: {case.verdict}", ["", ""], facts, words=2)
    glance = ""
    if len(problem.models) <= _MOST_TRUTHS:
        whole = analyze(problem)
        above = [f"Note: {whole.tie_notice}"] if whole.tie_notice else []
        rows = [[each.truth, each.verdict, each.facts["any policy"]] for each in whole.cases]
        glance = html_table(
            whole.summary,
            ["if this is the truth", "regret is", "any policy"],
            rows,
            words=3,
            above=above,
        )
    who = f"Not drawn: more than {MOST_MODELS:,} models."
    if len(problem.models) <= MOST_MODELS:
        who = confusion_picture(problem, confusion(problem))
    return Answer(words, glance, means_picture(problem), who)


class FreePart:
    """What can be learned for free, and what must cost."""

    def __init__(self, workbook: Workbook) -> None:
        self._book, self._asked = workbook, 0
        heading("What can be learned for free")
        self._truth = ui.select([], label="if the truth is", with_input=True).props(
            "outlined dense"
        )
        self._truth.classes("field").on_value_change(self._choose)
        self._notice = Notice()
        self._words = ui.html(sanitize=False).classes("words verdict")
        with ui.element("div").classes("pictures"):
            with ui.element("figure"):
                self._means = ui.html(sanitize=False).classes("picture")
                self._range = ui.html(sanitize=True, tag="figcaption")
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
        self._glance = ui.html(sanitize=False).classes("words glance")
        workbook.listen(self._show)
        self._show()

    def _show(self) -> None:
        problem = self._book.problem
        if self._book.is_good:
            self._notice.say("")
        else:
            self._notice.warn("This is for the table as it was before the mistake.")
        chosen = self._truth.value if self._truth.value in problem.models else None
        truth = chosen or problem.truth or problem.models[0]
        self._truth.set_options(list(problem.models), value=truth)
        self._ask(problem, truth)

    def _choose(self) -> None:
        if self._truth.value in self._book.problem.models:
            self._ask(self._book.problem, self._truth.value)

    def _ask(self, problem: Problem, truth: str) -> None:
        self._asked += 1
        ui.timer(0, lambda asked=self._asked: self._answer(problem, truth, asked), once=True)

    async def _answer(self, problem: Problem, truth: str, asked: int) -> None:
        if asked != self._asked:
            return
        try:
            found = await run.io_bound(answer, problem, truth)
        except Error as error:
            self._notice.warn(str(error))
            return
        if found is None or asked != self._asked:  # someone has gone on editing
            return
        low, high = problem.range
        unit = f"rewards in [{low:g}, {high:g}]" if problem.rewards.bounded else "unit of rewards"
        self._words.content, self._glance.content = found.words, found.glance
        self._means.content, self._confusion.content = found.means, found.confusion
        self._range.content = (
            f"Mean reward ({unit}; regret has the same unit), dark is low. A dot marks a best arm."
        )
