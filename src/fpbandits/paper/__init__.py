"""The paper reproduced: its experiments, and a verdict on each of its claims.

`experiments` lists the simulations, runs and stores them. `material` holds their results and what
is computed from them. `claims` judges the paper's statements one by one. `report` draws the figures
and fills the page. `reproduce` does all of it and writes the report.
"""
