"""What policies would have earned, from a log of randomised decisions.

A policy is replayed on the log by rejection sampling, unit by unit: where it decides as the log
did, the decision is *accepted* and its reward observed; otherwise the row is skipped. How the data
flows, from a log (`fpbandits.logs`) with the propensity of each row's arm:

    thinning.py   → the *usable* rows, in which any decision is accepted equally often
    rejection.py  → what each unit's accepted decisions earned
    estimates.py  → reward per decision, beside the log's own, with intervals by units
    evaluate.py   → all of it: `evaluate`
    result.py     `Evaluation`: by name and in the user's units
"""
