/* study_json.h: costs and measurements as JSON, for files and the public header. They travel as structs up to here. */
#ifndef STUDY_STUDY_JSON_H
#define STUDY_STUDY_JSON_H

#include "study/bench.h"
#include "study/cost.h"

#include <jansson.h>

/* Each gives a new object, or DKHO_E_MEMORY and NULL. */

/* {"seconds_per_sample", "setup_seconds", "what"}; {} where it is not known. */
dkho_status classical_json(const classical_cost *c, json_t **out);
/* The same back; one that has no seconds is not known. */
classical_cost classical_read(const json_t *object);
/* {"threads", "learned_seconds_per_sample", "classical" (null: not known), "training_seconds" (left out: not known), "break_even_solves": a
 * number, "never" or "unknown", "newton": {"samples", "steps", "seconds": [own start, predicted], "difference"} (where the solver can begin from
 * the target)} */
dkho_status run_cost_json(const run_cost *c, json_t **out);
/* {"target", "rows": references_json, "cost": run_cost_json} */
dkho_status cost_report_json(const cost_report *r, json_t **out);
/* {"version", "isa", "rows"} as dkho_bench describes it. */
dkho_status bench_json(const bench_report *r, json_t **out);
/* {"version", "threads", "batch", "turns", "rows"} as dkho_bench_scaling describes it. */
dkho_status scaling_json(const scaling_report *r, json_t **out);
/* {"version", "isa", "library", "problem", "ranks", "threads", constants, "rows"} as dkho_bench_ranks describes it. */
dkho_status ranks_json(const ranks_report *r, json_t **out);

#endif
