/* SPDX-License-Identifier: MIT */
/* Copies of processes that this test forks: variables are at the same address in all of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attach/frozen.h"
#include "attach/frozen_check.h"
#include "base/fs.h"
#include "base/system_clock.h"

enum { PAGE = 4096, N_LINKS = 6, N_COPIES = 8, UNKNOWN_USER = 65534 };

/* Shared with the target, which says there what it has seen. */
struct seen {
        _Atomic uint32_t n_ready, n_wrong;
        _Atomic bool is_over;
        _Atomic uint64_t longest_ns;
};
static struct seen *seen;

/* Each thread copies its left neighbour's: none is ever greater than that. Private, each on a page of its own; those copied last are the last. */
static _Atomic uint64_t *chain;

static int set_up(void **state) {
        seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        chain = mmap(NULL, (size_t)N_LINKS * PAGE, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        return seen == MAP_FAILED || chain == MAP_FAILED;
}

static _Atomic uint64_t *link_at(size_t i) {
        return chain + i * (PAGE / sizeof(*chain));
}

static pid_t start(void (*run)(void)) {
        pid_t pid;

        memset(seen, 0, sizeof(*seen));
        pid = fork();
        if (pid == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                run();
                _exit(0);
        }
        while (!seen->n_ready)
                poll(NULL, 0, 1);
        return pid;
}

static void finish(pid_t pid) {
        int status;

        seen->is_over = true;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
        assert_int_equal(seen->n_wrong, 0);
}

static void make(struct frozen *f, pid_t pid) {
        struct err err = {0};

        if (frozen_check(pid, &err) < 0 || frozen_make(f, pid, NULL, NULL, &err) < 0)
                fail_msg("%s", err.text);
}

static void end(struct frozen *f) {
        struct err err = {0};

        if (frozen_end(f, &err) < 0)
                fail_msg("%s", err.text);
}

static uint64_t read_word(const struct frozen *f, const void *at) {
        uint64_t word = 0;

        assert_int_equal(pread(f->mem_fd, &word, sizeof(word), (off_t)(uintptr_t)at), sizeof(word));
        return word;
}

/* ---- one moment ----------------------------------------------------------------------------------- */

static void *pass_on(void *arg) {
        size_t i = (size_t)(uintptr_t)arg;

        seen->n_ready++;
        while (!seen->is_over)
                for (unsigned k = 0; k < 1000; k++)
                        *link_at(i) = i ? *link_at(i - 1) : *link_at(0) + 1;
        return NULL;
}

/* How long it was kept from looking at the clock. */
static void *watch_clock(void *unused) {
        uint64_t last_ns = clock_now_ns();

        (void)unused;
        while (!seen->is_over) {
                uint64_t ns = clock_now_ns();

                if (ns - last_ns > seen->longest_ns)
                        seen->longest_ns = ns - last_ns;
                last_ns = ns;
        }
        return NULL;
}

static void run_chain(void) {
        pthread_t threads[N_LINKS + 1];

        for (size_t i = 0; i < N_LINKS; i++)
                pthread_create(&threads[i], NULL, pass_on, (void *)(uintptr_t)i);
        pthread_create(&threads[N_LINKS], NULL, watch_clock, NULL);
        for (size_t i = 0; i <= N_LINKS; i++)
                pthread_join(threads[i], NULL);
}

static void check_chain(const struct frozen *f, uint64_t *ret_words) {
        for (size_t i = 0; i < N_LINKS; i++)
                ret_words[i] = read_word(f, link_at(i));
        for (size_t i = 1; i < N_LINKS; i++)
                assert_true(ret_words[i] <= ret_words[i - 1]);
}

static void test_one_moment(void **state) {
        pid_t pid = start(run_chain);
        uint64_t before = 0, words[N_LINKS], again[N_LINKS];

        while (seen->n_ready < N_LINKS)
                poll(NULL, 0, 1);
        for (unsigned i = 0; i < N_COPIES; i++) {
                struct frozen f;

                make(&f, pid);
                check_chain(&f, words);
                poll(NULL, 0, 2);
                check_chain(&f, again);
                assert_memory_equal(words, again, sizeof(words));
                assert_true(words[0] > before || i == 0); /* and it runs on meanwhile */
                before = words[0];
                assert_int_equal(f.threads.n, N_LINKS + 2);
                end(&f);
        }
        finish(pid);
}

static void kill_it(void *ctx, const struct frozen *f) {
        (void)ctx;
        kill(f->pid, SIGKILL);
}

/* Killed while all threads stand still, as by want of memory: whoever waits for it hears of it while the copy is still there. */
static void test_killed_at_the_moment(void **state) {
        enum { PATIENCE_MS = 60000 };
        pid_t pid = start(run_chain), ended = 0;
        struct err err = {0};
        struct frozen f;
        int status;

        while (seen->n_ready < N_LINKS)
                poll(NULL, 0, 1);
        assert_int_equal(frozen_check(pid, &err), 0);
        if (frozen_make(&f, pid, kill_it, NULL, &err) < 0)
                fail_msg("%s", err.text);
        for (int i = 0; i < PATIENCE_MS && ended == 0; i++) {
                ended = waitpid(pid, &status, WNOHANG);
                poll(NULL, 0, 1);
        }
        assert_int_equal(ended, pid);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        read_word(&f, link_at(0));
        end(&f);
}

/* Registers are those of the moment: each thread's stack pointer is in a stack of its own, and its name is known. */
static void test_threads(void **state) {
        pid_t pid = start(run_chain);
        struct frozen f;

        while (seen->n_ready < N_LINKS)
                poll(NULL, 0, 1);
        make(&f, pid);
        for (size_t i = 0; i < f.threads.n; i++) {
                const struct frozen_thread *one = &f.threads.items[i];

                assert_string_equal(one->name, "frozen_test");
                assert_true(one->n_regs >= 16 && !one->is_partial);
                read_word(&f, (const void *)(uintptr_t)one->sp);
                read_word(&f, (const void *)(uintptr_t)(one->pc & ~UINT64_C(7)));
                for (size_t k = 0; k < i; k++)
                        assert_true(f.threads.items[k].sp - one->sp > 4 * PAGE);
        }
        end(&f);
        finish(pid);
}

/* Counts in a register and in memory, one after the other. */
#if defined(__aarch64__)
enum { COUNTER_REG = 19 };
#define COUNT_UP(at, n)                                                                            \
        __asm__ volatile(".globl frozen_test_loop\n"                                               \
                         "mov x19, #0\n"                                                           \
                         "frozen_test_loop:\n"                                                     \
                         "str x19, [%0]\n"                                                         \
                         "add x19, x19, #1\n"                                                      \
                         "cmp x19, %1\n"                                                           \
                         "b.ne frozen_test_loop\n"                                                 \
                         ".globl frozen_test_loop_end\n"                                           \
                         "frozen_test_loop_end:\n" ::"r"(at),                                      \
                         "r"(n)                                                                    \
                         : "x19", "cc", "memory")
#else
enum { COUNTER_REG = 3 };
#define COUNT_UP(at, n)                                                                            \
        __asm__ volatile(".globl frozen_test_loop\n"                                               \
                         "xor %%ebx, %%ebx\n"                                                      \
                         "frozen_test_loop:\n"                                                     \
                         "mov %%rbx, (%0)\n"                                                       \
                         "inc %%rbx\n"                                                             \
                         "cmp %1, %%rbx\n"                                                         \
                         "jne frozen_test_loop\n"                                                  \
                         ".globl frozen_test_loop_end\n"                                           \
                         "frozen_test_loop_end:\n" ::"r"(at),                                      \
                         "r"(n)                                                                    \
                         : "rbx", "cc", "memory")
#endif
extern const char frozen_test_loop[], frozen_test_loop_end[];

__attribute__((noinline)) static void count_up(void) {
        COUNT_UP(chain, UINT64_C(100000000));
}

static void *count_on(void *unused) {
        (void)unused;
        seen->n_ready++;
        while (!seen->is_over)
                count_up();
        return NULL;
}

static void run_counter(void) {
        pthread_t thread;

        pthread_create(&thread, NULL, count_on, NULL);
        pthread_join(thread, NULL);
}

/* What a thread has in its registers belongs to what it has in memory. */
static void test_registers(void **state) {
        pid_t pid = start(run_counter);
        unsigned n_within = 0;

        for (unsigned i = 0; i < N_COPIES; i++) {
                struct frozen f;

                make(&f, pid);
                assert_int_equal(f.threads.n, 2);
                for (size_t k = 0; k < 2; k++) {
                        const struct frozen_thread *one = &f.threads.items[k];
                        uint64_t word = read_word(&f, chain);

                        if (one->pc - (uintptr_t)frozen_test_loop >=
                            (uintptr_t)(frozen_test_loop_end - frozen_test_loop))
                                continue;
                        n_within++;
                        assert_in_range(one->regs[COUNTER_REG] - word, 0, 1);
                }
                end(&f);
                poll(NULL, 0, 2);
        }
        assert_in_range(n_within, N_COPIES / 2, N_COPIES);
        finish(pid);
}

static void note_moment(void *ctx, const struct frozen *f) {
        uint64_t *times = ctx;

        times[0] = f->moment_ns;
        times[1] = clock_now_ns();
        times[2] = *link_at(0); /* of this process: nobody counts here */
        assert_true(f->copy > 0);
        assert_int_equal(f->mem_fd, -1);
}

static void test_moment(void **state) {
        pid_t pid = start(run_chain);
        uint64_t times[3] = {0}, begin_ns = clock_now_ns();
        struct err err = {0};
        struct frozen f;

        assert_int_equal(frozen_make(&f, pid, note_moment, times, &err), 0);
        assert_true(times[0] > begin_ns && times[1] >= times[0]);
        assert_int_equal(f.moment_ns, times[0]);
        assert_true(f.moment_counter > 0);
        end(&f);
        finish(pid);
}

/* ---- nothing is seen of it ----------------------------------------------------------------------------- */

static void on_child(int sig) {
        (void)sig;
        seen->n_wrong++;
}

/* Has no child, then one that it waits for. */
static void run_parent(void) {
        signal(SIGCHLD, on_child);
        seen->n_ready = 1;
        while (!seen->is_over)
                if (waitpid(-1, NULL, WNOHANG) != -1 || errno != ECHILD)
                        seen->n_wrong++;
        signal(SIGCHLD, SIG_DFL);
        for (unsigned i = 0; i < 2; i++) {
                pid_t child = fork();

                if (child == 0)
                        _exit(7);
                if (waitpid(-1, NULL, 0) != child)
                        seen->n_wrong++;
        }
}

static unsigned count_children(pid_t pid) {
        char path[64], text[4096] = "";
        unsigned n = 0;

        snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
        assert_true(fs_read_text(path, text, sizeof(text)) >= 0);
        for (const char *c = text; *c; c++)
                n += *c == ' ';
        return n;
}

static unsigned count_files(pid_t pid) {
        char path[64];
        unsigned n = 0;
        DIR *dir;

        snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
        dir = opendir(path);
        assert_non_null(dir);
        while (readdir(dir))
                n++;
        closedir(dir);
        return n - 2; /* . and .. */
}

static void test_no_child(void **state) {
        pid_t pid = start(run_parent);
        unsigned n_own = count_files(getpid());

        for (unsigned i = 0; i < N_COPIES; i++) {
                struct frozen f;

                make(&f, pid);
                assert_int_equal(count_children(pid), 1);
                assert_int_equal(count_files(f.copy), 0);
                end(&f);
                assert_int_equal(count_children(pid), 0);
        }
        assert_int_equal(count_files(getpid()), n_own);
        finish(pid);
}

static int pipe_fds[2];

static void run_closer(void) {
        close(pipe_fds[0]);
        seen->n_ready = 1;
        while (!seen->is_over)
                poll(NULL, 0, 1);
        close(pipe_fds[1]);
        poll(NULL, 0, -1);
}

/* Whoever reads sees the end as soon as the program closes, copy or not. */
static void test_no_descriptor(void **state) {
        struct pollfd p = {.events = POLLIN};
        struct frozen f;
        pid_t pid;

        assert_int_equal(pipe(pipe_fds), 0);
        pid = start(run_closer);
        close(pipe_fds[1]);
        p.fd = pipe_fds[0];
        make(&f, pid);
        seen->is_over = true;
        assert_int_equal(poll(&p, 1, 10000), 1);
        assert_true(p.revents & POLLHUP);
        end(&f);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        close(pipe_fds[0]);
}

static uint64_t before_its_end = 4711;

/* Gone, or dead and left to init. */
static bool is_running(pid_t pid) {
        char path[64], state = 'Z';
        FILE *f;

        snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
        f = fopen(path, "re");
        if (!f)
                return false;
        if (fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
                state = 'Z';
        fclose(f);
        return state != 'Z' && state != 'X';
}

/* The copy can be read when the process has gone, as the last look at a program needs it; it goes when it is ended. */
static void test_process_ends(void **state) {
        pid_t pid = start(run_chain), copy;
        struct frozen f;

        make(&f, pid);
        finish(pid);
        assert_int_equal(kill(f.copy, 0), 0);
        assert_int_equal(read_word(&f, &before_its_end), 4711);
        copy = f.copy;
        end(&f);
        assert_false(is_running(copy));
}

/* ---- who copies it is killed -------------------------------------------------------------------------- */

static unsigned count_copies(pid_t pid) {
        unsigned n = 0;
        DIR *dir = opendir("/proc");
        struct dirent *one;

        while ((one = readdir(dir))) {
                char path[300], text[512] = "", state;
                const char *at;
                int parent;

                snprintf(path, sizeof(path), "/proc/%s/stat", one->d_name);
                if (fs_read_text(path, text, sizeof(text)) > 0 && (at = strrchr(text, ')')) &&
                    sscanf(at, ") %c %d", &state, &parent) == 2 && parent == pid && state != 'Z')
                        n++;
        }
        closedir(dir);
        return n;
}

/* A keeper that outlives its silt still lets go of the process. */
static bool is_traced(pid_t pid) {
        char path[64], text[2048] = "";
        const char *at;

        snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
        fs_read_text(path, text, sizeof(text));
        at = strstr(text, "\nTracerPid:");
        return at && atoi(at + strlen("\nTracerPid:")) != 0;
}

static void run_silt(pid_t pid) {
        struct err err = {0};
        struct frozen f;

        for (;;)
                if (frozen_make(&f, pid, NULL, NULL, &err) == 0)
                        frozen_end(&f, &err);
}

static pid_t keeper_of(pid_t silt) {
        char path[64], text[256] = "";

        snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)silt, (int)silt);
        fs_read_text(path, text, sizeof(text));
        return (pid_t)atoi(text);
}

/* Keepers that outlive their silt may be about to copy: they are children of this process then. */
static bool has_keepers(pid_t target) {
        char path[64], text[256] = "";
        pid_t pid;

        while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
                assert_int_not_equal(pid, target);
        snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
        fs_read_text(path, text, sizeof(text));
        for (char *at = text, *end; (pid = (pid_t)strtol(at, &end, 10)) > 0; at = end)
                if (pid != target)
                        return true;
        return false;
}

/* At any moment: silt, its keeper, or both. */
static void test_kills(void **state) {
        pid_t pid = start(run_chain);

        prctl(PR_SET_CHILD_SUBREAPER, 1);
        while (seen->n_ready < N_LINKS)
                poll(NULL, 0, 1);
        for (unsigned i = 0; i < N_COPIES; i++) {
                struct timespec moment = {0, (long)(i * 7919 % 401) * 100000};
                uint64_t before;
                pid_t silt = fork();

                if (silt == 0)
                        run_silt(pid);
                ppoll(NULL, 0, &moment, NULL);
                if (i % 3) {
                        pid_t keeper = keeper_of(silt);

                        if (keeper > 0)
                                kill(keeper, SIGKILL);
                }
                if (i % 3 < 2)
                        kill(silt, SIGKILL);
                else {
                        poll(NULL, 0, 20); /* it tries again */
                        kill(silt, SIGKILL);
                }
                waitpid(silt, NULL, 0);
                before = clock_now_ns();
                while ((has_keepers(pid) || count_copies(pid) || is_traced(pid)) &&
                       clock_now_ns() - before < UINT64_C(60000000000))
                        poll(NULL, 0, 1);
                assert_false(has_keepers(pid));
                assert_int_equal(count_copies(pid), 0);
                assert_false(is_traced(pid));
        }
        prctl(PR_SET_CHILD_SUBREAPER, 0);
        for (unsigned i = 0; i < 3; i++) {
                struct frozen f;
                uint64_t words[N_LINKS];

                make(&f, pid);
                check_chain(&f, words);
                end(&f);
        }
        finish(pid);
}

/* A keeper that is killed while it holds a copy: the copy ends, and its status is taken all the same. */
static void test_keeper_killed(void **state) {
        pid_t pid = start(run_parent);
        struct frozen f;

        make(&f, pid);
        kill(f.keeper, SIGKILL);
        end(&f);
        assert_int_equal(count_children(pid), 0);
        finish(pid);
}

/* ---- refusals ---------------------------------------------------------------------------------------- */

static void run_sealed(void) {
        struct sock_filter all[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
        const struct sock_fprog program = {1, all};

        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
        run_parent();
}

static void refused(pid_t pid, const char *word) {
        struct err err = {0};

        assert_true(frozen_check(pid, &err) < 0);
        if (!strstr(err.text, word))
                fail_msg("no '%s' in '%s'", word, err.text);
}

static void test_sealed(void **state) {
        pid_t pid = start(run_sealed);

        refused(pid, "seccomp");
        finish(pid);
}

static void test_traced(void **state) {
        pid_t pid = start(run_parent), tracer = fork();

        if (tracer == 0) {
                ptrace(PTRACE_SEIZE, pid, NULL, NULL);
                seen->n_ready = 2;
                pause();
        }
        while (seen->n_ready != 2)
                poll(NULL, 0, 1);
        refused(pid, "already being traced");
        kill(tracer, SIGKILL);
        waitpid(tracer, NULL, 0);
        finish(pid);
}

static void test_stopped(void **state) {
        pid_t pid = start(run_parent);
        siginfo_t info;

        kill(pid, SIGSTOP);
        waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOWAIT);
        refused(pid, "is stopped");
        kill(pid, SIGCONT);
        finish(pid);
}

static void become_other(void) {
        assert_int_equal(setresgid(UNKNOWN_USER, UNKNOWN_USER, UNKNOWN_USER), 0);
        assert_int_equal(setresuid(UNKNOWN_USER, UNKNOWN_USER, UNKNOWN_USER), 0);
}

static void run_few(void) {
        const struct rlimit few = {1, 1};

        setrlimit(RLIMIT_NPROC, &few);
        become_other();
        prctl(PR_SET_DUMPABLE, 1);
        seen->n_ready = 1;
        while (!seen->is_over)
                poll(NULL, 0, 1);
}

/* Whoever may have one process: the check says so, and where nobody checks, nothing has happened when the kernel does. */
static void test_few_processes(void **state) {
        int r = -ETIMEDOUT;

        if (geteuid() != 0)
                skip();
        for (int i = 0; i < 5 && r == -ETIMEDOUT; i++) { /* a machine may be too busy for one */
                struct err err = {0};
                struct frozen f;
                pid_t pid = start(run_few);

                refused(pid, "its user may have 1 processes");
                r = frozen_make(&f, pid, NULL, NULL, &err);
                assert_true(r == -ETIMEDOUT || strstr(err.text, "one more process"));
                assert_int_equal(count_children(pid), 0);
                finish(pid);
        }
        assert_int_equal(r, -EAGAIN);
}

static void test_other_user(void **state) {
        pid_t pid, other;
        int status;

        if (geteuid() != 0)
                skip();
        pid = start(run_parent);
        other = fork();
        if (other == 0) {
                struct err err = {0};

                become_other();
                _exit(frozen_check(pid, &err) < 0 && strstr(err.text, "not permitted") ? 0 : 1);
        }
        waitpid(other, &status, 0);
        assert_int_equal(status, 0);
        finish(pid);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_one_moment),    cmocka_unit_test(test_killed_at_the_moment),
                cmocka_unit_test(test_threads),       cmocka_unit_test(test_registers),
                cmocka_unit_test(test_moment),        cmocka_unit_test(test_no_child),
                cmocka_unit_test(test_no_descriptor), cmocka_unit_test(test_process_ends),
                cmocka_unit_test(test_kills),         cmocka_unit_test(test_keeper_killed),
                cmocka_unit_test(test_sealed),        cmocka_unit_test(test_traced),
                cmocka_unit_test(test_stopped),       cmocka_unit_test(test_few_processes),
                cmocka_unit_test(test_other_user),
        };

        return cmocka_run_group_tests(tests, set_up, NULL);
}
