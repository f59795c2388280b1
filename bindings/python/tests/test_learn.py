"""Data, training with a callback, results, prediction."""
import gc

import dkho
import numpy as np
import pytest


def test_dataset(data):
    assert len(data) == 20 and data.fields["q"].role == "target" and data.fields["f"].degree == 0
    assert sorted(np.concatenate([data.split(s) for s in ("train", "val", "test")])) == list(range(20))
    q = data.value("q", 3)
    assert q.dtype == np.float32 and q.shape == (data.complex().counts[1], 1) and not q.flags.owndata
    assert data.values("g", [0, 1]).dtype == np.float64
    for bad in (lambda: data.value("nothing", 0), lambda: data.value("q", 99), lambda: data.split("holdout")):
        with pytest.raises(dkho.Error):
            bad()


def test_views_outlive_the_data_set(tmp_path):
    with dkho.generate_dataset("darcy", tmp_path / "d.st", resolution="smoke", samples=4, threads=1) as d:
        q = d.value("q", 0)
        total = float(q.sum())
    gc.collect()
    assert float(q.sum()) == total


def test_run(run, data):
    assert run.finished and run.config["target"] == "q" and list(run.history["epoch"]) == [1, 2]
    assert run.result["test"]["metrics"]["rel_l2"] == pytest.approx(run.evaluate()["metrics"]["rel_l2"])
    assert run.evaluate("val", data=data.path)["split"] == "val"
    assert {row["name"] for row in run.compare(threads=1)["rows"]} >= {"zero", "mean"}
    with pytest.raises(dkho.Error, match="no run"):
        dkho.Run("nowhere")


def test_callback_sees_progress_and_may_stop(data, tmp_path):
    seen = []

    def stop_in_the_second_epoch(progress):
        seen.append(progress)
        return len(run_lines(tmp_path / "r")) > 1

    def run_lines(path):
        file = path / "metrics.csv"
        return file.read_text().splitlines() if file.exists() else []

    settings = dict(target="p", options={"h": 4, "layers": 1}, epochs=3, batch=4, threads=1)
    stopped = dkho.train(data.path, tmp_path / "r", callback=stop_in_the_second_epoch, **settings)
    assert not stopped.finished and seen and all(isinstance(p, dkho.Progress) for p in seen)
    ended = dkho.resume(tmp_path / "r", threads=1)
    straight = dkho.train(data.path, tmp_path / "s", **settings)
    assert ended.finished
    assert ended.result["test"]["metrics"] == straight.result["test"]["metrics"]


def test_training_begins_with_a_model(data, run, tmp_path):
    same = dict(target="q", epochs=1, batch=4, threads=1)
    first = dkho.train(data.path, tmp_path / "a", from_model=run, **same)
    again = dkho.train(data.path, tmp_path / "b", from_model=run.path / "best.st", **same)
    fresh = dkho.train(data.path, tmp_path / "c", options=first.config["options"], **same)
    assert first.config["from_hash"] == again.config["from_hash"] and "from_hash" not in fresh.config
    assert first.result["test"] == again.result["test"] != fresh.result["test"]
    with pytest.raises(dkho.Error, match="found F32"):
        dkho.train(data.path, tmp_path / "d", from_model=run, options={"h": 6}, **same)


def test_what_a_callback_raises_comes_back(data, tmp_path):
    def broken(progress):
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        dkho.train(data.path, tmp_path / "r", target="p", options={"h": 4}, epochs=3, batch=4, threads=1, callback=broken)


def test_options_are_checked(data, tmp_path):
    with pytest.raises(dkho.Error, match="option 'epoch'"):
        dkho.train(data.path, tmp_path / "r", epoch=3)
    with pytest.raises(dkho.Error):
        dkho.train(data.path, tmp_path / "r", options={"nonsense": 1})
    assert "dkho" in {m["name"] for m in dkho.models()}


def test_predict(run, data):
    model = run.model()
    assert list(model.inputs) == ["f", "g"] and model.output.name == "q" and model.parameters > 0
    samples = [3, 7, 1]
    batch = model.predict({n: data.values(n, samples) for n in model.inputs}, threads=1)
    flat = model.predict({"f": data.values("f", samples)[:, :, 0], "g": data.values("g", samples)[:, 0]})
    assert batch.shape == (3, model.output.rows, 1) and np.array_equal(batch, flat)
    for row, s in zip(batch, samples):
        assert np.array_equal(row, model.predict({n: data.value(n, s) for n in model.inputs}))
    one = {n: data.value(n, 0) for n in model.inputs}
    bad = one["f"].copy()
    bad[2] = np.nan
    for inputs, words in (({"f": one["f"]}, "missing inputs: g"), ({**one, "h": 1}, "unknown inputs: h"),
                          ({**one, "f": one["f"][:-1]}, "shape"), ({**one, "g": one["g"][None]}, "one batch"),
                          ({**one, "f": bad}, "value 2 is not finite")):
        with pytest.raises(dkho.Error, match=words):
            model.predict(inputs)
    assert model.complex().counts == data.complex().counts
    model.close()
    with pytest.raises(dkho.Error, match="closed"):
        model.predict(one)


def test_own_arrays(tmp_path):
    mesh = dkho.Complex.planar([(0, 0, 0.4)], h_near=0.25, h_far=0.3)
    random = np.random.default_rng(0)
    f = random.normal(size=(24, mesh.counts[0]))
    q = dkho.Calculus(mesh).d(f.T, 0).T
    d = dkho.make_dataset(tmp_path / "own.st", mesh, inputs={"f": (0, f)}, targets={"q": (1, q)}, globals={"a": np.arange(24.0)},
                          split={"train": range(16), "val": range(16, 20), "test": range(20, 24)}, modes=4)
    assert list(d.split("test")) == [20, 21, 22, 23] and d.fields["a"].role == "global"
    assert np.allclose(d.value("q", 5)[:, 0], q[5], atol=1e-6) and d.value("a", 7)[0, 0] == 7
    run = dkho.train(d.path, tmp_path / "run", epochs=1, options={"h": 4, "layers": 1}, threads=1)
    assert dkho.plot(run.path, tmp_path / "figures") and (tmp_path / "figures" / "errors.png").exists()
    with pytest.raises(dkho.Error, match="f"):
        dkho.make_dataset(tmp_path / "bad.st", mesh, inputs={"f": (0, f[:, :-1])}, targets={"q": (1, q)})


def test_known_values_are_exact(tmp_path):
    x, y = np.meshgrid(np.linspace(0, 1, 5), np.linspace(0, 1, 5))
    a = np.arange(20)[np.arange(20) % 5 < 4]
    mesh = dkho.Complex.build(np.c_[x.ravel(), y.ravel()], np.r_[np.c_[a, a + 1, a + 6], np.c_[a, a + 6, a + 5]])
    random = np.random.default_rng(1)
    wall, f = random.normal(size=10), random.normal(size=(10, 25))
    rim = np.flatnonzero(mesh.points[:, 0] == 0)
    u = f**2
    u[:, rim] = wall[:, None]
    spec = dict(inputs={"f": (0, f)}, targets={"u": (0, u)}, globals={"wall": wall}, modes=2, classical_seconds=0.5)
    with pytest.raises(dkho.Error, match="the mesh has no 'rim'"):
        dkho.make_dataset(tmp_path / "d.st", mesh, known=[{"target": "u", "label": "rim", "global": "wall"}], **spec)
    labels = [{"name": "rim", "box": {"min": [-1, -1], "max": [0.1, 2]}}]
    data = dkho.make_dataset(tmp_path / "d.st", mesh, known=[{"target": "u", "label": "rim", "global": "wall"}], labels=labels, **spec)
    assert dkho.check_dataset(data.path)["errors"] == []
    run = dkho.train(data.path, tmp_path / "r", options={"h": 4, "layers": 1}, epochs=1, threads=1)
    new = random.normal(size=3)
    predicted = run.model().predict({"f": f[:3], "wall": new})
    assert (predicted[:, rim, 0] == new[:, None].astype(np.float32)).all()
    assert run.compare(threads=1)["cost"]["classical"]["seconds_per_sample"] == 0.5
