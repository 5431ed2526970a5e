"""What holds for every plot: documented, listed on the API page, with a twin that returns its table."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest
from matplotlib.figure import Figure

import spcastat as sp
from spcastat import plots
from spcastat.errors import OptionError

ROOT = Path(__file__).resolve().parents[2]
NAMES = [name for name in dir(plots) if inspect.isfunction(getattr(plots, name))]
PICTURES = [name for name in NAMES if not name.endswith("_data")]


def test_every_plot_is_on_the_page_of_the_api():
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    listed = re.findall(r"^   plots\.(\w+)$", page, re.MULTILINE)
    assert sorted(listed) == sorted(PICTURES)
    names = set(re.findall(r"^   (?:\w+\.)*(\w+)$", page, re.MULTILINE))
    functions = {name for name in sp.__all__ if inspect.isfunction(getattr(sp, name))}
    assert functions <= names


@pytest.mark.parametrize("name", PICTURES)
def test_a_plot_says_what_its_parameters_are_and_draws_its_table(name):
    drawing, table = getattr(plots, name), getattr(plots, f"{name}_data")
    text = inspect.getdoc(drawing)
    parameters = inspect.signature(drawing).parameters
    section = text.partition("Parameters\n----------\n")[2].partition("\n\nReturns")[0]
    described = re.findall(r"^(\w[\w, ]*) : ", section, re.MULTILINE)
    assert [one for line in described for one in line.split(", ")] == list(parameters)
    assert list(parameters)[-1] == "ax"
    taken = list(inspect.signature(table).parameters)
    assert taken == [one for one in parameters if one in taken]
    assert "ax" not in taken
    assert inspect.unwrap(drawing) is drawing
    assert drawing.__code__.co_name == name


def test_a_table_takes_no_options_of_the_picture(scores, loadings):
    with pytest.raises(OptionError, match="scale=3"):
        plots.biplot_data(scores, loadings, scale=3)
    with pytest.raises(TypeError, match="ax"):
        plots.biplot_data(scores, loadings, ax=Figure().subplots())
    with pytest.raises(AttributeError, match="nothing_data"):
        plots.nothing_data  # noqa: B018


@pytest.mark.parametrize(
    "name", [name for name in dir(sp.SpcaResult) if re.match("plot_|biplot|scree", name)]
)
def test_the_plots_of_a_fit_take_the_options_of_the_functions(name):
    """All of the fit's own, none that it fills in, and the axes last."""
    method = getattr(sp.SpcaResult, name)
    taken = list(inspect.signature(method).parameters)
    assert taken[0] == "self"
    assert not {"loadings", "scores", "shares", "variance", "errors", "spectrum", "sparse"} & set(taken)
    assert (taken[-1] == "ax") == (not name.endswith("_data"))
