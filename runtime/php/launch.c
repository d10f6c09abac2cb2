// SPDX-License-Identifier: Apache-2.0
// launch -- godwit-php as it is called: PHP's own CGI program, with our server interface loaded
// into it.
//
// PHP is installed as programs that hold the engine, and as libraries that do. In a library each
// call of the engine's own functions and each look at its own variables takes a detour, as somebody
// else might define them; a page of a large application costs some hundredths more by that. So the
// engine of the CGI program is used: it exports all that extensions may call, which is all that a
// server interface needs. Ours lies beside this program as a library, is loaded first (LD_PRELOAD),
// and has the program begin with our main instead of its own: host.c.
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// PHP_HOST is the CGI program's path, PHP_MODULE the library's name; the build knows them.

#define PATH_BYTES 4096
#define EXIT_USAGE 64
#define EXIT_HOST  127 // as a shell for a program that is not there

// The library's path, beside ours; false when it cannot be had (the reason was said).
static bool find_module(char path[static PATH_BYTES])
{
    ssize_t len = readlink("/proc/self/exe", path, PATH_BYTES);
    if (len < 0) {
        perror("godwit-php: /proc/self/exe");
        return false;
    }
    while (len > 0 && path[len - 1] != '/')
        len--;
    if ((size_t)len + sizeof PHP_MODULE > PATH_BYTES) {
        (void)fputs("godwit-php: its directory has too long a name\n", stderr);
        return false;
    }
    memcpy(path + len, PHP_MODULE, sizeof PHP_MODULE);
    if (access(path, R_OK) < 0) {
        (void)fputs("godwit-php: ", stderr);
        perror(path);
        return false;
    }
    if (strpbrk(path, ": ")) { // the loader takes them for the end of a name
        fprintf(stderr, "godwit-php: %s: cannot be loaded from a path with a space or a colon\n",
                path);
        return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    static char preload[2 * PATH_BYTES];
    const char *others = getenv("LD_PRELOAD"); // the operator's: an allocator, perhaps
    if (argc < 1 || !find_module(preload))
        return EXIT_USAGE;
    size_t len = strlen(preload);
    if (others && *others
        && snprintf(preload + len, sizeof preload - len, ":%s", others)
               >= (int)(sizeof preload - len)) {
        (void)fputs("godwit-php: LD_PRELOAD is too long\n", stderr);
        return EXIT_USAGE;
    }
    if (setenv("LD_PRELOAD", preload, true) < 0) {
        perror("godwit-php");
        return EXIT_USAGE;
    }
    (void)execv(PHP_HOST, argv);
    perror("godwit-php: cannot run " PHP_HOST);
    return EXIT_HOST;
}
