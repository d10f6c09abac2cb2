// SPDX-License-Identifier: Apache-2.0
// acts -- a module that answers as the tests ask it to, by path:
//   /text      "hello\n", length known          /stream   "one", then waits; acts_go_on: "two", end
//   /all       "one" "two", length unknown      /echo     the request body, spooled
//   /big       BIG_BYTES of memory              /wait     nothing, until acts_answer
//   /fail      "one", then fails                /nothing  fails at once
//   /bad       a header with a line break       /close    "bye\n", asks to close
//   /empty     204                              /unread   "hello\n" without reading the body
#pragma once

#include "core/exchange.h"
#include "core/module.h"

#define ACTS_BIG_BYTES ((size_t)(1024 * 1024))

extern struct module acts_module;

// What the module has seen.
struct acts {
    struct exchange *waiting; // of /wait and /stream
    unsigned aborted;         // on_abort calls
    unsigned ended;           // exchanges that are over
    unsigned sources_closed;
    struct exchange_facts facts; // of the last one that is over
};

extern struct acts acts;

// acts_answer answers the exchange of /wait.
void acts_answer(void);

// acts_go_on lets the source of /stream give its second piece.
void acts_go_on(void);
