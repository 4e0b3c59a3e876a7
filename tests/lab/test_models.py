"""The table of models, used without a browser: what its grid gets, and what it sends."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import Any

import pytest
from nicegui import ElementFilter, ui

from fpbandits.families import FAMILIES
from fpbandits.lab import models
from fpbandits.lab.examples import EXAMPLES
from fpbandits.lab.models import ModelsPart
from fpbandits.lab.parts import STYLE
from fpbandits.lab.session import LARGEST, TOO_LARGE, Session
from fpbandits.lab.sheet import HEAD, sheet_of, with_contexts, with_field, with_text
from fpbandits.problem.files import problem_to_toml
from fpbandits.problem.problem import Problem

OnPage = Callable[[Coroutine[Any, Any, None]], None]

PRICING = EXAMPLES["pricing"].make()
COLD_START = EXAMPLES["cold start"].make()


def said(part: ModelsPart) -> str:
    return str(part._notice._line.text)


def is_warned(part: ModelsPart) -> bool:
    return "wrong" in part._notice._line.classes


def a_part(problem: Problem = PRICING) -> tuple[Session, ModelsPart, list[tuple[Any, ...]]]:
    """Return a session, its part of the page, and what its grid is told."""
    session = Session(problem)
    part = ModelsPart(session)
    told: list[tuple[Any, ...]] = []
    part._grid.run_grid_method = lambda *given, **named: told.append(given)  # type: ignore[method-assign, assignment]
    return session, part, told


def sent(part: ModelsPart, event: str, /, **arguments: Any) -> None:
    """Let the grid send an event, as the browser does."""
    (listener,) = [each for each in part._grid._event_listeners.values() if each.type == event]
    part._grid._handle_event({"listener_id": listener.id, "args": arguments})


def edited(part: ModelsPart, row: int | None, column: str, text: str | None) -> None:
    pinned = None if row is not None else "top"
    sent(
        part,
        "cellValueChanged",
        rowIndex=row or 0,
        rowPinned=pinned,
        colId=column,
        newValue=text,
    )


def focused(part: ModelsPart, row: int | None, column: str | None, pinned: Any = None) -> None:
    sent(part, "cellFocused", rowIndex=row, rowPinned=pinned, colId=column)


async def click(words: str) -> None:
    (button,) = [each for each in ElementFilter(kind=ui.button) if each.text == words]
    assert button.enabled
    (listener,) = [each for each in button._event_listeners.values() if each.type == "click"]
    button._handle_event({"listener_id": listener.id, "args": {}})


def test_the_grid_is_the_table(on_page: OnPage) -> None:
    async def test() -> None:
        _, part, _ = a_part()
        options = part._grid.options
        assert options["columnDefs"] == [
            {"field": "name", "headerName": "model", "pinned": "left", "width": 120},
            {"field": "a0", "headerName": "arm 1"},
            {"field": "a1", "headerName": "arm 2"},
            {"field": "a2", "headerName": "arm 3"},
            {
                "field": "prior",
                "headerName": "prior weight",
                "minWidth": 64,
                "cellClass": "prior",
            },
        ]
        cells = {"loyal": "0.9 0.8 0.7", "regular": "0.6 0.5 0.3", "thrifty": "0.5 0.2 0.05"}
        assert options["rowData"] == [
            {
                "key": row,
                "context": 0,
                "name": name,
                **dict(zip(("a0", "a1", "a2"), texts.split(), strict=True)),
                "prior": "",
                "bad": {},
            }
            for row, (name, texts) in enumerate(cells.items())
        ]
        assert options["pinnedTopRowData"] == [
            {
                "key": "head",
                "name": "model ↓  arm →",
                "a0": "9 EUR",
                "a1": "12 EUR",
                "a2": "15 EUR",
                "prior": "prior",
                "bad": {},
            }
        ]

    on_page(test())


def test_the_grid_is_used_like_a_spreadsheet(on_page: OnPage) -> None:
    async def test() -> None:
        _, part, _ = a_part()
        rest = {"columnDefs", "rowData", "pinnedTopRowData", "defaultColDef", "theme"}
        plain = {name: part._grid.options[name] for name in part._grid.options.keys() - rest}
        assert plain == {
            "headerHeight": 0,
            "rowHeight": 34,
            ":getRowId": "p => String(p.data.key)",
            "stopEditingWhenCellsLoseFocus": True,
            "enterNavigatesVertically": True,
            "enterNavigatesVerticallyAfterEdit": True,
            "tooltipShowDelay": 200,
            "animateRows": False,
        }
        column = part._grid.options["defaultColDef"]
        assert {name: column[name] for name in column if not name.startswith(":")} == {
            "cellClassRules": {
                "bad": "data.bad && data.bad[colDef.field]",
                "headed": "node.rowPinned",
            },
            "cellDataType": "text",
            "sortable": False,
            "minWidth": 60,
            "flex": 1,
            "suppressMovable": True,
        }
        assert part._grid.auto_size_columns is False
        # The grid is as high as its rows: three models, and the row of arms.
        assert "calc(34px * var(--rows)" in STYLE.read_text()
        assert part._grid.style["--rows"] == "4"

    on_page(test())


def test_only_what_has_changed_is_sent(on_page: OnPage) -> None:
    async def test() -> None:
        session, part, told = a_part()
        session.change(with_text(session.sheet, 1, 2, "0.55"))
        row = {"key": 1, "context": 0, "name": "regular", "a0": "0.6", "a1": "0.55", "a2": "0.3"}
        row |= {"prior": "", "bad": {}}
        assert told == [
            ("applyTransaction", {"update": [row]}),
            ("refreshCells", {"force": True}),
        ]
        told.clear()
        session.change(with_text(session.sheet, HEAD, 2, "13 EUR"))
        ((name, option, (head,)),) = told
        assert (name, option, head["a1"]) == ("setGridOption", "pinnedTopRowData", "13 EUR")
        told.clear()
        session.change(with_field(session.sheet, "name", "other"))
        assert told == []
        await click("Add a model")
        ((name, option, rows),) = told
        assert (name, option, len(rows), rows[3]["name"]) == (
            "setGridOption",
            "rowData",
            4,
            "theta1",
        )
        assert part._grid.style["--rows"] == "5"
        told.clear()
        await click("Add an arm")
        assert [call[:2] for call in told] == [
            ("setGridOption", "columnDefs"),
            ("applyTransaction", {"update": part._rows}),
            ("refreshCells", {"force": True}),
            ("setGridOption", "pinnedTopRowData"),
        ]
        assert [column["field"] for column in told[0][2]] == [
            "name",
            "a0",
            "a1",
            "a2",
            "a3",
            "prior",
        ]

    on_page(test())


def test_mistakes_are_marked_in_their_cells(on_page: OnPage) -> None:
    async def test() -> None:
        session, part, _ = a_part(COLD_START)
        sheet = with_text(session.sheet, 1, 2, "much", context=0)
        sheet = with_text(with_text(sheet, 2, 4, "more", context=1), 3, 5, "most")
        session.change(sheet)
        first, evening, weight = (mark.message for mark in session.marks)
        assert [row["bad"] for row in part._rows] == [{}, {"a1": first}, {}, {"prior": weight}]
        assert part._head["bad"] == {}
        assert said(part) == f"{first} (and 2 more mistakes)"
        assert is_warned(part)
        tabs = list(ElementFilter(kind=ui.tab).within(instance=part._tabs))
        assert [(tab.props["label"], "wrong" in tab.classes) for tab in tabs] == [
            ("morning", True),
            ("evening", True),
        ]
        (holder,) = ElementFilter(kind=ui.tabs).within(instance=part._tabs)
        assert holder.value == "0"
        holder.value = "1"
        assert [row["bad"] for row in part._rows] == [{}, {}, {"a3": evening}, {"prior": weight}]
        assert part._rows[2]["context"] == 1
        assert [part._rows[2][f"a{arm}"] for arm in range(4)] == ["0.08", "0.1", "0.18", "more"]
        session.undo()
        assert not is_warned(part)
        session.change(with_text(session.sheet, 2, 4, "more", context=1))
        assert said(part) == session.marks[0].message
        session.change(with_text(with_text(session.sheet, 2, 1, "x", 1), 0, 0, "models"))
        assert said(part) == f"{session.marks[0].message} (and 1 more mistake)"
        session.change(with_text(COLD_SHEET, HEAD, 2, "news"))
        (mark,) = session.marks
        assert part._head["bad"] == {"a1": mark.message}
        assert [row["bad"] for row in part._rows] == [{}] * 4
        session.change(with_text(COLD_SHEET, 2, 0, "reader"))
        (mark,) = session.marks
        assert part._rows[2]["bad"] == {"name": mark.message}

    on_page(test())


COLD_SHEET = sheet_of(COLD_START)


def test_tabs_are_made_anew_only_if_they_differ(on_page: OnPage) -> None:
    async def test() -> None:
        session, part, _ = a_part(COLD_START)

        def tabs() -> list[tuple[int, bool]]:
            found = ElementFilter(kind=ui.tab).within(instance=part._tabs)
            return [(tab.id, "wrong" in tab.classes) for tab in found]

        first = tabs()
        assert [wrong for _, wrong in first] == [False, False]
        assert part._tabs.visible
        session.change(with_text(session.sheet, 0, 1, "0.4"))
        assert tabs() == first
        session.change(with_text(session.sheet, 0, 1, "0.5", context=1))
        assert tabs() == first
        session.change(with_text(session.sheet, 0, 1, "x", context=1))
        assert [wrong for _, wrong in tabs()] == [False, True]
        part._turn_to(1)
        session.change(with_contexts(session.sheet, ["a", "b", "c"]))
        assert part._context == 1
        (holder,) = ElementFilter(kind=ui.tabs).within(instance=part._tabs)
        assert holder.value == "1"
        part._turn_to(2)
        session.change(with_contexts(session.sheet, ["a"]))
        assert part._context == 0
        session.change(with_contexts(session.sheet, []))
        assert (part._context, tabs(), part._tabs.visible) == (0, [], False)

    on_page(test())


def test_a_turn_to_the_same_context_sends_nothing(on_page: OnPage) -> None:
    async def test() -> None:
        _, part, told = a_part(COLD_START)
        part._turn_to(0)
        assert told == []
        part._turn_to(1)
        assert [call[0] for call in told] == ["applyTransaction", "refreshCells"]
        assert part._rows[0]["a0"] == "0.22"

    on_page(test())


def test_fields_are_those_of_the_family(on_page: OnPage) -> None:
    async def test() -> None:
        session, part, _ = a_part()

        def shown() -> dict[str, str]:
            return {name: field.value for name, field in part._fields.items() if field.visible}

        assert list(part._fields) == list(models._FIELDS)
        assert part._family.options == list(FAMILIES)
        assert (part._name.value, part._family.value) == ("pricing", "bernoulli")
        assert shown() == {"range": "", "value": "9, 12, 15"}
        assert part._sentence.text == EXAMPLES["pricing"].sentence
        assert part._contexts.value == ""
        session.change(COLD_SHEET)
        assert shown() == {"range": "0, 1", "value": "", "shares": "0.4, 0.6"}
        assert part._contexts.value == "morning, evening"
        session.change(with_field(session.sheet, "shares", "0.4, 0.7"))
        errors = {name: field.error for name, field in part._fields.items() if field.error}
        assert errors == {"shares": session.marks[0].message}
        assert part._contexts.error is None
        session.change(with_contexts(session.sheet, ["a", "a"]))
        assert part._contexts.error == session.marks[0].message
        session.change(with_field(with_field(COLD_SHEET, "name", "mine"), "family", "beta"))
        assert shown().keys() == {"concentration", "range", "shares"}
        assert part._sentence.text == ""
        assert part._fields["concentration"].error == session.marks[0].message

    on_page(test())


def test_a_field_is_taken_over_when_it_is_left(on_page: OnPage) -> None:
    async def test() -> None:
        session, part, _ = a_part()
        for field, name, text in (
            (part._name, "name", "mine"),
            (part._fields["value"], "value", "9, 12, 16"),
            (part._fields["value"], "value", None),
        ):
            field.value = text
            (listener,) = [e for e in field._event_listeners.values() if e.type == "change"]
            field._handle_event({"listener_id": listener.id, "args": {}})
            found = session.sheet.name if name == "name" else session.sheet.fields[name]
            assert found == (text or "")
        part._family.value = "gaussian"
        assert session.sheet.family == "gaussian"
        part._family.value = None
        assert session.sheet.family == "gaussian"
        before = session.sheet
        part._family.value = "gaussian"
        assert session.sheet is before

    on_page(test())


def test_cells_are_edited(on_page: OnPage) -> None:
    async def test() -> None:
        session, part, _ = a_part()
        edited(part, 2, "a1", "0.25")
        edited(part, None, "a2", "16 EUR")
        edited(part, 0, "name", "keen")
        edited(part, 1, "prior", "3")
        sheet = with_text(sheet_of(PRICING), 2, 2, "0.25")
        sheet = with_text(with_text(sheet, HEAD, 3, "16 EUR"), 0, 0, "keen")
        assert session.sheet == with_text(sheet, 1, 4, "3")
        edited(part, 1, "prior", None)
        assert session.sheet == sheet
        # The last model or arm may have been removed while its cell was edited.
        for row, column in ((3, "a0"), (0, "a4"), (3, "a4")):
            edited(part, row, column, "0.5")
        assert session.sheet == sheet

    on_page(test())


def test_an_edit_belongs_to_the_context_in_which_it_began(on_page: OnPage) -> None:
    async def test() -> None:
        session, part, _ = a_part(COLD_START)
        part._turn_to(1)
        edited(part, 0, "a0", "0.25")
        expected = with_text(COLD_SHEET, 0, 1, "0.25", context=1)
        assert session.sheet == expected
        sent(part, "cellEditingStarted")
        part._turn_to(0)
        edited(part, 0, "a1", "0.35")
        expected = with_text(expected, 0, 2, "0.35", context=1)
        assert session.sheet == expected
        sent(part, "cellEditingStopped")
        edited(part, 0, "a2", "0.45")
        expected = with_text(expected, 0, 3, "0.45", context=0)
        assert session.sheet == expected
        part._turn_to(1)
        sent(part, "cellEditingStarted")
        session.change(with_contexts(expected, ["morning"]))
        edited(part, 0, "a2", "0.5")
        assert session.sheet == with_text(with_contexts(expected, ["morning"]), 0, 3, "0.5")

    on_page(test())


@pytest.mark.parametrize(
    ("row", "column", "pinned", "models", "arms"),
    [
        (None, None, None, ["regular", "thrifty"], ["12 EUR", "15 EUR"]),
        (1, "a1", None, ["loyal", "thrifty"], ["9 EUR", "15 EUR"]),
        (2, "name", None, ["loyal", "regular"], ["12 EUR", "15 EUR"]),
        (2, "prior", None, ["loyal", "regular"], ["9 EUR", "12 EUR"]),
        (0, "a2", "top", ["regular", "thrifty"], ["9 EUR", "12 EUR"]),
        (9, "a8", None, ["loyal", "regular"], ["9 EUR", "12 EUR"]),
    ],
)
def test_the_model_or_arm_of_the_selected_cell_is_removed(
    on_page: OnPage,
    row: int | None,
    column: str | None,
    pinned: str | None,
    models: list[str],
    arms: list[str],
) -> None:
    async def test() -> None:
        session, part, _ = a_part()
        if column is not None:
            focused(part, row, column, pinned)
        focused(part, None, "a1")
        focused(part, 1, None)
        await click("Remove this model")
        assert list(session.sheet.models) == models
        session.undo()
        await click("Remove this arm")
        assert list(session.sheet.arms) == arms

    on_page(test())


def test_the_last_model_stays_and_it_says_why(on_page: OnPage) -> None:
    async def test() -> None:
        session, part, _ = a_part(Problem.bernoulli([[0.5, 0.4]]))
        await click("Remove this model")
        assert said(part) == "this is the only model: a problem needs at least one"
        assert is_warned(part)
        assert not session.can_undo

    on_page(test())


def test_cells_are_pasted_from_the_selected_one_on(on_page: OnPage) -> None:
    async def test() -> None:
        session, part, _ = a_part(COLD_START)
        part._turn_to(1)
        sent(part, "paste", row=1, column="a2", text="0.5\t0.6\n0.7")
        sheet = with_text(with_text(COLD_SHEET, 1, 3, "0.5", 1), 1, 4, "0.6", 1)
        assert session.sheet == with_text(sheet, 2, 3, "0.7", 1)
        session.change(sheet_of(PRICING))
        sent(part, "paste", row=-1, column="name", text="\tlow\thigh\nA\t0.1\t0.2")
        assert (session.sheet.arms, session.sheet.models) == (("low", "high"), ("A",))
        sent(part, "paste", row=0, column="a0", text="")
        assert "nothing to paste" in said(part)

    on_page(test())


def test_an_example_is_chosen(on_page: OnPage) -> None:
    async def test() -> None:
        session, part, _ = a_part()
        assert part._example.options == list(EXAMPLES)
        assert not part._undo.enabled
        part._example.value = "trial"
        assert session.sheet == sheet_of(EXAMPLES["trial"].make())
        assert part._example.value is None
        assert part._sentence.text == EXAMPLES["trial"].sentence
        await click("Undo")
        assert session.problem.name == "pricing"
        assert not part._undo.enabled

    on_page(test())


def test_files_are_opened_and_saved(on_page: OnPage, monkeypatch: pytest.MonkeyPatch) -> None:
    downloads: list[tuple[bytes, str]] = []
    monkeypatch.setattr(ui.download, "content", lambda *given: downloads.append(given))

    def a_file(name: str, content: bytes) -> Any:
        async def read() -> bytes:
            return content

        return SimpleNamespace(file=SimpleNamespace(name=name, read=read))

    async def test() -> None:
        session, part, _ = a_part()
        content = problem_to_toml(COLD_START).encode()
        await part._open(a_file("cold.toml", content))
        assert session.problem == COLD_START
        assert "'cold start'" in said(part)
        await click("Save")
        assert downloads == [(content, "cold-start.toml")]
        before = session.sheet
        await part._open(a_file("cold.csv", b""))
        assert said(part).startswith("cold.csv: the file is empty: ")
        assert session.sheet is before
        # The same again changes nothing, and the notice is that of the models.
        await part._open(a_file("cold.toml", content))
        assert "'cold start'" in said(part)
        monkeypatch.setattr(models, "problem_from_upload", lambda *given: None)  # shutting down
        await part._open(a_file("cold.toml", content))
        assert session.sheet is before
        session.change(with_text(before, 0, 1, "x"))
        await click("Save")
        assert said(part).startswith("not saved, because")
        assert len(downloads) == 1

    on_page(test())


def test_a_large_file_is_not_even_sent(on_page: OnPage) -> None:
    async def test() -> None:
        _, part, _ = a_part()
        assert part._upload.props["max-file-size"] == LARGEST
        assert part._upload.props["auto-upload"] is True
        (listener,) = [e for e in part._upload._event_listeners.values() if e.type == "rejected"]
        part._upload._handle_event({"listener_id": listener.id, "args": {}})
        assert said(part) == TOO_LARGE
        assert is_warned(part)

    on_page(test())


def test_a_name_with_a_comma_can_be_edited(on_page: OnPage) -> None:
    async def test() -> None:
        session = Session(COLD_START)
        part = ModelsPart(session)
        session.change(with_field(session.sheet, "contexts", '"Bern, in the morning", evening'))
        session.change(with_field(session.sheet, "contexts", f"{part._contexts.value}, night"))
        assert session.sheet.contexts == ("Bern, in the morning", "evening", "night")

    on_page(test())
