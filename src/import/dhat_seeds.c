/* SPDX-License-Identifier: MIT */
/* Writes the seeds of dhat_fuzz: points with frames in a table behind them, of valgrind's form and of the dhat crate's, and words of JSON that neither writes.
 * usage: dhat_seeds DIRECTORY */
#include "import/testing/import_fuzzing.h"

static const char *const seeds[] = {
        "{\"dhatFileVersion\":2\n"
        ",\"mode\":\"heap\",\"verb\":\"Allocated\"\n"
        ",\"bklt\":true,\"bkacc\":true\n"
        ",\"tu\":\"instrs\",\"Mtu\":\"Minstr\"\n"
        ",\"tuth\":500\n"
        ",\"cmd\":\"./leaky -p 1\"\n"
        ",\"pid\":27851\n"
        ",\"te\":198058\n"
        ",\"tg\":192834\n"
        ",\"pps\":\n"
        " [{\"tb\":1000,\"tbk\":10,\"tl\":535300,\"mb\":1000,\"mbk\":10,\"gb\":1000,\"gbk\":10,\"eb\":1000,\"ebk\":10,\"rb\":0,\"wb\":0,\"acc\":[-100,0],\"fs\":[1,2,3]}\n"
        " ,{\"tb\":64,\"tbk\":1,\"tl\":53225,\"mb\":64,\"mbk\":1,\"gb\":0,\"gbk\":0,\"eb\":0,\"ebk\":0,\"fs\":[1,4]}\n"
        " ]\n"
        ",\"ftbl\":[\"[root]\",\"0x48417B4: malloc (in /usr/lib/x.so)\",\"0x109190: inner(int) (leaky.c:6)\",\"0x109190: main (leaky.c:9)\",\"0x1091CF: ??? (in /a)\"]\n"
        "}\n",
        "{\"dhatFileVersion\":2,\"mode\":\"rust-heap\",\"verb\":\"Allocated\",\"bklt\":true,\"bkacc\":false,\"tu\":\"µs\",\"Mtu\":\"s\",\"tuth\":10,\"cmd\":\"x\",\"pid\":1,\"tg\":3,\"te\":5,\"more\":{\"a\":[null,true,false,-1.5e3,{\"b\":\"\\u00e9\\ud83d\\ude00\\n\\ud83d\"}]},\"pps\":[{\"tb\":8,\"tbk\":1,\"tl\":1,\"mb\":8,\"mbk\":1,\"gb\":8,\"gbk\":1,\"eb\":8,\"ebk\":1,\"fs\":[1,2]}],\"ftbl\":[\"[root]\",\"0x1: alloc::alloc (a.rs:95:9)\",\"main (b.rs:3)\"]}\n",
        "{\"dhatFileVersion\":2,\"mode\":\"heap\",\"bklt\":false,\"te\":5,\"pps\":[{\"tb\":8,\"tbk\":1,\"fs\":[]}],\"ftbl\":[]}\n",
};

int main(int argc, char **argv) {
        return argc == 2 ? import_fuzz_put_texts(argv[1], seeds, sizeof(seeds) / sizeof(seeds[0]))
                         : 2;
}
