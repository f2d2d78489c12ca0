/* SPDX-License-Identifier: MIT */
#include "attach/stopper.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/macros.h"

typedef int stopper_work(struct attach *a, const void *arg, struct err *reterr);

/* Shared with the stopper, and written by it alone. */
struct report {
        struct attach attach;
        struct err err;
        int result;
        bool is_told, is_done;
};

pid_t stopper_of;
static struct report *stopper_report;

void stopper_tell(const struct attach *a) {
        if (!stopper_of)
                return;
        stopper_report->attach = *a;
        stopper_report->is_told = true;
}

/* Away from the terminal, and from whoever ends silt's group. */
static void be_hand(struct attach *a, stopper_work *work, const void *arg) {
        struct err unsaid;

        setsid();
        stopper_report->result = work(a, arg, &stopper_report->err);
        stopper_tell(a);
        stopper_report->is_done = true;
        if (getppid() != stopper_of) /* nobody is there to end it */
                attach_end(a, &unsaid);
        _exit(0);
}

/* What has addresses in it is the stopper's own. */
static void take_over(struct attach *a, const struct attach *told) {
        struct attach own = *a;

        *a = *told;
        a->target = own.target;
        a->code = own.code;
        a->walker = own.walker;
}

static int hear(struct attach *a, pid_t stopper, struct err *reterr) {
        while (waitpid(stopper, NULL, 0) < 0 && errno == EINTR) {}
        if (stopper_report->is_told)
                take_over(a, &stopper_report->attach);
        if (!stopper_report->is_done)
                return err_set(
                        reterr, -EINTR,
                        "process %d (%s): silt's helper that stops its threads was killed: try again",
                        (int)a->target.pid, a->target.name);
        if (stopper_report->result < 0)
                *reterr = stopper_report->err;
        return stopper_report->result;
}

int stopper_run(struct attach *a, stopper_work *work, const void *arg, struct err *reterr) {
        pid_t silt = getpid(), stopper = -1;
        int r;

        if (stopper_of)
                return work(a, arg, reterr);
        stopper_report = mmap(NULL, sizeof(*stopper_report), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (stopper_report != MAP_FAILED)
                stopper = fork();
        if (stopper == 0) {
                stopper_of = silt;
                be_hand(a, work, arg);
        }
        r = stopper < 0 ? work(a, arg, reterr) : hear(a, stopper, reterr);
        if (stopper_report != MAP_FAILED)
                munmap(stopper_report, sizeof(*stopper_report));
        return r;
}
