#!/usr/bin/env python3
"""Makes tests/data/mesh: small meshes written by Gmsh (4.8) and meshio (5.0), and .vtu files laid out as VTK's own
writers do (appended, compressed in several blocks, big-endian). Usage: tools/make_mesh_fixtures.py [TARGET]"""
import base64
import pathlib
import struct
import subprocess
import sys
import tempfile
import zlib

import meshio
import numpy as np

HERE = pathlib.Path(__file__).resolve().parent.parent
OUT = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "tests" / "data" / "mesh"

# Annulus 0.4 < r < 1 with named boundary curves, a named region and a named point.
ANNULUS = """
Point(1) = {0, 0, 0, 0.5};
Point(2) = {1, 0, 0, 0.5}; Point(3) = {0, 1, 0, 0.5}; Point(4) = {-1, 0, 0, 0.5}; Point(5) = {0, -1, 0, 0.5};
Point(6) = {0.4, 0, 0, 0.3}; Point(7) = {0, 0.4, 0, 0.3}; Point(8) = {-0.4, 0, 0, 0.3}; Point(9) = {0, -0.4, 0, 0.3};
Circle(1) = {2, 1, 3}; Circle(2) = {3, 1, 4}; Circle(3) = {4, 1, 5}; Circle(4) = {5, 1, 2};
Circle(5) = {6, 1, 7}; Circle(6) = {7, 1, 8}; Circle(7) = {8, 1, 9}; Circle(8) = {9, 1, 6};
Curve Loop(1) = {1, 2, 3, 4}; Curve Loop(2) = {5, 6, 7, 8};
Plane Surface(1) = {1, 2};
Physical Point("probe", 30) = {2};
Physical Curve("outer", 10) = {1, 2, 3, 4};
Physical Curve("inner", 20) = {5, 6, 7, 8};
Physical Surface("fluid", 5) = {1};
"""
# Ball of radius 1 minus the ball of radius 0.5, tetrahedra.
SHELL = """
SetFactory("OpenCASCADE");
Sphere(1) = {0, 0, 0, 1}; Sphere(2) = {0, 0, 0, 0.5};
BooleanDifference(3) = { Volume{1}; Delete; }{ Volume{2}; Delete; };
Physical Surface("wall", 1) = {Boundary{ Volume{3}; }};
Physical Volume("solid", 2) = {3};
Mesh.MeshSizeMin = 0.55; Mesh.MeshSizeMax = 0.55;
"""
TORUS = """
SetFactory("OpenCASCADE");
Torus(1) = {0, 0, 0, 2, 0.8};
Physical Surface(7) = {1};
Mesh.MeshSizeMin = 0.9; Mesh.MeshSizeMax = 0.9;
"""
SQUARE_QUADS = """
Point(1) = {0, 0, 0, 1}; Point(2) = {1, 0, 0, 1}; Point(3) = {1, 1, 0, 1}; Point(4) = {0, 1, 0, 1};
Line(1) = {1, 2}; Line(2) = {2, 3}; Line(3) = {3, 4}; Line(4) = {4, 1};
Curve Loop(1) = {1, 2, 3, 4}; Plane Surface(1) = {1};
Transfinite Surface {1}; Recombine Surface {1};
"""


def gmsh(text, dim, name, version="2.2", binary=False, extra=()):
    with tempfile.NamedTemporaryFile("w", suffix=".geo") as geo:
        geo.write(text)
        geo.flush()
        subprocess.run(
            ["gmsh", geo.name, f"-{dim}", "-format", "msh" + version.replace(".", ""), "-v", "1", "-nt", "1",
             *(["-bin"] if binary else []), *extra, "-o", str(OUT / name)], check=True)


DTYPES = {"Float64": "f8", "Float32": "f4", "Int64": "i8", "Int32": "i4", "UInt8": "u1"}


def vtk_vtu(name, points, cells, types, coding, compress, header, order, block=512):
    """A .vtu as vtkXMLUnstructuredGridWriter makes it. coding: raw, base64 (appended) or inline."""
    end = "<" if order == "LittleEndian" else ">"
    h = end + ("Q" if header == "UInt64" else "I")

    def parts(array):
        data = array.astype(array.dtype.newbyteorder(end)).tobytes()
        if not compress:
            return [struct.pack(h, len(data)) + data]
        pieces = [data[i:i + block] for i in range(0, len(data), block)]
        packed = [zlib.compress(p) for p in pieces]
        last = len(pieces[-1]) if len(pieces[-1]) != block else 0
        head = [len(pieces), block, last, *map(len, packed)]
        return [b"".join(struct.pack(h, v) for v in head), b"".join(packed)]

    def encode(array):
        p = parts(array)
        return b"".join(p) if coding == "raw" else b"".join(map(base64.b64encode, p))

    offsets = np.cumsum([len(c) for c in cells])
    arrays = [("Points", "Float32", 3, points), ("connectivity", "Int64", 1, np.concatenate(cells)),
              ("offsets", "Int64", 1, offsets), ("types", "UInt8", 1, np.array(types))]
    appended, tags = b"", {}
    for key, kind, comps, values in arrays:
        data = encode(np.ascontiguousarray(values, dtype=DTYPES[kind]))
        attributes = f'type="{kind}" Name="{key}" NumberOfComponents="{comps}"'
        if coding == "inline":
            tags[key] = f'<DataArray {attributes} format="binary">\n          {data.decode()}\n        </DataArray>'
        else:
            tags[key] = f'<DataArray {attributes} format="appended" RangeMin="0" RangeMax="1" offset="{len(appended)}"/>'
            appended += data
    compressor = ' compressor="vtkZLibDataCompressor"' if compress else ""
    text = f"""<?xml version="1.0"?>
<!-- laid out as VTK's writers do -->
<VTKFile type="UnstructuredGrid" version="1.0" byte_order="{order}" header_type="{header}"{compressor}>
  <UnstructuredGrid>
    <Piece NumberOfPoints="{len(points)}" NumberOfCells="{len(types)}">
      <PointData>
      </PointData>
      <CellData>
      </CellData>
      <Points>
        {tags["Points"]}
      </Points>
      <Cells>
        {tags["connectivity"]}
        {tags["offsets"]}
        {tags["types"]}
      </Cells>
    </Piece>
  </UnstructuredGrid>
"""
    with open(OUT / name, "wb") as f:
        f.write(text.encode())
        if coding != "inline":
            f.write(f'  <AppendedData encoding="{coding}">\n   _'.encode() + appended + b"\n  </AppendedData>\n")
        f.write(b"</VTKFile>\n")


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    for version in ("2.2", "4.1"):
        for binary in (False, True):
            gmsh(ANNULUS, 2, f"annulus_{version.replace('.', '')}_{'bin' if binary else 'ascii'}.msh", version, binary)
    gmsh(SHELL, 3, "shell_22_bin.msh", "2.2", True)
    gmsh(SHELL, 3, "shell_41_ascii.msh", "4.1", False)
    gmsh(TORUS, 2, "torus_41_parametric.msh", "4.1", True, ("-parametric",))
    gmsh(TORUS, 2, "torus_41_ascii.msh", "4.1")
    gmsh(SQUARE_QUADS, 2, "quads_41_ascii.msh", "4.1")
    gmsh(ANNULUS, 2, "order2_22_ascii.msh", "2.2", False, ("-order", "2"))

    torus = meshio.read(OUT / "torus_41_ascii.msh")
    surface = meshio.Mesh(torus.points, [("triangle", torus.cells_dict["triangle"])])
    meshio.write(OUT / "torus.obj", surface)
    text = (OUT / "torus.obj").read_text().split("\n", 1)[1]  # the first line holds the date
    (OUT / "torus.obj").write_text("# Created by meshio\n" + text)
    meshio.write(OUT / "torus.off", surface)
    annulus = meshio.read(OUT / "annulus_41_ascii.msh")
    annulus.cell_data.pop("gmsh:geometrical", None)
    annulus.cell_sets = {}
    meshio.vtu.write(OUT / "annulus_ascii.vtu", annulus, binary=False)
    meshio.vtu.write(OUT / "annulus_binary.vtu", annulus, binary=True, compression=None)
    meshio.vtu.write(OUT / "annulus_zlib.vtu", annulus, binary=True, compression="zlib")
    shell = meshio.read(OUT / "shell_41_ascii.msh")
    tets = shell.cells_dict["tetra"]
    used = np.unique(tets)
    tets = np.searchsorted(used, tets)
    for name, *how in (("shell_appended_raw.vtu", "raw", False, "UInt32", "LittleEndian"),
                       ("shell_appended_base64.vtu", "base64", False, "UInt64", "LittleEndian"),
                       ("shell_appended_zlib.vtu", "raw", True, "UInt64", "LittleEndian"),
                       ("shell_appended_base64_zlib.vtu", "base64", True, "UInt32", "BigEndian"),
                       ("shell_inline_big.vtu", "inline", False, "UInt32", "BigEndian"),
                       ("shell_inline_zlib.vtu", "inline", True, "UInt64", "LittleEndian")):
        vtk_vtu(name, shell.points[used], list(tets), [10] * len(tets), *how)


main()
