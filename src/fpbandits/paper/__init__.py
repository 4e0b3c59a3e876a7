"""The paper, measured: its experiments and its claims.

`experiments` says what is simulated, and keeps it; `material` is all that there is to judge by;
`claims` judges the paper's statements one by one; `reproduce` does it all, has `report` draw it,
and writes the report.
"""
