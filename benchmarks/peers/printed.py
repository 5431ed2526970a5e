"""Shares that the authors of msPCA print (the benchmarks and the case study of its replication material)."""

from __future__ import annotations

#: (data, k, card) -> program -> share of variance as printed, a median of five runs: the sum of v'Sv, which
#: counts twice what components share.
PRINTED: dict[tuple[str, int, int], dict[str, float]] = {
    ("mtcars", 3, 4): {
        "msPCA": 0.829,
        "elasticnet": 0.753,
        "PMA": 0.551,
        "sparsepca": 0.581,
        "amanpg": 0.544,
        "mixOmics": 0.633,
        "nsprcomp": 0.832,
    },
    ("pitprops_print", 6, 4): {
        "msPCA": 0.791,
        "elasticnet": 0.792,
        "PMA": 0.714,
        "sparsepca": 0.756,
        "amanpg": 0.863,
        "mixOmics": 0.788,
        "nsprcomp": 0.816,
    },
    ("snp500", 4, 10): {"msPCA": 0.0639, "nsprcomp": 0.0660},
    ("snp500", 4, 20): {"msPCA": 0.0930, "nsprcomp": 0.0986},
    ("snp500", 4, 30): {"msPCA": 0.1113, "nsprcomp": 0.1025},
}
