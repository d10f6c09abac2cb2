// SPDX-License-Identifier: Apache-2.0
// serve -- the command that starts an instance: this process becomes its keeper.
#pragma once

#include "main/cli.h"

// serve_run runs the instance to its end and returns the exit status.
int serve_run(const struct cli *cli);

// serve_check has the loader check the configuration that `cli` names; returns the exit status.
int serve_check(const struct cli *cli);
