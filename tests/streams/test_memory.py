"""Memory: a Parquet file is never in memory as a whole, not even one of its row groups."""

import subprocess
import sys

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

#: The file holds 100 columns of 600,000 numbers, 480 MB in one row group.
ROWS, COLUMNS = 600_000, 100

CODE = """
import sys
import spcastat as sp

def peak():
    return [int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")][0] / 1024

sp.spca([sp.datasets.make_hastie()], k=1, card=4).scores.to_frame()
before = peak()
fit = sp.spca(sys.argv[1], k=3, card=10)
str(fit)
fit.transform_to(sys.argv[2])
print(peak(), peak() - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads the peak from /proc")
def test_a_large_row_group_is_never_in_memory(tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "large.parquet"
    table = pa.table({f"v{j}": rng.normal(size=ROWS) for j in range(COLUMNS)})
    pq.write_table(table, path, row_group_size=ROWS)
    del table
    command = [sys.executable, "-c", CODE, str(path), str(tmp_path / "scores.parquet")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    whole, added = (float(part) for part in done.stdout.split())
    # Pages and dictionaries of 100 columns are 2 to 3 MB each; the row group is 480 MB.
    assert whole < 500
    assert added < 360
    assert pq.read_metadata(tmp_path / "scores.parquet").num_rows == ROWS
