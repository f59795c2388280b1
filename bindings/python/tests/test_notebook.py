"""The notebook of examples/ runs from top to bottom."""
import json
from pathlib import Path

import pytest

notebook = Path(__file__).resolve().parents[3] / "examples" / "plate.ipynb"


def test_notebook(tmp_path, monkeypatch, capsys):
    if not notebook.exists():
        pytest.skip("the examples are not beside the tests")
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}
    for number, cell in enumerate(json.loads(notebook.read_text(encoding="utf-8"))["cells"]):
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), f"{notebook.name}, cell {number}", "exec"), names)
    said = capsys.readouterr().out
    assert "Betti numbers: (1, 1, 0)" in said and "True True" in said and "ridge:" in said
    rows = {row["name"]: row["metrics"]["rel_l2"] for row in names["run"].compare()["rows"]}
    assert 2 * names["run"].evaluate()["metrics"]["rel_l2"] < rows["ridge"]  # as the notebook says
    assert names["error"].max() < 0.5 and (tmp_path / "plate.html").exists()
