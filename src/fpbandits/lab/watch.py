"""Watch: one run step by step, by the policy or by the user."""

from __future__ import annotations

import asyncio
import math
from functools import partial
from html import escape
from itertools import islice

from nicegui import run, ui

from fpbandits.core.checks import amount, printable, whole_number
from fpbandits.core.markup import html_table
from fpbandits.errors import ConflictError, Error
from fpbandits.lab.heat import LETTER, svg_text
from fpbandits.lab.parts import Notice, button, number_of, offer, table, tools
from fpbandits.lab.precompile import STARTERS
from fpbandits.lab.run import MOST_STEPS, Run, describe
from fpbandits.lab.session import Session
from fpbandits.policies import POLICIES
from fpbandits.report.figures import PALETTE

_MOST_ROWS = 30
"""Rows of a table, and arms in the picture of the last plays."""

_MOST_BUTTONS = 12
"""With more arms than this, there is a list instead of a button for each."""

_MOST_STEPS_SHOWN = 8
"""Plays in the table of the last plays."""

_WIDTH = 5
"""The width of a play in the picture, in pixels."""

_HEIGHT = 16
"""The height of an arm's row in the picture, in pixels."""

_LONGEST_NAME = 16
"""Letters of an arm's name that the picture shows."""

_SPEEDS = {1: "1 play per second", 5: "5 plays per second", 50: "50 plays per second"}


class WatchPart:
    """The part of the page that plays a run step by step."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._run: Run | None = None
        self._current = object()  # another one once the run is dropped
        self._lock = asyncio.Lock()  # held while plays are under way
        with tools():
            self._policy = ui.select(list(POLICIES), value=STARTERS[0], label="policy")
            self._truth = ui.select([], label="truth", with_input=True)
            self._seed = ui.input("seed of the rewards", value="0")
            self._speed = ui.select(_SPEEDS, value=5, label="speed")
            button("Start anew", self._begin)
        with tools():
            button("Step", partial(self._play, 1), main=True)
            for plays in (10, 100, 1000):
                button(f"{plays:,} steps", partial(self._play, plays))
            self._go = button("Go on by itself", self._toggle)
        ui.label("Or play an arm yourself:").classes("quiet")
        self._arms = tools()
        self._notice = Notice()
        self._next = ui.label().classes("next").props('aria-live="polite"')
        self._roll = ui.html(sanitize=False).classes("roll")
        with ui.element("div").classes("beside"):
            self._models, self._counts = table(), table()
        self._why = table()
        self._steps = table()
        self._timer = ui.timer(1, self._go_on, active=False)
        self._speed.on_value_change(self._set_speed)
        self._set_speed()
        for field in (self._policy, self._truth):
            field.on_value_change(self._forget)
        self._seed.on("change", self._forget)
        session.listen(self._show_problem)
        self._show_problem()

    def _show_problem(self) -> None:
        """Offer the truths and arms of the present problem, and drop the run."""
        problem = self._session.problem
        offer(self._truth, problem.models, problem.truth or problem.models[0])
        self._forget()
        self._arms.clear()
        arms = problem.arms
        with self._arms:
            if len(arms) <= _MOST_BUTTONS:
                for arm in arms:
                    button(arm, partial(self._play, 1, arm))
            else:
                choice = ui.select(list(arms), value=arms[0], label="arm", with_input=True)
                button("Play it", lambda: self._play(1, str(choice.value)))

    def _forget(self) -> None:
        """Drop the run; the next step begins a new one."""
        self._halt()
        self._run = None
        self._current = object()
        self._notice.say("Not begun: take a step, or play an arm.")
        self._next.text = ""
        for part in (self._roll, self._models, self._counts, self._why, self._steps):
            part.content = ""

    async def _begin(self) -> None:
        self._forget()
        await self._play(0)

    async def _play(self, plays: int, arm: str | None = None) -> None:
        """Play the policy's arms, or this arm, and show the run, unless it is dropped meanwhile."""
        asked_for = self._current
        async with self._lock:
            if asked_for is not self._current:
                return
            try:
                current = self._run or await self._new_run()
                if current is None or asked_for is not self._current:
                    return
                self._run = current
                await run.io_bound(lambda: [current.play(arm) for _ in range(plays)])
                words = await run.io_bound(describe, current)
                if current is self._run and words is not None:
                    self._show(current, words)
            except Error as error:
                if asked_for is self._current:
                    self._halt()
                    self._notice.warn(str(error))

    async def _new_run(self) -> Run | None:
        """Return a run of the present problem; None if the lab is shutting down."""
        self._notice.say("getting ready …")
        seed = whole_number("the seed", number_of(self._seed.value))
        policy, truth = str(self._policy.value), str(self._truth.value)
        return await run.io_bound(Run, self._session.problem, policy, truth, seed)

    async def _go_on(self) -> None:
        """Play by itself, unless plays are under way."""
        if not self._lock.locked():
            await self._play(self._plays_at_once)

    def _show(self, current: Run, words: str) -> None:
        """Show a run; ``words`` say which models are left."""
        lost = f"regret so far {amount(current.regret)} (units of rewards)"
        where = f" in {current.context}" if current.context is not None else ""
        suggestion = f"Next the policy would play {current.suggestion.arm}{where}."
        self._notice.say(f"t = {current.t:,} plays; {lost}. {suggestion}")
        self._next.text = words
        self._roll.content = plays_picture(current)
        self._models.content = models_table(current)
        self._counts.content = counts_table(current)
        self._why.content = current.why._repr_html_()
        self._steps.content = steps_table(current)

    async def _toggle(self) -> None:
        """Let the policy play by itself, or stop that."""
        if self._timer.active:
            self._halt()
        else:
            self._go.text = "Pause"
            self._timer.activate()

    def _halt(self) -> None:
        self._timer.deactivate()
        self._go.text = "Go on by itself"

    def _set_speed(self) -> None:
        # At most ten updates per second: at a higher speed, several plays per update.
        self._timer.interval = max(0.1, 1 / self._speed.value)
        self._plays_at_once = max(1, self._speed.value // 10)


def plays_picture(current: Run) -> str:
    """Return a picture of the last plays: a row per arm, a mark per play, framed if yours."""
    played = {step.arm for step in current.steps}
    arms = [
        arm
        for arm in current.problem.arms
        if arm in played or len(current.problem.arms) <= _MOST_ROWS
    ]
    rows = {arm: row for row, arm in enumerate(arms[:_MOST_ROWS])}
    width, height = _WIDTH * MOST_STEPS, _HEIGHT * len(rows)
    parts = [
        f'<line x1="0" x2="{width}" y1="{_HEIGHT * (row + 1)}" y2="{_HEIGHT * (row + 1)}"/>'
        f'<text x="-6" y="{_HEIGHT * (row + 0.75):.0f}" text-anchor="end">'
        f"{svg_text(name, _LONGEST_NAME)}</text>"
        for name, row in rows.items()
    ]
    for index, step in enumerate(current.steps):
        row = rows.get(step.arm)
        if row is not None:
            colour = PALETTE[row % (len(PALETTE) - 1)]
            kind = ' class="yours"' if step.is_yours else ""
            parts.append(
                f'<rect x="{_WIDTH * index}" y="{_HEIGHT * row + 2}" width="{_WIDTH - 1}" '
                f'height="{_HEIGHT - 4}" fill="{colour}"{kind}/>'
            )
    left = LETTER * min(_LONGEST_NAME, max(map(len, rows), default=0)) + 10
    return (
        f'<svg class="heat" viewBox="{-left:.0f} 0 {left + width:.0f} {height}" role="img">'
        f"<title>arms played, the last {len(current.steps):,} plays</title>"
        f"{''.join(parts)}</svg>"
    )


def models_table(current: Run) -> str:
    """Return the models by posterior, the likeliest first, and their margins while plausible."""
    plausible = current.agent.plausible()
    try:
        posterior = current.agent.posterior()
    except ConflictError:  # no model allows what was seen
        posterior = dict.fromkeys(current.problem.models, 0.0)
    rows = []
    for model in sorted(posterior, key=lambda model: -posterior[model])[:_MOST_ROWS]:
        margin = plausible.get(model)
        text = "ruled out" if margin is None else f"{margin:.3g}" if margin < math.inf else "∞"
        truth = " (the truth)" if model == current.truth else ""
        rows.append(
            f"<tr><td>{escape(printable(model))}{truth}</td>"
            f"<td class='number'>{posterior[model]:.3g}</td><td>"
            f"<div class='bar'><i style='width:{100 * posterior[model]:.1f}%'></i></div></td>"
            f"<td class='number'>{text}</td></tr>"
        )
    more = len(posterior) - len(rows)
    below = f"<div>… and {more:,} models more</div>" if more > 0 else ""
    return (
        f"<div><strong>Models: {len(plausible):,} of {len(posterior):,} plausible</strong>"
        "<table class='bars'><thead><tr><th>model</th><th class='number'>posterior</th><th></th>"
        "<th class='number'>margin (nats)</th></tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table>{below}</div>"
    )


def counts_table(current: Run) -> str:
    """Return the plays and the mean reward of each arm."""
    pairs = list(
        zip(current.problem.pair_names, current.plays.tolist(), current.sums.tolist(), strict=True)
    )
    left_out = len(pairs) - _MOST_ROWS
    if left_out > 0:
        pairs.sort(key=lambda pair: -pair[1])
    rows = [
        [name, f"{plays:,}", f"{total / plays:.4g}" if plays else ""]
        for name, plays, total in pairs[:_MOST_ROWS]
    ]
    below = [f"… and {left_out:,} more"] if left_out > 0 else []
    head = ["arm", "plays", "mean reward (units of rewards)"]
    return html_table("Arms played", head, rows, below=below)


def steps_table(current: Run) -> str:
    """Return the last plays, the newest first."""
    head, rows = ["t", "context", "arm", "reward", "who decided"], []
    for step in islice(reversed(current.steps), _MOST_STEPS_SHOWN):
        yours = f"you; the policy would have played {step.suggested}"
        who = yours if step.is_yours else "the policy"
        rows.append([f"{step.t:,}", step.context or "", step.arm, f"{step.reward:.4g}", who])
    if not current.problem.contexts:
        for line in (head, *rows):
            del line[1]
    return html_table("The last plays", head, rows, text_columns=len(head))
