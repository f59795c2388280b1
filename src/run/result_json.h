/* result_json.h: results as JSON, for files and the public header. Results travel as structs up to here. */
#ifndef RUN_RESULT_JSON_H
#define RUN_RESULT_JSON_H

#include "run/phase.h"
#include "run/reference.h"

#include <jansson.h>

/* All give NULL when there is no memory. */

/* {"samples": n, "metrics": {key: value, …}, "counted": {key: samples it rests on, …}}, with "rel_l2_each": […] when `each` is 1; null
 * for a value whose reference vanishes in every sample. */
json_t *score_json(const score_result *r, int each);
/* [{…score_json, "name", "what"}, …]; regressions have "lambda", "inputs", "val_rel_l2", "seconds" too, with a
 * kernel its "length". */
json_t *references_json(const references *r);
/* {"score", "degree", "q", "adjacency", "instances", "population", "cases", "each"} */
json_t *phase_json(const phase_result *r);

#endif
