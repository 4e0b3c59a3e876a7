"""``fpbandits policies``: the list of policies, or one of them in detail."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from fpbandits.cli.completion import policy_names
from fpbandits.cli.options import Json


def policies(
    name: Annotated[
        str | None,
        typer.Argument(help="Explain this policy and its options.", autocompletion=policy_names),
    ] = None,
    json: Json = False,
) -> None:
    """List the policies, or explain one."""
    from fpbandits.cli.output import print_json, print_table
    from fpbandits.core.checks import known_name
    from fpbandits.policies import DEFAULT, POLICIES, SMALL
    from fpbandits.policies.listing import policy_page, policy_row, policy_table

    # Policies that know the models come first.
    every = sorted((POLICIES | SMALL).items(), key=lambda item: not item[1].knows.startswith("Θ"))
    known = dict(every)
    chosen = known if name is None else [known_name("policy", name, known)]
    kinds = [known[chosen_name] for chosen_name in chosen]
    rows = [policy_row(kind, default=kind is DEFAULT) for kind in kinds]
    if json:
        print_json(rows)
    elif name is None:
        print_table(policy_table(rows))
    else:
        definition = sys.modules[kinds[0].__module__].__doc__ or ""
        print_table(policy_page(rows[0], definition))
