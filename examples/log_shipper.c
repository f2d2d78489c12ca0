/* SPDX-License-Identifier: MIT */
/* Collects lines of a log into batches and ships them. The buffer grows by just what the next line needs: every line
 * is an allocation, and every allocation copies the batch so far.
 * `log_shipper N` ships N batches; `log_shipper N --reserve` asks for the batch's size at first. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LINES_PER_BATCH = 800, RESERVE_BYTES = 256 * 1024 };

struct batch {
        char *text;
        size_t n_bytes, capacity_bytes;
};

__attribute__((noinline)) static void batch_append(struct batch *b, const char *line,
                                                   size_t line_bytes) {
        if (b->n_bytes + line_bytes > b->capacity_bytes) {
                char *larger = malloc(b->n_bytes + line_bytes);

                if (!larger)
                        abort();
                if (b->text)
                        memcpy(larger, b->text, b->n_bytes);
                free(b->text);
                b->text = larger;
                b->capacity_bytes = b->n_bytes + line_bytes;
        }
        memcpy(b->text + b->n_bytes, line, line_bytes);
        b->n_bytes += line_bytes;
}

__attribute__((noinline)) static size_t ship(struct batch *b) {
        size_t sum = 0;

        for (size_t i = 0; i < b->n_bytes; i++)
                sum += (unsigned char)b->text[i];
        free(b->text);
        *b = (struct batch){0};
        return sum;
}

int main(int argc, char **argv) {
        unsigned n_batches = 60;
        bool reserve = false;
        size_t sum = 0;

        for (int i = 1; i < argc; i++)
                if (!strcmp(argv[i], "--reserve"))
                        reserve = true;
                else
                        n_batches = (unsigned)strtoul(argv[i], NULL, 10);

        for (unsigned i = 0; i < n_batches; i++) {
                struct batch b = {0};

                if (reserve) {
                        b.text = malloc(RESERVE_BYTES);
                        if (!b.text)
                                abort();
                        b.capacity_bytes = RESERVE_BYTES;
                }
                for (unsigned k = 0; k < LINES_PER_BATCH; k++) {
                        char line[160];
                        int n = snprintf(
                                line, sizeof(line),
                                "batch %u line %u: request served, status 200, took %u us, "
                                "cache warm, peer 10.0.%u.%u\n",
                                i, k, (i * 37 + k * 11) % 900, k % 250, i % 250);

                        batch_append(&b, line, (size_t)n);
                }
                sum += ship(&b);
                nanosleep(&(struct timespec){.tv_nsec = 25000000}, NULL);
        }
        printf("shipped %u batches (%zu)\n", n_batches, sum);
}
