// SPDX-License-Identifier: Apache-2.0
// godwit_php -- the program: options, and PHP's hooks for libgodwit-app. See php_runtime.h.
//
//   godwit-php [-d NAME[=VALUE]]... [-a NAME=VALUE]... [-c PATH] [-b ADDRESS]
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "php_runtime.h"

static const char USAGE[] =
    "usage: godwit-php [-d NAME[=VALUE]]... [-a NAME=VALUE]... [-c PATH] [-b ADDRESS]\n"
    "  -d  set a php.ini entry\n"
    "  -a  set one that no script can change\n"
    "  -c  php.ini file, or the directory that holds it\n"
    "  -b  listen there for LSAPI connections: 127.0.0.1:9000, unix:/path\n"
    "  -v  print the version\n"
    "Godwit starts it by itself.\n";

static int on_preload(void *arg)
{
    return engine_start(arg) ? 0 : 1;
}

static const char *on_describe(void *arg)
{
    return engine_describe(arg);
}

static int on_boot(void *arg)
{
    (void)arg;
    engine_worker_start();
    backtrace_worker_start();
    return 0;
}

static void on_serve(void *arg, struct godwit_app_request *req)
{
    (void)arg;
    engine_serve(req);
}

static void on_leave(void *arg)
{
    (void)arg;
    engine_stop();
}

// Adds "name=value\n" to the entries, the value as an ini file has it. As with PHP's own programs
// one that begins with a sign is quoted.
static char *add_entry(char *entries, const char *entry)
{
    const char *value = strchr(entry, '=');
    bool quote = value && value[1] && value[1] != '"' && value[1] != '\''
                 && !isalnum((unsigned char)value[1]);
    size_t held = entries ? strlen(entries) : 0;
    size_t size = held + strlen(entry) + 8;
    entries = realloc(entries, size);
    if (!entries)
        abort();
    if (!value) {
        snprintf(entries + held, size - held, "%s=1\n", entry);
    } else if (quote) {
        snprintf(entries + held, size - held, "%.*s=\"%s\"\n", (int)(value - entry), entry,
                 value + 1);
    } else {
        snprintf(entries + held, size - held, "%s\n", entry);
    }
    return entries;
}

// The value of an option, joined ("-dx=1") or the next argument; NULL when there is none.
static const char *option_value(int argc, char **argv, int *at)
{
    if (argv[*at][2])
        return argv[*at] + 2;
    return *at + 1 < argc ? argv[++*at] : NULL;
}

// Exit status, or -1 to go on.
static int read_options(int argc, char **argv, struct engine_options *out)
{
    for (int i = 1; i < argc; i++) {
        const char *value = NULL;
        char option = argv[i][0] == '-' ? argv[i][1] : 0;
        if (option == 'v') {
            printf("godwit-php with PHP %s\n", PHP_VERSION);
            return 0;
        }
        if (option && strchr("dacb", option))
            value = option_value(argc, argv, &i);
        if (!value) {
            (void)fputs(USAGE, stderr);
            return 64;
        }
        if (option == 'd') {
            out->ini_entries = add_entry(out->ini_entries, value);
        } else if (option == 'a') {
            out->final_entries = add_entry(out->final_entries, value);
        } else if (option == 'c') {
            free(out->ini_path);
            out->ini_path = strdup(value); // argv is overwritten by the process title
        } else if (godwit_app_listen(value) < 0) {
            fprintf(stderr, "godwit-php: cannot listen on %s\n", value);
            return 1;
        }
    }
    return -1;
}

int godwit_php_main(int argc, char **argv)
{
    static struct engine_options options; // of the process
    options.program = strdup(argv[0]);
    int status = read_options(argc, argv, &options);
    if (status >= 0)
        return status;
    struct godwit_app_hooks hooks = {.name = "godwit-php",
                                     .arg = &options,
                                     .preload = on_preload,
                                     .describe = on_describe,
                                     .boot = on_boot,
                                     .serve = on_serve,
                                     .leave = on_leave};
    return godwit_app_main(&hooks, argc, argv);
}
