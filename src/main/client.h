// SPDX-License-Identifier: Apache-2.0
// client -- the commands that ask a running instance: reload, stop, status, apps.
#pragma once

#include "main/cli.h"

// client_run does the command of `cli` and returns the exit status.
int client_run(const struct cli *cli);
