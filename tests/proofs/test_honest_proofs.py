"""`verify` accepts what `save` writes, for a CSV file of the data; `save` refuses what it would refuse."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat.errors import OptionError
from spcastat.proofs.verify import verify

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
    "single precision": lambda: (0.1 * ROWS).astype(np.float32),
    "half precision": lambda: (0.1 * ROWS).astype(np.float16),
    "some in single precision": lambda: (0.1 * ROWS).astype({"length": np.float32, "moist": "Float32"}),
    "whole numbers": lambda: (1000 * ROWS).astype(np.int64),
    "units of 1e100": lambda: ROWS * 1e100,
    "units of 1e-100": lambda: ROWS * 1e-100,
    "an array": lambda: ROWS.to_numpy(),
    "an array in single precision": lambda: (0.1 * ROWS).to_numpy(dtype=np.float32),
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
    from spcastat.proofs.checker import RefusedError

    saved(tmp_path, sp.spca_cov(R, 2, 2, effort="quick"), R, True)
    R.iloc[::-1].to_csv(tmp_path / "data.csv")
    with pytest.raises(RefusedError, match="in order"):
        verify(tmp_path / "proof.json", tmp_path / "data.csv")


IMPOSSIBLE = R.to_numpy(copy=True)
IMPOSSIBLE[0, 1] = IMPOSSIBLE[1, 0] = 0.999
IMPOSSIBLE[0, 2] = IMPOSSIBLE[2, 0] = -0.9


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


def test_names_of_several_levels_are_refused_by_save(tmp_path):
    """They take several lines of a CSV file."""
    data = ROWS.set_axis(pd.MultiIndex.from_tuples([("a", i) for i in range(6)]), axis=1)
    with pytest.raises(OptionError, match="columns of a CSV file"):
        sp.spca(data, 2, 2, effort="quick").certify(joint=True).save(tmp_path / "proof.json")


def test_the_radius_covers_the_rounding_of_many_rows():
    """Each entry of D'D against exact rational arithmetic, on rows whose means are 1e6 deviations."""
    from fractions import Fraction

    from spcastat.proofs.verify import covariance

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
