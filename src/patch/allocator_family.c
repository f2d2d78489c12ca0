/* SPDX-License-Identifier: MIT */
#include "patch/allocator_family.h"

#include "base/macros.h"
#include "wire/record.h"

enum { NONE = WIRE_ENTRY_NO_ARG, IN_HEAP = WIRE_ENTRY_HEAP_ARG };

/* clang-format off */
#define ALLOC(name, size, ...)          {name, WIRE_CALL_ALLOC, WIRE_FORM_MALLOC, size, NONE, NONE, __VA_ARGS__}
#define ALLOC_ALIGNED(name, size, ...)  {name, WIRE_CALL_ALLOC, WIRE_FORM_ALIGNED, size, NONE, NONE, __VA_ARGS__}
#define ALLOC_N(name, count, size, ...) {name, WIRE_CALL_ALLOC, WIRE_FORM_CALLOC, size, count, NONE, __VA_ARGS__}
#define ALLOC_OUT(name, size)           {name, WIRE_CALL_ALLOC_OUT, WIRE_FORM_ALIGNED, size, NONE, NONE}
#define ALLOC_TEXT(name, ...)           {name, WIRE_CALL_ALLOC_TEXT, WIRE_FORM_MALLOC, NONE, NONE, NONE, __VA_ARGS__}
#define NEW(name)                       {name, WIRE_CALL_ALLOC_THROWS, WIRE_FORM_NEW, 0, NONE, NONE}
#define NEW_ARRAY(name)                 {name, WIRE_CALL_ALLOC_THROWS, WIRE_FORM_NEW_ARRAY, 0, NONE, NONE}
#define NEW_N(name, count, size, ...)   {name, WIRE_CALL_ALLOC_THROWS, WIRE_FORM_NEW, size, count, NONE, __VA_ARGS__}
#define NEW_NOTHROW(name)               {name, WIRE_CALL_ALLOC, WIRE_FORM_NEW, 0, NONE, NONE}
#define NEW_ARRAY_NOTHROW(name)         {name, WIRE_CALL_ALLOC, WIRE_FORM_NEW_ARRAY, 0, NONE, NONE}
#define REALLOC(name, block, size, ...) {name, WIRE_CALL_REALLOC, WIRE_FORM_REALLOC, size, NONE, block, __VA_ARGS__}
#define REALLOC_N(name, block, count, size, ...) {name, WIRE_CALL_REALLOC, WIRE_FORM_REALLOC, size, count, block, __VA_ARGS__}
#define RESIZE(name, block, size, ...)  {name, WIRE_CALL_RESIZE, WIRE_FORM_REALLOC, size, NONE, block, __VA_ARGS__}
#define FREE(name)                      {name, WIRE_CALL_FREE, 0, NONE, NONE, 0}
#define FREE_AT(name, block)            {name, WIRE_CALL_FREE, 0, NONE, NONE, block}
#define DELETE_SIZED(name)              {name, WIRE_CALL_FREE, 0, 1, NONE, 0}
#define CALL(name, call)                {name, call, 0, NONE, NONE, NONE}
/* clang-format on */

/* What C has, under whatever prefix. */
#define C_ROLES                                                                                    \
        ALLOC("malloc", 0), ALLOC_N("calloc", 0, 1), REALLOC("realloc", 0, 1), FREE("free"),       \
                FREE("cfree"), REALLOC_N("reallocarray", 0, 1, 2), ALLOC_OUT("posix_memalign", 2), \
                ALLOC_ALIGNED("aligned_alloc", 1), ALLOC_ALIGNED("memalign", 1),                   \
                ALLOC("valloc", 0), ALLOC("pvalloc", 0), FREE("free_sized"),                       \
                FREE("free_aligned_sized")

static const struct family_role c_roles[] = {C_ROLES};

/* The size given to sdallocx may be anything from what was asked for to what was had: it proves nothing. */
static const struct family_role jemalloc_roles[] = {
        C_ROLES,
        ALLOC("mallocx", 0, WIRE_ENTRY_HEAP_FLAGS + 1),
        REALLOC("rallocx", 0, 1, WIRE_ENTRY_HEAP_FLAGS + 2),
        RESIZE("xallocx", 0, 1),
        FREE("dallocx"),
        FREE("sdallocx"),
        CALL("mallctl", WIRE_CALL_CONTROL),
        CALL("mallctlbymib", WIRE_CALL_CONTROL_MIB),
        CALL("mallctlnametomib", WIRE_CALL_NAME_TO_MIB),
};
static const char *const jemalloc_company[] = {"mallocx",          "rallocx",  "xallocx",
                                               "dallocx",          "sdallocx", "nallocx",
                                               "sallocx",          "mallctl",  "mallctlbymib",
                                               "mallctlnametomib", NULL};
/* Behind the prefix of what is private, which may be none. */
static const char *const jemalloc_inner[] = {"je_arena_",        "je_tcache_", "je_tsd_",
                                             "je_malloc_mutex_", "je_base_",   "je_rtree_",
                                             "je_extent",        "je_edata_",  "je_emap_",
                                             "je_large_",        "je_pages_",  "je_bin_",
                                             "je_malloc_tsd",    NULL};
static const char *const jemalloc_telling[] = {"_rjem_", NULL};
static const char *const jemalloc_own[] = {"je_", "_rjem_", NULL};

static const struct family_role mimalloc_roles[] = {
        C_ROLES,
        ALLOC("zalloc", 0),
        ALLOC("malloc_small", 0),
        ALLOC("zalloc_small", 0),
        ALLOC_N("mallocn", 0, 1),
        REALLOC_N("reallocn", 0, 1, 2),
        REALLOC("reallocf", 0, 1),
        REALLOC("rezalloc", 0, 1),
        REALLOC_N("recalloc", 0, 1, 2),
        REALLOC("expand", 0, 1),
        FREE("free_size"),
        FREE("free_size_aligned"),
        FREE("free_aligned"),
        ALLOC_TEXT("strdup"),
        ALLOC_TEXT("strndup"),
        ALLOC_TEXT("mbsdup"),
        ALLOC_TEXT("realpath"),
        ALLOC_ALIGNED("malloc_aligned", 0),
        ALLOC_ALIGNED("malloc_aligned_at", 0),
        ALLOC_ALIGNED("zalloc_aligned", 0),
        ALLOC_ALIGNED("zalloc_aligned_at", 0),
        ALLOC_N("calloc_aligned", 0, 1),
        ALLOC_N("calloc_aligned_at", 0, 1),
        REALLOC("realloc_aligned", 0, 1),
        REALLOC("realloc_aligned_at", 0, 1),
        REALLOC("rezalloc_aligned", 0, 1),
        REALLOC("rezalloc_aligned_at", 0, 1),
        REALLOC_N("recalloc_aligned", 0, 1, 2),
        REALLOC_N("recalloc_aligned_at", 0, 1, 2),
        ALLOC("heap_malloc", 1, IN_HEAP),
        ALLOC("heap_zalloc", 1, IN_HEAP),
        ALLOC_N("heap_calloc", 1, 2, IN_HEAP),
        ALLOC_N("heap_mallocn", 1, 2, IN_HEAP),
        ALLOC("heap_malloc_small", 1, IN_HEAP),
        REALLOC("heap_realloc", 1, 2, IN_HEAP),
        REALLOC_N("heap_reallocn", 1, 2, 3, IN_HEAP),
        REALLOC("heap_reallocf", 1, 2, IN_HEAP),
        REALLOC("heap_rezalloc", 1, 2, IN_HEAP),
        REALLOC_N("heap_recalloc", 1, 2, 3, IN_HEAP),
        ALLOC_TEXT("heap_strdup", IN_HEAP),
        ALLOC_TEXT("heap_strndup", IN_HEAP),
        ALLOC_TEXT("heap_realpath", IN_HEAP),
        ALLOC_ALIGNED("heap_malloc_aligned", 1, IN_HEAP),
        ALLOC_ALIGNED("heap_malloc_aligned_at", 1, IN_HEAP),
        ALLOC_ALIGNED("heap_zalloc_aligned", 1, IN_HEAP),
        ALLOC_ALIGNED("heap_zalloc_aligned_at", 1, IN_HEAP),
        ALLOC_N("heap_calloc_aligned", 1, 2, IN_HEAP),
        ALLOC_N("heap_calloc_aligned_at", 1, 2, IN_HEAP),
        REALLOC("heap_realloc_aligned", 1, 2, IN_HEAP),
        REALLOC("heap_realloc_aligned_at", 1, 2, IN_HEAP),
        REALLOC("heap_rezalloc_aligned", 1, 2, IN_HEAP),
        REALLOC("heap_rezalloc_aligned_at", 1, 2, IN_HEAP),
        REALLOC_N("heap_recalloc_aligned", 1, 2, 3, IN_HEAP),
        REALLOC_N("heap_recalloc_aligned_at", 1, 2, 3, IN_HEAP),
        REALLOC_N("aligned_recalloc", 0, 1, 2),
        REALLOC_N("aligned_offset_recalloc", 0, 1, 2),
        NEW_N("heap_alloc_new", WIRE_ENTRY_NO_ARG, 1, IN_HEAP),
        NEW_N("heap_alloc_new_n", 1, 2, IN_HEAP),
        NEW("new"),
        NEW_NOTHROW("new_nothrow"),
        NEW("new_aligned"),
        NEW_NOTHROW("new_aligned_nothrow"),
        NEW_N("new_n", 0, 1),
        REALLOC("new_realloc", 0, 1),
        REALLOC_N("new_reallocn", 0, 1, 2),
        CALL("heap_new", WIRE_CALL_HEAP_NEW),
        CALL("heap_new_in_arena", WIRE_CALL_HEAP_NEW),
        {"heap_new_ex", WIRE_CALL_HEAP_NEW, 0, 1, NONE, NONE}, /* may it be destroyed? */
        CALL("heap_destroy", WIRE_CALL_HEAP_DESTROY),
        CALL("heap_delete", WIRE_CALL_HEAP_DELETE),
        CALL("heap_set_default", WIRE_CALL_HEAP_DEFAULT),
};
static const char *const mimalloc_own[] = {"mi_", "_mi_", NULL};
static const char *const mimalloc_inner[] = {"_mi_malloc_generic", "_mi_page_", "_mi_segment_",
                                             "_mi_heap_",          "_mi_os_",   "_mi_arena_",
                                             "_mi_theap_",         NULL};
static const char *const mimalloc_telling[] = {"mi_heap_malloc",     "mi_heap_zalloc",
                                               "mi_heap_calloc",     "mi_heap_realloc",
                                               "mi_malloc_aligned",  "mi_zalloc_aligned",
                                               "mi_realloc_aligned", "mi_rezalloc",
                                               "mi_free_size",       NULL};

static const struct family_role gperftools_roles[] = {
        C_ROLES,
        ALLOC("malloc_skip_new_handler", 0),
        NEW("new"),
        NEW("new_aligned"),
        NEW_NOTHROW("new_nothrow"),
        NEW_NOTHROW("new_aligned_nothrow"),
        NEW_ARRAY("newarray"),
        NEW_ARRAY("newarray_aligned"),
        NEW_ARRAY_NOTHROW("newarray_nothrow"),
        NEW_ARRAY_NOTHROW("newarray_aligned_nothrow"),
        FREE("delete"),
        DELETE_SIZED("delete_sized"),
        FREE("delete_nothrow"),
        FREE("delete_aligned"),
        FREE("delete_aligned_nothrow"),
        DELETE_SIZED("delete_sized_aligned"),
        FREE("deletearray"),
        DELETE_SIZED("deletearray_sized"),
        FREE("deletearray_nothrow"),
        FREE("deletearray_aligned"),
        FREE("deletearray_aligned_nothrow"),
        DELETE_SIZED("deletearray_sized_aligned"),
};
static const char *const gperftools_own[] = {"tc_", "_ZN8tcmalloc", "_ZN12_GLOBAL__N_1", NULL};
static const char *const gperftools_inner[] = {"_ZN8tcmalloc", NULL};
static const char *const gperftools_telling[] = {
        "tc_malloc_skip_new_handler", "tc_newarray", "tc_deletearray", "tc_new_nothrow",
        "tc_delete_nothrow",          NULL};

static const struct family_role tcmalloc_roles[] = {
        ALLOC("Malloc", 0),
        ALLOC_N("Calloc", 0, 1),
        REALLOC("Realloc", 0, 1),
        REALLOC_N("ReallocArray", 0, 1, 2),
        FREE("Free"),
        FREE("FreeSized"),
        FREE("FreeAlignedSized"),
        FREE("Cfree"),
        FREE("Sdallocx"),
        ALLOC_ALIGNED("Memalign", 1),
        ALLOC_ALIGNED("AlignedAlloc", 1),
        ALLOC_OUT("PosixMemalign", 2),
        ALLOC("Valloc", 0),
        ALLOC("Pvalloc", 0),
        NEW("New"),
        NEW("NewAligned"),
        NEW_NOTHROW("NewNothrow"),
        NEW_NOTHROW("NewAlignedNothrow"),
        NEW_NOTHROW("NewAligned_nothrow"),
        NEW_ARRAY("NewArray"),
        NEW_ARRAY("NewArrayAligned"),
        NEW_ARRAY_NOTHROW("NewArrayNothrow"),
        NEW_ARRAY_NOTHROW("NewArrayAlignedNothrow"),
        FREE("Delete"),
        DELETE_SIZED("DeleteSized"),
        FREE("DeleteAligned"),
        DELETE_SIZED("DeleteSizedAligned"),
        FREE("DeleteNothrow"),
        FREE("DeleteArray"),
        DELETE_SIZED("DeleteArraySized"),
        FREE("DeleteArrayAligned"),
        DELETE_SIZED("DeleteArraySizedAligned"),
        FREE("DeleteArrayNothrow"),
};
static const char *const tcmalloc_own[] = {"TCMallocInternal", "_ZN8tcmalloc", NULL};
static const char *const tcmalloc_telling[] = {"TCMallocInternal", NULL};

/* The rust_ forms take (alignment, size), (block, alignment, size), (block, alignment, old size, new size). */
static const struct family_role snmalloc_roles[] = {
        C_ROLES,
        ALLOC_ALIGNED("rust_alloc", 1),
        ALLOC_ALIGNED("rust_alloc_zeroed", 1),
        FREE("rust_dealloc"),
        REALLOC("rust_realloc", 0, 3),
};
static const char *const snmalloc_own[] = {"sn_", "_ZN8snmalloc", NULL};
static const char *const snmalloc_inner[] = {"_ZN8snmalloc", NULL};
static const char *const snmalloc_telling[] = {"sn_rust_", NULL};

static const struct family_role new_roles[] = {
        NEW("_Znwm"),
        NEW_ARRAY("_Znam"),
        NEW("_ZnwmSt11align_val_t"),
        NEW_ARRAY("_ZnamSt11align_val_t"),
        NEW_NOTHROW("_ZnwmRKSt9nothrow_t"),
        NEW_ARRAY_NOTHROW("_ZnamRKSt9nothrow_t"),
        NEW_NOTHROW("_ZnwmSt11align_val_tRKSt9nothrow_t"),
        NEW_ARRAY_NOTHROW("_ZnamSt11align_val_tRKSt9nothrow_t"),
        FREE("_ZdlPv"),
        FREE("_ZdaPv"),
        DELETE_SIZED("_ZdlPvm"),
        DELETE_SIZED("_ZdaPvm"),
        FREE("_ZdlPvRKSt9nothrow_t"),
        FREE("_ZdaPvRKSt9nothrow_t"),
        FREE("_ZdlPvSt11align_val_t"),
        FREE("_ZdaPvSt11align_val_t"),
        FREE("_ZdlPvSt11align_val_tRKSt9nothrow_t"),
        FREE("_ZdaPvSt11align_val_tRKSt9nothrow_t"),
        DELETE_SIZED("_ZdlPvmSt11align_val_t"),
        DELETE_SIZED("_ZdaPvmSt11align_val_t"),
};

static const struct family_role loader_roles[] = {
        {"_dl_debug_state", WIRE_CALL_LOADED, 0, NONE, NONE, NONE},
};

static const struct family_role rights_roles[] = {
        {"prctl", WIRE_CALL_PRCTL, 0, NONE, NONE, NONE},
};

static const char *const glibc_company[] = {"mallopt", "malloc_stats", "malloc_trim", NULL};
static const char *const glibc_own[] = {"__libc_mall", "__libc_memalign", "mallinfo",
                                        "malloc_",     "mallopt",         NULL};

static const char *const no_own[] = {NULL};

#define ROLES(of) of##_roles, ARRAY_SIZE(of##_roles)

/* Those with names of their own first: what they have in common with C belongs to them. */
const struct family families[] = {
        {"jemalloc", NULL, NULL, jemalloc_company, jemalloc_inner, jemalloc_telling, jemalloc_own,
         ROLES(jemalloc), .has_heaps = true},
        {"mimalloc", "mi_", NULL, NULL, mimalloc_inner, mimalloc_telling, mimalloc_own,
         ROLES(mimalloc), .has_heaps = true},
        {"gperftools", "tc_", NULL, NULL, gperftools_inner, gperftools_telling, gperftools_own,
         ROLES(gperftools)},
        {"tcmalloc", "TCMallocInternal", NULL, NULL, NULL, tcmalloc_telling, tcmalloc_own,
         ROLES(tcmalloc)},
        {"snmalloc", "sn_", NULL, NULL, snmalloc_inner, snmalloc_telling, snmalloc_own,
         ROLES(snmalloc)},
        {"glibc", "", "malloc_info", glibc_company, NULL, NULL, glibc_own, ROLES(c),
         .is_global_only = true, .is_preloadable = true, .has_nameless_code = true},
        {"malloc", "", "malloc", NULL, NULL, NULL, no_own, ROLES(c), .is_global_only = true,
         .is_preloadable = true},
        {"operator new", "", NULL, NULL, NULL, NULL, no_own, ROLES(new), .is_global_only = true,
         .is_preloadable = true},
        {"rights", "", "prctl", NULL, NULL, NULL, no_own, ROLES(rights), .is_global_only = true,
         .is_preloadable = true, .is_attached_only = true},
        {"loader", "", "_dl_debug_state", NULL, NULL, NULL, no_own, ROLES(loader),
         .is_loader = true},
};
const size_t n_families = ARRAY_SIZE(families);
