"""Chromium for the tests of the pages and for the PDF: found, or installed where that is possible.

python -m edition.release.browser     installs Debian's Chromium, or says why it cannot
"""

from __future__ import annotations

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


def chromium() -> Path | None:
    """The path of an installed Chromium: $CHROMIUM, or the first of the usual names."""
    given = os.environ.get("CHROMIUM")
    found = [given] if given else [path for name in NAMES if (path := shutil.which(name))]
    return Path(found[0]) if found else None


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
        said = subprocess.run(command, capture_output=True, text=True)
        if chromium():
            return ""
    return f"no Chromium, and apt-get could not install it: {said.stderr.strip()[-200:]}"


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


if __name__ == "__main__":
    if reason := install():
        sys.exit(reason)
    print(chromium())
