"""What choices and draws return: names that programs rely on, interruptions, the command and the page."""

from __future__ import annotations

import signal

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat.cli import main
from spcastat.errors import OptionError

# --- The names that programs rely on, and what Ctrl-C leaves --------------------------------------


def test_a_number_of_components(planted):
    found = sp.choose_k(planted, kmax=4, n_draws=19)
    assert found.k == 2
    assert isinstance(found.k, int)
    assert isinstance(found.reason, str)
    assert found.table.index.tolist() == ["PC1", "PC2", "PC3", "PC4"]
    assert len(found.spectrum) == 12
    assert found.plot() is not None


def test_a_cardinality(planted):
    found = sp.choose(planted, 2, cards=[2, 4, 6], repeats=1)
    assert found.card in ([4, 4], 4)
    assert isinstance(found.reason, str)
    assert found.table["card"].tolist() == [2, 4, 6]
    assert found.table.loc[found.table["chosen"], "card"].tolist() == [4]
    pd.testing.assert_frame_equal(found.fit.loadings, sp.spca(planted, 2, 4).loadings)


def test_intervals_have_a_row_for_every_loading_that_is_selected_anywhere(fit):
    found = fit.bootstrap(30)
    frame = found.conf_int()
    columns = ["component", "term", "estimate", "std_error", "lower", "upper", "selected"]
    assert frame.columns.tolist() == columns
    expected = (found.selected > 0) | (fit.loadings != 0)
    assert len(frame) == expected.to_numpy().sum()
    for row in frame.itertuples():
        place = fit.loadings.index.get_indexer(pd.Index([row.term], tupleize_cols=False))[0]
        c = fit.loadings.columns.get_loc(row.component)
        assert expected.iloc[place, c]
        assert row.selected == found.selected.iloc[place, c]
        assert row.estimate == fit.loadings.iloc[place, c]


def test_stability_has_frames_of_the_shape_of_the_loadings(fit):
    found = fit.stability(4)
    for frame in (found.frequency, found.stable):
        assert frame.index.equals(fit.loadings.index)
        assert frame.columns.equals(fit.loadings.columns)
    assert found.frequency.to_numpy().min() >= 0
    assert found.frequency.to_numpy().max() <= 1
    assert found.stable.dtypes.eq(bool).all()
    assert found.similarity.index.tolist() == ["PC1", "PC2"]
    assert found.bound.index.tolist() == ["PC1", "PC2", "all"]
    assert {"component", "members", "frequency"} <= set(found.variable_clusters)


def test_only_a_fit_of_the_em_has_imputed_rows(planted):
    gapped = planted.mask(np.random.default_rng(0).random(planted.shape) < 0.1)
    rows = sp.spca(gapped, 2, 4, na="em").imputed
    assert rows.shape == planted.shape
    assert rows.notna().all(axis=None)
    with pytest.raises(OptionError, match="na='em'"):
        _ = sp.spca(planted, 2, 4).imputed


STAGES = {
    "bootstrap": ("bootstrap", "3 of 40 draws: interrupted"),
    "stability": ("complementary halves", "3 of 40 pairs: interrupted"),
    "split_inference": ("bootstrap of one half", "3 of 40 bootstrap samples of the second half: inter"),
    "test_loadings": ("permutations", "3 of 40: interrupted permutations"),
}


@pytest.fixture
def heard():
    """Python's own answer to the signal, which processes that share tests ignore."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heard")
@pytest.mark.parametrize("method", STAGES)
def test_ctrl_c_leaves_what_there_is_and_it_says_so(fit, method, tmp_path):
    """The signal itself, sent where a stage has come to three of forty."""
    stage, told = STAGES[method]

    def press(step):
        if step.stage == stage and step.done == 3 and not step.ended:
            signal.raise_signal(signal.SIGINT)

    found = getattr(fit, method)(40, progress=press)
    assert found.interrupted
    assert told in " ".join(found.as_text().split())
    fit.save(tmp_path / "a.spca")
    (kept,) = sp.load(tmp_path / "a.spca").resampled.values()
    assert kept.interrupted
    assert kept.as_text() == found.as_text()


# --- What was resampled is shown by the command and on the page -----------------------------------


def test_the_command_prints_intervals_and_frequencies(planted, tmp_path, capsys):
    table, page = tmp_path / "rows.csv", tmp_path / "page.html"
    planted.set_axis([f"x{j}" for j in range(12)], axis=1).to_csv(table, index=False)
    call = ["fit", str(table), "--k", "2", "--card", "4", "--bootstrap", "6", "--stability", "3"]
    assert main([*call, "--report", str(page)]) == 0
    out = capsys.readouterr().out
    assert "Bootstrap (6 draws): 95 % intervals, variables selected again in each" in out
    assert "Stability: 6 fits of half of the rows" in out
    assert "How sure" in out
    assert max(map(len, out.splitlines())) <= 80
    text = page.read_text(encoding="utf-8")
    assert "How sure this is</h2>" in text
    assert "Loadings with bootstrap intervals" in text


@pytest.mark.parametrize("wrong", [["--jobs", "2"], ["--bootstrap", "1"], ["--stability", "0"]])
def test_the_command_refuses(planted, tmp_path, capsys, wrong):
    table = tmp_path / "rows.csv"
    planted.set_axis([f"x{j}" for j in range(12)], axis=1).to_csv(table, index=False)
    assert main(["fit", str(table), "--k", "2", "--card", "4", *wrong]) != 0
    assert "error" in capsys.readouterr().err
