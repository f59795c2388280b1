/* head.h: what follows the decoder's output ũ (N_q × C): û = ũ + H (harm(g) - s ⊙ (M H)ᵀ ũ), s one, zero or learned by the
 * branch's kind, the loss ‖û - y‖ / max(‖y‖, eps), and the way back, by hand. The tape of dkho_record is the definition. Sums over simplices are taken in double, by the blocks of
 * the fused network. */
#ifndef MODEL_DKHO_HEAD_H
#define MODEL_DKHO_HEAD_H

#include "model/dkho/dkho.h"
#include "model/dkho/fused.h"

typedef struct head head;
/* `slots`: samples whose gradients may be in flight. Network, parameters and geometry are borrowed. */
dkho_status head_create(head **out, const dkho_config *cfg, const fused *f, const params *p, const geometry *g,
                        int slots);
void head_free(head *h);
/* The weights of the coming calls, borrowed. */
void head_bind(head *h, const real *weights);

/* u ← û, in place. Where ranks share the mesh, they call this and head_loss together and have their own rows. Different slots may be used by different threads. */
dkho_status head_predict(head *h, int slot, const real *summary, real *u);
/* *loss ← the loss of û, with the given rows put in (givens × C, or NULL), or the given periods (their coefficients), against y; g_u ← weight · ∂loss/∂ũ. What the branch's own gradient needs stays in the slot. */
dkho_status head_loss(head *h, int slot, const real *summary, const real *u, const real *y, const real *given,
                      double weight, double *loss, real *g_u);
/* Length of the branch's gradient, 0 without one: its tensors one after the other. */
int64_t head_grads(const head *h);
/* own ← that of the slot, after head_loss with the same summary. */
void head_gradient(head *h, int slot, const real *summary, real *own);
/* g += own, in the layout of the parameters. */
void head_collect(const head *h, const real *own, real *g);

#endif
