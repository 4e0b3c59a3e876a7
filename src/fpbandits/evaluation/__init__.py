"""What policies would have earned, from a log of randomised decisions.

A policy is played on the log by rejection, unit by unit: where it decides as the log did, the
decision is *accepted* and its reward told, and where not the row is passed over. The way of the
data:

    log.py, log_sources.py   rows of a unit, a pair, a reward and how likely that arm was
    thinning.py   → the *usable* rows: of them, any decision is accepted equally often
    rejection.py  → what each unit's accepted decisions earned
    estimates.py  → reward per decision, beside the log's own, with intervals by units
    evaluate.py   → all of it: `evaluate`
    result.py     `Evaluation`: by name and in the user's units
"""
