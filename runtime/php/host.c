// SPDX-License-Identifier: Apache-2.0
// host -- our main in place of that of the program which we are loaded into. See launch.c.
//
// A program begins by giving its main to the C library, by a call that a library loaded first may
// answer. Nothing of the program's own has run before that but what prepares libraries.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "php_runtime.h"

typedef int main_fn(int argc, char **argv, char **env);
typedef int start_fn(main_fn *main, int argc, char **argv, void (*init)(void), void (*fini)(void),
                     void (*loader_end)(void), void *stack_end);

// Programs that scripts start are not to have us loaded; what the operator has asked for stays.
static void leave_preload(void)
{
    static const char here;
    Dl_info us;
    const char *preload = getenv("LD_PRELOAD");
    if (!preload || !dladdr(&here, &us))
        return;
    size_t len = strcspn(preload, ":");
    if (strlen(us.dli_fname) != len || memcmp(preload, us.dli_fname, len) != 0)
        return;
    int rc = preload[len] ? setenv("LD_PRELOAD", preload + len + 1, true) : unsetenv("LD_PRELOAD");
    if (rc < 0)
        abort();
}

static int main_here(int argc, char **argv, char **env)
{
    (void)env;
    leave_preload();
    return godwit_php_main(argc, argv);
}

start_fn host_start __asm__("__libc_start_main");

__attribute__((visibility("default"))) int host_start(main_fn *main, int argc, char **argv,
                                                      void (*init)(void), void (*fini)(void),
                                                      void (*loader_end)(void), void *stack_end)
{
    void *found = dlsym(RTLD_NEXT, "__libc_start_main");
    start_fn *start;
    (void)main;
    if (!found) {
        fprintf(stderr, "godwit-php: %s\n", dlerror());
        abort();
    }
    memcpy(&start, &found, sizeof start);
    return start(main_here, argc, argv, init, fini, loader_end, stack_end);
}
