// SPDX-License-Identifier: Apache-2.0
// events -- the stable names of log events, each with its meaning in one line: what an operator may
// search and alert for. Names never change their meaning; tools/check-events holds the code to it.
#pragma once

// One row per event, sorted: X(name, meaning).
#define EVENTS(X)                                                                              \
 X("app.failed", "a worker of an app could not be started")                                    \
 X("app.loaded", "an app's program is there; workers can be started")                          \
 X("app.output", "a line that an app wrote on its standard error")                             \
 X("app.protocol", "a process of an app sent what it may not send")                            \
 X("app.restart_failed",                                                                       \
   "an app that was to get new workers has none; the old ones, if there are any, stay")        \
 X("app.restarted", "an app gets new workers because that was asked for")                      \
 X("auth.bad_line", "a line of a password file can let nobody in")                             \
 X("auth.file_failed", "a password file cannot be read; all who ask are refused")              \
 X("backend.bad_answer",                                                                       \
   "a worker's answer could not be used; the client gets 502, or the answer is cut")           \
 X("backend.bad_header", "an app sent header lines that are not valid; they were left out")    \
 X("backend.bad_status", "an app set a status that no answer can have; 500 took its place")    \
 X("backend.body_too_long", "an app sent more than its Content-Length; the rest was dropped")  \
 X("backend.body_too_short", "an app sent less than its Content-Length; the answer is cut")    \
 X("backend.no_worker", "no worker could be started; requests that wait get 503")              \
 X("backend.queue_full", "a request was refused because the app's queue is full")              \
 X("backend.queue_timeout", "a request waited too long for a worker and was refused")          \
 X("backend.spool_failed", "a request body could not be read back from its temporary file")    \
 X("backend.stopped", "a request came for an app that is not in the configuration any more")   \
 X("backend.timeout", "a worker was killed because its request took longer than request_time") \
 X("backend.worker_died", "a worker ended, or closed, in the middle of a request")             \
 X("backend.wrong_length", "an app sent a wrong Content-Length; it was put right or left out") \
 X("config.invalid", "a configuration was refused; the old one goes on")                       \
 X("config.loaded", "a configuration is in force")                                             \
 X("config.needs_restart", "a reload has changed what only a restart of the instance changes") \
 X("config.no_site", "a request came while the configuration has no site")                     \
 X("front.accept_failed", "connections cannot be taken for lack of descriptors or memory")     \
 X("front.bad_answer", "an app gave a head that cannot be sent; the client gets 502")          \
 X("front.cut", "an answer could not be completed; the client sees that it broke off")         \
 X("front.tls_flood", "a client was cut: it sent too many TLS records without bytes")          \
 X("htaccess.failed", "an .htaccess file could not be read for want of descriptors")           \
 X("htaccess.refused", "a request was refused because an .htaccess file protects something")   \
 X("keeper.commit_slow", "a thread of the server is late in taking a configuration")           \
 X("keeper.failed", "the instance could not start, or could not end as it should")             \
 X("keeper.listening", "an address is being listened on")                                      \
 X("keeper.refused", "the server or a spawner asked for what it may not have")                 \
 X("keeper.started", "the instance has started")                                               \
 X("keeper.stopped", "the instance has ended")                                                 \
 X("keeper.stopping", "the end of the instance has begun")                                     \
 X("listing.failed", "a directory could not be read to list it")                               \
 X("log.dropped", "lines were lost: a log could not be written, or not as fast as they came")  \
 X("log.failed", "a log file could not be opened anew")                                        \
 X("log.restored", "a log that lost lines is written again")                                   \
 X("server.died", "the server process has ended; another one is started")                      \
 X("server.failed", "the server process could not start")                                      \
 X("server.few_files", "the limit of open files leaves room for fewer connections")            \
 X("server.listen_failed", "a thread cannot accept connections on an address")                 \
 X("server.orphaned", "the server process has lost the keeper and ends")                       \
 X("server.started", "the server process is ready")                                            \
 X("server.threads_failed", "not all threads could be started")                                \
 X("spool.failed", "a body could not be written to a temporary file")                          \
 X("spool.full", "a request body was refused: temporary files have no room for it")            \
 X("spool.stalled", "an answer was cut: its client reads nothing, and no file can hold it")    \
 X("static.failed", "a file that is there could not be opened or read")                        \
 X("static.script_refused", "a script that no app runs was asked for; its source is not sent") \
 X("worker.closed",                                                                            \
   "a worker closed its connection over a request or after it, lives, and is ended")           \
 X("worker.died", "a worker ended though nobody asked for it")                                 \
 X("worker.recycled", "a worker is replaced before its time, mostly for its memory")
