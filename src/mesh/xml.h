/* xml.h: a pull scanner for the XML that VTK files are made of: elements, attributes, comments, processing
 * instructions. Views into the file, no memory of its own.
 *
 * Why not a library: an appended-raw .vtu is not XML (bytes follow the markup), arrays of hundreds of megabytes are best
 * left where they lie, and the file may not decide how much memory is used. Document types, CDATA and other encodings
 * than UTF-8 are refused, so there is nothing to expand. */
#ifndef MESH_XML_H
#define MESH_XML_H

#include "mesh/scan.h"

enum { XML_DEPTH_MAX = 16, XML_ATTRIBUTES_MAX = 32 };

typedef struct xml {
  scan *s;
  int depth;                       /* open elements, the present one included */
  scan_view open[XML_DEPTH_MAX];   /* their names */
  int attributes;                  /* of the element last opened */
  scan_view key[XML_ATTRIBUTES_MAX], value[XML_ATTRIBUTES_MAX];
  int empty;                       /* the element last opened ended itself: its end event comes next */
} xml;

typedef enum { XML_OPEN, XML_CLOSE, XML_END } xml_event;

/* To the next tag. XML_OPEN: open[depth-1] and the attributes are the element's, s stands behind the tag. XML_CLOSE:
 * open[depth] is the name of the element that has ended, s stands behind its end tag. XML_END: the document is over,
 * all elements closed. */
dkho_status xml_next(xml *x, xml_event *event);
/* The value as it stands in the file (entities are not resolved: no name or number we look for has any), p NULL when there is no such attribute. */
scan_view xml_get(const xml *x, const char *key);
/* The same as a whole number in 0 … INT64_MAX; `fallback` when absent, an error when absent and fallback < 0. */
dkho_status xml_get_count(const xml *x, const char *key, int64_t fallback, int64_t *out);
/* Is the element last opened `name`, and its parent `parent` ("" for the root)? */
int xml_at(const xml *x, const char *parent, const char *name);
/* The text up to the next tag, which stays where it is. */
scan xml_text(const xml *x);

#endif
