/* SPDX-License-Identifier: MIT */
/* Writes the seeds of memcheck_text_fuzz: a whole log, one without a summary, one of two processes.
 * usage: memcheck_text_seeds DIRECTORY */
#include "import/testing/import_fuzzing.h"

static const char *const seeds[] = {
        "==28122== Memcheck, a memory error detector\n"
        "==28122== Command: ./leaky 1 2\n"
        "==28122== \n"
        "==28122== HEAP SUMMARY:\n"
        "==28122==     in use at exit: 6,128 bytes in 13 blocks\n"
        "==28122==   total heap usage: 216 allocs, 203 frees, 77,009 bytes allocated\n"
        "==28122== \n"
        "==28122== 64 bytes in 1 blocks are indirectly lost in loss record 1 of 4\n"
        "==28122==    at 0x48417B4: malloc (in /usr/lib/x.so)\n"
        "==28122==    by 0x1091F1: main (leaky.c:10)\n"
        "==28122== \n"
        "==28122== 128 (64 direct, 64 indirect) bytes in 1 blocks are definitely lost in loss record 2 of 4\n"
        "==28122==    at 0x48417B4: malloc (in /usr/lib/x.so)\n"
        "==28122==    by 0x1091E3: main (leaky.c:10)\n"
        "==28122== \n"
        "==28122== 1,000 bytes in 10 blocks are possibly lost in loss record 3 of 4\n"
        "==28122==    at 0x48417B4: ??? (in /usr/lib/x.so)\n"
        "==28122== \n"
        "==28122== 5,000 bytes in 1 blocks are still reachable in loss record 4 of 4\n"
        "==28122==    at 0x48417B4: malloc (in /usr/lib/x.so)\n"
        "==28122== \n"
        "==28122== LEAK SUMMARY:\n"
        "==28122==    definitely lost: 1,064 bytes in 11 blocks\n",
        "==1== Memcheck\n"
        "==2== HEAP SUMMARY:\n"
        "==1== 10 bytes in 1 blocks are definitely lost in loss record 1 of 1\n"
        "==1==    at 0x1: f (a.c:1)\n"
        "==1==    by 0x1: g (a.c:2)\n",
        "==1== Memcheck\n"
        "==1== HEAP SUMMARY:\n"
        "==1==     in use at exit: 1 bytes in 1 blocks\n"
        "==1==   total heap usage: 1 allocs, 0 frees, 1 bytes allocated\n"
        "==1== 10 bytes in 2 blocks are definitely lost in loss record 1 of 1\n"
        "==1== HEAP SUMMARY:\n"
        "==1== All heap blocks were freed\n",
};

int main(int argc, char **argv) {
        return argc == 2 ? import_fuzz_put_texts(argv[1], seeds, sizeof(seeds) / sizeof(seeds[0]))
                         : 2;
}
