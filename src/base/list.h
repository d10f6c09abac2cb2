// SPDX-License-Identifier: Apache-2.0
// list -- a doubly linked ring of nodes embedded in their owners. No allocation. A node is in at
// most one list. A zeroed node is "in no list"; a list head must be initialised.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"

struct list_node {
    struct list_node *prev, *next; // both NULL: in no list
};

struct list {
    struct list_node head;
};

// list_init makes an empty list.
static inline void list_init(struct list *l)
{
    l->head.prev = l->head.next = &l->head;
}

// list_is_empty tells whether no node is in it.
static inline bool list_is_empty(const struct list *l)
{
    return l->head.next == &l->head;
}

// list_has tells whether the node is in some list.
static inline bool list_has(const struct list_node *n)
{
    return n->next != NULL;
}

// list_insert_before puts `n` (in no list) in front of `at`.
static inline void list_insert_before(struct list_node *at, struct list_node *n)
{
    n->prev = at->prev;
    n->next = at;
    at->prev->next = n;
    at->prev = n;
}

// list_push_back appends `n`, which must be in no list.
static inline void list_push_back(struct list *l, struct list_node *n)
{
    list_insert_before(&l->head, n);
}

// list_push_front puts `n`, which must be in no list, first.
static inline void list_push_front(struct list *l, struct list_node *n)
{
    list_insert_before(l->head.next, n);
}

// list_remove takes `n` out of its list; fine when it is in none.
static inline void list_remove(struct list_node *n)
{
    if (!n->next)
        return;
    n->prev->next = n->next;
    n->next->prev = n->prev;
    n->prev = n->next = NULL;
}

// list_first returns the first node, NULL when empty.
static inline struct list_node *list_first(const struct list *l)
{
    return list_is_empty(l) ? NULL : l->head.next;
}

// list_pop_front removes and returns the first node, NULL when empty.
static inline struct list_node *list_pop_front(struct list *l)
{
    struct list_node *n = list_first(l);
    if (n)
        list_remove(n);
    return n;
}

// list_foreach walks the owners of type `type` whose node is `member`; `var` may be removed (and
// freed) in the body, other nodes may not.
// NOLINTBEGIN(bugprone-macro-parentheses): they would make no declarations.
#define list_foreach(l, type, member, var)                                        \
 for (struct list_node *var##_at = (l)->head.next, *var##_next = var##_at->next;  \
      var##_at != &(l)->head; var##_at = var##_next, var##_next = var##_at->next) \
  for (type *var = CONTAINER_OF(var##_at, type, member); var; var = NULL)
// NOLINTEND(bugprone-macro-parentheses)
