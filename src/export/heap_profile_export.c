/* SPDX-License-Identifier: MIT */
/* Heap profiles of jemalloc (heap_v2, for jeprof) and of gperftools (for google-pprof, which does not read the other): by call path
 * what is live and what was ever allocated, addresses, and which file lies where, so that the reader finds the names.
 *
 * Readers of heap_v2 take a block for a sample of many, by the mean distance in the first line. 0 says that there is nothing to
 * correct: with 1, jeprof would still make more of blocks of a few bytes. gperftools counts every block. */
#include <elf.h>
#include <errno.h>
#include <string.h>

#include "export/export_job.h"
#include "export/one_process.h"

enum { HEAP_PROFILE_MAX_SEGMENTS = 64 };

/* Modules get places of their own, one after the other: a trace knows offsets in them. */
struct heap_profile {
        struct export_job *job;
        enum query_metric metric; /* that is live */
        uint64_t *bases;          /* by module */
        uint64_t next_base;       /* behind all modules */
        bool is_gperftools;
};

static void place_modules(struct heap_profile *p) {
        const struct trace_view *v = p->job->view;

        p->bases = calloc(v->n_modules + 1, sizeof(p->bases[0]));
        if (!p->bases)
                abort();
        p->next_base = 0x100000000000;
        for (size_t i = 0; i < v->n_modules; i++) {
                p->bases[i] = p->next_base;
                /* sizes come from the trace: addresses stay below 2^63 */
                p->next_base +=
                        ALIGN_UP(MIN(v->modules[i].size_bytes, 1ull << 40), 0x100000ull) + 0x100000;
                p->next_base = MIN(p->next_base, 1ull << 62);
        }
}

static uint64_t address_of(const struct heap_profile *p, uint32_t location) {
        const struct trace_view *v = p->job->view;
        const struct trace_location *l = &v->locations[location];

        return l->module < v->n_modules ? p->bases[l->module] + l->offset : l->offset;
}

/* ---- which file lies where --------------------------------------------------------------------- */

/* Where the kernel maps what is code of the file: readers go from there to addresses in it. False: the file cannot tell. */
static bool find_code(const char *path, Elf64_Phdr *ret) {
        Elf64_Ehdr head;
        FILE *f = path[0] == '/' ? fopen(path, "rbe") : NULL;
        bool is_found = false;

        if (!f)
                return false;
        if (fread(&head, sizeof(head), 1, f) == 1 && memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 &&
            head.e_ident[EI_CLASS] == ELFCLASS64 && head.e_phentsize == sizeof(*ret) &&
            head.e_phnum <= HEAP_PROFILE_MAX_SEGMENTS && head.e_phoff < 1u << 30 &&
            fseek(f, (long)head.e_phoff, SEEK_SET) == 0)
                for (unsigned i = 0; i < head.e_phnum && !is_found; i++)
                        is_found = fread(ret, sizeof(*ret), 1, f) == 1 && ret->p_type == PT_LOAD &&
                                   (ret->p_flags & PF_X);
        fclose(f);
        return is_found && ret->p_vaddr >= ret->p_offset && ret->p_vaddr < 1ull << 40 &&
               ret->p_memsz < 1ull << 40;
}

static void put_modules(const struct heap_profile *p) {
        const struct trace_view *v = p->job->view;

        fputs("\nMAPPED_LIBRARIES:\n", p->job->out);
        for (size_t i = 0; i < v->n_modules; i++) {
                const struct trace_module *m = &v->modules[i];
                uint64_t from = 0, to = m->size_bytes, file_offset = 0;
                Elf64_Phdr code;

                if (!m->path[0] || strpbrk(m->path, "\n\r"))
                        continue;
                if (find_code(m->path, &code)) {
                        from = code.p_vaddr & ~0xfffull;
                        to = ALIGN_UP(code.p_vaddr + code.p_memsz, 0x1000ull);
                        file_offset = code.p_offset & ~0xfffull;
                }
                fprintf(p->job->out, "%llx-%llx r-xp %08llx 00:00 %zu %s\n",
                        (unsigned long long)p->bases[i] + from,
                        (unsigned long long)p->bases[i] + to, (unsigned long long)file_offset,
                        i + 1, m->path);
        }
        if (query_estimate_bytes(p->job->q)) /* no file's: readers pass it over */
                fprintf(p->job->out, "# silt: estimates from samples, one in bytes: %llu\n",
                        (unsigned long long)query_estimate_bytes(p->job->q));
}

/* ---- call paths -------------------------------------------------------------------------------- */

/* What was allocated in all may be unknown: both then write 0. */
static void put_sums(const struct heap_profile *p, uint64_t n_live, uint64_t live_bytes,
                     uint64_t n_allocs, uint64_t alloc_bytes) {
        if (p->job->view->meta.flags & TRACE_LACKS_TRAFFIC)
                n_allocs = alloc_bytes = 0;
        fprintf(p->job->out,
                p->is_gperftools ? "%llu: %llu [%llu: %llu] @" : "  t*: %llu: %llu [%llu: %llu]\n",
                (unsigned long long)n_live, (unsigned long long)live_bytes,
                (unsigned long long)n_allocs, (unsigned long long)alloc_bytes);
}

static void put_path(const struct heap_profile *p, uint32_t stack) {
        const struct trace_view *v = p->job->view;

        if (!stack)
                fputs(" 0x0", p->job->out);
        for (uint32_t k = stack; k && k < v->n_stacks; k = v->stacks[k].parent)
                fprintf(p->job->out, " 0x%llx",
                        (unsigned long long)address_of(p, v->stacks[k].location));
        putc('\n', p->job->out);
}

static void put_site(const struct heap_profile *p, const struct query_site *s) {
        struct query_figure live = query_figure_of(&s->f, p->metric);

        if (!p->is_gperftools) {
                fputs("@", p->job->out);
                put_path(p, s->stack);
        }
        put_sums(p, (uint64_t)MAX(live.blocks, (int64_t)0), (uint64_t)MAX(live.bytes, (int64_t)0),
                 s->f.n_allocs, s->f.alloc_bytes);
        if (p->is_gperftools)
                put_path(p, s->stack);
        p->job->told->n_rows++;
}

static void write_answer(const struct heap_profile *p, const struct query_answer *a) {
        const struct query_totals *t = &a->totals;
        bool is_peak = p->metric == QUERY_PEAK;

        fputs(p->is_gperftools ? "heap profile: " : "heap_v2/0\n", p->job->out);
        put_sums(p, is_peak ? t->peak_blocks : t->end_blocks,
                 is_peak ? t->peak_bytes : t->end_bytes, t->n_allocs, t->alloc_bytes);
        if (p->is_gperftools)
                fputs(" heapprofile\n", p->job->out);
        for (size_t i = 0; i < a->n_sites; i++)
                if (!query_figures_are_idle(&a->sites[i].f))
                        put_site(p, &a->sites[i]);
        put_modules(p);
}

static int export_heap_profile(struct export_job *job, bool is_gperftools, struct err *reterr) {
        struct heap_profile p = {.job = job,
                                 .is_gperftools = is_gperftools,
                                 .metric = job->request->has_metric ? job->metric : QUERY_END};
        struct query_answer *a = NULL;
        int r;

        if (p.metric != QUERY_PEAK && p.metric != QUERY_END)
                return err_about(reterr, "by",
                                 err_set(reterr, -EINVAL,
                                         "%s files have what is allocated anyway, and what is "
                                         "live: choose peak or end",
                                         is_gperftools ? "gperftools" : "jeprof"));
        r = query_ask(job->q, &job->scope, &a, reterr);
        if (r < 0)
                return r;
        job->told->rows = "call paths";
        place_modules(&p);
        query_sort_sites(a->sites, a->n_sites, p.metric);
        write_answer(&p, a);
        free(p.bases);
        query_answer_free(a);
        return 0;
}

int export_jeprof(struct export_job *job, struct err *reterr) {
        return export_heap_profile(job, false, reterr);
}

int export_gperftools(struct export_job *job, struct err *reterr) {
        return export_heap_profile(job, true, reterr);
}
