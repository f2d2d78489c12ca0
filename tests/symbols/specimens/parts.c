/* SPDX-License-Identifier: MIT */
/* C for the names test: inlined functions in several depths, cold parts, clones, aliases, a jump table, calls through the
 * PLT, functions nobody calls. Built in many ways, never judged by what it prints. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct list {
        struct list *next;
        int value;
        char text[24];
};

#ifdef WITH_MORE
int more(int x); /* of more.c */
#else
static int more(int x) {
        return x;
}
#endif

static volatile int sink;

static inline __attribute__((always_inline)) int innermost(int x) {
        sink = x;
        return x * 3 + sink;
}

static inline __attribute__((always_inline)) int middle(int x, int times) {
        int sum = 0;

        for (int i = 0; i < times; i++) {
                int part = innermost(x + i);

                if (part & 1)
                        sum += innermost(part);
                else
                        sum -= part;
        }
        return sum;
}

__attribute__((noinline)) int outer(int x) {
        return middle(x, 5) + innermost(x);
}

__attribute__((cold, noinline)) static void complain(const char *what, int code) {
        fprintf(stderr, "%s: %s\n", what, strerror(code));
        exit(3);
}

/* The unlikely branch becomes a part of its own, `checked.cold`. */
__attribute__((noinline)) void *checked(size_t n, const char *what) {
        void *p = malloc(n);

        if (__builtin_expect(!p, 0)) {
                fprintf(stderr, "%zu bytes for %s\n", n, what);
                complain(what, errno);
        }
        return memset(p, 0, n);
}

/* Always called with the same second argument: a clone without it. */
static __attribute__((noinline)) int scaled(int x, int by, const struct list *unused) {
        (void)unused;
        for (int i = 0; i < 3; i++)
                sink += x * by + i;
        return sink;
}

struct list *push(struct list *head, int value) {
        struct list *l = checked(sizeof(*l), "an item");

        l->next = head;
        l->value = scaled(value, 7, head);
        snprintf(l->text, sizeof(l->text), "%d", value);
        return l;
}

struct list *push_alias(struct list *head, int value) __attribute__((alias("push")));
struct list *weak_push(struct list *head, int value) __attribute__((weak, alias("push")));

static int length(const struct list *l) {
        int n = 0;

        for (; l; l = l->next)
                n++;
        return n;
}

__attribute__((noinline)) int choose(int way, struct list **head) {
        switch (way) {
        case 0: *head = push(*head, 1); break;
        case 1: return length(*head);
        case 2: return outer(way);
        case 3: return middle(way, 3);
        case 4: *head = push_alias(*head, innermost(way)); break;
        case 5: return puts((*head)->text);
        case 6: return scaled(6, 7, NULL);
        case 7: abort();
        default: return atoi((*head)->text);
        }
        return way;
}

static int compare(const void *a, const void *b) {
        const struct list *const *x = a, *const *y = b;

        return (*x)->value - (*y)->value;
}

int sort_all(struct list **items, size_t n) {
        qsort(items, n, sizeof(*items), compare);
        return n ? items[0]->value : 0;
}

int never_called(int x) {
        int sum = 0;

        for (int i = 0; i < x; i++)
                sum += middle(i, x);
        return sum + (int)strlen("never");
}

#if defined(__GNUC__) && !defined(__clang__)
__attribute__((noinline)) int with_nested(int x) {
        int count = 0;
        __attribute__((noinline)) int nested(int y) {
                count += innermost(y);
                return count;
        }

        return nested(x) + nested(x + 1);
}
#else
int with_nested(int x) {
        return x;
}
#endif

/* Two functions with the same code: identical-code folding makes them one. */
__attribute__((noinline)) int same_one(int x) {
        sink = x;
        return x + 41;
}

__attribute__((noinline)) int same_two(int x) {
        sink = x;
        return x + 41;
}

int main(int argc, char **argv) {
        struct list *head = NULL, *items[2];
        int sum = 0;

        (void)argv;
        for (int i = 0; i < 7; i++)
                sum += choose(i * argc, &head);
        items[0] = head;
        items[1] = push(head, 2);
        sum += sort_all(items, 2) + with_nested(sum) + same_one(sum) + same_two(sum) + more(sum);
        return sum == 42;
}
