"""Set up the environment from the lock alone; run by the Makefile, before anything is installed.

python -m edition.install environment .venv [--wheels FOLDER]
python -m edition.install wheels FOLDER        the lock's wheels for this Python, with checksums
python -m edition.install peers FOLDER         what the bench compares with

Only the standard library is imported. No resolver decides anything: pip takes each package of a
lock in its version and with its hash, builds none, and asks none what it requires. That needs
nothing of pip that the one of Python 3.11.0 lacks.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import os
import platform
import subprocess
import sys
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LOCK, PEERS = "requirements.txt", "bench/requirements.txt"
EXACTLY = ("--no-deps", "--only-binary=:all:", "--require-hashes", "--requirement")
EDITABLE = ("--no-deps", "--no-build-isolation", "--no-index", "--editable", ".")
NEWEST = (3, 14)
LEAST = {  # where all of the lock has wheels, and the least version of the system that they need
    ("Linux", "x86_64"): ("glibc", (2, 28)),
    ("Linux", "aarch64"): ("glibc", (2, 34)),
    ("Darwin", "arm64"): ("macOS", (13,)),
}
SEE = "book/back/install.md says what works where"


class Refusal(Exception):
    """Why the environment cannot be set up, in one sentence."""


def supported() -> None:
    """Refuse a Python or a platform on which the lock cannot be installed."""
    python, version = platform.python_implementation(), platform.python_version()
    if python != "CPython" or sys.version_info[:2] > NEWEST:
        raise Refusal(
            f"This is {python} {version}; the lock needs CPython 3.11 to 3.{NEWEST[1]}, as in"
            " make PYTHON=python3.11."
        )
    system = platform.system(), platform.machine()
    if system not in LEAST:
        raise Refusal(f"This is {' on '.join(system)}; the lock cannot be installed there: {SEE}.")
    name, least = LEAST[system]
    library, release = platform.libc_ver() if name == "glibc" else (name, platform.mac_ver()[0])
    if library != name or tuple(int(part) for part in release.split(".")[:2]) < least:
        here = f"{library} {release}".strip() or "a C library other than glibc"
        must = f"{name} {'.'.join(map(str, least))} or newer"
        raise Refusal(f"This is {here}; it must be {must}: {SEE}.")


def pip(python: Path | str, *words: str, wheels: Path | None = None) -> None:
    """Run the pip of an interpreter; with a folder of wheels, from it alone."""
    environment = os.environ | {"PYTHONWARNINGS": "ignore", "PIP_USER": "0"}
    if wheels:
        words = (*words, "--no-index", "--find-links", str(wheels))
        kept = {name: value for name, value in environment.items() if not name.startswith("PIP_")}
        environment = kept | {"PIP_CONFIG_FILE": os.devnull}
    command = [str(python), "-m", "pip", "--disable-pip-version-check", "--quiet", *words]
    if subprocess.run(command, env=environment).returncode:
        raise Refusal(f"pip {words[0]} failed; what it said stands above.")


def install(python: Path | str, wheels: Path | None = None) -> None:
    """Install the lock for an interpreter, and the package from this checkout.

    What is imported is compiled when it is: that takes half of the time off the installation.
    """
    pip(python, "install", "--no-compile", *EXACTLY, LOCK, wheels=wheels)
    link(python)


def link(python: Path | str) -> None:
    """Install the package from this checkout, built by the lock's setuptools."""
    pip(python, "install", *EDITABLE)


def collect(folder: Path) -> None:
    """Download the lock's wheels for this Python and platform, and write their checksums.

    Those that were collected here for an earlier lock go; a wheel of the user's own stays unlisted.
    """
    pip(sys.executable, "download", *EXACTLY, LOCK, "--dest", str(folder))
    lock, listing = Path(LOCK).read_text(encoding="utf-8"), folder / "SHA256SUMS"
    earlier = listing.read_text(encoding="utf-8").splitlines() if listing.exists() else []
    lines = [f"{sum_of(path)}  {path.name}" for path in sorted(folder.glob("*.whl"))]
    named = [line for line in lines if f"sha256:{line.split()[0]}" in lock]
    for line in {*lines} & {*earlier} - {*named}:
        (folder / line.split("  ")[1]).unlink()
    listing.write_text("".join(f"{line}\n" for line in named), encoding="utf-8")


def sum_of(path: Path | str) -> str:
    """The SHA-256 of a file."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


# --- the environment


def ingredients() -> list[str]:
    """What an environment is made of: the interpreter and the place, the lock, the package."""
    python = f"{platform.python_version()} {os.path.realpath(sys.executable)} in {os.getcwd()}"
    return [f"python {python}", f"lock {sum_of(LOCK)}", f"project {sum_of('pyproject.toml')}"]


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """The environment for this process alone; a second set-up waits."""
    import fcntl

    with folder.with_name(f"{folder.name}.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"Another make sets up {folder}: waiting for it.", flush=True)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def environment(folder: Path, wheels: Path | None = None) -> None:
    """Make the environment what it must be; one made of the same ingredients stays as it is."""
    supported()
    wanted, stamp, python = ingredients(), folder / "ready", folder / "bin" / "python"
    with alone(folder):
        held = stamp.read_text().splitlines() if stamp.exists() else []
        if held == wanted:
            return
        if held[:2] == wanted[:2]:
            link(python)
        else:
            create(folder)
            install(python, wheels)
        pip(python, "check")
        stamp.write_text("\n".join(wanted) + "\n")


def create(folder: Path) -> None:
    """Create an environment that holds pip alone, in place of the one that is there."""
    if importlib.util.find_spec("ensurepip") is None:
        raise Refusal(
            f"{sys.executable} cannot make an environment with pip; on Debian or Ubuntu:"
            " apt-get install python3-venv."
        )
    where = f"Setting up {folder} from {LOCK}, on Python {platform.python_version()}"
    print(f"{where}: one to two minutes, and more on a slow network.", flush=True)
    venv.create(folder, clear=True, symlinks=True, with_pip=True)


def arguments(argv: list[str] | None) -> argparse.Namespace:
    """The command line, parsed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=["environment", "wheels", "peers"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--wheels", type=Path, help="install from this folder, without an index")
    options = parser.parse_args(argv)
    if options.wheels and not options.wheels.is_dir():
        parser.error(f"{options.wheels} is no folder; make wheels fills one.")
    return options


def main(argv: list[str] | None = None) -> int:
    """The exit status: 0, 1 after a refusal, 130 when interrupted."""
    options = arguments(argv)
    try:
        if options.what == "environment":
            environment(options.folder, options.wheels)
        elif options.what == "wheels":
            collect(options.folder)
        else:
            pip(sys.executable, "install", *EXACTLY, PEERS, "--target", str(options.folder))
    except Refusal as refusal:
        print(refusal, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Interrupted: the next make sets it up.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
