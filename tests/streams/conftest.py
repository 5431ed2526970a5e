"""Files of these tests are small, and are read in chunks as large ones are."""

from __future__ import annotations

import pytest

from spcastat.inputs import opening


@pytest.fixture(autouse=True)
def files_are_large(monkeypatch):
    monkeypatch.setattr(opening, "LARGEST_TEXT", 0)
    monkeypatch.setattr(opening, "LARGEST_PARQUET", 0)
