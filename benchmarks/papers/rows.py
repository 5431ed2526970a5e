"""Every algorithm, theorem, table and figure of the papers, with the findings on their printed rows."""

from __future__ import annotations

import re

from benchmarks.papers.counting import in_words, totals
from benchmarks.report import markdown_table, section_of

#: The text above the list of the preprint on the page.
PREPRINT = (
    "The preprint of 2013 (recursive divide and conquer, ReDaC) is the same work: its method is BCD-SPCA, "
    "and its numbers are those of the article. ReDaC is BCD-SPCA l1 in its Table 2 and BCD-NSPCA l0 in "
    "Tables 5 to 7; its numbers are missing in Tables 1, 3 and 4. The tables of the article cover all of it:"
)
#: Paper -> item -> the table that reproduces it, or the place where it is tested.
ROWS: dict[str, dict[str, str]] = {
    "zhao2015": {
        "Theorem 1 (u = Ev)": "tests/solvers/test_statements.py::test_scores_are_the_best_factor_of_loadings",
        "Theorem 2 (hard threshold)": "tests/linalg/test_thresholds.py::"
        "test_hard_is_the_best_of_all_supports",
        "Theorem 3 (l1 bound)": "tests/linalg/test_thresholds.py::test_l1_bounded_against_bisection",
        "Lemma 1 (the l1 norm falls with the threshold)": "tests/linalg/test_thresholds.py::"
        "test_a_higher_level_leaves_a_smaller_l1_norm",
        "Theorem 4 (Tseng)": "tests/solvers/test_statements.py::"
        "test_where_block_coordinate_descent_ends_no_block_improves",
        "Theorem 5 (nonnegative)": "tests/linalg/test_thresholds.py::"
        "test_nonnegative_update_is_the_best_nonnegative_vector",
        "Algorithm 1 (BCD-SPCA)": "methods bcd-l0 and bcd-l1; Tables 2 to 4",
        "Algorithm 2 (BCD-NSPCA)": "the same with nonneg=True; Tables 6 and 7",
        "Section 3.1.1 (Hastie)": "zhao2015-hastie",
        "Table 1": "words only (greedy against block)",
        "Table 2": "zhao2015-2",
        "Table 3": "zhao2015-3",
        "Figure 1": "zhao2015-fig1",
        "Table 4": "zhao2015-4",
        "Figure 2": "zhao2015-fig2",
        "Table 5, Figure 3": "not remade: Yale B's 200 images are a random choice that the paper does "
        "not list, and we do not have the images",
        "Figure 3, with digits": "zhao2015-fig3-digits",
        "Table 6": "zhao2015-6",
        "Table 7": "zhao2015-7",
        "Figure 4": "zhao2015-fig4",
        "Tables 8 and 9, Figure 5": "not remade: we do not have the CBCL images",
        "Figure 5 and Table 8, with digits": "zhao2015-fig5-digits",
    },
    "zhao2013": {
        "Theorems 1 to 5, Lemma 1, Algorithms 1 and 2": "those of the article; tested there",
        "Section 3.1 (Hastie)": "zhao2015-hastie",
        "Table 1": "zhao2015-2",
        "Table 2": "zhao2015-3",
        "Table 3": "zhao2015-4",
        "Table 4": "zhao2015-6",
        "Table 5": "zhao2015-7",
        "Tables 6 and 7": "not remade, as Tables 8 and 9 of the article",
        "Figures without numbers": "the same curves as in Figures 1, 2, 4 of the article, and the same faces",
    },
    "dou2011": {
        "Theorem 1 (optimal scoring is PCA)": "tests/solvers/test_regression.py::test_no_penalty_is_pca",
        "Theorem 2 (Z = XA / (1 + gamma))": "tests/solvers/test_regression.py::test_the_ridge_divides, "
        "test_no_penalty_is_principal_coordinates",
        "Section 4 (relations to other methods)": "tests/solvers/test_statements.py::"
        "test_rsvd_of_the_transpose_is_spco_with_one_coordinate, "
        "test_pmd_and_scotlass_solve_one_problem_for_one_component, "
        "test_the_loss_of_zou_is_a_constant_and_the_loss_of_the_targets, "
        "test_optimal_scoring_of_one_component_and_its_bounded_form_have_the_same_support",
        "Algorithm 1 (sPCA-OS)": "method spca-os; Tables 1 to 4",
        "Algorithm 2 (SPCO)": "sp.spco; Figures 2 and 4",
        "Tables 1 to 3": "dou2011-1",
        "Figure 1": "dou2011-fig1",
        "Table 4": "dou2011-4",
        "Figure 2": "dou2011-fig2",
        "Figure 2, the coordinates": "dou2011-fig2-points",
        "Table 5": "the data sets of Table 6, with the rows that it counts",
        "Table 6": "dou2011-6",
        "Figure 3": "dou2011-fig3",
        "Section 5.4, Figure 4": "dou2011-fig4",
    },
    "he2010": {
        "Equations (2.1) to (2.4)": "tests/solvers/test_statements.py::"
        "test_the_four_problems_of_one_sparse_component",
        "Proposition 3.1 (Schur deflation is a projection)": "tests/linalg/test_operators.py::"
        "test_schur_deflation_projects_on_the_complement_of_all_scores",
        "Proposition 3.2 (gain of adjusted variance)": "tests/measures/test_measures.py::"
        "test_a_further_component_adds_what_least_squares_on_the_earlier_scores_leaves",
        "Algorithm 1 (S_1, S_c)": "tests/solvers/test_statements.py::"
        "test_greedy_selects_by_signs_as_algorithm_1_does; "
        "Tables 1 and 2",
        "Algorithm 2 (SC_c-PCA)": "tests/solvers/test_greedy.py::"
        "test_no_step_more_than_when_every_step_is_looked_at; Tables 3 to 6",
        "Table 1": "he2010-1",
        "Table 2": "he2010-2",
        "Figure 1": "he2010-fig1",
        "Figures 2 and 3": "he2010-fig2-3",
        "Figure 4": "he2010-fig4",
        "Figure 5": "he2010-fig5",
        "Figure 6": "he2010-fig6",
        "Table 3": "he2010-3",
        "Table 4": "he2010-4",
        "Table 5": "he2010-5",
        "Table 6": "he2010-6",
    },
    "zhao2014": {
        "Theorem 1 (ascent direction)": "tests/solvers/test_statements.py::test_the_l1_variance_never_falls",
        "Theorem 2 (0 < p < 1)": "tests/linalg/test_thresholds.py::test_lp_minimises_the_penalised_distance",
        "Theorem 3 (closed forms)": "tests/linalg/test_thresholds.py::test_half_thresholding_is_equation_13, "
        "test_soft_shrinks_by_the_next_value, test_hard_is_the_best_of_all_supports",
        "Theorem 4 (ascent, local maximum)": "tests/solvers/test_statements.py::"
        "test_the_l1_variance_never_falls (i, ii); tests/solvers/test_robust.py::"
        "test_l0_component_is_a_local_maximum_on_its_support (iii)",
        "Algorithm 1 (RSPCA)": "methods rspca-l0, rspca-l1, rspca-lhalf, rspca-lp; Tables 1 to 4",
        "Figures 1 and 4": "drawings: y = x^2 against |x|; samples of images",
        "Table 1": "zhao2014-1",
        "Figure 2": "zhao2014-fig2",
        "Figure 3": "zhao2014-fig3",
        "Tables 2 and 3": "zhao2014-2-3",
        "Table 4": "zhao2014-4",
        "Figure 5": "zhao2014-fig5",
        "Figure 6": "zhao2014-fig6",
        "Section 2.7 (complexity; also of the other papers)": "zhao2014-complexity",
    },
}


def list_of_rows(paper: str, page: str) -> str:
    """Return the list of a paper's items in Markdown, each with the findings of its table.

    Parameters
    ----------
    paper : str
        A name in ROWS.
    page : str
        The page of results with the tables' sections.
    """
    body = [[item, _where(where), *_judged(where.split(" ")[0], page)] for item, where in ROWS[paper].items()]
    return markdown_table(["item", "where", "rows", "draws a row"], body)


def _where(place: str) -> str:
    """Return the place in Markdown, names of tests as code."""
    return re.sub(r"(?:tests/[\w/]+\.py::)?test_\w+(?!\.py)", r"`\g<0>`", place)


def _judged(table: str, page: str) -> tuple[str, str]:
    """Return how many printed rows of a table have each finding, and the rows' numbers of draws."""
    if f"<!-- {table}:begin -->" not in page:
        return "", ""
    section = section_of(table, page)
    rows = in_words(totals(section)[0]) or "trials only"
    draws, head = {1}, [""]
    for line in section.replace("\\|", "").splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        head = cells if "draws" in cells or line == "" else head
        if "draws" in head and cells != head and cells[1:2] not in ([], ["---"]):
            draws.add(int(cells[head.index("draws")]))
    draws -= {1} if len(draws) > 1 else set()
    return rows, f"{min(draws)} to {max(draws)}" if len(draws) > 1 else str(*draws)
