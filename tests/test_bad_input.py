"""Everything that is refused: its own error family, and a message that says what was given and what to do."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sps

import spcastat as sp
from spcastat import errors
from spcastat.arguments import shown


def good() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(rng.standard_normal((30, 4)) * [1, 2, 3, 4], columns=list("abcd"))


def with_value(value: float) -> pd.DataFrame:
    X = good()
    X.loc[7, "b"] = value
    return X


BAD_DATA = [
    (with_value(np.nan), errors.MissingValuesError, r"1 missing value in 1 of 30 rows, in 'b'.*na='drop'"),
    (with_value(-np.inf), errors.InfiniteValuesError, r"1 infinite value in 1 row, in 'b'.*replace"),
    (
        good().assign(**{"Unnamed: 0": "x"}),
        errors.ColumnTypeError,
        r"row labels: pd.read_csv\(path, index_col=0\)",
    ),
    (good().assign(name="x"), errors.ColumnTypeError, r"'name'.*drop\(columns=\['name'\]\)"),
    (good().set_axis(["a", "b", "a", "d"], axis=1), errors.DuplicateNamesError, r"'a'.*[Rr]ename"),
    (good().iloc[:0], errors.TooFewRowsError, r"0 rows; at least two"),
    (good()["a"], errors.ShapeError, r"Series.*to_frame"),
    (memoryview(good().to_numpy()), errors.DataError, r"memoryview.*allowed types are"),
    (good().to_numpy() * 1e307, errors.DataError, r"too large.*Divide"),
]


@pytest.mark.parametrize(("data", "error", "phrase"), BAD_DATA)
def test_data_that_are_refused(data, error, phrase):
    before = data.copy() if hasattr(data, "copy") else data
    for options in ({"card": 2}, {"variance": 0.9}, {"method": "pca"}):
        with pytest.raises(error, match=phrase) as caught:
            sp.spca(data, 1, **options)
        assert type(caught.value) is error  # a family of its own
        assert isinstance(caught.value, errors.SpcaError)
    if isinstance(data, pd.DataFrame):
        pd.testing.assert_frame_equal(data, before, check_exact=True)


class Broken:
    """An object of a user's class in which every look-up of an attribute fails."""

    def __getattr__(self, name):
        raise RuntimeError(f"no {name}")


class Endless:
    """An object that cannot be walked over, though it says so."""

    def __iter__(self):
        raise RuntimeError("closed")


BROKEN = {
    "object": Broken,
    "list": lambda: [Broken()],
    "function": lambda: Broken,
    "function of a list": lambda: lambda: [Broken()],
    "iterable": Endless,
    "function of an iterable": lambda: lambda: Endless(),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_objects_that_fail_when_they_are_looked_at_are_refused(kind):
    data = BROKEN[kind]()
    calls = [lambda: sp.spca(data, 1, 2), lambda: sp.spca_path(data), lambda: sp.spco(data, 1, zeros=0.5)]
    for call in calls:
        with pytest.raises(errors.DataError):
            call()
    with pytest.raises(errors.DataError):
        list(sp.spca(good(), 1, 2).transform(data))  # those of chunks come when they are walked over


BAD_OPTIONS = [
    ({"k": 0, "card": 1}, errors.ComponentsError, r"k=0.*1 or more"),
    ({"k": 2.5}, errors.ComponentsError, r"k=2.5.*whole number"),
    ({"k": 10**20, "card": 2}, errors.ComponentsError, r"k=100000000000000000000 was given.*from 1 to"),
    ({"k": 10**6, "card": 2}, errors.ComponentsError, r"k=1000000.*rank at most 4.*at most 4 components"),
    ({"k": np.timedelta64(2), "card": 2}, errors.ComponentsError, r"k=np.timedelta64\(2\).*whole number"),
    ({"k": 2, "card": [np.timedelta64(2)] * 2}, errors.CardinalityError, r"card=np.timedelta64\(2\)"),
    ({"k": 2, "card": range(10**15)}, errors.CardinalityError, r"card has 1,000,000,000,000,000 values"),
    ({"k": 2, "card": 2, "n_init": 10**20}, errors.OptionError, r"n_init=.*from 1 to 1,000,000"),
    (
        {"k": 2, "card": 2, "method": "bcd-l0", "tol": np.timedelta64(0)},
        errors.OptionError,
        r"tol=np.timedelta64\(0\)",
    ),
    ({"k": 2, "card": 2, "rng": [[1]]}, errors.OptionError, r"rng=\[\[1\]\].*None \(the fixed seed 0\)"),
    ({"k": 5, "card": 2}, errors.ComponentsError, r"k=5.*rank at most 4.*at most 4"),
    ({"k": 2, "card": 5}, errors.CardinalityError, r"card=5.*from 1 to 4"),
    ({"k": 2, "card": [2, -1]}, errors.CardinalityError, r"card=-1"),
    ({"k": 2, "card": 2.5}, errors.CardinalityError, r"card=2.5.*whole number"),
    ({"k": 2, "card": "3"}, errors.CardinalityError, r"card='3'"),
    ({"k": 2, "card": [1, 2, 3]}, errors.CardinalityError, r"card has 3 values, but k=2"),
    ({"k": 2, "card": {"PC1": 2}}, errors.CardinalityError, r"'PC1'.*each of 'PC1', 'PC2'"),
    ({"k": 2, "card": {"PC1": 2, "PC3": 2}}, errors.CardinalityError, r"'PC3'"),
    ({"k": 2, "variance": 1.01}, errors.VarianceError, r"variance=1.01.*\(0, 1\]"),
    ({"k": 2, "variance": float("nan")}, errors.VarianceError, r"variance=nan"),
    (
        {"k": 2, "card": 2, "variance": 0.9},
        errors.OptionError,
        r"card and variance were both given.*give one",
    ),
    ({"k": 2, "card": 2, "method": "bcd_l0"}, errors.MethodError, r"'bcd_l0'.*Did you mean 'bcd-l0'"),
    (
        {"k": 2, "variance": 0.9, "method": "bcd-l0"},
        errors.UnknownOptionError,
        r"'bcd-l0'.*'variance'.*'controlled'",
    ),
    ({"k": 2, "card": 2, "method": "pca"}, errors.UnknownOptionError, r"'pca'.*'card'.*'bcd-l0'"),
    # only what takes the other arguments, too
    ({"k": 2, "card": 2, "c": 2}, errors.UnknownOptionError, r"'joint'.*'c'.*: 'greedy'\."),
    ({"k": 2, "variance": 0.5, "c": 2}, errors.UnknownOptionError, r"'joint'.*'c'.*: 'controlled'\."),
    ({"k": 2, "card": 2, "t": 1.5, "method": "bcd-l1"}, errors.OptionError, r"card and t"),
    ({"k": 2, "card": 2, "t": 1.5, "method": "bcd-l0"}, errors.UnknownOptionError, r"option 't'.*'bcd-l1'"),
    ({"k": 2, "t": 1.5, "method": "bcd-l0"}, errors.UnknownOptionError, r"'t'.*'bcd-l1'"),
    ({"k": 2, "card": 2, "smooth": True}, errors.UnknownOptionError, r"'smooth'(?!.*Did you mean)"),
    ({"k": 2, "card": 2, "lasso": 1}, errors.UnknownOptionError, r"'lasso'(?!.*Did you mean)"),
    ({"k": 2, "crad": 2}, errors.UnknownOptionError, r"'crad'.*Did you mean 'card'"),
    ({"k": 2, "card": 2, "max_itr": 9}, errors.UnknownOptionError, r"'max_itr'.*Did you mean 'max_iter'"),
    ({"k": 2, "card": 2, "method": "greedy", "n_init": 3}, errors.UnknownOptionError, r"'n_init'.*'bcd-l0'"),
    (
        {"k": 2, "card": 2, "method": "greedy", "nonneg": True},
        errors.UnknownOptionError,
        r"'nonneg'.*'bcd-l0'",
    ),
    ({"k": 2, "method": "bcd-l0"}, errors.OptionError, r"'bcd-l0' needs card="),
    ({"k": 2, "method": "bcd-l1"}, errors.OptionError, r"'bcd-l1' needs card= or t="),
    ({"k": 2, "t": 2.1}, errors.OptionError, r"t=2.1.*\[1, 2\]"),
    ({"k": 2, "t": [1.5]}, errors.OptionError, r"t has 1 value, but k=2"),
    ({"k": 2, "card": 2, "nonneg": 1}, errors.OptionError, r"nonneg=1.*True or False"),
    ({"k": 2, "card": 2, "n_init": 0}, errors.OptionError, r"n_init=0.*1 or more"),
    ({"k": 2, "card": 2, "method": "bcd-l0", "max_iter": 0}, errors.OptionError, r"max_iter=0"),
    ({"k": 2, "card": 2, "method": "bcd-l0", "tol": -1e-3}, errors.OptionError, r"tol=-0.001"),
    ({"k": 2, "card": 2, "method": "bcd-l0", "tol": float("nan")}, errors.OptionError, r"tol=nan"),
    ({"k": 2, "card": 2, "order": "size"}, errors.OptionError, r"order='size'.*'variance', 'given'"),
    ({"k": 2, "card": 2, "rng": -1}, errors.OptionError, r"rng=-1"),
    ({"k": 2, "card": 2, "rng": 1.5}, errors.OptionError, r"rng=1.5"),
    ({"k": 2, "variance": 0.9, "method": "controlled", "c": 0}, errors.OptionError, r"c=0"),
    ({"k": 2, "variance": 0.9, "method": "controlled", "exact": "yes"}, errors.OptionError, r"exact='yes'"),
]


@pytest.mark.parametrize(("options", "error", "phrase"), BAD_OPTIONS)
def test_options_that_are_refused(options, error, phrase):
    for data, function in ((good(), sp.spca), (good().cov(), sp.spca_cov)):
        before = data.copy(deep=True)
        with pytest.raises(error, match=phrase) as caught:
            function(data, **options)
        assert type(caught.value) is error
        assert isinstance(caught.value, (errors.SpcaError, ValueError))
        pd.testing.assert_frame_equal(data, before, check_exact=True)


@pytest.mark.parametrize(
    ("options", "error", "phrase"),
    [
        ({"scale": 2.0}, errors.OptionError, r"scale=2.0.*True, False, or 4 numbers"),
        ({"center": 0.0}, errors.OptionError, r"center=0.0"),
        ({"scale": [1, 2, 0, 4]}, errors.OptionError, r"scale contains 0.*positive"),
        ({"center": [np.nan] * 4}, errors.WeightsError, r"center contains 4 missing"),
        ({"weights": [1] * 29}, errors.WeightsError, r"shape \(29,\)"),
        ({"formula": "~ a + nix"}, errors.FormulaError, r"'nix'.*not a column.*'a', 'b', 'c', 'd'"),
        (
            {"formula": "~ log(a) + b"},
            errors.FormulaError,
            r"'log\(a\)'.*missing or infinite.*log needs positive",
        ),
        ({"formula": "~ a +* b"}, errors.FormulaError, r"cannot be read"),
    ],
)
def test_row_options_that_are_refused(options, error, phrase):
    X = good()
    with pytest.raises(error, match=phrase) as caught:
        sp.spca(X, 2, 2, **options)
    assert type(caught.value) is error
    pd.testing.assert_frame_equal(X, good(), check_exact=True)


@pytest.mark.parametrize("kind", [lambda X: X, lambda X: X.to_numpy(), lambda X: sps.csr_array(X.to_numpy())])
@pytest.mark.parametrize("value", [0.0, 0.1, 1e8 + 0.1])
@pytest.mark.parametrize("n", [30, 20000])
def test_a_constant_column_cannot_be_scaled(kind, value, n):
    X = pd.DataFrame(np.random.default_rng(0).standard_normal((n, 2)), columns=["a", "b"]).assign(c=value)
    with pytest.raises(
        errors.ConstantColumnError, match=r"1 of 3 columns does not vary: '(c|x3)'.*scale=False"
    ):
        sp.spca(kind(X), 2, 2, scale=True)


@pytest.mark.parametrize("kind", [np.asarray, sps.csr_array])
@pytest.mark.parametrize("value", [0.0, 0.1, 1e8 + 0.1])
@pytest.mark.parametrize("n", [10, 1001])
def test_data_that_do_not_vary(kind, value, n):
    with pytest.raises(errors.ComponentsError, match="no variance: every column is constant"):
        sp.spca(kind(np.full((n, 3), value)), 1, 1)


class Silent:
    def __repr__(self):
        raise RuntimeError("nothing to say")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (2.0, "2.0"),
        ("a\nb", r"'a\nb'"),
        ("\ud800", r"'\ud800'"),
        (np.float64(0.5), "np.float64(0.5)"),
        (pd.DataFrame({"a": [1]}), "<DataFrame of shape (1, 1)>"),
        ([1, [2, 3]], "[1, [2, 3]]"),
    ],
)
def test_any_value_can_be_shown(value, expected):
    assert shown(value) == expected


def test_what_is_shown_is_short():
    loop = []
    loop.append(loop)
    assert shown(-(10**5000)) == "-<more than 10**60>"  # Python itself writes no such number
    assert shown(Silent()).startswith("<Silent")
    for value in ("x" * 10**6, list(range(10**6)), loop, {i: i for i in range(10**5)}, b"\0" * 10**6):
        assert len(shown(value)) <= 160
        assert shown(value).isprintable()


def test_labels_of_half_characters(tmp_path):
    """A lone surrogate cannot be encoded: it is shown as an escape, and comes back from a file."""
    X = good().set_axis(pd.Index(["a\ud800", "b", "c", "d"], dtype=object), axis=1)
    fit = sp.spca(X, 2, 3, effort="quick")
    for text in (str(fit), fit.summary().as_html(), fit.summary().as_latex(), fit.summary().as_markdown()):
        text.encode("utf-8")
    pd.testing.assert_frame_equal(fit.transform(X.iloc[:, ::-1]), fit.scores)
    fit.save(tmp_path / "fit")
    assert list(sp.load(tmp_path / "fit").loadings.index) == list(X.columns)
    with pytest.raises(errors.NewDataError) as caught:
        fit.transform(X[["b", "c"]])
    str(caught.value).encode("utf-8")


@pytest.mark.parametrize("block", [b"", b"text", b"3", b"\xff", b'{"index_columns": 3}', b"[" * 50_000])
def test_a_damaged_block_of_pandas_in_a_parquet_file(tmp_path, block):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = pyarrow.Table.from_pandas(good()).replace_schema_metadata({b"pandas": block})
    parquet.write_table(table, tmp_path / "rows.parquet")
    with pytest.raises(errors.FileError, match=r"are damaged.*replace_schema_metadata\(None\)"):
        sp.spca(str(tmp_path / "rows.parquet"), 2, 2)


def test_options_that_would_be_ignored():
    fit = sp.spca(good(), 2, 2, effort="quick")
    with pytest.raises(errors.OptionError, match="na='omit'"):
        fit.diagnostics(na="omit")
    with pytest.raises(errors.OptionError, match=r"covariance=.* True or False"):
        sp.spca_path(good(), 1, cards=[1], covariance="yes")
    labelled = pd.Series([1.0, 0, 0, 0], index=list("bacd"))
    in_order = labelled[list("abcd")]
    assert sp.measures.pev(labelled, X=good()) == sp.measures.pev(in_order, X=good())
    with pytest.raises(errors.ShapeError, match="differ in labels"):
        sp.measures.pev(labelled.set_axis(list("wxyz")), X=good())


def test_every_error_has_one_root_and_a_built_in_parent():
    families = [e for e in vars(errors).values() if isinstance(e, type) and issubclass(e, Exception)]
    for family in families:
        if issubclass(family, Warning):
            assert issubclass(family, errors.SpcaWarning)
        else:
            assert issubclass(family, errors.SpcaError)
            parents = ValueError, TypeError, OSError, ImportError
            assert family is errors.SpcaError or issubclass(family, parents)


@pytest.mark.parametrize("value", [good(), np.ones(3), [np.nan, "cv"]], ids=["frame", "array", "list"])
def test_options_that_decide_how_data_are_read_may_be_anything(value):
    calls = [
        lambda: sp.choose(good(), k=1, by=value, together={"g": ["a", "b"]}),
        lambda: sp.choose(good(), k=1, together=value),
        lambda: sp.choose(good(), k=1, method=value),
        lambda: sp.spca(good(), 1, 2, method=value),
        lambda: sp.principal_variables(good(), m=2, folds=value),
        lambda: sp.principal_variables(good(), share=value),
    ]
    for call in calls:
        with pytest.raises(errors.SpcaError, match=shown(value)[:10].replace("[", r"\[")):
            call()


def damaged_squares():
    """Square sparse matrices that would be symmetric: they are checked before their entries are read."""
    pointers = sps.csr_array(np.eye(4) + 1.0)
    pointers.indptr = pointers.indptr.astype(float)
    lists = sps.lil_array(np.eye(4))
    lists.data[0] = [1.0, 2.0]
    return {"pointers": pointers, "lists": lists}


@pytest.mark.parametrize("name", damaged_squares())
def test_a_damaged_square_matrix_is_not_read_before_it_is_checked(name):
    with pytest.raises(errors.SparseStructureError, match="is damaged"):
        sp.spca(damaged_squares()[name], 1, 1)


def test_a_message_about_a_table_of_arrow_is_one_sentence():
    pa = pytest.importorskip("pyarrow")
    table = pa.table([pa.array([1.0, 2.0, 4.0])] * 3, names=["a", "b", "a"])
    with pytest.raises(errors.DuplicateNamesError, match=r"^Columns share a name: 'a'\. Names must differ"):
        sp.spca(table, 1, 1)


@pytest.mark.parametrize("name", ["x.parquet", "x.spca"])
def test_a_name_that_is_too_long_for_a_file(name):
    pytest.importorskip("pyarrow")
    call = sp.load if name.endswith("spca") else lambda path: sp.spca([path], 1, 1)
    with pytest.raises(errors.SpcaError, match="File name too long"):
        call("a" * 400 + name)


def test_a_number_of_thousands_of_digits_in_a_formula():
    with pytest.raises(errors.FormulaError, match="null character, or a number with thousands of digits"):
        sp.spca("~ a + log(b * " + "9" * 5000 + ")", data=good(), k=1, card=1)


def test_advice_of_a_number_of_components_names_the_function_that_takes_it(monkeypatch):
    """choose_k() has no k=."""
    from spcastat.assess import component_tests

    monkeypatch.setattr(component_tests, "NOISE", component_tests.NoiseTuning(flipped_cells=20))
    holes = good().mask(good() > 4.0)
    with pytest.raises(errors.DataError, match=r"give a sample of the rows, or k= to choose\(\)"):
        sp.choose_k(holes, na="em", n_draws=19)
    assert sp.choose(holes, k=1, na="em", cards=[2], folds=3, repeats=1).k == 1


def test_copies_are_not_more_rows_for_folds():
    """Nine observations, once each, or four times each: columns of normal numbers are not equal by chance."""
    rows = pd.DataFrame(np.random.default_rng(0).standard_normal((9, 12)))
    repeated = pd.concat([rows] * 4, ignore_index=True)
    for data, options in ((rows, {}), (repeated, {}), (rows, {"weights": [4] * 9})):
        with pytest.raises(errors.SpcaError, match=r"folds=10 was given for 9 .*rows"):
            sp.choose(data, k=1, cards=[2], folds=10, repeats=1, **options)
        assert sp.choose(data, k=1, cards=[2], folds=3, repeats=1, **options).k == 1
