"""Results do not change: queries return and store nothing, and `with_inference` returns a new fit."""

from __future__ import annotations

import contextlib
import copy
import pickle
import threading
import warnings
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat.errors import OptionError, SpcaError
from spcastat.plots.blocks import Block
from tests.hostile import results
from tests.results.test_handed import asked, quietly


def intervals_in(ax) -> int:
    """The number of bars of a plot of loadings that have an interval."""
    blocks = [child for child in ax.get_children() if isinstance(child, Block)]
    return sum(row.interval is not None for block in blocks for row in block.rows)


#: Queries of a fit of rows, in few draws.
QUERIES = {
    "bootstrap": {"n": 39},
    "stability": {"n": 3},
    "split_inference": {"n": 5},
    "test_loadings": {"n": 9},
    "certify": {"joint": False},
}
ROWS = sp.datasets.pitprops_sample().iloc[:60, :6]


@pytest.fixture
def fit():
    return sp.spca(ROWS, 2, 3, method="bcd-l0", scale=True)


@pytest.fixture(scope="module")
def full():
    """A fit that shows a result of each kind."""
    fit = sp.spca(ROWS, 2, 3, method="bcd-l0", scale=True)
    return fit.with_inference(*(getattr(fit, name)(**options) for name, options in QUERIES.items()))


def held(result: Any) -> dict[str, int]:
    """Return the identities of the attributes of a result, without tables that are computed once."""
    return {
        name: id(value)
        for name, value in vars(result).items()
        if not isinstance(getattr(type(result), name, None), cached_property)
    }


def answers(result: Any, folder: Path) -> tuple[dict[str, int], str, bytes]:
    """Return the attributes, the print and the file of a result."""
    content = b""
    if hasattr(result, "save"):
        result.save(folder / "answer.spca")
        content = (folder / "answer.spca").read_bytes()
    return held(result), str(result), content


#: Kinds of results, of which the other tests of copies have more.
KINDS = ("rows", "loaded", "covariance", "chunks", "certified", "path", "comparison", "spco")


@pytest.mark.sweep
@pytest.mark.parametrize("kind", [*KINDS, "sparse loadings", "choice"])
def test_no_query_changes_a_result(kind, mixed, tmp_path):
    made = {
        "sparse loadings": lambda: sp.sparse_loadings(ROWS, 2, 3, n_init=2),
        "choice": lambda: sp.choose(ROWS, 2, cards=[2, 3], effort="quick", repeats=1),
    }
    result = made[kind]() if kind in made else quietly(kind, mixed, tmp_path)
    before, count = answers(result, tmp_path), 0
    for name, query in asked(result):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with contextlib.suppress(SpcaError):  # a refused call changes nothing, either
                query()
        count += 1
        assert held(result) == before[0], name
    assert answers(result, tmp_path) == before
    assert count > 5


#: Queries that fail, at the check of an argument or amid the draws.
FAILING = [
    ("bootstrap", {"n": 1, "choice": "choice"}),
    ("bootstrap", {"n": 5, "n_jobs": 0}),
    ("bootstrap", {"n": 5, "progress": "interrupted"}),
    ("stability", {"n": 5, "threshold": 0.2}),
    ("stability", {"n": 5, "progress": "interrupted"}),
    ("split_inference", {"repeats": 0}),
    ("split_inference", {"n": 5, "progress": "interrupted"}),
    ("test_loadings", {"fdr": "holm"}),
    ("test_loadings", {"n": 9, "progress": "interrupted"}),
    ("certify", {"joint": False, "objective": "pev"}),
    ("summary", {"conf_int": True}),
    ("with_inference", {}),
]


@pytest.mark.sweep
@pytest.mark.parametrize(("name", "options"), FAILING)
def test_a_failed_query_changes_nothing(fit, name, options, tmp_path):
    class Interruption(Exception):
        """Raised by the caller's function, so that no library catches it."""

    def interrupt(step):
        if step.done >= 2:
            raise Interruption

    given = dict(options)
    if given.get("choice"):
        given["choice"] = sp.choose_k(ROWS, scale=True, n_draws=19)
    if given.get("progress"):
        given["progress"] = interrupt
    before = answers(fit, tmp_path)
    with pytest.raises((SpcaError, Interruption)):
        getattr(fit, name)(*[3] * (name == "with_inference"), **given)
    assert answers(fit, tmp_path) == before
    assert "not found by choose_k" not in str(fit.bootstrap(5))


#: What is no result: scores that are read chunk by chunk, a frozen text, and an estimator, which is fitted.
OTHER_CLASSES = ("ScoreChunks", "Description", "SparsePCA")


@pytest.mark.parametrize("name", [name for name, _ in results() if name not in OTHER_CLASSES])
def test_attributes_cannot_be_set(name):
    result = dict(results())[name]()
    private = next(iter(vars(result)))
    for attribute in ("frames", "k", private):
        message = f"^{attribute} of {name} cannot be .*do not change: .*[a-z]\\.$"
        with pytest.raises(AttributeError, match=message):
            setattr(result, attribute, None)
        with pytest.raises(AttributeError, match=message):
            delattr(result, attribute)


# --- a fit shows what it is given ------------------------------------------------------------------


def page(fit: Any, folder: Path) -> str:
    fit.report(folder / "page.html")
    return (folder / "page.html").read_text(encoding="utf-8")


def test_each_output_shows_what_the_fit_was_given(fit, full, tmp_path):
    """Words that only the result has, in every output, and in none of the fit that was not given it."""
    words = ("bootstrap intervals", "halves of the rows")
    plain = " ".join(str(fit.summary()).split()), page(fit, tmp_path), fit.describe().text
    shown = " ".join(str(full.summary()).split()), page(full, tmp_path), full.describe().text
    for word in words:
        assert all(word in text for text in shown[1:])
        assert not any(word in text for text in plain)
    assert "95 % bootstrap intervals" in shown[0]
    assert "fits to half of the rows" in shown[0]
    assert full.inference["certificates"][0].sentence in shown[0]
    assert list(full.tidy(conf_int=True)) == [
        *("term", "component", "loading", "std_error", "lower", "upper", "selected", "frequency", "q_value")
    ]
    assert intervals_in(full.plot_loadings(conf_int=True)) > intervals_in(full.plot_loadings()) == 0
    assert "q <= .001: false discovery rates" in " ".join(str(full.summary(stars=True)).split())
    full.save(tmp_path / "full.spca")
    assert str(sp.load(tmp_path / "full.spca")) == str(full)
    pytest.importorskip("openpyxl")
    full.to_excel(tmp_path / "full.xlsx")
    sheets = pd.read_excel(tmp_path / "full.xlsx", sheet_name=None)
    intervals = full.inference["bootstrap"].conf_int()
    np.testing.assert_allclose(sheets["bootstrap, loadings"]["lower"], intervals["lower"])
    for name in ("stability, frequency", "split inference, p values", "test loadings, tests", "proof 1"):
        assert name in sheets


def test_one_output_takes_a_result(fit, tmp_path):
    """As the same output of a fit that shows it."""
    boot, halves, tests = fit.bootstrap(39), fit.stability(3), fit.test_loadings(9)
    before = answers(fit, tmp_path)
    assert str(fit.summary(conf_int=boot)) == str(fit.with_inference(boot).summary(conf_int=True))
    assert str(fit.summary(stars=tests)) == str(fit.with_inference(tests).summary(stars=True))
    for result in (boot, halves):
        frame = fit.with_inference(result).tidy(conf_int=True)
        pd.testing.assert_frame_equal(fit.tidy(conf_int=result), frame)
    assert intervals_in(fit.plot_loadings(conf_int=boot)) > intervals_in(fit.plot_loadings()) == 0
    assert answers(fit, tmp_path) == before
    with pytest.raises(OptionError, match="give one of the two"):
        fit.plot_loadings(conf_int=boot, intervals=boot.conf_int())
    for call in (
        lambda: fit.summary(conf_int=halves),
        lambda: fit.summary(stars=boot),
        lambda: fit.tidy(conf_int=tests),
        lambda: fit.plot_loadings(conf_int=1),
    ):
        with pytest.raises(OptionError, match=r"it must be True, False, or a result of .* of this fit"):
            call()


def test_true_without_a_result_names_a_call_that_works(fit):
    loadings = sp.sparse_loadings(ROWS, 2, 3, n_init=2)
    for call, advice in (
        (lambda **options: fit.summary(**options), {"conf_int": fit.bootstrap(39)}),
        (lambda **options: fit.plot_loadings(**options), {"conf_int": fit.bootstrap(39)}),
        (lambda **options: fit.tidy(**options), {"conf_int": fit.stability(2)}),
        (lambda **options: fit.summary(**options), {"stars": fit.test_loadings(9)}),
        (lambda **options: loadings.summary(**options), {"conf_int": loadings.bootstrap(39)}),
        (lambda **options: loadings.tidy(**options), {"conf_int": loadings.bootstrap(39)}),
    ):
        ((name, result),) = advice.items()
        methods = {"Stability": "stability", "LoadingTest": "test_loadings"}
        method = methods.get(type(result).__name__, "bootstrap")
        with pytest.raises(OptionError, match=rf"give .*{name}=fit\.{method}\(\).*fit\.with_inference\("):
            call(**{name: True})
        assert call(**advice) is not None


def test_the_last_result_of_a_kind_counts(fit):
    first, second = fit.bootstrap(5), fit.bootstrap(7, select=False)
    assert fit.with_inference(first, second).inference["bootstrap"].n == 7
    assert fit.with_inference(second).with_inference(first).inference["bootstrap"].n == 5
    assert not fit.inference
    assert not fit.with_inference().inference


def test_results_of_other_fits_are_refused(fit, tmp_path):
    """A fit of one variable has the same loadings, 1 and 0, in all rows: its variance differs."""
    boot, one = fit.bootstrap(5), sp.spca(ROWS, 1, 1, method="greedy")
    fit.save(tmp_path / "fit.spca")
    for other in (fit, fit.rename({"PC1": "size"}), fit.refit(), sp.load(tmp_path / "fit.spca")):
        assert str(other.with_inference(boot).inference["bootstrap"].n) == "5"
    others = (
        (fit.refit(card=2), boot),
        (sp.spca(ROWS.rename(columns=str.upper), 2, 3, method="bcd-l0", scale=True), boot),
        (sp.spca(ROWS.iloc[1:], 1, 1, method="greedy"), one.bootstrap(5)),
        (fit.refit(card=2), fit.certify(joint=False)),
    )
    for other, result in others:
        with pytest.raises(OptionError, match=f"was given the {type(result).__name__} of another fit"):
            other.with_inference(result)
    with pytest.raises(OptionError, match="conf_int= was given the Bootstrap of another fit"):
        fit.refit(card=2).tidy(conf_int=boot)
    loadings = sp.sparse_loadings(ROWS, 2, 3, n_init=2)
    for other, result in ((loadings, boot), (fit, loadings.bootstrap(5)), (fit, boot.table), (fit, fit)):
        with pytest.raises(OptionError, match=r"it accepts results of .*bootstrap\(\).* of this fit"):
            other.with_inference(result)


def test_inference_is_read_only_and_resampled_names_it(full):
    with pytest.raises(TypeError):
        full.inference["bootstrap"] = None
    for result in (full, sp.sparse_loadings(ROWS, 2, 3, n_init=2)):
        with pytest.raises(
            AttributeError, match=r"no attribute 'resampled'; .* inference: fit\.with_inference"
        ):
            result.resampled  # noqa: B018
        assert not hasattr(result, "resampled")


def test_a_choice_reports_what_its_fit_was_given(tmp_path):
    choice = sp.choose(ROWS, 2, cards=[2, 3], effort="quick", repeats=1)
    before = str(choice), str(choice.fit)
    shown = choice.with_inference(choice.fit.stability(3))
    assert "halves of the rows" in page(shown, tmp_path)
    assert "halves of the rows" not in page(choice, tmp_path)
    assert (str(choice), str(choice.fit)) == before
    assert list(shown.fit.inference) == ["stability"]


# --- threads, pickles and copies ----------------------------------------------------------------------


def test_two_threads_query_one_fit(tmp_path):
    fit = sp.spca(ROWS, 2, 3, scale=True)
    alone = {name: getattr(copy.deepcopy(fit), name)(**options) for name, options in QUERIES.items()}
    found: list[dict[str, Any]] = [{}, {}]
    start = threading.Barrier(2)

    def query(number: int) -> None:
        start.wait()
        names = list(QUERIES) if number == 0 else list(reversed(QUERIES))
        for name in names:
            found[number][name] = getattr(fit, name)(**QUERIES[name])
            str(fit)

    threads = [threading.Thread(target=query, args=(number,)) for number in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for results_of_thread in found:
        for name, result in results_of_thread.items():
            for key, frame in result.frames.items():
                expected = alone[name].frames[key]
                drop = {"columns": "seconds", "errors": "ignore"}
                pd.testing.assert_frame_equal(frame.drop(**drop), expected.drop(**drop))
    assert not fit.inference


@pytest.mark.parametrize("carry", [lambda one: pickle.loads(pickle.dumps(one)), copy.deepcopy, copy.copy])
def test_fits_and_results_can_be_carried_and_given(fit, full, carry, tmp_path):
    other = carry(full)
    assert answers(other, tmp_path)[1:] == answers(full, tmp_path)[1:]
    pd.testing.assert_frame_equal(
        other.inference["certificates"][0].loadings, full.inference["certificates"][0].loadings
    )
    for name, options in QUERIES.items():
        result = getattr(fit, name)(**options)
        assert str(fit.with_inference(carry(result))) == str(fit.with_inference(result))
        assert str(carry(fit).with_inference(result)) == str(fit.with_inference(result))
