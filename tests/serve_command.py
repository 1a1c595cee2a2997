#!/usr/bin/env python3
"""`lamella serve`: the list, pages and comparisons to who knows the address; nothing to anybody else."""

import http.client
import os
import signal
import socket
import subprocess
import sys
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from record_lib import LAMELLA, Skip, check, equal, main, record  # noqa: E402


class Server:
    """A running `lamella serve`; ends with Ctrl-C."""

    def __init__(self, *args):
        self.process = subprocess.Popen([LAMELLA, "serve", *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        check(line, f"it prints its address: {'' if line else self.process.stderr.read()}")
        url = urllib.parse.urlsplit(line.strip())
        self.host, self.port, self.path = url.hostname, url.port, url.path

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.process.send_signal(signal.SIGINT)
        rest, self.said = self.process.communicate(timeout=20)
        if exc[0] is None:
            equal(self.process.returncode, 0, "Ctrl-C ends it")

    def ask(self, path, method="GET", **headers):
        """Status, headers, text; {host} may replace the Host header."""
        http_ = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        http_.putrequest(method, path, skip_host=True)
        http_.putheader("Host", headers.pop("host", f"127.0.0.1:{self.port}"))
        for key, value in headers.items():
            http_.putheader(key.replace("_", "-"), value)
        http_.endheaders()
        answer = http_.getresponse()
        body = answer.read().decode("utf-8")
        http_.close()
        return answer.status, answer.headers, body


def two_recordings():
    record("true", out="a.lamella")
    record("sh", "-c", "exit 0", out='"><script>b.lamella')
    done = subprocess.run([LAMELLA, "page", "a.lamella"], capture_output=True, check=False)
    if b"built without" in done.stderr:
        raise Skip("this lamella was built without its page")
    return done.stdout.decode()


def test_pages():
    page = two_recordings()
    with Server("a.lamella", '"><script>b.lamella') as server:
        equal(server.host, "127.0.0.1", "where it listens")
        status, headers, body = server.ask(server.path)
        equal(status, 200, "the list")
        check('href="page/0"' in body and 'href="page/1"' in body, "a link for each")
        check("<script" not in body and "&#60;script&#62;b.lamella" in body, "names are escaped")
        check("default-src 'none'" in headers["Content-Security-Policy"], "the list runs nothing")
        check("Access-Control-Allow-Origin" not in headers, "no other origin may read")
        status, headers, body = server.ask(server.path + "page/0")
        equal((status, body), (200, page), "the page is that of `lamella page`")
        for key in ("X-Frame-Options", "Cross-Origin-Resource-Policy", "Referrer-Policy", "Cache-Control"):
            check(key in headers, key)
        status, _, body = server.ask(server.path + "compare?before=0&after=1")
        check(status == 200 and 'data-lamella="comparison"' in body, "a comparison")


def test_strangers():
    two_recordings()
    with Server("a.lamella") as server:
        for path in ("/", "/page/0", "/" + "0" * 32 + "/", server.path[:-1], server.path + "page/1", server.path + "page/00x", server.path + "../../../etc/passwd",
                     server.path + "page/..%2f..%2fetc%2fpasswd", server.path + "compare?before=0", server.path + "compare?before=0&after=7"):
            status, _, body = server.ask(path)
            equal((status, body), (404, ""), path)
        equal(server.ask(server.path + "%00")[0], 400, "an escaped NUL does not end the address")
        equal(server.ask(server.path, host="evil.example")[0], 421, "a name that was bound to loopback")
        equal(server.ask(server.path, host=f"evil.example:{server.port}")[0], 421, "the same with the port")
        equal(server.ask(server.path, Sec_Fetch_Site="cross-site")[0], 403, "a page of another site")
        for method in ("POST", "PUT", "DELETE", "OPTIONS"):
            equal(server.ask(server.path, method=method)[0], 405, method)
        raw = socket.create_connection(("127.0.0.1", server.port), timeout=20)
        raw.sendall(b"\xff\x00 nonsense\r\n" * 200)
        raw.close()
        status, _, _ = server.ask(server.path)
        equal(status, 200, "it still answers")
        here = socket.create_connection(("127.0.0.1", server.port), timeout=20)
        here.close()


def test_only_loopback():
    two_recordings()
    with Server("a.lamella") as server:
        with open("/proc/net/tcp", encoding="ascii") as file:
            listening = [line.split()[1] for line in file if line.split()[3] == "0A"]
        equal([a for a in listening if a.endswith(f":{server.port:04X}")], [f"0100007F:{server.port:04X}"], "addresses it listens on")


def test_what_cannot_be_served():
    done = subprocess.run([LAMELLA, "serve", "nothing.lamella"], capture_output=True, check=False, timeout=20)
    equal(done.returncode, 1, "no such recording")
    check(b"nothing.lamella" in done.stderr, "it is named")
    two_recordings()
    with Server("a.lamella") as server:
        os.rename("a.lamella", "gone.lamella")
        status, _, body = server.ask(server.path + "page/0")
        check(status == 500 and "a.lamella" in body, "what went away is said in the browser")


if __name__ == "__main__":
    main(globals())
