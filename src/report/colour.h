/* colour.h: colours for data. The maps are curves through our own control points in OKLab (lightness, chroma, hue), so
 * that equal steps of a value look like equal steps; they are also ordered in grey. Categorical colours come from the
 * same space. Nothing here draws. */
#ifndef REPORT_COLOUR_H
#define REPORT_COLOUR_H

#include "report/scale.h"

typedef struct rgb {
  double r, g, b; /* sRGB, 0 … 1 */
} rgb;

rgb rgb_hex(uint32_t hex);                   /* 0xRRGGBB */
rgb rgb_oklch(double l, double c, double h); /* hue in degrees; chroma is lowered until the colour exists in sRGB */
rgb rgb_mix(rgb a, rgb b, double t);         /* a … b, straight in OKLab */
void rgb_oklab(rgb c, double lab[3]);

typedef enum {
  COLOUR_SEQUENTIAL, /* dark violet … teal … yellow */
  COLOUR_DIVERGING,  /* blue … white … red, for values about zero */
  COLOUR_ERROR,      /* pale … dark red */
  COLOUR_PALE        /* white … slate blue, to draw upon */
} colour_map;
rgb colour_at(colour_map map, double t); /* t is clamped to 0 … 1 */
rgb colour_category(int i);              /* eight, then again from the first */

#define COLOUR_INK rgb_hex(0x1c2733)
#define COLOUR_SOFT rgb_hex(0x5b6773)
#define COLOUR_GRID rgb_hex(0xe3e7eb)
#define COLOUR_MISSING rgb_hex(0xc4c8cc) /* of values that are not finite */

/* A map tied to a range, tabulated. */
enum { COLOUR_STEPS = 256 };
typedef struct colour_scale {
  scale on;
  colour_map map;
  rgb step[COLOUR_STEPS];
} colour_scale;
void colour_scale_set(colour_scale *s, colour_map map, scale on);
rgb colour_of(const colour_scale *s, double value);
/* The same in two steps: where a value stands among the tabulated colours (NaN when it is not finite), and the colour. */
double colour_place(const colour_scale *s, double value);
rgb colour_step(const colour_scale *s, double t);

#endif
