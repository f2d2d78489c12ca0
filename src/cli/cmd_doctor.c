/* SPDX-License-Identifier: MIT */
/* silt doctor: what silt would see of a program, said before a run. Nothing is started or changed. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/macros.h"
#include "cli/commands.h"
#include "cli/help_doctor.h"
#include "cli/machine.h"
#include "patch/survey.h"
#include "record/entry.h"
#include "record/front.h"

static const struct cli_command doctor_command = {
        .name = "doctor",
        .help_text = doctor_help_text,
        .options = doctor_option_table,
        .n_options = ARRAY_SIZE(doctor_option_table),
        .usage_exit_status = EXIT_STATUS_TROUBLE,
};

struct doctor {
        const char *subject; /* program or pid as given; NULL: the machine alone */
        bool quiet;
        bool found;   /* something stands in the way */
        bool trouble; /* the subject could not be examined */
};

enum finding { FINDING_OK, FINDING_NOTE, FINDING_STOP };

__attribute__((format(printf, 4, 5))) static void say(struct doctor *d, enum finding finding,
                                                      const char *what, const char *fmt, ...) {
        static const char *const words[] = {"ok", "note", "stop"};
        va_list ap;

        d->found = d->found || finding == FINDING_STOP;
        if (d->quiet && finding != FINDING_STOP)
                return;
        printf("%-5s %-10s ", words[finding], what);
        va_start(ap, fmt);
        vprintf(fmt, ap);
        va_end(ap);
        putchar('\n');
}

static void examine_machine(struct doctor *d, const char *runtime_path) {
        int fd = memfd_create("silt-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING);

        say(d, FINDING_OK, "runtime", "%s", runtime_path);
        if (fd < 0) {
                say(d, FINDING_STOP, "kernel",
                    "no memory files (memfd_create: %s): allow the call in your sandbox",
                    strerror(errno));
                return;
        }
        close(fd);
        say(d, FINDING_OK, "kernel", "shared memory files can be made and sealed");
        say(d, FINDING_OK, "memory",
            "at most 4 MiB in a program of one thread, 64 MiB in one of 1,000; the recorder 200 MB and 64 bytes per live block");
}

static void tell_allocator(struct doctor *d, const struct survey_allocator *a) {
        uint32_t n = a->n_hookable + a->n_refused;

        if (!a->n_refused)
                say(d, FINDING_OK, "allocator",
                    "%s is inside the program: its %" PRIu32 " functions will be hooked", a->name,
                    n);
        else
                say(d, FINDING_STOP, "allocator",
                    "%s is inside the program, and %" PRIu32 " of its %" PRIu32
                    " functions cannot be hooked (%s): blocks will be missing",
                    a->name, a->n_refused, n, a->why);
}

static void examine_allocators(struct doctor *d, const char *path) {
        struct err err = {0};
        struct survey survey;

        if (survey_make(path, OWN_MACHINE, &survey, &err) < 0) {
                say(d, FINDING_NOTE, "allocator", "%s", err.text);
                return;
        }
        for (size_t i = 0; i < survey.allocators.n; i++)
                tell_allocator(d, &survey.allocators.items[i]);
        if (!survey.allocators.n)
                say(d, FINDING_OK, "allocator",
                    "none inside the program: malloc is called through the loader");
        if (survey.has_symbol_table)
                say(d, FINDING_OK, "symbols", "the program has a symbol table");
        else
                say(d, FINDING_NOTE, "symbols",
                    "the program is stripped: only exported functions have names: install its debug symbols");
        survey_done(&survey);
}

static void examine_program(struct doctor *d, const char *name) {
        struct err err = {0};
        struct entry entry;

        switch (entry_check(name, OWN_MACHINE, &entry, &err)) {
        case ENTRY_OK: break;
        case ENTRY_REFUSED: say(d, FINDING_STOP, "program", "%s", err.text); return;
        case ENTRY_NOT_FOUND:
        case ENTRY_NOT_EXECUTABLE:
                fprintf(stderr, "silt: doctor: %s\n", err.text);
                d->trouble = true;
                return;
        }
        if (entry.interpreter[0])
                say(d, FINDING_OK, "program", "%s, run by %s", entry.path, entry.interpreter);
        else
                say(d, FINDING_OK, "program", "%s", entry.path);
        examine_allocators(d, entry.interpreter[0] ? entry.interpreter : entry.path);
}

/* Whether a library of that name is mapped in the process. */
static bool process_maps(pid_t pid, const char *library) {
        char path[64], line[PATH_MAX + 128];
        bool found = false;
        FILE *maps;

        snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
        maps = fopen(path, "re");
        if (!maps)
                return false;
        while (!found && fgets(line, sizeof(line), maps))
                found = strstr(line, library) != NULL;
        fclose(maps);
        return found;
}

static void examine_process(struct doctor *d, pid_t pid) {
        char link[64], path[PATH_MAX];
        ssize_t n;

        snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
        n = readlink(link, path, sizeof(path) - 1);
        if (n < 0) {
                fprintf(stderr, "silt: doctor: process %d: %s: %s\n", (int)pid, strerror(errno),
                        errno == EACCES ? "run silt as its owner or as root" : "check the number");
                d->trouble = true;
                return;
        }
        path[n] = 0;
        if (process_maps(pid, "libsilt.so"))
                say(d, FINDING_NOTE, "process", "%d is being recorded already", (int)pid);
        else
                say(d, FINDING_OK, "process", "%d runs the program below", (int)pid);
        examine_program(d, path);
}

/* A number is a process unless a file of that name lies here. */
static bool is_pid(const char *text, pid_t *ret_pid) {
        char *end;
        long n;

        if (text[0] < '0' || text[0] > '9' || access(text, F_OK) == 0)
                return false;
        errno = 0;
        n = strtol(text, &end, 10);
        if (*end || errno || n <= 0 || n > INT_MAX)
                return false;
        *ret_pid = (pid_t)n;
        return true;
}

static void take_option(struct doctor *d, enum doctor_option option) {
        switch (option) {
        case DOCTOR_QUIET: d->quiet = true; break;
        case DOCTOR_OPTION_NONE: break;
        }
}

/* False when silt is to end with p->exit_status. */
static bool parse(struct cli_parser *p, struct doctor *d) {
        int id;

        while ((id = cli_parser_next(p)) != CLI_END) {
                if (id == CLI_STOP)
                        return false;
                if (id != CLI_OPERAND) {
                        take_option(d, (enum doctor_option)id);
                } else if (d->subject) {
                        cli_parser_error(p, "one program at a time: leave out '%s'", p->value);
                        return false;
                } else {
                        d->subject = p->value;
                }
        }
        return true;
}

int cmd_doctor(int argc, char **argv) {
        struct doctor d = {0};
        char runtime_path[PATH_MAX];
        struct err err = {0};
        struct cli_parser p;
        pid_t pid;

        cli_parser_init(&p, &doctor_command, argc, argv);
        if (!parse(&p, &d))
                return p.exit_status;
        if (front_find_runtime(runtime_path, sizeof(runtime_path), &err) < 0) {
                say(&d, FINDING_STOP, "runtime", "%s", err.text);
                return EXIT_STATUS_FOUND;
        }
        examine_machine(&d, runtime_path);
        if (d.subject && is_pid(d.subject, &pid))
                examine_process(&d, pid);
        else if (d.subject)
                examine_program(&d, d.subject);
        if (d.trouble)
                return EXIT_STATUS_TROUBLE;
        return d.found ? EXIT_STATUS_FOUND : EXIT_STATUS_OK;
}
