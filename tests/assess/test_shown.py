"""What was resampled is shown by the command and on the page."""

from __future__ import annotations

import pytest

from spcastat.cli import main


def test_the_command_prints_intervals_and_frequencies(planted, tmp_path, capsys):
    table, page = tmp_path / "rows.csv", tmp_path / "page.html"
    planted.set_axis([f"x{j}" for j in range(12)], axis=1).to_csv(table, index=False)
    call = ["fit", str(table), "--k", "2", "--card", "4", "--bootstrap", "6", "--stability", "3"]
    assert main([*call, "--report", str(page)]) == 0
    out = capsys.readouterr().out
    assert "Bootstrap (6 draws): 95 % intervals, variables selected again in each" in out
    assert "Stability: 6 fits of half of the rows" in out
    assert "How sure" in out
    assert max(map(len, out.splitlines())) <= 80
    text = page.read_text(encoding="utf-8")
    assert "How sure this is</h2>" in text
    assert "Loadings with bootstrap intervals" in text


@pytest.mark.parametrize("wrong", [["--jobs", "2"], ["--bootstrap", "1"], ["--stability", "0"]])
def test_the_command_refuses(planted, tmp_path, capsys, wrong):
    table = tmp_path / "rows.csv"
    planted.set_axis([f"x{j}" for j in range(12)], axis=1).to_csv(table, index=False)
    assert main(["fit", str(table), "--k", "2", "--card", "4", *wrong]) != 0
    assert "error" in capsys.readouterr().err
