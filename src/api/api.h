/* api.h: the handles behind dkho.h. */
#ifndef API_API_H
#define API_API_H

#include "dec/dec.h"
#include "dkho.h"

#include <jansson.h>

struct dkho_complex {
  cx *c;
};

struct dkho_calculus {
  dec *d;
};

/* Wraps a complex, which it then owns, also when it fails. */
dkho_status api_wrap(dkho_complex **out, cx *c);
/* Dumps `object` into text for the caller and drops the reference; NULL object means no memory. */
dkho_status api_json(json_t *object, char **text);
dkho_status api_describe_complex(const cx *c, json_t **out);

#endif
