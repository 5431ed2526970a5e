"""The description that goes with a wheel: README.md without its links. All else is in setup.cfg.

The links of README.md lead to files beside it. On the page of a package index there are none, so that there
only their text stays, with the place in the source.
Pictures and the marks for continuous integration are left out.
"""

import re
from pathlib import Path

import setuptools


def described(readme: str) -> str:
    """Return `readme` as it is read without the files beside it: absolute links stay."""
    readme = re.sub(r"(?m)^<!-- ci -->\n", "", readme)
    readme = re.sub(r"(?m)^!\[[^]]*\]\((?!https?:)[^)]*\)\n\n?", "", readme)
    readme = re.sub(r"(?s)<picture>.*?</picture>\n\n?", "", readme)
    readme = re.sub(r"\[([^]]*)\]\(\1\)", r"`\1`", readme)
    return re.sub(r"\[([^]]*)\]\((?!https?:|#)([^)]*)\)", r"\1 (`\2`)", readme)


if __name__ == "__main__":
    text = (Path(__file__).parent / "README.md").read_text(encoding="utf-8")
    setuptools.setup(long_description=described(text))
