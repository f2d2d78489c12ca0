/* SPDX-License-Identifier: MIT */
/* For the page: functions, a thread, a mark and a source file with names that would like to be more than text. Each holds
 * memory under its name. Without debug information functions have the names of the assembler. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "silt/silt.h"

#define ODD(function, name) void *function(size_t n) __asm__("\"" name "\"")
#define TEN(x) x x x x x x x x x x
#define KEEP(function)                                                                             \
        __attribute__((noinline)) void *function(size_t n) {                                       \
                void *p = malloc(n);                                                               \
                if (p)                                                                             \
                        memset(p, 1, n);                                                           \
                __asm__ volatile("" : "+r"(p));                                                    \
                return p;                                                                          \
        }

ODD(script, "<script>window.ran=1;alert(1)</script>");
ODD(image, "<img src=x onerror=window.ran=2>");
ODD(bidi, "admin\xe2\x80\xae"
          "cod.exe\xe2\x81\xa6"
          "end");
ODD(broken, "broken\xff\xfe\xc3(utf8");
ODD(control, "bell\a\033[31mred");
ODD(entity, "&lt;b&gt;&amp;{{7*7}}${7*7}");
ODD(formula, "=cmd|' /C calc'!A0");
ODD(long_one, "long_" TEN(TEN(TEN("abcdefghij"))));
KEEP(script)
KEEP(image)
KEEP(bidi)
KEEP(broken)
KEEP(control)
KEEP(entity)
KEEP(formula)
KEEP(long_one)

void *from_odd_file(size_t n);

static void *thread(void *arg) {
        (void)arg;
        silt_thread_name("<i>thread</i>");
        return image(3000);
}

int main(void) {
        pthread_t other;
        void *kept[] = {script(100000), image(90000),    bidi(80000),
                        broken(70000),  control(60000),  entity(50000),
                        formula(40000), long_one(30000), from_odd_file(20000)};

        silt_mark("<b onclick=window.ran=3>mark");
        pthread_create(&other, NULL, thread, NULL);
        pthread_join(other, NULL);
        __asm__ volatile("" ::"r"(kept) : "memory");
        return kept[7] == NULL;
}
