// SPDX-License-Identifier: Apache-2.0
// modules -- see modules.h.
#include "main/modules.h"

#include "app/app_conf.h"
#include "base/compiler.h"
#include "core/listen.h"
#include "core/module.h"
#include "core/server_conf.h"
#include "core/site_conf.h"
#include "core/spool.h"
#include "core/target.h"
#include "feature/access.h"
#include "feature/access_log.h"
#include "feature/answer.h"
#include "feature/auth_basic.h"
#include "feature/cors.h"
#include "feature/error_page.h"
#include "feature/expires.h"
#include "feature/header_rules.h"
#include "feature/htaccess.h"
#include "feature/index.h"
#include "feature/limit.h"
#include "feature/listing.h"
#include "feature/maintenance.h"
#include "feature/redirect.h"
#include "feature/static.h"
#include "feature/trusted_proxies.h"
#include "feature/try_paths.h"
#include "front/accept.h"
#include "front/front_tls.h"

// Within a phase the first that takes a request answers it: what refuses stands first, an index is
// chosen before an app may run it, and files are what is left. Of what changes answers, the page
// for an error stands first, and the fields that a site asks for last. cors answers questions that
// carry no password, so it stands before auth_basic; limits stand there too, against guessing.
static struct module *const MODULES[] = {
    &server_conf_module,
    &listen_module,
    &front_module,
    &front_tls_module,
    &site_conf_module,
    &target_module,
    &spool_module,
    // rewrite
    &trusted_proxies_module,
    &redirect_module,
    // access
    &access_module,
    &limit_module,
    &maintenance_module,
    &htaccess_module,
    &cors_module,
    &auth_basic_module,
    // handle
    &answer_module,
    &try_paths_module,
    &index_module,
    &app_conf_module,
    &listing_module,
    &static_module,
    // what changes answers
    &error_page_module,
    &expires_module,
    &header_rules_module,
    &access_log_module,
};

void modules_register(void)
{
    for (size_t i = 0; i < ARRAY_LEN(MODULES); i++)
        module_register(MODULES[i]);
}
