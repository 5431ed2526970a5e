"""Progress: who hears what, in which order, and that listening changes nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
import time
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


def test_steps_of_nested_stages(heard):
    with listening(heard), stage("outer", 2, "fits") as outer:
        with stage("inner", unit="rounds") as inner:
            inner(3)
        outer(1)
    assert heard == [
        Step("outer", 0, 2, "fits"),
        Step("inner", 0, None, "rounds", depth=1),
        Step("inner", 3, None, "rounds", depth=1),
        Step("inner", 3, None, "rounds", ended=True, depth=1),
        Step("outer", 1, 2, "fits"),
        Step("outer", 1, 2, "fits", ended=True),
    ]


def test_nobody_hears_outside_the_block(heard):
    with listening(heard):
        pass
    with stage("alone") as advance:
        advance(1)
    with listening(heard), listening(False), stage("still heard"):
        pass
    assert [step.stage for step in heard] == ["still heard"] * 2


def test_an_error_of_the_callback_leaves_nothing_behind(heard):
    def stop(step):
        if step.done:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"), listening(stop), stage("outer"):
        fail_within("inner")
    with listening(heard), stage("c"):
        pass
    assert [step.depth for step in heard] == [0, 0]


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


def test_a_path_tells_its_fits(heard):
    path = sp.spca_path(R, 2, cards=[2, 4, 6], method="bcd-l0", progress=heard)
    assert_well_told(heard)
    assert [step.done for step in heard if step.stage == "path"] == [0, 1, 2, 3, 3]
    assert {step.total for step in heard if step.stage == "path"} == {3}
    assert {step.depth for step in heard if step.stage == "block coordinate descent"} == {1}
    assert "progress" not in path[4].call
    assert path.table.equals(sp.spca_path(R, 2, cards=[2, 4, 6], method="bcd-l0").table)
    heard.clear()
    sp.spca_path(R, 1, cards=[2, 4], method="greedy", progress=heard)
    assert [step.done for step in heard] == [0, 1, 2, 2]


def test_a_certificate_tells_its_nodes(heard):
    fit = sp.spca_cov(R, 2, card=5, effort="quick")
    table = fit.certify(joint=False, progress=heard).table
    assert_well_told(heard)
    nodes = [step.done for step in heard if step.stage == "branch and bound" and step.ended]
    assert nodes == table["nodes"].tolist()
    assert table.drop(columns="seconds").equals(fit.certify(joint=False).table.drop(columns="seconds"))


def test_refit_is_watched_as_the_fit_was(heard):
    X = sp.datasets.make_hastie(50)
    fit = sp.spca(X, 2, card=4, method="bcd-l0", progress=heard)
    assert fit.call == sp.spca(X, 2, card=4, method="bcd-l0").call
    heard.clear()
    fit.refit(card=3)
    assert heard
    heard.clear()
    fit.refit(card=3, progress=False)
    assert not heard


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


def test_bars_are_closed_after_an_error(capsys):
    with pytest.raises(ValueError, match="failed"), listening(True), stage("outer", 9):
        fail_within("inner")
    assert capsys.readouterr().err.endswith("\n")


def test_a_file_gets_an_update_every_two_seconds_and_not_ten(capsys):
    """A log of hours of work would otherwise have megabytes of bars."""
    with listening(True), stage("path", 5, "fits") as advance:
        for _ in range(5):
            time.sleep(0.15)
            advance(1)
    assert len(capsys.readouterr().err.split("\r")) <= 4  # empty, the beginning, the end


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
    ("terminal", "notebook", "patience", "shown"),
    [(True, False, 0, True), (True, False, 60, False), (False, False, 0, False), (False, True, 0, True)],
)
def test_long_work_is_shown_where_somebody_sees_it(monkeypatch, capsys, terminal, notebook, patience, shown):
    monkeypatch.setattr(progress, "PATIENCE", patience)
    monkeypatch.setattr(progress, "DELAY", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    if notebook:
        monkeypatch.setitem(sys.modules, "ipykernel", progress)
    worked()
    err = capsys.readouterr().err
    assert ("path:  33%" in err) == shown
    assert ("joint search: " in err) == shown  # although it was in progress before anything was shown


def test_none_leaves_the_one_that_listens_alone(heard, monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with listening(heard):
        worked()
    assert heard[0].stage == "path"
    assert capsys.readouterr().err == ""


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


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG)
def test_a_pipe_shows_nothing_and_a_notebook_bars(name):
    process = in_new_process(LONG[name], stderr=subprocess.PIPE)
    assert process.communicate()[1] == b""
    assert process.returncode == 0
    as_notebook = f"sys.modules['ipykernel'] = progress\n{LONG[name]}"
    process = in_new_process(as_notebook, stderr=subprocess.PIPE)
    shown = process.communicate()[1]
    assert process.returncode == 0
    assert b"/s]" in shown, shown
