"""Optuna's ask and tell on a database, one after the other; in an environment of its own.

usage: run_optuna.py ADDRESS SECONDS  ->  asked and told per second, and CPU seconds each
"""

import json
import sys
import time

import optuna

optuna.logging.set_verbosity(optuna.logging.ERROR)
study = optuna.create_study(
    storage=sys.argv[1], sampler=optuna.samplers.RandomSampler(seed=0), direction="maximize"
)
count, start, used = 0, time.perf_counter(), time.process_time()
while time.perf_counter() - start < float(sys.argv[2]):
    trial = study.ask()
    trial.suggest_categorical("arm", ["a", "b", "c"])
    study.tell(trial, 1.0)
    count += 1
seconds, used = time.perf_counter() - start, time.process_time() - used
print(json.dumps({"rate": count / seconds, "cpu": used / count}))
