"""From logs to models: who, which arm, what came of it.

Each of a log's *units* (users, links) has one type for good, and a type gives every pair its reward
distribution: a mixture over units. The data's way, from a log (`fpbandits.logs`) to a problem:

    cells.py      → *cells* (unit, pair) with plays and summed statistics; equal ones kept once
    em.py         → types by expectation-maximisation on cells (`kernels.py`)
    search.py     → the likeliest mixture of a given number of types, from many starts
    choose.py     → the number of types, by cross-validation over units
    errors.py     → standard errors by the scores of units
    doubts.py     → what the log cannot tell, in words
    fit.py        → all of it: `fit`
    result.py     `Fit`: a problem, shares, errors, doubts and figures
"""
