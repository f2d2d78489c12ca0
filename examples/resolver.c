/* SPDX-License-Identifier: MIT */
/* A resolver that remembers every answer it ever had. Most questions are about few names and found in the cache; the
 * others are new, and nothing ever leaves it: a cache without bound is a leak with a good excuse.
 * `resolver N` asks N thousand questions; `resolver N --bound` keeps at most 4,096 answers. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { N_BUCKETS = 8192, BOUND = 4096 };

struct answer {
        struct answer *next;
        char *name;
        unsigned char address[16];
        char record[200];
};

static struct answer *buckets[N_BUCKETS];
static size_t n_answers, next_victim;
static bool is_bounded;
static uint64_t random_state = 88172645463325252;

static uint32_t draw(void) {
        random_state ^= random_state << 13;
        random_state ^= random_state >> 7;
        random_state ^= random_state << 17;
        return (uint32_t)(random_state >> 11);
}

static uint32_t hash_of(const char *name) {
        uint32_t hash = 2166136261;

        for (; *name; name++)
                hash = (hash ^ (unsigned char)*name) * 16777619;
        return hash;
}

static void drop_one(void) {
        struct answer *old;

        while (!buckets[next_victim % N_BUCKETS])
                next_victim++;
        old = buckets[next_victim % N_BUCKETS];
        buckets[next_victim++ % N_BUCKETS] = old->next;
        free(old->name);
        free(old);
        n_answers--;
}

__attribute__((noinline)) static struct answer *cache_insert(const char *name) {
        struct answer **bucket = &buckets[hash_of(name) % N_BUCKETS];
        struct answer *a = calloc(1, sizeof(*a));

        if (!a || !(a->name = strdup(name)))
                abort();
        memset(a->record, 'r', sizeof(a->record));
        a->next = *bucket;
        *bucket = a;
        n_answers++;
        if (is_bounded && n_answers > BOUND)
                drop_one();
        return a;
}

__attribute__((noinline)) static struct answer *resolve(const char *name) {
        struct answer *a = buckets[hash_of(name) % N_BUCKETS];

        while (a && strcmp(a->name, name) != 0)
                a = a->next;
        return a ? a : cache_insert(name);
}

__attribute__((noinline)) static char *parse_question(uint32_t number) {
        char text[64];

        /* half of the questions are about the same two hundred names */
        snprintf(text, sizeof(text), "host-%u.example.net", number & 1 ? number % 200 : number);
        return strdup(text);
}

int main(int argc, char **argv) {
        unsigned n_thousands = 120;
        unsigned long sum = 0;

        for (int i = 1; i < argc; i++)
                if (!strcmp(argv[i], "--bound"))
                        is_bounded = true;
                else
                        n_thousands = (unsigned)strtoul(argv[i], NULL, 10);

        for (unsigned i = 0; i < n_thousands; i++) {
                for (unsigned k = 0; k < 1000; k++) {
                        char *question = parse_question(draw());

                        sum += resolve(question)->address[0];
                        free(question);
                }
                nanosleep(&(struct timespec){.tv_nsec = 25000000}, NULL);
        }
        printf("%u,000 questions, %zu answers in the cache (%lu)\n", n_thousands, n_answers, sum);
}
