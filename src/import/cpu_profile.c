/* SPDX-License-Identifier: MIT */
/* gperftools' CPU profiles, in words of the program that wrote them, 4 or 8 bytes, the smallest byte first:
 *
 *   0, 3, 0, period in µs, 0                the head
 *   n samples, n addresses, addresses       innermost first: where it was, then return addresses
 *   0, 1, 0                                 the end
 *   /proc/self/maps                         as text
 *
 * google-pprof --raw writes any profile in this form, of a heap too, behind its symbols: with the period 1, call addresses, and neither end nor
 * maps. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "import/cpu_profile.h"
#include "import/import_format.h"
#include "import/import_maps.h"

enum { CPU_N_HEAD_WORDS = 5, CPU_MAX_FRAMES = 1024 };

struct cpu_profile {
        struct import_input *in;
        struct import_trace *t;
        const struct heap_dump *symbols; /* NULL: none */
        bytes_buf bytes;
        size_t at, word_bytes;
        struct import_maps maps;
};

static uint64_t word_at(const uint8_t *p, size_t word_bytes) {
        return word_bytes == 8 ? bytes_le64(p) : bytes_le32(p);
}

static size_t word_bytes_of(const uint8_t *head, size_t n) {
        for (size_t size = 4; size <= 8; size += 4)
                if (n >= CPU_N_HEAD_WORDS * size && !word_at(head, size) &&
                    word_at(head + size, size) == 3 && !word_at(head + 2 * size, size) &&
                    !word_at(head + 4 * size, size))
                        return size;
        return 0;
}

static bool matches(const uint8_t *head, size_t n) {
        return word_bytes_of(head, n) != 0;
}

static bool take_word(struct cpu_profile *p, uint64_t *ret) {
        if (p->bytes.n - p->at < p->word_bytes)
                return false;
        *ret = word_at(p->bytes.items + p->at, p->word_bytes);
        p->at += p->word_bytes;
        return true;
}

static int refuse(const struct cpu_profile *p, struct err *reterr, const char *why) {
        return err_set(reterr, -EINVAL, "'%s', byte %zu: %s", p->in->path, p->at, why);
}

/* Where the maps begin: records are passed over first, because places need the maps. */
static int skip_records(struct cpu_profile *p, struct err *reterr) {
        uint64_t n_samples, n;

        for (;;) {
                if (p->symbols && p->at == p->bytes.n)
                        return 0;
                if (!take_word(p, &n_samples) || !take_word(p, &n))
                        return refuse(p, reterr, "the profile is cut off");
                if (n == 0 || n > CPU_MAX_FRAMES)
                        return refuse(p, reterr, "a call path of no or too many addresses");
                if (p->bytes.n - p->at < n * p->word_bytes)
                        return refuse(p, reterr, "the profile is cut off");
                p->at += n * p->word_bytes;
                if (n_samples == 0)
                        return 0;
        }
}

static void read_maps(struct cpu_profile *p) {
        char *text = (char *)p->bytes.items + p->at, *line;

        while ((line = strsep(&text, "\n")))
                import_maps_add_line(&p->maps, line);
}

static int put_record(struct cpu_profile *p, uint64_t n_samples, uint64_t n, struct err *reterr) {
        struct import_function functions[HEAP_MAX_INLINED];
        uint32_t stack = 0;
        int r;

        for (uint64_t i = n; i-- > 0;) {
                uint64_t address =
                        word_at(p->bytes.items + p->at + i * p->word_bytes, p->word_bytes);
                struct import_place place = {.functions = functions};

                /* the innermost is no return address: that would be behind it */
                place.module = import_maps_find(&p->maps, address + (i == 0), &place.address);
                if (p->symbols)
                        place.n_functions = heap_dump_name_place(p->symbols, address, functions);
                r = import_trace_call(p->t, &place, &stack, reterr);
                if (r < 0)
                        return r;
        }
        p->at += n * p->word_bytes;
        r = import_trace_total(p->t, stack, &(struct import_total){1, n_samples, 0, 0});
        return r < 0 ? refuse(p, reterr, "samples do not fit into 64 bits") : 0;
}

/* With symbols and the period 1 the counts may be bytes, or anything. */
static int begin(struct cpu_profile *p, struct err *reterr) {
        struct unit_text period;
        uint64_t period_us = 0;
        bool is_of_samples;
        char text[100];
        int r;

        p->at = 3 * p->word_bytes;
        take_word(p, &period_us);
        is_of_samples = !p->symbols || period_us > 1;
        r = import_trace_begin(p->t,
                               &(struct import_begin){.is_totals = true,
                                                      .has_no_time = true,
                                                      .has_no_blocks = true,
                                                      .command = p->symbols ? p->symbols->program
                                                                            : NULL,
                                                      .unit = is_of_samples ? TRACE_UNIT_SAMPLES
                                                                            : TRACE_UNIT_OTHER},
                               reterr);
        if (r >= 0 && !is_of_samples)
                import_trace_limit(p->t, "It does not say what its counts are");
        else if (r >= 0 && period_us) {
                snprintf(text, sizeof(text), "A sample stands for %s of CPU time",
                         unit_duration(&period, period_us * 1000));
                import_trace_limit(p->t, text);
        }
        return r;
}

static int put_records(struct cpu_profile *p, struct err *reterr) {
        uint64_t n_samples = 0, n = 0, sum = 0;
        int r = begin(p, reterr);

        p->at = CPU_N_HEAD_WORDS * p->word_bytes;
        while (r >= 0 && take_word(p, &n_samples) && take_word(p, &n) && n_samples) {
                if (n_samples >> 62 || __builtin_add_overflow(sum, n_samples, &sum) || sum >> 62)
                        return refuse(p, reterr, "samples do not fit into 64 bits");
                r = put_record(p, n_samples, n, reterr);
        }
        return r < 0 ? r : import_trace_moment(p->t, 0, reterr);
}

int cpu_profile_read(struct import_input *in, struct import_trace *t,
                     const struct heap_dump *symbols, struct err *reterr) {
        struct cpu_profile p = {.in = in, .t = t, .symbols = symbols};
        int r = import_input_all(in, &p.bytes, reterr);

        import_maps_init(&p.maps);
        if (r >= 0) {
                p.word_bytes = word_bytes_of(p.bytes.items, p.bytes.n);
                p.at = CPU_N_HEAD_WORDS * p.word_bytes;
                r = p.word_bytes ? skip_records(&p, reterr) : refuse(&p, reterr, "no head");
        }
        if (r >= 0) {
                read_maps(&p);
                r = put_records(&p, reterr);
        }
        import_maps_done(&p.maps);
        vec_free(&p.bytes);
        return r;
}

static int read_alone(struct import_input *in, struct import_trace *t, struct err *reterr) {
        return cpu_profile_read(in, t, NULL, reterr);
}

const struct import_format import_cpu_profile = {
        .name = "gperftools-cpu",
        .title = "a gperftools CPU profile",
        .lacks = "samples by call path, but no times and nothing about memory",
        .matches = matches,
        .read = read_alone,
};
