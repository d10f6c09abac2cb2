// SPDX-License-Identifier: Apache-2.0
// timeout -- max_execution_time without system calls per request. See php_runtime.h.
void timeout_worker_start(void);

void timeout_worker_start(void)
{
}
