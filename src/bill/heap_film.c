/* SPDX-License-Identifier: MIT */
/* All moments as one page: a slider, a switch between fill, owner and age, nothing from elsewhere. Figures stand in it as JSON. */
#include "base/json.h"
#include "bill/heap_css.h"
#include "bill/heap_film_html.h"
#include "bill/heap_picture.h"
#include "bill/heap_write.h"
#include "show/escape.h"

/* Of a script's text: "</script>" in a name must not end it. */
static void add_script_text(FILE *out, const char *text, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (text[i] == '<')
                        fputs("\\u003c", out);
                else
                        fputc(text[i], out);
}

static void put_cell(struct json *j, const struct heap_frame *f, const struct heap_cell *c) {
        json_array(j);
        json_uint(j, c->is_apart);
        json_uint(j, heap_cell_fill(c));
        json_uint(j, c->owner);
        json_uint(j, heap_cell_age(c, f->time_ns));
        json_uint(j, c->live_bytes);
        json_uint(j, c->resident_bytes);
        json_uint(j, c->begin >> 12); /* exact in a double */
        json_end(j);
}

static void put_film(struct json *j, const struct heap_cells *h) {
        json_object(j);
        JSON_PUT_EACH(j, "owners", h->owners.n, json_string, str_text(&h->owners.items[i].name));
        json_key(j, "frames");
        json_array(j);
        for (size_t i = 0; i < h->frames.n; i++) {
                const struct heap_frame *f = &h->frames.items[i];

                json_object(j);
                json_put_double(j, "at_s", (double)f->time_ns / 1e9, 3);
                json_put_uint(j, "rss", f->rss_bytes);
                json_put_uint(j, "heap", f->heap_bytes);
                json_put_uint(j, "live", f->live_bytes);
                json_put_uint(j, "free", f->free_bytes);
                json_key(j, "cells");
                json_array(j);
                for (size_t k = 0; k < f->cells.n; k++)
                        put_cell(j, f, &f->cells.items[k]);
                json_end(j);
                json_end(j);
        }
        json_end(j);
        json_end(j);
}

void heap_write_film(FILE *out, const struct heap_cells *h, const char *title) {
        struct str head = {0};
        char *text = NULL;
        size_t n = 0;
        FILE *film = open_memstream(&text, &n);
        struct json j;

        if (!film)
                abort();
        json_init(&j, film);
        put_film(&j, h);
        fclose(film);
        str_add(&head, "<!doctype html>\n<!-- " HEAP_MARK
                       " -->\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>");
        escape_add_xml(&head, title);
        str_add(&head, "</title>\n<style>\n");
        str_addn(&head, heap_css, sizeof(heap_css));
        str_add(&head, "</style></head><body class=\"silt\"><h1>");
        escape_add_xml(&head, title);
        str_add(&head, "</h1>\n<script id=\"film\" type=\"application/json\">");
        fwrite(str_text(&head), 1, head.n, out);
        add_script_text(out, text, n);
        fputs("</script>\n", out);
        fwrite(heap_film_html, 1, sizeof(heap_film_html), out);
        str_done(&head);
        free(text);
}
