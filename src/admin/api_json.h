// SPDX-License-Identifier: Apache-2.0
// api_json -- the instance's state as JSON and as counters for Prometheus.
#pragma once

#include <jansson.h>

#include "admin/api.h"
#include "base/arena.h"
#include "base/buf.h"

// api_json_status describes the instance. The caller owns the object.
json_t *api_json_status(const struct api_host *host, struct arena *a);

// api_json_apps describes the apps and their workers. The caller owns the object.
json_t *api_json_apps(struct arena *a);

// api_json_metrics appends the counters in Prometheus' text form.
void api_json_metrics(const struct api_host *host, struct buf *out);
