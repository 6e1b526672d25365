"""CITATION.cff, codemeta.json and .zenodo.json, written from pyproject.toml.

python -m edition.release.citation [--check]      --check only says which of them is out of date
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import yaml

from .. import place
from .facts import Edition, edition

ROOT = place.root()


def given(**fields: Any) -> dict[str, Any]:
    """The fields that have a value."""
    return {name: value for name, value in fields.items() if value}


def citation(about: Edition) -> str:
    """CITATION.cff: the edition, and the paper it reproduces."""
    paper = about.paper
    people = [{"family-names": last, "given-names": first} for last, first in paper["authors"]]
    fields = {"cff-version": "1.2.0", "type": "software", "title": about.title}
    fields["message"] = "If you use this edition, please cite it and the paper it reproduces."
    fields |= {"abstract": about.abstract, "authors": [{"name": name} for name in about.authors]}
    fields |= {"version": about.version, "date-released": about.date, "license": about.licence}
    fields |= {"keywords": about.keywords} | given(**{"repository-code": about.repository})
    work = {"type": "conference-paper", "title": paper["title"], "authors": people}
    work |= {"collection-title": paper["collection"], "year": paper["year"]}
    first, last = paper["pages"].split("-")
    work |= {"start": int(first), "end": int(last), "url": paper["url"]}
    head = "# Written from pyproject.toml by make metadata: change that, not this.\n"
    dumped = yaml.safe_dump(
        fields | {"references": [work]}, sort_keys=False, allow_unicode=True, width=100
    )
    return head + dumped


def codemeta(about: Edition) -> str:
    """codemeta.json: the same facts for software catalogues."""
    paper = about.paper
    people = [
        {"@type": "Person", "familyName": last, "givenName": first}
        for last, first in paper["authors"]
    ]
    fields = {
        "@context": "https://doi.org/10.5063/schema/codemeta-2.0",
        "@type": "SoftwareSourceCode",
        "name": about.title,
        "description": about.abstract,
        "version": about.version,
        "dateModified": about.date,
        "license": f"https://spdx.org/licenses/{about.licence}",
        "author": [{"@type": "Organization", "name": name} for name in about.authors],
        "keywords": about.keywords,
        "programmingLanguage": {"@type": "ComputerLanguage", "name": "Python"},
        "runtimePlatform": f"Python {about.python}",
        "referencePublication": {
            "@type": "ScholarlyArticle",
            "name": paper["title"],
            "author": people,
            "isPartOf": paper["collection"],
            "datePublished": str(paper["year"]),
            "url": paper["url"],
        },
    }
    return dump(fields | given(codeRepository=about.repository))


def zenodo(about: Edition) -> str:
    """.zenodo.json: the same facts for an archive of a release."""
    paper = {"identifier": about.paper["url"], "relation": "isDerivedFrom", "scheme": "url"}
    fields = {
        "upload_type": "software",
        "title": about.title,
        "description": about.abstract,
        "version": about.version,
        "publication_date": about.date,
        "creators": [{"name": name} for name in about.authors],
        "license": about.licence,
        "keywords": about.keywords,
        "notes": f"Code: {about.licence}. Text and figures: {about.text_licence}.",
        "related_identifiers": [paper],
    }
    return dump(fields)


def dump(fields: dict[str, Any]) -> str:
    """JSON as it is kept in the repository."""
    return json.dumps(fields, indent=2, ensure_ascii=False) + "\n"


WRITERS = {"CITATION.cff": citation, "codemeta.json": codemeta, ".zenodo.json": zenodo}


def outdated(root: Path) -> list[str]:
    """The names of the files that do not say what pyproject.toml says."""
    about = edition(root)
    wanted = {name: writer(about) for name, writer in WRITERS.items()}
    paths = {name: root / name for name in wanted}
    return [
        name
        for name, path in paths.items()
        if not path.exists() or path.read_text(encoding="utf-8") != wanted[name]
    ]


def main(argv: list[str] | None = None) -> int:
    """The exit status: 1 when a file was out of date and --check was given."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true")
    late = outdated(ROOT)
    if parser.parse_args(argv).check:
        print("\n".join(f"{name} is out of date: make metadata" for name in late))
        return bool(late)
    about = edition(ROOT)
    for name in late:
        (ROOT / name).write_text(WRITERS[name](about), encoding="utf-8")
        print(f"wrote {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
