#!/usr/bin/env bash
# Exports complexes as .vtu and lets meshio, a reader of its own, say what is in them.
# Usage: sh_vtu_meshio.sh SOURCE_DIR BUILD_DIR
set -euo pipefail
source=$1 build=$2
python=${PYTHON:-/usr/bin/python3}
if ! "$python" -c 'import meshio, numpy' 2>/dev/null; then
  echo "skipped: no python3 with meshio"
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for mesh in annulus_41_bin.msh shell_22_bin.msh torus.off; do
  "$build/tests/t_meshio" export "$source/tests/data/mesh/$mesh" "$work/$mesh.vtu"
done
"$python" - "$work" "$source/tests/data/mesh" <<'PY'
import sys
import meshio
import numpy as np

work, data = sys.argv[1:]
field = np.array([0.7, -1.3, 0.4])
order = ["vertex", "line", "triangle", "tetra"]
for name, top in (("annulus_41_bin.msh", 2), ("shell_22_bin.msh", 3), ("torus.off", 2)):
    m = meshio.read(f"{work}/{name}.vtu")
    given = meshio.read(f"{data}/{name}")
    kinds = [block.type for block in m.cells]
    assert kinds == order[:top + 1][::-1], kinds
    n = {block.type: len(block.data) for block in m.cells}
    assert n["vertex"] == len(m.points) and n[order[top]] == sum(
        len(b.data) for b in given.cells if b.type == order[top]), n
    euler = sum((-1) ** k * n[order[k]] for k in range(top + 1))
    assert euler == {"annulus_41_bin.msh": 0, "shell_22_bin.msh": 2, "torus.off": 0}[name], euler
    assert np.array_equal(m.point_data["p"], m.points[:, 0])
    for i, block in enumerate(m.cells):
        k = order.index(block.type)
        assert np.all(m.cell_data["degree"][i] == k)
        assert np.array_equal(m.cell_data["index"][i], np.arange(len(block.data)))
        u, w, w2, vector = (m.cell_data[key][i] for key in ("u", "w", "w2", "u_vector"))
        if k == 1:
            edge = m.points[block.data[:, 1]] - m.points[block.data[:, 0]]
            assert np.allclose(u, edge @ field, atol=1e-14)
        else:
            assert np.all(np.isnan(u))
        if k == 2:
            assert np.array_equal(w, np.arange(len(w))) and np.array_equal(w2.ravel(), np.arange(2 * len(w)))
        else:
            assert np.all(np.isnan(w)) and np.all(np.isnan(w2))
        if k < top:
            assert np.all(np.isnan(vector))
        elif name == "shell_22_bin.msh":
            assert np.allclose(vector, field, atol=1e-12)
        else:
            corner = m.points[block.data]
            normal = np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0])
            normal /= np.linalg.norm(normal, axis=1)[:, None]
            assert np.allclose(vector, field - (normal @ field)[:, None] * normal, atol=1e-12)
    print(f"{name}: {n}")
names = bytes(meshio.read(f"{work}/annulus_41_bin.msh.vtu").field_data["label_names"]).decode()
assert names.split() == ["probe", "outer", "inner", "fluid"], names
PY
