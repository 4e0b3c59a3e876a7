"""fpbandits: bandits whose unknown environment is one of a finite set of known models.

>>> import fpbandits as fpb
>>> problem = fpb.Problem.bernoulli([[.9, .5], [.2, .5]], arms=["a", "b"], parameters=["x", "y"])
>>> fpb.analyze(problem, true="x").cases[0].regime
'bounded'

Names are imported when they are first used, so that a command that needs little starts at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fpbandits.agent import Agent, Decision
    from fpbandits.errors import InputError
    from fpbandits.files import load_problem, save_problem
    from fpbandits.policies import (
        ATA,
        BPR,
        FPLLR,
        FPUCB,
        IMED,
        KLUCB,
        OSSB,
        UCB1,
        UCBC,
        UCBS,
        LeastSquares,
        Optimist,
        Thompson,
        ThompsonTheta,
    )
    from fpbandits.problem import Problem
    from fpbandits.simulation.result import Result
    from fpbandits.simulation.simulate import simulate
    from fpbandits.simulation.store import load_results
    from fpbandits.theory.analysis import Analysis, Case, analyze

__version__ = "0.1.0"

__all__ = [
    "ATA",
    "BPR",
    "FPLLR",
    "FPUCB",
    "IMED",
    "KLUCB",
    "OSSB",
    "UCB1",
    "UCBC",
    "UCBS",
    "Agent",
    "Analysis",
    "Case",
    "Decision",
    "InputError",
    "LeastSquares",
    "Optimist",
    "Problem",
    "Result",
    "Thompson",
    "ThompsonTheta",
    "analyze",
    "load_problem",
    "load_results",
    "save_problem",
    "simulate",
]

_HOMES = {
    "ThompsonTheta": "policies",
    "Optimist": "policies",
    "LeastSquares": "policies",
    "UCBS": "policies",
    "UCBC": "policies",
    "OSSB": "policies",
    "KLUCB": "policies",
    "IMED": "policies",
    "FPLLR": "policies",
    "BPR": "policies",
    "ATA": "policies",
    "FPUCB": "policies",
    "UCB1": "policies",
    "Agent": "agent",
    "Analysis": "theory.analysis",
    "Case": "theory.analysis",
    "Decision": "agent",
    "InputError": "errors",
    "Problem": "problem",
    "Result": "simulation.result",
    "Thompson": "policies",
    "analyze": "theory.analysis",
    "load_problem": "files",
    "load_results": "simulation.store",
    "save_problem": "files",
    "simulate": "simulation.simulate",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'fpbandits' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"fpbandits.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
