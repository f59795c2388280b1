/* page.c: the file: head, arrays as they come (base64, little-endian, 32 bits), then an index of them, then the program. */
#include "report/page.h"

#include "base/file.h"
#include "report/colour.h"
#include "report/page_files.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = 3 * 1024 };

struct page {
  file_out file;
  json_t *index;  /* what the program reads */
  int blocks;     /* arrays written; number i has the id "bi" */
  size_t waiting; /* bytes of a piece that is not written yet */
  unsigned char piece[PIECE];
};

static dkho_status write_escaped(file_out *f, const char *text, const char *const named[128]) {
  for (; *text; text++) {
    const char *other = (unsigned char)*text < 128 ? named[(unsigned char)*text] : NULL;
    TRY(other ? file_write(f, other, strlen(other)) : file_write(f, text, 1));
  }
  return DKHO_OK;
}

static dkho_status write_head(page *p, const char *title) {
  static const char *const html[128] = {['<'] = "&lt;", ['&'] = "&amp;"};
  TRY(file_printf(&p->file, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>"));
  TRY(write_escaped(&p->file, title, html));
  TRY(file_printf(&p->file, "</title>\n<style>\n"));
  TRY(file_write(&p->file, page_css, page_css_size));
  TRY(file_printf(&p->file, "</style>\n</head>\n<body>\n"));
  return file_write(&p->file, page_html, page_html_size);
}

dkho_status page_create(page **out, const char *path, int force, const char *title) {
  page *p;
  *out = NULL;
  if (!MEM_NEW(p, 1)) return DKHO_E_MEMORY;
  dkho_status s = file_open(&p->file, path, force);
  if (s == DKHO_OK) {
    p->index = json_pack("{s:s, s:s, s:[], s:[], s:[]}", "title", title, "version", dkho_version(), "complexes",
                         "fields", "samples");
    s = p->index ? write_head(p, title) : fail(DKHO_E_INPUT, "%s: the title of the page is not UTF-8", path);
  }
  if (s == DKHO_OK)
    *out = p;
  else
    page_abort(p);
  return s;
}

void page_abort(page *p) {
  if (!p) return;
  file_abort(&p->file);
  json_decref(p->index);
  mem_free(p);
}

uint64_t page_size(const page *p) {
  return p->file.written;
}

/* Adds an object, whose reference is taken, to a list of the index. */
static dkho_status append_object(page *p, const char *list, json_t *object) {
  return json_array_append_new(json_object_get(p->index, list), object) == 0
             ? DKHO_OK
             : fail(DKHO_E_INPUT, "an entry of the page's %s is not UTF-8, or there is no memory for it", list);
}

/* ---- arrays ---- */

static dkho_status write_piece(page *p) {
  static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  char text[PIECE / 3 * 4];
  size_t n = 0;
  for (size_t i = 0; i < p->waiting; i += 3) {
    size_t left = p->waiting - i;
    uint32_t three = (uint32_t)p->piece[i] << 16;
    if (left > 1) three |= (uint32_t)p->piece[i + 1] << 8;
    if (left > 2) three |= p->piece[i + 2];
    for (size_t k = 0; k < 4; k++) text[n++] = k <= left ? digit[three >> (18 - 6 * k) & 63] : '=';
  }
  p->waiting = 0;
  return file_write(&p->file, text, n);
}

static dkho_status put_word(page *p, const void *four_bytes) {
  uint32_t word;
  memcpy(&word, four_bytes, sizeof word);
  for (int i = 0; i < 4; i++) {
    p->piece[p->waiting++] = (unsigned char)(word >> 8 * i);
    if (p->waiting == PIECE) TRY(write_piece(p));
  }
  return DKHO_OK;
}

static dkho_status open_block(page *p, json_t **id) {
  *id = json_sprintf("b%d", p->blocks);
  if (!*id) return fail(DKHO_E_MEMORY, "no memory for the page's index");
  return file_printf(&p->file, "<script type=\"text/plain\" id=\"b%d\">", p->blocks++);
}

static dkho_status close_block(page *p) {
  TRY(write_piece(p));
  return file_printf(&p->file, "</script>\n");
}

static dkho_status put_words(page *p, int64_t n, const void *words, json_t **id) {
  TRY(open_block(p, id));
  for (int64_t i = 0; i < n; i++) TRY(put_word(p, (const char *)words + 4 * i));
  return close_block(p);
}

static dkho_status put_rounded(page *p, int64_t n, const double *value, json_t **id) {
  TRY(open_block(p, id));
  for (int64_t i = 0; i < n; i++) {
    float v = (float)value[i];
    TRY(put_word(p, &v));
  }
  return close_block(p);
}

/* ---- what there is ---- */

dkho_status page_add_complex(page *p, const cx *c, const int64_t *betti) {
  json_t *vert = json_array(), *count = json_array(), *numbers = json_array(), *id = NULL;
  json_t *o = json_pack("{s:i, s:i, s:o, s:o, s:o}", "dim", c->dim, "space", c->gdim, "count", count, "vert", vert,
                        "betti", numbers);
  TRY(append_object(p, "complexes", o)); /* the index owns it from here on */
  dkho_status s = put_rounded(p, c->n[0] * c->gdim, c->x, &id);
  json_object_set_new(o, "x", id);
  for (int k = 0; k <= c->dim && s == DKHO_OK; k++) {
    json_array_append_new(count, json_integer(c->n[k]));
    if (betti) json_array_append_new(numbers, json_integer(betti[k]));
    if (k == 0) continue;
    id = NULL;
    s = put_words(p, c->n[k] * (k + 1), c->vert[k], &id);
    json_array_append_new(vert, id);
  }
  return s;
}

static const char *const layer_name[PAGE_LAYERS] = {"value", "prediction", "value_exact", "prediction_exact"};

dkho_status page_add_field(page *p, const char *name, const char *group, int degree, int channels, int fixed) {
  return append_object(p, "fields",
                       json_pack("{s:s, s:s, s:i, s:i, s:b, s:{}, s:{}, s:{}, s:{}}", "name", name, "group", group,
                                 "degree", degree, "channels", channels, "fixed", fixed, layer_name[0], layer_name[1],
                                 layer_name[2], layer_name[3]));
}

dkho_status page_add_sample(page *p, int complex, const char *title, const char *note) {
  return append_object(p, "samples",
                       json_pack("{s:i, s:s, s:s}", "complex", complex, "title", title, "note", note ? note : ""));
}

/* Where the array's id goes: under its sample's or complex's number. */
static json_t *layer_of(page *p, int field, page_layer layer) {
  return json_object_get(json_array_get(json_object_get(p->index, "fields"), (size_t)field), layer_name[layer]);
}

static dkho_status note_block(page *p, int field, page_layer layer, int at, json_t *id) {
  char key[16];
  snprintf(key, sizeof key, "%d", at);
  return json_object_set_new(layer_of(p, field, layer), key, id) == 0
             ? DKHO_OK
             : fail(DKHO_E_MEMORY, "no memory for the page's index");
}

dkho_status page_put(page *p, int field, page_layer layer, int at, int64_t n, const float *value) {
  json_t *id = NULL;
  dkho_status s = put_words(p, n, value, &id);
  return id ? note_block(p, field, layer, at, id) == DKHO_OK ? s : DKHO_E_MEMORY : s;
}

dkho_status page_put_double(page *p, int field, page_layer layer, int at, int64_t n, const double *value) {
  json_t *id = NULL;
  dkho_status s = put_rounded(p, n, value, &id);
  return id ? note_block(p, field, layer, at, id) == DKHO_OK ? s : DKHO_E_MEMORY : s;
}

/* ---- the end ---- */

static json_t *colour_table(colour_map map) {
  json_t *list = json_array();
  for (int i = 0; i < COLOUR_STEPS; i++) {
    rgb c = colour_at(map, i / (COLOUR_STEPS - 1.0));
    for (int k = 0; k < 3; k++)
      json_array_append_new(list, json_integer(lround((k == 0 ? c.r : k == 1 ? c.g : c.b) * 255)));
  }
  return list;
}

static dkho_status write_index(page *p) {
  static const char *const script[128] = {['<'] = "\\u003c"};
  json_object_set_new(p->index, "colours",
                      json_pack("{s:o, s:o, s:o}", "sequential", colour_table(COLOUR_SEQUENTIAL), "diverging",
                                colour_table(COLOUR_DIVERGING), "error", colour_table(COLOUR_ERROR)));
  char *text = json_dumps(p->index, JSON_COMPACT);
  if (!text) return fail(DKHO_E_MEMORY, "no memory for the page's index");
  dkho_status s = file_printf(&p->file, "<script type=\"application/json\" id=\"index\">");
  if (s == DKHO_OK) s = write_escaped(&p->file, text, script);
  free(text);
  return s == DKHO_OK ? file_printf(&p->file, "</script>\n<script>\n") : s;
}

dkho_status page_commit(page *p) {
  dkho_status s = write_index(p);
  if (s == DKHO_OK) s = file_write(&p->file, page_js, page_js_size);
  if (s == DKHO_OK) s = file_printf(&p->file, "</script>\n</body>\n</html>\n");
  if (s == DKHO_OK) s = file_commit(&p->file);
  page_abort(p);
  return s;
}
