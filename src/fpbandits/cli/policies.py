"""``fpbandits policies``: what there is to choose from."""

from __future__ import annotations

from dataclasses import fields

from fpbandits.cli.options import Json


def policies(json: Json = False) -> None:
    """List the policies: what each must know, and what is proven of it."""
    from fpbandits.cli.output import print_json, print_table
    from fpbandits.policies import DEFAULT, POLICIES
    from fpbandits.report.tables import policy_table

    rows = [
        {
            "name": name,
            "default": kind is DEFAULT,
            "knows": kind.knows,
            "guarantee": kind.guarantee,
            "leaps": kind.leaps,
            "options": {option.name: option.default for option in fields(kind)},
        }
        for name, kind in POLICIES.items()
    ]
    if json:
        print_json(rows)
    else:
        print_table(policy_table(rows))
