from __future__ import annotations

import pandas as pd
import pytest


@pytest.fixture(scope="session")
def pitprops(R) -> pd.DataFrame:
    """Here not the rows, but their correlation matrix, to which the papers fit their methods."""
    return R
