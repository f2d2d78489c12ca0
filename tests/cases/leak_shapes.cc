/* SPDX-License-Identifier: MIT */
/* leak_shapes MODE [LIBRARY]: one way to keep or lose blocks, and then a normal end. The modes are the table at the end; leak_shapes.py runs each
 * under silt and under memcheck. Nothing else of it allocates, and no pointer stays on the stack by chance: each mode runs in a frame of its own, which is
 * wiped after it. */
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <new>
#include <pthread.h>
#include <setjmp.h>
#include <string>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

enum { PAGE = 4096 };

struct node {
        node *next, *other;
        char pad[40];
};

static void *volatile held[8];
static char *volatile held_inside;
static const char *library;

static NOINLINE void keep(void *p) {
        held[0] = p;
}

static NOINLINE void use(void *p) {
        asm volatile("" ::"r"(p) : "memory");
}

static NOINLINE node *make(size_t n_bytes = sizeof(node)) {
        void *p = malloc(n_bytes);

        memset(p, 0, n_bytes);
        return (node *)p;
}

/* ---- pointers in variables ---- */

static void nothing(void) {}
static void global_start(void) {
        keep(make());
}
static void global_interior(void) {
        held_inside = (char *)make() + 8;
}
static void global_last_byte(void) {
        held_inside = (char *)make(56) + 55;
}
static void global_behind_end(void) {
        held_inside = (char *)make(64) + 64;
}
static void global_before_begin(void) {
        held_inside = (char *)make() - 1;
}
static void overwritten(void) {
        keep(make());
        keep(make(72));
}
static void hidden_by_xor(void) {
        held[0] = (void *)((uintptr_t)make() ^ UINTPTR_MAX);
}
static void tagged_low_bit(void) {
        held[0] = (void *)((uintptr_t)make() | 1);
}
static void function_static(void) {
        static void *volatile p;
        p = make();
}

static char packed[64];
static void unaligned_word(void) {
        node *p = make();

        memcpy(packed + 3, &p, sizeof(p));
}

static void unaligned_word_in_block(void) {
        node *holder = make(), *p = make(80);

        memcpy((char *)holder + 19, &p, sizeof(p));
        keep(holder);
}

static void start_and_interior(void) {
        node *p = make();

        held_inside = (char *)p + 16;
        keep(p);
}

/* ---- blocks that point to blocks ---- */

static node *chain(unsigned n) {
        node *first = nullptr;

        for (unsigned i = 0; i < n; i++) {
                node *one = make(56 + 8 * i);

                one->next = first;
                first = one;
        }
        return first;
}

static void lost_alone(void) {
        use(make());
}
static void lost_chain(void) {
        use(chain(4));
}
static void kept_chain(void) {
        keep(chain(4));
}
static void chain_from_interior(void) {
        held_inside = (char *)chain(3) + 16;
}

static void chain_through_interior(void) {
        node *first = chain(1), *rest = chain(2);

        first->next = (node *)((char *)rest + 8);
        keep(first);
}

static void lost_through_interior(void) {
        node *first = chain(1), *rest = chain(2);

        first->next = (node *)((char *)rest + 8);
        use(first);
}

static void lost_cycle(void) {
        node *last = make(), *first = make(72);

        first->next = last;
        last->next = first;
}

static void lost_self(void) {
        node *p = make();

        p->next = p;
}

static void lost_cycle_with_tail(void) {
        node *a = make(), *b = make(64), *c = make(72);

        a->next = b;
        b->next = a;
        b->other = c;
}

static void head_into_lost_cycle(void) {
        node *head = make(88), *a = make(), *b = make(64);

        head->next = a;
        a->next = b;
        b->next = a;
}

static void two_lost_share(void) {
        node *a = make(), *b = make(64), *shared = make(72);

        a->next = shared;
        b->next = shared;
}

static void kept_and_lost_share(void) {
        node *a = make(), *b = make(64), *shared = make(72);

        a->next = shared;
        b->next = shared;
        keep(a);
}

static void held_by_freed(void) {
        node *a = make(512), *b = make(64);

        a->other = b;
        keep(a);
        free(a);
}

/* ---- memcheck's heuristics ---- */

static void like_stdstring(
        void) { /* length, capacity, references, then the text that is pointed to */
        uint64_t *p = (uint64_t *)make(3 * 8 + 40 + 1);

        p[0] = 11;
        p[1] = 40;
        held_inside = (char *)(p + 3);
}

static void like_length64(void) {
        uint64_t *p = (uint64_t *)make(8 + 100);

        p[0] = 100;
        held_inside = (char *)(p + 1);
}

struct with_destructor {
        char bytes[12];
        ~with_destructor() {
                use(this);
        }
};

static void new_array(void) {
        held[0] = new with_destructor[5];
}

struct left {
        virtual ~left() {
                use(this);
        }
        long a = 1;
};
struct right {
        virtual ~right() {
                use(this);
        }
        long b = 2;
};
struct both : left, right {
        long c = 3;
};

static void second_base(void) {
        held[0] = static_cast<right *>(new both);
}

/* ---- ways to allocate ---- */

static void of_no_size(void) {
        keep(malloc(0));
        use(malloc(0));
}
static void large_lost(void) {
        use(make(1 << 20));
}
static void large_kept(void) {
        keep(make(1 << 20));
}
static void calloc_lost(void) {
        use(calloc(3, 40));
}
static void realloc_moved(void) {
        keep(realloc(make(24), 5000));
}
static void realloc_lost(void) {
        use(realloc(make(24), 5000));
}
static void aligned_kept(void) {
        keep(aligned_alloc(256, 512));
}

static void aligned_lost(void) {
        void *p = nullptr;

        if (posix_memalign(&p, 4096, 300) == 0)
                use(p);
        p = nullptr;
        use(&p);
}

static void new_lost(void) {
        use(new (std::nothrow) char[33]);
        use(::operator new(34));
}
static NOINLINE void std_string(void) {
        held[0] = new std::string(200, 'x');
}

/* ---- mappings ---- */

static void **map(int prot, int flags, int fd = -1) {
        void *p = mmap(nullptr, PAGE, prot, flags, fd, 0);

        if (p == MAP_FAILED)
                _exit(9);
        return (void **)p;
}

static void in_mapping(void) {
        map(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS)[7] = make();
}
static void in_shared_mapping(void) {
        map(PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS)[7] = make();
}

static void in_unreadable_mapping(void) {
        void **p = map(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);

        p[7] = make();
        mprotect(p, PAGE, PROT_NONE);
}

static void in_read_only_mapping(void) {
        void **p = map(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);

        p[7] = make();
        mprotect(p, PAGE, PROT_READ);
}

static void in_unmapped(void) {
        void **p = map(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);

        p[7] = make();
        munmap(p, PAGE);
}

static void in_mapped_file(void) {
        int fd = memfd_create("x", MFD_CLOEXEC);

        if (fd < 0 || ftruncate(fd, PAGE) < 0)
                _exit(9);
        map(PROT_READ | PROT_WRITE, MAP_SHARED, fd)[7] = make();
}

static char constant_page[PAGE] __attribute__((aligned(4096)));
static void in_data_made_constant(void) {
        void *p = make();

        memcpy(constant_page + 64, &p, sizeof(p));
        mprotect(constant_page, PAGE, PROT_READ);
}

/* ---- threads and stacks ---- */

static thread_local void *volatile own;
static void thread_local_of_main(void) {
        own = make();
}

static pthread_barrier_t barrier;

static NOINLINE void wipe_stack(void) {
        char b[32 << 10];

        memset(b, 0, sizeof(b));
        asm volatile("" ::"r"(b) : "memory");
}

static NOINLINE char *make_inside(size_t offset) {
        return (char *)make(96) + offset;
}

static void *wait_for_ever(void *offset) {
        void *volatile p = make_inside((size_t)offset);

        wipe_stack();
        pthread_barrier_wait(&barrier);
        for (;;)
                pause();
        use((void *)&p);
        return p;
}

static void *keep_own(void *) {
        own = make(96);
        pthread_barrier_wait(&barrier);
        for (;;)
                pause();
}

static void *lose_own(void *) {
        own = make(96);
        return nullptr;
}

static void *lose_on_stack(void *) {
        void *volatile p = make(96);

        use((void *)&p);
        return nullptr;
}

static void start(void *(*fn)(void *), void *what, bool joins) {
        pthread_attr_t a;
        pthread_t t;

        pthread_barrier_init(&barrier, nullptr, 2);
        pthread_attr_init(&a);
        pthread_attr_setstacksize(&a, 256 << 10);
        if (pthread_create(&t, &a, fn, what) != 0)
                _exit(9);
        if (joins)
                pthread_join(t, nullptr);
        else
                pthread_barrier_wait(&barrier);
}

static void thread_stack(void) {
        start(wait_for_ever, nullptr, false);
}
static void thread_stack_interior(void) {
        start(wait_for_ever, (void *)8, false);
}
static void thread_local_of_other(void) {
        start(keep_own, nullptr, false);
}
static void thread_local_of_ended(void) {
        start(lose_own, nullptr, true);
}
static void stack_of_ended(void) {
        start(lose_on_stack, nullptr, true);
}

static void key_of_thread(void) {
        pthread_key_t key;

        pthread_key_create(&key, nullptr);
        pthread_setspecific(key, make());
}

static jmp_buf back;
static NOINLINE void jump_away(void) {
        void *volatile p = make();

        use((void *)&p);
        longjmp(back, 1);
}

static void longjmped_over(void) {
        if (setjmp(back) == 0)
                jump_away();
}

static ucontext_t main_context, other_context;
static void hold_and_switch(void) {
        void *volatile p = make(96);

        swapcontext(&other_context, &main_context);
        use((void *)&p);
}

static void on_stack_at(void *stack, size_t n_bytes) {
        getcontext(&other_context);
        other_context.uc_stack.ss_sp = stack;
        other_context.uc_stack.ss_size = n_bytes;
        makecontext(&other_context, hold_and_switch, 0);
        swapcontext(&main_context, &other_context);
        memset(&other_context, 0, sizeof(other_context)); /* the registers it was left with */
        memset(&main_context, 0, sizeof(main_context));
}

static void stack_in_mapping(void) {
        void *p =
                mmap(nullptr, 64 << 10, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        on_stack_at(p, 64 << 10);
}

static void stack_in_kept_block(void) {
        void *p = calloc(1, 64 << 10);

        keep(p);
        on_stack_at(p, 64 << 10);
}

static void stack_in_lost_block(void) {
        on_stack_at(calloc(1, 64 << 10), 64 << 10);
}

/* ---- libraries ---- */

static void in_library(bool closes) {
        void *handle = dlopen(library, RTLD_NOW);
        void **slot = handle ? (void **)dlsym(handle, "slot") : nullptr;

        if (!slot)
                _exit(9);
        *slot = make();
        slot = nullptr;
        use(&slot);
        if (closes)
                dlclose(handle);
}

static void in_open_library(void) {
        in_library(false);
}
static void in_closed_library(void) {
        in_library(true);
}

static void in_environment(void) {
        char *p = (char *)make(64);

        strcpy(p, "SHAPE=1");
        putenv(p);
}

/* ---- the table ---- */

#define MODE(x)                                                                                    \
        { #x, x }
static const struct {
        const char *name;
        void (*run)(void);
} modes[] = {
        MODE(nothing),
        MODE(global_start),
        MODE(global_interior),
        MODE(global_last_byte),
        MODE(global_behind_end),
        MODE(global_before_begin),
        MODE(overwritten),
        MODE(hidden_by_xor),
        MODE(tagged_low_bit),
        MODE(function_static),
        MODE(unaligned_word),
        MODE(unaligned_word_in_block),
        MODE(start_and_interior),
        MODE(lost_alone),
        MODE(lost_chain),
        MODE(kept_chain),
        MODE(chain_from_interior),
        MODE(chain_through_interior),
        MODE(lost_through_interior),
        MODE(lost_cycle),
        MODE(lost_self),
        MODE(lost_cycle_with_tail),
        MODE(head_into_lost_cycle),
        MODE(two_lost_share),
        MODE(kept_and_lost_share),
        MODE(held_by_freed),
        MODE(like_stdstring),
        MODE(like_length64),
        MODE(new_array),
        MODE(second_base),
        MODE(of_no_size),
        MODE(large_lost),
        MODE(large_kept),
        MODE(calloc_lost),
        MODE(realloc_moved),
        MODE(realloc_lost),
        MODE(aligned_kept),
        MODE(aligned_lost),
        MODE(new_lost),
        MODE(std_string),
        MODE(in_mapping),
        MODE(in_shared_mapping),
        MODE(in_unreadable_mapping),
        MODE(in_read_only_mapping),
        MODE(in_unmapped),
        MODE(in_mapped_file),
        MODE(in_data_made_constant),
        MODE(thread_local_of_main),
        MODE(thread_stack),
        MODE(thread_stack_interior),
        MODE(thread_local_of_other),
        MODE(thread_local_of_ended),
        MODE(stack_of_ended),
        MODE(key_of_thread),
        MODE(longjmped_over),
        MODE(stack_in_mapping),
        MODE(stack_in_kept_block),
        MODE(stack_in_lost_block),
        MODE(in_open_library),
        MODE(in_closed_library),
        MODE(in_environment),
};

static NOINLINE int run(const char *name) {
        for (const auto &m : modes)
                if (!strcmp(m.name, name)) {
                        m.run();
                        return 0;
                }
        return 2;
}

int main(int argc, char **argv) {
        int status;

        if (argc > 1 && !strcmp(argv[1], "modes")) {
                for (const auto &m : modes)
                        if (write(1, m.name, strlen(m.name)) < 0 || write(1, "\n", 1) < 0)
                                return 1;
                return 0;
        }
        if (argc < 2)
                return 2;
        library = argc > 2 ? argv[2] : "";
        status = run(argv[1]);
        wipe_stack();
        /* callee-saved registers may still hold what a mode worked with */
#ifdef __x86_64__
        asm volatile("" ::: "rbx", "r12", "r13", "r14", "r15");
#endif
        return status;
}
