/* SPDX-License-Identifier: MIT */
#include "hook/real.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>

#include "hook/fail.h"
#include "unwind/unwind.h"

struct reals real;

enum { REAL_N_RANGES = 4 };

static struct code_range real_allocator[REAL_N_RANGES];
static struct link_map *real_self_map;
static struct code_range real_measurer; /* who has malloc_usable_size */

extern struct r_debug _r_debug;
extern const char silt_image_begin[] __asm__("__ehdr_start") __attribute__((visibility("hidden")));
extern const char silt_image_end[] __asm__("_end") __attribute__((visibility("hidden")));

/* What a lookup needs of an object's dynamic section. */
struct dynamic_symbols {
        const ElfW(Sym) * symbols;
        const char *strings;
        const uint32_t *gnu_hash, *sysv_hash;
        const ElfW(Half) * versions;
        const ElfW(Verdef) * version_names;
        uint64_t n_version_names;
};

static struct dynamic_symbols real_libc; /* empty: it is not in the list */

/* glibc relocates these pointers in place, except in the vdso. */
static const void *dynamic_pointer(const struct link_map *map, const ElfW(Dyn) * d) {
        return (const void *)(d->d_un.d_ptr < map->l_addr ? d->d_un.d_ptr + map->l_addr
                                                          : d->d_un.d_ptr);
}

static bool dynamic_symbols_read(const struct link_map *map, struct dynamic_symbols *ret) {
        struct dynamic_symbols s = {0};

        if (!map->l_ld)
                return false;
        for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
                switch (d->d_tag) {
                case DT_SYMTAB: s.symbols = dynamic_pointer(map, d); break;
                case DT_STRTAB: s.strings = dynamic_pointer(map, d); break;
                case DT_GNU_HASH: s.gnu_hash = dynamic_pointer(map, d); break;
                case DT_HASH: s.sysv_hash = dynamic_pointer(map, d); break;
                case DT_VERSYM: s.versions = dynamic_pointer(map, d); break;
                case DT_VERDEF: s.version_names = dynamic_pointer(map, d); break;
                case DT_VERDEFNUM: s.n_version_names = d->d_un.d_val; break;
                default: break;
                }
        }
        *ret = s;
        return s.symbols && s.strings && (s.gnu_hash || s.sysv_hash);
}

static bool text_equal(const char *a, const char *b) {
        while (*a && *a == *b)
                a++, b++;
        return *a == *b;
}

/* NULL: it has none. */
static const char *dynamic_symbols_version(const struct dynamic_symbols *s, uint32_t idx) {
        const ElfW(Verdef) *v = s->version_names;

        for (uint64_t i = 0; s->versions && v && i < s->n_version_names; i++) {
                if (v->vd_ndx == (s->versions[idx] & 0x7fff) && v->vd_cnt)
                        return s->strings +
                               ((const ElfW(Verdaux) *)((const char *)v + v->vd_aux))->vda_name;
                if (!v->vd_next)
                        break;
                v = (const ElfW(Verdef) *)((const char *)v + v->vd_next);
        }
        return NULL;
}

static const ElfW(Sym) * dynamic_symbols_find(const struct dynamic_symbols *s, const char *name);

/* Old versions of a symbol are hidden behind the default one: a program linked today does not mean them. A library that stands
 * before libc and has nothing but the version that such a program asks libc for (libc_malloc_debug.so) is meant all the same. */
static bool dynamic_symbols_is_meant(const struct dynamic_symbols *s, uint32_t idx,
                                     const char *name) {
        const ElfW(Sym) * of_libc;
        const char *version, *libc_version;

        if (!s->versions || !(s->versions[idx] & 0x8000) || text_equal(name, "cfree"))
                return true;
        if (!real_libc.symbols || s->symbols == real_libc.symbols ||
            !(version = dynamic_symbols_version(s, idx)) ||
            !(of_libc = dynamic_symbols_find(&real_libc, name)))
                return false;
        libc_version = dynamic_symbols_version(&real_libc, (uint32_t)(of_libc - real_libc.symbols));
        return libc_version && text_equal(version, libc_version);
}

static const ElfW(Sym) *
        dynamic_symbols_check(const struct dynamic_symbols *s, uint32_t idx, const char *name) {
        const ElfW(Sym) *sym = &s->symbols[idx];
        unsigned type = ELF64_ST_TYPE(sym->st_info);

        if (sym->st_shndx == SHN_UNDEF || sym->st_value == 0 ||
            ELF64_ST_BIND(sym->st_info) == STB_LOCAL)
                return NULL;
        if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
                return NULL;
        return text_equal(s->strings + sym->st_name, name) && dynamic_symbols_is_meant(s, idx, name)
                       ? sym
                       : NULL;
}

static const ElfW(Sym) *
        dynamic_symbols_find_gnu(const struct dynamic_symbols *s, const char *name) {
        const uint32_t n_buckets = s->gnu_hash[0], first = s->gnu_hash[1], n_bloom = s->gnu_hash[2];
        const uint32_t *buckets = s->gnu_hash + 4 + n_bloom * (sizeof(ElfW(Addr)) / 4);
        const uint32_t *chain = buckets + n_buckets;
        uint32_t hash = 5381, idx;

        for (const char *c = name; *c; c++)
                hash = hash * 33 + (uint8_t)*c;
        if (n_buckets == 0 || (idx = buckets[hash % n_buckets]) < first)
                return NULL;
        for (;; idx++) {
                uint32_t h = chain[idx - first];

                if ((h | 1) == (hash | 1)) {
                        const ElfW(Sym) *sym = dynamic_symbols_check(s, idx, name);

                        if (sym)
                                return sym;
                }
                if (h & 1)
                        return NULL;
        }
}

static const ElfW(Sym) * dynamic_symbols_find(const struct dynamic_symbols *s, const char *name) {
        if (s->gnu_hash)
                return dynamic_symbols_find_gnu(s, name);
        for (uint32_t i = 1; i < s->sysv_hash[1]; i++) {
                const ElfW(Sym) *sym = dynamic_symbols_check(s, i, name);

                if (sym)
                        return sym;
        }
        return NULL;
}

/* An indirect function is what its resolver says. x86 resolvers take nothing and ask the CPU. */
static void *real_call_resolver(void *resolver) {
        return ((void *(*)(uint64_t))resolver)(0);
}

/* From the program headers, which are mapped with its first bytes. */
struct code_range real_image_range(uintptr_t base) {
        const ElfW(Ehdr) *ehdr = (const ElfW(Ehdr) *)base;
        struct code_range range = {base, base};
        const ElfW(Phdr) * phdr;

        if (!base || ehdr->e_ident[0] != 0x7f || ehdr->e_ident[1] != 'E')
                return range;
        phdr = (const ElfW(Phdr) *)(base + ehdr->e_phoff);
        for (unsigned i = 0; i < ehdr->e_phnum; i++)
                if (phdr[i].p_type == PT_LOAD &&
                    base + phdr[i].p_vaddr + phdr[i].p_memsz > range.end)
                        range.end = base + phdr[i].p_vaddr + phdr[i].p_memsz;
        return range;
}

static bool text_begins(const char *text, const char *prefix) {
        while (*prefix && *text == *prefix)
                text++, prefix++;
        return *prefix == '\0';
}

static unsigned real_kinds(const char *name) {
        if (text_begins(name, "realloc"))
                return REAL_ALLOCATES | REAL_RELEASES;
        if (text_begins(name, "free") || text_begins(name, "cfree") || text_begins(name, "_Zd"))
                return REAL_RELEASES;
        return REAL_ALLOCATES;
}

static const char *real_soname(const struct link_map *map, const char *strings) {
        for (const ElfW(Dyn) *d = map->l_ld; d && d->d_tag != DT_NULL; d++)
                if (d->d_tag == DT_SONAME)
                        return strings + d->d_un.d_val;
        return NULL;
}

/* Libraries whose functions of these names call each other from their own code alone. */
static bool real_is_closed(const struct link_map *map, const char *strings) {
        static const char *const known[] = {"libc.so.",       "ld-linux",    "libstdc++.so.",
                                            "libjemalloc.so", "libtcmalloc", "libmimalloc"};
        const char *soname = real_soname(map, strings);

        for (size_t i = 0; soname && i < sizeof(known) / sizeof(known[0]); i++)
                if (text_begins(soname, known[i]))
                        return true;
        return false;
}

static bool real_find_in(const struct link_map *map, const char *name, struct real_fn *ret) {
        struct dynamic_symbols symbols;
        const ElfW(Sym) * sym;
        uint64_t size_bytes;

        if (!dynamic_symbols_read(map, &symbols) || !(sym = dynamic_symbols_find(&symbols, name)))
                return false;
        size_bytes = sym->st_size ? sym->st_size : REAL_FN_REACH_BYTES;
        ret->fn = (void *)(map->l_addr + sym->st_value);
        if (ELF64_ST_TYPE(sym->st_info) == STT_GNU_IFUNC)
                ret->fn = real_call_resolver(ret->fn);
        ret->enter = ret->fn;
        ret->begin = (uintptr_t)ret->fn;
        ret->end = (uintptr_t)ret->fn + size_bytes;
        ret->kinds = real_kinds(name);
        if (!real_is_closed(map, symbols.strings))
                ret->kinds |= REAL_OPEN;
        return true;
}

static const struct link_map *real_find(const char *name, struct real_fn *ret) {
        const struct link_map *m = runtime.is_attached ? _r_debug.r_map : real_self_map->l_next;

        for (; m; m = m->l_next)
                if (m != real_self_map && real_find_in(m, name, ret))
                        return m;
        return NULL;
}

/* What is preloaded comes before the loader itself, which the program's own libraries need. */
static bool real_find_self(void) {
        bool is_late = false;

        for (struct link_map *m = _r_debug.r_map; m; m = m->l_next) {
                is_late |= m->l_addr == _r_debug.r_ldbase;
                if (m->l_addr == (uintptr_t)silt_image_begin) {
                        runtime.is_attached = is_late;
                        real_self_map = m;
                        runtime.self_path = m->l_name;
                        return true;
                }
        }
        return false;
}

/* By its name: others may have any of its functions. */
static void real_find_libc(void) {
        for (const struct link_map *m = _r_debug.r_map; m; m = m->l_next) {
                struct dynamic_symbols symbols;
                const char *soname;

                if (dynamic_symbols_read(m, &symbols) &&
                    (soname = real_soname(m, symbols.strings)) && text_equal(soname, "libc.so.6")) {
                        real_libc = symbols;
                        return;
                }
        }
}

/* Whether code at `at` is where the function begins, or behind the landing pad it begins with. */
static bool real_begins_at(const struct real_fn *f, uintptr_t at) {
        const uint32_t *code = f->fn;

        if (!code || at == (uintptr_t)code)
                return code != NULL;
#if defined(__aarch64__)
        return at == (uintptr_t)(code + 1) && at < f->end && (*code & 0xfffff01f) == 0xd503201f;
#else
        return at == (uintptr_t)(code + 1) && at < f->end && *code == 0xfa1e0ff3;
#endif
}

void real_is_moved(uintptr_t at, void *moved, const struct code_range *code) {
        struct real_fn *fns = (struct real_fn *)&real;

        for (size_t i = 0; i < sizeof(real) / sizeof(*fns); i++)
                if (real_begins_at(&fns[i], at)) {
                        fns[i].enter = moved;
                        if (code_range_has(code, (uintptr_t)fns[i].fn)) {
                                fns[i].begin = code->begin;
                                fns[i].end = code->end;
                        }
                }
        fail_rewrap();
        if (runtime_phase() != RUNTIME_UNKNOWN)
                runtime_show_reals();
}

/* Functions of one library are built on those of another: where one is anybody's, here or in an object that is asked before
 * this one, all may get there. */
static void real_open_together(void) {
        static const struct {
                const char *name;
                struct real_fn *fn;
        } all[] = {
#define REAL_ONE(name) {#name, &real.name},
                REAL_MALLOC_NAMES(REAL_ONE) REAL_NEW_NAMES(REAL_ONE)
#undef REAL_ONE
        };
        unsigned open = 0;

        for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
                if (all[i].fn->fn)
                        open |= all[i].fn->kinds & REAL_OPEN;
                if (!runtime.is_attached && real_is_preceded(all[i].name))
                        open = REAL_OPEN;
        }
        for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
                all[i].fn->kinds |= open;
}

bool real_can_measure(const void *release) {
        return real.malloc_usable_size.fn && code_range_has(&real_measurer, (uintptr_t)release);
}

int real_resolve(void) {
        static const struct {
                const char *name;
                struct real_fn *fn;
        } wanted[] = {
#define REAL_WANTED(name) {#name, &real.name},
                REAL_NAMES(REAL_WANTED)
#undef REAL_WANTED
        };
        const struct link_map *owner;
        struct real_fn ignored;

        runtime.self.begin = (uintptr_t)silt_image_begin;
        runtime.self.end = (uintptr_t)silt_image_end;
        if (!real_find_self())
                return -ENOENT;
        real_find_libc();
        for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
                real_find(wanted[i].name, wanted[i].fn);
        if (!real.malloc.fn || !real.free.fn || !real.calloc.fn || !real.realloc.fn)
                return -ENOENT;
        real_open_together();
        if ((owner = real_find("malloc_usable_size", &ignored)))
                real_measurer = real_image_range(owner->l_addr);

        runtime.loader = real_image_range(_r_debug.r_ldbase);
        real_allocator[0] = runtime.self;
        real_allocator[1] = runtime.loader;
        if ((owner = real_find("malloc", &ignored)))
                real_allocator[2] = real_image_range(owner->l_addr);
        if ((owner = real_find("__libc_start_main", &ignored)))
                real_allocator[3] = real_image_range(owner->l_addr);
        return 0;
}

static bool real_opens(const struct dynamic_symbols *s, uint32_t idx) {
        const char *name = s->strings + s->symbols[idx].st_name;

        return s->symbols[idx].st_shndx == SHN_UNDEF && name[0] == 'd' && name[1] == 'l' &&
               (text_equal(name, "dlopen") || text_equal(name, "dlmopen"));
}

/* As many symbols as can be told to be there: what is not exported comes before all that is. 0: nothing is exported. */
static uint32_t real_count_symbols(const struct dynamic_symbols *s) {
        const uint32_t *buckets;

        if (!s->gnu_hash)
                return s->sysv_hash[1];
        buckets = s->gnu_hash + 4 + s->gnu_hash[2] * (sizeof(ElfW(Addr)) / 4);
        for (uint32_t i = 0; i < s->gnu_hash[0]; i++)
                if (buckets[i])
                        return s->gnu_hash[1];
        return 0;
}

static bool real_is_opener_by_relocations(const struct link_map *map,
                                          const struct dynamic_symbols *s) {
        const ElfW(Rela) * tables[2] = {0};
        size_t n[2] = {0};

        for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
                switch (d->d_tag) {
                case DT_JMPREL: tables[0] = dynamic_pointer(map, d); break;
                case DT_PLTRELSZ: n[0] = d->d_un.d_val / sizeof(ElfW(Rela)); break;
                case DT_RELA: tables[1] = dynamic_pointer(map, d); break;
                case DT_RELASZ: n[1] = d->d_un.d_val / sizeof(ElfW(Rela)); break;
                default: break;
                }
        }
        for (unsigned k = 0; k < 2; k++)
                for (size_t i = 0; tables[k] && i < n[k]; i++) {
                        uint32_t idx = (uint32_t)ELF64_R_SYM(tables[k][i].r_info);

                        if (idx && real_opens(s, idx))
                                return true;
                }
        return false;
}

static bool real_wants_to_open(const struct link_map *map) {
        struct dynamic_symbols s;
        uint32_t n;

        if (!dynamic_symbols_read(map, &s))
                return false;
        n = real_count_symbols(&s);
        for (uint32_t i = 1; i < n; i++)
                if (real_opens(&s, i))
                        return true;
        return n == 0 && real_is_opener_by_relocations(map, &s);
}

bool real_is_opener(void) {
        for (const struct link_map *m = _r_debug.r_map; m; m = m->l_next)
                if (m != real_self_map && real_wants_to_open(m))
                        return true;
        return false;
}

uintptr_t real_loader_entry(void) {
        const ElfW(Ehdr) *ehdr = (const ElfW(Ehdr) *)runtime.loader.begin;

        return runtime.loader.end > runtime.loader.begin ? (uintptr_t)ehdr + ehdr->e_entry : 0;
}

bool real_is_allocator(uintptr_t addr) {
        for (unsigned i = 0; i < REAL_N_RANGES; i++)
                if (code_range_has(&real_allocator[i], addr))
                        return true;
        return false;
}

bool real_program_defines(const char *name) {
        struct real_fn ignored;

        return _r_debug.r_map && real_find_in(_r_debug.r_map, name, &ignored);
}

bool real_is_preceded(const char *name) {
        struct real_fn ignored;

        for (const struct link_map *m = _r_debug.r_map; m && m != real_self_map; m = m->l_next)
                if (real_find_in(m, name, &ignored))
                        return true;
        return false;
}

bool real_find_behind(const char *name, struct real_fn *ret) {
        return (real_self_map || real_find_self()) && real_find(name, ret);
}

bool real_is_next_to(const char *name) {
        struct real_fn found = {0};

        return real_self_map && real_self_map->l_next &&
               real_find_in(real_self_map->l_next, name, &found);
}

const char *real_rename_self(const char *name) {
        const char *before = real_self_map->l_name;

        real_self_map->l_name = (char *)name;
        return before;
}

bool real_find_module(const void *addr, struct unwind_module *ret_module) {
        for (const struct link_map *m = _r_debug.r_map; m; m = m->l_next) {
                struct code_range range = real_image_range(m->l_addr);

                if (code_range_has(&range, (uintptr_t)addr)) {
                        *ret_module = (struct unwind_module){m->l_addr, range.begin, range.end,
                                                             m->l_name};
                        return true;
                }
        }
        return false;
}

/* ---- for one caller ---------------------------------------------------------------------- */

struct real_search {
        const void *caller;
        const char *name;
        const struct link_map *needer; /* the caller's object, in pass two */
        struct link_map caller_map;
        bool is_behind; /* the caller's object was seen */
        struct real_fn first,
                needed; /* first in the list; in the caller's, one that it names, or one before that names it */
};

static void real_map_of(const struct dl_phdr_info *info, struct link_map *ret) {
        *ret = (struct link_map){.l_addr = info->dlpi_addr, .l_name = (char *)info->dlpi_name};
        for (unsigned i = 0; i < info->dlpi_phnum; i++)
                if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
                        ret->l_ld = (ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
}

static int real_search_caller(struct dl_phdr_info *info, size_t size, void *ctx) {
        struct real_search *s = ctx;

        for (unsigned i = 0; i < info->dlpi_phnum; i++) {
                const ElfW(Phdr) *ph = &info->dlpi_phdr[i];

                if (ph->p_type == PT_LOAD &&
                    (uintptr_t)s->caller - (info->dlpi_addr + ph->p_vaddr) < ph->p_memsz) {
                        real_map_of(info, &s->caller_map);
                        s->needer = &s->caller_map;
                        return 1;
                }
        }
        return 0;
}

bool real_is_in(const char *name, const char *soname) {
        struct real_fn ignored;
        const struct link_map *owner = real_find(name, &ignored);
        struct dynamic_symbols symbols;
        const char *found;

        return owner && dynamic_symbols_read(owner, &symbols) &&
               (found = real_soname(owner, symbols.strings)) && text_equal(found, soname);
}

bool real_is_plain(void) {
        return !real_is_preceded("malloc") && real_is_in("malloc", "libc.so.6");
}

static bool real_needs(const struct link_map *needer, const struct link_map *map) {
        struct dynamic_symbols of_needer, of_map;
        const char *soname;

        if (!dynamic_symbols_read(needer, &of_needer) || !dynamic_symbols_read(map, &of_map) ||
            !(soname = real_soname(map, of_map.strings)))
                return false;
        for (const ElfW(Dyn) *d = needer->l_ld; d->d_tag != DT_NULL; d++)
                if (d->d_tag == DT_NEEDED && text_equal(of_needer.strings + d->d_un.d_val, soname))
                        return true;
        return false;
}

static int real_search_name(struct dl_phdr_info *info, size_t size, void *ctx) {
        struct real_search *s = ctx;
        struct real_fn found = {0};
        struct link_map map;

        real_map_of(info, &map);
        s->is_behind |= s->needer && s->needer->l_addr == map.l_addr;
        if (map.l_addr == runtime.self.begin || !real_find_in(&map, s->name, &found))
                return 0;
        if (!s->first.fn)
                s->first = found;
        if (s->needer && (s->needer->l_addr == map.l_addr || real_needs(s->needer, &map) ||
                          (!s->is_behind && real_needs(&map, s->needer)))) {
                s->needed = found;
                return 1;
        }
        return 0;
}

uintptr_t real_object_begin(const void *addr) {
        struct dl_find_object found;

        if (real._dl_find_object.fn && REAL(_dl_find_object)((void *)addr, &found) == 0)
                return (uintptr_t)found.dlfo_map_start;
        return (uintptr_t)addr & -(uintptr_t)0x10000;
}

/* dlsym would need a handle, and only an object that was itself opened is one: asked for a
 * dependency's, it crashes. So the list is read once more, under the loader's lock, which is
 * held for moments only. */
bool real_for_caller(const void *addr, const char *name, struct real_fn *ret) {
        struct real_search s = {.caller = addr, .name = name};

        if (!real.dl_iterate_phdr.fn)
                return false;
        REAL(dl_iterate_phdr)(real_search_caller, &s);
        REAL(dl_iterate_phdr)(real_search_name, &s);
        *ret = s.needed.fn ? s.needed : s.first;
        return ret->fn != NULL;
}
