// SPDX-License-Identifier: Apache-2.0
// pool_queue -- the requests that wait for a worker, fair between client addresses: addresses take
// turns, requests of one address are served in the order they came. So an address with a thousand
// waiting requests delays another one's by about one of them. Knows no workers and no time.
//
// Turns come in rounds. An address that was served in this round has its next turn in the next one;
// one that is new joins the round that runs, and is served before those that had their turn. A
// round ends in any case after some turns, so that ever new addresses do not starve the others.
//
// All calls take constant time. Memory: at most one record for each address that waits or was
// served in the current round.
#pragma once

#include <stdint.h>

#include "backend/endpoint.h"
#include "base/list.h"
#include "base/map.h"

struct pool_client;

struct pool_queue {
    struct list waits; // all tickets, oldest first (struct ticket, wait)
    uint32_t count;    // of them
    // private
    struct map clients;          // by address
    struct list round;           // clients, the next one first
    struct list later;           // those that had their turn in this round
    uint32_t round_left;         // turns until it ends in any case
    struct pool_client *largest; // one with about the most tickets; NULL: not known
};

// pool_queue_init makes an empty queue; pool_queue_done frees what an empty queue holds.
void pool_queue_init(struct pool_queue *q);
void pool_queue_done(struct pool_queue *q);

// pool_queue_push puts a ticket (in no list) behind those of its exchange's client.
void pool_queue_push(struct pool_queue *q, struct ticket *t);

// pool_queue_pop takes out the ticket whose turn it is; NULL when none waits.
struct ticket *pool_queue_pop(struct pool_queue *q);

// pool_queue_remove takes a ticket out.
void pool_queue_remove(struct pool_queue *q, struct ticket *t);

// pool_queue_oldest returns the ticket that waits longest, NULL when none does.
struct ticket *pool_queue_oldest(const struct pool_queue *q);

// pool_queue_excess returns the newest ticket of an address that has clearly more of them waiting
// than the client of `ex`, NULL when there is none: what is to give way in a full queue.
struct ticket *pool_queue_excess(const struct pool_queue *q, const struct exchange *ex);

// pool_queue_check asserts that the queue's parts agree.
void pool_queue_check(const struct pool_queue *q);
