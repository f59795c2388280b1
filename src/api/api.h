/* api.h: the handles behind dkho.h. */
#ifndef API_API_H
#define API_API_H

#include "data/field.h"
#include "dec/dec.h"
#include "dkho.h"
#include "mesh/mesh_report.h"
#include "run/groups.h"

#include <jansson.h>

struct dkho_complex {
  cx *c;
  dec_bases *bases;   /* owned; NULL: none found or read */
  mesh_report report; /* of the mesh file it was read from; all zero for others */
};

struct dkho_calculus {
  dec *d;
};

/* Wraps a complex, which it then owns, also when it fails. */
dkho_status api_wrap(dkho_complex **out, cx *c);
/* Dumps `object` into text for the caller and drops the reference; NULL object means no memory. */
dkho_status api_json(json_t *object, char **text);
/* What a mesh file was and what was repaired in it: {"points", "elements", "repairs": {key: count}}; NULL: no memory. */
json_t *api_import_json(const mesh_report *r);
/* The report beside the complex in a container of its own: metadata "dkho.import", tensors "origin0" and "origin{dim}". _get leaves *r
 * zero when there is none. */
dkho_status api_import_declare(const mesh_report *r, st_writer *w);
dkho_status api_import_write(const mesh_report *r, st_writer *w);
dkho_status api_import_get(mesh_report *r, const st_file *f, const cx *c);
/* Whether the file begins like a container. */
int api_is_container(const char *path);
/* What a field is, on this complex. */
void api_field_info(const data_field *f, const cx *c, dkho_field_info *out);
/* The given values of a model's data set, as JSON. */
json_t *api_known_json(const dkho_model *m);

/* For calls that write predictions. With DKHO_PARTS all ranks make them together and have the model's mesh in as many parts; the first
 * one writes. api_model_unite is due whether or not it succeeds. */
dkho_status api_model_divide(dkho_model *m, rank_groups *g);
void api_model_unite(dkho_model *m, rank_groups *g);
static inline int api_writes(const rank_groups *g) {
  return !groups_share(g) || groups_share(g)->ranks->rank == 0;
}
static inline dkho_status api_agreed(const rank_groups *g, dkho_status s) {
  return groups_share(g) ? comm_agree(groups_share(g)->ranks, s) : s;
}

#endif
