"""A second checker, written from docs/proof_file.md alone: it shares no code with spcastat."""

import csv
import itertools
import json

import numpy as np

TOL = 1e-10  # for plain floating point
NAMES = ["layout", "measure", "columns", "data", "centre", "scale", "loadings", "bounds", "values", "witness"]


def need(holds, why):
    if not holds:
        raise ValueError(why)


def vector(x, n, limit=1e100):
    need(type(x) is list and len(x) == n, f"a list of {n} is wanted")
    need(all(type(one) in (int, float) and abs(one) <= limit for one in x), "numbers are wanted")
    return np.array(x, dtype=float)


def table(x, rows):
    need(type(x) is list and len(x) == rows and type(x[0]) is list and 0 < len(x[0]) <= rows, "no matrix")
    return np.array([vector(row, len(x[0])) for row in x])


def members(x, names):
    need(type(x) is dict and sorted(x) == sorted(names), f"an object with {names} is wanted")
    return [x[name] for name in names]


def once(pairs):
    need(len(dict(pairs)) == len(pairs), "a name occurs twice")
    return dict(pairs)


def largest(A, k):
    return float(np.linalg.eigvalsh((A + A.T) / 2)[-k:].sum())


def covariance(path, columns, kind, centre, scale):
    with open(path, newline="", encoding="utf-8-sig") as file:
        header, *body = [row for row in csv.reader(file) if row]
    at = []
    for name in columns:
        same = [j for j, one in enumerate(header) if one == name]
        same = same or [j for j, one in enumerate(header) if one.strip() == name.strip()]
        need(len(same) == 1 and same[0] not in at, "no such column, or several")
        at += same
    X = np.array([[float({"True": 1, "False": 0}.get(row[j], row[j])) for j in at] for row in body])
    X = (X - centre) / scale
    X = X / np.abs(X).max()  # the unit plays no part
    if kind == "rows":
        return X.T @ X / (X**2).sum()
    before = len(header) - len(body)
    need(before >= 0 and min(at) >= before, "no covariance matrix")
    X = X[np.array(at) - before]
    need((np.abs(X - X.T) <= 1e-8).all(), "not symmetric")
    return (X + X.T) / 2 / np.trace(X)


def attained(S, V, measure):
    V = V / np.linalg.norm(V, axis=0)
    if measure == "pev":
        return [np.trace(S @ V @ np.linalg.pinv(V))]
    if measure == "least_squares":
        return [np.trace(S @ V @ np.linalg.pinv(V.T @ S @ V) @ V.T @ S)]
    added = [w @ S @ w for w in (v - explained(S, V[:, :j]).T @ v for j, v in enumerate(V.T))]
    return added if measure == "component" else [sum(added)]


def explained(S, W):
    return S @ W @ np.linalg.pinv(W.T @ S @ W) @ W.T


def tree(Q, c, witness, key, taken, free):
    free, node = free if len(taken) < c else [], witness[key]
    if "split" in node:
        (i,) = members(node, ["split"])
        need(type(i) is int and i in free, "no free variable")
        rest = [j for j in free if j != i]
        for name, some in [(f"{key}+{i}", [*taken, i])] + [(f"{key}-{i}", taken)] * bool(taken or rest):
            tree(Q, c, witness, name, some, rest)
        return
    f, n, A = len(free), len(taken), Q[np.ix_(taken + free, taken + free)].copy()
    U = np.zeros((f, f))
    U[np.tril_indices(f, -1)] = vector(*members(node, ["U"]), f * (f - 1) // 2)
    U = U + U.T
    A[n:, n:] += U - np.diag(-np.sort(-np.abs(U), axis=1)[:, : max(c - n - 1, 0)].sum(axis=1))
    need(largest(-A, 1) <= TOL, f"leaf {key}")


def joint(S, measure, cards, b, witness):
    p, k, cards = len(S), len(cards), sorted(cards)
    closed = measure == "adjusted" and k == 2 and open_firsts(S, cards, b, witness.get("first", []))
    if closed == {}:
        return
    choices = [list(itertools.combinations(range(p), c)) for c in cards]
    if measure == "adjusted":
        X, R, known = table(witness[""], p), np.linalg.cholesky(S + 1e-12 * np.eye(p)).T, {}
        for T in set().union(*choices):
            values, vectors = np.linalg.eigh(R[:, T] @ R[:, T].T - X @ X.T)
            known[T] = values[-2], values[-1] - values[-2], vectors[:, -1]
    for supports in itertools.product(*choices):
        U = sorted(set().union(*supports))
        M, pairs = S[np.ix_(U, U)], itertools.pairwise(supports)
        if any(len(T) == len(N) and T > N for T, N in pairs) or largest(M, k) <= b + TOL:
            continue
        if closed is not False and not any(one in closed for one in (supports, supports[::-1])):
            continue
        if measure == "adjusted":
            a, s, u = (np.array(one) for one in zip(*(known[T] for T in supports), strict=True))
            sines, sums, far = np.abs(1 - (u @ u.T) ** 2), s[:, None] + s, s[:, None] - s
            less = np.triu(sums - np.sqrt(far**2 + 4 * np.outer(s, s) * sines), 1) / 2
            if (X**2).sum() + a.sum() + s.sum() - max(less.max(), less.sum() / (k - 1)) <= b + TOL:
                continue
        node = witness[";".join(",".join(map(str, T)) for T in supports)]
        need(type(node) is list and len(node) == k <= len(U), "one object for each component is wanted")
        (first if measure == "adjusted" else pev)(M, [[*map(U.index, T)] for T in supports], b, node)


def open_firsts(S, cards, b, lines):
    names, proven, fine = ["card", "from", "to", "loadings", "weight", "theta"], {}, {}
    need(type(lines) is list, "a list is wanted")
    lines = sorted((members(one, names) for one in lines), key=lambda one: vector([one[1]], 1)[0])
    blocks = {c: np.array(list(itertools.combinations(range(len(S)), c))) for c in cards}
    part = {c: S[T[:, :, None], T[:, None, :]] for c, T in blocks.items()}
    tops = {c: np.linalg.eigvalsh(A)[:, -1] for c, A in part.items()}
    for i, (c, low, high, x, z, theta) in enumerate(lines):
        low, high, z, theta = vector([low, high, z, theta], 4)
        need(type(c) is int and c in cards and 0 < low <= high and z >= 0 < theta, "a multiplier")
        d, a, T = cards[cards[0] == c], S @ (x := vector(x, len(S))), blocks[c]
        aa, h = np.outer(a, a) / (x @ a), np.minimum(high, tops[c])[:, None, None]
        A = (b - z - theta - low - h) * part[c] + low * h * np.eye(c) + z * aa[T[:, :, None], T[:, None, :]]
        T = blocks[d]
        B = (S - z / (z + theta) * aa)[T[:, :, None], T[:, None, :]]
        proven[i], fine[i] = np.linalg.eigvalsh(A)[:, 0] >= -TOL, np.linalg.eigvalsh(B)[:, -1] <= theta + TOL
    left = {}
    for c, d in {(cards[0], cards[1]), (cards[1], cards[0])}:
        reach = np.full((len(blocks[c]), len(blocks[d])), b / 2)
        for i in [i for i, line in enumerate(lines) if line[0] == c]:
            at = proven[i][:, None] & fine[i] & (lines[i][1] <= reach + TOL)
            reach[at] = np.maximum(reach, lines[i][2])[at]
        for i, j in np.argwhere(reach < tops[c][:, None] - TOL):
            left[tuple(blocks[c][i].tolist()), tuple(blocks[d][j].tolist())] = True
    return left if lines else False


def pev(M, at, b, node):
    for T, one in zip(at, node, strict=True):
        Y, m = members(one, ["Y", "least"])
        YY, m = table(Y, len(M)) @ table(Y, len(M)).T, vector([m], 1)[0]
        need(largest(m * np.eye(len(T)) - YY[np.ix_(T, T)], 1) <= TOL, "least")
        M, b = M + YY, b + m
    need(largest(M, len(at)) <= b + TOL, "leaf")


def first(M, at, b, node):
    n, R = len(M), np.linalg.cholesky(M + 1e-12 * np.eye(len(M))).T
    for j, one in enumerate(node):
        (cuts, factors, thetas), B = members(one, ["cuts", "Z", "theta"]), R[:, at[j]]
        others, t = [R[:, T] @ R[:, T].T for i, T in enumerate(at) if i != j], vector(cuts, len(cuts))
        need(t[0] > 0 and (np.diff(t) >= 0).all() and largest(B @ B.T, 1) <= t[-1] + TOL, "cuts")
        need(t[0] + sum(largest(N, 1) for N in others) <= b + TOL, "below the first cut")
        for low, high, X, theta in zip(t[:-1], t[1:], factors, thetas, strict=True):
            Z, limits = table(X, n) @ table(X, n).T, vector(theta, len(at))
            chord = low * high * np.eye(len(at[j])) + (limits[0] - low - high) * B.T @ B
            need(largest(-B.T @ Z @ B - chord, 1) <= TOL, "first")
            need(all(largest(N - Z, 1) <= x + TOL for N, x in zip(others, limits[1:], strict=True)), "others")
            need(np.trace(Z) + limits.sum() <= b + TOL, "interval")


def check(proof, data):
    with open(proof, encoding="utf-8") as file:
        found = members(json.load(file, object_pairs_hook=once), NAMES)
    layout, measure, columns, kind, centre, scale, loadings, bounds, values, witness = found
    need(type(layout) is int and layout == 1 and type(witness) is dict, "layout")
    need(measure in ("component", "adjusted", "pev", "least_squares"), "measure")
    need(kind == "rows" or (kind == "covariance" and {*centre} == {0} and {*scale} == {1}), "data")
    need(type(columns) is list and all(type(name) is str for name in columns), "columns")
    p, V = len(columns), table(loadings, len(columns))
    k, centre, scale = V.shape[1], vector(centre, p, 1e308), vector(scale, p, 1e308)
    need(V.any(axis=0).all() and (scale > 0).all(), "loadings or scale")
    bounds, values = (vector(x, k if measure == "component" else 1) for x in (bounds, values))
    S, cards = covariance(data, columns, kind, centre, scale), np.count_nonzero(V, axis=0).tolist()
    got = np.array(attained(S, V, measure))
    need((np.abs(got - values) <= 1e-9).all() and (bounds >= got - 1e-9).all(), "values")
    if measure != "component" and k > 1 and not largest(S, k) <= bounds[0] + TOL:
        need(measure != "least_squares", "least squares of several components")
        joint(S, measure, cards, bounds[0], witness)
    for j, b in enumerate(bounds if measure == "component" or k == 1 else []):
        A = np.eye(p) - explained(S, V[:, :j]).T
        Q = b * S - S @ S if measure == "least_squares" else b * np.eye(p) - A.T @ S @ A
        tree(Q, cards[j], witness, f"{j}:", [], list(range(p)))
