// SPDX-License-Identifier: Apache-2.0
// child -- see child.h.
#include "keeper/child.h"

#include "base/assert.h"
#include "os/family.h"
#include "os/proc.h"

struct choice {
    const struct child_table *table;
    pid_t session;
};

static struct str key_of(const pid_t *pid)
{
    return str_n((const char *)pid, sizeof *pid);
}

static bool is_spared(void *arg, pid_t pid)
{
    const struct choice *choice = arg;
    return child_is_known(choice->table, pid)
           || (choice->session && family_session(pid) != choice->session);
}

void child_add(struct child_table *t, struct child *c, pid_t pid)
{
    ASSERT(pid > 1 && c->pid == 0 && c->on_ended);
    c->pid = pid;
    void *replaced = map_put(&t->by_pid, key_of(&c->pid), c);
    ASSERT(!replaced);
}

bool child_is_known(const struct child_table *t, pid_t pid)
{
    return map_find(&t->by_pid, key_of(&pid)) != NULL;
}

size_t child_count(const struct child_table *t)
{
    return map_count(&t->by_pid);
}

bool child_signal(const struct child *c, int signal)
{
    return c->pid > 0 && family_kill(c->pid, signal);
}

static struct child *find(struct child_table *t, pid_t pid)
{
    struct child *c = map_find(&t->by_pid, key_of(&pid));
    if (c || !t->on_unknown)
        return c;
    t->on_unknown(t);
    return map_find(&t->by_pid, key_of(&pid));
}

void child_reap(struct child_table *t)
{
    pid_t pid;
    while ((pid = family_ended()) != 0) {
        struct child *c = find(t, pid);
        if (c && c->on_ending)
            c->on_ending(c);
        int status = family_collect(pid);
        if (c) {
            map_remove(&t->by_pid, key_of(&pid));
            c->pid = 0;
            c->on_ended(c, status);
        } else {
            t->lost[t->lost_at].pid = pid;
            t->lost[t->lost_at].status = status;
            t->lost_at = (t->lost_at + 1) % CHILD_LOST_MAX;
        }
    }
}

bool child_take_lost(struct child_table *t, pid_t pid, int *out_status)
{
    for (size_t i = 0; i < CHILD_LOST_MAX; i++) {
        if (t->lost[i].pid != pid || pid == 0) // 0: an empty place
            continue;
        t->lost[i].pid = 0;
        *out_status = t->lost[i].status;
        return true;
    }
    return false;
}

void child_kill_strangers(const struct child_table *t, int signal, pid_t session)
{
    struct choice choice = {t, session};
    (void)proc_kill_strangers(signal, is_spared, &choice);
}
