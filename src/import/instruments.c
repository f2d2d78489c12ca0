/* SPDX-License-Identifier: MIT */
/* A time profile that `xctrace export` wrote as XML, of Apple's Instruments:
 *
 *   <trace-query-result><node><schema name="time-profile">…</schema>
 *   <row><weight id="8">1000000</weight>                       nanoseconds
 *    <backtrace id="10"><frame id="11" name="hot" addr="0x10"><binary id="12" name="app" path="/x/app"/></frame>
 *     <frame ref="4"/></backtrace></row>                       innermost first; what came before is named by its id
 *
 * Other tables are passed over. Written after files of the tool: there is no specification. */
#include <errno.h>
#include <expat.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/str.h"
#include "import/import_format.h"

enum {
        INSTRUMENTS_PIECE_BYTES = 64 << 10,
        INSTRUMENTS_MAX_DEPTH = 64,
        INSTRUMENTS_MAX_FRAMES = 4096,
        INSTRUMENTS_MAX_NUMBER_BYTES = 32,
};

struct instruments {
        XML_Parser parser;
        struct import_input *in;
        struct import_trace *t;
        struct err *reterr;
        int r;
        unsigned depth;
        struct arena *arena;
        struct map binaries, frames, backtraces, weights; /* by id: path, location, stack, ns */
        char number[INSTRUMENTS_MAX_NUMBER_BYTES];        /* the text of a weight */
        size_t n_number;
        VEC(uint32_t) locations; /* of the backtrace at hand */
        const char *name, *module;
        uint64_t address, frame_id, backtrace_id, tagged_id, weight_id, weight_ns, sum_ns, n_rows;
        uint32_t stack;
        bool is_profile, is_in_row, is_in_weight, has_weight;
};

static bool matches(const uint8_t *head, size_t n) {
        return n > 20 && (head[0] == '<') && memmem(head, n, "<trace-query-result", 19);
}

static void stop(struct instruments *x, int r) {
        x->r = r;
        XML_StopParser(x->parser, XML_FALSE);
}

static void refuse(struct instruments *x, const char *why) {
        x->in->taken_bytes = (uint64_t)XML_GetCurrentByteIndex(x->parser);
        stop(x, import_input_refuse(x->in, x->reterr, "%s", why));
}

static const char *attribute(const XML_Char **attributes, const char *name) {
        for (size_t i = 0; attributes[i]; i += 2)
                if (strcmp(attributes[i], name) == 0)
                        return attributes[i + 1];
        return "";
}

/* 0: there is none. */
static uint64_t number_of(const XML_Char **attributes, const char *name, int base) {
        return strtoull(attribute(attributes, name), NULL, base);
}

static void keep(struct map *m, uint64_t id, uint64_t value) {
        bool is_new;

        if (id)
                *map_put(m, id, value, &is_new) = value;
}

/* What an element of that id was; false, and the file refused: none came before. */
static bool known(struct instruments *x, const struct map *m, uint64_t ref, uint64_t *ret) {
        if (map_get(m, ref, ret))
                return true;
        refuse(x, "a reference to nothing that came before");
        return false;
}

/* ---- frames and backtraces ----------------------------------------------------------------------- */

static void push_location(struct instruments *x, uint32_t location) {
        if (x->locations.n == INSTRUMENTS_MAX_FRAMES)
                refuse(x, "a call path of too many frames");
        else
                vec_push(&x->locations, location);
}

static void begin_frame(struct instruments *x, const XML_Char **attributes) {
        uint64_t ref = number_of(attributes, "ref", 10), location;

        x->name = NULL;
        if (ref) {
                if (known(x, &x->frames, ref, &location))
                        push_location(x, (uint32_t)location);
                return;
        }
        x->name = arena_strdup(x->arena, attribute(attributes, "name"));
        x->address = number_of(attributes, "addr", 16);
        x->frame_id = number_of(attributes, "id", 10);
        x->module = "";
}

static void take_binary(struct instruments *x, const XML_Char **attributes) {
        uint64_t ref = number_of(attributes, "ref", 10), text;

        if (ref) {
                if (known(x, &x->binaries, ref, &text))
                        x->module = (const char *)(uintptr_t)text;
                return;
        }
        x->module = attribute(attributes, "path");
        if (!x->module[0])
                x->module = attribute(attributes, "name");
        x->module = arena_strdup(x->arena, x->module);
        keep(&x->binaries, number_of(attributes, "id", 10), (uint64_t)(uintptr_t)x->module);
}

static void end_frame(struct instruments *x) {
        const struct import_function function = {.name = x->name};
        struct import_place place = {.module = x->module, .functions = &function, .n_functions = 1};
        uint32_t location;
        int r;

        if (!x->name)
                return;                                    /* a reference */
        if (!x->name[0] || strncmp(x->name, "0x", 2) == 0) /* an address in memory, and no file's */
                place = (struct import_place){.address = x->address};
        r = import_trace_place(x->t, &place, &location, x->reterr);
        if (r < 0) {
                stop(x, r);
                return;
        }
        keep(&x->frames, x->frame_id, location);
        push_location(x, location);
        x->name = NULL;
}

static void end_backtrace(struct instruments *x) {
        uint32_t stack = 0;

        if (!x->locations.n && x->stack)
                return; /* a reference */
        for (size_t i = x->locations.n; i-- > 0;)
                if (import_trace_stack(x->t, stack, x->locations.items[i], &stack) < 0) {
                        refuse(x, "too many call paths");
                        return;
                }
        x->stack = stack;
        keep(&x->backtraces, x->backtrace_id, stack);
        x->backtrace_id = 0;
        vec_clear(&x->locations);
}

static void begin_backtrace(struct instruments *x, const XML_Char **attributes, uint64_t *id) {
        uint64_t ref = number_of(attributes, "ref", 10), stack;

        vec_clear(&x->locations);
        *id = number_of(attributes, "id", 10);
        if (ref && known(x, &x->backtraces, ref, &stack))
                x->stack = (uint32_t)stack;
}

/* ---- rows ---------------------------------------------------------------------------------------- */

static void begin_weight(struct instruments *x, const XML_Char **attributes) {
        uint64_t ref = number_of(attributes, "ref", 10);

        x->weight_id = number_of(attributes, "id", 10);
        x->n_number = 0;
        x->is_in_weight = !ref;
        if (ref)
                x->has_weight = known(x, &x->weights, ref, &x->weight_ns);
}

static void end_weight(struct instruments *x) {
        char *end;

        if (!x->is_in_weight)
                return;
        x->is_in_weight = false;
        x->number[x->n_number] = '\0';
        x->weight_ns = strtoull(x->number, &end, 10);
        if (!x->n_number || *end || x->number[0] == '-' || x->weight_ns >> 62) {
                refuse(x, "a weight is no number");
                return;
        }
        x->has_weight = true;
        keep(&x->weights, x->weight_id, x->weight_ns);
}

static void end_row(struct instruments *x) {
        x->is_in_row = false;
        if (!x->has_weight)
                return;
        x->n_rows++;
        if (__builtin_add_overflow(x->sum_ns, x->weight_ns, &x->sum_ns) || x->sum_ns >> 62)
                refuse(x, "weights do not fit into 64 bits");
        else if (x->weight_ns &&
                 import_trace_total(x->t, x->stack, &(struct import_total){1, x->weight_ns, 0, 0}) <
                         0)
                refuse(x, "weights do not fit into 64 bits");
}

static void on_begin(void *ctx, const XML_Char *name, const XML_Char **attributes) {
        struct instruments *x = ctx;

        if (x->r < 0)
                return;
        if (++x->depth > INSTRUMENTS_MAX_DEPTH) {
                refuse(x, "elements lie too deep in each other");
                return;
        }
        if (strcmp(name, "schema") == 0)
                x->is_profile = strcmp(attribute(attributes, "name"), "time-profile") == 0;
        if (!x->is_profile)
                return;
        if (strcmp(name, "row") == 0) {
                x->is_in_row = true;
                x->has_weight = x->is_in_weight = false;
                x->stack = 0;
        } else if (!x->is_in_row)
                return;
        else if (strcmp(name, "weight") == 0)
                begin_weight(x, attributes);
        else if (strcmp(name, "tagged-backtrace") == 0)
                begin_backtrace(x, attributes, &x->tagged_id);
        else if (strcmp(name, "backtrace") == 0)
                begin_backtrace(x, attributes, &x->backtrace_id);
        else if (strcmp(name, "frame") == 0)
                begin_frame(x, attributes);
        else if (strcmp(name, "binary") == 0 && x->name)
                take_binary(x, attributes);
}

static void on_end(void *ctx, const XML_Char *name) {
        struct instruments *x = ctx;

        if (x->r < 0)
                return;
        x->depth--;
        if (!x->is_in_row)
                return;
        if (strcmp(name, "row") == 0)
                end_row(x);
        else if (strcmp(name, "weight") == 0)
                end_weight(x);
        else if (strcmp(name, "frame") == 0)
                end_frame(x);
        else if (strcmp(name, "backtrace") == 0)
                end_backtrace(x);
        else if (strcmp(name, "tagged-backtrace") == 0)
                keep(&x->backtraces, x->tagged_id, x->stack);
}

static void on_text(void *ctx, const XML_Char *text, int n) {
        struct instruments *x = ctx;

        if (x->r < 0 || !x->is_in_weight)
                return;
        if (x->n_number + (size_t)n >= sizeof(x->number)) {
                refuse(x, "a weight is no number");
                return;
        }
        memcpy(x->number + x->n_number, text, (size_t)n);
        x->n_number += (size_t)n;
}

/* ---- the file ------------------------------------------------------------------------------------ */

static int parse(struct instruments *x, struct err *reterr) {
        ssize_t n = 1;

        while (n > 0) {
                void *buf = XML_GetBuffer(x->parser, INSTRUMENTS_PIECE_BYTES);

                if (!buf)
                        abort();
                n = import_input_read(x->in, buf, INSTRUMENTS_PIECE_BYTES, reterr);
                if (n < 0)
                        return (int)n;
                if (XML_ParseBuffer(x->parser, (int)n, n == 0) == XML_STATUS_OK)
                        continue;
                if (x->r < 0)
                        return x->r;
                x->in->taken_bytes = (uint64_t)XML_GetCurrentByteIndex(x->parser);
                return import_input_refuse(x->in, reterr, "%s",
                                           XML_ErrorString(XML_GetErrorCode(x->parser)));
        }
        if (!x->n_rows)
                return import_input_refuse(
                        x->in, reterr,
                        "no rows of a time profile: export the table 'time-profile' with xctrace");
        return 0;
}

static int read_instruments(struct import_input *in, struct import_trace *t, struct err *reterr) {
        struct instruments x = {.in = in, .t = t, .reterr = reterr};
        int r = import_trace_begin(t,
                                   &(struct import_begin){.is_totals = true,
                                                          .has_no_time = true,
                                                          .has_no_blocks = true,
                                                          .unit = TRACE_UNIT_NS},
                                   reterr);

        if (r < 0)
                return r;
        x.parser = XML_ParserCreate(NULL);
        if (!x.parser)
                abort();
        x.arena = arena_new();
        XML_SetUserData(x.parser, &x);
        XML_SetElementHandler(x.parser, on_begin, on_end);
        XML_SetCharacterDataHandler(x.parser, on_text);
        r = parse(&x, reterr);
        if (r >= 0)
                r = import_trace_moment(t, 0, reterr);
        XML_ParserFree(x.parser);
        arena_free(x.arena);
        map_done(&x.binaries);
        map_done(&x.frames);
        map_done(&x.backtraces);
        map_done(&x.weights);
        vec_free(&x.locations);
        return r;
}

const struct import_format import_instruments = {
        .name = "instruments",
        .title = "a time profile of Instruments",
        .lacks = "time by call path, but nothing about memory; when samples were taken is not kept",
        .matches = matches,
        .read = read_instruments,
};
