"""Groups of variables that enter together, from the call to whatever is made of the fit."""

from __future__ import annotations

import dataclasses
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat.assess.refit import SparseModel
from spcastat.cli import main
from spcastat.errors import CardinalityError, OptionError
from spcastat.fit.saved_fits import record_of
from spcastat.linalg.operators import Gram

R = sp.datasets.load_pitprops()
SIZE = {"size": ["topdiam", "length"], "rings": ["ringtop", "ringbut", "bowmax"]}


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    size = rng.standard_normal(60)
    return pd.DataFrame(
        {
            "a": size + 0.5 * rng.standard_normal(60),
            "b": rng.standard_normal(60),
            "site": np.where(size > 0.4, "west", np.where(rng.random(60) < 0.5, "south", "north")),
            "kind": rng.choice(["x", "y"], 60),
            "c": rng.standard_normal(60) - size,
        }
    )


@pytest.fixture(scope="module")
def fit(rows):
    return sp.spca(rows, 2, 2, scale="mixed", together="terms", include={"PC2": "kind"}, effort="quick")


def best_union(S: np.ndarray, groups: list[list[int]], count: int) -> float:
    unions = [sum(some, []) for some in combinations(groups, count)]  # noqa: RUF017
    return max(np.linalg.eigvalsh(S[np.ix_(J, J)])[-1] for J in unions)


def test_terms_enter_whole_and_card_counts_them(fit):
    V = fit.loadings
    levels = [name for name in V.index if name.startswith("kind[")]
    assert len(levels) == 2
    assert V.loc[levels, "PC2"].all()
    terms = V.index.str.partition("[").get_level_values(0)
    assert ((V != 0).groupby(terms).any().sum() == 2).all()
    assert ((V != 0).groupby(terms).any() == (V != 0).groupby(terms).all()).all(axis=None)
    text = " ".join(str(fit).split())
    assert "Rule card counts groups, 5 in all; the variables of site, kind enter together; PC2 must" in text
    assert f"Together PC1 {', '.join(t for t in terms.unique() if V['PC1'][terms == t].any())}; PC2" in text
    assert "Cardinality missed" not in text
    assert "selected one by one" not in text


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_a_component_is_the_best_union_and_proven(count):
    fit = sp.spca_cov(R, 1, count, together=SIZE, effort="quick")
    named = [[R.columns.get_loc(name) for name in members] for members in SIZE.values()]
    alone = [[j] for j in range(13) if j not in named[0] + named[1]]
    best = best_union(R.to_numpy(), named + alone, count)
    proof = fit.certify()
    assert proof.table["value"].item() == pytest.approx(best, rel=1e-9)
    assert proof.table["optimal"].all()
    assert proof.table["upper_bound"].item() >= best * (1 - 1e-13)
    root = fit.certify(max_nodes=1)
    assert root.table["upper_bound"].item() >= best * (1 - 1e-13)


def test_no_component_of_less_is_proven():
    """Of PEV, whose second component is not that of the largest variance left."""
    fit = sp.spca_cov(R, 2, 3, together=SIZE, objective="pev", disjoint=True, effort="quick")
    proof = fit.certify()
    named = [[R.columns.get_loc(name) for name in members] for members in SIZE.values()]
    groups = named + [[j] for j in range(13) if j not in named[0] + named[1]]
    v, S = fit.loadings["PC1"].to_numpy(), R.to_numpy()
    left = S - np.outer(S @ v, S @ v) / (v @ S @ v)
    for i, (matrix, open_) in enumerate(
        [(S, groups), (left, [group for group in groups if not v[group].any()])]
    ):
        best = best_union(matrix, open_, 3)
        assert proof.table["upper_bound"].iloc[i] == pytest.approx(best, rel=1e-8)
        assert proof.table["best_known"].iloc[i] <= best * (1 + 1e-12)


def test_a_formula_has_terms_of_several_columns(rows):
    how = {"formula": "~ a + bs(b, df=4) + C(site):c", "categorical": "dummy", "scale": True}
    fit = sp.spca(rows, 1, 1, together="terms", effort="quick", **how)
    assert np.count_nonzero(fit.loadings["PC1"]) in (3, 4)  # of the interaction, or of the spline
    gaps = rows.assign(b=rows["b"].where(rows.index % 7 > 0))
    filled = sp.spca(
        gaps, 1, 2, formula="~ a + b + site", categorical="dummy", na="em", together="terms", effort="quick"
    )
    assert np.count_nonzero(filled.loadings["PC1"]) in (2, 4)


def test_draws_files_paths_and_refits_have_the_groups(fit, rows, tmp_path):
    fit.save(tmp_path / "fit.spca")
    loaded = sp.load(tmp_path / "fit.spca")
    assert str(loaded) == str(fit)
    often = fit.bootstrap(5, rng=1).selected
    assert (often.loc[[name for name in often.index if name.startswith("kind[")], "PC2"] == 1.0).all()
    sites = often.loc[[name for name in often.index if name.startswith("site[")]]
    assert (sites.max() == sites.min()).all()  # a factor is in a draw, or is not
    again = loaded.bootstrap(5, data=rows, rng=1).selected
    pd.testing.assert_frame_equal(again, often)
    halves = fit.stability(3, rng=1).frequency
    assert (halves.loc[[name for name in halves.index if name.startswith("kind[")], "PC2"] == 1.0).all()
    assert "together='terms'" in fit.call
    assert "Together" not in str(fit.refit(together=None, include=None))
    path = sp.spca_path(rows, 1, scale="mixed", together="terms", effort="quick")
    assert path.table["card"].tolist() == [1, 2, 3, 4, 5]
    assert path.table["nonzeros"].iloc[-1] == 8
    assert "card counts groups" in fit.describe().text


@pytest.mark.parametrize(
    "wrong",
    ["terms", [["a", [0, 2]]], [["a", [0, 1]], ["b", [1, 2]]], [["a", "b"]], [[[0], [1, 2]]], [["a"]]],
)
def test_a_damaged_file_has_no_groups(wrong):
    """Groups have names, and each variable is in one."""
    data = sp.datasets.make_hastie(30).iloc[:, :3]
    fit = sp.spca(data, 1, 1, together={"first": list(data.columns[[0, 2]])}, effort="quick")
    kept = dataclasses.asdict(fit._state.record.written())
    right = [["a", [0, 2]], ["b", [1]]]
    assert record_of({**kept, "options": {**kept["options"], "together": right}}).p == 3
    with pytest.raises(sp.errors.FileError, match="its record"):
        record_of({**kept, "options": {**kept["options"], "together": wrong}})


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"together": "terms"}, "together='terms' was given without a formula"),
        ({"together": "term"}, "together='term' was given; it must be 'terms', for"),
        ({"together": {}}, "it must be 'terms'"),
        ({"together": {"a": []}}, "name the variables of each group"),
        ({"together": {"a": ["lenght"]}}, r"together\['a'\] names 'lenght'.*Did you mean 'length'"),
        ({"together": {"a": ["length"], "b": "length"}}, "together has 'length' in 'a', 'b'"),
        ({"together": SIZE, "include": "sizes"}, "include names 'sizes'.* Did you mean 'size'"),
        ({"together": SIZE, "include": "size", "exclude": "length"}, "both name size for PC1"),
        ({"together": SIZE, "card": 6, "disjoint": True}, "asks for 12 groups, and .* 10 groups"),
        ({"together": SIZE, "card": None}, "together= was given without card="),
        ({"together": SIZE, "card": None, "disjoint": True}, "together= was given without card="),
        ({"together": SIZE, "method": "greedy"}, "method='greedy' has no option 'together'"),
    ],
)
def test_what_cannot_be_is_refused_by_name(options, match):
    with pytest.raises(OptionError, match=match):
        sp.spca_cov(R, 2, **{"card": 2, **options})


def test_what_knows_no_groups_refuses_them_with_the_nearest_call(fit):
    with pytest.raises(CardinalityError, match="it counts groups; there are 10, 'size', 'rings', 'moist'"):
        sp.spca_cov(R, 1, 11, together=SIZE)
    with pytest.raises(OptionError, match=r"card counts groups\. Give joint=False"):
        fit.certify(joint=True)
    with pytest.raises(OptionError, match=r"test_loadings.* Use bootstrap"):
        fit.test_loadings(99)
    with pytest.raises(OptionError, match="together= was given with 301 columns"):
        sp.spca(np.random.default_rng(0).standard_normal((5, 301)), 1, 2, together={"a": [0, 1]})


def test_a_choice_counts_groups(rows):
    """Of five terms "a", "c" and "site" go together: one component of them predicts best."""
    choice = sp.choose(rows, 1, scale="mixed", together="terms")
    assert choice.card == 3
    used = choice.fit.loadings.index[choice.fit.loadings["PC1"] != 0]
    assert {name.partition("[")[0] for name in used} == {"a", "c", "site"}
    assert choice.table["groups"].tolist() == choice.table["card"].tolist() == [1, 2, 3, 4, 5]
    assert choice.table["nonzeros"].iloc[-1] == 8
    assert "further groups improve too little to be worth adding" in " ".join(str(choice).split())
    assert "The numbers of groups were chosen" in choice.method_text
    with pytest.raises(CardinalityError, match="it counts groups; there are 5"):
        sp.choose(rows, 1, cards=[2, 6], scale="mixed", together="terms")
    gaps = sp.datasets.pitprops_sample().copy()
    gaps.iloc[0, 0] = np.nan
    with pytest.raises(OptionError, match=r"with missing values; .* Give na='drop'"):
        sp.choose(gaps, 1, together=SIZE, na="em")


def test_values_of_a_group_are_predicted_from_other_groups():
    """By the conditional expectations of the model; the indicators of a factor would predict one another."""
    rng = np.random.default_rng(0)
    X, Z = rng.standard_normal((50, 7)) @ rng.standard_normal((7, 7)), rng.standard_normal((20, 7))
    V = np.zeros((7, 2))
    V[:3, 0] = V[3:5, 1] = 1.0
    of = np.array([0, 0, 1, 2, 2, 3, 3])
    model = SparseModel.of(V / np.linalg.norm(V, axis=0), Gram(X.T @ X / 49), of)
    W = np.zeros((7, 2))
    W[model.used] = model.W * np.sqrt(model.variances - model.noise)
    sigma, expected = W @ W.T + model.noise * np.eye(7), 0.0
    for J, K in ((np.flatnonzero(of == g), np.flatnonzero(of != g)) for g in range(4)):
        slopes = np.linalg.solve(sigma[np.ix_(K, K)], sigma[np.ix_(K, J)])
        expected += ((Z[:, J] - Z[:, K] @ slopes) ** 2).sum()
    B = Z.T @ Z
    assert model.press(np.diag(B), B[np.ix_(model.used, model.used)]) == pytest.approx(expected, rel=1e-10)


def test_the_command_takes_groups(rows, tmp_path, capsys):
    rows.to_csv(tmp_path / "rows.csv", index=False)
    call = ["fit", str(tmp_path / "rows.csv"), "--k", "1", "--card", "2", "--mixed", "--effort", "quick"]
    assert main([*call, "--together", "terms"]) == 0
    assert "the variables of site, kind enter together" in " ".join(capsys.readouterr().out.split())
    assert main([*call, "--together", "pair=a", "--together", "pair=c"]) == 0
    assert "the variables of pair enter together" in " ".join(capsys.readouterr().out.split())
    assert main([*call, "--together", "pair"]) != 0
    assert "it takes terms, or a group and one of its" in capsys.readouterr().err


@pytest.mark.slow
def test_groups_of_single_variables_are_none():
    """Then card counts variables, and the search over groups finds what the one over variables does."""
    alone = {name: [name] for name in R}
    for objective in ("adjusted", "pev", "least_squares"):
        free = sp.spca_cov(R, 2, [4, 3], objective=objective, effort="quick")
        fit = sp.spca_cov(R, 2, [4, 3], objective=objective, together=alone, effort="quick")
        assert fit.measure(objective) == pytest.approx(free.measure(objective), rel=1e-9)
