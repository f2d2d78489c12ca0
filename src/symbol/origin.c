/* SPDX-License-Identifier: MIT */
#include "symbol/origin.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "base/units.h"
#include "symbol/debug_files.h"
#include "symbol/debuginfod.h"

enum { ORIGIN_ID_BYTES = 8 }; /* of a build-id that are told: enough to tell two apart */

bool origin_is_linkers(const char *name) {
        static const char *const names[] = {"_start",
                                            "_init",
                                            "_fini",
                                            "call_weak_fn",
                                            "frame_dummy",
                                            "deregister_tm_clones",
                                            "register_tm_clones",
                                            "__do_global_dtors_aux",
                                            "__libc_csu_init",
                                            "__libc_csu_fini",
                                            NULL};

        for (const char *const *n = names; *n; n++)
                if (strcmp(name, *n) == 0)
                        return true;
        return false;
}

/* ---- remedies -------------------------------------------------------------------------------- */

/* Whether a package manager put the file there: then it can bring its debug symbols too. */
static bool is_packaged(const char *path) {
        static const char *const places[] = {"/usr/lib",      "/usr/bin/", "/usr/sbin/",
                                             "/usr/libexec/", "/lib/",     "/lib64/",
                                             "/bin/",         "/sbin/",    NULL};

        for (const char *const *p = places; *p; p++)
                if (strncmp(path, *p, strlen(*p)) == 0)
                        return true;
        return false;
}

static void add_id(struct str *s, const uint8_t *id, size_t n) {
        if (n == 0)
                str_add(s, "none");
        for (size_t i = 0; i < n && i < ORIGIN_ID_BYTES; i++)
                str_addf(s, "%02x", id[i]);
        if (n > ORIGIN_ID_BYTES)
                str_add(s, "..");
}

/* The file that looked right, where there was one. */
static void add_other(struct str *s, const struct finder *f) {
        if (!f->other_path[0])
                return;
        str_addf(s, ", '%.160s' has ", f->other_path);
        add_id(s, f->other_id.bytes, f->other_id.n);
}

/* Where --debug-path was given: what is in it, and what of it is of another build. */
static void add_looked(struct str *s, const struct finder *f) {
        struct unit_text t;

        str_add(s, "no file in --debug-path has its build-id, ");
        add_id(s, f->module->build_id, f->module->build_id_len);
        str_addf(s, ": %s%s looked at", unit_count(&t, f->files->n_seen),
                 f->files->is_cut ? ", not all," : "");
        add_other(s, f);
}

static void add_remedy(struct str *s, const struct finder *f, const struct functions *functions) {
        const char *trouble = debuginfod_trouble();

        if (f->files)
                add_looked(s, f);
        else if (is_packaged(f->module->path))
                str_add(s, "install its debug symbols (Debian: package -dbgsym or -dbg; Fedora: "
                           "debuginfo-install) or set DEBUGINFOD_URLS, then run silt symbolize");
        else if (functions->n_rust > functions->n_cxx)
                str_add(s,
                        "set debug = 1 under [profile.release] in Cargo.toml, or pass -C debuginfo=1 to rustc");
        else
                str_add(s,
                        "build it with -g, or give its debug file to silt symbolize (--debug-path)");
        if (trouble)
                str_addf(s, " (%s)", trouble);
}

/* ---- sentences ------------------------------------------------------------------------------- */

static void origin_set(struct symbol_origin *o, enum trace_naming naming, const struct finder *f,
                       struct str *text) {
        o->naming = naming;
        snprintf(o->file, sizeof(o->file), "%.4095s", f->debug_path);
        snprintf(o->text, sizeof(o->text), "%s", str_text(text));
        str_done(text);
}

void origin_of_missing(struct symbol_origin *o, const struct finder *f, int why) {
        enum trace_naming naming = TRACE_NAMING_MISSING;
        const char *trouble = debuginfod_trouble();
        struct str s = {0};

        if (why == -ESTALE) {
                naming = TRACE_NAMING_REPLACED;
                str_add(&s, "the file is not the one that ran: its build-id differs (");
                add_id(&s, f->other_id.bytes, f->other_id.n);
                str_add(&s, ", not ");
                add_id(&s, f->module->build_id, f->module->build_id_len);
                str_add(&s, "): ");
                if (f->files)
                        add_looked(&s, f);
                else
                        str_add(&s,
                                "give the one that ran to silt symbolize (--debug-path or --sysroot)");
        } else if (why == -ENOEXEC) {
                naming = TRACE_NAMING_DAMAGED;
                str_add(&s,
                        "the file is not a complete ELF file: give the one that ran to silt symbolize (--debug-path or --sysroot)");
        } else if (f->module->path[0] != '/') {
                str_add(&s, "it is not a file, and nothing on this machine has its names");
        } else if (f->files) {
                str_add(&s, "the file is gone: ");
                add_looked(&s, f);
        } else {
                str_add(&s,
                        "the file is gone: give a copy of it to silt symbolize (--debug-path or --sysroot)");
        }
        if (trouble)
                str_addf(&s, " (%s)", trouble);
        origin_set(o, naming, f, &s);
}

/* What full debug information still lacks. */
static void add_lacks(struct str *s, const struct finder *f, const struct functions *functions,
                      const struct origin_counts *c) {
        if (f->lacks_alt)
                str_addf(
                        s,
                        "some names and lines are missing: its debug information also needs '%.200s', which was not found: install it, or name it with --debug-path",
                        f->alt.name);
        else if (c->is_damaged)
                str_add(s,
                        "lines or inlined functions are missing: its debug information is damaged or too large: rebuild it, or install the matching debug file");
        else if (c->n_unsplit)
                str_addf(
                        s,
                        "inlined functions are missing: the .dwo files of %zu of its units were not found: keep them, or put a .dwp file next to the program, then run silt symbolize",
                        c->n_unsplit);
        else if (c->n_lineless * 10 > c->n_addresses) {
                str_addf(
                        s,
                        "%zu of %zu places have no source line because parts were built without debug information: ",
                        c->n_lineless, c->n_addresses);
                add_remedy(s, f, functions);
        } else if (f->is_unproven && f->id.n == 0)
                str_add(s,
                        "the file has no build-id, so silt cannot tell whether it is the one that ran: link it with -Wl,--build-id");
}

void origin_of_names(struct symbol_origin *o, const struct finder *f,
                     const struct functions *functions, const struct origin_counts *c,
                     bool has_dwarf) {
        struct str s = {0};

        /* Where half of the places have lines the rest is a detail, told as such. */
        if (has_dwarf && c->n_lines >= c->n_lineless) {
                add_lacks(&s, f, functions, c);
                origin_set(o, TRACE_NAMING_FULL, f, &s);
                return;
        }
        if (strcmp(f->module->path, "[vdso]") == 0) { /* the kernel gives no more */
                origin_set(o, functions->by_begin.n ? TRACE_NAMING_DYNSYM : TRACE_NAMING_NOTHING, f,
                           &s);
                return;
        }
        if ((f->has_debug_info && !has_dwarf) || c->is_damaged) {
                str_add(&s,
                        "lines and inlined functions are missing: its debug information is damaged, too large, or too new for the installed libdw: rebuild it, or install the matching debug file");
                origin_set(o, TRACE_NAMING_DAMAGED, f, &s);
                return;
        }
        if (functions->has_symtab && functions->by_begin.n) {
                str_add(&s,
                        "it has no debug information, so lines and inlined functions are missing: ");
                add_remedy(&s, f, functions);
                origin_set(o, TRACE_NAMING_SYMTAB, f, &s);
                return;
        }
        if (c->n_named || c->n_guesses) {
                str_add(&s, "it is stripped, so only exported functions have names: ");
                add_remedy(&s, f, functions);
                origin_set(o, TRACE_NAMING_DYNSYM, f, &s);
                return;
        }
        str_add(&s, "it is stripped, so no function has a name: ");
        add_remedy(&s, f, functions);
        origin_set(o, TRACE_NAMING_NOTHING, f, &s);
}
