"""Helpers whose assertions are to be explained when they fail."""

import pytest

pytest.register_assert_rewrite("stores")
