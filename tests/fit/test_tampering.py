"""Files that somebody has tampered with end in a right fit or an own error; benchmarks.tamper tries more."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest

from benchmarks import tampering
from benchmarks.verdicts import verdict


@pytest.fixture(scope="module")
def saved():
    return tampering.saved_fits()


def outcomes(saved, path, files, sealed=False) -> Counter[str]:
    counts: Counter[str] = Counter()
    for which, whole in files:
        path.write_bytes(whole)
        found, why = verdict(path, saved[which], sealed)
        assert found in ("right", "refused", "forged")[: 2 + sealed], f"{saved[which].name}: {found}: {why}"
        counts[found] += 1
    return counts


def test_files_as_they_were_saved_are_right(saved, tmp_path):
    files = [(which, one.whole) for which, one in enumerate(saved)]
    assert outcomes(saved, tmp_path / "fit", files) == {"right": len(saved)}


@pytest.mark.parametrize("way", ["flipped", "tampered"])
def test_a_sample(saved, tmp_path, way):
    rng = np.random.default_rng(20)
    files = [(i % len(saved), getattr(tampering, way)(saved[i % len(saved)], rng)) for i in range(120)]
    counts = outcomes(saved, tmp_path / "fit", files, way == "tampered")
    assert min(counts["right"], counts["refused"]) > 5  # both happen: the sample tries something


def test_files_that_are_cut_off(saved, tmp_path):
    rng = np.random.default_rng(21)
    files = [
        (which, one.whole[: int(end)])
        for which, one in enumerate(saved)
        for end in [0, 1, 2, 21, 22, len(one.whole) - 1, *rng.integers(0, len(one.whole), 30)]
    ]
    assert outcomes(saved, tmp_path / "fit", files) == {"refused": len(files)}


def test_a_file_that_lacks_a_measure_is_refused_where_it_is_asked_for(saved, tmp_path):
    members = tampering.members_of(saved[0].whole)
    manifest = json.loads(members["manifest.json"])
    del members["measures.rre.npy"]
    (tmp_path / "fit").write_bytes(tampering.sealed(manifest, members))
    found, why = verdict(tmp_path / "fit", saved[0])
    assert found == "refused"
    assert "measure 'rre' is not in the file" in why
