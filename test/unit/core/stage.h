// SPDX-License-Identifier: Apache-2.0
// stage -- what tests of core, front and features stand on: one server thread with its loop, a
// configuration from text, a directory of files that goes away.
#pragma once

#include <stddef.h>

#include "core/module.h"
#include "core/thread.h"

struct stage {
    struct thread thread;
    struct loop *loop;
    struct jobs *jobs;
    char dir[64]; // a temporary directory
};

// stage_open makes it; `modules` are registered after those of core.
void stage_open(struct stage *s, struct module *const *modules, size_t count);

// stage_config puts a configuration in force; "$D" in it is the directory.
void stage_config(struct stage *s, const char *text);

// stage_file writes a file below the directory, with the directories that it needs.
void stage_file(struct stage *s, const char *path, const char *content);

// stage_turn takes one turn of the loop and waits at most `wait_ms` for something to do.
void stage_turn(struct stage *s, int wait_ms);

// stage_metric is the value of a counter by name.
long long stage_metric(struct stage *s, const char *name);

// stage_close frees all and removes the directory.
void stage_close(struct stage *s);
