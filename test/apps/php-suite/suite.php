<?php
// What the tests of godwit-php ask for: one function per query word.
function t_hello() { echo "Hello, world\n"; }
function t_server() {
    foreach (explode(',', $_GET['n']) as $name)
        echo $name, '=', isset($_SERVER[$name]) ? $_SERVER[$name] : '(none)', "\n";
}
function t_getenv() { foreach (explode(',', $_GET['n']) as $name) echo $name, '=', var_export(getenv($name), true), "\n"; }
function t_post() { ksort($_POST); echo json_encode($_POST), ' ', strlen(file_get_contents('php://input')), "\n"; }
function t_input() { echo md5(file_get_contents('php://input')), "\n"; }
function t_upload() {
    $f = $_FILES['file'];
    echo $f['name'], ' ', $f['size'], ' ', $f['error'], ' ', md5_file($f['tmp_name']), ' ', $_POST['field'], "\n";
}
function t_cookie() { echo json_encode($_COOKIE), "\n"; setcookie('one', '1'); setcookie('two', '2'); }
function t_status() { header('HTTP/1.1 404 Not Found'); echo "not here\n"; }
function t_cgistatus() { header('Status: 410 Gone'); echo "gone\n"; }
function t_redirect() { header('Location: /there'); }
function t_code() { http_response_code(503); header('Retry-After: 7'); }
function t_flush() { echo "first\n"; while (ob_get_level()) ob_end_flush(); flush(); echo "second\n"; }
function t_finish() {
    header('X-Before: yes');
    echo "finished\n";
    var_dump(litespeed_finish_request());
    echo "unseen\n";
    @header('X-After: no');
    error_log('still working ' . var_export(connection_aborted(), true) . ' ' . var_export(fastcgi_finish_request(), true));
}
function t_headers() { echo json_encode(getallheaders()), "\n"; }
function t_responseheaders() { header('X-A: b'); echo json_encode(apache_response_headers()), "\n"; }
function t_ini() {
    foreach (explode(',', $_GET['n']) as $name) echo $name, '=', ini_get($name), ' ', var_export(ini_set($name, '9'), true), "\n";
}
function t_log() { error_log('a message'); echo "logged\n"; }
function t_fatal() { echo 'before '; no_such_function(); }
function t_exit() { register_shutdown_function(function () { echo "shutdown\n"; }); echo "bye\n"; exit(3); }
function t_cwd() { echo getcwd(), "\n"; if (isset($_GET['to'])) chdir($_GET['to']); }
function t_big() { echo str_repeat('x', (int) $_GET['n']); }
function t_loop() { set_time_limit(1); while (true) { } }
function t_sapi() { echo PHP_SAPI, ' ', opcache_get_status(false)['opcache_enabled'] ? 'opcache' : 'none', ' ', ini_get('html_errors'), "\n"; }
function t_abort() {
    ignore_user_abort(false);
    register_shutdown_function(function () { error_log('aborted=' . connection_aborted()); });
    while (ob_get_level()) ob_end_flush();
    for (;;) { echo str_repeat('y', 10000); flush(); }
}
function t_pid() { echo getmypid(), "\n"; }
function t_auth() { echo $_SERVER['PHP_AUTH_USER'] ?? '-', ' ', $_SERVER['PHP_AUTH_PW'] ?? '-', "\n"; }
$word = 't_' . ($_GET['t'] ?? 'hello');
function_exists($word) ? $word() : t_status();
