/* grids.h: how models with a regular grid of 16 points per axis reach it from a complex and come back, and the spectral network
 * on it. */
#ifndef MODEL_GRIDS_H
#define MODEL_GRIDS_H

#include "model/blocks.h"
#include "nn/op_grid.h"

enum { GRID_POINTS = 16 };
extern const char *const grid_behaviour_names[]; /* "repaired", "published" */
enum { GRID_REPAIRED, GRID_PUBLISHED };

/* A fixed way from vertices to cells and from cells to the target's simplices, owned by the tape.
 * Two-dimensional (plane): i = round(15 (x - lo)/(hi - lo)) and so for y, half to even, cut to 0 … 15; cells are rows of y. A cell
 * holds the mean of its vertices, 0 without any; a simplex reads the cell of its centroid. [lo, hi]: the box of the vertices;
 * published: [-1, 1].
 * Three-dimensional: p̂ = (p - lo)/(hi - lo + 1e-6), cell ⌊15 p̂⌋ by (x, y, z); of several vertices in a cell the last is
 * taken; `occupied` [cells × 1] says where one is. A simplex reads trilinearly at 15 p̂ of its centroid; published: with the axes
 * reversed. */
typedef struct grid_maps {
  int dim;
  const sparse *there, *back;
  var occupied; /* VAR_NONE in two dimensions */
} grid_maps;
grid_maps grid_maps_make(tape *t, const cx *c, int k, int dim, int published);

/* h ← norm(spectral(h) + local h) in batch norm, GELU except after the last, `layers` times. NAME.spec.w, NAME.local, NAME.norm with
 * NAME = prefix + "layer%d". */
typedef struct grid_layers {
  const char *prefix;
  int dim, width, layers, modes;
} grid_layers;
void grid_layers_declare(const grid_layers *g, params *p);
var grid_layers_record(const grid_layers *g, tape *t, var h);

/* The whole network on a grid: prefix + "lift" (in → width), the layers, "proj1", GELU, "proj2" (width → out). */
void grid_net_declare(const grid_layers *g, int in, int out, params *p);
var grid_net_record(const grid_layers *g, tape *t, int n, const var *x);

#endif
