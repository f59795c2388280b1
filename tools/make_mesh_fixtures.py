#!/usr/bin/env python3
"""Makes tests/data/mesh: small meshes written by Gmsh (4.8), meshio (5.0) and VTK (9.1), and .vtu files laid out as VTK's
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
import vtk
from vtk.util.numpy_support import numpy_to_vtk, numpy_to_vtkIdTypeArray

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


# A box of 2 x 2 x 1 hexahedra beside 2 prisms, with a named side.
BOX = """
SetFactory("OpenCASCADE");
Rectangle(1) = {0, 0, 0, 1, 1}; Rectangle(2) = {1, 0, 0, 1, 1};
BooleanFragments{ Surface{1, 2}; Delete; }{}
Transfinite Curve{:} = 3;
Transfinite Surface{1, 2}; Recombine Surface{1};
out[] = Extrude {0, 0, 1} { Surface{1, 2}; Layers{2}; Recombine; };
Physical Volume("hexes", 1) = {1}; Physical Volume("prisms", 2) = {2};
Physical Surface("floor", 3) = {1, 2};
"""


def geo_as(name, text, dim, extra=()):
    """A mesh of a geometry by Gmsh, in the format of the name's ending."""
    with tempfile.NamedTemporaryFile("w", suffix=".geo") as geo:
        geo.write(text)
        geo.flush()
        subprocess.run(["gmsh", geo.name, f"-{dim}", "-v", "1", "-nt", "1", *extra, "-o", str(OUT / name)], check=True)


def without_line(name, start, instead=b""):
    """Takes out the line that holds the date or a name of the moment, so that the same bytes come every time."""
    data = (OUT / name).read_bytes()
    at = data.index(start)
    (OUT / name).write_bytes(data[:at] + instead + data[data.index(b"\n", at) + 1:])


def vtk_poly(points, triangles):
    data, cells = vtk.vtkPolyData(), vtk.vtkCellArray()
    place = vtk.vtkPoints()
    place.SetDataTypeToDouble()
    place.SetData(numpy_to_vtk(np.ascontiguousarray(points), deep=1))
    data.SetPoints(place)
    offsets = numpy_to_vtkIdTypeArray(np.arange(0, 3 * len(triangles) + 1, 3), deep=1)
    cells.SetData(offsets, numpy_to_vtkIdTypeArray(np.ascontiguousarray(triangles.ravel(), dtype=np.int64), deep=1))
    data.SetPolys(cells)
    return data


def vtk_grid(points, tets):
    grid, cells = vtk.vtkUnstructuredGrid(), vtk.vtkCellArray()
    place = vtk.vtkPoints()
    place.SetDataTypeToDouble()
    place.SetData(numpy_to_vtk(np.ascontiguousarray(points), deep=1))
    grid.SetPoints(place)
    offsets = numpy_to_vtkIdTypeArray(np.arange(0, 4 * len(tets) + 1, 4), deep=1)
    cells.SetData(offsets, numpy_to_vtkIdTypeArray(np.ascontiguousarray(tets.ravel(), dtype=np.int64), deep=1))
    grid.SetCells(vtk.VTK_TETRA, cells)
    return grid


def vtk_write(writer, name, data, **options):
    writer.SetFileName(str(OUT / name))
    writer.SetInputData(data)
    for key, value in options.items():
        getattr(writer, "Set" + key)(value)
    writer.Write()


def other_formats(torus, shell, annulus):
    """The torus, the shell and the annulus once more, in every format and coding that some tool writes."""
    surface = meshio.Mesh(torus.points, [("triangle", torus.cells_dict["triangle"])])
    poly = vtk_poly(torus.points, torus.cells_dict["triangle"])
    meshio.write(OUT / "torus_bin.stl", surface, binary=True)
    vtk_write(vtk.vtkSTLWriter(), "torus_vtk.stl", poly, FileType=2)
    meshio.write(OUT / "torus_ascii.ply", surface, binary=False)
    meshio.write(OUT / "torus_bin.ply", surface, binary=True)
    without_line("torus_ascii.ply", b"comment")
    without_line("torus_bin.ply", b"comment")
    vtk_write(vtk.vtkPLYWriter(), "torus_big.ply", poly, FileType=2, DataByteOrder=0)
    vtk_write(vtk.vtkPolyDataWriter(), "torus_poly_51.vtk", poly, FileType=2)
    vtk_write(vtk.vtkPolyDataWriter(), "torus_poly_42.vtk", poly, FileType=1, FileVersion=42)
    vtk_write(vtk.vtkXMLPolyDataWriter(), "torus_zlib.vtp", poly)
    vtk_write(vtk.vtkXMLPolyDataWriter(), "torus_ascii.vtp", poly, DataMode=0)
    used, tets = np.unique(shell.cells_dict["tetra"], return_inverse=True)
    tets = tets.reshape(-1, 4)
    grid = vtk_grid(shell.points[used], tets)
    vtk_write(vtk.vtkUnstructuredGridWriter(), "shell_51_ascii.vtk", grid, FileType=1)
    vtk_write(vtk.vtkUnstructuredGridWriter(), "shell_51_bin.vtk", grid, FileType=2)
    vtk_write(vtk.vtkUnstructuredGridWriter(), "shell_42_bin.vtk", grid, FileType=2, FileVersion=42)
    solid = meshio.Mesh(shell.points[used], [("tetra", tets)])
    meshio.write(OUT / "shell_meshio.vtk", solid, binary=True)
    meshio.write(OUT / "shell.inp", solid, file_format="abaqus")
    meshio.write(OUT / "shell.node", solid, file_format="tetgen")
    labelled = meshio.Mesh(annulus.points, annulus.cells, cell_data={"medit:ref": annulus.cell_data["gmsh:physical"]})
    meshio.write(OUT / "annulus.mesh", labelled, file_format="medit")
    flat = meshio.Mesh(annulus.points, [("triangle", annulus.cells_dict["triangle"])])
    meshio.write(OUT / "annulus_ascii.stl", flat, binary=False)
    for name in ("annulus_gmsh.mesh", "annulus.su2", "annulus.inp"):
        geo_as(name, ANNULUS, 2)
    for name in ("box.msh", "box.su2", "box.inp", "box.vtk"):
        geo_as(name, BOX, 3, ("-format", "msh41") if name == "box.msh" else ())
    without_line("box.vtk", b"tmp", b"box\n")
    for name in ("box.inp", "annulus.inp"):
        without_line(name, b" /", b" written by Gmsh\n")
    gmsh(ANNULUS, 2, "annulus_40_ascii.msh", "4.0")
    meshio.gmsh.write(OUT / "annulus_40_bin.msh", meshio.Mesh(annulus.points, annulus.cells), "4.0", binary=True)
    box = meshio.read(OUT / "box.msh")
    meshio.write(OUT / "box.mesh", meshio.Mesh(box.points, box.cells), file_format="medit")


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
    gmsh(ANNULUS, 2, "annulus_41_parts.msh", "4.1", False, ("-part", "2"))
    gmsh(ANNULUS, 2, "annulus_41_parts_bin.msh", "4.1", True, ("-part", "2"))
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
    other_formats(torus, shell, meshio.read(OUT / "annulus_41_ascii.msh"))


main()
