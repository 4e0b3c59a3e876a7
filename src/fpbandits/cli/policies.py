"""``fpbandits policies``: the list of policies."""

from __future__ import annotations

import sys
from dataclasses import fields
from typing import Annotated

import typer

from fpbandits.cli.completion import policy_names
from fpbandits.cli.options import Json


def policies(
    name: Annotated[
        str | None, typer.Argument(help="Tell all about this one.", autocompletion=policy_names)
    ] = None,
    json: Json = False,
) -> None:
    """List the policies, or tell all about one."""
    from fpbandits.cli.output import print_json, print_table
    from fpbandits.core.checks import known_name
    from fpbandits.policies import DEFAULT, POLICIES
    from fpbandits.policies.listing import policy_page, policy_table

    chosen = POLICIES if name is None else [known_name("policy", name, POLICIES)]
    rows = [
        {
            "name": kind.name,
            "default": kind is DEFAULT,
            "knows": kind.knows,
            "guarantee": kind.guarantee,
            "leaps": kind.leaps,
            "options": {option.name: option.default for option in fields(kind)},
        }
        for kind in map(POLICIES.__getitem__, chosen)
    ]
    if json:
        print_json(rows)
    elif name is None:
        print_table(policy_table(rows))
    else:
        definition = sys.modules[POLICIES[name].__module__].__doc__ or ""
        print_table(policy_page(rows[0], definition))
