"""Every method has a page that says all of its options, from the docstrings of its solver."""

from __future__ import annotations

import inspect
import re

import pytest

import spcastat as sp
from spcastat.errors import MethodError
from spcastat.fit.method_table import SOLVERS
from spcastat.results.fit import SpcaResult
from spcastat.results.path import SpcaPath
from spcastat.results.spco import SpcoPath, SpcoResult


@pytest.mark.parametrize("name", SOLVERS)
def test_a_page_explains_every_option(name):
    method = SOLVERS[name]
    page = sp.methods(name)
    options = page.frames["options"]
    assert tuple(options.index) == method.options
    assert all(len(meaning) > 10 for meaning in options["meaning"])
    assert (options["kind"] != "").all()
    assert "DEFLATIONS" not in " ".join(options["meaning"])
    text = " ".join(str(page).split())
    assert method.use in text
    assert method.paper in text
    assert len(method.use) > 20
    assert all(len(line) <= 80 for line in str(page).splitlines())


@pytest.mark.slow
@pytest.mark.parametrize("name", SOLVERS)
def test_its_example_runs_on_rows(name):
    """The example of the page, word for word."""
    text = " ".join(str(sp.methods(name)).split())
    call = text[text.index("spcastat.spca(data") :]
    call = call[: call.index(")") + 1]
    data = sp.datasets.pitprops_sample(rng=0)
    fit = eval(call, {"spcastat": sp, "data": data})
    assert fit.method == name
    assert fit.loadings.shape == (13, 3)


def test_defaults_are_those_of_the_solver():
    options = sp.methods("rspca-lp").frames["options"]
    assert options.loc["p", "default"] == "0.5"
    assert options.loc["start", "default"] == "'ones'"
    assert "'projection'" in options.loc["deflation", "meaning"]


def test_unknown_names():
    with pytest.raises(MethodError, match="Did you mean 'bcd-l0'"):
        sp.methods("bcd-0")
    with pytest.raises(MethodError, match=r"help\(spcastat.spco\)"):
        sp.methods("spco")


def test_help_of_a_plot_says_what_the_function_says():
    """Each method of a fit has the documentation of its function, less what the fit fills in."""
    text = inspect.getdoc(SpcaResult.biplot)
    for parameter in inspect.signature(SpcaResult.biplot).parameters:
        assert parameter == "self" or f"\n{parameter} : " in text
    assert "\nloadings : " not in text
    assert "\nshares : " not in text


@pytest.mark.parametrize("kind", [SpcaResult, SpcaPath, SpcoResult, SpcoPath])
def test_help_of_every_plot_describes_its_parameters(kind):
    for name in dir(kind):
        if not name.startswith(("plot", "biplot", "screeplot")):
            continue
        method = getattr(kind, name)
        text = inspect.getdoc(method) or ""
        described = re.findall(r"^((?:\w+, )*\w+)(?: : .*)?$", text, re.MULTILINE)
        known = {word for line in described for word in line.split(", ")}
        wanted = set(inspect.signature(method).parameters) - {"self"}
        section = text.partition("Parameters\n----------\n")[2].partition("\n\n")[0]
        flush = [line for line in section.splitlines() if line and not line.startswith("    ")]
        assert all(re.fullmatch(r"(\w+, )*\w+( : .*)?", line) for line in flush), f"{name}: {flush}"
        assert wanted <= known or "with the same parameters" in text, f"{name}: {wanted - known}"


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, method in SOLVERS.items() if "n_init" in method.options])
def test_the_starts_of_a_page_are_those_of_a_call(name):
    """A call that gives what the page says of n_init is the call without it."""
    told = sp.methods(name).frames["options"].loc["n_init", "default"]
    values = {"card": 5, "penalty": 0.1, "t": 1.5, "total": 10}
    data = sp.datasets.pitprops_sample(rng=0)
    counts = [part.split(" with ") for part in told.split(", ")]
    for count, *controls in counts:
        for control in controls or SOLVERS[name].controls[:1]:
            given = {"method": name, control: values[control]}
            plain, counted = sp.spca(data, 2, **given), sp.spca(data, 2, n_init=int(count), **given)
            assert plain.loadings.equals(counted.loadings)
            assert plain.options["n_init"] == counted.options["n_init"] == int(count)
