from __future__ import annotations

import gc
import os
import sys
from collections import Counter
from pathlib import Path

if "PYTEST_XDIST_WORKER" in os.environ:  # one thread for each of the processes that share the tests
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, settings

import spcastat as sp
from spcastat.inputs.constructors import rows_or_matrix_of
from spcastat.results.fit import SpcaResult


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Give all tests of a file to one process, so that what they share is made once."""
    from xdist.scheduler import LoadFileScheduling

    return LoadFileScheduling(config, log)


#: Of the cases of a test that is marked as a sweep, one in so many runs each time; the others are slow.
CASES = 3


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as slow most cases of sweeps."""
    numbers: Counter[str] = Counter()
    for item in items:
        if item.get_closest_marker("sweep"):
            test = item.nodeid.partition("[")[0]
            if numbers[test] % CASES:
                item.add_marker(pytest.mark.slow)
            numbers[test] += 1


def pytest_collection_finish() -> None:
    """Let Python's collector pass over the thousands of tests, which stay until the end."""
    gc.freeze()


# How long an example takes says how busy the machine is.
settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")

# The benchmarks are tested as well. At the end of the path: the package that is tested is the installed one,
# not the folder beside this.
sys.path.append(str(Path(__file__).resolve().parents[1]))


@pytest.fixture(scope="session")
def pitprops() -> pd.DataFrame:
    """Rows with exactly the correlation matrix of the pitprops, labelled."""
    data = sp.datasets.pitprops_sample()
    return data.set_axis([f"prop{i + 1}" for i in range(len(data))])


@pytest.fixture(scope="session")
def R() -> pd.DataFrame:
    """The correlation matrix of the pitprops."""
    return sp.datasets.load_pitprops()


@pytest.fixture(scope="session")
def fit(pitprops) -> SpcaResult:
    """Six sparse components, correlated in their scores."""
    return sp.spca(pitprops, k=6, card=[7, 4, 4, 1, 1, 1])


@pytest.fixture(scope="session")
def covariance_fit() -> SpcaResult:
    """The same from the correlation matrix."""
    return sp.spca_cov(sp.datasets.load_pitprops(), k=6, card=[7, 4, 4, 1, 1, 1], n_obs=180)


@pytest.fixture(scope="session")
def mixed() -> pd.DataFrame:
    """Numbers, text, and names that are not words; dates in the index."""
    rng = np.random.default_rng(3)
    index = pd.date_range("2020-01-01", periods=24, name="day")
    return pd.DataFrame(
        {
            "a": np.arange(1.0, 25.0),
            "b": rng.normal(10, 2, 24) ** 2,
            "kind": [*"xyzz"] * 6,
            "my x": rng.normal(size=24),
            7: rng.normal(size=24),
        },
        index=index,
    )


def source_of(data, **options):
    """What a fit of these data is made from: rows or a covariance matrix, read, centred and scaled."""
    return rows_or_matrix_of("", data, options, None).for_components(2)
