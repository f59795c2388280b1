"""The same question as coolest.c, from Python: python3 coolest.py runs/T"""
import sys

import numpy as np

import dkho

model = dkho.Model(sys.argv[1])
mesh = model.complex()
middle = mesh.points[mesh.faces].mean(axis=1)
places = np.array([(x, y) for y in np.linspace(0.15, 0.85, 7) for x in np.linspace(0.15, 1.45, 12)])
q = np.array([15.0 * (np.abs(middle - at) < [0.12, 0.1]).all(axis=1) for at in places])
T = model.predict({"k": np.ones_like(q), "q": q, "channels": np.zeros((len(places), 2))})[:, :, 0]
best = T.max(axis=1).argmin()
print(f"coolest with the chip at ({places[best][0]:.2f}, {places[best][1]:.2f}): T reaches {T[best].max():.3f}")
