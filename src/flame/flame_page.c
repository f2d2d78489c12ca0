/* SPDX-License-Identifier: MIT */
/* The picture as a page: one file, nothing from elsewhere, with all metrics and both directions in it. */
#include "flame/escape.h"
#include "flame/flame_write.h"
#include "flame/page_css.h"
#include "flame/picture_css.h"
#include "flame/texts_js.h"
#include "flame/viewer_css.h"
#include "flame/viewer_js.h"

static void add_element(struct str *to, const char *name, const char *id, const char *text) {
        str_addf(to, "<%s id=\"%s\">", name, id);
        escape_add_xml(to, text);
        str_addf(to, "</%s>\n", name);
}

void write_page(struct str *to, const struct picture *pictures, size_t n, const struct timeline *t,
                const struct flame_options *o) {
        const struct words *w = &pictures[0].words;

        str_add(to, "<!DOCTYPE html>\n<!-- " FLAME_MARK
                    " -->\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                    "<meta name=\"viewport\" content=\"width=device-width\">\n<title>");
        escape_add_xml(to, w->title);
        str_add(to, "</title>\n<style>\n");
        str_addn(to, picture_css, sizeof(picture_css));
        str_addn(to, viewer_css, sizeof(viewer_css));
        str_addn(to, page_css, sizeof(page_css));
        str_add(to, "</style>\n</head>\n<body class=\"silt\">\n");
        add_element(to, "h1", "title", w->title);
        add_element(to, "p", "subtitle", w->subtitle);
        str_add(to, "<div id=\"keys\"></div>\n<div id=\"bar\"></div>\n"
                    "<noscript><p>This page is drawn by a script; 'silt flame -o FILE.svg' makes a "
                    "picture that needs none.</p></noscript>\n"
                    "<svg id=\"picture\" xmlns=\"http://www.w3.org/2000/svg\" role=\"img\">"
                    "<g id=\"frames\"></g><g id=\"timeline\"></g></svg>\n");
        add_element(to, "p", "note", w->note);
        str_add(to, "<script>\n");
        write_data(to, pictures, n, t, o);
        str_addn(to, texts_js, sizeof(texts_js));
        str_addn(to, viewer_js, sizeof(viewer_js));
        str_add(to, "</script>\n</body>\n</html>\n");
}
