"""Progress: who hears what, in which order, and that listening changes nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings

import numpy as np
import pytest

import spcastat as sp
from spcastat import cli, progress
from spcastat.errors import ConvergenceWarning, OptionError
from spcastat.progress import Step, listening, stage

R = sp.datasets.load_pitprops()
FITS = {
    "sweeps": {"card": 4, "method": "bcd-l0", "n_init": 3},
    "joint": {"card": (7, 4, 4)},
    "fewest": {"variance": 0.8},
    "components": {"card": 4, "method": "greedy"},
}


@pytest.fixture
def heard():
    """What a callback is told: a list that is also the callback."""

    class Heard(list):
        def __call__(self, step):
            self.append(step)

    return Heard()


def assert_well_told(steps):
    """Every stage begins at 0, never goes back, ends once, and inner ones end before outer ones."""
    open_stages: list[Step] = []
    for step in steps:
        if step.depth == len(open_stages):
            assert step.done == 0
            assert not step.ended
            open_stages.append(step)
            continue
        before = open_stages[step.depth]
        assert step.depth == len(open_stages) - 1, "an outer stage spoke while an inner one was open"
        assert (step.stage, step.unit, step.total) == (before.stage, before.unit, before.total)
        assert step.done >= before.done
        open_stages[-1] = step
        if step.ended:
            open_stages.pop()
    assert not open_stages


def fail_within(name):
    """Open a stage, go one step, and end by an error."""
    with stage(name) as advance:
        advance(1)
        raise ValueError(f"{name} failed")


# --- stages -------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [1, "yes", [print]])
def test_what_progress_may_be(given):
    with pytest.raises(OptionError, match=r"progress of type .* was given; it must be True, False, None, or"):
        sp.spca_cov(R, 2, card=3, progress=given)


# --- fits ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", FITS.values(), ids=FITS)
def test_a_fit_is_the_same_when_it_is_watched(heard, options):
    plain = sp.spca_cov(R, 3, **options)
    watched = sp.spca_cov(R, 3, **options, progress=heard)
    assert np.array_equal(plain.loadings, watched.loadings)
    assert str(plain) == str(watched)
    assert plain.call == watched.call
    assert_well_told(heard)


def test_the_stages_of_fits(heard):
    told = {}
    for name, options in FITS.items():
        heard.clear()
        fit = sp.spca_cov(R, 3, **options, progress=heard)
        told[name] = {step.stage: step for step in heard}
        if name == "sweeps":
            assert told[name]["block coordinate descent"].done >= fit.glance()["n_iter"].item()
    assert told["sweeps"]["block coordinate descent"].unit == "sweeps"
    assert told["joint"]["joint search"].unit == "rounds"
    assert told["fewest"]["fewest nonzeros"].depth == 0
    assert told["components"]["one component after another"].done == 3


def test_warnings_point_at_the_same_line(heard):
    lines = []
    for given in (False, heard):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            sp.spca_cov(R, 3, card=4, method="bcd-l0", max_iter=1, progress=given)
        lines += [(one.category, str(one.message), one.filename, one.lineno) for one in caught]
    assert lines[0] == lines[1]
    assert lines[0][0] is ConvergenceWarning
    assert lines[0][2] == __file__


def test_a_callback_can_end_a_fit():
    def stop(step):
        if step.done >= 2:
            raise TimeoutError("two sweeps are enough")

    with pytest.raises(TimeoutError, match="two sweeps"):
        sp.spca_cov(R, 3, card=4, method="bcd-l0", progress=stop)
    assert sp.spca_cov(R, 3, card=4, method="bcd-l0").converged


# --- what is shown ------------------------------------------------------------------------------


def test_bars(capsys):
    with listening(True), stage("path", 2, "fits") as advance:
        advance(1)
        with pytest.raises(ValueError, match="lost failed"):
            fail_within("lost")
        with stage("next") as inner:
            inner(1)
        advance(1)
    out, err = capsys.readouterr()
    assert out == ""
    last = err.rstrip("\n").split("\r")[-1]
    assert last.startswith("path: 100%")
    assert "2/2" in last
    assert " fits" in last


def test_the_command_shows_progress_on_standard_error(capsys):
    argv = ["choose", "pitprops", "--k", "1", "--cards", "2-4", "--by", "is"]
    assert cli.main(argv) == 0
    plain = capsys.readouterr()
    assert cli.main([*argv, "--progress"]) == 0
    shown = capsys.readouterr()
    assert shown.out == plain.out
    assert plain.err == ""
    assert "fits to all rows: 100%" in shown.err
    assert "3/3" in shown.err


# --- what nobody asked for ------------------------------------------------------------------------


def worked():
    """Nine steps of a stage within another."""
    with listening(None), stage("path", 3, "fits") as advance:
        with stage("joint search", unit="rounds") as inner:
            for _ in range(9):
                inner(1)
        advance(1)


@pytest.mark.parametrize(
    ("terminal", "notebook", "patience", "switch", "shown"),
    [
        (True, False, 0, None, True),
        (True, False, 60, None, False),
        (False, False, 0, None, False),
        (False, True, 0, None, True),
        (True, True, 0, "0", False),
        (True, False, 0, "1", True),
    ],
)
def test_long_work_is_shown_where_somebody_sees_it(
    monkeypatch, capsys, terminal, notebook, patience, switch, shown
):
    monkeypatch.delenv("SPCASTAT_PROGRESS", raising=False)
    if switch is not None:
        monkeypatch.setenv("SPCASTAT_PROGRESS", switch)
    monkeypatch.setattr(progress, "PATIENCE", patience)
    monkeypatch.setattr(progress, "DELAY", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    if notebook:
        monkeypatch.setitem(sys.modules, "ipykernel", progress)
    worked()
    err = capsys.readouterr().err
    assert ("path:  33%" in err) == shown
    assert ("joint search: " in err) == shown  # although it was in progress before anything was shown


LONG = {
    "spca": "sp.spca(X, 2, 3)",
    "spca_cov": "sp.spca_cov(X.cov(), 2, 3)",
    "spca_path": "sp.spca_path(X, 2, cards=[2, 3])",
    "choose": "sp.choose(X, 2, cards=[2, 3])",
    "choose_k": "sp.choose_k(X, n_draws=19)",
}


def in_new_process(code, **streams):
    """Run a call with default options in a new interpreter in which everything takes too long."""
    lines = ["import sys, spcastat as sp, spcastat.progress as progress", "progress.PATIENCE = 0.0"]
    lines += ["progress.DELAY = 0.0", "X = sp.datasets.pitprops_sample()", code]
    return subprocess.Popen([sys.executable, "-c", "\n".join(lines)], **streams)


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG)
def test_a_terminal_shows_bars_without_being_asked(name):
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    process = in_new_process(LONG[name], stderr=theirs)
    os.close(theirs)
    shown = b""
    try:
        while piece := os.read(ours, 65536):
            shown += piece
    except OSError:  # the other end is closed
        pass
    os.close(ours)
    assert process.wait() == 0
    assert b"it/s" in shown or b"/s]" in shown, shown
