/* SPDX-License-Identifier: MIT */
#include "attach/hand.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/macros.h"

typedef int hand_work(struct attach *a, const void *arg, struct err *reterr);

/* Shared with the hand, and written by it alone. */
struct report {
        struct attach attach;
        struct err err;
        int result;
        bool is_told, is_done;
};

pid_t hand_of;
static struct report *hand_report;

void hand_tell(const struct attach *a) {
        if (!hand_of)
                return;
        hand_report->attach = *a;
        hand_report->is_told = true;
}

/* Away from the terminal, and from whoever ends silt's group. */
static void be_hand(struct attach *a, hand_work *work, const void *arg) {
        struct err unsaid;

        setsid();
        hand_report->result = work(a, arg, &hand_report->err);
        hand_tell(a);
        hand_report->is_done = true;
        if (getppid() != hand_of) /* nobody is there to end it */
                attach_end(a, &unsaid);
        _exit(0);
}

/* What has addresses in it is the hand's own. */
static void take_over(struct attach *a, const struct attach *told) {
        struct attach own = *a;

        *a = *told;
        a->target = own.target;
        a->code = own.code;
        a->walker = own.walker;
}

static int hear(struct attach *a, pid_t hand, struct err *reterr) {
        while (waitpid(hand, NULL, 0) < 0 && errno == EINTR) {}
        if (hand_report->is_told)
                take_over(a, &hand_report->attach);
        if (!hand_report->is_done)
                return err_set(
                        reterr, -EINTR,
                        "process %d (%s): silt's helper that stops its threads was killed: try again",
                        (int)a->target.pid, a->target.name);
        if (hand_report->result < 0)
                *reterr = hand_report->err;
        return hand_report->result;
}

int hand_run(struct attach *a, hand_work *work, const void *arg, struct err *reterr) {
        pid_t silt = getpid(), hand = -1;
        int r;

        if (hand_of)
                return work(a, arg, reterr);
        hand_report = mmap(NULL, sizeof(*hand_report), PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (hand_report != MAP_FAILED)
                hand = fork();
        if (hand == 0) {
                hand_of = silt;
                be_hand(a, work, arg);
        }
        r = hand < 0 ? work(a, arg, reterr) : hear(a, hand, reterr);
        if (hand_report != MAP_FAILED)
                munmap(hand_report, sizeof(*hand_report));
        return r;
}
