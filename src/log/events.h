// SPDX-License-Identifier: Apache-2.0
// events -- the stable names of log events, each with its meaning in one line: what an operator may
// search and alert for. Names never change their meaning; tools/check-events holds the code to it.
#pragma once

// One row per event, sorted: X(name, meaning).
#define EVENTS(X)                                                                              \
 X("app.failed", "a worker of an app could not be started")                                    \
 X("app.output", "a line that an app wrote on its standard error")                             \
 X("app.protocol", "a process of an app sent what it may not send")                            \
 X("config.invalid", "a configuration was refused; the old one goes on")                       \
 X("config.loaded", "a configuration is in force")                                             \
 X("front.accept_failed", "connections cannot be taken for lack of descriptors or memory")     \
 X("front.bad_answer", "an app gave a head that cannot be sent; the client gets 502")          \
 X("front.cut", "an answer could not be completed; the client sees that it broke off")         \
 X("htaccess.refused", "a request was refused because an .htaccess file protects something")   \
 X("keeper.failed", "the instance could not start, or could not end as it should")             \
 X("keeper.listening", "an address is being listened on")                                      \
 X("keeper.refused", "the server asked for what it may not have, or broke the protocol")       \
 X("keeper.started", "the instance has started")                                               \
 X("keeper.stopped", "the instance has ended")                                                 \
 X("keeper.stopping", "the end of the instance has begun")                                     \
 X("log.dropped", "lines were lost: a log could not be written as fast as they came")          \
 X("log.failed", "a log file could not be opened anew")                                        \
 X("server.died", "the server process has ended; another one is started")                      \
 X("server.started", "the server process is ready")                                            \
 X("spool.failed", "a request body could not be written to a temporary file")                  \
 X("static.failed", "a file that is there could not be opened or read")                        \
 X("static.script_refused", "a script that no app runs was asked for; its source is not sent") \
 X("worker.died", "a worker ended though nobody asked for it")
