"""Sentences: every template words its facts with one and with several, and facts have what templates name."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import spcastat
from spcastat.show import choice_templates, resampling_templates  # noqa: F401  (their templates are registered)
from spcastat.show.templates import TEMPLATES, Fact, Template, fact, field_parts, methods, pieces, worded

#: The wordings of a template.
KINDS = ("label", "line", "note", "methods", "part", "warning", "remark")
SHOW = Path(spcastat.__file__).parent / "show"


def fields(template: str) -> Iterator[tuple[str, str]]:
    """Yield the names of the fields of a template, with the signs after them, also of those in its texts."""
    for _, inside in pieces(template):
        if inside is not None:
            name, sign, texts = field_parts(inside)
            yield name, sign
            if sign in ("|", "?"):
                for text in texts:
                    yield from fields(text.replace("#", ""))


def wordings(template: Template) -> Iterator[tuple[str, str]]:
    """Yield the kinds and texts of the wordings of a template, and of the papers that it cites."""
    for kind in KINDS:
        if text := getattr(template, kind):
            yield kind, text
    for citation in template.cites:
        yield "cites", citation


#: What a number of one is not followed by, and a number of two: "1 rows were", "2 row was".
NOUNS = (
    "(row|variable|component|loading|draw|permutation|start|sweep|pattern|iteration|level|number|group|set)"
)
WRONG = {1: rf"\b1 {NOUNS}s\b|\b1 were\b", 2: rf"\b2 {NOUNS}\b(?! of)"}


@pytest.mark.parametrize("key", TEMPLATES)
@pytest.mark.parametrize("number", [0, 1, 2])
def test_every_fact_is_worded_with_one_and_with_several(key, number):
    """With a number in every field, nouns are singular or plural, and no sign of a template is left."""
    template = TEMPLATES[key]
    for kind, text in wordings(template):
        sentence = worded(text, dict.fromkeys(dict(fields(text)), number))
        assert not re.search(r"[{}#]", sentence), (kind, sentence)
        assert "  " not in sentence
        if number in WRONG:
            assert not re.search(WRONG[number], sentence), (kind, sentence)


#: Sentences about what is proven, about how rows depend and how figures are defined are true at any time.
TIMELESS = {"proven optimal", "proven bound", "better proven impossible", "serial"}


@pytest.mark.parametrize("key", [key for key, template in TEMPLATES.items() if template.methods])
def test_methods_sections_are_in_the_past_tense(key):
    text = re.sub(r"\(.*?\)", "", TEMPLATES[key].methods)
    verbs = "is|are|has|have|[a-z]+imises?|explains?|keeps?|improves?|predicts?|exceeds?|combine"
    present = rf"(?<!to )(?<!not )\b({verbs})\b"
    if key not in TIMELESS:
        assert not re.search(present, text), text


def test_the_language_of_templates():
    """Choices by number, conditions with and without another text, formats, and facts as parts."""
    text = "{n|# row was|# rows were} read{dropped?; {dropped|# was|# were} left out}, {share:%.1f} %"
    assert worded(text, {"n": 1, "dropped": 0, "share": 0.5}) == "1 row was read, 50.0 %"
    assert worded(text, {"n": 3, "dropped": 1, "share": 0.125}) == "3 rows were read; 1 was left out, 12.5 %"
    assert worded("{x?yes|no} {n:,} {p:fixed3} {q:%0}", {"x": (), "n": 1234, "p": 0.0001, "q": 0.2}) == (
        "no 1,234 <.001 20"
    )
    by_rule = worded("by {rule}{none}", {"rule": fact("heading of IS"), "none": None})
    assert by_rule == "by IS: index of sparseness"
    cited: list[str] = []
    weights, mixed = methods([fact("weights", total=12.0, column="w"), fact("scaled as mixed data")], cited)
    assert weights.endswith("12).")
    assert "(Pagès, 2004)" in mixed
    assert cited == ["pages2004"]
    with pytest.raises(KeyError):
        worded("{n} rows", {"p": 1})


def calls_of_fact(path: Path) -> Iterator[tuple[set[str], set[str] | None]]:
    """Yield the keys of each call of `fact` in a file, and the names of its values, None for a mapping."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "fact"):
            continue
        keys = {
            constant.value
            for constant in ast.walk(node.args[0])
            if isinstance(constant, ast.Constant) and constant.value in TEMPLATES
        }
        names = {keyword.arg for keyword in node.keywords}
        yield keys, None if None in names else {name for name in names if name is not None}


def test_facts_have_the_values_that_their_templates_name():
    """In the source, so that a sentence that is rarely shown is checked, too."""
    seen = set()
    for path in SHOW.glob("*.py"):
        for keys, names in calls_of_fact(path):
            seen |= keys
            for key in keys if names is not None else ():
                needed = {name for _, text in wordings(TEMPLATES[key]) for name, _ in fields(text)}
                assert needed <= names, (path.name, key, needed - names)
    assert len(seen) > 80


def test_facts_have_no_words():
    """A sentence in a module of facts would be one that templates do not have."""
    for name in ("facts.py", "note_facts.py", "choice_facts.py"):
        tree = ast.parse((SHOW / name).read_text(encoding="utf-8"))
        documented = {
            id(node.body[0].value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
            and isinstance(node.body[0], ast.Expr)
        }
        for node in ast.walk(tree):
            text = node.value if isinstance(node, ast.Constant) else None
            if isinstance(text, str) and id(node) not in documented and text not in TEMPLATES:
                assert len(re.findall(r"[a-z]{2,}", text)) <= 5, (name, text)


def test_a_fact_is_frozen():
    with pytest.raises(AttributeError):
        Fact("rows", {}).key = "matrix"  # type: ignore[misc]


@pytest.mark.parametrize(
    "name", ["resampling_tables", "resampling_facts", "facts", "note_facts", "choice_facts", "summary"]
)
def test_words_of_tables_and_facts_are_in_the_templates(name):
    """Their modules, and the prints of the summary, contain names, but no text of more than six words."""
    text = (SHOW / f"{name}.py").read_text(encoding="utf-8")
    tree = ast.parse(text[text.index("# --- prints of one screen") if name == "summary" else 0 :])
    bodies = [node.body for node in ast.walk(tree) if isinstance(getattr(node, "body", None), list)]
    documented = {id(body[0].value) for body in bodies if body and isinstance(body[0], ast.Expr)}
    texts = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documented
    ]
    assert [text for text in texts if len(text.split()) > 6] == []
