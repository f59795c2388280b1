/* api.h: the handles behind dkho.h. */
#ifndef API_API_H
#define API_API_H

#include "data/field.h"
#include "dec/dec.h"
#include "dkho.h"

#include <jansson.h>

struct dkho_complex {
  cx *c;
  dec_bases *bases; /* owned; NULL: none found or read */
};

struct dkho_calculus {
  dec *d;
};

/* Wraps a complex, which it then owns, also when it fails. */
dkho_status api_wrap(dkho_complex **out, cx *c);
/* Dumps `object` into text for the caller and drops the reference; NULL object means no memory. */
dkho_status api_json(json_t *object, char **text);
/* Whether the file begins like a container. */
int api_is_container(const char *path);
/* What a field is, on this complex. */
void api_field_info(const data_field *f, const cx *c, dkho_field_info *out);

#endif
