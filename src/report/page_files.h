/* page_files.h: the parts of the page as they are in src/report/web, embedded by the build (cmake/embed.cmake). */
#ifndef REPORT_PAGE_FILES_H
#define REPORT_PAGE_FILES_H

#include <stddef.h>

extern const unsigned char page_html[], page_css[], page_js[];
extern const size_t page_html_size, page_css_size, page_js_size;

#endif
