"""Valid proof files of every kind, and forged ones made from them."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import spcastat as sp

LONG = 600.0


def write_valid(folder: Path) -> None:
    """Write a proof and its data for every kind of proof, each in a folder."""
    rows, R = sp.datasets.pitprops_sample(), sp.datasets.load_pitprops()
    fits = {
        "component": (sp.spca(rows.iloc[:, :7], 2, 3, effort="quick"), {"joint": False}),
        "adjusted": (sp.spca(rows.iloc[:, :8], 2, 3, effort="quick"), {"joint": True}),
        "adjusted-pairs": (sp.spca(rows.iloc[:, :6], 2, 3, effort="quick"), {"joint": True}),
        "pev": (sp.spca(rows.iloc[:, :6], 2, [2, 3], objective="pev", effort="quick"), {"joint": True}),
        "least_squares": (sp.spca(rows.iloc[:, :7], 1, 3, objective="least_squares"), {}),
        "covariance": (sp.spca_cov(R.iloc[:7, :7], 2, 3, effort="quick"), {"joint": False}),
        "covariance-adjusted": (sp.spca_cov(R.iloc[7:, 7:], 2, 3, effort="quick"), {}),
    }
    for name, (fit, options) in fits.items():
        (folder / name).mkdir()
        proof = fit.certify(time_limit=LONG, **options)
        if name == "adjusted-pairs":  # the witnesses of more than two components: pairs, and leaves
            with mock.patch("spcastat.proofs.witness.Cover.run", return_value=False):
                proof.save(folder / name / "proof.json", time_limit=LONG)
            content = json.loads((folder / name / "proof.json").read_text())
            del content["witness"]["first"]
            (folder / name / "proof.json").write_text(json.dumps(content))
        else:
            proof.save(folder / name / "proof.json", time_limit=LONG)
        data = R if "covariance" in name else rows
        data = data.loc[fit.loadings.index, fit.loadings.index] if "covariance" in name else data
        data.to_csv(folder / name / "data.csv", index="covariance" in name)


def proofs_in(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the name of each proof that `write_valid` wrote, and its content."""
    for path in sorted(folder.iterdir()):
        yield path.name, json.loads((path / "proof.json").read_text())


Change = Callable[[dict[str, Any]], None]


def _set(field: str, value: Any) -> Change:
    def change(proof: dict[str, Any]) -> None:
        proof[field] = value(proof) if callable(value) else value

    return change


def _drop(field: str) -> Change:
    def change(proof: dict[str, Any]) -> None:
        del proof[field]

    return change


def _booleans(field: str) -> Change:
    """Replace the numbers of a field that are 0 or 1 by false and true, at least the first."""

    def change(proof: dict[str, Any]) -> None:
        proof[field] = [bool(x) if i == 0 or x in (0, 1) else x for i, x in enumerate(proof[field])]

    return change


def _put(value: Any, *path: Any) -> Change:
    """Put a value at a path through the witness."""

    def change(proof: dict[str, Any]) -> None:
        here = proof["witness"]
        for one in path[:-1]:
            here = here[one]
        here[path[-1]] = value

    return change


#: Changes of fields that every proof has. Each makes the file malformed, or its claim another or a false one.
NAMES = ("layout", "measure", "columns", "data", "centre", "scale", "loadings", "bounds", "values", "witness")
MALFORMED = (None, True, 1.0, "1", [], [[]], {})
FIELDS: dict[str, Change] = {
    **{f"no {name}": _drop(name) for name in NAMES},
    **{f"{name} {value!r}": _set(name, value) for name in NAMES for value in MALFORMED},
    "layout 2": _set("layout", 2),
    "measure unknown": _set("measure", "variance"),
    "columns twice": _set("columns", lambda proof: [proof["columns"][0]] * len(proof["columns"])),
    "columns swapped": _set("columns", lambda proof: proof["columns"][::-1]),
    "columns with an object": _set("columns", lambda proof: [{}, *proof["columns"][1:]]),
    "columns fewer": _set("columns", lambda proof: proof["columns"][:-1]),
    "column unknown": _set("columns", lambda proof: [*proof["columns"][:-1], "none"]),
    "one column in two spellings": _set(
        "columns", lambda proof: [proof["columns"][0], f" {proof['columns'][0]}", *proof["columns"][2:]]
    ),
    "data unknown": _set("data", "rows and columns"),
    "data of the other kind": _set(
        "data", lambda proof: "rows" if proof["data"] == "covariance" else "covariance"
    ),
    "centre fewer": _set("centre", lambda proof: proof["centre"][:-1]),
    "centre of every row": _set("centre", lambda proof: [proof["centre"]] * 180),
    "centre boolean": _booleans("centre"),
    "centre not a number": _set("centre", lambda proof: [float("nan"), *proof["centre"][1:]]),
    "centre huge": _set("centre", lambda proof: [10**400, *proof["centre"][1:]]),
    "centre shifted": _set("centre", lambda proof: [x + 1.0 for x in proof["centre"]]),
    "scale of every row": _set("scale", [[1.0]] * 180),
    "scale more": _set("scale", lambda proof: [*proof["scale"], 1.0]),
    "scale zero": _set("scale", lambda proof: [0.0, *proof["scale"][1:]]),
    "scale negative": _set("scale", lambda proof: [-proof["scale"][0], *proof["scale"][1:]]),
    "scale changed": _set("scale", lambda proof: [1.01 * proof["scale"][0], *proof["scale"][1:]]),
    "scale tiny": _set("scale", lambda proof: [1e-300, *proof["scale"][1:]]),
    "loadings flat": _set("loadings", lambda proof: [x for row in proof["loadings"] for x in row]),
    "loadings of fewer variables": _set("loadings", lambda proof: proof["loadings"][:-1]),
    "loadings ragged": _set("loadings", lambda proof: [*proof["loadings"][:-1], [0.5]]),
    "loadings boolean": _set("loadings", lambda proof: [[x != 0 for x in row] for row in proof["loadings"]]),
    "loadings with a column of zeros": _set("loadings", lambda proof: [[*r, 0.0] for r in proof["loadings"]]),
    "loadings all zero": _set("loadings", lambda proof: [[0.0 for _ in row] for row in proof["loadings"]]),
    "loadings not numbers": _set(
        "loadings", lambda proof: [[float("nan")] * len(row) for row in proof["loadings"]]
    ),
    "bounds more": _set("bounds", lambda proof: [*proof["bounds"], 1.0]),
    "bounds not a number": _set("bounds", lambda proof: [float("nan")] * len(proof["bounds"])),
    "bounds infinite": _set("bounds", lambda proof: [float("inf")] * len(proof["bounds"])),
    "bounds nested": _set("bounds", lambda proof: [[x] for x in proof["bounds"]]),
    "bounds below the values": _set("bounds", lambda proof: [x - 1e-6 for x in proof["values"]]),
    "values larger": _set("values", lambda proof: [x + 1e-6 for x in proof["values"]]),
    "a field more": _set("note", "trust me"),
}


#: Changes of all multipliers for the first component.
FALSE_LINES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "theta": lambda line: 0.2 * line["theta"],
    "weight": lambda line: 0.0,
    "card": lambda line: float(line["card"]),
    "from": lambda line: 0.99 * line["to"],
    "to": lambda line: line["from"],
    "loadings": lambda line: [0.0] * len(line["loadings"]),
}


def _witnesses(proof: dict[str, Any]) -> Iterator[tuple[str, Change]]:
    """Yield changes of the witness, as far as it has what they change."""
    found = proof["witness"]
    for key in [key for key in found if found[key]][:3]:  # no multiplier for the first may be needed
        yield f"witness {key!r} missing", lambda one, key=key: one["witness"].pop(key)
        for value in (None, [], {}, True, 0.0, [[0.0]], {"split": 0, "U": []}, {"U": [[0.0]]}):
            yield f"witness {key!r} {json.dumps(value)}", _put(value, key)
    splits = [key for key, node in found.items() if isinstance(node, dict) and "split" in node]
    for key in splits[:1]:
        split = found[key]["split"]
        for value in (-1, 99, True, False, float(split), str(split)):
            yield f"split {value!r}", _put(value, key, "split")
    leaves = [key for key, node in found.items() if isinstance(node, dict) and any(node.get("U", ()))]
    for key in leaves[:1]:
        U = found[key]["U"]
        other = {
            "fewer": U[:-1], "more": [*U, 0.0], "true": [True] * len(U), "text": list(map(str, U)),
            "not numbers": [float("nan")] * len(U), "huge": [1e200] * len(U), "nested": [U],
        }  # fmt: skip
        for name, value in other.items():
            yield f"U {name}", _put(value, key, "U")
    for number, line in enumerate(found.get("first", [])[:1]):
        for name in line:
            rest = {other: line[other] for other in line if other != name}
            yield f"first without {name}", _put(rest, "first", number)
            for value in ([], [[1.0]], 1e200, -1.0, True, None, "1", [float("nan")], float("nan")):
                yield f"first {name} {value!r}", _put(value, "first", number, name)
    if found.get("first"):  # other lines may cover what one line loses: all are changed
        for name, value in FALSE_LINES.items():
            lines = [{**line, name: value(line)} for line in found["first"]]
            yield f"first with another {name}", _put(lines, "first")
        yield "first without loadings", _put([{**one, "loadings": []} for one in found["first"]], "first")
    leaves = [
        key
        for key, node in found.items()
        if key != "first" and isinstance(node, list) and isinstance(node[0], dict)
    ]
    for key in leaves[:1]:
        node = found[key]
        yield "leaf shorter", _put(node[:-1], key)
        yield "leaf longer", _put([*node, node[0]], key)
        for name in node[0]:
            rest = {other: node[0][other] for other in node[0] if other != name}
            yield f"leaf without {name}", _put(rest, key, 0)
            for value in ([], [[1.0]], 1e200, True, None, "1", [float("nan")]):
                if value != node[0][name]:
                    yield f"{name} {value!r}", _put(value, key, 0, name)


def forged(proof: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield names and contents of files that a checker must refuse, made from a valid proof."""
    for name, change in [*FIELDS.items(), *_witnesses(proof)]:
        other = copy.deepcopy(proof)
        change(other)
        yield name, other


def too_low(proof: dict[str, Any], S: np.ndarray, attained: Callable[..., list[float]]) -> dict[str, Any]:
    """Return the proof with bounds 1e-6 below the best, and loadings that do not contradict them.

    The bounds of single components are 2e-9 above the best. Those of a joint proof are 1e-4 above it, which
    the loadings attain: they are replaced by poor ones, whose values are stated truly.
    """
    other = copy.deepcopy(proof)
    if proof["measure"] == "component":
        other["bounds"] = [x - 1e-6 for x in proof["bounds"]]
        return other
    V = np.array(proof["loadings"])
    V[V != 0] += 0.5
    other["bounds"] = [x - 1e-6 for x in proof["values"]]
    other["loadings"], other["values"] = V.tolist(), attained(S, V, proof["measure"])
    return other
