# Two commands matter: `make book` and `make test`. Both set up .venv first, from the lock alone.
VENV    ?= .venv
# Another interpreter, if one is named, replaces the environment; else the one that it has stays.
PYTHON  ?= $(if $(wildcard $(VENV)/ready),$(VENV)/bin/python,python3)
PROFILE ?= full
# What pytest gets besides its configuration; a file's tests share a worker, and its compilations.
# ALL=1 adds the slow tests, and coverage, which would make the others slow.
PYTEST  ?= -n auto --dist loadfile $(if $(ALL),-m 'not built' --cov --cov-report=term)

BIN := $(VENV)/bin
# Nothing of the user's Python leaks in. Of pip's settings those stay that say how to reach an index,
# of Jupyter's those that say how to reach the lab.
REACH := INDEX_URL EXTRA_INDEX_URL FIND_LINKS NO_INDEX CERT CLIENT_CERT PROXY TRUSTED_HOST \
         TIMEOUT DEFAULT_TIMEOUT RETRIES CACHE_DIR NO_CACHE_DIR CONFIG_FILE
unexport $(filter-out PYTHON $(REACH:%=PIP_%) JUPYTER_TOKEN JUPYTER_PORT,\
  $(filter PYTHON% PIP_% NUMBA_% PYTEST_% RUFF_% COVERAGE_% IPYTHON% JUPYTER% MPL% MATPLOTLIBRC \
    OPENBLAS_% OMP_% NPY_% BOOK_%,$(.VARIABLES)))

.PHONY: help ready book pdf lab test check lint bench formal mutants browser wheels reproduce compare manifest \
        metadata lock audit clean

help:
	@echo "make book [PROFILE=full|smoke]  run every notebook that changed, render _build/html;"
	@echo "          [JOBS=1]              so many notebooks at a time, else one for each core"
	@echo "make test [ALL=1]               lint, then the tests; all: the slow ones too, with coverage"
	@echo "make lab                        open the notebooks in JupyterLab"
	@echo "make check                      open the built pages in a browser, check the artifact,"
	@echo "                                simulate a sample of the results again"
	@echo "make compare [ONLY=results]     compare what is built with the manifest"
	@echo "make pdf                        the book as one PDF, and pages that link to it"
	@echo "make browser                    install Chromium, which check and pdf need; as root, Debian"
	@echo "make reproduce                  run all at full scale again, compare with the manifest"
	@echo "make manifest                   renew the manifest from a full build, for a release"
	@echo "make metadata                   CITATION.cff and the like, from pyproject.toml"
	@echo "make lint                       ruff: rules and format"
	@echo "make bench [AGAINST=folder]     time the engine; against that of another checkout"
	@echo "make formal                     check formal/duel.v again, with Coq (Debian: apt install coq)"
	@echo "make mutants [N=300] [SEED=1]   how many small changes of the code the tests notice"
	@echo "make wheels [WHEELS=folder]     collect all that the lock names, for set-up without an index"
	@echo "make lock [UPGRADE=1]           resolve requirements.txt again from pyproject.toml"
	@echo "make audit                      known vulnerabilities of the locked packages"
	@echo "make clean                      remove .venv and everything that was built"
	@echo
	@echo "Each of them takes PYTHON=python3.13 (another interpreter), VENV=folder (another place for"
	@echo "the environment) and WHEELS=folder (set up from there, without an index)."

ready:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "$(PYTHON) is not Python 3.11 or newer; name one, as in make PYTHON=python3.11"; exit 1; }
	@$(PYTHON) -m edition.install environment $(VENV) $(if $(WHEELS),--wheels $(WHEELS))

RUN    = $(BIN)/python -m edition.run --profile $(PROFILE) $(if $(JOBS),--jobs $(JOBS))
RENDER = $(BIN)/jupyter-book build . --all -q -W -n --keep-going

book: ready
	$(RUN) -- sh -c 'rm -rf _build/html && exec $(RENDER)'

lab: ready
	$(BIN)/jupyter lab "--ServerApp.root_dir=$(CURDIR)" $(LAB) book/tour.ipynb

pdf: ready
	$(BIN)/python -m edition.release.browser
	$(RUN) -- sh -c 'rm -rf _build/html && BOOK_PDF=1 $(RENDER) && exec $(BIN)/python -m edition.release.pdf'

test: lint
	$(BIN)/python -m pytest $(PYTEST)

# The tests of a built book; without a browser they say why they are skipped. Then a sample of its
# results is simulated again on other numbers of workers, bit for bit.
check: ready
	-$(BIN)/python -m edition.release.browser
	$(BIN)/python -m pytest -m 'built and (cheap or not long)' -n 2 --ignore tests/test_play.py
	$(BIN)/python -m pytest -m built tests/test_play.py # a browser of its own
	$(BIN)/python -m edition.release.again

reproduce: ready
	@$(BIN)/python -m edition.release.manifest --ready
	rm -rf _build/executed/full _build/results _build/html
	$(MAKE) book PROFILE=full
	$(MAKE) compare

compare: ready
	$(BIN)/python -m edition.release.manifest $(if $(ONLY),--only $(ONLY))

manifest: ready
	$(BIN)/python -m edition.release.manifest --write

metadata: ready
	$(BIN)/python -m edition.release.citation

lint: ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

bench: ready
ifdef AGAINST
	$(BIN)/python bench/run.py --against $(AGAINST)
else
	-$(BIN)/python -m edition.install peers $(VENV)/peers
	PYTHONPATH=$(VENV)/peers $(BIN)/python bench/run.py
	$(BIN)/python bench/linear.py
endif

# Needs coqc, which only this command does: the book reads the record that it writes.
formal: ready
	$(BIN)/python -m edition.formal

# One small change at a time: does a test fail? Hours on few cores; N=50 is a look.
mutants: ready
	$(BIN)/python bench/mutants.py -n $(or $(N),300) --seed $(or $(SEED),1)

browser: ready
	$(BIN)/python -m edition.release.browser --install

wheels:
	@$(MAKE) --no-print-directory ready WHEELS=
	$(BIN)/python -m edition.install wheels $(or $(WHEELS),wheels)

lock: ready
	$(BIN)/uv pip compile --quiet $(if $(UPGRADE),--upgrade) pyproject.toml --all-extras --universal \
	  --python-version 3.11 --generate-hashes --output-file requirements.txt

# Needs the network: the databases of vulnerabilities are not part of a package registry.
audit: ready
	$(BIN)/pip-audit --strict --disable-pip --require-hashes -r requirements.txt

clean:
	rm -rf .venv* _build .pytest_cache .ruff_cache .hypothesis .coverage *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
