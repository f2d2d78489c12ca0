/* SPDX-License-Identifier: MIT */
#include "record/unseen_programs.h"

#include <stdio.h>
#include <string.h>

#include "record/control.h"
#include "record/recorder_state.h"
#include "wire/record.h"

static const char *unseen_why(unsigned why) {
        static const char *const words[WIRE_UNSEEN_N] = {
                [WIRE_UNSEEN_NONE] = "too many such programs to name each",
                [WIRE_UNSEEN_STATIC] = "it is a static executable",
                [WIRE_UNSEEN_PRIVILEGED] =
                        "it is set-user-id or set-group-id, so the loader does not preload libraries",
                [WIRE_UNSEEN_LOADER] = "its loader is not glibc's (musl)",
                [WIRE_UNSEEN_MACHINE] = "it is built for another architecture",
                [WIRE_UNSEEN_ROOT] = "it cannot read silt's library",
        };

        return words[why];
}

static struct unseen_program *unseen_find(struct unseen *u, unsigned why, const char *path) {
        struct unseen_program *x;

        for (uint32_t i = 0; i < u->n_programs; i++)
                if (u->programs[i].why == why && strcmp(u->programs[i].path, path) == 0)
                        return &u->programs[i];
        if (u->n_programs == UNSEEN_MAX_PROGRAMS)
                return &u->programs[UNSEEN_MAX_PROGRAMS];
        x = &u->programs[u->n_programs++];
        x->why = why;
        snprintf(x->path, sizeof(x->path), "%s", path);
        return x;
}

/* Notes of one program add up. */
static void unseen_note(struct recorder *r, struct unseen_program *x) {
        uint64_t n = x->n - x->n_noted;

        if (x->n <= x->n_noted)
                return;
        recorder_note(r, "not seen: %llu process%s of '%s': %s", (unsigned long long)n,
                      n == 1 ? "" : "es", x->path, unseen_why(x->why));
        x->n_noted = x->n;
}

/* The recorder may not live to tell the rest. Those before the program at hand were run: had it failed, that came next. */
static void unseen_note_new(struct recorder *r) {
        for (uint32_t i = 0; i < r->unseen.n_programs; i++)
                if (r->unseen.programs[i].n_noted == 0)
                        unseen_note(r, &r->unseen.programs[i]);
}

static void unseen_add(struct recorder *r, unsigned why, const char *path) {
        struct unseen *u = &r->unseen;
        struct unseen_program *x = unseen_find(u, why & ~(unsigned)WIRE_UNSEEN_NOT, path);

        if (why & WIRE_UNSEEN_NOT) {
                x->n -= x->n > 0;
                u->n -= u->n > 0;
                return;
        }
        unseen_note_new(r);
        x->n++;
        u->n++;
}

void unseen_note_rest(struct recorder *r) {
        for (uint32_t i = 0; i <= UNSEEN_MAX_PROGRAMS; i++)
                unseen_note(r, &r->unseen.programs[i]);
}

void unseen_tell(const struct unseen *u, struct control_message *m) {
        const struct unseen_program *most = NULL;

        for (uint32_t i = 0; i < u->n_programs; i++)
                if (u->programs[i].n && (!most || u->programs[i].n > most->n))
                        most = &u->programs[i];
        m->n_unseen = u->n;
        if (most)
                snprintf(m->unseen, sizeof(m->unseen), "'%.100s': %s%s", most->path,
                         unseen_why(most->why),
                         most->n < u->n ? "; the report lists the others" : "");
}

void unseen_on_program(void *recorder, uint32_t process_idx, uint32_t pid, unsigned why,
                       const char *path) {
        struct recorder *r = recorder;
        struct image *one = images_find_idx(&r->images, process_idx);

        recorder_log(r, "pid %u: runs '%s', not seen (%u)", pid, path, why);
        if (one && (pid_t)pid == one->said_pid)
                one->runs_unseen = !(why & WIRE_UNSEEN_NOT);
        unseen_add(r, why, path);
}
