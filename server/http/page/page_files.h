/*
 * page_files.h - the page that people open in a browser, embedded by the build.
 *
 * The files are /, /page.css and /page.js.  The page asks by POST to /sql, with
 * the header X-Heapwire: 1 and the statement as its body, and takes JSON:
 * {"columns": ["name", ...], "rows": [[value, ...], ...]}, with "warnings":
 * [text, ...] if there are any.  For /value it takes the only value of the only
 * row as it is.  An error is a status and a text.
 */
#ifndef HW_PAGE_FILES_H
#define HW_PAGE_FILES_H

#include <stddef.h>

/* What the page may do: its own files, and nothing from elsewhere.  It makes
 * the worker that searches (flame_search.js) itself. */
#define PAGE_POLICY                                                            \
    "default-src 'none'; script-src 'self'; style-src 'self'; "                \
    "connect-src 'self'; img-src data:; worker-src blob:; base-uri 'none'; "   \
    "form-action 'none'; frame-ancestors 'none'"

/* NUL-terminated. */
extern const char page_html[];
extern const size_t page_html_size;
extern const char page_css[];
extern const size_t page_css_size;
extern const char page_js[];
extern const size_t page_js_size;

/* sql/REFERENCE.md, which the page links to: /reference. */
extern const char reference_text[];
extern const size_t reference_text_size;

#endif
