"""Solves the cycles of the iron loss problem again with SciPy alone (see oracle_lamination.py), and compares.

40 states per cycle of I_j(t) = bias + cos1 cos t + sin1 sin t + cos3 cos 3t + sin3 sin 3t; loss max|B|^1.6 + mean|dB/dt|² + ½ mean|dB/dt|^1.5.
Usage: oracle_ironloss.py FILE [--samples N] [--tolerance T]; prints JSON, exit status 1 when a field differs by more than T.
"""
import numpy as np

import oracle
from oracle_lamination import Iron

STEPS = 40


def main():
    source, mesh, samples, tolerance = oracle.arguments(__doc__)
    iron = Iron(mesh, source.law())
    time = 2 * np.pi * np.arange(STEPS) / STEPS
    waves = {"bias": np.ones(STEPS), "cos1": np.cos(time), "sin1": np.sin(time), "cos3": np.cos(3 * time), "sin3": np.sin(3 * time)}
    found = {"peak": [], "loss": []}
    for i, saturation in enumerate(source.array("saturation")[:samples, :, 0]):
        current = sum(np.outer(wave, source.array(name)[i]) for name, wave in waves.items())
        phi, B = np.zeros(len(mesh.x)), []
        for now in current:
            phi, _, flux, _ = iron.magnetise(saturation, now, phi)
            B.append(flux)
        B = np.array(B)
        rate = np.linalg.norm(np.roll(B, -1, 0) - np.roll(B, 1, 0), axis=-1) / (2 * time[1])
        peak = np.linalg.norm(B, axis=-1).max(axis=0)
        found["peak"].append(peak)
        found["loss"].append(peak**1.6 + (rate**2).mean(axis=0) + 0.5 * (rate**1.5).mean(axis=0))
    oracle.compare(source, {name: np.array(v)[..., None] for name, v in found.items()}, tolerance)


if __name__ == "__main__":
    main()
