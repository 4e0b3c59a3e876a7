"""A statement holds only if it holds in every setting."""

from __future__ import annotations

from fpbandits.paper.claims.statement import check_each


def test_one_setting_is_enough_to_fail() -> None:
    def check(setting: str) -> tuple[bool, str]:
        return setting == "two-1", setting

    fine, text = check_each(["two-1", "two-2"], check, "seen:\n")
    assert not fine
    assert text == "seen:\ntwo models, truth θ¹: two-1\ntwo models, truth θ²: two-2"
    assert check_each(["two-1"], check) == (True, "two models, truth θ¹: two-1")
