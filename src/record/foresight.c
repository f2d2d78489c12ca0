/* SPDX-License-Identifier: MIT */
#include "record/foresight.h"

#include <stdio.h>
#include <stdlib.h>

#include "patch/survey.h"

struct foresight {
        const struct run_options *options;
        const char *path; /* of the program that is really entered */
        const char *name; /* as the user knows it */
        uint32_t machine;
        struct survey_work *work;
};

struct foresight *foresight_begin(const struct run_options *o,
                                  const struct checked_program *program) {
        struct foresight *f;

        if (o->launcher || o->no_patch)
                return NULL;
        f = calloc(1, sizeof(*f));
        if (!f)
                abort();
        f->options = o;
        f->path = program->interpreter[0] ? program->interpreter : program->path;
        f->name = program->interpreter[0] ? program->interpreter : o->argv[0];
        f->machine = program->machine;
        f->work = survey_begin(f->path, program->loader, o->quiet);
        return f;
}

/* Of an allocator inside the program that cannot be hooked is said before it runs: afterwards the report only looks
 * empty. */
static void warn(const struct foresight *f, const struct survey_allocator *a) {
        const char *program = f->options->argv[0];

        if (a->n_refused)
                fprintf(stderr,
                        "silt: '%s': cannot hook all of %s linked into it (%s): see 'silt doctor %s'\n",
                        f->name, a->name, a->why, program);
        if (a->is_nameless && !f->options->n_hooks)
                fprintf(stderr,
                        "silt: '%s': cannot see what %s%s%s allocates, which is linked into it without symbols: see 'silt doctor %s'\n",
                        f->name, a->name, a->version[0] ? " " : "", a->version, program);
}

void foresight_end(struct foresight *f, struct known_files *memory) {
        struct survey survey;

        if (!f)
                return;
        if (survey_end(f->work, f->machine, memory, &survey, NULL) == 0)
                for (size_t i = 0; !f->options->quiet && i < survey.allocators.n; i++)
                        warn(f, &survey.allocators.items[i]);
        survey_done(&survey);
        free(f);
}
