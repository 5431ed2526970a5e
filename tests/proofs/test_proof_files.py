"""Proofs in files: what is true passes the checker, and nothing else does."""

import ast
import copy
import json
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from benchmarks import proofs
from spcastat import cli
from spcastat.errors import OptionError
from spcastat.proofs import verify as checker
from spcastat.proofs.verify import Ball, RefusedError, attained, check, covariance, parsed, read, verify
from spcastat.proofs.witness import UnwrittenError, witnesses

from . import independent_checker
from .proof_files import LONG, forged, proofs_in, too_low


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The data, and a proof of two components, in files."""
    folder = tmp_path_factory.mktemp("proof")
    data = sp.datasets.pitprops_sample().iloc[:, :8]
    data.to_csv(folder / "data.csv", index=False)
    fit = sp.spca(data, 2, 3, effort="quick")
    fit.certify(joint=True, time_limit=LONG).save(folder / "proof.json", time_limit=LONG)
    return folder


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


def test_the_checker_imports_nothing_of_the_search():
    tree = ast.parse(Path(checker.__file__).read_text())
    named = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    named |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert not [name for name in named if name.startswith("spcastat")]


# --- Forged and malformed proofs: none is accepted, and each is refused in one line ----------------


def refused(tmp_path, proof, data) -> bool:
    """Return whether `verify` refuses a proof; data are the path of a file."""
    (tmp_path / "forged.json").write_text(proof if isinstance(proof, str) else json.dumps(proof))
    try:
        verify(tmp_path / "forged.json", data)
    except RefusedError:
        return True
    return False


def test_no_forged_file_is_accepted(folder, tmp_path):
    count = 0
    for name, proof in proofs_in(folder):
        data = folder / name / "data.csv"
        assert not refused(tmp_path, proof, data)
        accepted = [change for change, other in forged(proof) if not refused(tmp_path, other, data)]
        assert accepted == [], name
        count += len(list(forged(proof)))
    assert count >= 60


def test_no_bound_that_is_lower_by_a_millionth_is_accepted(folder, tmp_path):
    for name, proof in proofs_in(folder):
        path = folder / name
        known = parsed(json.dumps(proof))
        S = covariance(read(path / "data.csv", known), known.data, known.centre, known.scale)
        assert refused(tmp_path, too_low(proof, S.mid, attained), path / "data.csv"), name


def _of_matrix(S, loadings, measure, bound, witness):
    """Return a proof file about a covariance matrix with columns a, b, ..."""
    p = len(S)
    return {
        "layout": 1,
        "measure": measure,
        "columns": list("abcdefghijklm")[:p],
        "data": "covariance",
        "centre": [0.0] * p,
        "scale": [1.0] * p,
        "loadings": loadings,
        "bounds": [bound],
        "values": attained(S / np.trace(S), np.array(loadings), measure),
        "witness": witness,
    }


def _written(tmp_path, S):
    pd.DataFrame(S, columns=list("abcdefghijklm")[: len(S)]).to_csv(tmp_path / "S.csv", index=False)
    return tmp_path / "S.csv"


def test_false_is_no_variable(tmp_path):
    """diag(99, 1): the first variable has .99 of the variance, and the file claims .0100001 for the best.

    False equals 0, so that it is in the list of free variables; as an index it selects nothing.
    """
    S = np.diag([99.0, 1.0])
    witness = {"0:": {"split": False}, "0:+False": {"U": []}, "0:-False": {"U": []}}
    proof = _of_matrix(S, [[0.0], [1.0]], "component", 0.0100001, witness)
    assert refused(tmp_path, proof, _written(tmp_path, S))


def test_a_multiplier_of_one_number_is_no_matrix(tmp_path):
    """diag(.5, .3, .2): the best two components of one variable have .8; the file claims .76.

    Broadcast to order 3, x^2 lowers every entry of R_T R_T' - Z, and counts once in the trace.
    """
    S = np.diag([0.5, 0.3, 0.2])
    V = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    for x in np.linspace(0.05, 0.7, 14):  # at .3 all supports look closed
        proof = _of_matrix(S, V, "adjusted", 0.76, {"": [[float(x)]]})
        assert refused(tmp_path, proof, _written(tmp_path, S))


@pytest.mark.parametrize("field", ["centre", "scale"])
def test_one_centre_or_scale_for_each_row_is_refused(folder, tmp_path, field):
    """With n x p centres any data give any covariance matrix; with n scales rows are weighted away."""
    path = folder / "component"
    proof = json.loads((path / "proof.json").read_text())
    data = pd.read_csv(path / "data.csv")[proof["columns"]]
    rng = np.random.default_rng(0)
    other = data.iloc[rng.permutation(len(data))].to_numpy() + rng.standard_normal(data.shape)
    if field == "centre":  # the differences are those of the first data
        proof["centre"] = (other - data.to_numpy() + np.array(proof["centre"])).tolist()
        pd.DataFrame(other, columns=data.columns).to_csv(tmp_path / "other.csv", index=False)
    else:
        both = pd.concat([data, pd.DataFrame(1e3 * other, columns=data.columns)])
        both.to_csv(tmp_path / "other.csv", index=False)
        proof["centre"] = [0.0] * len(data.columns)
        proof["scale"] = [[1.0]] * len(data) + [[1e200]] * len(data)
    assert refused(tmp_path, proof, tmp_path / "other.csv")


def test_columns_named_twice_are_refused(tmp_path):
    """Column b has nearly all the variance; the file names column a twice, and claims .500001."""
    rows = pd.DataFrame(np.random.default_rng(0).standard_normal((50, 2)) * [1.0, 10.0], columns=["a", "b"])
    rows.to_csv(tmp_path / "rows.csv", index=False)
    witness = {"0:": {"U": [0.5]}}
    proof = _of_matrix(np.ones((2, 2)), [[1.0], [0.0]], "component", 0.500001, witness)
    proof |= {"columns": ["a", "a"], "data": "rows"}
    assert refused(tmp_path, proof, tmp_path / "rows.csv")


def test_the_verdict_states_other_centres_and_scales(tmp_path, capsys):
    """Scale is part of the claim: 1e6 for one column makes it count for nothing."""
    rows = sp.datasets.pitprops_sample().iloc[:, :6]
    rows.to_csv(tmp_path / "data.csv", index=False)
    scale = np.array([1e6, *rows.std()[1:]])
    for centre in (True, np.arange(6.0)):
        fit = sp.spca(rows, 1, 2, center=centre, scale=scale)
        fit.certify().save(tmp_path / "proof.json")
        assert cli.main(["verify", str(tmp_path / "proof.json"), str(tmp_path / "data.csv")]) == 0
        said = capsys.readouterr().out
        assert "scale: 'topdiam' 1000000," in said
        assert ("centre: the mean of each column" in said) == (centre is True)
        assert ("centre: 'topdiam' 0, 'length' 1," in said) == (centre is not True)
    sp.spca(rows, 1, 2, scale=True).certify().save(tmp_path / "proof.json")
    assert cli.main(["verify", str(tmp_path / "proof.json"), str(tmp_path / "data.csv")]) == 0
    assert "scale: the standard deviation of each column" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "JSON"),
        ("[]", "does not consist of"),
        ("[" * 100_000, "RecursionError"),
        ('{"layout": 1, "layout": 1}', "twice"),
        ('{"layout": NaN}', "NaN is not a number"),
        ("1" * 5000, "ValueError"),
    ],
)
def test_what_is_no_proof_at_all_is_refused_by_name(folder, tmp_path, text, reason):
    (tmp_path / "no.json").write_text(text)
    with pytest.raises(RefusedError, match=reason):
        verify(tmp_path / "no.json", folder / "pev" / "data.csv")


SPECIAL = (
    None, True, False, 0, -1, 1, 2.5, 1e308, -1e-308, 10**400, float("nan"), float("-inf"), "", "1", "a\nb",
    "\x00", [], [[]], [0.0], [[0.0]], {}, {"split": 0}, {"U": []}, [{}], [None], "split",
)  # fmt: skip


def mutated(proof, rng):
    """Return a proof in which one to three places, drawn at random, have other content."""
    proof = copy.deepcopy(proof)
    for _ in range(rng.integers(1, 4)):
        here = proof
        while True:
            keys = list(here) if isinstance(here, dict) else list(range(len(here)))
            if not keys:
                break
            key = keys[rng.integers(len(keys))]
            if isinstance(here[key], (dict, list)) and rng.random() < 0.75:
                here = here[key]
                continue
            kind = rng.integers(4)
            if kind == 0:
                del here[key]
            elif kind == 1 and isinstance(here, list):
                here.insert(key, copy.deepcopy(here[key]))
            elif kind == 2 and isinstance(here[key], float):
                here[key] *= float(rng.choice([-1.0, 0.5, 1.0 - 1e-6, 2.0, 1e300]))
            else:
                here[key] = copy.deepcopy(SPECIAL[rng.integers(len(SPECIAL))])
            break
    return proof


def replaced(text, rng):
    """Return a text in which one character, drawn at random, is replaced."""
    at = int(rng.integers(len(text)))
    return text[:at] + str(rng.choice(["", "[", "}", ",", "9", "e", "x", "_", "\n", '"'])) + text[at + 1 :]


def test_malformed_files_end_in_one_line(folder, tmp_path, capsys):
    """150 mutations of proofs, and 30 of their text and data: exit status 0 or 1, and one line of error.

    An accepted one must still be true: its bounds are those of the valid file, or larger, or say less.
    """
    rng = np.random.default_rng(0)
    valid = list(proofs_in(folder))
    for number in range(180):
        name, proof = valid[number % len(valid)]
        data, text = folder / name / "data.csv", json.dumps(proof)
        if number < 150:
            text = json.dumps(mutated(proof, rng))
        elif number % 2:
            text = replaced(text, rng)
        else:
            (tmp_path / "data.csv").write_text(replaced(data.read_text(), rng))
            data = tmp_path / "data.csv"
        (tmp_path / "proof.json").write_text(text)
        status = cli.main(["verify", str(tmp_path / "proof.json"), str(data)])
        said = capsys.readouterr()
        assert status in (0, 1), number
        assert len(said.err.splitlines()) == status, (number, said.err)
        if status == 0 and number < 150:
            found = json.loads(text)
            best = np.array(proof["bounds" if proof["measure"] == "component" else "values"]) - 1e-6
            cards = [np.count_nonzero(np.array(one["loadings"]), axis=0).tolist() for one in (found, proof)]
            assert cards[0] != cards[1] or (np.array(found["bounds"]) > best).all(), number


def test_certificates_of_the_files_are_closed():
    """The bounds of `too_low` are false only if those of single components are the best to 1e-6."""
    fit = sp.spca(sp.datasets.pitprops_sample().iloc[:, :8], 2, 3, effort="quick")
    found = fit.certify(joint=False, time_limit=LONG).table
    np.testing.assert_allclose(found["upper_bound"], found["best_known"], rtol=1e-8)


# --- `verify` accepts what `save` writes, for a CSV file of the data; `save` refuses what it would refuse ---

ROWS = sp.datasets.pitprops_sample().iloc[:, :6]
R = sp.datasets.load_pitprops().iloc[:6, :6]


def years():
    """A column whose mean is 2,000 times its standard deviation, like years, latitudes or pressures."""
    return ROWS.assign(topdiam=ROWS["topdiam"] / ROWS["topdiam"].std() + 2000.0)


def named(names):
    return ROWS.set_axis(names, axis=1)


DATA = {
    "years": years,
    "means of 1e6 standard deviations": lambda: ROWS / ROWS.std() + 1e6,
    "booleans": lambda: ROWS.assign(ringtop=ROWS["ringtop"] > ROWS["ringtop"].median()),
    "outer spaces": lambda: named([" a", "a ", "a", " b", "c ", "d"]),
    "quotes and commas": lambda: named(['a"', "b,c", "d;e", "é", "NA", "True"]),
    "numbers as names": lambda: named(range(6)),
    "whole numbers": lambda: (1000 * ROWS).astype(np.int64),
    "units of 1e100": lambda: ROWS * 1e100,
    "units of 1e-100": lambda: ROWS * 1e-100,
    "an array": lambda: ROWS.to_numpy(),
    "row labels": lambda: ROWS.set_axis([f"tree {i}" for i in range(len(ROWS))], axis=0),
}


def saved(folder, fit, data, index=False, **options):
    """Save the proof of a fit and a CSV file of its data; return what `verify` says."""
    fit.certify(**options).save(folder / "proof.json")
    if not isinstance(data, pd.DataFrame):
        data = pd.DataFrame(data, columns=fit.loadings.index)
    data.to_csv(folder / "data.csv", index=index)
    return verify(folder / "proof.json", folder / "data.csv")


#: Data and kinds of proof. What is read of the data does not depend on the kind.
KINDS = [*((what, False) for what in DATA), ("years", True), ("units of 1e100", True), ("row labels", True)]


@pytest.mark.parametrize(("what", "joint"), KINDS)
def test_saved_proofs_hold_for_a_csv_file_of_the_data(tmp_path, what, joint):
    data = DATA[what]()
    fit = sp.spca(data, 2, 2, scale="units" not in what, effort="quick")
    told = saved(tmp_path, fit, data, what == "row labels", joint=joint)
    assert len([line for line in told if "is possible" in line]) == (1 if joint else 2)
    assert "centre: the mean of each column" in told


@pytest.mark.parametrize(
    "options", [{"center": False}, {"scale": np.arange(1.0, 7.0)}, {"center": np.ones(6)}]
)
def test_saved_proofs_hold_with_every_centre_and_scale(tmp_path, options):
    assert saved(tmp_path, sp.spca(ROWS, 2, 2, effort="quick", **options), ROWS)


def test_saved_proofs_hold_with_a_scale_by_blocks(tmp_path):
    blocks = {"size": list(ROWS.columns[:3]), "rest": list(ROWS.columns[3:])}
    assert saved(tmp_path, sp.spca(ROWS, 2, 2, scale="blocks", blocks=blocks, effort="quick"), ROWS)


@pytest.mark.parametrize(("unit", "index"), [(1.0, True), (1.0, False), (1e200, True), (1e-200, False)])
def test_saved_proofs_hold_for_covariance_matrices(tmp_path, unit, index):
    assert saved(tmp_path, sp.spca_cov(R * unit, 2, 2, effort="quick"), R * unit, index)


def test_rows_of_a_covariance_matrix_in_another_order_are_refused(tmp_path):
    saved(tmp_path, sp.spca_cov(R, 2, 2, effort="quick"), R, True)
    R.iloc[::-1].to_csv(tmp_path / "data.csv")
    with pytest.raises(RefusedError, match="in order"):
        verify(tmp_path / "proof.json", tmp_path / "data.csv")


IMPOSSIBLE = R.to_numpy(copy=True)
IMPOSSIBLE[0, 1] = IMPOSSIBLE[1, 0] = 0.999
IMPOSSIBLE[0, 2] = IMPOSSIBLE[2, 0] = -0.9


SEVERAL_LEVELS = pd.MultiIndex.from_tuples([("a", i) for i in range(6)])  # take several lines of a CSV file


@pytest.mark.parametrize(
    ("data", "options", "said"),
    [
        ((0.1 * ROWS).astype(np.float32), {}, "single precision"),
        ((0.1 * ROWS).astype({"length": np.float16, "moist": "Float32"}), {}, "single precision"),
        (ROWS.set_axis(SEVERAL_LEVELS, axis=1), {}, "columns of a CSV file"),
        (ROWS, {"exclude": {1: ["topdiam"]}}, "rule"),
        (ROWS, {"weights": np.arange(1.0, 181.0)}, "weights"),
        (ROWS, {"objective": "least_squares"}, "least_squares"),
    ],
)
def test_what_no_file_can_have_is_refused_by_name(tmp_path, data, options, said):
    certificate = sp.spca(data, 2, 2, effort="quick", **options).certify(joint=True, max_nodes=1)
    with pytest.raises(OptionError, match=said):
        certificate.save(tmp_path / "proof.json")


@pytest.mark.parametrize(
    ("S", "options", "said"),
    [
        (R, {"given": ["topdiam"]}, "given="),
        (R, {"scale": "blocks", "blocks": {"a": list(R)[:3], "b": list(R)[3:]}}, "scale of a covariance"),
        (pd.DataFrame(IMPOSSIBLE, R.index, R.columns), {"nearest": True}, "nearest=True"),
        (R.astype(np.float32), {}, "single precision"),
    ],
)
def test_what_cannot_be_checked_later_is_refused_by_save(tmp_path, S, options, said):
    fit = sp.spca_cov(S, 2, 2, effort="quick", **options)
    with pytest.raises(OptionError, match=said):
        fit.certify(joint=True).save(tmp_path / "proof.json")
    assert not (tmp_path / "proof.json").exists()


def test_the_radius_covers_the_rounding_of_many_rows():
    """Each entry of D'D against exact rational arithmetic, on rows whose means are 1e6 deviations."""
    X = (ROWS / ROWS.std() + 1e6).to_numpy()[:, :3]
    X = np.vstack([X, X + 0.125, X - 0.375])  # 540 rows, so that three parts are added
    centre, scale = X.mean(axis=0), X.std(axis=0, ddof=1)
    S = covariance(X, "rows", centre, scale)
    D = [[(Fraction(x) - Fraction(m)) / Fraction(s) for x, m, s in zip(row, centre, scale, strict=True)]
         for row in X.tolist()]  # fmt: skip
    exact = [[sum(row[i] * row[j] for row in D) for j in range(3)] for i in range(3)]
    # S may have any trace near one: it is compared with the multiple of the exact matrix with that trace
    factor = Fraction(float(np.trace(S.mid))) / (exact[0][0] + exact[1][1] + exact[2][2])
    error = [[float(Fraction(S.mid[i, j]) - factor * exact[i][j]) for j in range(3)] for i in range(3)]
    assert np.linalg.norm(error) <= 2.0 * float(S.rad)
    assert float(S.rad) < 1e-12


# --- A checker that was written from docs/proof_file.md alone agrees with `verify` ----------------

REFUSALS = (ArithmeticError, LookupError, TypeError, ValueError, RecursionError, np.linalg.LinAlgError)


def accepted(check, refusals, proof, data) -> bool:
    """Return whether a checker accepts a proof."""
    try:
        with np.errstate(all="ignore"):
            check(proof, data)
    except refusals:
        return False
    return True


def numbers_changed(proof, rng):
    """Return a proof with every number of its witness changed by up to a tenth."""
    proof = copy.deepcopy(proof)

    def changed(one):
        if isinstance(one, dict):
            return {key: value if key == "split" else changed(value) for key, value in one.items()}
        if isinstance(one, list):
            return [changed(x) for x in one]
        return one * (1.0 + 0.1 * rng.standard_normal())

    proof["witness"] = {key: changed(one) for key, one in proof["witness"].items()}
    return proof


def test_both_checkers_agree(folder, tmp_path):
    """Valid files, forged ones of every kind, and larger bounds, which are weaker claims."""
    rng = np.random.default_rng(0)
    count, valid = 0, 0
    for name, proof in proofs_in(folder):
        data = folder / name / "data.csv"
        known = parsed(json.dumps(proof))
        S = covariance(read(data, known), known.data, known.centre, known.scale).mid
        files = {"valid": proof, "too low": too_low(proof, S, attained)}
        files["changed"] = numbers_changed(proof, rng)
        files["larger"] = {**copy.deepcopy(proof), "bounds": [x * 1.001 for x in proof["bounds"]]}
        every = list(forged(proof))
        files |= {every[i][0]: every[i][1] for i in rng.choice(len(every), 6, replace=False)}
        for what, one in files.items():
            (tmp_path / "proof.json").write_text(json.dumps(one))
            both = [
                accepted(verify, RefusedError, tmp_path / "proof.json", data),
                accepted(independent_checker.check, REFUSALS, tmp_path / "proof.json", data),
            ]
            assert both[0] == both[1], (name, what, both)
            assert both[0] or what not in ("valid", "larger")
            valid += both[0]
            count += 1
    assert count >= 40
    assert valid >= 12


def test_the_second_checker_shares_no_code_and_is_short():
    text = Path(independent_checker.__file__).read_text()
    tree = ast.parse(text)
    named = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    named |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert named == {"csv", "itertools", "json", "numpy"}
    assert len(text.splitlines()) <= 200
