/* xml.c: the pull scanner. */
#include "mesh/xml.h"

#include <string.h>

static int name_byte(int c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == ':' ||
         c == '-' || c == '.' || c >= 0x80;
}

static scan_view name(scan *s) {
  size_t from = s->at;
  while (s->at < s->size && name_byte(s->bytes[s->at])) s->at++;
  return (scan_view){(const char *)s->bytes + from, s->at - from};
}

static int starts(const scan *s, const char *text) {
  size_t n = strlen(text);
  return scan_left(s) >= n && memcmp(s->bytes + s->at, text, n) == 0;
}

/* Past `text`, which must come. */
static dkho_status past(scan *s, const char *text, const char *what) {
  size_t n = strlen(text);
  const unsigned char *hit = memmem(s->bytes + s->at, scan_left(s), text, n);
  if (!hit) return scan_fail(s, "%s has no end", what);
  s->at = (size_t)(hit - s->bytes) + n;
  return DKHO_OK;
}

static dkho_status attributes(xml *x) {
  scan *s = x->s;
  x->attributes = 0;
  for (;;) {
    scan_space(s);
    if (starts(s, ">") || starts(s, "/>")) return DKHO_OK;
    if (x->attributes == XML_ATTRIBUTES_MAX) return scan_fail(s, "more than %d attributes", XML_ATTRIBUTES_MAX);
    scan_view key = name(s);
    if (!key.n) return scan_fail(s, "expected an attribute or the end of the tag");
    scan_space(s);
    if (!starts(s, "=")) return scan_fail(s, "attribute %.*s: expected =", SCAN_SHOW(key));
    s->at++;
    scan_space(s);
    int quote = s->at < s->size ? s->bytes[s->at] : 0;
    if (quote != '"' && quote != '\'') return scan_fail(s, "attribute %.*s: expected a quote", SCAN_SHOW(key));
    const unsigned char *from = s->bytes + ++s->at, *end = memchr(from, quote, scan_left(s));
    if (!end || memchr(from, '<', (size_t)(end - from)))
      return scan_fail(s, "attribute %.*s: the quote is not closed", SCAN_SHOW(key));
    x->key[x->attributes] = key;
    x->value[x->attributes++] = (scan_view){(const char *)from, (size_t)(end - from)};
    s->at = (size_t)(end - s->bytes) + 1;
  }
}

static dkho_status open_tag(xml *x) {
  scan before = *x->s;
  x->s->at++;
  scan_view tag = name(x->s);
  if (!tag.n) return scan_fail(&before, "expected a tag");
  if (x->depth == XML_DEPTH_MAX) return scan_fail(&before, "elements are nested more than %d deep", XML_DEPTH_MAX);
  TRY(attributes(x));
  x->open[x->depth++] = tag;
  x->empty = starts(x->s, "/>");
  x->s->at += x->empty ? 2 : 1;
  return DKHO_OK;
}

static dkho_status close_tag(xml *x) {
  scan before = *x->s;
  x->s->at += 2;
  scan_view tag = name(x->s);
  scan_space(x->s);
  if (x->depth == 0) return scan_fail(&before, "</%.*s> closes nothing", SCAN_SHOW(tag));
  scan_view open = x->open[x->depth - 1];
  if (tag.n != open.n || memcmp(tag.p, open.p, tag.n) != 0)
    return scan_fail(&before, "found </%.*s>, expected </%.*s>", SCAN_SHOW(tag), SCAN_SHOW(open));
  if (!starts(x->s, ">")) return scan_fail(x->s, "</%.*s: expected >", SCAN_SHOW(tag));
  x->s->at++;
  x->depth--;
  return DKHO_OK;
}

dkho_status xml_next(xml *x, xml_event *event) {
  scan *s = x->s;
  if (x->empty) {
    x->empty = 0;
    x->depth--;
    *event = XML_CLOSE;
    return DKHO_OK;
  }
  for (;;) {
    const unsigned char *tag = memchr(s->bytes + s->at, '<', scan_left(s));
    if (!tag) break;
    s->at = (size_t)(tag - s->bytes);
    if (starts(s, "<!--")) {
      TRY(past(s, "-->", "a comment"));
    } else if (starts(s, "<?")) {
      TRY(past(s, "?>", "a processing instruction"));
    } else if (starts(s, "<!")) {
      return scan_fail(s, "document types and CDATA are not supported");
    } else if (starts(s, "</")) {
      *event = XML_CLOSE;
      return close_tag(x);
    } else {
      *event = XML_OPEN;
      return open_tag(x);
    }
  }
  s->at = s->size;
  if (x->depth) return scan_fail(s, "the file ends, expected </%.*s>", SCAN_SHOW(x->open[x->depth - 1]));
  *event = XML_END;
  return DKHO_OK;
}

scan_view xml_get(const xml *x, const char *key) {
  for (int i = 0; i < x->attributes; i++)
    if (scan_is(x->key[i], key)) return x->value[i];
  return (scan_view){NULL, 0};
}

dkho_status xml_get_count(const xml *x, const char *key, int64_t fallback, int64_t *out) {
  scan_view v = xml_get(x, key);
  *out = fallback;
  scan_view tag = x->open[x->depth - 1];
  if (!v.n && fallback >= 0) return DKHO_OK; /* Firedrake writes NumberOfComponents="" */
  if (!v.p) return scan_fail(x->s, "<%.*s>: no attribute %s", SCAN_SHOW(tag), key);
  while (v.n && scan_is_space(v.p[0])) v = (scan_view){v.p + 1, v.n - 1};
  while (v.n && scan_is_space(v.p[v.n - 1])) v.n--;
  if (!scan_view_int(v, out) || *out < 0)
    return scan_fail(x->s, "<%.*s>: %s: found \"%.*s\", expected a whole number", SCAN_SHOW(tag), key, SCAN_SHOW(v));
  return DKHO_OK;
}

int xml_at(const xml *x, const char *parent, const char *name_wanted) {
  if (!scan_is(x->open[x->depth - 1], name_wanted)) return 0;
  return x->depth > 1 ? scan_is(x->open[x->depth - 2], parent) : !*parent;
}

scan xml_text(const xml *x) {
  scan text = *x->s;
  const unsigned char *end = x->empty ? text.bytes + text.at : memchr(text.bytes + text.at, '<', scan_left(&text));
  if (end) text.size = (size_t)(end - text.bytes);
  return text;
}
