"""When a model is ruled out: the rule behind verdicts, for agents and for simulated runs.

A model θ is ruled out while the odds of its posterior are at most ``error`` times those of its
prior: p(θ)/(1 − p(θ)) ≤ error·π(θ)/(1 − π(θ)). The truth is ever ruled out with probability at most
``error``, at whatever time one looks; docs/verdicts.md has the proof.
"""

from __future__ import annotations

from typing import Any

from fpbandits.engine.compiling import jitted


@jitted
def is_ruled_out(share: Any, others: Any, prior: Any, error: float) -> Any:
    """Tell whether a model is: its ``share`` of the posterior beside that of all ``others``.

    For arrays as well as, compiled, for numbers. A model with nothing beside it is not.
    """
    return (share * (1 - prior) <= error * prior * others) & (others > 0)
