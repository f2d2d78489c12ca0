/* SPDX-License-Identifier: MIT */
#include "patch/allocator.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/fs.h"
#include "symbol/module.h"

enum {
        ALLOCATOR_MAX_FUNCTION_BYTES =
                1 << 22, /* jemalloc's calloc has 220 KB without optimisation */
        ALLOCATOR_MAX_SPAN_BYTES =
                4 << 20,           /* of one's code: farther apart, names are a coincidence */
        ALLOCATOR_MIN_COMPANY = 2, /* beside the mark; of a family without one, and one more */
        ALLOCATOR_MIN_INNER = 2,
        ALLOCATOR_MAX_INNER = 8, /* prefixes before names of inner code */
};

static bool text_begins(const char *text, const char *prefix) {
        return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool text_ends(const char *text, const char *suffix) {
        size_t n = strlen(text), n_suffix = strlen(suffix);

        return n >= n_suffix && strcmp(text + n - n_suffix, suffix) == 0;
}

/* A name's version ("malloc@@VERS_1") is none of its own. */
static bool text_is(const char *text, const char *wanted) {
        size_t n = strlen(wanted);

        return strncmp(text, wanted, n) == 0 && (text[n] == '\0' || text[n] == '@');
}

/* ---- which there are --------------------------------------------------------------------------- */

static void add_allocator(struct allocators *a, const struct family *family, const char *prefix,
                          size_t prefix_len) {
        struct allocator *one;

        for (size_t i = 0; i < a->list.n; i++)
                if (a->list.items[i].family == family &&
                    strlen(a->list.items[i].prefix) == prefix_len &&
                    strncmp(a->list.items[i].prefix, prefix, prefix_len) == 0)
                        return;
        if (prefix_len >= sizeof(one->prefix) || a->list.n == ALLOCATORS_MAX)
                return;
        one = vec_add(&a->list);
        one->family = family;
        memcpy(one->prefix, prefix, prefix_len);
}

static bool may_be(const struct family *family, const struct function *f) {
        return !f->is_plt && !f->is_resolver && !(family->is_global_only && f->is_local);
}

/* A program's own functions may end like the mark (take_mallocx): those of an allocator are not alone. */
static bool has_company(const struct family *family, const struct functions *functions,
                        const char *prefix, size_t prefix_len) {
        size_t n = 0;

        for (size_t i = 0; i < functions->by_begin.n; i++) {
                const char *name = functions->by_begin.items[i].name;

                if (strncmp(name, prefix, prefix_len) != 0)
                        continue;
                for (const char *const *other = family->company; *other; other++)
                        n += text_is(name + prefix_len, *other);
        }
        return n >= ALLOCATOR_MIN_COMPANY + (family->mark == NULL);
}

static void look_for_mark(struct allocators *a, const struct family *family,
                          const struct functions *functions, const struct function *f) {
        char name[64];
        size_t prefix_len;

        if (!may_be(family, f))
                return;
        if (!family->prefix) {
                for (const char *const *one = family->company; *one; one++) {
                        if (!text_ends(f->name, *one))
                                continue;
                        prefix_len = strlen(f->name) - strlen(*one);
                        if (has_company(family, functions, f->name, prefix_len))
                                add_allocator(a, family, f->name, prefix_len);
                }
        } else if (text_begins(f->name, family->prefix) && !family->telling_names) {
                snprintf(name, sizeof(name), "%s%s", family->prefix,
                         family->mark ? family->mark : "");
                if (!family->mark || (text_is(f->name, name) &&
                                      (!family->company || has_company(family, functions, "", 0))))
                        add_allocator(a, family, family->prefix, strlen(family->prefix));
        }
}

static const struct family_role *role_of(const struct family *family, const char *rest) {
        for (size_t i = 0; i < family->n_roles; i++)
                if (text_is(rest, family->roles[i].name))
                        return &family->roles[i];
        return NULL;
}

static void look_for_telling(struct allocators *a, const struct family *family,
                             const struct function *f) {
        if (!may_be(family, f))
                return;
        for (const char *const *name = family->telling_names; *name; name++) {
                const char *prefix = family->prefix ? family->prefix : *name;

                if (text_begins(f->name, *name) && role_of(family, f->name + strlen(prefix)))
                        add_allocator(a, family, prefix, strlen(prefix));
        }
}

static bool has_role(const struct family *family, const struct functions *functions,
                     const char *prefix) {
        for (size_t i = 0; i < functions->by_begin.n; i++) {
                const struct function *f = &functions->by_begin.items[i];

                if (may_be(family, f) && text_begins(f->name, prefix) &&
                    role_of(family, f->name + strlen(prefix)))
                        return true;
        }
        return false;
}

/* Names of inner code that have the same before them. */
struct inner {
        char prefix[sizeof(((struct allocator *)0)->prefix) - 4]; /* with room for "je_" */
        size_t n;
};

/* How long the prefix before the name of inner code is; -1: it is none. */
static ptrdiff_t inner_prefix_len(const struct family *family, const char *name) {
        for (const char *const *one = family->inner_names; *one; one++) {
                const char *at = family->prefix ? name : strstr(name, *one);

                if (at && text_begins(at, *one) && (at == name || at[-1] == '_') &&
                    (at == name || !text_begins(name, "_Z")) &&
                    at - name < (ptrdiff_t)sizeof(((struct inner *)0)->prefix))
                        return at - name;
        }
        return -1;
}

static size_t count_inner(const struct family *family, const struct functions *functions,
                          struct inner *ret) {
        size_t n = 0, k;

        for (size_t i = 0; i < functions->by_begin.n; i++) {
                const char *name = functions->by_begin.items[i].name;
                ptrdiff_t len =
                        functions->by_begin.items[i].is_plt ? -1 : inner_prefix_len(family, name);

                if (len < 0)
                        continue;
                for (k = 0; k < n; k++)
                        if (strlen(ret[k].prefix) == (size_t)len &&
                            strncmp(ret[k].prefix, name, (size_t)len) == 0)
                                break;
                if (k == ALLOCATOR_MAX_INNER)
                        continue;
                if (k == n) {
                        ret[n++] = (struct inner){0};
                        memcpy(ret[k].prefix, name, (size_t)len);
                }
                ret[k].n++;
        }
        return n;
}

/* The prefix of its functions is its own, or that of what is private, or both of these. */
static void look_for_inner(struct allocators *a, const struct family *family,
                           const struct functions *functions) {
        struct inner inner[ALLOCATOR_MAX_INNER];
        size_t n = count_inner(family, functions, inner);

        for (size_t i = 0; i < n; i++) {
                char both[sizeof(((struct allocator *)0)->prefix)];

                if (inner[i].n < ALLOCATOR_MIN_INNER)
                        continue;
                if (family->prefix) {
                        if (has_role(family, functions, family->prefix))
                                add_allocator(a, family, family->prefix, strlen(family->prefix));
                        continue;
                }
                snprintf(both, sizeof(both), "%.27sje_", inner[i].prefix);
                if (has_role(family, functions, both))
                        add_allocator(a, family, both, strlen(both));
                if (has_role(family, functions, inner[i].prefix))
                        add_allocator(a, family, inner[i].prefix, strlen(inner[i].prefix));
        }
}

static void find_allocators(struct allocators *a, const struct functions *functions,
                            enum allocators_of of) {
        for (size_t k = 0; k < n_families; k++) {
                if ((families[k].is_preloadable && of == ALLOCATORS_OF_LIBRARY) ||
                    (families[k].is_attached_only && of != ALLOCATORS_OF_ANY_LIBRARY &&
                     of != ALLOCATORS_OF_C_LIBRARY) ||
                    families[k].is_loader != (of == ALLOCATORS_OF_LOADER))
                        continue;
                for (size_t i = 0; i < functions->by_begin.n; i++) {
                        look_for_mark(a, &families[k], functions, &functions->by_begin.items[i]);
                        if (families[k].telling_names)
                                look_for_telling(a, &families[k], &functions->by_begin.items[i]);
                }
                if (families[k].inner_names)
                        look_for_inner(a, &families[k], functions);
        }
}

/* ---- their functions --------------------------------------------------------------------------- */

static const struct family_role *find_role(const struct allocator *one, const struct function *f) {
        if (!may_be(one->family, f) || !text_begins(f->name, one->prefix))
                return NULL;
        return role_of(one->family, f->name + strlen(one->prefix));
}

static bool is_own(const struct allocator *one, const struct function *f) {
        if (one->prefix[0] && text_begins(f->name, one->prefix))
                return true;
        for (const char *const *name = one->family->own_names; *name; name++)
                if (text_begins(f->name, *name))
                        return true;
        return false;
}

static bool is_version(const struct allocator *one, const struct function *f) {
        return !strcmp(one->family->name, "mimalloc") && !f->is_plt &&
               text_is(f->name, "mi_version");
}

/* Somebody else's, as far as can be told: static functions may be anybody's, and allocators export what C has. */
static bool is_foreign(const struct function *f) {
        static const char *const familiar[] = {"alloc", "free", "mall", "memalign", "_Zn", "_Zd"};

        if (f->is_local || f->is_plt || f->is_resolver || f->end <= f->begin)
                return false;
        for (size_t i = 0; i < ARRAY_SIZE(familiar); i++)
                if (strstr(f->name, familiar[i]))
                        return false;
        return true;
}

struct stretch {
        uint64_t begin, end;
        size_t n_roles;
};

/* The functions of an archive stand together, static ones among them; what is cold is put elsewhere, with others'. Of the
 * stretches that nobody else's function interrupts, the one with most of those that are hooked. */
static void find_code(struct allocator *one, const struct functions *functions) {
        struct stretch best = {0}, now = {0};
        uint64_t foreign_end = 0;

        if (!one->family->own_names[0])
                return;
        for (size_t i = 0; i < functions->by_begin.n; i++) {
                const struct function *f = &functions->by_begin.items[i];
                bool is_role = find_role(one, f) != NULL;

                if (strstr(f->name, ".cold"))
                        continue;
                if (is_role || is_own(one, f)) {
                        if (!now.end)
                                now.begin = one->family->has_nameless_code && foreign_end
                                                    ? foreign_end
                                                    : f->begin;
                        now.end = MAX(now.end, f->end);
                        now.n_roles += is_role;
                } else if (is_foreign(f)) {
                        if (one->family->has_nameless_code && now.end && best.begin == now.begin)
                                best.end = f->begin;
                        now = (struct stretch){0};
                        foreign_end = MAX(foreign_end, f->end);
                }
                if (now.n_roles > best.n_roles || (now.begin == best.begin && now.n_roles))
                        best = now;
        }
        if (best.end - best.begin > ALLOCATOR_MAX_SPAN_BYTES)
                return;
        one->code_begin = best.begin;
        one->code_end = best.end;
}

static void add_function(struct allocators *a, size_t allocator, const struct family_role *role,
                         const struct function *f, uint64_t next_begin) {
        struct allocator_function *to;

        if (a->functions.n && a->functions.items[a->functions.n - 1].begin == f->begin)
                return; /* another name for it */
        to = vec_add(&a->functions);
        to->role = role;
        to->allocator = (uint32_t)allocator;
        to->begin = f->begin;
        to->n_bytes = f->end > f->begin ? f->end - f->begin : next_begin - f->begin;
        to->padding_bytes = next_begin > f->begin + to->n_bytes
                                    ? (size_t)(next_begin - f->begin - to->n_bytes)
                                    : 0;
        snprintf(to->name, sizeof(to->name), "%s", f->name);
        a->list.items[allocator].n_functions++;
}

static uint64_t begin_behind(const struct functions *functions, size_t i) {
        uint64_t begin = functions->by_begin.items[i].begin;

        while (i < functions->by_begin.n && functions->by_begin.items[i].begin == begin)
                i++;
        return i < functions->by_begin.n ? functions->by_begin.items[i].begin
                                         : functions->by_begin.items[i - 1].end;
}

static void find_functions(struct allocators *a, const struct functions *functions) {
        for (size_t i = 0; i < functions->by_begin.n; i++) {
                const struct function *f = &functions->by_begin.items[i];

                for (size_t k = 0; k < a->list.n; k++) {
                        const struct family_role *role = find_role(&a->list.items[k], f);

                        if (is_version(&a->list.items[k], f))
                                a->list.items[k].version_begin = f->begin;
                        if (!role)
                                continue;
                        add_function(a, k, role, f, begin_behind(functions, i));
                        break;
                }
        }
        for (size_t k = 0; k < a->list.n; k++)
                find_code(&a->list.items[k], functions);
}

/* Those whose functions all belong to one named before them. */
static void drop_empty(struct allocators *a) {
        uint32_t moved_to[ALLOCATORS_MAX] = {0};
        size_t n = 0;

        for (size_t i = 0; i < a->list.n; i++) {
                moved_to[i] = (uint32_t)n;
                if (a->list.items[i].n_functions)
                        a->list.items[n++] = a->list.items[i];
        }
        a->list.n = n;
        for (size_t i = 0; i < a->functions.n; i++)
                a->functions.items[i].allocator = moved_to[a->functions.items[i].allocator];
}

static void find_all(struct allocators *a, const struct functions *functions,
                     enum allocators_of of) {
        a->has_symbol_table = functions->has_symtab;
        for (size_t i = 0; i < functions->by_begin.n; i++)
                if (text_is(functions->by_begin.items[i].name, "malloc") &&
                    !functions->by_begin.items[i].is_plt)
                        a->malloc_begin = functions->by_begin.items[i].begin;
        find_allocators(a, functions, of);
        if (a->list.n)
                find_functions(a, functions);
        drop_empty(a);
}

/* By what it exports: a separate debug file takes many times as long. */
static int read_exported(const char *path, enum allocators_of of, struct allocators *ret,
                         struct err *reterr) {
        _cleanup_close_ int fd = fs_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
        struct functions functions = {0};
        Elf *elf;

        if (fd < 0)
                return err_set_errno(reterr, fd, "'%s'", path);
        elf_version(EV_CURRENT);
        elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
        functions_load_exported(&functions, elf);
        find_all(ret, &functions, of);
        functions_done(&functions);
        elf_end(elf);
        return 0;
}

int allocators_read_here(const char *path, enum allocators_of of, struct allocators *ret,
                         struct err *reterr) {
        _cleanup_(symbol_module_freep) struct symbol_module *module = NULL;
        const struct symbol_search search = {.functions_only = true};
        struct trace_module m = {.path = path};
        struct symbol_origin origin;
        int r;

        memset(ret, 0, sizeof(*ret));
        if (of == ALLOCATORS_OF_C_LIBRARY)
                return read_exported(path, of, ret, reterr);
        r = symbol_module_open(&m, &search, &module, &origin);
        if (r < 0)
                return err_set(reterr, r, "'%s': cannot read it as a program: %s", path,
                               origin.text);
        find_all(ret, symbol_module_functions(module), of);
        return 0;
}

void allocators_done(struct allocators *a) {
        vec_free(&a->list);
        vec_free(&a->functions);
}

/* mov w0, #n; ret, or mov eax, n; ret, behind a landing pad. */
uint32_t allocator_version_number(const struct allocator *a, const struct code_file *o) {
        static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
        uint8_t code[16] = {0};
        const uint8_t *at = code;
        uint32_t word;

        if (!a->version_begin ||
            code_file_read(o, a->version_begin, code, sizeof(code)) != sizeof(code))
                return 0;
        if (bytes_le32(at) == 0xd503245f || memcmp(at, endbr64, sizeof(endbr64)) == 0) /* bti c */
                at += 4;
        word = bytes_le32(at);
        if ((word & 0xffe0001f) == 0x52800000 && bytes_le32(at + 4) == 0xd65f03c0)
                return word >> 5 & 0xffff;
        return at[0] == 0xb8 && at[5] == 0xc3 ? bytes_le32(at + 1) : 0;
}

int allocator_function_patch(const struct allocator_function *f, enum patch_machine machine,
                             const struct code_file *o, const struct patch_target *to,
                             struct patch *ret, struct err *reterr) {
        struct patch_function function = {.machine = machine, .addr = f->begin + o->bias};
        size_t want_bytes = f->n_bytes + f->padding_bytes, n_bytes;
        _cleanup_free_ uint8_t *code = NULL;

        if (f->n_bytes == 0)
                return err_set(reterr, -ENOTSUP, "its length is unknown");
        if (want_bytes > ALLOCATOR_MAX_FUNCTION_BYTES)
                return err_set(reterr, -ENOTSUP, "it is longer than %d KiB",
                               ALLOCATOR_MAX_FUNCTION_BYTES >> 10);
        code = malloc(want_bytes);
        if (!code)
                return err_set(reterr, -ENOMEM, "out of memory");
        n_bytes = code_file_read(o, f->begin, code, want_bytes);
        if (n_bytes < f->n_bytes)
                return err_set(reterr, -ENOTSUP, "its code is not in the file");
        function.code = code;
        function.n_bytes = f->n_bytes;
        function.padding_bytes =
                patch_count_padding(machine, code + f->n_bytes, n_bytes - f->n_bytes);
        return patch_make(&function, to, ret, reterr);
}
