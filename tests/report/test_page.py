"""The report: one page that needs nothing, in a real browser where one is installed."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import matplotlib as mpl
import matplotlib.pyplot as plt
import pandas as pd
import pytest

import spcastat as sp
from spcastat.errors import FileError

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Page(HTMLParser):
    """Tags, attributes and text of a page."""

    VOID = ("meta", "link", "img", "wbr")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.text += data


def page_of(fit, path: Path, **options) -> Page:
    fit.report(path, **options)
    return Page(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def whole(fit, tmp_path_factory) -> str:
    """The page of a fit with all that a page can have."""
    path = tmp_path_factory.mktemp("report") / "out.html"
    fit.report(path, title="Props & <props>")
    return path.read_text(encoding="utf-8")


def pictures(page: Page) -> list[ElementTree.Element]:
    sources = [value for tag, name, value in page.attributes if (tag, name) == ("img", "src")]
    start = "data:image/svg+xml;base64,"
    assert all(source.startswith(start) for source in sources)
    return [ElementTree.fromstring(base64.b64decode(source.removeprefix(start))) for source in sources]


def test_tables_pictures_call_and_versions(fit, whole):
    page = Page(whole)
    assert "Props & <props>" in page.text
    for heading in ("Equations", "Loadings and variance", "Rows on the components", "How this was made"):
        assert heading in page.text
    assert page.tags.count("table") == 3
    assert len(pictures(page)) == 5
    assert fit.call in page.text
    assert f"numpy {fit._state.record.versions['numpy']}" in page.text
    first = fit.loadings["PC1"][lambda column: column != 0]
    assert f"PC1 = {first.iloc[0]:.3f} {first.index[0]}" in page.text
    alternatives = [value for tag, name, value in page.attributes if (tag, name) == ("img", "alt")]
    assert all(alternatives)


def test_nothing_is_loaded_and_nothing_runs(whole):
    page = Page(whole)
    assert not {"script", "iframe", "object"} & set(page.tags)
    for _, name, value in page.attributes:
        assert name not in ("src", "href") or value.startswith("data:")
        assert not name.startswith("on")
    assert not re.search(r"@import|url\(", whole)
    for picture in pictures(page):
        assert not [element for element in picture.iter() if element.tag.endswith("script")]


def test_it_reads_on_a_phone_and_prints(whole):
    assert '<meta name="viewport" content="width=device-width' in whole
    assert "@media print" in whole
    assert "@media (max-width" in whole


def test_names_are_escaped(pitprops, tmp_path):
    data = pitprops.rename(columns={"length": "<script>alert(1)</script>", "knots": "a & b"})
    page = page_of(sp.spca(data, k=2, card=8, method="bcd-l0"), tmp_path / "out.html")
    assert "script" not in page.tags
    assert "a & b" in page.text


@pytest.mark.parametrize("kind", ["covariance", "one component", "file", "no scores", "flat", "many"])
def test_every_kind_of_fit_has_a_report(kind, pitprops, covariance_fit, fit, tmp_path):
    if kind in ("file", "no scores"):
        fit.save(tmp_path / "fit.spca", scores=kind == "file")
    made = {
        "covariance": lambda: covariance_fit,
        "one component": lambda: sp.spca(pitprops, 1, 4, method="bcd-l0"),
        "file": lambda: sp.load(tmp_path / "fit.spca"),
        "no scores": lambda: sp.load(tmp_path / "fit.spca"),
        "flat": lambda: sp.spca(
            pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": [1.0, 2.0, 4.0]}), 1, 1, method="bcd-l0"
        ),
        "many": lambda: sp.spca(pitprops, 13, method="pca"),
    }[kind]()
    page = page_of(made, tmp_path / "out.html")
    count = {"covariance": 2, "one component": 3, "file": 4, "no scores": 2, "flat": 3, "many": 5}[kind]
    assert len(pictures(page)) == count


def test_pyplot_and_its_settings_are_left_alone(covariance_fit, tmp_path):
    before, figures = dict(mpl.rcParams), plt.get_fignums()
    covariance_fit.report(tmp_path / "out.html")
    assert dict(mpl.rcParams) == before
    assert plt.get_fignums() == figures


def test_a_call_of_ones_own(covariance_fit, tmp_path):
    page = page_of(covariance_fit, tmp_path / "out.html", call="spcastat fit x.csv --k 6")
    assert "spcastat fit x.csv --k 6" in page.text
    assert "sp.spca" not in page.text


def test_a_place_that_cannot_be_written(covariance_fit, tmp_path):
    with pytest.raises(FileError, match="cannot be written"):
        covariance_fit.report(tmp_path / "nowhere" / "out.html")


# What the page says of itself once the browser has laid it out.
PROBE = """<script>
window.errors = [];
window.addEventListener("error", event => errors.push(event.message || "resource"), true);
window.addEventListener("load", () => {
  const pictures = [...document.images].map(image => image.complete && image.naturalWidth > 0);
  const tables = [...document.querySelectorAll("table")].map(table => table.offsetHeight > 40);
  const body = document.documentElement;
  document.title = JSON.stringify(
    [errors, pictures, tables, body.scrollWidth <= body.clientWidth, performance.getEntriesByType("resource")
      .map(entry => entry.name).filter(name => !name.startsWith("data:"))]);
  document.body.innerHTML = "<p id=probe>" + document.title + "</p>";
});
</script></head>"""


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium")
@pytest.mark.parametrize("width", [1280, 390])
def test_in_a_browser(whole, tmp_path, width):
    """No error, every picture and table shown, nothing fetched, the page no wider than the screen."""
    (tmp_path / "probe.html").write_text(whole.replace("</head>", PROBE), encoding="utf-8")
    options = (
        "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
        f"--disable-component-update --disable-sync --hide-scrollbars --window-size={width},2000 "
        f"--user-data-dir={tmp_path / 'profile'} --enable-logging=stderr --dump-dom"
    )
    command = [str(CHROMIUM), *options.split(), (tmp_path / "probe.html").as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert "CONSOLE" not in done.stderr
    *_, probe = re.findall(r"<p id=\"?probe\"?>(.*?)</p>", done.stdout)
    errors, shown, tables, fits, fetched = json.loads(probe.replace("&quot;", '"'))
    assert errors == []
    assert shown == [True] * 5
    assert tables == [True] * 3
    assert fits
    assert fetched == []


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium")
def test_it_prints_to_pdf(whole, tmp_path):
    (tmp_path / "out.html").write_text(whole, encoding="utf-8")
    options = (
        "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
        f"--disable-component-update --disable-sync --user-data-dir={tmp_path / 'profile'} "
        f"--no-pdf-header-footer --print-to-pdf={tmp_path / 'out.pdf'}"
    )
    command = [str(CHROMIUM), *options.split(), (tmp_path / "out.html").as_uri()]
    subprocess.run(command, capture_output=True, timeout=120, check=True)
    pdf = (tmp_path / "out.pdf").read_bytes()
    assert pdf.startswith(b"%PDF")
    assert 2 <= len(re.findall(rb"/Type\s*/Page\b", pdf)) <= 8
