from __future__ import annotations

import subprocess
import sys

import pytest
from waiting import LONG

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


LEAVING = """
import sys, threading, time
from fpbandits.lab.tasks import Stop, leave
stop = Stop()
def work():
    stop.wait()
    time.sleep(0.1)
    print("ended")
threading.Thread(target=time.sleep, args=[10**6], daemon=True).start()
threading.Thread(target=eval(sys.argv[1])).start()
print("left")
leave(float(sys.argv[2]), 130)
"""


@pytest.mark.parametrize(
    ("work", "seconds", "code", "printed"),
    [
        ("lambda: time.sleep(10**6)", 0.1, 130, "left\n"),
        ("work", LONG, 0, "left\nended\n"),
    ],
)
def test_who_stops_is_waited_for_and_whoever_does_not_is_left(
    work: str, seconds: float, code: int, printed: str
) -> None:
    """Nobody waits for a daemon."""
    words = [sys.executable, "-c", LEAVING, work, str(seconds)]
    done = subprocess.run(words, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (code, printed, "")
