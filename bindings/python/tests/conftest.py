"""A small data set and a small run, made once."""
import dkho
import pytest


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    return dkho.generate_dataset("darcy", tmp_path_factory.mktemp("data") / "darcy.st", resolution="smoke", samples=20, threads=1)


@pytest.fixture(scope="session")
def run(data, tmp_path_factory):
    return dkho.train(data.path, tmp_path_factory.mktemp("runs") / "q", target="q", options={"h": 4, "layers": 1}, epochs=2, batch=4,
                      threads=1)
