"""Calls of what was removed: the message says in one sentence what to use instead."""

from __future__ import annotations

import numpy as np
import pytest

import spcastat as sp
from spcastat import cli
from spcastat.errors import CovarianceError, DataError, MethodError, OptionError, UnknownOptionError

from .refusals import each, require_refusal

# fmt: off
REMOVED = [
    ("certificate.save('proof.json')", AttributeError,
     r"no attribute 'save'; save its numbers by certificate.table.to_csv\(path\)$"),
    *[(f"fit.bootstrap(9, {name}=None)", UnknownOptionError,
       rf"^SpcaResult.bootstrap\(\) no longer has {name}=; give clusters= and strata= to spca\(\), or fit")
      for name in ("replicate_weights", "replicate_type", "replicate_scale")],
    *[(f"sp.spca(array({library!r}), 2, 3)", DataError,
       rf"^Data of type {library}\.core\.Array were given, which cannot be read; give {instead}.*\)\)\.$")
      for library, instead in (("xarray", r"x\.to_pandas\(\), or "),
                               *((name, "a function") for name in ("zarr", "h5py", "netCDF4")))],
    ("sp.spca_cov(array('xarray'), 2, 3)", CovarianceError, r"give a DataFrame or np\.asarray\(S\)\.$"),
    ("fit.bootstrap(39).conf_int(kind='normal')", OptionError,
     "ignore the selection; give kind='hull', which is"),
    ("fit.certify(orthogonal=True)", UnknownOptionError,
     r'certify\(\) no longer has orthogonal=; fit with constraint="orthogonal", whose'),
    *[(f"sp.spca(rows, 2, 3, method={method!r}, {name}='x')", UnknownOptionError,
       rf"^'{name}' is no longer an option of any method; {instead}")
      for method, name, instead in (("pathspca", "certify", r"fit\.certify\(\)"),
                                    ("spcagrid", "spread", "the scale is the median"),
                                    ("rotate", "rotation", "the rotation is varimax"),
                                    ("rotate", "kaiser", "the rotation is varimax"))],
    *[(f"sp.spca(rows, 2, 3, method={name!r})", MethodError,
       rf"^The method '{name}' was removed; {instead}")
      for name, instead in (("dcpca", "the default"), ("gspca", "the default"),
                            ("iterative-elimination", "the default"), ("bcd-lad", "for rows give robust"),
                            ("r1-pca", "for rows give robust"), ("l1-factor", "for rows give robust"))],
    ("certificate.lodings", AttributeError, "no attribute 'lodings'$"),
]
COMMANDS = [
    ("verify proof.json rows.csv", "fit.certify()"),
    ("explore rows.csv --out page.html", "spca_path(data, k).explore(path)"),
    ("groups rows.csv --by species --k 2", "compare_groups(data, groups, k)"),
    ("methods", "methods()"),
    ("datasets", "pitprops, harman74, wine, judges"),
]
# fmt: on


class Array:
    """An array of another library: it has a shape and can be sliced, and NumPy would read it."""

    def __init__(self, values):
        self.values, self.shape, self.dtype = values, values.shape, values.dtype

    def __getitem__(self, key):
        return self.values[key]

    def __array__(self, dtype=None, copy=None):
        raise AssertionError("all rows are read")


def array_of(library, values=None):
    """Return an object whose type is defined in another library."""
    kind = type("Array", (Array,), {"__module__": f"{library}.core"})
    return kind(np.eye(6) + 1.0 if values is None else values)


@pytest.fixture(scope="module")
def names():
    fit = sp.spca_cov(sp.datasets.load_pitprops(), 1, 3, n_obs=180)
    rows = sp.datasets.load_judges()
    return {"sp": sp, "fit": fit, "certificate": fit.certify(), "array": array_of, "rows": rows}


@each(REMOVED)
def test_what_was_removed_is_refused_with_its_replacement(refused, names):
    require_refusal(refused, names)


@pytest.mark.parametrize(("line", "instead"), COMMANDS, ids=[line for line, _ in COMMANDS])
def test_a_removed_command_names_what_to_use(line, instead, capsys):
    assert cli.main(line.split()) == 2
    out, err = capsys.readouterr()
    command = line.split()[0]
    assert out == ""
    assert f"the command {command} was removed: " in err
    assert instead in err


def test_the_advice_of_a_certificate_works(names, tmp_path):
    names["certificate"].table.to_csv(tmp_path / "proof.csv")
    assert "upper_bound" in (tmp_path / "proof.csv").read_text()


def test_the_advice_on_replicate_weights_works():
    """A fit for each replicate of a jackknife: standard errors of the loadings of the first component.

    Figures of R's survey 4.1.1 for the judges in clusters of four: svydesign(id=~cl, weights=~w),
    as.svrepdesign(type="JK1"), withReplicates of the entries of the first eigenvector of cov.wt(method="ML",
    cor=TRUE), with the sign of the whole sample; printed to seven decimal places.
    """
    judges = sp.datasets.load_judges()
    rows = np.arange(len(judges))
    weights = 1.0 + rows % 3
    loadings = []
    for cluster in range(11):
        w = np.where(rows // 4 == cluster, 0.0, weights * 11 / 10)
        fit = sp.spca(judges, 1, card=12, scale=True, weights=w, weights_are="sampling")
        loadings.append(fit.loadings["PC1"].to_numpy())
    errors = np.sqrt(10.0 * np.var(loadings, axis=0))  # 10/11 of the sum of squared deviations
    expected = [
        *(0.0579017, 0.0098299, 0.0071568, 0.0040552, 0.0036542, 0.0022977),
        *(0.0026365, 0.0023143, 0.0031430, 0.0027458, 0.0052737, 0.0029156),
    ]
    np.testing.assert_allclose(errors, expected, rtol=0, atol=1e-7)


@pytest.mark.parametrize("kind", ["stand-in", "zarr", "h5py", "xarray"])
def test_the_advice_on_arrays_of_other_libraries_works(kind, tmp_path):
    X = np.random.default_rng(0).standard_normal((25_000, 4)) + np.arange(4.0)
    plain = sp.spca(X, 1, 2)
    if kind == "xarray":
        x = pytest.importorskip("xarray").DataArray(X)
        assert (sp.spca(x.to_pandas(), 1, 2).loadings.to_numpy() == plain.loadings.to_numpy()).all()
        pieces = lambda: (x[i : i + 10_000].to_pandas() for i in range(0, x.shape[0], 10_000))  # noqa: E731
    else:
        if kind == "stand-in":
            x = array_of("zarr", X)
        elif kind == "zarr":
            x = pytest.importorskip("zarr").array(X)
        else:
            x = pytest.importorskip("h5py").File(tmp_path / "x.h5", "w").create_dataset("x", data=X)
        pieces = lambda: (x[i : i + 10_000] for i in range(0, x.shape[0], 10_000))  # noqa: E731
    fit = sp.spca(pieces, 1, 2)
    # sums over three chunks are joined in another order than in memory
    np.testing.assert_allclose(fit.loadings, plain.loadings, rtol=0, atol=1e-11)
