"""``fpbandits upgrade`` and ``adopt``: a store for a new version, and a new revision of a rule."""

from __future__ import annotations

import sys
from contextlib import closing
from typing import Annotated

import typer

from fpbandits.cli.verify import StoreName, show_count


def upgrade(store: StoreName) -> None:
    """Bring a service's store to this version.

    Stop its servers and back it up first. If it is interrupted, nothing is lost: run it again.
    """
    from fpbandits.errors import counted
    from fpbandits.service.adopt import needs_adopting, renew_states
    from fpbandits.service.store import open_store, upgrade

    before, now = upgrade(store)
    with closing(open_store(store)) as opened, show_count("units") as progress:
        renewed = renew_states(opened, progress)
        waiting = [kept.name for kept in opened.experiments() if needs_adopting(kept)]
    done = "had it already" if before == now else f"had {before}"
    sys.stderr.write(f"the store has schema {now} ({done})\n")
    if renewed:
        sys.stderr.write(f"the states of {counted(renewed, 'experiment')} were rebuilt\n")
    for name in waiting:
        sys.stderr.write(
            f"{name}: its rule has changed: fpbandits adopt STORE --experiment {name}\n"
        )


def adopt(
    store: StoreName,
    experiment: Annotated[str, typer.Option(metavar="NAME", help="The experiment.")],
) -> None:
    """Let a rule's new revision decide in an experiment.

    Needed after an upgrade that changed the rule: until then no server decides for the experiment.
    """
    from fpbandits.service.adopt import adopt
    from fpbandits.service.experiment import Experiment
    from fpbandits.service.store import open_store

    with closing(open_store(store)) as opened, show_count("units") as progress:
        kept = adopt(opened, experiment, progress)
    sys.stderr.write(f"{kept.name} is decided by {Experiment.from_kept(kept).rule}\n")
