"""The facts that a citation needs, each from one place: pyproject.toml, the lock, git."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dueling.engine.provenance import commit

from ..sums import sum_of

PROVIDERS = {"github.com": "gh", "gitlab.com": "gl"}  # Binder's names of the hosts it knows


@dataclass(frozen=True)
class Edition:
    """What this edition is called, which state of it this is, and where it lives, if anywhere."""

    title: str
    version: str
    date: str
    authors: list[str]
    abstract: str
    keywords: list[str]
    paper: dict[str, Any]
    repository: str  # empty until there is a public host
    branch: str
    python: str
    licence: str
    text_licence: str
    commit: str
    lock: str

    def citation(self, page: str = "") -> str:
        """How to cite the edition, or one of its pages, as a sentence."""
        part = f"“{page}”, in: " if page else ""
        where = f" {self.repository}." if self.repository else ""
        state = f"Version {self.version}, commit {self.commit}."
        return f"{', '.join(self.authors)} ({self.date[:4]}). {part}{self.title}. {state}{where}"

    def bibtex(self, key: str, page: str = "") -> str:
        """How to cite the edition, or one of its pages, as a BibTeX entry."""
        fields = {
            "title": f"{{{page}, in: {self.title}}}" if page else f"{{{self.title}}}",
            "author": " and ".join(f"{{{author}}}" for author in self.authors),
            "year": self.date[:4],
            "version": self.version,
            "note": f"Commit {self.commit}",
            "url": self.repository,
        }
        lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
        return "\n".join([f"@software{{{key},", *lines, "}"])

    def links(self, path: str) -> dict[str, str]:
        """Where a source file can be edited and run on the public host; none without a host."""
        host, _, project = self.repository.removeprefix("https://").partition("/")
        if not project:
            return {}
        branch = self.branch
        addresses = {"Edit this page": f"{self.repository}/edit/{branch}/{path}"}
        if path.endswith(".ipynb") and host in PROVIDERS:
            binder = f"https://mybinder.org/v2/{PROVIDERS[host]}/{project}/{branch}"
            addresses["Run on Binder"] = f"{binder}?urlpath=lab/tree/{path}"
        if path.endswith(".ipynb") and host == "github.com":
            colab = "https://colab.research.google.com/github"
            addresses["Run on Colab"] = f"{colab}/{project}/blob/{branch}/{path}"
        return addresses


def edition(root: Path) -> Edition:
    """The facts of the checkout at ``root``."""
    pyproject = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    project, publication = pyproject["project"], pyproject["tool"]["edition"]
    return Edition(
        version=project["version"],
        authors=[author["name"] for author in project["authors"]],
        python=project["requires-python"],
        licence=project["license"],
        commit=commit(root),
        lock=sum_of(root / "requirements.txt"),
        **publication,
    )
