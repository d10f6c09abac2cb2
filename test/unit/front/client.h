// SPDX-License-Identifier: Apache-2.0
// client -- the other end of a connection that a front serves, in the same thread as the loop.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "../core/stage.h"
#include "base/buf.h"

struct client {
    struct stage *stage;
    int fd;
    struct buf got; // all that came, without Date lines' values
    bool closed;    // the server has closed
};

// client_open connects to the stage's front.
void client_open(struct client *c, struct stage *stage);

// client_send sends all of it, with turns of the loop as needed.
void client_send(struct client *c, const char *bytes, size_t len);

// client_say is client_send of a text.
void client_say(struct client *c, const char *text);

// client_receive reads what has come; tells whether there was anything.
bool client_receive(struct client *c);

// client_settle takes turns until nothing more happens at once, and reads what comes.
void client_settle(struct client *c);

// client_wait takes turns until `text` has come or the server has closed.
void client_wait(struct client *c, const char *text);

// client_wait_closed takes turns until the server has closed.
void client_wait_closed(struct client *c);

// client_text is what came so far, with the values of Date lines taken out.
const char *client_text(struct client *c);

// client_close closes our end and lets the front see it.
void client_close(struct client *c);
