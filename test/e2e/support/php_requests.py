# SPDX-License-Identifier: Apache-2.0
"""Requests whose variables must be those of Apache, the files they are for, and the script that tells what it sees.
In requests @PORT@ stands for the server's port."""
from __future__ import annotations

DUMP = r"""<?php
function readable($value) {
    if (is_array($value)) {
        $out = [];
        foreach ($value as $key => $item)
            $out[is_string($key) ? readable($key) : $key] = readable($item);
        return $out;
    }
    return is_string($value) ? mb_convert_encoding($value, 'UTF-8', 'ISO-8859-1') : $value;
}
$asked = array_merge(array_keys($_SERVER), ['HTTP_AUTHORIZATION', 'HTTP_PROXY', 'HTTP_X_NONE', 'CONTENT_TYPE', 'CONTENT_LENGTH']);
$getenv = [];
foreach ($asked as $name) {
    $value = getenv($name);
    if ($value !== (isset($_SERVER[$name]) ? $_SERVER[$name] : false))
        $getenv[$name] = $value;
}
$files = $_FILES;
array_walk_recursive($files, function (&$item, $key) {
    if (is_string($item) && is_uploaded_file($item))
        $item = 'sha1 ' . sha1_file($item);
});
$seen = json_encode(readable(['server' => $_SERVER, 'getenv' => $getenv, 'input' => file_get_contents('php://input'),
    'files' => $files, 'headers' => apache_request_headers(), 'get' => $_GET, 'post' => $_POST, 'cookie' => $_COOKIE,
    'request' => $_REQUEST, 'cwd' => getcwd(), 'file' => __FILE__]), JSON_UNESCAPED_SLASHES | JSON_PRESERVE_ZERO_FRACTION);
if ($_SERVER['REQUEST_METHOD'] == 'HEAD')
    header('X-Seen: ' . $seen);
header('Content-Type: application/json');
echo $seen;
"""

SCRIPTS = ("index.php", "v.php", "sub/index.php", "sub/v.php", "sub/deep/v.php", "with space.php", "a+b.php", "é.php",
           "100%.php", "semi;colon.php", "v.phtml", "UPPER.PHP", "v.php.bak.php", "front.php/index.php", "tilde~/v.php",
           "amp&eq=.php", "quo'te.php", "(paren).php", "[b].php", "index.html.php")
OTHER_SCRIPTS = ("index.php", "v.php", "sub/index.php")  # below /alias
PLAIN = ("plain.txt", "noindex/readme.txt", "static/index.html")

FORM = "Content-Type: application/x-www-form-urlencoded"


def ask(line: str, *headers: str, host: str = "site.example:@PORT@", body: bytes = None, length: bool = True) -> bytes:
    """A request from its request line ("GET /x" is HTTP/1.1) and header lines."""
    if " HTTP/" not in line:
        line += " HTTP/1.1"
    lines = [line] + ([f"Host: {host}"] if host is not None else []) + list(headers)
    if body is not None and length:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + (body or b"")


def parts(*pieces: bytes) -> bytes:
    """A multipart body; each piece is headers, an empty line, data."""
    return b"".join(b"--edge\r\n" + p + b"\r\n" for p in pieces) + b"--edge--\r\n"


MULTI = "Content-Type: multipart/form-data; boundary=edge"
CHUNKED = b"5\r\na=1&b\r\n2\r\n=2\r\n0\r\n\r\n"

REQUESTS = {
    # ---- paths
    "script": ask("GET /v.php"),
    "root": ask("GET /"),
    "index named": ask("GET /index.php"),
    "directory index": ask("GET /sub/"),
    "directory index with query": ask("GET /sub/?x=1"),
    "directory without slash": ask("GET /sub"),
    "directory without slash, query": ask("GET /sub?a=b"),
    "deep": ask("GET /sub/deep/v.php"),
    "path info": ask("GET /v.php/a/b"),
    "path info is a slash": ask("GET /v.php/"),
    "path info after index": ask("GET /sub/index.php/Main_Page"),
    "path info after root index": ask("GET /index.php/a"),
    "path info with query": ask("GET /v.php/a?b=c/d"),
    "path info encoded": ask("GET /v.php/a%20b%3Fc%23d"),
    "path info with percent": ask("GET /v.php/100%25"),
    "path info twice encoded": ask("GET /v.php/%2541"),
    "path info UTF-8 encoded": ask("GET /v.php/%C3%A9t%C3%A9"),
    "path info UTF-8 raw": ask("GET /v.php/été"),
    "path info latin-1 encoded": ask("GET /v.php/%E9"),
    "path info with dots": ask("GET /v.php/a/../b"),
    "path info with single dots": ask("GET /v.php/./a/."),
    "path info ends in dots": ask("GET /v.php/a/.."),
    "path info with empty segments": ask("GET /v.php//a///b//"),
    "path info looks like a script": ask("GET /v.php/sub/v.php"),
    "path info with plus": ask("GET /v.php/a+b"),
    "path info with semicolon": ask("GET /v.php/a;b=c/d"),
    "path info with encoded slash": ask("GET /v.php/a%2Fb"),
    "path info with colon": ask("GET /v.php/http://other.example/"),
    "path info with backslash": ask("GET /v.php/a%5Cb"),
    "path info with control byte": ask("GET /v.php/a%01b%0Ac"),
    "path info with hidden name": ask("GET /v.php/.hidden/x"),
    "path info long": ask("GET /v.php/" + "/".join(["segment"] * 60)),
    "dot segments": ask("GET /./sub/../v.php"),
    "dot segments encoded": ask("GET /%2e/sub/%2e%2E/v.php"),
    "dot segments to a directory": ask("GET /sub/deep/.."),
    "dot segments above root": ask("GET /../v.php"),
    "double slash in front": ask("GET //v.php"),
    "double slash inside": ask("GET /sub//v.php"),
    "many slashes": ask("GET ///sub////deep///v.php"),
    "double slash before index": ask("GET /sub//"),
    "name encoded": ask("GET /%76%2Ephp"),
    "name with space": ask("GET /with%20space.php"),
    "name with plus": ask("GET /a+b.php"),
    "name with plus encoded": ask("GET /a%2Bb.php"),
    "name UTF-8 encoded": ask("GET /%C3%A9.php"),
    "name UTF-8 raw": ask("GET /é.php/é"),
    "name with percent": ask("GET /100%25.php"),
    "name with semicolon": ask("GET /semi;colon.php"),
    "name with ampersand": ask("GET /amp&eq=.php?x"),
    "name with quote": ask("GET /quo'te.php"),
    "name with parentheses": ask("GET /(paren).php"),
    "name with brackets": ask("GET /[b].php"),
    "name with tilde": ask("GET /tilde~/v.php"),
    "name phtml": ask("GET /v.phtml"),
    "name of two ends": ask("GET /v.php.bak.php"),
    "directory named like a script": ask("GET /front.php/"),
    "file in a directory named like a script": ask("GET /front.php/index.php/x"),
    "upper case is another name": ask("GET /V.PHP"),
    "missing": ask("GET /missing.php"),
    "missing with path info": ask("GET /missing.php/x"),
    "path info of a plain file": ask("GET /plain.txt/x.php"),
    "broken escape": ask("GET /v.php%zz"),
    "NUL in the path": ask("GET /v.php%00.txt"),
    "alias": ask("GET /alias/v.php"),
    "alias index": ask("GET /alias/"),
    "alias index below": ask("GET /alias/sub/"),
    "alias path info": ask("GET /alias/v.php/x/y"),
    "alias without slash": ask("GET /alias"),
    "absolute form": ask("GET http://site.example:@PORT@/v.php/a?b=c"),
    "absolute form, another host": ask("GET http://other.example/v.php"),
    "absolute form without path": ask("GET http://site.example:@PORT@"),
    # ---- queries
    "query": ask("GET /v.php?a=1&b=2"),
    "query empty": ask("GET /v.php?"),
    "query of two marks": ask("GET /v.php?a?b=c"),
    "query without value": ask("GET /v.php?word"),
    "query as arguments": ask("GET /v.php?one+two+three"),
    "query arrays": ask("GET /v.php?a[]=1&a[]=2&b[x][y]=3&c[=4"),
    "query names with dots and spaces": ask("GET /v.php?a.b=1&c%20d=2&+e=3"),
    "query escapes": ask("GET /v.php?a=%20+%2B%26%3D%00x"),
    "query broken escape": ask("GET /v.php?a=%zz&b=%"),
    "query UTF-8 raw": ask("GET /v.php?ä=ö"),
    "query with slashes and dots": ask("GET /v.php?file=../../etc/passwd//x"),
    "query with semicolons": ask("GET /v.php?a=1;b=2"),
    "query with quotes": ask("GET /v.php?a='1'&b=\"2\"&c=<3>"),
    "query twice the same": ask("GET /v.php?a=1&a=2"),
    # ---- methods and bodies
    "HEAD": ask("HEAD /v.php/x?y=z"),
    "POST form": ask("POST /v.php?q=1", FORM, body=b"a=1&b=%C3%A9&c=d+e&f[]=1&f[]=2"),
    "POST empty": ask("POST /v.php", FORM, body=b""),
    "POST without length": ask("POST /v.php"),
    "POST JSON": ask("POST /v.php", "Content-Type: application/json", body=b'{"a":1}'),
    "POST without type": ask("POST /v.php", body=b"a=1"),
    "POST form with charset": ask("POST /v.php", FORM + "; charset=UTF-8", body=b"a=1"),
    "POST form, type in capitals": ask("POST /v.php", "Content-Type: APPLICATION/X-WWW-FORM-URLENCODED", body=b"a=1"),
    "POST binary": ask("POST /v.php", "Content-Type: application/octet-stream", body=bytes(range(256))),
    "POST chunked": ask("POST /v.php", FORM, "Transfer-Encoding: chunked", body=CHUNKED, length=False),
    "POST to directory index": ask("POST /sub/", FORM, body=b"a=1"),
    "POST to path info": ask("POST /v.php/save", FORM, body=b"a=1"),
    "POST with expect": ask("POST /v.php", FORM, "Expect: 100-continue", body=b"a=1"),
    "POST multipart": ask("POST /v.php", MULTI, body=parts(b'Content-Disposition: form-data; name="a"\r\n\r\n1',
                          b'Content-Disposition: form-data; name="f"; filename="n.txt"\r\nContent-Type: text/plain\r\n\r\ndata')),
    "POST multipart, several files": ask("POST /v.php", MULTI, body=parts(
        b'Content-Disposition: form-data; name="f[]"; filename="1.txt"\r\n\r\none',
        b'Content-Disposition: form-data; name="f[]"; filename="C:\\dir\\2.txt"\r\nContent-Type: x/y\r\n\r\ntwo',
        b'Content-Disposition: form-data; name="e"; filename=""\r\n\r\n',
        'Content-Disposition: form-data; name="u"; filename="ü.txt"\r\n\r\n'.encode())),
    "POST multipart without boundary": ask("POST /v.php", "Content-Type: multipart/form-data", body=b"x"),
    "PUT": ask("PUT /v.php/thing", "Content-Type: text/plain", body=b"content"),
    "PUT form": ask("PUT /v.php", FORM, body=b"a=1"),
    "PATCH": ask("PATCH /v.php", "Content-Type: application/json", body=b"[]"),
    "DELETE": ask("DELETE /v.php/thing"),
    "DELETE with a body": ask("DELETE /v.php", "Content-Type: application/json", body=b"{}"),
    "OPTIONS": ask("OPTIONS /v.php"),
    "PROPFIND": ask("PROPFIND /v.php", "Depth: 1"),
    "unknown method": ask("FROBNICATE /v.php"),
    "TRACE": ask("TRACE /v.php"),
    "GET with a body": ask("GET /v.php", FORM, body=b"a=1"),
    "GET with type and no body": ask("GET /v.php", "Content-Type: text/plain"),
    "GET with length 0": ask("GET /v.php", body=b""),
    # ---- versions, hosts, ports
    "HTTP/1.0 without host": ask("GET /v.php HTTP/1.0", host=None),
    "HTTP/1.0 with host": ask("GET /v.php HTTP/1.0", host="old.example"),
    "HTTP/1.0 keep-alive": ask("GET /v.php HTTP/1.0", "Connection: keep-alive"),
    "host without port": ask("GET /v.php", host="plain.example"),
    "host with another port": ask("GET /v.php", host="site.example:8443"),
    "host in capitals": ask("GET /v.php", host="Site.EXAMPLE:@PORT@"),
    "host with a final dot": ask("GET /v.php", host="site.example.:@PORT@"),
    "host is an address": ask("GET /v.php", host="127.0.0.1:@PORT@"),
    "host is an IPv6 address": ask("GET /v.php", host="[::1]:@PORT@"),
    "host is an IPv6 address without port": ask("GET /v.php", host="[::1]"),
    "host with an underscore": ask("GET /v.php", host="my_site.example"),
    "host empty": ask("GET /v.php", host=""),
    "over IPv6": ask("GET /v.php", host="[::1]:@PORT@"),
    # ---- headers
    "browser": ask("GET /v.php", "User-Agent: Mozilla/5.0 (X11)", "Accept: text/html,*/*;q=0.8", "Accept-Language: de,en",
                   "Accept-Encoding: gzip, br", "Referer: http://site.example/x?y", "Upgrade-Insecure-Requests: 1",
                   "Sec-Fetch-Mode: navigate", "Connection: keep-alive", "Cache-Control: no-cache", "Pragma: no-cache", "DNT: 1"),
    "conditional": ask("GET /v.php", 'If-None-Match: "x"', "If-Modified-Since: Mon, 01 Jan 2024 00:00:00 GMT",
                       "If-Match: *", "If-Unmodified-Since: Mon, 01 Jan 2029 00:00:00 GMT"),
    "range": ask("GET /v.php", "Range: bytes=0-", "If-Range: x"),
    "cookies": ask("GET /v.php", "Cookie: a=1; b=2%203; a=4; c.d=5; e[]=6; e[]=7; empty=; bare"),
    "cookies in two fields": ask("GET /v.php", "Cookie: a=1", "Cookie: b=2"),
    "Basic": ask("GET /v.php", "Authorization: Basic YW5uOnNlY3JldA=="),
    "Basic with colons": ask("GET /v.php", "Authorization: basic YTpiOmM="),
    "Basic malformed": ask("GET /v.php", "Authorization: Basic ###"),
    "Bearer": ask("GET /v.php", "Authorization: Bearer abc.def"),
    "Digest": ask("GET /v.php", 'Authorization: Digest username="u", realm="r", nonce="n", uri="/", response="x"'),
    "Proxy-Authorization": ask("GET /v.php", "Proxy-Authorization: Basic YTpi"),
    "Proxy": ask("GET /v.php", "Proxy: http://evil.example/"),
    "repeated headers": ask("GET /v.php", "X-A: 1", "Accept: a/a", "x-a: 2", "Accept: b/b", "X-A: 3"),
    "repeated If-None-Match": ask("GET /v.php", 'If-None-Match: "a"', 'If-None-Match: "b"'),
    "repeated X-Forwarded-For": ask("GET /v.php", "X-Forwarded-For: 1.2.3.4", "X-Forwarded-For: 5.6.7.8"),
    "forwarded": ask("GET /v.php", "X-Forwarded-For: 1.2.3.4", "X-Forwarded-Proto: https", "X-Forwarded-Host: out.example",
                     "Forwarded: for=1.2.3.4", "X-Real-IP: 1.2.3.4", "Via: 1.1 x", "Client-IP: 1.2.3.4"),
    "underscore": ask("GET /v.php", "X_Under: 1", "X-Under: 2", "X_Only: 3"),
    "odd names": ask("GET /v.php", "X.Dot: 1", "X!Bang: 2", "X~Tilde: 3", "X-1: 4", "1: 5", "-: 6"),
    "headers in lower case": ask("GET /v.php", "user-agent: ua", "x-lower: 1", "accept: */*"),
    "empty values": ask("GET /v.php", "X-Empty:", "Accept:", "User-Agent: "),
    "white space around values": ask("GET /v.php", "X-Space:   a  b \t", "X-Tab:\tb\t"),
    "UTF-8 value": ask("GET /v.php", "X-Name: é", "User-Agent: ü"),
    "names of variables": ask("GET /v.php", "Remote-Addr: 1.2.3.4", "Script-Name: /x", "Https: on", "Php-Auth-User: eve",
                              "Content-Type-X: y", "Redirect-Status: 200"),
    "hop by hop": ask("GET /v.php", "Connection: keep-alive, X-Named", "Keep-Alive: timeout=5", "X-Named: 1", "TE: trailers"),
    "upgrade": ask("GET /v.php", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: x"),
    "method override": ask("POST /v.php", "X-HTTP-Method-Override: PUT", body=b""),
    "many headers": ask("GET /v.php", *[f"X-Many-{i}: {i}" for i in range(60)]),
    "long value": ask("GET /v.php", "X-Long: " + "v" * 4000),
}
