# Two commands matter: `make book` and `make test`. Both set up .venv first, from the lock.
PYTHON  ?= python3
PROFILE ?= full
# What pytest gets besides its configuration; a file's tests share a worker, and its compilations.
PYTEST  ?= -n auto --dist loadfile --cov --cov-report=term

BIN    := .venv/bin
LOCKED := .venv/locked.stamp
READY  := .venv/ready.stamp
# Nothing of the user's own Python leaks into .venv.
export PIP_DISABLE_PIP_VERSION_CHECK = 1
unexport PYTHONPATH PYTHONHOME

.PHONY: help book pdf test check lint bench reproduce compare manifest metadata lock audit clean

help:
	@echo "make book [PROFILE=full|smoke]  run every notebook that changed, render _build/html"
	@echo "make test                       lint, then the test suite with coverage"
	@echo "make check                      open the built pages in a browser, check the artifact,"
	@echo "                                simulate a sample of the results again"
	@echo "make compare [ONLY=results]     compare what is built with the manifest"
	@echo "make pdf                        the book as one PDF, and pages that link to it"
	@echo "make reproduce                  run all at full scale again, compare with the manifest"
	@echo "make manifest                   renew the manifest from a full build, for a release"
	@echo "make metadata                   CITATION.cff and the like, from pyproject.toml"
	@echo "make lint                       ruff: rules and format"
	@echo "make bench                      time the engine"
	@echo "make lock                       resolve requirements.txt again from pyproject.toml"
	@echo "make audit                      known vulnerabilities of the locked packages"
	@echo "make clean                      remove .venv and everything that was built"

$(LOCKED): requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "$(PYTHON) is older than Python 3.11: try make PYTHON=python3.11"; exit 1; }
	@$(PYTHON) -m venv --clear .venv || \
	  { echo "$(PYTHON) cannot make a venv; on Debian: apt-get install python3-venv"; exit 1; }
	$(BIN)/python -m pip install --quiet --no-deps --require-hashes -r requirements.txt
	$(BIN)/python -m pip check
	@touch $@

$(READY): $(LOCKED) pyproject.toml
	PYTHONWARNINGS=ignore $(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@

RUN    = $(BIN)/python -m edition.run --profile $(PROFILE)
RENDER = $(BIN)/jupyter-book build . --all -q -W -n --keep-going

book: $(READY)
	$(RUN) -- sh -c 'rm -rf _build/html && exec $(RENDER)'

pdf: $(READY)
	$(BIN)/python -m edition.release.browser
	$(RUN) -- sh -c 'rm -rf _build/html && BOOK_PDF=1 $(RENDER) && exec $(BIN)/python -m edition.release.pdf'

test: lint
	$(BIN)/python -m pytest $(PYTEST)

# The tests of a built book; without a browser they say why they are skipped. Then a sample of its
# results is simulated again on other numbers of workers, bit for bit.
check: $(READY)
	-$(BIN)/python -m edition.release.browser
	$(BIN)/python -m pytest -m built -n 2
	$(BIN)/python -m edition.release.again

reproduce: $(READY)
	@test -e reproduce/manifest.json || \
	  { echo "There is no reproduce/manifest.json to compare with: see make manifest."; exit 1; }
	@test ! -e .git || git diff --quiet HEAD || \
	  { echo "The tree has changes: commit or drop them first."; exit 1; }
	rm -rf _build/executed/full _build/results _build/html
	$(MAKE) book PROFILE=full
	$(MAKE) compare

compare: $(READY)
	$(BIN)/python -m edition.release.manifest $(if $(ONLY),--only $(ONLY))

manifest: $(READY)
	$(BIN)/python -m edition.release.manifest --write

metadata: $(READY)
	$(BIN)/python -m edition.release.citation

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

bench: $(READY)
	@$(BIN)/python -m pip install --quiet --no-deps --target .venv/peers \
	  duelpy==1.0.0 seaborn==0.13.2 || echo "duelpy cannot be installed here: no ratio to it"
	PYTHONPATH=.venv/peers $(BIN)/python bench/run.py
	$(BIN)/python bench/linear.py

lock: $(READY)
	$(BIN)/uv pip compile --quiet --upgrade pyproject.toml --all-extras --universal \
	  --python-version 3.11 --generate-hashes --output-file requirements.txt

# Needs the network: the databases of vulnerabilities are not part of a package registry.
audit: $(READY)
	$(BIN)/pip-audit --strict --disable-pip --require-hashes -r requirements.txt

clean:
	rm -rf .venv _build .pytest_cache .ruff_cache .hypothesis .coverage *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
