// SPDX-License-Identifier: Apache-2.0
// cli -- the command line: which command, with which options. Does nothing of what they ask for.
#pragma once

#include <stdbool.h>

#include "base/compiler.h"
#include "base/err.h"

enum cli_command {
    CLI_SERVE,
    CLI_CHECK,
    CLI_RELOAD,
    CLI_STOP,
    CLI_STATUS,
    CLI_APPS,
    CLI_RESTART,
    CLI_HELP,
    CLI_VERSION
};

struct cli {
    enum cli_command command;
    const char *operand; // DIR, DIRECTIVE or APP; NULL: none. All borrow from argv
    const char *file;    // -c
    const char *port;    // -p
    const char *name;    // -n
    const char *runtime; // --runtime
    bool json;
    bool now;
};

// cli_parse reads the arguments behind the program's name. False: `err` says what is wrong and
// which command or option comes nearest.
MUST_USE bool cli_parse(int argc, char **argv, struct cli *out, struct err *err);

// cli_usage prints all commands and options on standard output.
void cli_usage(void);
