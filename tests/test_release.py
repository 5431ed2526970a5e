"""What goes out with a release: one version, a description that is read without the files beside it."""

from __future__ import annotations

import configparser
import importlib.metadata
import re
import runpy
from pathlib import Path

import spcastat

ROOT = Path(__file__).resolve().parents[1]
LINK = re.compile(r"\]\(([^)]*)\)")


def setup_cfg() -> configparser.ConfigParser:
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf-8")
    return config


def test_the_version_is_written_in_one_place():
    assert setup_cfg()["metadata"]["version"] == "attr: spcastat.version.__version__"
    assert importlib.metadata.version("spcastat") == spcastat.__version__
    written = f'__version__ = "{spcastat.__version__}"'
    assert written in (ROOT / "spcastat" / "version.py").read_text(encoding="utf-8")
    for name in ("setup.cfg", "setup.py", "pyproject.toml", "CITATION.cff", "docs/conf.py", "README.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert not re.search(rf"(?<![\d.]){re.escape(spcastat.__version__)}(?![\d.])", text), name
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(r"(?m)^## (\S+)", changelog).group(1) == spcastat.__version__  # type: ignore[union-attr]


def test_the_links_of_the_readme_lead_to_files():
    links = LINK.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    assert len(links) > 10
    assert [link for link in links if ":" not in link and not (ROOT / link).exists()] == []


def test_the_description_is_read_without_the_files_beside_it():
    described = runpy.run_path(str(ROOT / "setup.py"))["described"]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    text = described(readme)
    assert [link for link in LINK.findall(text) if not link.startswith("https://")] == []
    assert "<!--" not in text
    assert text.count("```") == readme.count("```")
    assert "Wide data: genes and words (`vignettes/08-wide-data.md`)" in text
    kept = "[x](https://a.org) ![y](https://a.org/y.png)\n"
    assert described(f"{kept}![z](z.png)\n\n[a b](a.md), [c.md](c.md)") == f"{kept}a b (`a.md`), `c.md`"


def test_every_lower_bound_is_one_that_is_tried():
    oldest = {}
    for line in (ROOT / ".ci" / "oldest.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, version = line.split("==")
            oldest[name] = tuple(map(int, version.split(".")))
    config = setup_cfg()
    wanted = config["options"]["install_requires"].splitlines()
    extras = config["options.extras_require"]
    wanted += [line for extra in ("test", "parquet", "sklearn") for line in extras[extra].splitlines()]
    wanted = [line for line in wanted if line]
    bounds = dict(re.fullmatch(r"([\w-]+) >= ([\d.]+)", line).groups() for line in wanted if "[" not in line)
    for name, bound in bounds.items():
        asked = tuple(map(int, bound.split(".")))
        assert oldest[name][: len(asked)] == asked, f"{name} >= {bound}, but .ci/oldest.txt tries another"
        assert not any(oldest[name][len(asked) :])
