"""Models: the table Θ, edited in place.

The grid shows one context of the sheet. Its first row, which does not scroll, holds the names of
the arms. An edit goes to the session, which validates it. Only rows that changed are sent to the
browser, with bad cells marked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nicegui import events, run, ui

from fpbandits.errors import counted
from fpbandits.families import FAMILIES
from fpbandits.lab import sheet as sheets
from fpbandits.lab.examples import EXAMPLES
from fpbandits.lab.parts import Notice, button, tools
from fpbandits.lab.reading import field_names
from fpbandits.lab.session import LARGEST, TOO_LARGE, Session, problem_from_upload

_FIELDS = {
    "range": "lowest and highest reward",
    "value": "what each arm pays when it pays",
    "deviation": "standard deviation of a reward",
    "concentration": "concentration (no unit)",
    "shape": "shape of amounts (no unit)",
    "support": "all values that a reward can have",
    "shares": "share of decisions in each context",
}
"""Labels; all but concentration, shape and shares are in units of rewards."""

_SEND_PASTED = """(event) => {
    if (event.target.tagName === "INPUT") return;
    const cell = getElement(GRID).api.getFocusedCell();
    if (!cell) return;
    event.preventDefault();
    emit({
        text: event.clipboardData.getData("text/plain"),
        row: cell.rowPinned ? -1 : cell.rowIndex,
        column: cell.column.getColId(),
    });
}"""
"""Sends what is pasted, and the cell that has the focus; GRID stands for the grid's id."""

_EDITABLE = "p => !(p.node.rowPinned && ['name', 'prior'].includes(p.colDef.field))"
"""Tells whether a cell can be edited: all but the two corners of the first row."""

_MISTAKE = "p => p.data && p.data.bad ? p.data.bad[p.colDef.field] : null"
"""Returns the mistake in a cell, for its tooltip."""

_FOUR_DIGITS = (
    "p => p.colDef.field !== 'name' && !p.node.rowPinned && p.value && p.value.length > 8 "
    "&& isFinite(p.value) ? String(Number(Number(p.value).toPrecision(4))) : p.value"
)
"""Shows long numbers, but not names, to four digits; the editor has all of them."""


class ModelsPart:
    """The part of the page with the table of models, its fields and its buttons."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._context = 0  # the index of the context on screen
        self._editing: int | None = None  # the context of the cell that is being edited
        self._focus = (0, 1)  # row and column of the selected cell, as `sheet` counts them
        self._shown_contexts: object = None  # what the tabs of contexts show
        self._sentence = ui.label().classes("quiet sentence")
        self._build_tools()
        self._notice = Notice()
        self._build_fields()
        self._tabs = ui.element("div").classes("contexts")
        self._build_grid()
        self._build_buttons()
        self._show()
        session.listen(self._show)

    def _build_tools(self) -> None:
        with tools():
            self._example = ui.select(list(EXAMPLES), label="example")
            self._example.on_value_change(self._choose_example)
            self._upload = ui.upload(
                on_upload=self._open,
                on_rejected=lambda: self._notice.warn(TOO_LARGE),
                max_file_size=LARGEST,
                auto_upload=True,
            ).classes("unseen")
            button("Open a file …", lambda: self._upload.run_method("pickFiles"))
            button("Save", self._save)
            self._undo = button("Undo", self._session.undo)

    def _build_fields(self) -> None:
        with tools():
            self._name = self._field("name of the problem", "name")
            self._family = ui.select(list(FAMILIES), label="rewards are")
            self._family.on_value_change(self._change_family)
            self._fields = {name: self._field(label, name) for name, label in _FIELDS.items()}
            self._contexts = self._field("contexts, separated by commas", "contexts")

    def _field(self, label: str, name: str) -> ui.input:
        """Return an input for a field of the sheet."""
        field = ui.input(label).props("stack-label hide-bottom-space").classes("field")
        # Not at every key press: half a value would be reported as a mistake.
        field.on("change", lambda: self._change(sheets.with_field, name, str(field.value or "")))
        return field

    def _build_grid(self) -> None:
        self._columns, self._rows, self._head = self._content()
        self._grid = ui.aggrid(
            {
                "columnDefs": self._columns,
                "rowData": self._rows,
                "pinnedTopRowData": [self._head],
                "headerHeight": 0,
                "rowHeight": 34,
                ":getRowId": "p => String(p.data.key)",
                "defaultColDef": {
                    ":editable": _EDITABLE,
                    ":tooltipValueGetter": _MISTAKE,
                    ":valueFormatter": _FOUR_DIGITS,
                    "cellClassRules": {
                        "bad": "data.bad && data.bad[colDef.field]",
                        "headed": "node.rowPinned",
                    },
                    "cellDataType": "text",
                    "sortable": False,
                    "minWidth": 60,
                    "flex": 1,
                    "suppressMovable": True,
                },
                "stopEditingWhenCellsLoseFocus": True,
                "enterNavigatesVertically": True,
                "enterNavigatesVerticallyAfterEdit": True,
                "tooltipShowDelay": 200,
                "animateRows": False,
            },
            auto_size_columns=False,
        ).classes("grid")
        self._fit_height()
        self._grid.props('aria-label="mean reward of every arm under every model"')
        self._grid.on(
            "cellValueChanged", self._edit, ["rowIndex", "rowPinned", "colId", "newValue"]
        )
        # A click on the tab of another context ends the edit of a cell. The tab's event arrives
        # before that of the edit, so the context in which the edit began is stored.
        self._grid.on("cellEditingStarted", lambda: self._note_editing(self._context), [])
        self._grid.on("cellEditingStopped", lambda: self._note_editing(None), [])
        self._grid.on("cellFocused", self._note_focus, ["rowIndex", "rowPinned", "colId"])
        self._grid.on(
            "paste", self._paste, js_handler=_SEND_PASTED.replace("GRID", str(self._grid.id))
        )

    def _fit_height(self) -> None:
        self._grid.style(f"--rows: {len(self._rows) + 1}")

    def _build_buttons(self) -> None:
        with tools():
            button("Add a model", lambda: self._change(sheets.with_model))
            button("Add an arm", lambda: self._change(sheets.with_arm))
            button("Remove this model", self._remove_model)
            button("Remove this arm", self._remove_arm)
        ui.label(
            "Type into a cell, or paste cells of a spreadsheet, from the selected cell on. At the "
            "top left corner you can paste a whole table."
        ).classes("quiet")

    def _content(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]], dict[str, Any]]:
        """Return the grid's columns, its rows and the row of arms, for the context on screen.

        ``bad`` of a row has the message of each mistake, by field.
        """
        sheet, context = self._session.sheet, self._context
        start, arms = sheet.start(context), range(len(sheet.arms))
        columns: list[dict[str, Any]] = [
            {"field": "name", "headerName": "model", "pinned": "left", "width": 120},
            *({"field": f"a{arm}", "headerName": f"arm {arm + 1}"} for arm in arms),
            {"field": "prior", "headerName": "prior weight", "minWidth": 64, "cellClass": "prior"},
        ]
        rows: list[dict[str, Any]] = [
            {
                "key": row,
                "context": context,
                "name": sheet.models[row],
                **{f"a{arm}": cells[start + arm] for arm in arms},
                "prior": sheet.prior[row],
                "bad": {},
            }
            for row, cells in enumerate(sheet.cells)
        ]
        head: dict[str, Any] = {
            "key": "head",
            "name": "model ↓  arm →",
            **{f"a{arm}": sheet.arms[arm] for arm in arms},
            "prior": "prior",
            "bad": {},
        }
        for mark in self._session.marks:
            fields = {
                "cell": f"a{mark.column - start}",
                "arm": f"a{mark.column}",
                "model": "name",
                "prior": "prior",
            }
            row, field = head if mark.part == "arm" else rows[mark.row], fields.get(mark.part)
            if field in row:  # otherwise it is in another context, or not in the grid
                row["bad"][field] = mark.message
        return columns, rows, head

    def _show(self) -> None:
        """Update the page, sending only what has changed."""
        self._context = min(self._context, max(0, len(self._session.sheet.contexts) - 1))
        columns, rows, head = self._content()
        if columns != self._columns:
            self._grid.run_grid_method("setGridOption", "columnDefs", columns)
        if len(rows) != len(self._rows):
            self._grid.run_grid_method("setGridOption", "rowData", rows)
            self._rows = rows
            self._fit_height()
        else:
            changed = [new for new, old in zip(rows, self._rows, strict=True) if new != old]
            if changed:
                self._grid.run_grid_method("applyTransaction", {"update": changed})
                self._grid.run_grid_method("refreshCells", {"force": True})
        if head != self._head:
            self._grid.run_grid_method("setGridOption", "pinnedTopRowData", [head])
        self._columns, self._rows, self._head = columns, rows, head
        self._show_fields()
        self._show_contexts()
        self._show_status()

    def _show_fields(self) -> None:
        """Update the fields above the grid, with their mistakes."""
        sheet = self._session.sheet
        self._name.value, self._family.value = sheet.name, sheet.family
        self._contexts.value = sheets.contexts_text(sheet)
        visible = {*field_names(sheet.family), *(["shares"] if sheet.contexts else [])}
        mistakes = {
            "contexts" if mark.part == "context" else mark.name: mark.message
            for mark in self._session.marks
        }
        self._contexts.error = mistakes.get("contexts")
        for name, field in self._fields.items():
            field.set_visibility(name in visible)
            field.value, field.error = sheet.fields.get(name, ""), mistakes.get(name)
        self._undo.set_enabled(self._session.can_undo)
        example = EXAMPLES.get(sheet.name)
        self._sentence.text = example.sentence if example else ""

    def _show_contexts(self) -> None:
        """Update the tabs of contexts; those with bad cells are marked."""
        contexts, arms = self._session.sheet.contexts, len(self._session.sheet.arms)
        bad = {mark.column // arms for mark in self._session.marks if mark.part == "cell"}
        if (contexts, bad) == self._shown_contexts:
            return
        self._shown_contexts = contexts, bad
        self._tabs.clear()
        self._tabs.set_visibility(bool(contexts))
        with self._tabs:
            with ui.tabs().props('no-caps dense align="left"') as tabs:
                for index, name in enumerate(contexts):
                    ui.tab(str(index), name).classes("wrong" if index in bad else "")
            tabs.value = str(self._context)
            tabs.on_value_change(lambda event: self._turn_to(int(str(event.value))))

    def _turn_to(self, context: int) -> None:
        if context != self._context:
            self._context = context
            self._show()

    def _show_status(self) -> None:
        """Show the first mistake, or what the problem is."""
        marks = self._session.marks
        if marks:
            more = f" (and {counted(len(marks) - 1, 'more mistake')})" if len(marks) > 1 else ""
            self._notice.warn(f"{marks[0].message}{more}")
        else:
            self._notice.say(repr(self._session.problem).removeprefix("Problem(").removesuffix(")"))

    def _change(self, edit: Callable[..., sheets.Sheet], *arguments: Any) -> None:
        with self._notice.refusals():
            self._session.change(edit(self._session.sheet, *arguments))

    def _position(self, row: Any, pinned: Any, field: str) -> tuple[int, int]:
        """Return the row and the column of a grid cell, as `sheet` counts them."""
        ends = {"name": 0, "prior": len(self._session.sheet.arms) + 1}
        column = ends[field] if field in ends else int(field[1:]) + 1
        return (sheets.HEAD if pinned else int(row)), column

    def _edit(self, event: events.GenericEventArguments) -> None:
        """Take over the text of an edited cell."""
        cell = event.args
        row, column = self._position(cell["rowIndex"], cell.get("rowPinned"), cell["colId"])
        text = str(cell.get("newValue") or "")
        sheet, context = self._session.sheet, self._context
        if self._editing is not None and self._editing < len(sheet.contexts):
            context = self._editing
        is_there = row < len(sheet.models) and column <= len(sheet.arms) + 1
        if is_there:  # it may have been removed meanwhile
            self._change(sheets.with_text, row, column, text, context)

    def _note_editing(self, context: int | None) -> None:
        """Store the context of the cell that is being edited, if one is."""
        self._editing = context

    def _note_focus(self, event: events.GenericEventArguments) -> None:
        """Store the selected cell."""
        cell = event.args
        if cell.get("rowIndex") is not None and cell.get("colId"):
            self._focus = self._position(cell["rowIndex"], cell.get("rowPinned"), cell["colId"])

    def _paste(self, event: events.GenericEventArguments) -> None:
        cell = event.args
        row, column = self._position(cell["row"], cell["row"] == sheets.HEAD, cell["column"])
        self._change(sheets.with_pasted, row, column, cell["text"], self._context)

    def _remove_model(self) -> None:
        row = min(max(self._focus[0], 0), len(self._session.sheet.models) - 1)
        self._change(sheets.without_model, row)

    def _remove_arm(self) -> None:
        arm = min(max(self._focus[1] - 1, 0), len(self._session.sheet.arms) - 1)
        self._change(sheets.without_arm, arm)

    def _change_family(self, event: events.ValueChangeEventArguments[str | None]) -> None:
        if event.value and event.value != self._session.sheet.family:
            self._change(sheets.with_field, "family", event.value)

    def _choose_example(self, event: events.ValueChangeEventArguments[str | None]) -> None:
        if event.value is not None:
            self._session.change(sheets.sheet_of(EXAMPLES[event.value].make()))
            self._example.value = None

    async def _open(self, event: events.UploadEventArguments) -> None:
        content = await event.file.read()
        self._upload.reset()
        self._notice.say(f"reading {event.file.name} …")
        with self._notice.refusals():
            problem = await run.io_bound(problem_from_upload, event.file.name, content)
            if problem is not None:  # None if the lab is shutting down
                self._session.change(sheets.sheet_of(problem))
                self._show_status()

    def _save(self) -> None:
        with self._notice.refusals():
            name, content = self._session.to_file()
            ui.download.content(content, name)
