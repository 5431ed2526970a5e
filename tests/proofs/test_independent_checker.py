"""A checker that was written from docs/proof_file.md alone agrees with `verify`."""

from __future__ import annotations

import ast
import copy
import json
from pathlib import Path

import numpy as np

from spcastat.proofs.checker import RefusedError
from spcastat.proofs.verify import attained, covariance, parsed, read, verify

from . import independent_checker
from .proof_files import forged, proofs_in, too_low

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
    assert len(text.splitlines()) <= 150
