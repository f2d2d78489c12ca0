/* SPDX-License-Identifier: MIT */
/* fragmentation: memory that is free and still resident, where looks at the process's memory show it, with whose blocks keep it. At the moment at which
 * the allocator kept most. */
#include <ctype.h>
#include <string.h>

#include "finding/rules.h"
#include "resident/fragmentation.h"
#include "resident/resident_bytes.h"

enum {
        MAX_LOOKS = 200, /* of more, evenly spread ones are read */
        NAMELESS_MIN_BYTES = 32 << 20,
        NAMELESS_MIN_NS = 1000000000,
};

static uint64_t key_of_stack(void *ctx, uint32_t stack) {
        struct facts *f = ctx;
        uint64_t h = 0xcbf29ce484222325ull;
        struct name_frame frame;
        bool is_task;

        frame = place_of_stack(f, stack, &is_task);
        if (!frame.function[0])
                return stack;
        for (const char *p = frame.function; *p; p++)
                h = (h ^ (unsigned char)*p) * 0x100000001b3ull;
        return h;
}

struct worst {
        struct fragmentation f;
        uint64_t time_ns;
        bool is_known;
};

/* Free memory that nobody keeps goes with the next trim: worth a word only where it is much, and not of a process that frees all it has and ends. */
static bool is_worth_a_word(const struct facts *f, const struct fragmentation *x,
                            const struct trace_bill *info) {
        const struct trace_process_info *p = &query_view(f->q)->processes[info->process];

        return x->stack || (fragmentation_kept_bytes(x) >= NAMELESS_MIN_BYTES &&
                            !(p->has_end && p->end.end_ns < info->time_ns + NAMELESS_MIN_NS));
}

static void look_at(struct facts *f, size_t bill_idx, struct worst *w) {
        const struct query_scope *scope = &f->source->answer->scope;
        struct fragmentation_keys keys = {key_of_stack, f};
        struct fragmentation x;
        struct trace_bill info = {0};
        struct resident r = {0};
        bytes_buf bytes = {0};
        struct err err = {0};
        int y = query_read_bill(f->q, bill_idx, &info, &bytes, &err);

        if (y >= 0)
                y = resident_decode(&r, bytes.items, bytes.n, &err);
        vec_free(&bytes);
        if (y < 0)
                return;
        if (info.time_ns >= scope->from_ns && info.time_ns <= scope->to_ns) {
                x = fragmentation_of(&r, &keys);
                if (x.stack < query_view(f->q)->n_stacks && fragmentation_is_material(&x) &&
                    is_worth_a_word(f, &x, &info) &&
                    (!w->is_known ||
                     fragmentation_kept_bytes(&x) > fragmentation_kept_bytes(&w->f))) {
                        x.allocator = arena_strdup(f->arena, x.allocator);
                        *w = (struct worst){x, info.time_ns, true};
                }
        }
        resident_done(&r);
}

static struct worst find_worst(struct facts *f, uint32_t process) {
        size_t n = query_n_bills(f->q), step = n / MAX_LOOKS + 1;
        struct worst w = {0};

        for (size_t i = 0; i < n; i++)
                if (query_bill(f->q, i)->process == process &&
                    (step == 1 || i % step == 0 || i + 1 == n))
                        look_at(f, i, &w);
        return w;
}

static void tell(struct facts *f, const struct worst *w) {
        uint32_t row = w->f.stack ? facts_row_of_stack(f, w->f.stack) : FACTS_NO_ROW;
        double kept = (double)fragmentation_kept_bytes(&w->f);
        struct str text = {0}, place = {0}, words = {0};
        struct name_frame frame = {.function = "", .file = "", .module = ""};
        const char *function = "";
        bool is_task = false;
        struct finding *x;

        if (w->f.stack) {
                frame = place_of_stack(f, w->f.stack, &is_task);
                function = place_name(f, &frame, is_task);
        }
        if (frame.file[0]) {
                const char *slash = strrchr(frame.file, '/');

                str_addf(&place, "%s:%u", slash ? slash + 1 : frame.file, frame.line);
        }
        fragmentation_add_words(&w->f, function, str_text(&place), &words);
        str_addf(&text, "At %s, %c%s", say_moment(f, (double)w->time_ns / 1e9),
                 tolower(str_text(&words)[0]), str_text(&words) + 1);
        if (row != FACTS_NO_ROW)
                x = found(f, "fragmentation", kept, row, QUERY_PEAK);
        else
                x = found_about_none(f, "fragmentation", "");
        x->bytes = unit_nearest(kept);
        x->function = function;
        x->text = arena_strdup(f->arena, str_text(&text));
        if (row != FACTS_NO_ROW)
                x->next = next_callers(f, &frame, QUERY_PEAK);
        found_number(x, "at_s", (double)w->time_ns / 1e9);
        found_number(x, "resident_bytes", (double)w->f.resident_bytes);
        found_number(x, "live_bytes", (double)w->f.live_bytes);
        found_number(x, "free_between_bytes", (double)w->f.between_bytes);
        found_number(x, "free_pages_bytes", (double)w->f.empty_bytes);
        found_number(x, "pinned_pages", (double)w->f.n_pinned_pages);
        found_number(x, "site_pages", (double)w->f.n_pages);
        found_number(x, "site_kept_bytes", (double)w->f.kept_bytes);
        str_done(&words);
        str_done(&text);
        str_done(&place);
}

void find_fragmentation(struct facts *f) {
        const struct query_scope *scope = &f->source->answer->scope;
        uint32_t process = scope->process;
        struct worst w;

        if (process == QUERY_ALL && query_view(f->q)->n_processes == 1)
                process = 0;
        if (process == QUERY_ALL || !query_filter_is_empty(scope->filter))
                return;
        w = find_worst(f, process);
        if (w.is_known)
                tell(f, &w);
}
