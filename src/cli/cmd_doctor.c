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
#include "cli/own_machine.h"
#include "patch/survey.h"
#include "record/program_check.h"
#include "record/supervisor.h"
#include "show/style.h"

static const struct cli_command doctor_command = {
        .name = "doctor",
        .help_text = doctor_help_text,
        .options = doctor_option_table,
        .n_options = ARRAY_SIZE(doctor_option_table),
        .usage_exit_status = EXIT_STATUS_TROUBLE,
};

struct doctor {
        const char *subject; /* program or pid as given; NULL: the machine alone */
        FILE *lines;         /* what was found, kept until the sentence above it is known */
        bool quiet;
        bool trouble; /* the subject could not be examined */
        bool refused; /* silt cannot enter it */
        bool process; /* the subject is one */
        unsigned n_notes, n_stops;
};

enum finding { FINDING_OK, FINDING_NOTE, FINDING_STOP };
enum { FINDING_CELLS = 17 }; /* of what stands before its words */

__attribute__((format(printf, 4, 5))) static void say(struct doctor *d, enum finding finding,
                                                      const char *what, const char *fmt, ...) {
        static const char *const words[] = {"ok", "note", "stop"};
        _cleanup_free_ char *said = NULL; /* with names of a file's */
        struct str clean = {0};
        va_list ap;

        d->n_notes += finding == FINDING_NOTE;
        d->n_stops += finding == FINDING_STOP;
        if (d->quiet && finding != FINDING_STOP)
                return;
        va_start(ap, fmt);
        if (vasprintf(&said, fmt, ap) < 0)
                abort();
        va_end(ap);
        style_add_clean(&clean, said);
        fprintf(d->lines, "%-5s %-10s %s\n", words[finding], what, str_text(&clean));
        str_done(&clean);
}

/* The sentence that comes first. */
static void tell_verdict(const struct doctor *d) {
        _cleanup_(str_done) struct str clean = {0};
        const char *subject;

        if (d->quiet || d->trouble)
                return;
        style_add_clean(&clean, d->subject ? d->subject : "programs on this machine");
        subject = str_text(&clean);
        if (d->process)
                printf("Process %s runs a program that silt %s record", subject,
                       d->refused ? "cannot" : "can");
        else if (d->refused || (d->n_stops && !d->subject))
                printf("silt cannot record %s", subject);
        else
                printf("silt can record %s", subject);
        if (d->n_stops && !d->refused && d->subject)
                printf(", but would miss some of its allocations");
        if (d->n_stops + d->n_notes)
                printf(": see %s below", d->n_stops ? "stop" : "note");
        putchar('\n');
}

static void examine_machine(struct doctor *d, const char *runtime_path) {
        int fd = memfd_create("silt-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING);

        say(d, FINDING_OK, "runtime", "%s", runtime_path);
        if (fd < 0) {
                say(d, FINDING_STOP, "kernel",
                    "memfd_create failed: %s: allow the call in your sandbox", strerror(errno));
                return;
        }
        close(fd);
        say(d, FINDING_OK, "kernel", "shared memory can be created and sealed");
        say(d, FINDING_OK, "memory",
            "at most 4 MiB in a program with one thread, 64 MiB with 1,000; the recorder takes 190 MiB plus 64 bytes per live block");
}

/* "the debug file of build-id 1f…", or how to go without one. */
static void tell_remedy(const struct imprint *i, char *ret, size_t cap) {
        char id[2 * sizeof(i->build_id) + 1] = "";

        for (uint32_t k = 0; k < i->build_id_bytes; k++)
                snprintf(id + 2 * k, 3, "%02x", i->build_id[k]);
        if (id[0])
                snprintf(ret, cap,
                         "install the debug file of build-id %s, or keep the symbols (strip -g)",
                         id);
        else
                snprintf(ret, cap, "build it with symbols (strip -g keeps them)");
}

static void tell_nameless(struct doctor *d, const char *name, const struct imprint *i) {
        char remedy[192];

        tell_remedy(i, remedy, sizeof(remedy));
        say(d, FINDING_STOP, "allocator",
            "%s is linked into the program, but its functions have no symbols: silt will not see what it allocates: %s, or give their addresses (silt run --hook)",
            name, remedy);
}

/* What a program has of C or C++ itself is nobody's product. */
static bool is_own_function(const char *name) {
        return !strcmp(name, "malloc") || !strcmp(name, "operator new");
}

static void tell_allocator(struct doctor *d, const struct survey_allocator *a,
                           const struct imprint *i) {
        uint32_t n = a->n_hookable + a->n_refused;
        char name[64];

        snprintf(name, sizeof(name), "%s%s%s%s", a->name,
                 is_own_function(a->name) ? " of its own" : "", a->version[0] ? " " : "",
                 a->version);
        if (a->is_nameless)
                tell_nameless(d, name, i);
        else if (!a->n_refused && a->is_exported_only)
                say(d, FINDING_NOTE, "allocator",
                    "%s is linked into the program: silt will hook the %" PRIu32
                    " functions it exports, but not those without symbols (see symbols)",
                    name, n);
        else if (!a->n_refused)
                say(d, FINDING_OK, "allocator",
                    "%s is linked into the program: silt will hook its %" PRIu32 " function%s",
                    name, n, n == 1 ? "" : "s");
        else
                say(d, FINDING_STOP, "allocator",
                    "%s is linked into the program, but silt cannot hook %" PRIu32
                    " of its %" PRIu32
                    " functions (%s) and will miss what they allocate: build with other flags, or link the allocator as a shared library",
                    name, a->n_refused, n, a->why);
}

/* Heaps that are nobody's malloc, and what is no heap of the program's. */
static void tell_runtime(struct doctor *d, const struct imprint *i) {
        const char *sanitizer = imprint_sanitizer(i);

        if (sanitizer)
                say(d, FINDING_NOTE, "sanitizer",
                    "%s has its own malloc: silt counts the program's requests exactly, but the memory it adds (red zones, quarantined blocks, shadow memory) shows only as resident memory: record a build without it to see the program's own memory",
                    sanitizer);
        if (i->marks & IMPRINT_GO)
                say(d, FINDING_NOTE, "heap",
                    "this is a Go program: silt sees the C code it calls, but not Go's garbage-collected heap: use Go's own profiler (net/http/pprof)");
        if (i->marks & IMPRINT_PYTHON)
                say(d, FINDING_NOTE, "heap",
                    "Python keeps objects of up to 512 bytes in its own arenas, which silt sees as mappings: set PYTHONMALLOC=malloc to see each object");
}

static void tell_symbols(struct doctor *d, const struct survey *survey, bool is_remedy_told) {
        char remedy[192] = "see allocator";

        if (survey->has_symbol_table) {
                say(d, FINDING_OK, "symbols", "the program has a symbol table");
                return;
        }
        if (!is_remedy_told)
                tell_remedy(&survey->imprint, remedy, sizeof(remedy));
        say(d, FINDING_NOTE, "symbols",
            "the program is stripped, so only exported functions have names: %s", remedy);
}

static void examine_allocators(struct doctor *d, const char *path) {
        bool is_remedy_told = false;
        struct err err = {0};
        struct survey survey;

        if (survey_make(path, OWN_MACHINE, &survey, &err) < 0) {
                say(d, FINDING_NOTE, "allocator", "%s", err.text);
                return;
        }
        for (size_t i = 0; i < survey.allocators.n; i++) {
                tell_allocator(d, &survey.allocators.items[i], &survey.imprint);
                is_remedy_told |= survey.allocators.items[i].is_nameless;
        }
        if (survey.imprint.library[0])
                say(d, FINDING_OK, "allocator",
                    "%s is a shared library: silt will hook its functions", survey.imprint.library);
        else if (!survey.allocators.n)
                say(d, FINDING_OK, "allocator",
                    "none is linked into the program: it calls malloc through the loader");
        tell_runtime(d, &survey.imprint);
        tell_symbols(d, &survey, is_remedy_told);
        survey_done(&survey);
}

/* What to do about a static program depends on what is inside. */
static void tell_static(struct doctor *d, const struct imprint *i) {
        if (i->marks & IMPRINT_GO)
                say(d, FINDING_NOTE, "heap",
                    "this is a Go program: its garbage-collected heap does not use malloc: use Go's own profiler (net/http/pprof)");
        else if (i->marks & IMPRINT_MUSL)
                say(d, FINDING_NOTE, "library",
                    "musl and its malloc are linked into the program: build it against glibc and link it dynamically (for Rust: the target …-linux-gnu)");
        else if (i->marks & IMPRINT_GLIBC)
                say(d, FINDING_NOTE, "library",
                    "glibc and its malloc are linked into the program: build it without -static");
}

static void examine_refused(struct doctor *d, const struct checked_program *entry,
                            const char *why) {
        const char *path = entry->interpreter[0] ? entry->interpreter : entry->path, *name;
        struct imprint i;

        d->refused = true;
        if (!entry->is_static || imprint_read(path, &i, NULL) < 0) {
                say(d, FINDING_STOP, "program", "%s", why);
                return;
        }
        if (i.marks & (IMPRINT_GO | IMPRINT_MUSL | IMPRINT_GLIBC))
                say(d, FINDING_STOP, "program",
                    "%s is statically linked, so the loader never runs and silt cannot enter it (see %s): 'silt cpu run' records its CPU time",
                    path, i.marks & IMPRINT_GO ? "heap" : "library");
        else
                say(d, FINDING_STOP, "program", "%s", why);
        for (unsigned k = 0; (name = imprint_allocator(&i, k)); k++) {
                const char *version = imprint_version(&i, name);

                say(d, FINDING_NOTE, "allocator", "%s%s%s is linked into the program", name,
                    version[0] ? " " : "", version);
        }
        tell_static(d, &i);
}

static void examine_program(struct doctor *d, const char *name) {
        struct err err = {0};
        struct checked_program entry;

        switch (program_check(name, OWN_MACHINE, &entry, &err)) {
        case PROGRAM_OK: break;
        case PROGRAM_REFUSED: examine_refused(d, &entry, err.text); return;
        case PROGRAM_NOT_FOUND:
        case PROGRAM_NOT_EXECUTABLE:
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
        d->process = true;
        if (process_maps(pid, "libsilt.so"))
                say(d, FINDING_NOTE, "process", "%d is already being recorded", (int)pid);
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
                        cli_parser_error(p, "only one program can be checked: leave out '%s'",
                                         p->value);
                        return false;
                } else {
                        d->subject = p->value;
                }
        }
        return true;
}

static void examine(struct doctor *d) {
        char runtime_path[PATH_MAX];
        struct err err = {0};
        pid_t pid;

        if (supervisor_find_runtime(runtime_path, sizeof(runtime_path), &err) < 0) {
                d->refused = true;
                say(d, FINDING_STOP, "runtime", "%s", err.text);
                return;
        }
        examine_machine(d, runtime_path);
        if (d->subject && is_pid(d->subject, &pid))
                examine_process(d, pid);
        else if (d->subject)
                examine_program(d, d->subject);
}

/* On a screen lines are broken below their words; a pipe gets one for each thing that was looked at. */
static void print_lines(char *lines) {
        struct style s;
        char *rest = lines;

        style_init(&s, stdout);
        for (char *line; (line = strsep(&rest, "\n")) && (rest || *line);) {
                if (style_width(line) <= s.width || strlen(line) <= FINDING_CELLS ||
                    (!isatty(STDOUT_FILENO) && !getenv("COLUMNS"))) {
                        puts(line);
                        continue;
                }
                printf("%.*s", FINDING_CELLS, line);
                style_wrap(&s, line + FINDING_CELLS, FINDING_CELLS);
        }
}

int cmd_doctor(int argc, char **argv) {
        _cleanup_free_ char *lines = NULL;
        struct doctor d = {0};
        struct cli_parser p;
        size_t n_bytes;

        cli_parser_init(&p, &doctor_command, argc, argv);
        if (!parse(&p, &d))
                return p.exit_status;
        d.lines = open_memstream(&lines, &n_bytes);
        if (!d.lines)
                return EXIT_STATUS_TROUBLE;
        examine(&d);
        fclose(d.lines);
        tell_verdict(&d);
        print_lines(lines);
        if (d.trouble)
                return EXIT_STATUS_TROUBLE;
        return d.n_stops ? EXIT_STATUS_FOUND : EXIT_STATUS_OK;
}
