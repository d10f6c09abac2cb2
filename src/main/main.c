// SPDX-License-Identifier: Apache-2.0
// main -- one program, several roles: the commands that a person types, and the roles that the
// keeper starts
// ("@loader", "@server"), each with its channel on descriptor 3.
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "main/cli.h"
#include "main/client.h"
#include "main/roles.h"
#include "main/serve.h"
#include "os/fd.h"
#include "os/proc.h"

#define CHANNEL      3
#define USAGE_STATUS 2 // exit status for a command line that is not understood

// A copy in one piece: the title takes the place of the arguments.
static char **copy_args(int argc, char **argv)
{
    size_t text_size = 0;
    for (int i = 0; i < argc; i++)
        text_size += strlen(argv[i]) + 1;
    char **copy = mem_alloc(((size_t)argc + 1) * sizeof *copy + text_size);
    char *to = (char *)(copy + argc + 1);
    for (int i = 0; i < argc; i++) {
        size_t size = strlen(argv[i]) + 1;
        copy[i] = memcpy(to, argv[i], size);
        to += size;
    }
    return copy;
}

static int run_role(int argc, char **argv)
{
    // Given by the keeper, to this process only.
    if (fd_set_cloexec(CHANNEL, true) < 0) {
        fprintf(stderr, "godwit: %s is started by the keeper only\n", argv[1]);
        return USAGE_STATUS;
    }
    if (strcmp(argv[1], "@server") == 0) {
        proc_set_title("godwit: server");
        return server_role(CHANNEL);
    }
    char **args = copy_args(argc - 1, argv + 1);
    proc_set_title("godwit: loader");
    int status = loader_role(CHANNEL, argc - 1, args);
    mem_free(args);
    return status;
}

static int run_command(const struct cli *cli)
{
    switch (cli->command) {
    case CLI_SERVE:
        return serve_run(cli);
    case CLI_CHECK:
        return serve_check(cli);
    case CLI_RELOAD:
    case CLI_STOP:
    case CLI_STATUS:
    case CLI_APPS:
    case CLI_RESTART:
        return client_run(cli);
    case CLI_HELP:
        if (cli->operand)
            return help_print(cli->operand);
        cli_usage();
        putchar('\n');
        return help_print(NULL);
    case CLI_VERSION:
        puts("godwit " GODWIT_VERSION);
        return 0;
    }
    return USAGE_STATUS;
}

int main(int argc, char **argv)
{
    proc_title_init(argc, argv);
    if (argc > 1 && (strcmp(argv[1], "@loader") == 0 || strcmp(argv[1], "@server") == 0))
        return run_role(argc, argv);
    struct cli cli;
    struct err err = {0};
    if (cli_parse(argc - 1, argv + 1, &cli, &err))
        return run_command(&cli);
    fprintf(stderr, "godwit: %s\n", err_text(&err));
    err_done(&err);
    return USAGE_STATUS;
}
