"""Proofs in files: what is true passes the checker, and nothing else does."""

import ast
import copy
import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

import spcastat as sp
from benchmarks import proofs
from spcastat import cli
from spcastat.errors import OptionError
from spcastat.proofs import checker
from spcastat.proofs.checker import Ball, RefusedError, check
from spcastat.proofs.verify import attained, verify
from spcastat.proofs.witness import UnwrittenError, witnesses

LONG = 600.0


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The data, and a proof of two components, in files."""
    folder = tmp_path_factory.mktemp("proof")
    data = sp.datasets.pitprops_sample().iloc[:, :8]
    data.to_csv(folder / "data.csv", index=False)
    fit = sp.spca(data, 2, 3, effort="quick")
    fit.certify(joint=True, time_limit=LONG).save(folder / "proof.json", time_limit=LONG)
    return folder


def _altered(folder, change):
    """Assert that the checker refuses the proof after a change."""
    proof = json.loads((folder / "proof.json").read_text())
    change(proof)
    (folder / "altered.json").write_text(json.dumps(proof))
    with pytest.raises(RefusedError):
        verify(folder / "altered.json", folder / "data.csv")


def test_a_saved_proof_holds_for_its_data(written, capsys):
    told, *_ = verify(written / "proof.json", written / "data.csv")
    proof = json.loads((written / "proof.json").read_text())
    assert f"{proof['values'][0]:.9f}" in told
    assert proof["bounds"][0] == pytest.approx(proof["values"][0], rel=1.1e-4)  # optimal to 0.01 %
    assert cli.main(["verify", str(written / "proof.json"), str(written / "data.csv")]) == 0
    said = capsys.readouterr().out
    assert "The proof holds" in said
    assert "columns: 'topdiam', 'length', 'moist'" in said
    assert "centre: the mean of each column" in said


def test_altered_proofs_are_refused(written):
    _altered(written, lambda proof: proof["values"].__setitem__(0, proof["values"][0] + 1e-6))
    _altered(written, lambda proof: proof["bounds"].__setitem__(0, 0.999 * proof["values"][0]))
    _altered(written, lambda proof: proof["bounds"].append(1.0))
    _altered(written, lambda proof: proof["witness"].pop("first"))
    _altered(written, lambda proof: [one.update(theta=1e-3) for one in proof["witness"]["first"]])
    _altered(written, lambda proof: [one.update({"from": one["to"]}) for one in proof["witness"]["first"]])
    _altered(written, lambda proof: proof["scale"].__setitem__(0, 1.01 * proof["scale"][0]))
    _altered(written, lambda proof: proof["scale"].__setitem__(0, -proof["scale"][0]))
    _altered(written, lambda proof: proof["witness"].update(first=_all_nan(proof["witness"]["first"])))
    _altered(written, lambda proof: proof.update(bounds=[float("nan")]))
    _altered(written, lambda proof: proof.update(measure="variance"))
    _altered(written, lambda proof: proof.update(layout=0))
    _altered(written, lambda proof: proof.pop("columns"))


def _all_nan(one):
    if isinstance(one, dict):
        return {key: _all_nan(value) for key, value in one.items()}
    return [_all_nan(x) for x in one] if isinstance(one, list) else float("nan")


def test_other_data_are_refused(written, capsys):
    other = sp.datasets.pitprops_sample().iloc[:, :8]
    other.iloc[0, 0] += 1.0
    other.to_csv(written / "other.csv", index=False)
    assert cli.main(["verify", str(written / "proof.json"), str(written / "other.csv")]) == 1
    assert "does not prove" in capsys.readouterr().err
    other.iloc[:, 1:].to_csv(written / "fewer.csv", index=False)
    with pytest.raises(RefusedError, match="no column"):
        verify(written / "proof.json", written / "fewer.csv")
    assert cli.main(["verify", str(written / "none.json"), str(written / "data.csv")]) == 1


@pytest.mark.parametrize("options", [{"joint": False}, {"joint": True, "objective": "pev"}])
def test_proofs_for_a_covariance_matrix(tmp_path, options):
    R = sp.datasets.load_pitprops().iloc[:7, :7]
    R.to_csv(tmp_path / "R.csv")
    fit = sp.spca_cov(R, 2, 3, effort="quick")
    certificate = fit.certify(**options, time_limit=LONG)
    certificate.save(tmp_path / "proof.json", time_limit=LONG)
    told = verify(tmp_path / "proof.json", tmp_path / "R.csv")
    assert len([line for line in told if "is possible" in line]) == len(certificate.table)
    proof = json.loads((tmp_path / "proof.json").read_text())
    share = certificate.table["upper_bound"].to_numpy() / (1.0 if options["joint"] else 7.0)
    np.testing.assert_allclose(proof["bounds"], share, rtol=1.1e-4)


def _bounds(S, V, measure):
    """The largest measure over all supports, by enumeration."""
    if V.shape[1] == 1 and measure != "least_squares":
        c = np.count_nonzero(V)
        supports = map(list, combinations(range(len(S)), c))
        return [max(np.linalg.eigvalsh(S[np.ix_(T, T)])[-1] for T in supports)]
    case = proofs.Case(S, tuple(np.count_nonzero(V, axis=0).tolist()), "")
    return [proofs.best_of_all(case, measure)[0]]


def _sound(count, seed):
    """Try to prove what is not true, with every means: bounds below the best, and altered proofs."""
    rng = np.random.default_rng(seed)
    proven = 0
    for number, case in enumerate(proofs.cases(count, seed, (3, 5))):
        V = proofs.poor_fit(case, number)[:, :2]
        for measure in ("adjusted", "pev", "least_squares")[: 3 if V.shape[1] == 1 else 2]:
            best = _bounds(case.S, V, measure)[0]
            S = Ball(case.S, 1e-16 * len(V))
            with pytest.raises(UnwrittenError):
                witnesses(case.S, V, measure, [best * (1.0 - 1e-6)], LONG)
            try:
                found = witnesses(case.S, V, measure, [best * (1.0 + 1e-3) + 1e-9], LONG)
            except UnwrittenError:
                continue  # where the relaxation has a gap
            proven += 1
            check(S, V, measure, [best * (1.0 + 1e-3) + 1e-9], lambda key, asked, held=found: held[key])
            for _ in range(5):
                held = _mutated(found, rng)
                with pytest.raises((RefusedError, KeyError, np.linalg.LinAlgError)):
                    check(S, V, measure, [best * (1.0 - 1e-9)], lambda key, asked, held=held: held[key])
    return proven


def _mutated(found, rng):
    """Return witnesses of which every number is scaled at random."""
    held = copy.deepcopy(found)
    size = rng.choice([0.0, 1e-3, 0.1])

    def scaled(one):
        if isinstance(one, dict):
            return {key: value if key == "split" else scaled(value) for key, value in one.items()}
        return (
            [scaled(x) for x in one] if isinstance(one, list) else one * (1.0 + size * rng.standard_normal())
        )

    return {key: scaled(one) for key, one in held.items()}


def test_no_bound_below_the_best_is_accepted():
    assert _sound(2, 0) > 1


@pytest.mark.slow
def test_no_bound_below_the_best_is_accepted_in_many_problems():
    assert _sound(15, 1) > 7


def test_multipliers_of_any_size_prove_nothing_that_is_not_true():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((9, 5))
    S = A.T @ A / np.sum(A * A)
    V = np.eye(5)[:, :1] + np.eye(5)[:, 1:2]
    best = _bounds(S, V, "pev")[0]
    for size in (0.0, 1e-3, 1.0, 1e6):
        for _ in range(20):

            def ask(key, asked, size=size):
                f = len(asked["free"])
                return {"U": (size * rng.standard_normal(f * (f - 1) // 2)).tolist()}

            with pytest.raises(RefusedError):
                check(Ball(S), V, "pev", [best * (1.0 - 1e-9)], ask)


@pytest.mark.parametrize("card", [1, 6])
def test_one_variable_and_all_of_them_need_no_branches(card):
    S = sp.datasets.load_pitprops().to_numpy()[:6, :6] * np.outer(range(1, 7), range(1, 7))
    best = 36.0 if card == 1 else np.linalg.eigvalsh(S)[-1]
    share = best / np.trace(S) * (1.0 + 1e-6)
    found = witnesses(S / np.trace(S), np.eye(6, 1) if card == 1 else np.ones((6, 1)), "pev", [share], LONG)
    assert not any("split" in one for one in found.values())


def test_values_are_those_of_the_measures():
    S = sp.datasets.load_pitprops().to_numpy() / 13.0
    fit = sp.spca_cov(sp.datasets.load_pitprops(), 3, 4, effort="quick")
    V = fit.loadings.to_numpy()
    for measure in ("pev", "adjusted", "least_squares"):
        value = fit.certify(joint=True, objective=measure, max_nodes=1).table["value"].iloc[0]
        np.testing.assert_allclose(attained(S, V, measure), [value], rtol=1e-10)
    np.testing.assert_allclose(
        attained(S, V, "component"), fit.certify(joint=False, max_nodes=1).table["value"] / 13.0, rtol=1e-10
    )


@pytest.mark.parametrize(
    ("given", "options", "said"),
    [
        ({}, {"objective": "least_squares"}, "least_squares"),
        ({"exclude": {1: ["topdiam"]}}, {}, "rule"),
        ({"weights": np.arange(1.0, 181.0)}, {}, "weights"),
    ],
)
def test_what_no_file_can_have_is_refused_by_name(tmp_path, given, options, said):
    fit = sp.spca(sp.datasets.pitprops_sample(), 2, 3, effort="quick", **given)
    certificate = fit.certify(joint=True, max_nodes=1, **options)
    with pytest.raises(OptionError, match=said):
        certificate.save(tmp_path / "proof.json")


def test_the_checker_imports_nothing_of_the_search():
    tree = ast.parse(Path(checker.__file__).read_text())
    named = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    named |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert named <= {"__future__", "collections.abc", "functools", "itertools", "math", "typing", "numpy"}
