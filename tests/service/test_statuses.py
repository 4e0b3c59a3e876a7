from __future__ import annotations

import pytest

from fpbandits import errors
from fpbandits.errors import Error, InputError, UnavailableError, UnknownError, unknown
from fpbandits.service.statuses import STATUSES, MissingError, kind_of, status_of

KINDS = [each for each in vars(errors).values() if isinstance(each, type)]
KINDS = [kind for kind in KINDS if issubclass(kind, Error)]


def test_a_kind_and_its_status_stand_for_each_other() -> None:
    assert len(set(STATUSES.values())) == len(STATUSES)
    for kind, status in STATUSES.items():
        assert status_of(kind("it is wrong")) == status
        assert kind_of(status) is kind


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_a_status(kind: type[Error]) -> None:
    status = status_of(kind("it is wrong"))
    assert issubclass(kind, kind_of(status))
    assert (400 <= status < 500) == issubclass(kind, InputError)


def test_only_what_an_address_names_can_be_missing() -> None:
    assert status_of(MissingError("unknown unit 'u'")) == 404
    assert issubclass(MissingError, UnknownError)
    assert status_of(unknown("context", "x", ["y"])) == 422


def test_others_may_answer_in_the_services_stead() -> None:
    assert [kind_of(status) for status in (405, 418, 501)] == [InputError, InputError, Error]
    assert [kind_of(status) for status in (502, 503, 504)] == [UnavailableError] * 3
