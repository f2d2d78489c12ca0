/* SPDX-License-Identifier: MIT */
#include "bill/bill_words.h"

#include <string.h>

#include "base/units.h"
#include "bill/bill.h"
#include "show/style.h"

#define NEARLY_ALL_SHARE 0.9

const char *bill_kind_words(const struct bill *b, enum bill_kind k) {
        switch (k) {
        case BILL_LIVE:
                return b->lacks_asked ? "live blocks, as large as the allocator made them"
                                      : "live blocks, as requested";
        case BILL_ROUNDING: return "rounded up by the allocator";
        case BILL_HEADERS: return "the allocator's headers";
        case BILL_EMPTY: return "free pages that the allocator keeps";
        case BILL_BETWEEN: return "free between live blocks";
        case BILL_HEAP: return "heaps and other anonymous memory (blocks unknown)";
        case BILL_MAPPED: return "mapped by the program itself";
        case BILL_STACKS: return "thread stacks";
        case BILL_CHANGED: return "data of programs and libraries, written to";
        case BILL_FILES: return "code and files, unchanged or shared";
        case BILL_SHARED: return "shared memory";
        case BILL_RUNTIME: return "silt's own";
        case BILL_REST: return "not accounted for";
        case BILL_N_KINDS: break;
        }
        return "";
}

void bill_add_function(const struct frame_names *n, uint32_t stack, bool utf8, struct str *to,
                       struct str *place) {
        struct frame_stack x = {0};

        if (!stack || !n->q)
                return;
        frame_stack_fill(&x, n, stack, false);
        if (x.shown.n) {
                const struct name_frame *f = &x.frames.items[x.shown.items[0].frame_idx];

                frame_add_function(to, n, f, x.shown.items[0].is_task, n->is_full, utf8);
                if (place && f->file[0])
                        frame_add_place(place, f, false);
        }
        frame_stack_done(&x);
}

void bill_add_mapper(const struct frame_names *n, const struct bill_line *l, bool utf8,
                     struct str *to, struct str *place) {
        if (l->stack && l->name[0])
                str_add(to, l->name);
        else
                bill_add_function(n, l->stack, utf8, to, place);
}

bool bill_is_dev_zero(const char *name) {
        static const char zero[] = "/dev/zero";

        return strncmp(name, zero, strlen(zero)) == 0;
}

/* ---- the largest part ------------------------------------------------------------------------ */

/* Parts that one thing is to be said about. */
enum topic {
        TOPIC_LIVE,
        TOPIC_KEPT,
        TOPIC_HEAP,
        TOPIC_MAPPED,
        TOPIC_STACKS,
        TOPIC_FILES,
        TOPIC_SHARED,
        TOPIC_RUNTIME,
        TOPIC_REST,
        TOPIC_N
};

static uint64_t part_of(const struct bill *b, enum bill_kind k) {
        return b->parts[k].bytes > 0 ? (uint64_t)b->parts[k].bytes : 0;
}

static uint64_t topic_bytes(const struct bill *b, enum topic t) {
        switch (t) {
        case TOPIC_LIVE:
                return part_of(b, BILL_LIVE) + part_of(b, BILL_ROUNDING) + part_of(b, BILL_HEADERS);
        case TOPIC_KEPT: return bill_kept_bytes(b);
        case TOPIC_HEAP: return part_of(b, BILL_HEAP);
        case TOPIC_MAPPED: return part_of(b, BILL_MAPPED);
        case TOPIC_STACKS: return part_of(b, BILL_STACKS);
        case TOPIC_FILES: return part_of(b, BILL_CHANGED) + part_of(b, BILL_FILES);
        case TOPIC_SHARED: return part_of(b, BILL_SHARED);
        case TOPIC_RUNTIME: return part_of(b, BILL_RUNTIME);
        case TOPIC_REST: return part_of(b, BILL_REST);
        case TOPIC_N: break;
        }
        return 0;
}

static enum topic largest_topic(const struct bill *b) {
        unsigned best = TOPIC_LIVE;

        for (unsigned t = 1; t < TOPIC_N; t++)
                if (topic_bytes(b, (enum topic)t) > topic_bytes(b, (enum topic)best))
                        best = t;
        return (enum topic)best;
}

static const struct bill_line *first_line(const struct bill *b, enum bill_kind k) {
        return b->parts[k].lines.n ? &b->parts[k].lines.items[0] : NULL;
}

/* ", nearly all through ggc_internal_alloc", if one has most of it. */
static void add_mapped(const struct bill *b, const struct frame_names *n, bool utf8,
                       struct str *to) {
        const struct bill_line *l = first_line(b, BILL_MAPPED);
        uint64_t all = part_of(b, BILL_MAPPED);
        struct str name = {0};
        struct unit_text t;

        if (l)
                bill_add_mapper(n, l, utf8, &name, NULL);
        str_addf(to, "%s were mapped by the program itself", unit_bytes(&t, all));
        if (name.n && l->bytes >= all / 2)
                str_addf(to, ", %s %s %s",
                         l->bytes == all                                      ? "all"
                         : (double)l->bytes >= (double)all * NEARLY_ALL_SHARE ? "nearly all"
                                                                              : "most",
                         l->name[0] ? "through" : "by", str_text(&name));
        else if (name.n)
                str_addf(to, ", %s of it %s %s", unit_bytes(&t, l->bytes),
                         l->name[0] ? "through" : "by", str_text(&name));
        str_done(&name);
}

static void add_named(const char *name, uint64_t bytes, struct str *to) {
        struct unit_text t;

        if (name[0]) {
                str_addf(to, ", %s of it ", unit_bytes(&t, bytes));
                style_add_clean(to, bill_is_dev_zero(name) ? "without a file (/dev/zero)"
                                                           : frame_base(name));
        }
}

static uint64_t bytes_of_name(const struct bill_part *p, const char *name) {
        for (size_t i = 0; i < p->lines.n; i++)
                if (strcmp(p->lines.items[i].name, name) == 0)
                        return p->lines.items[i].bytes;
        return 0;
}

/* The file with most bytes: what of it was written to is in another part than the rest. */
static void add_largest_file(const struct bill *b, struct str *to) {
        static const enum bill_kind kinds[] = {BILL_FILES, BILL_CHANGED};
        const char *name = "";
        uint64_t most = 0;

        for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
                const struct bill_part *p = &b->parts[kinds[k]];
                const struct bill_line *other_first = first_line(b, kinds[!k]);
                uint64_t other_most = other_first ? other_first->bytes : 0;

                for (size_t i = 0; i < p->lines.n; i++) {
                        const struct bill_line *l = &p->lines.items[i];
                        uint64_t sum;

                        if (l->bytes + other_most <= most)
                                break; /* largest first: nor can those behind it */
                        sum = l->bytes + bytes_of_name(&b->parts[kinds[!k]], l->name);
                        if (sum > most) {
                                most = sum;
                                name = l->name;
                        }
                }
        }
        add_named(name, most, to);
}

uint64_t bill_add_largest(const struct bill *b, const struct frame_names *n, bool utf8,
                          struct str *to) {
        enum topic topic = largest_topic(b);
        const struct bill_line *shared = first_line(b, BILL_SHARED);
        struct unit_text t, u;
        const char *bytes = unit_bytes(&t, topic_bytes(b, topic));

        switch (topic) {
        case TOPIC_LIVE: str_addf(to, "%s are live blocks", bytes); break;
        case TOPIC_KEPT: str_addf(to, "%s are free, and kept by the allocator", bytes); break;
        case TOPIC_HEAP: str_addf(to, "%s are heaps and other anonymous memory", bytes); break;
        case TOPIC_MAPPED: add_mapped(b, n, utf8, to); break;
        case TOPIC_STACKS:
                str_addf(to, "%s are thread stacks, of %s reserved", bytes,
                         unit_bytes(&u, b->stack_reserved_bytes));
                break;
        case TOPIC_FILES:
                str_addf(to, "%s are code, data and files", bytes);
                add_largest_file(b, to);
                break;
        case TOPIC_SHARED:
                str_addf(to, "%s are shared memory", bytes);
                if (shared)
                        add_named(shared->name, shared->bytes, to);
                break;
        case TOPIC_RUNTIME: str_addf(to, "%s are silt's own", bytes); break;
        case TOPIC_REST:
        case TOPIC_N: str_addf(to, "%s are not accounted for", bytes); break;
        }
        return topic_bytes(b, topic);
}

/* ---- what to do ------------------------------------------------------------------------------ */

static void add_command(struct str *to, const char *command, const char *path,
                        const char *options) {
        str_addf(to, "'silt %s ", command);
        str_add_shell(to, path);
        str_addf(to, "%s'", options);
}

static void add_advice(const struct bill *b, const struct bill_options *o, struct str *to) {
        const char *path = o->view.path, *recorded = o->recorded;
        struct unit_text t;

        switch (largest_topic(b)) {
        case TOPIC_LIVE:
                if (path) {
                        str_add(to, "; ");
                        add_command(to, "report", path, "");
                        str_add(to, " shows who holds them");
                } else if (recorded) {
                        str_add(to, "; ");
                        add_command(to, "report", recorded, "");
                        str_add(to, " shows who holds those allocated since silt attached");
                } else {
                        str_add(to, "; record it with 'silt attach' to see who holds them");
                }
                break;
        case TOPIC_KEPT:
                if (path) {
                        str_add(to, "; ");
                        add_command(to, "heap", path, "");
                        str_add(to, " draws its pages");
                }
                break;
        case TOPIC_HEAP:
                if (o->is_closed)
                        break;
                str_add(to, path ? "; 'silt run' from its start, or 'silt bill PID' while it runs, "
                                   "tells what is live in it"
                                 : "; record it with 'silt run' to see what is live in it");
                break;
        case TOPIC_MAPPED:
        case TOPIC_STACKS:
        case TOPIC_FILES:
        case TOPIC_SHARED:
                if (b->heap_bytes && !b->lacks_blocks)
                        str_addf(to, "; malloc's blocks are %s",
                                 unit_bytes(&t, part_of(b, BILL_LIVE)));
                break;
        case TOPIC_RUNTIME: str_add(to, "; the program itself is small"); break;
        case TOPIC_REST:
                if (path || recorded)
                        str_add(to, ": silt did not see who mapped them, as with raw system calls");
                else if (!o->is_closed)
                        str_add(to, "; record it with 'silt run' to see who maps it");
                if (b->heap_bytes && !b->lacks_blocks)
                        str_addf(to, "; malloc's blocks are %s",
                                 unit_bytes(&t, part_of(b, BILL_LIVE)));
                break;
        case TOPIC_N: break;
        }
}

void bill_add_sentence(const struct bill *b, const struct frame_names *n,
                       const struct bill_options *o, bool utf8, struct str *to) {
        struct unit_text t;

        str_addf(to, "Resident %s: ", unit_bytes(&t, b->resident_bytes));
        bill_add_largest(b, n, utf8, to);
        add_advice(b, o, to);
        str_add(to, ".");
        if (b->hugetlb_bytes > b->resident_bytes)
                str_addf(to,
                         " Far more, %s, are pages of hugetlbfs, which do not count as resident.",
                         unit_bytes(&t, b->hugetlb_bytes));
}
