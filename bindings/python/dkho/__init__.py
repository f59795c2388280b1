"""Learn solution operators of PDEs on simplicial complexes, from Python.

    import dkho

    mesh = dkho.Complex.read("part.msh")                     # points, edges, faces, signs, Betti numbers
    dkho.make_dataset("part.st", mesh, inputs={"f": (0, f)}, targets={"u": (0, u)})
    run = dkho.train("part.st", "runs/u", target="u", epochs=50, callback=print)
    prediction = run.model().predict({"f": f[:1]})

Arrays that the library owns (points, incidence, values of data sets) are read-only NumPy views of its memory, not copies, and keep it
alive. Calls that fail raise `dkho.Error` with one line that names file, field, what was found and what was expected.
"""
from ._library import Error, Stopped, version
from .data import Dataset, Field, check_dataset, generate_dataset, import_dataset, make_dataset
from .learn import Model, Progress, Run, models, problems, resume, train
from .mesh import Calculus, Complex, Parts
from .see import describe, plot, view

__version__ = version()
__all__ = ["Calculus", "Complex", "Dataset", "Error", "Field", "Model", "Parts", "Progress", "Run", "Stopped", "describe",
           "check_dataset", "generate_dataset", "import_dataset", "make_dataset", "models", "plot", "problems", "resume", "train", "version",
           "view"]
