// SPDX-License-Identifier: Apache-2.0
// trusted_proxies -- who the client is when it comes through a proxy that is trusted: its address,
// and whether it used TLS, for rules, logs and apps. Must stand first in the list of features.
#pragma once

#include "core/module.h"

extern struct module trusted_proxies_module;
