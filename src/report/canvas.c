/* canvas.c: pages, text, boxes. Cairo keeps its own error state: it is looked at once, when the page is committed. */
#include "report/canvas.h"

#include "base/mem.h"

#include <cairo-pdf.h>
#include <cairo-svg.h>

#include <assert.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#define PNG_DENSITY 2.0
#define VECTOR_DENSITY 3.0

static cairo_status_t write_chunk(void *user, const unsigned char *bytes, unsigned int count) {
  canvas *c = user;
  if (c->written == DKHO_OK) c->written = file_write(&c->file, bytes, count);
  return c->written == DKHO_OK ? CAIRO_STATUS_SUCCESS : CAIRO_STATUS_WRITE_ERROR;
}

static dkho_status cairo_verdict(const char *path, cairo_status_t status) {
  if (status == CAIRO_STATUS_SUCCESS) return DKHO_OK;
  return fail(status == CAIRO_STATUS_NO_MEMORY ? DKHO_E_MEMORY : DKHO_E_INTERNAL, "%s: drawing failed: %s", path,
              cairo_status_to_string(status));
}

static void set_fonts(cairo_t *cr) {
  cairo_font_options_t *o = cairo_font_options_create();
  cairo_font_options_set_hint_style(o, CAIRO_HINT_STYLE_NONE);
  cairo_font_options_set_hint_metrics(o, CAIRO_HINT_METRICS_OFF);
  cairo_font_options_set_antialias(o, CAIRO_ANTIALIAS_GRAY);
  cairo_set_font_options(cr, o);
  cairo_font_options_destroy(o);
}

static int ends_in(const char *path, const char *what) {
  const char *ending = strrchr(path, '.');
  return ending && strcasecmp(ending, what) == 0;
}

dkho_status canvas_check(const char *path, int force) {
  if (!ends_in(path, ".png") && !ends_in(path, ".svg") && !ends_in(path, ".pdf"))
    return fail(DKHO_E_INPUT, "%s: expected a name ending in .png, .svg or .pdf", path);
  return !force && file_exists(path) ? fail(DKHO_E_EXISTS, "%s: exists already; it is kept", path) : DKHO_OK;
}

dkho_status canvas_open(canvas *c, const char *path, int force, double width, double height) {
  *c = (canvas){.width = width, .height = height, .density = VECTOR_DENSITY};
  TRY(canvas_check(path, force));
  TRY(file_open(&c->file, path, force));
  c->png = ends_in(path, ".png");
  if (c->png) {
    c->density = PNG_DENSITY;
    c->surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)lround(width * PNG_DENSITY),
                                            (int)lround(height * PNG_DENSITY));
    cairo_surface_set_device_scale(c->surface, PNG_DENSITY, PNG_DENSITY);
  } else if (ends_in(path, ".svg")) {
    c->surface = cairo_svg_surface_create_for_stream(write_chunk, c, width, height);
  } else {
    c->surface = cairo_pdf_surface_create_for_stream(write_chunk, c, width, height);
  }
  c->cr = cairo_create(c->surface);
  set_fonts(c->cr);
  canvas_colour(c, (rgb){1, 1, 1}, 1);
  cairo_paint(c->cr); /* to the last pixel, where a page does not end on a whole one */
  dkho_status s = cairo_verdict(path, cairo_status(c->cr));
  if (s != DKHO_OK) canvas_abort(c);
  return s;
}

dkho_status canvas_commit(canvas *c) {
  dkho_status s = cairo_verdict(c->file.path, cairo_status(c->cr));
  if (s == DKHO_OK) {
    cairo_status_t end;
    if (c->png) {
      end = cairo_surface_write_to_png_stream(c->surface, write_chunk, c);
    } else {
      cairo_surface_finish(c->surface);
      end = cairo_surface_status(c->surface);
    }
    s = c->written != DKHO_OK ? c->written : cairo_verdict(c->file.path, end);
  }
  if (s == DKHO_OK) s = file_commit(&c->file);
  canvas_abort(c);
  return s;
}

void canvas_abort(canvas *c) {
  c->written = DKHO_E_STOPPED; /* what the surface still wants to write is dropped */
  if (c->cr) cairo_destroy(c->cr);
  if (c->surface) cairo_surface_destroy(c->surface);
  if (c->file.path) file_abort(&c->file);
  *c = (canvas){0};
}

static void use_font(canvas *c, text_style style) {
  cairo_select_font_face(c->cr, "DejaVu Sans", CAIRO_FONT_SLANT_NORMAL,
                         style.bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
  cairo_set_font_size(c->cr, style.size);
}

double text_width(canvas *c, text_style style, const char *text) {
  cairo_text_extents_t e;
  use_font(c, style);
  cairo_text_extents(c->cr, text, &e);
  return e.x_advance;
}

void text_draw(canvas *c, double x, double y, text_align align, double angle, text_style style, const char *text) {
  double w = text_width(c, style, text);
  canvas_colour(c, style.colour, 1);
  cairo_save(c->cr);
  cairo_translate(c->cr, x, y);
  cairo_rotate(c->cr, -angle * M_PI / 180);
  cairo_move_to(c->cr, align == ALIGN_START ? 0 : align == ALIGN_MIDDLE ? -w / 2 : -w, 0);
  cairo_show_text(c->cr, text);
  cairo_restore(c->cr);
}

void text_fit(canvas *c, double x, double y, double limit, text_align align, double angle, text_style style,
              const char *text) {
  char cut[256];
  double w = text_width(c, style, text);
  if (w > limit) style.size *= fmax(limit / w * 0.999, 0.7);
  if (text_width(c, style, text) <= limit || limit <= 0) {
    text_draw(c, x, y, align, angle, style, text);
    return;
  }
  size_t n = strlen(text) < sizeof cut - 4 ? strlen(text) : sizeof cut - 4;
  do {
    while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80) n--; /* never inside a letter */
    memcpy(cut, text, n);
    memcpy(cut + n, "…", sizeof "…");
  } while (text_width(c, style, cut) > limit && n-- > 0);
  text_draw(c, x, y, align, angle, style, cut);
}

void canvas_colour(canvas *c, rgb colour, double alpha) {
  cairo_set_source_rgba(c->cr, colour.r, colour.g, colour.b, alpha);
}

void canvas_line(canvas *c, double x0, double y0, double x1, double y1, double width, rgb colour) {
  canvas_colour(c, colour, 1);
  cairo_set_line_width(c->cr, width);
  cairo_move_to(c->cr, x0, y0);
  cairo_line_to(c->cr, x1, y1);
  cairo_stroke(c->cr);
}

void canvas_box(canvas *c, double x, double y, double w, double h, rgb colour, double alpha) {
  canvas_colour(c, colour, alpha);
  cairo_rectangle(c->cr, x, y, w, h);
  cairo_fill(c->cr);
}

void canvas_frame(canvas *c, double x, double y, double w, double h, double width, rgb colour) {
  canvas_colour(c, colour, 1);
  cairo_set_line_width(c->cr, width);
  cairo_rectangle(c->cr, x, y, w, h);
  cairo_stroke(c->cr);
}

void canvas_disc(canvas *c, double x, double y, double radius, rgb fill, rgb edge) {
  cairo_new_sub_path(c->cr);
  cairo_arc(c->cr, x, y, radius, 0, 2 * M_PI);
  canvas_colour(c, fill, 1);
  cairo_fill_preserve(c->cr);
  canvas_colour(c, edge, 1);
  cairo_set_line_width(c->cr, 0.7);
  cairo_stroke(c->cr);
}

void canvas_picture(canvas *c, double x, double y, int w, int h, uint32_t *pixel) {
  assert(cairo_format_stride_for_width(CAIRO_FORMAT_RGB24, w) == 4 * w);
  cairo_surface_t *image = cairo_image_surface_create_for_data((unsigned char *)pixel, CAIRO_FORMAT_RGB24, w, h, 4 * w);
  double d = c->density;
  cairo_save(c->cr);
  cairo_translate(c->cr, round(x * d) / d, round(y * d) / d);
  cairo_scale(c->cr, 1 / d, 1 / d);
  cairo_set_source_surface(c->cr, image, 0, 0);
  cairo_pattern_set_filter(cairo_get_source(c->cr), c->png ? CAIRO_FILTER_NEAREST : CAIRO_FILTER_GOOD);
  cairo_rectangle(c->cr, 0, 0, w, h);
  cairo_fill(c->cr);
  cairo_restore(c->cr);
  cairo_surface_destroy(image);
}
