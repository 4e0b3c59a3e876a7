"""The lab as a process: where it listens, to whom it answers, how it ends."""

from __future__ import annotations

import signal
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from command import COMMAND
from waiting import LONG

from fpbandits.errors import InputError
from fpbandits.lab.server import HOST, listening


@contextmanager
def a_lab(*words: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start a lab; yield it, and where it says that it is."""
    lab = subprocess.Popen(
        [*COMMAND, "lab", "--no-browser", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert lab.stdout is not None
    try:
        line = lab.stdout.readline()
        assert line.startswith("lab at http://127.0.0.1:"), lab.communicate()
        yield lab, line.split()[-1]
    finally:
        if lab.poll() is None:
            lab.kill()
            lab.communicate()


def test_it_answers_to_its_own_name_and_ends_with_ctrl_c() -> None:
    with a_lab("paper:grid") as (lab, address):
        with urllib.request.urlopen(address) as answer:
            page = answer.read().decode()
        assert "fpbandits lab" in page
        assert "https://" not in page
        # Someone else's name that was made to point here.
        foreign = urllib.request.Request(address, headers={"Host": "example.org"})
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(foreign)
        assert caught.value.code == 400
        caught.value.close()
        lab.send_signal(signal.SIGINT)
        out, err = lab.communicate(timeout=LONG)
        assert (lab.returncode, out, err) == (130, "", "")


def test_a_port_is_taken_by_one() -> None:
    with listening(0) as first:
        assert first.getsockname()[0] == HOST
        first.listen()
        port = first.getsockname()[1]
        with pytest.raises(InputError, match=rf"--port {port} cannot be used"), listening(port):
            pass
