"""The paper reproduced: its experiments, and a verdict on each of its claims.

`experiments` lists the simulations and stores them; `material` is the data that claims and figures
use; `claims` judges the paper's statements one by one; `report` draws the figures and fills the
page; `reproduce` runs it all and writes the report.
"""
