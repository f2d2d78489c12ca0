/* SPDX-License-Identifier: MIT */
/* What stands around the pipeline: which programs can be entered, the rendezvous, the arena, OOM counters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/macros.h"
#include "record/counter.h"
#include "record/oom.h"
#include "record/proc.h"
#include "record/program_check.h"
#include "record/rendezvous.h"
#include "record/shm.h"
#include "record/stall.h"
#include "record/unreported.h"

#if defined(__aarch64__)
enum { HOST_MACHINE = EM_AARCH64, OTHER_MACHINE = EM_X86_64 };
#else
enum { HOST_MACHINE = EM_X86_64, OTHER_MACHINE = EM_AARCH64 };
#endif

static char scratch[64];

static int make_scratch(void **state) {
        snprintf(scratch, sizeof(scratch), "/tmp/silt-test-XXXXXX");
        return mkdtemp(scratch) ? 0 : -1;
}

static int drop_scratch(void **state) {
        char command[128];

        snprintf(command, sizeof(command), "rm -rf '%s'", scratch);
        return system(command);
}

static const char *put_file(const char *name, const char *text, mode_t mode) {
        static char path[256];
        char *slash;
        int fd;

        snprintf(path, sizeof(path), "%s/%s", scratch, name);
        for (slash = strchr(path + strlen(scratch) + 1, '/'); slash;
             slash = strchr(slash + 1, '/')) {
                *slash = 0;
                mkdir(path, 0755);
                *slash = '/';
        }
        fd = fs_open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
        assert_true(fd >= 0);
        assert_int_equal(fs_write_all(fd, text, strlen(text)), 0);
        fchmod(fd, mode);
        close(fd);
        return path;
}

static void program_check_finds_programs(void **state) {
        struct err e = {0};
        struct checked_program entry;

        assert_int_equal(program_check("sh", HOST_MACHINE, &entry, &e), PROGRAM_OK);
        assert_true(entry.path[0] == '/');
        assert_int_equal(program_check("/bin/sh", HOST_MACHINE, &entry, &e), PROGRAM_OK);
        assert_int_equal(program_check("silt-no-such-program", HOST_MACHINE, &entry, &e),
                         PROGRAM_NOT_FOUND);
        assert_int_equal(program_check("", HOST_MACHINE, &entry, &e), PROGRAM_NOT_FOUND);
        assert_int_equal(program_check("/tmp", HOST_MACHINE, &entry, &e), PROGRAM_NOT_EXECUTABLE);
        assert_non_null(strstr(e.text, "directory"));
        assert_int_equal(program_check(put_file("plain", "x", 0644), HOST_MACHINE, &entry, &e),
                         PROGRAM_NOT_EXECUTABLE);
}

static void entry_follows_scripts(void **state) {
        struct err e = {0};
        struct checked_program entry;

        assert_int_equal(program_check(put_file("script", "#!/bin/sh -e\ntrue\n", 0755),
                                       HOST_MACHINE, &entry, &e),
                         PROGRAM_OK);
        assert_string_equal(entry.interpreter, "/bin/sh");
        assert_int_equal(program_check(put_file("bare", "true\n", 0755), HOST_MACHINE, &entry, &e),
                         PROGRAM_OK);
        assert_string_equal(entry.interpreter, "/bin/sh");
        assert_int_equal(program_check(put_file("lost", "#!/no/such/interpreter\n", 0755),
                                       HOST_MACHINE, &entry, &e),
                         PROGRAM_NOT_EXECUTABLE);
        assert_non_null(strstr(e.text, "/no/such/interpreter"));
}

static void entry_refuses_other_machines(void **state) {
        struct err e = {0};
        struct checked_program entry;

        assert_int_equal(program_check("/bin/sh", OTHER_MACHINE, &entry, &e), PROGRAM_REFUSED);
        assert_non_null(strstr(e.text, "built for"));
}

static void entry_survives_cut_headers(void **state) {
        struct err e = {0};
        struct checked_program entry;
        char elf[200] = ELFMAG;

        memset(elf + SELFMAG, 'x', sizeof(elf) - SELFMAG - 1);
        assert_int_equal(program_check(put_file("wild", elf, 0755), HOST_MACHINE, &entry, &e),
                         PROGRAM_REFUSED);
        assert_true(program_check(put_file("cut", ELFMAG, 0755), HOST_MACHINE, &entry, &e) !=
                    PROGRAM_NOT_FOUND);
}

static void oom_reads_both_versions(void **state) {
        struct oom_watch w;
        char proc[128], cgroup[128];

        snprintf(proc, sizeof(proc), "%s/proc", scratch);
        snprintf(cgroup, sizeof(cgroup), "%s/cgroup", scratch);
        put_file("proc/vmstat", "nr_free 1\noom_kill 3\n", 0644);
        put_file("proc/7/cgroup", "5:cpu:/x\n4:memory:/jobs/a\n0::/\n", 0644);
        put_file("cgroup/memory/jobs/a/memory.oom_control",
                 "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n", 0644);
        oom_watch_begin(&w, 7, proc, cgroup);
        assert_non_null(strstr(w.counters[0].path, "memory.oom_control"));
        assert_false(oom_watch_take(&w, proc));
        put_file("cgroup/memory/jobs/a/memory.oom_control",
                 "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n", 0644);
        assert_true(oom_watch_take(&w, proc));
        assert_false(oom_watch_take(&w, proc)); /* one kill, one victim */

        put_file("proc/8/cgroup", "0::/user/b\n", 0644);
        put_file("cgroup/user/b/memory.events", "low 0\noom 5\noom_kill 0\n", 0644);
        oom_watch_begin(&w, 8, proc, cgroup);
        assert_non_null(strstr(w.counters[0].path, "memory.events"));
        assert_false(oom_watch_take(&w, proc));
        put_file("cgroup/user/b/memory.events", "low 0\noom 6\noom_kill 1\n", 0644);
        assert_true(oom_watch_take(&w, proc));

        oom_watch_begin(&w, 9, proc, cgroup); /* no cgroup file: the machine's counter */
        assert_false(oom_watch_take(&w, proc));
        put_file("proc/vmstat", "oom_kill 4\n", 0644);
        assert_true(oom_watch_take(&w, proc));
        assert_false(oom_watch_take(&w, proc));
}

static void oom_follows_the_target(void **state) {
        struct oom_watch w;
        char proc[128], cgroup[128], group[32], name[64];

        snprintf(proc, sizeof(proc), "%s/moved_proc", scratch);
        snprintf(cgroup, sizeof(cgroup), "%s/moved", scratch);
        put_file("moved_proc/vmstat", "oom_kill 0\n", 0644);
        put_file("moved_proc/7/cgroup", "0::/start\n", 0644);
        put_file("moved/start/memory.events", "oom_kill 0\n", 0644);
        oom_watch_begin(&w, 7, proc, cgroup);
        put_file("moved/job/memory.events", "oom_kill 5\n", 0644);
        put_file("moved_proc/7/cgroup", "0::/job\n", 0644);
        oom_watch_follow(&w, 7, proc, cgroup);
        assert_false(oom_watch_take(&w, proc));
        put_file("moved/job/memory.events", "oom_kill 6\n", 0644);
        assert_true(oom_watch_take(&w, proc));

        /* Dying it seems to be in the root: what happened in its group still counts. */
        put_file("moved_proc/7/cgroup", "0::/\n", 0644);
        put_file("moved/job/memory.events", "oom_kill 7\n", 0644);
        oom_watch_follow(&w, 7, proc, cgroup);
        assert_true(oom_watch_take(&w, proc));

        /* However often it moves, the last groups are known. */
        for (int i = 0; i < 9; i++) {
                snprintf(name, sizeof(name), "moved/g%d/memory.events", i);
                put_file(name, "oom_kill 1\n", 0644);
                snprintf(group, sizeof(group), "0::/g%d\n", i);
                put_file("moved_proc/7/cgroup", group, 0644);
                oom_watch_follow(&w, 7, proc, cgroup);
        }
        assert_false(oom_watch_take(&w, proc));
        put_file("moved/g8/memory.events", "oom_kill 2\n", 0644);
        assert_true(oom_watch_take(&w, proc));
}

/* A container whose tree begins at its own group, while /proc tells the path from the machine's root. */
static void oom_finds_a_containers_group(void **state) {
        struct oom_watch w;
        char proc[128], cgroup[128];

        snprintf(proc, sizeof(proc), "%s/box_proc", scratch);
        snprintf(cgroup, sizeof(cgroup), "%s/box", scratch);
        put_file("box_proc/vmstat", "oom_kill 0\n", 0644);
        put_file("box_proc/7/cgroup", "4:cpuset,memory:/docker/abc\n0::/\n", 0644);
        put_file("box/memory/memory.oom_control", "oom_kill 0\n", 0644);
        oom_watch_begin(&w, 7, proc, cgroup);
        assert_false(oom_watch_take(&w, proc));
        put_file("box_proc/vmstat", "oom_kill 9\n", 0644); /* other containers' */
        assert_false(oom_watch_take(&w, proc));
        put_file("box/memory/memory.oom_control", "oom_kill 1\n", 0644);
        assert_true(oom_watch_take(&w, proc));

        put_file("box_proc/8/cgroup", "0::/docker/abc/job\n", 0644);
        put_file("box/job/memory.events", "oom_kill 0\n", 0644);
        oom_watch_begin(&w, 8, proc, cgroup);
        assert_false(oom_watch_take(&w, proc));
        put_file("box/job/memory.events", "oom_kill 1\n", 0644);
        assert_true(oom_watch_take(&w, proc));
}

static void arena_cannot_shrink(void **state) {
        struct err e = {0};
        struct shm s;

        assert_int_equal(shm_open_arena(&s, 0, WIRE_CLOCK_COUNTER, 5, &e), 0);
        assert_true(ftruncate(s.fd, 4096) < 0);
        assert_true(shm_header(&s)->magic == WIRE_MAGIC);
        assert_int_equal(shm_back_chunks(&s, 8), 0);
        memset((char *)s.base + shm_header(&s)->chunk_off, 1, 8 * WIRE_CHUNK_BYTES);
        assert_true(shm_back_chunks(&s, WIRE_N_CHUNKS + 1) < 0);
        shm_stop_recording(&s);
        assert_int_equal(atomic_load(&shm_header(&s)->recording), 0);
        shm_done(&s);
}

static int connect_abstract(const struct rendezvous *r) {
        struct sockaddr_un addr = {.sun_family = AF_UNIX};
        size_t n = strcspn(r->env, ";:");
        int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

        memcpy(addr.sun_path + 1, r->env, n);
        assert_int_equal(connect(fd, (struct sockaddr *)&addr,
                                 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n)),
                         0);
        return fd;
}

static void rendezvous_knows_its_guests(void **state) {
        struct wire_hello hello = {.magic = WIRE_MAGIC, .version = WIRE_VERSION};
        struct wire_welcome welcome;
        struct rendezvous_guest guest;
        struct rendezvous r;
        struct shm s;
        struct err e = {0};
        int stranger, fd;

        assert_int_equal(rendezvous_open(&r, &e), 0);
        assert_int_equal(shm_open_arena(&s, 0, WIRE_CLOCK_COUNTER, 0, &e), 0);
        stranger = connect_abstract(&r);
        assert_int_equal(send(stranger, &hello, sizeof(hello), 0),
                         sizeof(hello)); /* token of zeros */
        assert_int_equal(rendezvous_accept(&r, &guest), 0);

        fd = connect_abstract(&r);
        memcpy(hello.token, r.token, sizeof(hello.token));
        assert_int_equal(send(fd, &hello, sizeof(hello), 0), sizeof(hello));
        assert_int_equal(rendezvous_accept(&r, &guest), 1);
        assert_int_equal(guest.pid, getpid());
        rendezvous_welcome(&guest, &s, 1, 3, -1, 0);
        assert_int_equal(recv(fd, &welcome, sizeof(welcome), 0), sizeof(welcome));
        assert_int_equal(welcome.process_idx, 3);
        assert_true(welcome.size_bytes == s.size_bytes);
        close(fd);
        close(stranger);
        rendezvous_close(&r);
        shm_done(&s);
}

/* More guests at once than are kept in mind: none is turned away, and callers that say nothing keep nobody out. */
static void rendezvous_hears_everybody(void **state) {
        enum { N = RENDEZVOUS_N_CALLERS + 60 };
        struct wire_hello hello = {.magic = WIRE_MAGIC, .version = WIRE_VERSION};
        struct rendezvous_guest guest;
        struct rendezvous r;
        struct err e = {0};
        int fds[N], n_heard = 0;

        assert_int_equal(rendezvous_open(&r, &e), 0);
        memcpy(hello.token, r.token, sizeof(hello.token));
        for (int i = 0; i < N; i++) {
                fds[i] = connect_abstract(&r);
                assert_int_equal(send(fds[i], &hello, sizeof(hello), 0), sizeof(hello));
        }
        for (; rendezvous_accept(&r, &guest) > 0; n_heard++)
                close(guest.fd);
        assert_int_equal(n_heard, N);
        for (int i = 0; i < N; i++) {
                close(fds[i]);
                fds[i] = connect_abstract(&r);
        }
        assert_int_equal(send(fds[N - 1], &hello, sizeof(hello), 0), sizeof(hello));
        assert_int_equal(rendezvous_accept(&r, &guest), 1);
        close(guest.fd);
        for (int i = 0; i < N; i++)
                close(fds[i]);
        rendezvous_close(&r);
}

static void proc_reads_itself(void **state) {
        struct arena *arena = arena_new();
        struct proc_memory m;
        char name[17];
        uint32_t n;

        assert_non_null(proc_args(arena, getpid(), &n));
        assert_true(n >= 1);
        assert_true(proc_exe(arena, getpid())[0] == '/');
        assert_int_equal(proc_parent(getpid()), getppid());
        assert_true(proc_comm(getpid(), getpid(), name));
        assert_true(proc_thread_is_alive(getpid(), getpid()));
        assert_false(proc_thread_is_alive(getpid(), 1 << 29));
        assert_true(proc_memory(getpid(), &m));
        assert_true(m.anon_bytes > 0 && m.minor_faults > 0);
        assert_false(proc_memory(1 << 29, &m));
        arena_free(arena);
}

/* How many looks at an unchanged recorder until it is given up, at most max. */
static int looks_until_given_up(struct stall_watch *p, char state, uint64_t cpu_ns, int max) {
        for (int i = 1; i <= max; i++)
                if (stall_judge(p, state, cpu_ns) != STALL_NONE)
                        return i;
        return 0;
}

static void stall_tells_stopped_from_slow(void **state) {
        const int per_s = 1000 / STALL_LOOK_MS;
        struct stall_watch p;

        stall_begin(&p, 1);
        stall_judge(&p, 'R', 1000);
        assert_int_equal(looks_until_given_up(&p, 'T', 1000, 1000), STALL_STOPPED_S * per_s);
        assert_int_equal(stall_judge(&p, 'T', 1000), STALL_STOPPED);

        stall_begin(&p, 1); /* a debugger's stop is one too */
        stall_judge(&p, 't', 1);
        assert_int_equal(looks_until_given_up(&p, 't', 1, 1000), STALL_STOPPED_S * per_s);

        stall_begin(&p, 1); /* every look finds it stopped, but it ran in between */
        for (uint64_t i = 1; i < 10000; i++)
                assert_int_equal(stall_judge(&p, 'T', i), STALL_NONE);

        stall_begin(&p, 1); /* continued for a moment: it has all the time again */
        stall_judge(&p, 'T', 7);
        assert_int_equal(looks_until_given_up(&p, 'T', 7, STALL_STOPPED_S * per_s - 1), 0);
        assert_int_equal(stall_judge(&p, 'S', 7), STALL_NONE);
        assert_int_equal(looks_until_given_up(&p, 'T', 7, STALL_STOPPED_S * per_s - 1), 0);

        stall_begin(&p, 1); /* waiting for a disk, or for a processor */
        stall_judge(&p, 'D', 7);
        assert_int_equal(looks_until_given_up(&p, 'D', 7, 10000), STALL_SILENT_S * per_s);
        assert_int_equal(stall_judge(&p, 'R', 7), STALL_SILENT);
        assert_int_equal(stall_judge(&p, 'R', 8), STALL_NONE);
}

static void stall_of_a_process(void **state) {
        struct stall_watch p;

        stall_begin(&p, getpid());
        assert_int_equal(stall_look(&p), STALL_NONE);
        assert_true(p.cpu_ns > 0);
}

static void silence_ends_and_is_counted(void **state) {
        static const uint64_t began_ns = 5;
        struct rendezvous r;
        struct err e = {0};
        uint64_t n_unheard = 9;
        char path[128];
        int fd;

        assert_int_equal(rendezvous_open(&r, &e), 0);
        assert_true(r.path[0]);
        assert_false(rendezvous_end_silence(&r, &n_unheard));
        snprintf(path, sizeof(path), "%.*s" WIRE_SILENCE_NAME, (int)strlen(r.path) - 1, r.path);
        fd = fs_open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
        assert_true(fd >= 0);
        assert_int_equal(fs_write_all(fd, &began_ns, sizeof(began_ns)), 0);
        assert_int_equal(fs_write_all(fd, "xyz", 3), 0);
        close(fd);
        assert_true(rendezvous_end_silence(&r, &n_unheard));
        assert_int_equal(n_unheard, 3);
        assert_false(rendezvous_end_silence(&r, &n_unheard));
        close(fs_open(path, O_WRONLY | O_CREAT | O_EXCL,
                      0600)); /* left over: goes with the folder */
        path[strlen(r.path) - 2] = 0;
        rendezvous_close(&r);
        assert_int_equal(access(path, F_OK), -1);
}

/* Leaves this process without arguments and environment, as every program is for a moment in the middle of its exec. */
static bool drop_arguments(void) {
        struct prctl_mm_map map = {.brk = (uintptr_t)sbrk(0), .exe_fd = (uint32_t)-1};
        unsigned long long field[52] = {0};
        char buf[1024], *at;

        if (fs_read_text("/proc/self/stat", buf, sizeof(buf)) <= 0 || !(at = strrchr(buf, ')')))
                return false;
        at += 4; /* and the state */
        for (unsigned i = 4; i < ARRAY_SIZE(field); i++)
                field[i] = strtoull(at, &at, 10);
        map.start_code = field[26];
        map.end_code = field[27];
        map.start_stack = field[28];
        map.start_data = field[45];
        map.end_data = field[46];
        map.start_brk = field[47];
        map.arg_start = map.arg_end = map.env_start = map.env_end = field[48];
        return prctl(PR_SET_MM, PR_SET_MM_MAP, &map, sizeof(map), 0) == 0;
}

/* Measured from an earlier moment, the rate is the same; one from before the machine slept is not believed. */
static void counter_rate_from_an_earlier_moment(void **state) {
        struct counter_moment now = counter_moment(), earlier = now, slept;
        double hz = (double)counter_hz(WIRE_CLOCK_COUNTER, &now), again;

        (void)state;
        assert_true(hz > 1e6);
        while (counter_moment().ns - earlier.ns < 20000000)
                ;
        again = (double)counter_hz(WIRE_CLOCK_COUNTER, &earlier);
        assert_true(again > hz * 0.99 && again < hz * 1.01);
        slept = counter_moment();
        slept.ns -= 3600000000000u;
        again = (double)counter_hz(WIRE_CLOCK_COUNTER, &slept);
        assert_true(again > hz * 0.99 && again < hz * 1.01);
        slept = earlier; /* the clock stood still, the counter went on */
        slept.ticks -= (uint64_t)hz * 3600;
        again = (double)counter_hz(WIRE_CLOCK_COUNTER, &slept);
        assert_true(again > hz * 0.99 && again < hz * 1.01);
}

static void unreported_in_the_middle_of_an_exec_are_unclear(void **state) {
        unreported found = {0};
        double since_s;
        size_t n_unclear;
        int told[2];
        char byte;
        pid_t child;

        assert_int_equal(pipe(told), 0);
        child = fork();
        if (child == 0) {
                byte = drop_arguments();
                _exit(write(told[1], &byte, 1) == 1 ? pause() : 1);
        }
        assert_int_equal(read(told[0], &byte, 1), 1);
        since_s = proc_started_s(child);
        unreported_find(&found, &n_unclear, "none", since_s);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        close(told[0]);
        close(told[1]);
        assert_int_equal(found.n, 0);
        vec_free(&found);
        if (!byte)
                skip(); /* a kernel without CONFIG_CHECKPOINT_RESTORE */
        assert_true(n_unclear >= 1);
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(program_check_finds_programs),
                cmocka_unit_test(entry_follows_scripts),
                cmocka_unit_test(entry_refuses_other_machines),
                cmocka_unit_test(entry_survives_cut_headers),
                cmocka_unit_test(oom_reads_both_versions),
                cmocka_unit_test(oom_follows_the_target),
                cmocka_unit_test(oom_finds_a_containers_group),
                cmocka_unit_test(arena_cannot_shrink),
                cmocka_unit_test(rendezvous_knows_its_guests),
                cmocka_unit_test(rendezvous_hears_everybody),
                cmocka_unit_test(proc_reads_itself),
                cmocka_unit_test(stall_tells_stopped_from_slow),
                cmocka_unit_test(stall_of_a_process),
                cmocka_unit_test(silence_ends_and_is_counted),
                cmocka_unit_test(counter_rate_from_an_earlier_moment),
                cmocka_unit_test(unreported_in_the_middle_of_an_exec_are_unclear),
        };

        return cmocka_run_group_tests(tests, make_scratch, drop_scratch);
}
