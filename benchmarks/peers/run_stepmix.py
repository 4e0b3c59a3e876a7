"""StepMix on a table of units × arms, NaN where an arm was not seen; in an environment of its own.

usage: run_stepmix.py TABLE.npy TYPES  ->  CPU seconds, and the log-likelihood of all units
"""

import json
import sys
import time

import numpy as np
from stepmix.stepmix import StepMix

table = np.load(sys.argv[1])
model = StepMix(
    int(sys.argv[2]), measurement="binary_nan", n_init=1, random_state=0, progress_bar=0
)
start = time.process_time()
model.fit(table)
seconds = time.process_time() - start
print(json.dumps({"seconds": seconds, "likelihood": float(model.score(table)) * len(table)}))
