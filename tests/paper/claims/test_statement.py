"""A statement holds only if it holds in every setting."""

from __future__ import annotations

from fpbandits.paper.claims.statement import check_each, number_text


def test_one_setting_is_enough_to_fail() -> None:
    def check(setting: str) -> tuple[bool, str]:
        return setting == "two-1", setting

    fine, text = check_each(["two-1", "two-2"], check, "seen:\n")
    assert not fine
    assert text == "seen:\ntwo models, truth θ¹: two-1\ntwo models, truth θ²: two-2"
    assert check_each(["two-1"], check) == (True, "two models, truth θ¹: two-1")


def test_thousands_have_commas_once_they_are_rounded() -> None:
    assert number_text(999.94) == "999.9"
    assert number_text(999.96) == "1,000"
    assert number_text(-999_960.0) == "-1,000,000"
    assert number_text(9.9994e14) == "999,900,000,000,000"
    assert number_text(9.9996e14) == "1e+15"
