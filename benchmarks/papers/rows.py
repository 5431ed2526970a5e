"""Every algorithm, theorem, table and figure of the papers, and the verdicts of its rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from benchmarks.papers.sheet import DEVIATES, MET, Sheet
from benchmarks.report import markdown_table

#: Paper -> item -> the table that remakes it, or in words where it is tested.
ROWS: dict[str, dict[str, str]] = {
    "000": {
        "Theorem 1 (u = Ev)": "tests/solvers/test_bcd_steps.py: steps against the least-squares solution",
        "Theorem 2 (hard threshold)": "tests/kernels/test_thresholds.py: against all supports",
        "Theorem 3 (l1 bound)": "tests/kernels/test_thresholds.py: against the exact maximum",
        "Theorem 4 (Tseng)": "cited, nothing to compute; tests/solvers/test_bcd_steps.py: it never rises",
        "Theorem 5 (nonnegative)": "tests/kernels/test_thresholds.py; a unit vector where none is positive",
        "Algorithm 1 (BCD-SPCA)": "methods bcd-l0 and bcd-l1; Tables 2 to 4",
        "Algorithm 2 (BCD-NSPCA)": "the same with nonneg=True; Tables 6 and 7",
        "Section 3.1.1 (Hastie)": "000-hastie",
        "Table 1": "words only (greedy against block)",
        "Table 2": "000-2",
        "Table 3": "000-3",
        "Figure 1": "000-fig1",
        "Table 4": "000-4",
        "Figure 2": "000-fig2",
        "Table 5, Figure 3": "not remade: Yale B's 200 images are a random choice that print does "
        "not list, and the images are not ours to hand out",
        "Table 6": "000-6",
        "Table 7": "000-7",
        "Figure 4": "000-fig4",
        "Table 8, Figure 5": "000-8 (for those who have the CBCL images)",
        "Table 9": "000-9 (for those who have the CBCL images)",
    },
    "002": {
        "Theorem 1 (optimal scoring is PCA)": "tests/solvers/test_regression.py",
        "Theorem 2 (Z = XA / (1 + gamma))": "tests/solvers/test_spco.py",
        "Algorithm 1 (sPCA-OS)": "method spca-os; Tables 1 to 4",
        "Algorithm 2 (SPCO)": "sp.spco; Figures 2 and 4",
        "Tables 1 to 3": "002-1",
        "Figure 1": "002-fig1",
        "Table 4": "002-4",
        "Figure 2": "002-fig2",
        "Table 5": "the data sets of Table 6, with the rows that it counts",
        "Table 6": "002-6",
        "Figure 3": "002-fig3",
        "Section 5.4, Figure 4": "002-fig4",
    },
    "003": {
        "Algorithm 1 (S_1, S_c)": "method greedy; Tables 1 and 2",
        "Algorithm 2 (SC_c-PCA)": "method controlled; Tables 3 to 6",
        "Table 1": "003-1",
        "Table 2": "003-2",
        "Figure 1": "003-fig1",
        "Figures 2 and 3": "003-fig2-3",
        "Figure 4": "003-fig4",
        "Figure 5": "003-fig5",
        "Figure 6": "003-fig6",
        "Table 3": "003-3",
        "Table 4": "003-4",
        "Table 5": "003-5",
        "Table 6": "003-6",
    },
    "004": {
        "Theorem 1 (ascent direction)": "tests/solvers/test_rspca.py: steps of l1 variance",
        "Theorem 2 (0 < p < 1)": "tests/kernels/test_lp_thresholds.py: against a fine grid",
        "Theorem 3 (closed forms)": "tests/kernels/test_lp_thresholds.py",
        "Theorem 4 (ascent, local maximum)": "tests/solvers/test_rspca.py: (i) and (iii)",
        "Algorithm 1 (RSPCA)": "methods rspca-l0, rspca-l1, rspca-lhalf, rspca-lp; Tables 1 to 4",
        "Figures 1 and 4": "drawings: y = x^2 against |x|; samples of images",
        "Table 1": "004-1",
        "Figure 2": "004-fig2",
        "Figure 3": "004-fig3",
        "Tables 2 and 3": "004-2-3",
        "Table 4": "004-4",
        "Figure 5": "004-fig5",
        "Figure 6": "004-fig6",
    },
}


def list_of_rows(paper: str, sheets: Sequence[Sheet], unfinished: Mapping[str, str]) -> str:
    """Return the list of a paper's items in Markdown, each with the verdicts of its table.

    Parameters
    ----------
    paper : str
        A name in ROWS.
    sheets : sequence of Sheet
    unfinished : mapping
        Name of a table whose draws are not all made -> how many are missing.
    """
    made = {sheet.name: _verdict(sheet) for sheet in sheets}
    made |= {name: f"not recorded: {rest}" for name, rest in unfinished.items()}
    body = [[item, where, made.get(where.split(" ")[0], "")] for item, where in ROWS[paper].items()]
    legend = (
        "Rows: how many of a table's are as printed, have a cause that a run tested, have one that is "
        "supposed, or have none. A figure without printed numbers has curves only."
    )
    return f"{markdown_table(['item', 'where', 'rows'], body)}\n\n{legend}"


def _verdict(sheet: Sheet) -> str:
    if not sheet.rows:
        return "not run: " + sheet.notes[0].rstrip(".") if sheet.notes else "not run"
    found = Counter(
        verdict if verdict in (MET, DEVIATES) else verdict.split(") ")[-1] for verdict in sheet.verdicts()
    )
    if not found:
        return "curves"
    order = (MET, "tested", "supposed", DEVIATES)
    return ", ".join(f"{found[kind]} {kind}" for kind in order if found[kind])
