/* SPDX-License-Identifier: MIT */
#include "report/finding_text.h"

#include "show/opened.h"

#include <string.h>

#include "base/units.h"
#include "query/spent_time.h"
#include "report/finding_holders.h"
#include "report/limit_lines.h"
#include "show/frame.h"
#include "show/stack_text.h"

enum {
        FOUND_MAX = FINDING_MAX + FINDING_MAX_TIME,
        FOUND_INDENT = 4,
        FOUND_CALLERS = 3, /* told of a site */
};

/* How a kind is told. */
enum found_part {
        FOUND_NUMBERED,
        FOUND_DOUBT, /* about the recording, not the program */
        FOUND_LIMIT, /* the same, and told before anything else (report/limit_lines.h) */
};

static enum found_part part_of(const struct finding *f) {
        if (strcmp(f->kind, "lost") == 0 || strcmp(f->kind, "unseen") == 0)
                return FOUND_LIMIT;
        if (strcmp(f->kind, "incomplete-stacks") == 0)
                return FOUND_DOUBT;
        return FOUND_NUMBERED;
}

/* ---- one finding ----------------------------------------------------------------------------- */

static void add_frame(const struct style *s, const struct report *r, const struct frame_stack *x,
                      size_t i, const char **module, struct str *to) {
        const struct name_frame *f = &x->frames.items[x->shown.items[i].frame_idx];
        struct str place = {0};

        frame_add_next(to, &r->frames, f, x->shown.items[i].is_task, s->utf8, module);
        if (f->file[0])
                frame_add_place(&place, f, false);
        if (place.n)
                str_addf(to, "  %s", str_text(&place));
        str_done(&place);
}

/* The lead is dim, and so is what stands behind it unless that matters. */
static void print_cut(const struct style *s, const char *lead, struct str *text, bool matters) {
        struct str line = {0};

        str_pad(&line, ' ', FOUND_INDENT);
        str_addf(&line, "%s%s%s", s->dim, lead, matters ? s->plain : "");
        style_add_cut(s, &line, str_text(text), s->width - FOUND_INDENT - str_width(lead));
        fprintf(s->out, "%s%s\n", str_text(&line), matters ? "" : s->plain);
        str_done(&line);
        str_clear(text);
}

/* Frames [begin, end) of those shown, as many as one line has room for, the first of them in any case. */
static void print_frames(const struct style *s, const struct report *r, const struct frame_stack *x,
                         size_t begin, size_t end, const char *lead, const char **module) {
        struct str text = {0}, more = {0};

        for (size_t i = begin; i < end && i < begin + FOUND_CALLERS; i++) {
                str_clear(&more);
                if (i > begin)
                        str_add(&more, s->utf8 ? " ← " : " < ");
                add_frame(s, r, x, i, module, &more);
                if (i > begin && str_width(str_text(&text)) + str_width(str_text(&more)) >
                                         s->width - FOUND_INDENT - strlen(lead))
                        break;
                str_add(&text, str_text(&more));
        }
        if (text.n)
                print_cut(s, lead, &text, false);
        str_done(&text);
        str_done(&more);
}

/* The frame that the text is about: mostly the code that asked, or one that calls it. */
static size_t find_told(const struct report *r, const struct finding *f,
                        const struct frame_stack *x) {
        size_t at = 0;
        bool is_found = false;

        for (size_t i = 0; i < x->shown.n && !is_found && f->function[0]; i++) {
                struct str name = {0};

                frame_add_function(&name, &r->frames, &x->frames.items[x->shown.items[i].frame_idx],
                                   x->shown.items[i].is_task, false, false);
                is_found = strcmp(str_text(&name), f->function) == 0;
                at = is_found ? i : at;
                str_done(&name);
        }
        return at;
}

static void print_site(const struct style *s, const struct report *r, const struct finding *f) {
        struct frame_stack x = {0};
        struct str text = {0}, via = {0};
        const char *module = NULL;
        size_t told;

        frame_stack_fill(&x, &r->frames, f->site.stack, f->is_time);
        if (x.shown.n) {
                told = find_told(r, f, &x);
                add_frame(s, r, &x, told, &module, &text);
                if (told == 0 && !f->is_time)
                        stack_add_via(s, &r->frames, f->site.stack,
                                      report_has_parts(r, f->site.stack), &via);
                if (via.n && str_width(str_text(&text)) + 2 + str_width(str_text(&via)) <=
                                     s->width - FOUND_INDENT - strlen("in "))
                        str_addf(&text, "  %s", str_text(&via));
                print_cut(s, "in ", &text, true);
                print_frames(s, r, &x, 0, told, "mostly through ", &module);
                print_frames(s, r, &x, told + 1, x.shown.n, "called by ", &module);
        }
        str_done(&text);
        str_done(&via);
        frame_stack_done(&x);
}

static void print_holder(const struct style *s, const char *holder) {
        struct str text = {0};

        if (!holder)
                return;
        str_add(&text, holder);
        print_cut(s, "held by ", &text, true);
        str_done(&text);
}

/* The number of the finding before this one that is about the same place; 0: none. */
static size_t same_place(const struct report *r, const size_t *order, size_t n) {
        const struct finding *f = &r->findings->items[order[n]];

        for (size_t i = 0; i < n; i++) {
                const struct finding *before = &r->findings->items[order[i]];

                if (before->has_site && before->site.stack == f->site.stack)
                        return i + 1;
        }
        return 0;
}

/* Bytes of the next word of a command: quotes hold together, and so do an option and its value. */
static size_t word_len(const char *text) {
        size_t n = 0;

        for (bool is_quoted = false; text[n] && (is_quoted || text[n] != ' '); n++)
                is_quoted ^= text[n] == '\'';
        if (text[0] == '-' && text[n] == ' ' && text[n + 1] != '-' && text[n + 1] != ' ')
                n += 1 + word_len(text + n + 1);
        return n;
}

/* A command that is broken into lines can still be copied. */
static void print_command(const struct style *s, const char *command, size_t indent) {
        size_t at = indent;

        while (*command) {
                size_t n = word_len(command), width = style_width_n(command, n);

                if (at > indent && at + 1 + width + 2 > s->width) {
                        fprintf(s->out, " \\\n%*s", (int)indent + 2, "");
                        at = indent + 2;
                } else if (at > indent) {
                        fputc(' ', s->out);
                        at++;
                }
                fwrite(command, 1, n, s->out);
                at += width;
                command += n;
                command += *command == ' ';
        }
        fputc('\n', s->out);
}

/* All of its words fit a line. */
static bool is_breakable(const struct style *s, const char *command, size_t indent) {
        if (strncmp(command, "silt ", 5) != 0)
                return false;
        while (*command) {
                size_t n = word_len(command);

                if (indent + 2 + style_width_n(command, n) + 2 > s->width)
                        return false;
                command += n;
                command += *command == ' ';
        }
        return true;
}

static void print_next(const struct style *s, const struct report *r, const struct finding *f) {
        size_t indent = FOUND_INDENT + strlen("Next: ");
        struct str clean = {0}, next = {0};

        opened_add_step(f->next, r->options->path, &next);
        style_add_clean(&clean, str_text(&next));
        str_done(&next);
        fprintf(s->out, "%*s%sNext:%s ", FOUND_INDENT, "", s->dim, s->plain);
        if (is_breakable(s, str_text(&clean), indent))
                print_command(s, str_text(&clean), indent);
        else
                style_wrap(s, str_text(&clean), indent);
        str_done(&clean);
}

static void print_finding(const struct style *s, const struct report *r, const size_t *order,
                          size_t n, const struct finding_holders *holders) {
        static const char *const tags[] = {[FINDING_PROBLEM] = "problem",
                                           [FINDING_WORTH_KNOWING] = "worth knowing",
                                           [FINDING_NOTE] = "note"};
        const struct finding *f = &r->findings->items[order[n]];
        struct str text = {0};
        size_t before;

        fprintf(s->out, "%s%2zu.%s ", s->bold, n + 1, s->plain);
        str_addf(&text, "[%s] %s", tags[f->severity], f->text);
        style_wrap(s, str_text(&text), FOUND_INDENT);
        str_done(&text);
        before = f->has_site ? same_place(r, order, n) : 0;
        if (before)
                fprintf(s->out, "%*s%sin the same place as %zu%s\n", FOUND_INDENT, "", s->dim,
                        before, s->plain);
        else if (f->has_site)
                print_site(s, r, f);
        if (!before)
                print_holder(s, holders->of[order[n]]);
        if (f->next)
                print_next(s, r, f);
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* The honest sentence where nothing is to be said. */
static void print_nothing(const struct style *s, const struct report *r) {
        const struct query_totals *t = &r->answer->totals;
        struct unit_text a, b;
        struct str text = {0};

        if (t->n_allocs == 0 || t->lacks_blocks || report_is_filtered(r) || report_is_windowed(r))
                return; /* without blocks nobody looked for anything */
        str_addf(&text, "Nothing to worry about: ");
        if (t->end_bytes)
                str_addf(&text, "%s %s left at the end, after a peak of %s",
                         unit_bytes(&a, t->end_bytes), t->end_bytes == 1 ? "was" : "were",
                         unit_bytes(&b, t->peak_bytes));
        else
                str_addf(&text, "nothing was left at the end, after a peak of %s",
                         unit_bytes(&b, t->peak_bytes));
        if (t->lacks_events)
                str_add(&text, ", and no other pattern was found in the totals.");
        else
                str_addf(&text,
                         ", %s of %s allocation%s %s temporary, and no other pattern was found.",
                         unit_count(&a, t->n_temporary), unit_count(&b, t->n_allocs),
                         t->n_allocs == 1 ? "" : "s",
                         t->n_temporary == 1 || t->n_allocs == 1 ? "was" : "were");
        fputc('\n', s->out);
        style_wrap(s, str_text(&text), 0);
        str_done(&text);
}

void finding_text_print(const struct style *s, const struct report *r) {
        size_t order[FOUND_MAX], n = 0, n_worries = 0, n_doubts = 0;
        bool is_all_seen = !limits_are_material(r);
        struct finding_holders holders;

        for (size_t i = 0; i < r->findings->n && n < FOUND_MAX; i++)
                if (part_of(&r->findings->items[i]) == FOUND_NUMBERED &&
                    (r->findings->items[i].is_time || !query_metric_time(r->metric))) {
                        order[n++] = i;
                        n_worries += finding_is_worry(&r->findings->items[i]);
                }
        if (n)
                style_heading(s, !is_all_seen ? "Findings in what silt saw"
                                 : n_worries  ? "Findings"
                                              : "Findings: nothing to worry about");
        else if (is_all_seen && !query_metric_time(r->metric))
                print_nothing(s, r);
        finding_holders_find(&holders, r, s->utf8);
        for (size_t i = 0; i < n; i++)
                print_finding(s, r, order, i, &holders);
        finding_holders_done(&holders);
        for (size_t i = 0; i < r->findings->n; i++) {
                if (part_of(&r->findings->items[i]) != FOUND_DOUBT || limits_have_cut_stacks(r))
                        continue;
                if (n_doubts++ == 0)
                        fputc('\n', s->out);
                fprintf(s->out, "  %s!%s ", s->alarm, s->plain);
                style_wrap(s, r->findings->items[i].text, FOUND_INDENT);
        }
}
