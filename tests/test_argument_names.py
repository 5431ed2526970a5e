"""Calls with foreign, missing or repeated arguments are told in one sentence, by every public callable."""

from __future__ import annotations

import functools
import inspect
import traceback

import numpy as np
import pytest

import spcastat as sp
from spcastat.arguments import Explained, explained
from spcastat.errors import ArgumentsError, UnknownOptionError
from tests import hostile

KINDS = inspect.Parameter


@pytest.fixture(scope="module")
def callables():
    """Every public function, and every public method of a class of results without an instance, by name."""
    found = dict(hostile.functions())
    for kind in (getattr(sp, name) for name in sp._CLASSES):
        for name, member in inspect.getmembers(kind, inspect.isfunction):
            if not name.startswith("_") and member.__module__.startswith("spcastat"):
                found[f"{kind.__name__}.{name}"] = functools.partial(member, None)
    return found


def refused(call, *arguments, **options):
    """The message of the error of a call, which is one sentence of the package."""
    with pytest.raises(sp.errors.SpcaError) as caught:
        call(*arguments, **options)
    message = str(caught.value)
    for word in ("unexpected keyword", "positional argument", "multiple values", "data_or_formula"):
        assert word not in message  # nothing of Python's own messages
    assert "\n" not in message
    assert message.endswith((".", "?"))
    return caught.value


def open_to(parameters, kind) -> bool:
    return any(one.kind is kind for one in parameters.values())


def test_a_foreign_argument_of_any_callable(callables):
    for name, call in callables.items():
        if open_to(inspect.signature(call).parameters, KINDS.VAR_KEYWORD):
            continue
        error = refused(call, zzz=1)
        assert isinstance(error, UnknownOptionError), name
        assert "has no argument zzz=" in str(error), name
    fit, X = hostile.fit(), hostile.frame()
    for call in (fit.refit, fit.summary().as_text, fit.summary().as_latex):
        assert isinstance(refused(call, zzz=1), UnknownOptionError)
    for call in (sp.spca, sp.spca_path, sp.choose, sp.choose_k, sp.spco, sp.sparse_loadings):
        assert "zzz" in str(refused(call, X, **({} if call is sp.choose_k else {"k": 2}), zzz=1))
    for call in (sp.spca_cov, sp.sparse_loadings_cov):
        assert "zzz" in str(refused(call, X.cov(), 2, zzz=1))


def test_the_closest_name_is_suggested_for_every_argument(callables):
    for name, call in callables.items():
        parameters = inspect.signature(call).parameters
        if open_to(parameters, KINDS.VAR_KEYWORD):
            continue
        for key, one in parameters.items():
            if one.kind in (KINDS.POSITIONAL_OR_KEYWORD, KINDS.KEYWORD_ONLY) and len(key) > 5:
                misspelt = key[:2] + key[3:]
                if misspelt not in parameters:
                    assert f"Did you mean {key!r}?" in str(refused(call, **{misspelt: 1})), (name, key)


def test_too_many_arguments_without_names(callables):
    for name, call in callables.items():
        parameters = inspect.signature(call).parameters
        if open_to(parameters, KINDS.VAR_POSITIONAL):
            continue
        places = [one for one in parameters.values() if one.kind in (0, 1)]
        error = refused(call, *[None] * (len(places) + 1))
        assert isinstance(error, ArgumentsError), name
        assert "by position, but accepts" in str(error), name


def test_arguments_given_twice_and_arguments_missing(callables):
    for name, call in callables.items():
        parameters = inspect.signature(call).parameters
        places = [one for one in parameters.values() if one.kind in (0, 1)]
        named = [one.name for one in places if one.kind is KINDS.POSITIONAL_OR_KEYWORD]
        if named:
            error = refused(call, *[None] * len(places), **{named[-1]: None})
            assert f"given {named[-1]}= twice" in str(error), name
        required = [one for one in parameters.values() if one.default is one.empty]
        needed = [one.name for one in required if one.kind in (0, 1, 3)]
        if needed:
            error = refused(call)
            assert isinstance(error, ArgumentsError), name
            assert all(f"no {key}" in str(error) for key in needed), name


def test_signatures_stay_true(callables):
    for name, call in callables.items():
        function = getattr(call, "func", call)
        assert "__signature__" not in vars(function), name
        inner = inspect.unwrap(function)
        assert inner is not function, f"{name} is not explained"
        assert function.__doc__ == inner.__doc__, name
        kinds = {one.kind for one in inspect.signature(function).parameters.values()}
        assert kinds != {KINDS.VAR_POSITIONAL, KINDS.VAR_KEYWORD}, name


@pytest.mark.parametrize(
    ("call", "near"),
    [
        ("fit.bootstrap(seed=1)", "rng"),
        ("fit.bootstrap(n_boot=99)", "n"),
        ("fit.stability(random_state=0)", "rng"),
        ("fit.biplot(hue='g')", "groups"),
        ("fit.biplot(colour='red')", "color"),
        ("fit.biplot(choices=(1, 2))", "components"),
        ("fit.limits(alpha=0.05)", "level"),
        ("fit.transform(newdata=X)", "new"),
        ("fit.save(filename='x.spca')", "path"),
        ("fit.certify(timeout=3)", "time_limit"),
        ("sp.compare_groups(X, g, n_components=2)", "k"),
        ("sp.compare_groups(X, g, 2, n_permutations=9)", "n_draws"),
    ],
)
def test_names_of_other_programs(call, near):
    names = {"fit": hostile.fit(), "X": hostile.frame(), "g": ["x", "y"] * 6, "sp": sp}
    with pytest.raises(UnknownOptionError, match=rf"Did you mean '{near}'\?"):
        eval(call, names)


def test_errors_from_inside_are_raised_as_they_are():
    inner = TypeError("takes 2 positional arguments but 3 were given")

    def broken(*some):
        raise inner

    def called_wrongly():
        np.mean(zzz=1)

    class Kind(Explained):
        def method(self, n: int) -> None:
            (lambda x: x)()  # type: ignore[call-arg]

    for function in (explained(broken), explained(called_wrongly)):
        with pytest.raises(TypeError) as caught:
            function()
        assert type(caught.value) is TypeError
    with pytest.raises(TypeError) as caught:
        explained(broken)(1, 2, 3)
    assert caught.value is inner
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'") as caught:
        Kind().method(3)
    assert type(caught.value) is TypeError
    assert traceback.extract_tb(caught.value.__traceback__)[-1].name == "method"
    with pytest.raises(ArgumentsError, match=r"Kind.method\(\) was given no n; call it as method\(n\)\."):
        Kind().method()


def test_the_estimator_explains_its_parameters():
    pytest.importorskip("sklearn")
    for name, own_name in (("k", "n_components"), ("rng", "random_state")):
        with pytest.raises(
            UnknownOptionError, match=rf"^SparsePCA\(\) has no argument {name}=; .* is {own_name}="
        ):
            sp.sklearn.SparsePCA(**{name: 3})
    with pytest.raises(UnknownOptionError, match="Did you mean 'sample_weight'"):
        sp.sklearn.SparsePCA().fit(hostile.frame(), sample_weights=np.ones(12))
