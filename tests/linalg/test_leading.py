"""Which rows are shown where there is no room for all."""

import numpy as np

from spcastat.linalg.eigenvectors import leading


def turns(values: np.ndarray, count: int) -> list[int]:
    """Let the columns take turns, each giving its largest row that is left, ties to the first."""
    chosen: list[int] = []
    queues = [sorted(np.flatnonzero(v), key=lambda i, v=v: (-abs(v[i]), i)) for v in values.T]
    for place in range(len(values)):
        given = sorted({queue[place] for queue in queues if place < len(queue)})
        chosen += [row for row in given if row not in chosen]
    return sorted(int(row) for row in chosen[:count])


def test_columns_take_turns():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        values = rng.integers(-3, 4, (9, 3)) * (rng.random((9, 3)) < 0.6) * 1.0
        filled = int((values != 0).any(axis=1).sum())
        for count in range(1, 10):
            found = leading(values, count).tolist()
            assert found == turns(values, count)
            assert len(found) == min(count, filled)


def test_rows_of_zeros_are_never_shown_and_missing_values_are_large():
    values = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 0.5], [3.0, 0.0]])
    assert leading(values, 4).tolist() == [1, 2, 3]
    assert leading(values, 3).tolist() == [1, 2, 3]
    assert leading(values, 2).tolist() == [2, 3]
    values[1, 0] = np.nan
    assert leading(values, 2).tolist() == [1, 2]
