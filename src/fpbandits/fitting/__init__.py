"""From logs to models: who, which arm, what came of it.

A log's *units* (users, links) each have one type for good, and a type gives every pair its reward
law: a mixture over units. The way of the data:

    log_sources.py  columns of a file or data frame, some rows at a time
    log.py        → a unit, a pair and a reward per row, checked
    cells.py      → *cells* (unit, pair) with plays and summed statistics; equal ones kept once
    em.py         → types by expectation-maximisation on cells, from many starts (`kernels.py`)
    choose.py     → how many types, and how far thin cells are pulled, by units held out
    errors.py     → standard errors by the scores of units
    doubts.py     → what the log cannot tell, in words
    fit.py        → all of it: `fit`
    result.py     `Fit`: a problem, shares, errors, doubts and figures
"""
