#!/usr/bin/env bash
# Regenerates every committed fixture of the tests with the Python oracles. Called by `make fixtures`; needs what
# `tools/setup.sh oracle` installs. PYTHON names another interpreter with torch and scipy.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-/usr/bin/python3}
"$python" tools/make_twin_fixtures.py tests/data/twin
"$python" tools/make_metric_fixtures.py tests/data/metrics
"$python" tools/make_phase_fixtures.py tests/data/phase
"$python" tools/make_optim_fixtures.py tests/data/optim
"$python" tools/make_baseline_fixtures.py tests/data/baselines
for script in tools/make_mesh_fixtures*; do
  case $script in
    *.py) "$python" "$script" ;;
    *.sh) bash "$script" ;;
  esac
done
