/* model.c: DKHO as an entry of the list of models: its options, sizes, and the names of its activations. */
#include "model/dkho/fast.h"

#include <stdio.h>

enum {
  OPT_H,
  OPT_C,
  OPT_LAYERS,
  OPT_SUBSTEPS,
  OPT_TAU_LO,
  OPT_TAU_RANGE,
  OPT_LAG_SCALE,
  OPT_VARIANT,
  OPT_START,
  OPT_EXCHANGE,
  OPT_RELATION,
  OPT_EXCHANGE_WIDTH,
  OPT_SPECTRAL,
  OPT_SLOTS,
  OPT_ENTRYWISE,
  OPT_BRANCH,
  OPT_LATENT
};
static const model_option table[] = {
    [OPT_H] = {"h", OPTION_INT, 32, 1, 4096, NULL, "content width"},
    [OPT_C] = {"c", OPTION_INT, 2, 1, 1024, NULL, "relation width"},
    [OPT_LAYERS] = {"layers", OPTION_INT, 4, 1, DKHO_LAYERS_MAX, NULL, "layers"},
    [OPT_SUBSTEPS] = {"substeps", OPTION_INT, 2, 1, DKHO_SUBSTEPS_MAX, NULL, "relation substeps per layer"},
    [OPT_TAU_LO] = {"tau_lo", OPTION_REAL, 0.02, 0, 10, NULL, "smallest latent step"},
    [OPT_TAU_RANGE] = {"tau_range", OPTION_REAL, 0.15, 0, 10, NULL, "latent step: tau_lo + tau_range sigmoid(t)"},
    [OPT_LAG_SCALE] = {"lag_scale", OPTION_REAL, 1, 0, 10, NULL, "phase lag: lag_scale tanh(.)"},
    [OPT_VARIANT] = {"variant", OPTION_CHOICE, 0, 0, 0, dkho_variant_names, "the full network, or one part left out"},
    [OPT_START] = {"start", OPTION_CHOICE, 0, 0, 0, dkho_start_names, "relation states at the start"},
    [OPT_EXCHANGE] = {"exchange", OPTION_CHOICE, 0, 0, 0, dkho_exchange_names, "content between degrees in each layer"},
    [OPT_RELATION] = {"relation", OPTION_CHOICE, 0, 0, 0, dkho_relation_names, "the phases, or none at all"},
    [OPT_EXCHANGE_WIDTH] = {"exchange_width", OPTION_INT, 0, 0, 4096, NULL, "width of what is exchanged; 0: h"},
    [OPT_SPECTRAL] = {"spectral", OPTION_INT, 0, 0, 512, NULL, "low modes per degree that carry content far"},
    [OPT_SLOTS] = {"slots", OPTION_INT, 0, 0, 2048, NULL, "inner width of the maps across modes; 0: all modes"},
    [OPT_ENTRYWISE] = {"entrywise", OPTION_CHOICE, 0, 0, 0, dkho_entrywise_names, "maps that muon leaves to adamw"},
    [OPT_BRANCH] = {"branch", OPTION_CHOICE, 0, 0, 0, dkho_branch_names,
                    "harmonic part: summary alone, added, or weighed"},
    [OPT_LATENT] = {"latent", OPTION_INT, 0, 0, 1024, NULL, "latent tokens that all simplices attend to; slower"},
    {0},
};
static const model_size sizes[] = {{"small", "h=32 c=2"}, {"large", "h=64 c=4"}, {0}};
static const model_size extended_sizes[] = {
    {"small", "h=32 exchange=both relation=none spectral=32 slots=32 branch=weighed"},
    {"large", "h=64 exchange=both relation=none spectral=32 slots=32 branch=weighed"},
    {0}};

dkho_config dkho_config_of(const model_setup *s) {
  dkho_config c = {.h = model_int(s, OPT_H),
                   .c = model_int(s, OPT_C),
                   .layers = model_int(s, OPT_LAYERS),
                   .substeps = model_int(s, OPT_SUBSTEPS),
                   .tau_lo = model_real(s, OPT_TAU_LO),
                   .tau_range = model_real(s, OPT_TAU_RANGE),
                   .lag_scale = model_real(s, OPT_LAG_SCALE),
                   .variant = (dkho_variant)model_int(s, OPT_VARIANT),
                   .start = (dkho_start)model_int(s, OPT_START),
                   .exchange = (dkho_exchange)model_int(s, OPT_EXCHANGE),
                   .relation = (dkho_relation)model_int(s, OPT_RELATION),
                   .exchange_width = model_int(s, OPT_EXCHANGE_WIDTH),
                   .spectral = model_int(s, OPT_SPECTRAL),
                   .slots = model_int(s, OPT_SLOTS),
                   .entrywise = (dkho_entrywise)model_int(s, OPT_ENTRYWISE),
                   .branch = (dkho_branch)model_int(s, OPT_BRANCH),
                   .latent = model_int(s, OPT_LATENT),
                   .metric = s->metric,
                   .degrees = s->degrees,
                   .target = s->target,
                   .channels = s->channels,
                   .summary = s->summary,
                   .harmonic = s->harmonic,
                   .loss_eps = s->loss_eps};
  for (int k = 0; k < s->degrees; k++) c.features[k] = s->features[k];
  return c;
}

static dkho_status check_setup(const model_setup *s) {
  dkho_config c = dkho_config_of(s);
  return dkho_check(&c);
}

static dkho_status declare_setup(const model_setup *s, params *p) {
  dkho_config c = dkho_config_of(s);
  return dkho_declare(&c, p);
}

/* "LAYER.z.K" and "LAYER.drive.K", "LAYER.gate.K", "LAYER.lag.K" (the content that the layer reads and its maps), "LAYER.tau",
 * "LAYER.sigma.K", for every substep "LAYER.STEP.up.K", "LAYER.STEP.down.K" and "LAYER.STEP.theta.K" (the phase after it), and "decoded". */
static void name_activations(const dkho_config *c, const dkho_net *net, tape *t) {
  tape_name(t, net->decoded, "decoded");
  for (int l = 0; l < c->layers && c->relation == DKHO_KURAMOTO; l++) {
    tape_name(t, net->tau[l], "%d.tau", l);
    for (int k = 0; k < c->degrees; k++) {
      tape_name(t, net->z[l][k], "%d.z.%d", l, k);
      tape_name(t, net->drive[l][k], "%d.drive.%d", l, k);
      tape_name(t, net->gate[l][k], "%d.gate.%d", l, k);
      tape_name(t, net->lag[l][k], "%d.lag.%d", l, k);
      tape_name(t, net->sigma[l][k], "%d.sigma.%d", l, k);
      for (int r = 0; r < c->substeps; r++) {
        tape_name(t, net->up[l][r][k], "%d.%d.up.%d", l, r, k);
        tape_name(t, net->down[l][r][k], "%d.%d.down.%d", l, r, k);
        tape_name(t, net->theta[l][r + 1][k], "%d.%d.theta.%d", l, r, k);
      }
    }
  }
}

static dkho_status record_setup(const model_setup *s, const model_view *v, tape *t, model_net *out) {
  dkho_config c = dkho_config_of(s);
  dkho_net net;
  TRY(dkho_record(&c, v->metric, v->g, t, &net));
  for (int k = 0; k < CX_DEGREES; k++) out->feature[k] = net.feature[k];
  out->summary = net.summary, out->target = net.target, out->predicted = net.predicted, out->loss = net.loss;
  out->given = net.given;
  name_activations(&c, &net, t);
  return DKHO_OK;
}

const model_type model_dkho = {.name = "dkho",
                               .summary = "Dynamic Kuramoto-Hodge Operator, the paper's network and its ablations",
                               .option = table,
                               .size = sizes,
                               .profile = FEAT_SUMMARY,
                               .harmonic = 1,
                               .degrees = dkho_active_degrees,
                               .check = check_setup,
                               .declare = declare_setup,
                               .record = record_setup,
                               .fast = &dkho_fast};

const model_type model_dkho_x = {
    .name = "dkho-x",
    .summary = "DKHO with content exchanged between degrees and low modes, without phases unless asked for",
    .option = table,
    .size = extended_sizes,
    .profile = FEAT_SUMMARY,
    .harmonic = 1,
    .degrees = dkho_active_degrees,
    .check = check_setup,
    .declare = declare_setup,
    .record = record_setup,
    .fast = &dkho_fast};
