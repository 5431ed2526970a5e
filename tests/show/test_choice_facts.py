"""What is said of a choice follows from its numbers: names, reasons, remarks, fits shown beside it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from spcastat.show import choice_facts, choice_tables
from spcastat.show.choice_facts import Chosen
from spcastat.show.grid import Row, Table
from spcastat.show.renderings import DOTS
from spcastat.show.templates import TEMPLATES, worded

#: Candidates in the order of their loadings: "kept" is the share of the best prediction.
CANDIDATES = pd.DataFrame(
    {
        "family": ["equal", "equal", "rotated", "partition", "equal", "equal"],
        "card": [2, 3, (5, 3), (6, 4), 6, 10],
        "nonzeros": [4, 6, 8, 10, 12, 20],
        "kept": [0.3, 0.65, 0.9, 0.89, 0.99, 1.0],
        "predicts": [0.1, 0.2, 0.28, 0.27, 0.3, 0.31],
        "predicts_se": [0.02, 0.03, 0.04, 0.04, 0.05, 0.06],
        "ebic": [9.0, 3.0, 5.0, 6.0, 7.0, 1.0],
    }
)


def chosen(
    place: int = 2, by_division: tuple[int, ...] = (), alike: tuple[int, ...] = (), **changes: Any
) -> Chosen:
    """A choice of two components of ten variables among CANDIDATES."""
    values: dict[str, Any] = {
        "table": CANDIDATES,
        "state": SimpleNamespace(
            record=SimpleNamespace(k=2, p=10, n=80),
            V=np.eye(10)[:, :2],
            spec=SimpleNamespace(columns=pd.Index(list("abcdefghij"))),
        ),
        "card": CANDIDATES["card"][place],
        "by": "cv",
        "rule": "worth",
        "share": 0.9,
        "folds": 5,
        "repeats": 4,
        "selected": SimpleNamespace(place=place, best=5, by_division=by_division, alike=alike, price=None),
        "dense": 0.6,
    }
    return Chosen(**values | changes)


def component_tests(**found: Any) -> Any:
    """Tests of ten variables, of which two components are chosen; variances are equal."""
    standing: dict[str, Any] = {
        "k": 2,
        "deflated": 2,
        "predicting": 2,
        "by_division": [2],
        "parallel": 2,
        "prediction": SimpleNamespace(
            least=0.2,
            required_gain=lambda k: 0.2,
            denser_by=lambda k: 0,
            compares_pca=False,
            close=(),
            by_division=(2,),
        ),
        "draws": SimpleNamespace(level=0.05, most=999, is_smallest=lambda p: False),
        "noise_p_values": np.array([0.001, 0.01, 0.4, 0.5]),
    }
    table = pd.DataFrame(
        {
            "gain": [3.0, 1.0, 0.1, np.nan],
            "gain_se": [0.1, 0.1, 0.1, np.nan],
            "counts": [True, True, False, np.nan],
        }
    )
    return SimpleNamespace(
        found=SimpleNamespace(**standing | found),
        table=table,
        data=SimpleNamespace(has_equal_variances=True, is_matrix=False),
        p=10,
        most=9,
        has_rules=True,
        kaiser=3,
        large=None,
        tested=None,
        copies=[("a", "b")],
    )


def facts_of(facts) -> dict[str, Any]:
    return {fact.key: fact.values for fact in facts}


@pytest.mark.parametrize(
    ("place", "name"),
    [(0, "card=2"), (2, "card=[5, 3]"), (3, "partition")],
)
def test_short_names_of_candidates(place, name):
    assert choice_facts.fit_name(chosen(), CANDIDATES.iloc[place]) == name


def test_names_of_long_lists_and_of_partitions_that_leave_variables_out():
    line = CANDIDATES.iloc[3].replace({10: 7})
    assert choice_facts.fit_name(chosen(), line) == "partition, 3 left out"
    line = pd.Series({"family": "rotated", "card": tuple(range(10, 30)), "nonzeros": 390})
    assert choice_facts.fit_name(chosen(), line) == "10 to 29 in a component"


def test_the_sizes_of_the_groups_are_in_the_answer():
    assert choice_facts.title(chosen(3)).values["sizes"] == " (6, 4)"
    assert choice_facts.title(chosen(2)).values["sizes"] == ""


def test_fits_beside_the_choice():
    """The sparsest with .6 of the best, one of another family that predicts as well, the best."""
    assert choice_facts.compared(chosen(0)) == [0, 2]
    assert choice_facts.compared(chosen(2)) == [1, 2, 4]
    assert choice_facts.compared(chosen(4)) == [1, 4]
    # with few others, the next sparser fit says what the last loadings are for
    assert choice_facts.compared(chosen(5)) == [1, 4, 5]


def test_reasons_for_the_sparseness():
    values = choice_facts.sparseness(chosen()).values
    assert (values["count"], values["many"], values["nothing"]) == (8, None, False)
    assert values["rule"].key == "not worth adding"
    assert not values["rule"].values["best"]
    assert choice_facts.rule_of_choice(chosen(5)).values["best"]
    assert choice_facts.rule_of_choice(chosen(by="ebic", rule="1se")).key == "within two"
    large = chosen(state=SimpleNamespace(record=SimpleNamespace(k=2, p=500, n=80)))
    many = choice_facts.sparseness(large).values["many"]
    assert many.values == {"half": 6, "fifths": 8}


def test_remarks_on_folds_and_on_other_criteria():
    remarks = facts_of(choice_facts.remarks(chosen(by_division=(1, 2))))
    assert (remarks["not firm"]["low"], remarks["not firm"]["high"]) == (6, 8)
    assert remarks["EBIC instead"]["name"] == "card=10"
    assert "not firm" not in facts_of(choice_facts.remarks(chosen(by_division=(2, 2))))
    assert "few rows" not in remarks
    selected = SimpleNamespace(place=2, best=5, by_division=(), alike=(), price=0.1)
    singles = [
        f.values["name"] for f in choice_facts.remarks(chosen(selected=selected)) if "name" in f.values
    ]
    assert singles[:2] == ["a", "b"]


def test_a_choice_near_a_tie_is_not_firm():
    """Sparser fits within one standard error are a reason for doubt; larger ones alone are not."""
    (doubt,) = choice_facts.firmness(chosen(alike=(1, 4)))
    line = worded(TEMPLATES["not firm"].line, doubt.values)
    assert line == "2 other fits, with 6 to 12 loadings, predict equally well, within one standard error."
    note = worded(TEMPLATES["not firm"].note, doubt.values)
    assert "2 other candidates, with 6 to 12, differ by at most one standard error" in note
    (doubt,) = choice_facts.firmness(chosen(by_division=(1, 2), alike=(3,)))
    line = worded(TEMPLATES["not firm"].line, doubt.values)
    assert line == (
        "other divisions of the rows give 6 to 8 loadings; 1 other fit, with 10 loadings, predicts equally "
        "well, within one standard error."
    )
    assert not list(choice_facts.firmness(chosen(alike=(3, 4))))
    (firm,) = choice_facts.firmness(chosen(by_division=(2, 2, 2, 2)))
    assert worded(TEMPLATES["firm"].line, firm.values) == "all 4 divisions of the rows give 8 loadings."


def test_candidates_of_a_table_have_names_that_differ():
    """Of seven cardinalities the first ones and the last are named, as many as tell the candidates apart."""
    cards = [(14, 10, 7, 4, 3, 3, 2), (14, 10, 6, 4, 3, 3, 2), (7, 3, 2, 2, 2, 2, 2), 6]
    table = pd.DataFrame({"card": cards, "family": "rotated", "nonzeros": [43, 42, 20, 42]})
    choice = SimpleNamespace(table=table, k=7, counted="nonzeros", units=30)
    names = choice_facts.fit_names(choice, range(4))
    assert names == ["[14, 10, 7, ..., 2]", "[14, 10, 6, ..., 2]", "[7, 3, 2, ..., 2]", "card=6"]
    assert choice_facts.fit_names(choice, [0, 3]) == ["[14, 10, ..., 2]", "card=6"]


def test_a_component_near_the_least_gain_is_named():
    def close(*numbers: int, divisions: tuple[int, ...] = (2,), **found: Any) -> tuple[int, ...]:
        prediction = SimpleNamespace(
            least=0.2,
            required_gain=lambda k: 0.2,
            denser_by=lambda k: 0,
            compares_pca=False,
            close=numbers,
            by_division=divisions,
        )
        return choice_facts.close_components(component_tests(prediction=prediction, **found))

    assert close(2, 4) == (2,)
    assert close(2, divisions=(2, 2)) == ()  # several divisions give the same number
    assert close(3) == ()  # it does not exceed noise
    assert close(3, noise_p_values=np.array([0.001, 0.01, np.nan, np.nan])) == (
        3,
    )  # not tested against noise
    number = choice_facts.number_of_components(component_tests())
    values = {**number.values, "close": "2", "close_count": 1}
    assert "The gain of component 2 is within one standard error of the least that counts" in worded(
        TEMPLATES["number of components"].line, values
    )


def test_the_number_of_components_and_its_reasons():
    number = choice_facts.number_of_components(component_tests()).values
    assert (number["k"], number["doubt"], number["reason"].key) == (2, "", "component predicts")
    assert number["end"].key == "predicts too little"
    assert number["end"].values["next"] == 3
    reason = number["reason"].values
    assert (reason["first"], reason["last"], reason["pair"], reason["single"]) == (2, 2, False, True)
    assert reason["gain"].values == {"value": 1.0, "share": False}
    doubtful = choice_facts.number_of_components(component_tests(by_division=[1, 2, 3])).values
    assert doubtful["doubt"] == "1, 2 or 3"
    assert choice_facts.number_of_components(component_tests(by_division=[1, 2])).values["doubt"] == "1 or 2"
    one = choice_facts.number_of_components(component_tests(k=1)).values
    assert one["reason"].key == "component predicts"
    nothing = choice_facts.number_of_components(component_tests(k=0)).values
    assert (nothing["reason"].key, nothing["end"]) == ("nothing predicted", None)
    assert not nothing["reason"].values["nothing"]


def test_the_next_component_may_fail_in_noise_or_not_be_compared():
    in_noise = choice_facts.next_refusal(component_tests(predicting=3))
    assert (in_noise.key, in_noise.values["level"]) == ("not above noise", "5")
    strict = SimpleNamespace(level=0.005, is_smallest=lambda p: False)
    assert choice_facts.level(component_tests(draws=strict)) == "0.5"
    assert choice_facts.next_refusal(component_tests(k=3, predicting=3, deflated=3)) is None


def test_gains_are_shares_where_variances_differ():
    tests = component_tests()
    tests.data.has_equal_variances = False
    assert choice_facts.gain(tests, 2.0).values == {"value": 0.2, "share": True}
    tests.table.loc[0, "gain"] = 0.001
    tests.found.k = 0
    assert choice_facts.number_of_components(tests).values["reason"].values["nothing"]


def test_cautions_on_rows_copies_and_the_last_component():
    tests = component_tests()
    assert [fact.key for fact in choice_facts.copies_tested(tests)] == ["copies tested"]
    tests.found.k = 1
    assert not list(choice_facts.copies_tested(tests))
    tests.large = SimpleNamespace(labels=list("abcde"), share=0.5, pulled=5, n=80, k=4)
    large = facts_of(choice_facts.large_rows(tests))["large rows"]
    assert (large["names"], large["others"]) == ("a, b, c", 2)
    assert [fact.key for fact in choice_facts.shrunk(tests)] == ["large rows"]
    tests.large.labels = []
    assert facts_of(choice_facts.shrunk(tests))["shrunk rows"]["differs"]
    tests.found.k, tests.most = 4, 4
    cautions = facts_of(choice_facts.number_cautions(tests))
    assert not cautions["last counts"]["possible"]


def test_a_fit_that_others_dominate_is_not_shown_beside_the_choice():
    """The sparsest fit of another family predicts 97 % with 18 loadings, and the best one 100 % with 18."""
    table = pd.DataFrame(
        {
            "nonzeros": [7, 13, 18, 18, 27],
            "kept": [0.61, 0.95, 0.97, 1.0, 0.99],
            "family": ["partition", "rotated", "equal", "rotated", "equal"],
        }
    )
    selected = SimpleNamespace(place=1, best=3)
    choice = SimpleNamespace(table=table, selected=selected, counted="nonzeros", units=9, cells=27)
    assert choice_facts.compared(choice) == [0, 1, 3]
    table.loc[2, "kept"] = 1.0  # as good as the best one
    assert choice_facts.compared(choice) == [0, 1, 2, 3]


def test_components_that_predict_together_only_are_named_in_methods():
    tests = component_tests(
        prediction=SimpleNamespace(
            least=0.2, required_gain=lambda k: 0.2, denser_by=lambda k: 0, compares_pca=False
        )
    )
    assert not facts_of(choice_facts.number_methods(tests))["methods of number"]["joint"]
    tests.table["counts"] = [False, True, False, np.nan]
    assert facts_of(choice_facts.number_methods(tests))["methods of number"]["joint"]


def test_a_table_of_components_without_room_keeps_the_chosen_ones_first():
    table = Table("", ("gain",), tuple(Row(f"PC{i}", (str(i),)) for i in range(1, 13)))

    def labels(count: int, k: int) -> list[str]:
        return [row.label for row in choice_tables._ends(table, count, k).rows]

    assert len(labels(12, 3)) == 12
    assert labels(9, 3) == ["PC1", "PC2", "PC3", "PC4", DOTS, "PC9", "PC10", "PC11", "PC12"]
    assert labels(7, 5) == ["PC1", "PC2", "PC3", "PC4", "PC5", "PC6", DOTS]
    assert labels(6, 5) == ["PC1", "PC2", "PC3", DOTS, "PC5", "PC6"]  # the last chosen one and the next
