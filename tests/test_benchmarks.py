"""What the benchmarks promise that others rest on: the record of results, and the trace of calls."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import spcastat as sp

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(autouse=True)
def benchmarks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the folder be imported: it is not installed."""
    monkeypatch.syspath_prepend(str(ROOT))


def test_the_record_has_all_calls_and_every_method():
    from benchmarks.record.calls import CALLS, FAMILIES

    assert len(CALLS) == 61
    recorded = {method for family in FAMILIES.values() for method in family}
    methods = sp.methods()
    assert recorded == {*methods["name"][methods["function"] != "spco"]}


def test_the_record_sees_the_last_bit_and_says_where(tmp_path, capsys):
    from benchmarks.record.__main__ import main

    file = tmp_path / "record.json"
    assert main(["write", str(file), "--only", "covariance"]) == 0
    assert main(["compare", str(file), "--only", "covariance"]) == 0
    assert "0 differ" in capsys.readouterr().out
    kept: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    values = kept["covariance"]["result"]["loadings"]["columns"]["PC1"]["values"]
    place = next(i for i, value in enumerate(values) if value != "0x0.0p+0")
    values[place] = (float.fromhex(values[place]) * (1 + 2**-52)).hex()
    file.write_text(json.dumps(kept), encoding="utf-8")
    assert main(["compare", str(file), "--only", "covariance"]) == 1
    said = capsys.readouterr().out
    assert "covariance: 1 differences, the first:\n" in said
    assert f"    /result/loadings/columns/PC1/values[{place}]: " in said
    assert re.search(r"\(relative [1-4]\.\de-16\)", said)  # one unit in the last place


def test_the_record_holds_no_folder_and_no_moment(tmp_path):
    from benchmarks.record.values import neutral, plain

    assert neutral(f"in {tmp_path}/a.csv on 2024-01-31, numpy 2.4.6, 3.2 s", tmp_path) == (
        "in FOLDER/a.csv on DATE, numpy N, N s"
    )
    kept = plain({"a": [1.5, None, True], "b": ("x",)}, tmp_path)
    assert kept == {"a": [(1.5).hex(), None, True], "b": ["x"]}
    with pytest.raises(TypeError, match="set has no plain form"):
        plain({1}, tmp_path)


SOURCE = '''"""A module."""

LIMIT = 1e-3


def outer(x, n):
    if n <= 2 and x:
        x[0] += 1.0

    def inner(é, y):
        return é if é[:n] else max(é - y, -y)

    return inner(x, y=n)
'''


def test_mutants_are_valid_and_name_the_bodies_around_them(tmp_path):
    from benchmarks.mutants.mutate import mutants_of

    path = tmp_path / "module.py"
    path.write_text(SOURCE, encoding="utf-8")
    found = [mutant for mutant in mutants_of(path, "module.py") if mutant.valid(SOURCE)]
    assert len({mutant.key for mutant in found}) == len(found)
    assert {mutant.kind for mutant in found} == {
        *("comparison negated", "boundary", "and/or", "condition", "constant", "statement dropped"),
        *("operator", "index", "arguments", "sign"),
    }
    broken = {}
    for mutant in found:
        compile(mutant.applied(SOURCE), "module.py", "exec")
        old, new = SOURCE.splitlines(), mutant.applied(SOURCE).splitlines()
        changed = [line.strip() for line, before in zip(new, old, strict=True) if line != before]
        assert len(changed) == 1
        broken[mutant.line, mutant.kind] = changed[0], mutant.bodies
    assert broken[3, "constant"] == ("LIMIT = 0.002", ())
    assert broken[7, "boundary"] == ("if (n < 2) and x:", ((7, 13),))
    assert broken[8, "statement dropped"] == ("pass", ((7, 13),))
    assert broken[11, "arguments"] == ("return é if é[:n] else (max(-y, é - y))", ((7, 13), (11, 11)))


def test_the_trace_counts_files_and_moves():
    from benchmarks.trace import traced

    trace = traced(lambda: sp.datasets.load_pitprops())
    assert "datasets/pitprops.py" in trace.files
    assert trace.moves <= 10
    assert traced(lambda: None).moves == 0
