from __future__ import annotations

import subprocess
import sys

import pytest

from fpbandits.lab.tasks import Stop, StoppedError, stop_all


def test_work_is_told_to_stop() -> None:
    stop = Stop()
    stop.check()
    stop.set()
    with pytest.raises(StoppedError):
        stop.check()


def test_all_work_is_told() -> None:
    first, second = Stop(), Stop()
    stop_all()
    assert first.is_set()
    assert second.is_set()


def test_whoever_does_not_stop_is_left() -> None:
    program = (
        "import threading, time; from fpbandits.lab.tasks import leave;"
        "threading.Thread(target=time.sleep, args=[10**6]).start(); print('left'); leave(0.1, 130)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "left\n", "")
