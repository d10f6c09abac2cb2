// SPDX-License-Identifier: Apache-2.0
// error_log -- where the keeper's own lines go: up to the first commit where the process began to
// write them, from then on to the error log of the configuration in force. The server writes to the
// same file; each line is one write at its end.
#pragma once

struct keeper;

// error_log_use goes over to what the configuration in force says; again after its logs were opened
// anew.
void error_log_use(struct keeper *k);

// error_log_leave goes back to where the process began.
void error_log_leave(struct keeper *k);
