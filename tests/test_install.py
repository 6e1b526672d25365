"""Set-up by the lock alone: an index that has moved on, old pips, other platforms, two at once."""

import ensurepip
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
import time
import tomllib
import venv
import zipfile
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from edition import install
from edition.release import browser

ROOT = Path(__file__).parents[1]
MAKE = ["make", "--silent", "--file=Makefile", "--file=-"]


def locked():
    """Every requirement of the lock, its marker included."""
    lines = (ROOT / install.LOCK).read_text().splitlines()
    return [Requirement(line.removesuffix("\\")) for line in lines if re.match(r"\w", line)]


def version(requirement):
    return str(requirement.specifier).removeprefix("==")


def needed(*names):
    """The packages that these need, by way of extras too, and they themselves."""
    todo, held = [Requirement(name) for name in names], {}
    while todo:
        requirement = todo.pop()
        known = held.setdefault(canonicalize_name(requirement.name), set())
        extras = {"", *requirement.extras} - known
        known |= extras
        for other in map(Requirement, metadata.requires(requirement.name) or []):
            if any(other.marker is None or other.marker.evaluate({"extra": e}) for e in extras):
                todo.append(other)
    return set(held)


# --- an index in which every locked package has a newer version


def wheel(folder, name, version):
    """A wheel without code that requires and offers what the real package does."""
    stem = f"{name.replace('-', '_')}-{version}"
    try:
        real = metadata.metadata(name)
    except metadata.PackageNotFoundError:  # not for this platform or this Python
        real = metadata.metadata("dueling")
        del real["Requires-Dist"]
    fields = [("Metadata-Version", "2.1"), ("Name", name), ("Version", version)]
    for field in ("Provides-Extra", "Requires-Dist"):
        fields += [(field, value) for value in real.get_all(field) or []]
    texts = {
        "METADATA": "".join(f"{field}: {value}\n" for field, value in fields),
        "WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    path = folder / name / f"{stem}-py3-none-any.whl"
    path.parent.mkdir(exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for file, text in texts.items():
            archive.writestr(f"{stem}.dist-info/{file}", text)
        record = "".join(f"{stem}.dist-info/{file},,\n" for file in (*texts, "RECORD"))
        archive.writestr(f"{stem}.dist-info/RECORD", record)
    return path


def copied(folder, name, version):
    """A wheel of what is installed here, with its code."""
    path = folder / name / f"{name}-{version}-py3-none-any.whl"
    path.parent.mkdir()
    with zipfile.ZipFile(path, "w") as archive:
        for file in metadata.distribution(name).files:
            if ".." not in file.parts and file.suffix != ".pyc":
                archive.write(file.locate(), file)
    return path


class Index:
    """A package index on this machine, which remembers the wheels that it was asked for."""

    def __init__(self, folder):
        self.fetched = fetched = set()

        class Handler(SimpleHTTPRequestHandler):
            def __init__(self, *arguments):
                super().__init__(*arguments, directory=str(folder))

            def do_GET(self):
                fetched.add(self.path.rpartition("/")[2])
                super().do_GET()

            def log_message(self, *words):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}/"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def wheels(self):
        """The wheels that it was asked for, by name and version."""
        names = [name.split("-") for name in self.fetched if name.endswith(".whl")]
        return {(name.replace("_", "-"), version) for name, version, *_ in names}


@pytest.fixture(scope="module")
def moved(tmp_path_factory):
    """The lines of a lock with our structure, and an index that has moved on since it was made."""
    folder, lines = tmp_path_factory.mktemp("index"), {}
    for requirement in locked():
        kind = copied if requirement.name == "setuptools" else wheel  # it builds the package
        path = kind(folder, requirement.name, version(requirement))
        lines[requirement] = f"{requirement} --hash=sha256:{install.sum_of(path)}\n"
        wheel(folder, requirement.name, f"{Version(version(requirement)).major + 1}.0")
    index = Index(folder)
    yield lines, index
    index.server.shutdown()


#: The pip of Python 3.11.0, the oldest that can meet the lock.
OLDEST, HASH = "22.3", "1daab4b8d3b97d1d763caeb01a4640a2250a0ea899e257b1e44b9eded91e15ab"


def bundled():
    """The wheel of the pip that this Python puts into a new environment."""
    places = [Path(ensurepip.__file__).parent / "_bundled", Path("/usr/share/python-wheels")]
    return next(path for place in places for path in place.glob(f"pip-{ensurepip.version()}-*.whl"))


def oldest(folder):
    """The wheel of the oldest pip, from the real index."""
    if sys.version_info >= (3, 12):
        pytest.skip(f"pip {OLDEST} does not run on Python 3.12 or newer")
    (folder / "pip.txt").write_text(f"pip=={OLDEST} --hash=sha256:{HASH}\n")
    words = ["download", "--retries=0", "--timeout=5", "--dest", str(folder)]
    command = [sys.executable, "-m", "pip", *words, *install.EXACTLY, str(folder / "pip.txt")]
    if subprocess.run(command, capture_output=True).returncode:
        why = f"pip {OLDEST} is not at hand, and no index can be reached"
        pytest.fail(why) if "CI" in os.environ else pytest.skip(why)
    return next(folder.glob("pip-*.whl"))


def without_settings(monkeypatch):
    """Take pip's settings out of the environment, and those that would slow it down."""
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)


def unpacked(kind, folder):
    """A folder that holds one of the pips."""
    if kind == "of the lock":
        (folder / "path").mkdir()
        (folder / "path" / "pip").symlink_to(metadata.distribution("pip").locate_file("pip"))
    else:
        wheel = bundled() if kind == "of this Python" else oldest(folder)
        zipfile.ZipFile(wheel).extractall(folder / "path")
    return folder / "path"


def here(lines):
    """The packages that a lock names for this Python and platform, by name and version."""
    return {(r.name, version(r)) for r in lines if not r.marker or r.marker.evaluate()}


def held(environment):
    """The packages that an environment holds, by name and version."""
    site = [str(path) for path in environment.glob("lib/*/site-packages")]
    return {(canonicalize_name(d.name), d.version) for d in metadata.distributions(path=site)}


class Drift:
    """A new environment with one of the pips, before a lock whose index has moved on."""

    def __init__(self, kind, whole, lines, folder):
        self.path, self.lock = unpacked(kind, folder), folder / "lock.txt"
        venv.create(folder / "new", symlinks=True)
        self.python = folder / "new" / "bin" / "python"
        part = needed("pytest-cov", "pip-audit")  # what has asked for extras
        lines = {r: line for r, line in lines.items() if whole or r.name in part}
        self.lock.write_text("".join(lines.values()))
        self.locked = here(lines)

    def old(self):
        """Whether this pip looks for the newest version of a package that has extras."""
        return bool(list(self.path.glob("pip-2[23].*.dist-info")))

    def installed(self):
        """What the environment holds now, by name and version."""
        return held(self.python.parents[1])


OLDER = ("of this Python", "the oldest")


@pytest.mark.parametrize(
    ("kind", "whole"),
    [("of the lock", True)]
    + [(kind, False) for kind in OLDER]
    + [pytest.param(kind, True, marks=pytest.mark.slow) for kind in OLDER],
)
def test_an_index_that_has_moved_on_changes_nothing(
    kind, whole, moved, tmp_path, monkeypatch, capfd
):
    """All of the lock, or a part of it, with each of the pips; and a twin that resolves."""
    lines, index = moved
    drift = Drift(kind, whole, lines, tmp_path)
    without_settings(monkeypatch)
    monkeypatch.setenv("PYTHONPATH", str(drift.path))
    monkeypatch.setenv("PIP_INDEX_URL", index.address)
    if drift.old():
        resolving = [word for word in install.EXACTLY if word != "--no-deps"]
        with pytest.raises(install.Refusal):
            install.pip(drift.python, "install", *resolving, str(drift.lock))
        assert re.search(r"pinned with ==(.|\n)*\w\[", capfd.readouterr().err)
        assert drift.installed() == set()
    index.fetched.clear()
    install.pip(drift.python, "install", *install.EXACTLY, str(drift.lock))
    assert drift.installed() == drift.locked
    assert index.wheels() == drift.locked


@pytest.mark.slow
def test_make_takes_the_lock_s_versions_from_an_index_that_has_moved_on(
    moved, tmp_path, monkeypatch
):
    """Set-up as a whole, by the Makefile, from what the package and one extra of it need."""
    lines, index = moved
    without_settings(monkeypatch)
    checkout(tmp_path, "Makefile")
    part = needed("dueling", "pytest-cov", "setuptools")
    lines = {r: line for r, line in lines.items() if r.name in part}
    (tmp_path / install.LOCK).write_text("".join(lines.values()))
    monkeypatch.setenv("PIP_INDEX_URL", index.address)
    index.fetched.clear()
    words = ["make", "ready", f"PYTHON={sys.executable}", f"VENV={tmp_path / 'new'}"]
    told = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert told.returncode == 0, told.stderr
    ours = ("dueling", metadata.version("dueling"))
    assert {pair for pair in held(tmp_path / "new") if pair[0] != "pip"} == here(lines) | {ours}
    assert index.wheels() == here(lines)


def test_the_package_is_built_by_what_is_installed(monkeypatch):
    without_settings(monkeypatch)
    monkeypatch.chdir(ROOT)
    install.pip(sys.executable, "install", "--dry-run", *install.EDITABLE)
    isolated = [word for word in install.EDITABLE if word != "--no-build-isolation"]
    with pytest.raises(install.Refusal, match="pip install failed"):
        install.pip(sys.executable, "install", "--dry-run", *isolated)


def checkout(folder, *more):
    """A copy of what the package is built from, and some files more."""
    for part in ("dueling", "edition"):
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ("pyproject.toml", "README.md", "LICENSE", *more):
        shutil.copy(ROOT / file, folder)
    return folder


@pytest.fixture
def clean(tmp_path, monkeypatch):
    """An environment that holds ``pip install .`` and what the package needs, no extra."""
    without_settings(monkeypatch)
    venv.create(tmp_path / "new", symlinks=True)
    (site,) = (tmp_path / "new").glob("lib/*/site-packages")
    for name in needed("dueling") - {"dueling"}:
        files = metadata.distribution(name)
        for part in {file.parts[0] for file in files.files} - {"..", "__pycache__"}:
            (site / part).symlink_to(files.locate_file(part))
    alone = ["--no-index", "--no-deps", "--no-build-isolation", "--target", str(site)]
    install.pip(sys.executable, "install", *alone, str(checkout(tmp_path / "copy")))
    return tmp_path / "new" / "bin" / "python"


def test_the_package_alone_needs_its_dependencies_alone(clean, tmp_path):
    """Every module is imported; twin: one of the edition, which needs an extra, is not."""
    files = (ROOT / "dueling").rglob("*.py")
    parts = [path.relative_to(ROOT).with_suffix("").parts for path in files]
    modules = sorted(".".join(part).removesuffix(".__init__") for part in parts)
    lines = [f"import {name}" for name in modules] + ["print(dueling.__file__)"]
    words = [str(clean), "-I", "-c"]
    told = subprocess.run([*words, "\n".join(lines)], cwd=tmp_path, capture_output=True, text=True)
    assert told.stdout.startswith(str(tmp_path)), told.stderr
    twin = subprocess.run([*words, "import edition.place"], capture_output=True, text=True)
    assert "ModuleNotFoundError: No module named 'yaml'" in twin.stderr


def test_a_folder_of_wheels_is_enough(moved, tmp_path, monkeypatch):
    without_settings(monkeypatch)
    lines, index = moved
    few = [line for r, line in lines.items() if r.name in needed("pytest-cov")]
    monkeypatch.chdir(tmp_path)
    Path(install.LOCK).write_text("".join(few))
    monkeypatch.setenv("PIP_INDEX_URL", index.address)
    assert install.main(["wheels", "kept"]) == 0
    sums = dict(reversed(line.split()) for line in Path("kept/SHA256SUMS").read_text().splitlines())
    assert sums == {path.name: install.sum_of(path) for path in Path("kept").glob("*.whl")}
    assert len(sums) == len(few) > 3
    index.fetched.clear()
    monkeypatch.setenv("PIP_FIND_LINKS", index.address)  # a setting that would use the network
    words = ["install", *install.EXACTLY, install.LOCK, "--target", "new"]
    install.pip(sys.executable, *words, wheels=Path("kept"))
    assert len(list(Path("new").glob("*.dist-info"))) == len(few) and not index.fetched


def test_the_folder_of_wheels_is_that_of_the_last_lock(moved, tmp_path, monkeypatch):
    """What an earlier lock named is gone; a file that was not collected stays unlisted."""
    without_settings(monkeypatch)
    lines, index = moved
    one, other = [line for r, line in lines.items() if r.name in ("iniconfig", "pluggy")]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PIP_INDEX_URL", index.address)
    for line in (one, other):
        Path(install.LOCK).write_text(line)
        assert install.main(["wheels", "kept"]) == 0
        Path("kept/mine-1-py3-none-any.whl").write_text("mine")
    name = other.partition("==")[0]
    (listed,) = Path("kept/SHA256SUMS").read_text().splitlines()
    held = {path.name.partition("-")[0] for path in Path("kept").glob("*.whl")}
    assert f"  {name}-" in listed and held == {name, "mine"}


def test_a_user_s_pip_that_installs_for_the_user_does_so_no_longer(tmp_path, monkeypatch):
    settings = tmp_path / "pip.conf"
    settings.write_text("[install]\nuser = true\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(settings))
    install.pip(sys.executable, "install", "--no-index", "--dry-run", "pip")


def test_the_folder_of_wheels_must_be_there(tmp_path, capsys):
    with pytest.raises(SystemExit):
        install.main(["environment", str(tmp_path / "new"), "--wheels", str(tmp_path / "none")])
    assert "is no folder; make wheels fills one." in capsys.readouterr().err


def test_every_installation_is_by_the_module():
    for file in ("Makefile", ".binder/postBuild", "Containerfile", ".github/workflows/ci.yml"):
        assert not re.search(r"\bpip3? install", (ROOT / file).read_text()), file


def test_the_module_needs_nothing_installed():
    bare = [sys.executable, "-S", "-m", "edition.install", "--help"]
    assert subprocess.run(bare, cwd=ROOT, capture_output=True).returncode == 0


@pytest.mark.parametrize("lock", [install.LOCK, install.PEERS])
def test_every_package_has_hashes(lock):
    text = (ROOT / lock).read_text().replace("\\\n", "")
    lines = [line for line in text.splitlines() if re.match(r"\w", line)]
    assert lines and all(re.match(r"[\w.-]+==\S+ .*--hash=sha256:", line) for line in lines)


def test_the_programs_that_the_bench_compares_with_are_installed_by_their_hashes(
    tmp_path, monkeypatch
):
    asked = []
    monkeypatch.setattr(install, "pip", lambda python, *words: asked.append(words))
    assert install.main(["peers", str(tmp_path)]) == 0
    ((*words, target),) = asked
    assert words[0] == "install" and words[-2:] == [install.PEERS, "--target"]
    assert "--require-hashes" in words and target == str(tmp_path)


def test_one_folder_of_wheels_fits_every_patch_release():
    assert not re.search(
        r"python_full_version\s*\S+\s*'3\.\d+\.\d", (ROOT / install.LOCK).read_text()
    )


def test_the_release_keeps_the_wheels():
    text = (ROOT / ".github/workflows/ci.yml").read_text()
    assert re.search(r"make wheels\n.*tar [^\n]* release/wheels\.tar wheels\n", text, re.S)


def test_a_browser_is_installed_by_root_with_apt_get(monkeypatch):
    programs, users, asked = {}, [0], []

    def run(command, **options):
        asked.append(command[1])
        if len(asked) == 6:
            programs["chromium"] = "/usr/bin/chromium"
        assert options == {"capture_output": True, "text": True}
        return SimpleNamespace(stderr="E: it is not there\n")

    monkeypatch.delenv("CHROMIUM", raising=False)
    monkeypatch.setattr(browser.shutil, "which", programs.get)
    monkeypatch.setattr(browser.os, "geteuid", lambda: users[0])
    monkeypatch.setattr(browser.subprocess, "run", run)
    assert browser.install().startswith("no Chromium, and no apt-get to install it with")
    programs["apt-get"], users[0] = "/usr/bin/apt-get", 1000
    assert browser.install().startswith("no Chromium, and only root can install it")
    users[0] = 0
    assert browser.install() == (
        "no Chromium, and apt-get could not install it: E: it is not there"
    )
    assert browser.chromium() is None and browser.install() == ""
    assert asked == ["install", "update", "install"] * 2
    assert browser.chromium() == Path("/usr/bin/chromium") and browser.install() == ""


def test_actions_are_pinned_by_commit():
    uses = re.findall(r"uses: (.*)", (ROOT / ".github/workflows/ci.yml").read_text())
    assert uses and all(re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v[\d.]+", action) for action in uses)


# --- on a second Python

FIRST = ["test ALL=1", "book PROFILE=smoke", "book", "browser", "check", "compare ONLY=results"]


@pytest.mark.parametrize(("status", "seconds"), [(0, ["test", "book PROFILE=smoke"]), (1, [])])
def test_our_ci_tests_and_builds_on_a_second_python_where_one_works(tmp_path, status, seconds):
    other = tmp_path / "python3.13"
    for file, line in (
        (other, f"exit {status}"),
        (tmp_path / "make", f'echo "$*" >> {tmp_path}/calls'),
    ):
        file.write_text(f"#!/bin/sh\n{line}\n")
        file.chmod(0o755)
    path = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PYENV_ROOT": str(tmp_path)}
    told = subprocess.run([ROOT / ".ci" / "run"], env=os.environ | path, capture_output=True)
    assert told.returncode == 0, told.stderr
    again = [f"{words} PYTHON=python3.13 VENV=.venv-3.13" for words in seconds]
    assert (tmp_path / "calls").read_text().splitlines() == FIRST + again


def test_the_public_ci_tests_and_builds_on_the_other_pythons():
    other = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())["jobs"]["other"]
    newer = [f"3.{minor}" for minor in range(12, install.NEWEST[1] + 1)]
    assert other["strategy"]["matrix"]["python"] == newer
    (python,) = (step["with"]["python-version"] for step in other["steps"] if "with" in step)
    assert python == "${{ matrix.python }}"
    done = [step.get("run", "") for step in other["steps"]]
    assert done[-2].startswith("make test") and done[-1] == "make book PROFILE=smoke"


# --- where it works


@pytest.mark.parametrize(
    ("system", "machine", "libc", "reason"),
    [
        ("Linux", "x86_64", ("glibc", "2.28"), None),
        ("Linux", "aarch64", ("glibc", "2.34"), None),
        ("Darwin", "arm64", ("", "13"), None),
        (
            "Linux",
            "x86_64",
            ("glibc", "2.17"),
            "This is glibc 2.17; it must be glibc 2.28 or newer",
        ),
        (
            "Linux",
            "aarch64",
            ("glibc", "2.31"),
            "This is glibc 2.31; it must be glibc 2.34 or newer",
        ),
        ("Linux", "x86_64", ("", ""), "This is a C library other than glibc; it must be glibc"),
        ("Linux", "riscv64", ("glibc", "2.39"), "This is Linux on riscv64; the lock cannot be"),
        ("Darwin", "x86_64", ("", "14.4"), "This is Darwin on x86_64; the lock cannot be"),
        ("Darwin", "arm64", ("", "12.7.1"), "This is macOS 12.7.1; it must be macOS 13 or newer"),
        ("Windows", "AMD64", ("", ""), "This is Windows on AMD64; the lock cannot be"),
    ],
)
def test_a_platform_works_or_is_refused_in_a_sentence(system, machine, libc, reason, monkeypatch):
    monkeypatch.setattr(install.platform, "system", lambda: system)
    monkeypatch.setattr(install.platform, "machine", lambda: machine)
    monkeypatch.setattr(install.platform, "libc_ver", lambda: libc)
    monkeypatch.setattr(install.platform, "mac_ver", lambda: (libc[1], (), machine))
    if reason is None:
        return install.supported()
    with pytest.raises(install.Refusal, match=f"{re.escape(reason)}.*install.md says"):
        install.supported()


def test_the_page_s_command_for_other_platforms_reads_the_lock(tmp_path):
    """Offline it ends with the first wheel that it would fetch; twin: with our settings of uv."""
    page = (ROOT / "book" / "back" / "install.md").read_text().replace("\\\n", "")
    (line,) = re.findall(r"^    uv (pip install .*)$", page, re.M)
    for file in (install.LOCK, "pyproject.toml"):
        shutil.copy(ROOT / file, tmp_path)

    def told(words):
        command = [sys.executable, "-m", "uv", *words, "--offline", "--cache-dir", "cache"]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True).stderr

    words = shlex.split(line)
    assert "network was disabled" in told(words)
    words.remove("--no-config")
    assert "but found: soupsieve<4" in told(words)


@pytest.mark.parametrize(
    ("implementation", "version"), [("CPython", (3, 15, 0)), ("PyPy", (3, 11, 0))]
)
def test_a_python_without_wheels_is_refused(implementation, version, monkeypatch):
    monkeypatch.setattr(install.platform, "python_implementation", lambda: implementation)
    monkeypatch.setattr(install.sys, "version_info", version)
    with pytest.raises(install.Refusal, match="as in make PYTHON=python3"):
        install.supported()


# --- the environment is what it is made of


@pytest.fixture
def steps(tmp_path, monkeypatch):
    """The steps of set-ups in a new checkout, noted and not taken."""
    taken = []

    def create(folder):
        taken.append("create")
        time.sleep(0.2)
        (folder / "ready").unlink(missing_ok=True)
        folder.mkdir(exist_ok=True)

    def pip(python, *words, wheels=None):
        step = "link" if "--editable" in words else words[0]
        taken.append(f"{step} from {wheels}" if wheels else step)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(install, "create", create)
    monkeypatch.setattr(install, "pip", pip)
    for file in (install.LOCK, "pyproject.toml"):
        Path(file).write_text("one")
    return taken


WHOLE = ["create", "install", "link", "check"]


def set_up(steps, *words):
    """The steps of one set-up."""
    steps.clear()
    assert install.main(["environment", "env", *words]) == 0
    return list(steps)


def test_an_environment_is_made_from_the_folder_that_is_named(steps):
    Path("kept").mkdir()
    assert set_up(steps, "--wheels", "kept") == ["create", "install from kept", "link", "check"]


def test_an_environment_is_made_once(steps):
    assert set_up(steps) == WHOLE
    os.utime(install.LOCK, (2e9, 2e9))
    os.utime("pyproject.toml", (2e9, 2e9))
    assert set_up(steps) == []


def test_what_changed_is_made_again(steps, monkeypatch):
    set_up(steps)
    Path("pyproject.toml").write_text("two")
    assert set_up(steps) == ["link", "check"]
    Path(install.LOCK).write_text("two")
    assert set_up(steps) == WHOLE
    monkeypatch.setattr(install.sys, "executable", "/another/python")
    assert set_up(steps) == WHOLE
    Path("env/ready").write_text("pyth")
    assert set_up(steps) == WHOLE
    shutil.copytree(".", "elsewhere/moved")
    monkeypatch.chdir("elsewhere/moved")
    assert set_up(steps) == WHOLE


@pytest.mark.parametrize(
    ("error", "status"), [(install.Refusal("no"), 1), (KeyboardInterrupt, 130)]
)
def test_a_set_up_that_stopped_begins_again(steps, monkeypatch, error, status):
    def stop(*words, **options):
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(install, "pip", stop)
        assert install.main(["environment", "env"]) == status
    assert set_up(steps) == WHOLE


def test_two_at_once_take_turns(steps, capsys):
    both = [threading.Thread(target=install.main, args=(["environment", "env"],)) for _ in "ab"]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    assert steps == WHOLE
    assert capsys.readouterr().out == "Another make sets up env: waiting for it.\n"


def test_a_python_without_ensurepip_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setattr(install.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(install.Refusal, match="apt-get install python3-venv"):
        install.create(tmp_path / "new")


# --- the Makefile


def make(recipe, *words, **variables):
    """What a recipe says under our Makefile; not as a part of the make that runs the tests."""
    said = {"PYTHON", "VENV", "PROFILE", "WHEELS", "PYTEST", "JOBS"}
    around = {k: v for k, v in os.environ.items() if k not in said and not k.startswith("MAKE")}
    told = subprocess.run(
        [*MAKE, *words, "probe"],
        input=f"probe:\n\t@{recipe}\n",
        cwd=ROOT,
        env=around | variables,
        capture_output=True,
        text=True,
    )
    return told.stdout + told.stderr


def test_nothing_of_the_user_s_python_leaks_in():
    leaks = ["PYTHONOPTIMIZE", "PYTHONWARNINGS", "PYTHONPATH", "PYTHONHOME", "NUMBA_DISABLE_JIT"]
    leaks += ["PIP_TARGET", "PIP_USER", "PIP_CONSTRAINT", "PYTEST_ADDOPTS"]
    leaks += ["IPYTHONDIR", "JUPYTER_PATH", "JUPYTER_CONFIG_DIR", "JUPYTERLAB_SETTINGS_DIR"]
    leaks += ["MPLBACKEND", "MPLCONFIGDIR", "MATPLOTLIBRC", "BOOK_PROFILE", "BOOK_PDF"]
    leaks += ["OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NPY_DISABLE_CPU_FEATURES"]
    kept = ["PIP_INDEX_URL", "PIP_CERT", "HOME_OF_MINE", "JUPYTER_TOKEN", "JUPYTER_PORT"]
    environment = make("env", **dict.fromkeys([*leaks, *kept], "1"))
    names = {line.partition("=")[0] for line in environment.splitlines()}
    assert not names & set(leaks) and names >= set(kept)
    own = make("BOOK_PDF=2 env", BOOK_PDF="1")  # what a recipe sets
    assert "BOOK_PDF=2" in own.splitlines()


def test_the_interpreter_that_is_named_is_taken(tmp_path):
    chosen = "echo $(PYTHON) $(BIN)"
    place = f"VENV={tmp_path}"
    assert make(chosen, place) == f"python3 {tmp_path}/bin\n"
    (tmp_path / "ready").touch()
    assert make(chosen, place) == f"{tmp_path}/bin/python {tmp_path}/bin\n"
    assert make(chosen, place, "PYTHON=python3.13") == f"python3.13 {tmp_path}/bin\n"
    assert make(chosen, place, PYTHON="python3.12") == f"python3.12 {tmp_path}/bin\n"


@pytest.mark.parametrize("python", ["false", "no-such-python"])
def test_an_old_or_missing_python_is_refused(python, tmp_path):
    words = ["make", "ready", f"PYTHON={python}", f"VENV={tmp_path / 'new'}"]
    told = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    assert f"{python} is not Python 3.11 or newer; name one, as in make" in told.stdout
    assert told.returncode and not (tmp_path / "new").exists()


def planned(*words):
    """The commands of a target, not run."""
    around = {k: v for k, v in os.environ.items() if not k.startswith("MAKE") and k != "VENV"}
    told = subprocess.run(
        ["make", "-n", *words], cwd=ROOT, env=around, capture_output=True, text=True
    )
    return told.stdout


def test_the_lab_opens_the_notebooks_and_renders_theorems():
    opened = f'.venv/bin/jupyter lab "--ServerApp.root_dir={ROOT}" --no-browser book/tour.ipynb\n'
    assert planned("lab", "LAB=--no-browser").endswith(opened)
    assert (ROOT / "book" / "tour.ipynb").exists()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lab = {"jupyterlab", "jupyterlab-myst"}
    assert {*project["optional-dependencies"]["lab"]} == lab <= {r.name for r in locked()}
    place = Path(sys.prefix) / "share" / "jupyter" / "labextensions"  # of this environment's lab
    assert (place / "jupyterlab-myst" / "package.json").is_file()


@pytest.mark.parametrize("target", ["book", "pdf"])
def test_so_many_notebooks_at_a_time_as_make_is_told(target):
    assert "-m edition.run --profile full --jobs 1 -- sh -c" in planned(target, "JOBS=1")
    assert "--jobs" not in planned(target, "JOBS=")
    assert "[JOBS=1]" in planned("help")


def test_a_folder_of_wheels_is_passed_on_and_filled():
    setting_up = "-m edition.install environment .venv"
    assert planned("ready", "WHEELS=kept").endswith(f"{setting_up} --wheels kept\n")
    for words, folder in (((), "wheels"), (("WHEELS=kept",), "kept")):
        told = planned("wheels", *words)
        assert f"{setting_up} \n" in told  # from the index: the folder is not there yet
        assert told.endswith(f".venv/bin/python -m edition.install wheels {folder}\n")


@pytest.mark.parametrize(("target", "asked"), [("check", False), ("pdf", False), ("browser", True)])
def test_a_browser_is_installed_only_when_asked(target, asked):
    told = planned(target)
    assert "edition.release.browser" in told
    assert ("edition.release.browser --install" in told) == asked


def test_without_a_browser_a_sentence_says_how_to_get_one(monkeypatch, capsys):
    monkeypatch.setattr(browser, "chromium", lambda: None)
    monkeypatch.setattr(browser, "install", lambda: pytest.fail("installed unasked"))
    assert browser.main([]) == 1 and "make browser" in capsys.readouterr().err
    monkeypatch.setattr(browser, "install", lambda: "no apt-get")
    assert browser.main(["--install"]) == 1 and capsys.readouterr().err == "no apt-get\n"
    monkeypatch.setattr(browser, "chromium", lambda: Path("/bin/chromium"))
    assert browser.main([]) == 0 and capsys.readouterr().out == "/bin/chromium\n"
