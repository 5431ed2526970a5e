"""Deflated rows must be what the deflated covariance matrix says, whatever the rows are held as."""

import numpy as np
import pytest
import scipy.sparse

from spcastat.errors import OptionError
from spcastat.linalg.build import prepare
from spcastat.linalg.deflation import ROW_DEFLATIONS, Removed, deflate, deflate_rows


def rows_operator(n, p, sparse, weighted):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((n, p)) * (rng.random((n, p)) < 0.4) * np.linspace(3, 1, p) + 0.0
    weights = rng.integers(1, 4, n).astype(float) if weighted else None
    held = scipy.sparse.csc_array(X) if sparse else X
    return prepare(held, weights, True, False, range(p), keep_rows=True)[1]


@pytest.mark.parametrize("how", ROW_DEFLATIONS)
@pytest.mark.parametrize(("n", "p", "sparse", "weighted"), [(40, 7, False, True), (6, 15, True, False)])
def test_rows_and_gram_deflate_to_the_same_covariance(how, n, p, sparse, weighted):
    op = rows_operator(n, p, sparse, weighted)
    rng = np.random.default_rng(4)
    rows, gram, V = op, op, np.zeros((p, 0))
    for _ in range(3):
        v = rng.standard_normal(p) * (rng.random(p) < 0.6)
        v[0] = 1.0
        v /= np.linalg.norm(v)
        part = Removed(v, 1.7 * v, V)
        rows, gram, V = deflate_rows(rows, part, how), deflate(gram, part, how), np.column_stack([V, v])
    S = gram.dot(np.eye(p))
    J = np.array([4, 1])
    close = {"atol": 1e-12 * op.total, "rtol": 0}  # rounding of products of size `total`
    np.testing.assert_allclose(rows.dot(np.eye(p)), S, **close)
    np.testing.assert_allclose(rows.columns(J), S[:, J], **close)
    np.testing.assert_allclose(rows.block(J), S[np.ix_(J, J)], **close)
    np.testing.assert_allclose(rows.diagonal(), np.diag(S), **close)
    np.testing.assert_allclose(rows.take(J).dot(np.eye(2)), S[np.ix_(J, J)], **close)
    cross = rows.cross_products()
    Y = rows.forward(np.eye(p))
    np.testing.assert_allclose(cross, Y @ Y.T if n < p else Y.T @ Y, **close)
    np.testing.assert_allclose(rows.leading(2)[0], np.linalg.eigvalsh(S)[::-1][:2], **close)


@pytest.mark.parametrize("sparse", [False, True])
def test_adjoint_is_the_adjoint(sparse):
    op = rows_operator(12, 9, sparse, True)
    v = np.eye(9)[2]
    view = deflate_rows(op, Removed(v, v, np.zeros((9, 0))), "schur")
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal(9), rng.standard_normal(12)
    assert view.forward(a) @ b == pytest.approx(a @ view.adjoint(b), rel=1e-12)


@pytest.mark.parametrize(("n", "p", "sparse", "weighted"), [(40, 7, False, True), (6, 15, True, False)])
def test_schur_deflation_projects_on_the_complement_of_all_scores(n, p, sparse, weighted):
    """He, Monteiro and Park (2010), proposition 3.1, with NumPy's QR factorization of V Z."""
    view = rows_operator(n, p, sparse, weighted)
    rows = view.forward(np.eye(p))
    rng = np.random.default_rng(7)
    Z = np.zeros((p, 0))
    for _ in range(4):
        z = rng.standard_normal(p) * (rng.random(p) < 0.6)
        z[-1] = 1.0
        z /= np.linalg.norm(z)
        view, Z = deflate_rows(view, Removed(z, z, Z), "schur"), np.column_stack([Z, z])
        Q = np.linalg.qr(rows @ Z)[0]
        np.testing.assert_allclose(
            view.forward(np.eye(p)), rows - Q @ (Q.T @ rows), rtol=0, atol=1e-12 * np.linalg.norm(rows)
        )


def test_projected_rows_have_no_score_on_what_was_removed():
    op = rows_operator(30, 8, False, False)
    v = np.full(8, 8**-0.5)
    view = deflate_rows(op, Removed(v, v, np.zeros((8, 0))), "projection")
    assert np.abs(view.forward(v)).max() < 1e-14 * np.sqrt(op.total)


def test_hotelling_is_refused_for_rows_and_the_others_named():
    op = rows_operator(30, 8, False, False)
    v = np.eye(8)[0]
    with pytest.raises(OptionError, match=r"no rows have.*'schur', 'projection'"):
        deflate_rows(op, Removed(v, v, np.zeros((8, 0))), "hotelling")
