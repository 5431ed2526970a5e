"""Every call of the table ends as it must: its code, one line, all inputs untouched, nothing left over."""

from __future__ import annotations

import pytest

from .calls import CALLS, make_files, run_call


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("calls")
    make_files(path)
    return path


def _name(call):
    return call.line[:70] + (f" < {call.stdin}" if call.stdin else "")


@pytest.mark.parametrize("call", CALLS, ids=_name)
def test_a_call_ends_as_it_must(folder, call):
    if ".parquet" in call.line:
        pytest.importorskip("pyarrow")
    if ".xlsx" in call.line:
        pytest.importorskip("openpyxl")
    assert run_call(call, folder) in ("right", "refused")
