"""Chromium for the tests of the pages and for the PDF: found, or installed on demand.

python -m edition.release.browser [--install]     where it is, or why there is none
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--font-render-hinting=none",
    "--disable-lcd-text",
]
MISSING = "no Chromium: make browser installs Debian's, as root; or set CHROMIUM to the path of one"


def chromium() -> Path | None:
    """The path of an installed Chromium: $CHROMIUM, or the first of the usual names."""
    named = os.environ.get("CHROMIUM")
    paths = [named] if named else [path for name in NAMES if (path := shutil.which(name))]
    return Path(paths[0]) if paths else None


def install() -> str:
    """An empty string once there is a Chromium; else the reason why there is none."""
    if chromium():
        return ""
    if not shutil.which("apt-get"):
        return "no Chromium, and no apt-get to install it with: install it, or set CHROMIUM"
    if os.geteuid() != 0:
        return "no Chromium, and only root can install it: apt-get install chromium"
    get = ["apt-get", "install", "--yes", "--no-install-recommends", "chromium"]
    for command in (get, ["apt-get", "update"], get):
        attempt = subprocess.run(command, capture_output=True, text=True)
        if chromium():
            return ""
    return f"no Chromium, and apt-get could not install it: {attempt.stderr.strip()[-200:]}"


@contextmanager
def launched() -> Iterator[Any]:
    """A running Chromium, driven by playwright."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium(), args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


def main(argv: list[str] | None = None) -> int:
    """The exit status: 1 without a Chromium."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--install", action="store_true", help="install Debian's, as root")
    reason = install() if parser.parse_args(argv).install else ("" if chromium() else MISSING)
    print(reason or chromium(), file=sys.stderr if reason else sys.stdout)
    return bool(reason)


if __name__ == "__main__":
    sys.exit(main())
