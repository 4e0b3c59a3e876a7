"""The reference, made from the code: commands, Python, HTTP and policies.

``make docs`` writes these pages to docs/reference. ``tests/test_reference.py`` compares them with
the code.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import sys
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
from typer.main import get_command

import fpbandits
from fpbandits.cli.app import app
from fpbandits.policies import DEFAULT, POLICIES, SMALL
from fpbandits.policies.listing import policy_row, rule_of
from fpbandits.service.http import make_app
from fpbandits.service.store import open_store

_TITLES = {
    "agent": "Agents",
    "engine": "Policies of your own",
    "errors": "Errors",
    "evaluation": "Evaluating on a log",
    "fitting": "Fitting models to a log",
    "forecast": "Forecasts",
    "policies": "Policies",
    "problem": "Problems",
    "service": "The client of a service",
    "simulation": "Simulation",
    "theory": "Analysis and the floor",
}
"""The titles of the pages on Python, by the folder that defines a name."""

_IMPORT = "Every public name is an attribute of the package: `import fpbandits as fpb`."


def write_reference(docs: Path) -> None:
    """Write the pages, those that have changed."""
    folder = docs / "reference"
    folder.mkdir(exist_ok=True)
    for name, text in reference().items():
        path = folder / f"{name}.md"
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def reference() -> dict[str, str]:
    """Return the pages by name, as Markdown."""
    pages = {"commands": commands(), "policies": policies(), "http": http()}
    modules = python()
    listed = "\n".join(f"python-{folder}" for folder in modules)
    pages["python"] = f"# Python\n\n{_IMPORT}\n\n```{{toctree}}\n{listed}\n```\n"
    return pages | {f"python-{folder}": text for folder, text in modules.items()}


def commands() -> str:
    """Return the page on the command line."""
    parts = [
        "# Commands",
        "`fpbandits COMMAND --help` prints the same. An error is one line and exit code 2;"
        " Ctrl-C is exit code 130.",
    ]
    for name, command in get_command(app).commands.items():  # type: ignore[attr-defined]  # a group
        arguments = [each for each in command.params if each.param_type_name == "argument"]
        options = [each for each in command.params if each.param_type_name == "option"]
        usage = " ".join([f"fpbandits {name}", *map(_usage, arguments)])
        parts += [f"## {name}", f"```text\n{usage} [OPTION …]\n```", inspect.cleandoc(command.help)]
        rows = [(f"`{_usage(each)}`", "", each.help or "") for each in arguments]
        rows += [(_flags(each), *_default(each)) for each in options]
        parts.append(_table(("", "default", "meaning"), rows))
    return "\n\n".join(parts) + "\n"


def _usage(argument: Any) -> str:
    name = argument.metavar or argument.name.upper()
    name += " …" if argument.nargs == -1 else ""
    return name if argument.required else f"[{name}]"


def _flags(option: Any) -> str:
    takes = "" if option.is_flag else f" {option.metavar or option.type.name.upper()}"
    flags = [f"`{flag}{takes}`" for flag in (*option.opts, *option.secondary_opts)]
    return ", ".join(flags)


def _default(option: Any) -> tuple[str, str]:
    """Return an option's default and its meaning; some help texts name the default in words."""
    meaning, _, words = (option.help or "").removesuffix("]").partition("[default: ")
    meaning = meaning.strip()
    if option.required:
        return "required", meaning
    unset = option.default is None or option.default is False or option.default in ((), [], "")
    return words or ("" if unset else f"`{option.default}`"), meaning


def policies() -> str:
    """Return the page on policies, with every option."""
    parts = [
        "# Policies",
        "On the command line and in files a policy is written `NAME:OPTION=VALUE:…`, in Python as"
        " its class. [Which one to use](../policies.md) is another page.",
    ]
    for kind in (POLICIES | SMALL).values():
        row = policy_row(kind, default=kind is DEFAULT)
        title = f"## {row['name']}" + (", the default" if row["default"] else "")
        facts = [
            ("in Python", f"`fpbandits.{kind.__name__}`"),
            ("knows", row["knows"]),
            ("proven", row["guarantee"]),
            ("source", row["reference"]),
            ("simulated", "in leaps" if row["leaps"] else "step by step"),
        ]
        parts += [title, row["description"], _table(("", ""), facts)]
        options = [
            (f"`{name}`", f"`{default}`", row["meaning"].get(name, ""))
            for name, default in row["options"].items()
        ]
        if options:
            parts.append(_table(("option", "default", "meaning"), options))
        parts.append(rule_of(sys.modules[kind.__module__].__doc__ or ""))
    return "\n\n".join(parts) + "\n"


def http() -> str:
    """Return the page on HTTP, with every field."""
    parts = [
        "# HTTP",
        "A server gives the same at `/openapi.json`. [Decisions as a service](../service.md)"
        " explains how to use it. A wrong request is answered with"
        ' `{"error": "a sentence", "place": ["problem", …]}`; the place is a path of names.',
    ]
    for path, operations in openapi()["paths"].items():
        for method, operation in operations.items():
            parts += [f"## {method.upper()} {path}", operation["description"]]
            rows = [
                (f"`{each['name']}` in the {each['in']}", _type(each["schema"]), "")
                for each in operation["parameters"]
            ]
            body = operation.get("requestBody", {}).get("content", {})
            rows += _fields(body, required="required")
            if rows:
                parts.append(_table(("goes in", "", ""), rows))
            if any("anyOf" in each["schema"] for each in body.values()):
                parts.append("Or a list of such objects.")
            answer = operation["responses"]["200"]["content"]
            if fields := [row[:2] for row in _fields(answer)]:
                parts.append(_table(("comes out", ""), fields))
            parts.append(f"Statuses: {', '.join(operation['responses'])}.")
    return "\n\n".join(parts) + "\n"


def openapi() -> dict[str, Any]:
    """Return what a server says of itself."""
    with TemporaryDirectory() as folder:
        server = make_app(open_store(f"{folder}/fpbandits.db", make=True))

        async def get() -> Any:
            transport = httpx.ASGITransport(server)
            async with httpx.AsyncClient(transport=transport, base_url="http://docs") as client:
                return (await client.get("/openapi.json")).json()

        logging.getLogger("httpx").setLevel(logging.WARNING)
        found: dict[str, Any] = asyncio.run(get())
    return found


def _fields(content: dict[str, Any], required: str = "") -> list[tuple[str, str, str]]:
    """Return a row for each field of an object, or of the object that may come in a list."""
    rows = []
    for media in content.values():
        one = media["schema"].get("anyOf", [media["schema"]])[0]
        for name, rule in one.get("properties", {}).items():
            needed = required if name in one.get("required", []) else ""
            rows.append((f"`{name}`", _type(rule), needed))
    return rows


def _type(schema: dict[str, Any]) -> str:
    """Describe a JSON Schema in a few words."""
    if "anyOf" in schema:
        return " or ".join(map(_type, schema["anyOf"]))
    if "enum" in schema:
        return " or ".join(f"`{json.dumps(value)}`" for value in schema["enum"])
    words = schema.get("type", "any")
    words = " or ".join(words) if isinstance(words, list) else words
    if words == "array" and "items" in schema:
        return f"array of {_type(schema['items'])}"
    limits = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
    bounds = [f"{sign} {schema[name]:,}" for name, sign in limits.items() if name in schema]
    if "maxLength" in schema:
        bounds.append(f"up to {schema['maxLength']:,} letters")
    return f"{words} ({', '.join(bounds)})" if bounds else str(words)


def python() -> dict[str, str]:
    """Return the pages on Python, by the folder that defines the names."""

    def folder(name: str) -> str:
        return str(getattr(fpbandits, name).__module__).split(".")[1]

    names = sorted(dir(fpbandits), key=folder)
    return {key: _python_page(key, list(group)) for key, group in groupby(names, folder)}


def _python_page(folder: str, names: Sequence[str]) -> str:
    parts = [f"# {_TITLES.get(folder, folder.capitalize())}"]
    for name in names:
        found = getattr(fpbandits, name)
        lines = [f".. autofunction:: fpbandits.{name}"]
        if inspect.isclass(found):
            lines = [f".. autoclass:: fpbandits.{name}", "   :members:"]
        parts.append("\n".join([f"## {name}", "", "```{eval-rst}", *lines, "```"]))
    return "\n\n".join(parts) + "\n"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    cells = ([" ".join(cell.split()).replace("|", r"\|") for cell in line] for line in lines)
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)
