/* config.h: what a run does, all defaults resolved; kept as config.json, from which a run is resumed. */
#ifndef RUN_CONFIG_H
#define RUN_CONFIG_H

#include "nn/optim.h"
#include "run/operator.h"

typedef struct run_config {
  operator_request request;
  const char *target;  /* name of the field */
  const char *metrics; /* list by which it is judged */
  const char *data;    /* path of the data set */
  const char *from;    /* path of the model that training begins with, NULL: none */
  char data_hash[33], from_hash[33];
  int64_t epochs, batch, warmup, train_samples;
  double lr, weight_decay, clip, ema;
  optim_kind optimizer;
  lr_schedule schedule;
  int skip_nonfinite, tensorboard;
  uint64_t seed;
  arena mem; /* of the texts */
} run_config;

/* Options and the recipe of the target make a configuration; says which option is wrong and what it may be. */
dkho_status config_resolve(run_config *out, const dataset *d, const char *path, const dkho_train_options *o);
/* The part that needs no data: the model a benchmark's recipe and these options give, but for the target field. from: the request of the
 * model that training begins with, which then stands for what the options leave open, or NULL. */
dkho_status config_model(operator_request *out, const data_recipe *recipe, const dkho_train_options *o,
                         const operator_request *from);
dkho_status config_write(const run_config *c, const char *path, int force);
dkho_status config_read(run_config *out, const char *path, const dataset *d);
/* What judging needs to know of a model that comes without its run: target, metrics, and how many samples trained it. */
dkho_status config_of_model(run_config *out, const neural_operator *o, const dataset *d);
/* Only the path of the data set, to open it before config_read. Owned by the caller (mem_free). */
dkho_status config_data_path(const char *path, char **data);
void config_free(run_config *c);

/* Reads a JSON object from a file, with errors that name it. */
dkho_status config_load_json(const char *path, json_t **out);
/* Writes an object, replacing the file atomically; drops the reference. */
dkho_status config_save_json(json_t *object, const char *path, int force);

#endif
