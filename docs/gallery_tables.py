"""Further tables of the gallery that are simulated; docs/gallery.py prints their functions on its pages."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from tests.plots.shapes import SHAPES


def images() -> tuple[pd.DataFrame, np.ndarray]:
    """Return 300 images of 12 x 12 pixels: blots of random strength at four places."""
    rng = np.random.default_rng(5)
    grid = np.stack(np.meshgrid(np.arange(12), np.arange(12), indexing="ij"), axis=-1)
    centres = np.array([[3, 3], [3, 8], [8, 3], [8, 8]])
    blots = np.exp(-((grid[None] - centres[:, None, None]) ** 2).sum(axis=-1) / 5.0).reshape(4, 144)
    values = rng.gamma(2.0, size=(300, 4)) * [4, 3, 2.5, 2] @ blots + 0.3 * rng.normal(size=(300, 144))
    return pd.DataFrame(values), np.zeros(300)


def coordinates() -> tuple[pd.DataFrame, np.ndarray]:
    """Return ten rows each of three normal distributions in 50 variables (Dou, Dai, Xu and Zhang, 5.2)."""
    rng = np.random.default_rng(0)
    kinds = ((10.0, 1.0), (-10.0, 3.0), (0.0, np.sqrt(17.0)))
    rows = [mean + sd * rng.normal(size=(10, 50)) for mean, sd in kinds]
    return pd.DataFrame(np.vstack(rows)), np.repeat(["G1", "G2", "G3"], 10)


def questionnaire() -> tuple[pd.DataFrame, np.ndarray]:
    """Return answers of 500 people on six points; the third item of each scale is reversed."""
    rng = np.random.default_rng(7)
    traits = rng.standard_normal((500, 5))
    sex = np.where(rng.random(500) < 0.5, "women", "men")
    traits[:, 0] += 0.4 * traits[:, 1]
    traits[sex == "women", 2] += 0.8
    cuts = [-1.5, -0.6, 0.1, 0.8, 1.6]
    items = {}
    for j, scale in enumerate(["worry", "social", "order", "kind", "ideas"]):
        for i in range(1, 6):
            answer = (-0.75 if i == 3 else 0.75) * traits[:, j] + 0.66 * rng.standard_normal(500)
            items[f"{scale}{i}"] = 1 + np.digitize(answer, cuts)
    return pd.DataFrame(items), sex


#: Name -> function that makes the rows and their groups.
TABLES: dict[str, Callable[[], tuple[pd.DataFrame, np.ndarray]]] = {
    **SHAPES,
    "images": images,
    "coordinates": coordinates,
    "questionnaire": questionnaire,
}
