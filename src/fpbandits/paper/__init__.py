"""The paper, measured: its experiments, its claims, its figures, and what lies beyond them.

`experiments` says what is simulated and keeps what was; `evidence` is what there is to judge by;
`claims` judges the paper's statements one by one; `figures` draws; `reproduce` does it all and
writes the report.
"""
