"""A sample of the hostile calls of benchmarks.hostile, and the judge and the workers themselves."""

from __future__ import annotations

import inspect
from functools import cache

import matplotlib.pyplot as plt
import pytest

import spcastat as sp
from benchmarks.hostile import workers
from benchmarks.hostile.areas import AREAS, cases_of
from benchmarks.hostile.areas.arguments import MEANINGLESS
from benchmarks.hostile.areas.arguments import case as argument_case
from benchmarks.hostile.cases import FAULTS, Case, Refused, judged
from benchmarks.hostile.targets import Target, functions, methods, targets
from benchmarks.hostile.values import everything
from spcastat import errors
from spcastat.fit.method_table import SOLVERS

VALUES = everything()
#: Each argument gets every 101st value here, in turn; more of them in the slow test below.
APART = 101


@cache
def every_target() -> list[Target]:
    """The arguments of all public callables. Results are made to find them: not while tests are collected."""
    return list(targets())


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    yield
    plt.close("all")


def faults(cases: list[Case]) -> list[str]:
    found = [judged(case) for case in cases]
    return [f"{one.verdict}: {one.name} | {one.why[:200]}" for one in found if one.verdict in FAULTS]


def test_every_public_argument_is_driven():
    """No function, method or argument that introspection finds is left out, and the values are many."""
    driven = {target.name for target in every_target()}
    for name, function in [*functions(), *methods()]:
        for argument, one in inspect.signature(function).parameters.items():
            if one.kind is not one.VAR_KEYWORD:
                assert f"{name}({argument})" in driven
    options = {option for method in SOLVERS.values() for option in method.options}
    assert options <= {target.argument for target in every_target()}
    assert len(VALUES) >= 60
    assert len({value.name for value in VALUES}) == len(VALUES)
    assert {value.name for value in VALUES} > MEANINGLESS


@pytest.mark.parametrize("part", range(4))
def test_every_argument_ends_right_or_in_an_own_error(part):
    """Every 101st value for each argument, in turn, so that every value meets many arguments."""
    cases = []
    for i, target in enumerate(every_target()[part::4]):
        if target.name.startswith(("SpcaResult.report(", "Choice.report(")):
            continue  # half a second each: in benchmarks.hostile
        chosen = VALUES[i % APART :: APART]
        cases += [argument_case(target, value) for value in chosen]
    assert len(cases) > 250
    assert not faults(cases)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_every_argument_with_nine_values(part):
    """All of them are in benchmarks.hostile, which takes longer than the slow tests may."""
    for i, target in enumerate(every_target()[part::20]):
        assert not faults([argument_case(target, value) for value in VALUES[i % 17 :: 17]])


@pytest.mark.parametrize(
    ("area", "step"),
    [
        ("arrays", 167),
        ("frames", 41),
        ("formulas", 5),
        ("streams", 41),
        ("command", 167),
        pytest.param("arrays", 41, marks=pytest.mark.slow),
        pytest.param("frames", 29, marks=pytest.mark.slow),
        pytest.param("streams", 17, marks=pytest.mark.slow),
        pytest.param("command", 97, marks=pytest.mark.slow),
    ],
)
def test_a_sample_of_each_area(area, step):
    # What is heavy needs the limits of a worker: in benchmarks.hostile.
    sample = [case for case in cases_of(AREAS[area])[::step] if not case.name.startswith("heavy")]
    assert len(sample) >= 10
    assert not faults(sample)


def test_there_are_enough_of_them():
    rows = {"arrays", "frames", "alignment", "changed", "streams"}
    assert set(AREAS) == {"arguments", "formulas", "files", "command"} | rows
    assert len(every_target()) * len(VALUES) > 2500


# --- the judge, and the workers, must see what is wrong --------------------------------------------


def wrong() -> str:
    return "something else"


def fail() -> None:
    raise KeyError("not an own error")


def refuse(message: str) -> None:
    raise errors.OptionError(message)


@pytest.mark.parametrize(
    ("case", "verdict"),
    [
        (Case("right", lambda: 1), "right"),
        (Case("judged wrong", wrong, lambda given: given), "wrong"),
        (Case("accepted", wrong, must="refuse"), "wrong"),
        (Case("refused", lambda: refuse("k=0 was given")), "refused"),
        (Case("refused wrongly", lambda: refuse("k=2 was given"), must="accept"), "wrong"),
        (Case("no message", lambda: refuse("")), "wrong"),
        (Case("long message", lambda: refuse("x" * 10_000)), "wrong"),
        (Case("control characters", lambda: refuse("a\0b")), "wrong"),
        (Case("surrogate", lambda: refuse("a\ud800")), "wrong"),
        (Case("foreign", fail), "foreign"),
        (Case("inside", lambda: sp.errors.SpcaError + 1), "foreign"),
        (Case("signature", lambda: sp.methods(3)), "refused"),
        (Case("command", lambda: (_ for _ in ()).throw(Refused("usage"))), "refused"),
    ],
    ids=lambda one: getattr(one, "name", one),
)
def test_the_judge(case, verdict):
    assert judged(case).verdict == verdict


def test_workers_end_what_hangs_dies_or_eats_memory(tmp_path, monkeypatch):
    """A module that is plugged in as an area of its own, in processes that have 1.5 GB and three seconds."""
    (tmp_path / "plugged_in.py").write_text(
        "import os, time\n"
        "import numpy as np\n"
        "from benchmarks.hostile.cases import Case\n"
        "def cases():\n"
        "    yield Case('fine', lambda: 1)\n"
        "    yield Case('sleeps', lambda: time.sleep(60))\n"
        "    yield Case('dies', lambda: os._exit(3))\n"
        "    yield Case('eats', lambda: np.ones(10**10))\n"
        "    yield Case('fine again', lambda: 1)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setitem(AREAS, "plugged in", "plugged_in")
    found = list(workers.verdicts("plugged in", seconds=3.0, megabytes=1500))
    assert [one.verdict for one in found] == ["right", "hang", "foreign", "foreign", "right"]
