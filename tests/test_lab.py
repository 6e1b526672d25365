"""JupyterLab with the extension of the lock, in a real browser: `make check`, no built book."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "book" / "theory" / "game.ipynb"
HEADS = """() => [...document.querySelectorAll('aside.myst-proof .myst-proof-title')]
  .map(head => head.textContent.split(' ')[0].toLowerCase())"""

pytestmark = pytest.mark.built


@pytest.fixture
def lab(tmp_path):
    """The address of a JupyterLab of a user without settings, with a copy of the notebook."""
    shutil.copy(PAGE, tmp_path)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"]
    command += [f"--port={port}", f"--ServerApp.root_dir={tmp_path}"]
    around = os.environ | {"HOME": str(tmp_path), "JUPYTER_TOKEN": "t"}
    process = subprocess.Popen(command, cwd=tmp_path, env=around, start_new_session=True)
    try:
        for _ in range(240):
            try:
                urlopen(f"http://127.0.0.1:{port}/api").close()
                break
            except URLError:
                assert process.poll() is None
                time.sleep(0.5)
        yield f"http://127.0.0.1:{port}/lab/tree/{PAGE.name}?token=t"
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(60)


def test_the_lab_renders_each_definition_and_theorem(browser, lab):
    cells = json.loads(PAGE.read_text())["cells"]
    text = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    kinds = re.findall(r"^[`:]{3,}\{prf:(\w+)\}", text, re.M)
    tab = browser.new_page(viewport={"width": 1440, "height": 900})
    tab.goto(lab)
    tab.wait_for_function(f"() => ({HEADS})().length >= {len(kinds)}", timeout=120_000)
    assert tab.evaluate(HEADS) == kinds and len(kinds) > 3
    tab.close()
