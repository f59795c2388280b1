// A cold plate with two coolant channels. gmsh -2 plate.geo -o plate.msh
SetFactory("OpenCASCADE");
Rectangle(1) = {0, 0, 0, 1.6, 1};
Disk(2) = {0.45, 0.55, 0, 0.14};
Disk(3) = {1.15, 0.4, 0, 0.1};
BooleanDifference(4) = {Surface{1}; Delete;}{Surface{2, 3}; Delete;};
Mesh.MeshSizeMax = 0.075;
Mesh.MeshSizeFromCurvature = 16;
Physical Surface("plate", 1) = {4};
Physical Curve("channel1", 2) = Curve In BoundingBox{0.3, 0.4, -1, 0.6, 0.7, 1};
Physical Curve("channel2", 3) = Curve In BoundingBox{1.04, 0.29, -1, 1.26, 0.51, 1};
