// A ring with radii 0.3 and 1, finer at the hole. annulus.msh is: gmsh -2 -format msh22 annulus.geo
SetFactory("OpenCASCADE");
Disk(1) = {0, 0, 0, 1};
Disk(2) = {0, 0, 0, 0.3};
BooleanDifference(3) = { Surface{1}; Delete; }{ Surface{2}; Delete; };
MeshSize{ PointsOf{ Surface{3}; } } = 0.16;
rim() = Curve In BoundingBox {-0.4, -0.4, -0.1, 0.4, 0.4, 0.1};
all() = Boundary{ Surface{3}; };
outer() = all();
outer() -= rim();
MeshSize{ PointsOf{ Curve{rim()}; } } = 0.08;
Physical Curve("inner", 1) = {rim()};
Physical Curve("outer", 2) = {outer()};
Physical Surface("plate", 3) = {3};
