/* SPDX-License-Identifier: MIT */
#include "import/import.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/macros.h"
#include "base/vec.h"
#include "import/import_format.h"
#include "import/import_sequence.h"
#include "trace/format.h"

/* In the order in which they are tried: those with the surest marks first. */
static const struct import_format *const formats[] = {
        &import_heap_v2,
        &import_raw_profile,
        &import_go_heap, /* before gperftools, whose first words it has */
        &import_gperftools_heap,
        &import_heaptrack,
        &import_pprof,
        &import_dhat,
        &import_instruments,
        &import_memcheck_xml,
        &import_memcheck_text,
        &import_memray,
        &import_bytehound,
        &import_mtrace,
        &import_perf_data,
        &import_xtree, /* before massif, whose form it has */
        &import_massif,
        &import_perf_script,
        &import_cpu_profile,
        /* any line of these may be one: the last */
        &import_ltrace,
        &import_folded,
};

static void add_names(struct str *to) {
        for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
                str_addf(to, "%s%s", i ? ", " : "", formats[i]->name);
}

static int find_format(struct import_input *in, const struct import_format **ret,
                       struct err *reterr) {
        const uint8_t *head;
        size_t n;
        int r = import_input_head(in, &head, &n, reterr);

        if (r < 0)
                return r;
        for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
                if (n && formats[i]->matches(head, n)) {
                        *ret = formats[i];
                        return 0;
                }
        return -ENOENT;
}

void import_set_progress(import_progress_fn fn, void *ctx) {
        import_input_progress = fn;
        import_input_progress_ctx = ctx;
}

const char *import_title(int fd) {
        const struct import_format *f = NULL;
        struct import_input in;

        if (import_input_open(&in, fd, "", NULL) < 0 || find_format(&in, &f, NULL) < 0)
                f = NULL;
        import_input_done(&in);
        return f ? f->title : NULL;
}

/* ---- one file ---------------------------------------------------------------------------------- */

static int refuse_unknown(const char *path, int fd, struct err *reterr) {
        struct str names = {0};
        uint8_t head[4] = {0};

        if (fs_read_at(fd, head, sizeof(head), 0) == sizeof(head) &&
            bytes_le32(head) == TRACE_CHUNK_MAGIC)
                return err_set(reterr, -EINVAL, "'%s' is a silt trace: there is nothing to import",
                               path);

        if (lseek(fd, 0, SEEK_END) == 0)
                return err_set(reterr, -EINVAL, "'%s' is empty", path);
        add_names(&names);
        err_set(reterr, -EINVAL, "'%s' is in no format that silt reads: %s", path,
                str_text(&names));
        str_done(&names);
        return -EINVAL;
}

static int check_type(const char *path, const struct import_trace *t, const struct import_format *f,
                      struct err *reterr) {
        if (!import_trace_sample_type(t)[0] || f->has_types)
                return 0;
        return err_set(reterr, -EINVAL,
                       "'%s' is %s, which has no sample types: leave out --sample-type", path,
                       f->title);
}

static int read_file(const char *path, struct import_trace *t, const struct import_format **format,
                     struct err *reterr) {
        const struct import_format *f = NULL;
        struct import_input in;
        int fd = fs_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
        int r;

        if (fd < 0)
                return err_set_errno(reterr, fd, "cannot open '%s'", path);
        r = import_input_open(&in, fd, path, reterr);
        if (r >= 0) {
                r = find_format(&in, &f, reterr);
                if (r == -ENOENT)
                        r = refuse_unknown(path, fd, reterr);
        }
        if (r >= 0 && *format && *format != f)
                r = err_set(reterr, -EINVAL,
                            "'%s' is %s, the file before it is %s: import them one by one", path,
                            f->title, (*format)->title);
        if (r >= 0 && *format && !f->is_dump)
                r = err_set(reterr, -EINVAL,
                            "'%s' is %s, which is a recording of its own: import them one by one",
                            path, f->title);
        if (r >= 0)
                r = check_type(path, t, f, reterr);
        import_trace_begin_file(t, path);
        if (r >= 0)
                r = f->read(&in, t, reterr);
        if (r >= 0 && in.is_cut && import_trace_is_begun(t))
                import_trace_limit(t, "The packed file is cut off, and what is there was read");
        if (r >= 0 && in.is_open && f->ends_with_line && import_trace_is_begun(t))
                import_trace_limit(t, "Its last line has no end: the file seems to be cut off");
        if (r >= 0 && !import_trace_is_begun(t))
                r = err_set(reterr, -EINVAL, "'%s': %s without anything in it", path, f->title);
        *format = f;
        import_input_done(&in);
        close(fd);
        return r;
}

/* "Imported from a heaptrack recording, which has no threads." */
static void tell_limits(struct import_trace *t, const struct import_format *f) {
        struct str text = {0};

        str_addf(&text, "Imported from %s", f->title);
        if (f->lacks[0])
                str_addf(&text, ", which has %s", f->lacks);
        import_trace_tell_limits(t, str_text(&text));
        str_done(&text);
}

int import_files(const char *const *paths, size_t n_paths, const struct import_options *options,
                 int fd, struct import_told *ret, struct err *reterr) {
        struct import_trace *t = import_trace_new(fd, n_paths);
        const struct import_format *format = NULL;
        VEC(const char *) ordered = {0};
        bool is_reordered;
        int r = 0;

        for (size_t i = 0; i < n_paths; i++)
                vec_push(&ordered, paths[i]);
        is_reordered = import_sequence_sort(ordered.items, n_paths);
        if (options)
                import_trace_choose_type(t, options->sample_type);
        for (size_t i = 0; i < n_paths && r >= 0; i++)
                r = read_file(ordered.items[i], t, &format, reterr);
        if (r >= 0) {
                tell_limits(t, format);
                r = import_trace_finish(t, reterr);
        }
        if (r >= 0 && ret)
                *ret = (struct import_told){.title = format->title,
                                            .n_events = import_trace_n_events(t),
                                            .n_moments = import_trace_n_moments(t),
                                            .n_stacks = import_trace_n_stacks(t),
                                            .is_reordered = is_reordered,
                                            .first = ordered.items[0],
                                            .last = ordered.items[n_paths - 1]};
        vec_free(&ordered);
        import_trace_free(t);
        return r;
}
