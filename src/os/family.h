// SPDX-License-Identifier: Apache-2.0
// family -- ended children looked at before they are collected, and who belongs to whom. As long as
// an ended child is not collected, its number and its process group can't pass to another process.
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/compiler.h"

// family_ended returns a child of this process that has ended and is not collected yet; 0 when
// there is none. The same one again until family_collect.
MUST_USE pid_t family_ended(void);

// family_collect removes the ended child `pid` from the process table and returns its wait status.
int family_collect(pid_t pid);

// family_parent returns the parent of `pid`, 0 when there is no such process.
pid_t family_parent(pid_t pid);

// family_runs_as tells whether `pid` has `uid` for all its user ids: real, effective, saved and
// that of the file system. False when there is no such process.
bool family_runs_as(pid_t pid, uid_t uid);

// family_is_group_leader tells whether `pid` leads a process group of its own.
bool family_is_group_leader(pid_t pid);

// family_session returns the session of `pid`, 0 when there is no such process.
pid_t family_session(pid_t pid);

// family_kill signals the child `pid`, which was not collected yet; false when there is no such
// process.
bool family_kill(pid_t pid, int signal);

// family_has_children tells whether this process has children, ended ones that are not collected
// among them.
bool family_has_children(void);

// family_descendants opens descriptors (proc_pidfd) for the children of `pid` and theirs, up to
// `max`; returns their count. `pid` must not be collected yet.
size_t family_descendants(pid_t pid, int out_pidfds[], size_t max);

// family_kill_group signals each process of the group that `leader` leads or led; false when it is
// empty.
bool family_kill_group(pid_t leader, int signal);
