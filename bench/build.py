"""How long the main commands take, in a new clone: python bench/build.py, while nothing else runs.

Set-up, the small book, the book and the tests: half an hour on two cores. Seconds on the clock, and
the largest memory of a command with all that it starts. Other commands are named as make has them:
python bench/build.py ready "book JOBS=1" check. Each gets what --make names: --make WHEELS=folder.
"""

import argparse
import json
import os
import shlex
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parents[1]
COMMANDS = ["ready", "book PROFILE=smoke", "book", "test"]


def family(pid: int) -> int:
    """The bytes that a process and its descendants hold."""
    held = 0
    with suppress(psutil.Error):
        process = psutil.Process(pid)
        for one in (process, *process.children(recursive=True)):
            with suppress(psutil.Error):  # it ended
                held += one.memory_info().rss
    return held


def measured(command: list[str], folder: Path) -> dict[str, float]:
    """The seconds on the clock and the largest memory of a command that must succeed."""
    began, peak = time.monotonic(), 0
    around = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "VENV"))}
    process = subprocess.Popen(command, cwd=folder, env=around)
    while process.poll() is None:
        peak = max(peak, family(process.pid))
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.5)
    if process.returncode:
        raise SystemExit(f"{shlex.join(command)} failed; what it said stands above.")
    return {"seconds": round(time.monotonic() - began, 1), "peak_mb": peak // 2**20}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("commands", nargs="*", default=COMMANDS)
    parser.add_argument("--make", action="append", default=[], metavar="NAME=VALUE")
    options = parser.parse_args()
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["git", "clone", "--quiet", "--local", ROOT, folder], check=True)
        for command in options.commands:
            load = round(os.getloadavg()[0], 1)
            words = ["make", *shlex.split(command), *options.make]
            found[command] = measured(words, Path(folder)) | {"load": load}
    print(f"{os.cpu_count()} cores; the load is that before the command")
    for command, took in found.items():
        print(f"make {command}: {took['seconds']} s, {took['peak_mb']} MB, load {took['load']}")
    target = ROOT / "_build" / "bench-build.json"
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
