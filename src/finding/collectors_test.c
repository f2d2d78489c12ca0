/* SPDX-License-Identifier: MIT */
/* Heaps of garbage collectors, and what a machine allocates beside the heap that it maps. */
#define TRACE_PATH "collectors_test.silt"
#include "finding/testing/world.h"

static const struct finding *find_heap(const struct world *w) {
        for (size_t i = 0; i < w->found->n; i++)
                if (strcmp(w->found->items[i].kind, "heap") == 0)
                        return &w->found->items[i];
        complain(w, "no heap");
        return NULL;
}

/* Tables of G1 are no Java objects. */
static void test_tables_of_a_machine(void **state) {
        static const struct {
                const char *module, *function;
                bool is_machine;
        } who[] = {{"/usr/lib/jvm/server/libjvm.so", "G1CollectedHeap::initialize", true},
                   {"/usr/bin/node", "v8::internal::Zone::Expand", true},
                   {"/usr/bin/node", "node::NodeArrayBufferAllocator::Allocate", false},
                   {"/usr/lib/libruby-3.1.so.3.1", "heap_reserve", false}};
        struct world w = {.random = 51};

        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(who); i++) {
                const struct finding *x;

                begin(&w, (unsigned)i);
                keep(&w, fabric_frame(w.f, w.main, who[i].module, who[i].function, "x.c", 10),
                     12000000);
                step(&w);
                end(&w);
                x = find_heap(&w);
                assert_int_equal(x->bytes, 12000000);
                if (!!strstr(x->text, "not the objects of the program") != who[i].is_machine ||
                    !!strstr(x->text, "garbage collector decides") == who[i].is_machine)
                        complain(&w, "a table is called a heap, or the other way round");
                done(&w);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_tables_of_a_machine),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
