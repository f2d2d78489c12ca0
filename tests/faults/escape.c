/* SPDX-License-Identifier: MIT */
/* `escape HOW [MORE…]`: a program that leaves the surroundings it was started in, and allocates before, during and
 * after, on 2 threads. It tells its allocations and releases, libc's own included. Status 19. HOW:
 *   close_range   every descriptor but 1, by one system call       closefrom   the same, one by one, up to 4,095
 *   chroot DIR    another root                                     caps        no capability, no way to get one
 *   namespaces    mount, UTS, IPC and network namespaces of its own
 *   pid           a pid namespace of its own: the child says its pid is 1; its thread idles for 3 s
 *   user UID      another user, as servers do after start
 *   again         becomes itself by /proc/self/exe, 5 times
 *   root DIR PROG another root, and there another program (status and output are PROG's) */
#include "../programs/truth.h"
#include <fcntl.h>
#include <linux/close_range.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { N_ROUNDS = 3000 };

static void *work(void *ctx) {
        for (int i = 0; i < N_ROUNDS; i++) {
                void *block = malloc((size_t)(10 + i % 100));

                MUST(block);
                free(block);
        }
        return ctx;
}

/* Long enough to be taken for gone. */
static void *work_and_rest(void *ctx) {
        work(NULL);
        sleep(3);
        return work(ctx);
}

static void work_on_two_threads(void) {
        pthread_t thread;

        MUST(pthread_create(&thread, NULL, work, NULL) == 0);
        work(NULL);
        MUST(pthread_join(thread, NULL) == 0);
}

static void drop_capabilities(void) {
        struct {
                unsigned version;
                int pid;
        } head = {0x20080522, 0};
        unsigned none[6] = {0};

        for (int cap = 0; cap < 64; cap++)
                prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
        MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
        MUST(syscall(SYS_capset, &head, none) == 0);
}

static void be_pid_1(void) {
        int status;
        pid_t child;

        MUST(unshare(CLONE_NEWPID) == 0);
        child = fork();
        MUST(child >= 0);
        if (child == 0) {
                pthread_t thread;

                MUST(pthread_create(&thread, NULL, work_and_rest, NULL) == 0);
                MUST(pthread_join(thread, NULL) == 0);
                _exit(getpid() == 1 ? 0 : 9);
        }
        MUST(waitpid(child, &status, 0) == child && status == 0);
}

static void leave(int argc, char **argv) {
        const char *how = argv[1];

        if (strcmp(how, "close_range") == 0) {
                MUST(close(0) == 0 && syscall(SYS_close_range, 2, ~0u, 0) == 0);
        } else if (strcmp(how, "closefrom") == 0) {
                for (int fd = 2; fd < 4096; fd++)
                        close(fd);
        } else if (strcmp(how, "chroot") == 0 || strcmp(how, "root") == 0) {
                MUST(chroot(argv[2]) == 0 && chdir("/") == 0);
        } else if (strcmp(how, "caps") == 0) {
                drop_capabilities();
        } else if (strcmp(how, "namespaces") == 0) {
                MUST(unshare(CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNET) == 0);
        } else if (strcmp(how, "pid") == 0) {
                be_pid_1();
        } else if (strcmp(how, "user") == 0) {
                unsigned id = (unsigned)atoi(argv[2]);

                MUST(setresgid(id, id, id) == 0 && setresuid(id, id, id) == 0);
        } else if (strcmp(how, "again") == 0 && argc < 8) {
                char *more[10] = {NULL};

                for (int i = 0; i < argc; i++)
                        more[i] = argv[i];
                more[argc] = (char *)"x";
                execv("/proc/self/exe", more);
                _exit(97);
        }
        if (strcmp(how, "root") == 0) {
                execl(argv[3], argv[3], "3", "50", "0", (char *)NULL);
                _exit(97);
        }
}

int main(int argc, char **argv) {
        MUST(argc >= 2);
        work_on_two_threads();
        leave(argc, argv);
        if (strcmp(argv[1], "pid") ==
            0) { /* a thread cannot be of another namespace than its process */
                work(NULL);
                work(NULL);
        } else {
                work_on_two_threads();
        }
        truth_say("allocations", 4 * N_ROUNDS + 1);
        truth_say("frees", 4 * N_ROUNDS);
        return 19;
}
