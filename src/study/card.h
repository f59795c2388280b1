/* card.h: what is said of a packed model beside it: NAME.json, and README.md of its folder. */
#ifndef STUDY_CARD_H
#define STUDY_CARD_H

#include "study/opened.h"

/* "DIR/NAME.st" → "DIR/NAME.json"; a path without .st is refused. out: PATH_LIMIT bytes. */
dkho_status card_path(const char *model, char *out);
/* Content hash and length of the model file, as {"hash", "bytes"}. */
dkho_status card_file(const char *model, json_t **out);
/* DIR/README.md: one row for every card in the folder of `model`. One that was not written so is not replaced. */
dkho_status card_index(const char *model);

#endif
