"""URLs that lead into our own network in every known spelling, URLs that lead there only later, and public URLs.

The API must refuse `refused_urls` in the request that contains them. `late_urls` and `redirects` look public; they
must be refused when they are fetched. Their names and addresses exist in the simulated internet (e2e_kit/internet).
"""

from urllib.parse import urlsplit


def _words(table: str) -> list[str]:
    return table.split()


#: Public addresses of the simulated internet.
HONEST, GUIDE = "93.184.215.14", "151.101.1.140"

_LOOPBACK = _words("""
127.0.0.1 127.0.0.1. 127.1 127.0.1 127.255.255.254 127.0.0.01 0127.0.0.1 2130706433 017700000001 0x7f000001 0X7F000001
0x7f.0.0.1 0x7f.1 0177.0.0.1 0177.0.0.01 0177.1 127.0x0.0.1 0 0.0.0.0 0.0 00000.0.0.0 0x0 127.0.0.1.. 4294967295
18446744071562067969 127.0.0.1%00 127.0.0.1%2f 127.0.0.1%09 %31%32%37.0.0.1 127%2e0%2e0%2e1
localhost LOCALHOST LocalHost localhost. localhost.. a.localhost localhost.localdomain ip6-localhost ip6-loopback
loc%61lhost lo\u00adcalhost ｌｏｃａｌｈｏｓｔ ⓛⓞⓒⓐⓛⓗⓞⓢⓣ localhos\u0165\u0301 localhosT。
１２７.０.０.１ 127。0。0。1 127．0．0．1 ①②⑦.⓪.⓪.① 1２7.0.0.1 ١٢٧.0.0.1 𝟏𝟐𝟕.𝟎.𝟎.𝟏
[::1] [0:0:0:0:0:0:0:1] [0000::0001] [::0001] [::] [::1%25lo] [::1%lo] [::ffff:127.0.0.1] [::ffff:7f00:1]
[0:0:0:0:0:ffff:127.0.0.1] [::127.0.0.1] [::ffff:0:127.0.0.1] [64:ff9b::127.0.0.1] [64:ff9b::7f00:1]
[64:ff9b:1::7f00:1] [2002:7f00:1::] [2002:7f00:1::1] [2001:0:7f00:1::80ff:fffe] [::ffff:0.0.0.0] [127.0.0.1] ::1
""")
_OURS = _words("""
10.0.0.1 10.255.255.255 172.16.0.1 172.31.255.255 192.168.0.1 192.168.255.255 100.64.0.1 100.127.255.255 169.254.169.254
2852039166 0xa9fea9fe 169.254.43518 192.0.0.8 192.0.2.1 198.18.0.1 198.51.100.7 203.0.113.9 192.88.99.1 224.0.0.1
239.255.255.250 240.0.0.1 255.255.255.255 [fc00::1] [fd00::1] [fe80::1] [fe80::1%25eth0] [fec0::1] [ff02::1] [100::1]
[2001:db8::1] [2001::1] [3fff::1] [5f00::1] [::ffff:10.0.0.1] [::ffff:169.254.169.254] [2002:a00:1::]
[64:ff9b::10.0.0.1] metadata.google.internal metadata rabbitmq gateway db.internal printer.local router.home.arpa
nas.lan intranet kubernetes.default.svc.cluster.local
""")
#: URLs in which two parsers find different hosts. {} is the canary's port.
_CONFUSING = _words(r"""
http://user@127.0.0.1:{}/ http://user:pass@127.0.0.1:{}/ http://example.com@127.0.0.1:{}/ http://@127.0.0.1:{}/
http://example.com:80@127.0.0.1:{}/ http://127.0.0.1:{}#@example.com/ http://127.0.0.1:{}?@example.com/
http://127.0.0.1:{}\@example.com/ http://example.com\@127.0.0.1:{}/ http://127.0.0.1\.example.com:{}/
http://example.com＠127.0.0.1:{}/ http://example.com／@127.0.0.1:{}/ http://127.0.0.1:{}%2f.example.com/
http://[::1]:{}.example.com/ http://[::1]example.com:{}/ http://[example.com]@127.0.0.1:{}/ http://::1:{}/
http:127.0.0.1:{}/ http:/127.0.0.1:{}/ http:\\127.0.0.1:{}/ //127.0.0.1:{}/ 127.0.0.1:{} ///127.0.0.1:{}/
http:///127.0.0.1:{}/ http://127.0.0.1:{}:80/ http://127.0.0.1:0{}:/ http://.127.0.0.1:{}/ http://%40127.0.0.1:{}/
https://127.0.0.1:{}/ HTTP://127.0.0.1:{}/ hTTps://localhost:{}/
url:http://127.0.0.1:{}/ view-source:http://127.0.0.1:{}/
ftp://127.0.0.1:{}/ gopher://127.0.0.1:{}/_GET%20/ dict://127.0.0.1:{}/ ldap://127.0.0.1:{}/ ws://127.0.0.1:{}/
tftp://127.0.0.1:{}/ http+unix://127.0.0.1:{}/ jar:http://127.0.0.1:{}!/ file://127.0.0.1:{}/etc/passwd
""")
_OTHER = [
    "file:///etc/passwd", "file:/etc/passwd", "data:text/plain,hello", "javascript:alert(1)", "about:blank", "http://",
    "http:///", "http:///path", "http://?", "http://#", "http://:80/", "nonsense", "/relative", "?", "http://example.com:0/",
    "http://example.com:65536/", "http://example.com:-1/", "http://example.com:http/", "http://example.com:/",
    "http://exam ple.com/", " http://example.com/", "http://example.com/ ", "http://example.com/\t", "ht\ntp://example.com/",
    "http://example.com/\r\nHost: 127.0.0.1", "http://127.0.0.1\t.example.com/", "http://127.0.0.1\n.example.com/",
    "http://example.com\r\n/", "http://example.com/\x7f", "http://example.com/\u2028", "http://example.com\u3000/",
    "http://exa*mple.com/", "http://-example.com/", "http://example..com/", "http://" + "a" * 64 + ".com/",
    "http://" + "a." * 130 + "com/",
]  # fmt: skip

#: Public addresses that look private.
PUBLIC = _words(r"""
http://example.com https://example.com/ HTTPS://EXAMPLE.COM/A.JPG https://example.com:8443/a.jpg http://example.com:80/
https://sub.domain.example.co.uk/p/a.png?x=1&y=2 https://example.com./a.jpg https://cdn-1.example.com/a.jpg
https://my_bucket.s3.eu-central-1.amazonaws.com/a.jpg?X-Amz-Signature=ab%2Fcd https://münchen.de/bild.jpg
https://xn--mnchen-3ya.de/a https://例え.jp/a https://пример.рф/a https://faß.de/a https://example。com/a
https://1.example.com/a https://123.com/a https://0x7f.com/a https://10.0.0.1.example.com/a
https://localhost.example.com/a
https://mylocalhost.com/a https://internal.example.com/a https://lan.example.org/a http://8.8.8.8/a
http://8.8.8.8:8080/a
http://1.1.1.1/a http://9.9.9.9/a http://11.0.0.1/a http://100.63.255.255/a http://100.128.0.1/a http://172.15.255.255/a
http://172.32.0.1/a http://169.253.255.255/a http://192.167.255.255/a http://192.0.1.1/a http://198.17.255.255/a
http://198.20.0.1/a http://223.255.255.255/a http://126.255.255.255/a http://128.0.0.1/a http://[2606:4700:4700::1111]/a
http://[2001:4860:4860::8888]:8080/a http://[2a00:1450:4001:81b::200e]/a http://[2003::1]/a https://example.com/ä.jpg
https://example.com/a@b.jpg https://example.com/?q=http://127.0.0.1/ https://example.com/#@127.0.0.1
https://example.com?x
https://example.com/%00 https://example.com/a/../b https://example.com/a;b=c https://example.com/~user/a.jpg
https://hooks.example.com/services/T0/B0/xyz?key=a%20b
""")

_NAMES: dict[str, list[list[str]]] = {
    "loopback.example.com": [["127.0.0.1"]],
    "another-loopback.example.com": [["127.8.8.8"]],
    "loopback6.example.com": [["::1"]],
    "mapped.example.com": [["::ffff:127.0.0.1"]],
    "nowhere.example.com": [["0.0.0.0"]],
    "nowhere6.example.com": [["::"]],
    "one-of-two.example.com": [[HONEST, "127.0.0.1"]],
    "other-of-two.example.com": [["127.0.0.1", HONEST]],
    "one-of-each.example.com": [[HONEST, "::1"]],
    "metadata.example.com": [["169.254.169.254"]],
    "lan.example.com": [["10.0.0.1"]],
    "office.example.com": [["192.168.1.1"]],
    "translated.example.com": [["64:ff9b::7f00:1"]],
    "tunnel.example.com": [["2002:7f00:1::"]],
    "127.0.0.1.nip.io": [["127.0.0.1"]],
    "7f000001.rbndr.us": [[HONEST], ["127.0.0.1"]],
    "localtest.me": [["127.0.0.1"], ["::1"]],
    # Names whose address changes: between creation and fetch, between look-up and connection, or between two attempts.
    "rebind.example.com": [["127.0.0.1"], [HONEST]],
    "rebind2.example.com": [[HONEST], [HONEST], ["127.0.0.1"]],
    "rebind6.example.com": [[HONEST], ["::1"]],
}
_HONEST_NAME, _GUIDE_NAME = "honest.example.com", "guide.example.com"


def refused_urls(port: int) -> list[str]:
    """Returns at least 150 URLs into our own network. Where the spelling permits a port, it is that of the canary, a
    server that must never get a connection.
    """
    with_host = [f"http://{host}:{port}/x" for host in _LOOPBACK + _OURS]
    return list(dict.fromkeys([*with_host, *(form.replace("{}", str(port)) for form in _CONFUSING), *_OTHER]))


def late_urls(canary_port: int) -> list[str]:
    """Returns URLs with host names that resolve, at once or at a later look-up, to addresses of this machine."""
    return [f"http://{name}:{canary_port}/x" for name in _NAMES]


def redirects(canary_port: int) -> dict[str, tuple[int, str]]:
    """Returns path → (status, Location) for redirects to the canary, a server that must never get a connection."""
    to = f"127.0.0.1:{canary_port}/x"
    return {
        "/301": (301, f"http://{to}"),
        "/302": (302, f"http://{to}"),
        "/303": (303, f"http://{to}"),
        "/307": (307, f"http://{to}"),
        "/308": (308, f"http://{to}"),
        "/scheme-relative": (302, f"//{to}"),
        "/name": (302, f"http://localhost:{canary_port}/x"),
        "/late-name": (302, f"http://loopback.example.com:{canary_port}/x"),
        "/rebind": (302, f"http://rebind.example.com:{canary_port}/x"),
        "/six": (307, f"http://[::1]:{canary_port}/x"),
        "/decimal": (302, f"http://2130706433:{canary_port}/x"),
        "/user": (302, f"http://example.com@{to}"),
        "/twice": (302, "/302"),
        "/thrice": (302, f"http://{_GUIDE_NAME}/twice"),
        "/file": (302, "file:///etc/passwd"),
        "/gopher": (302, f"gopher://{to}"),
    }


def honest_url(path: str) -> str:
    return f"http://{_HONEST_NAME}{path}"


def guide_url(path: str) -> str:
    return f"http://{_GUIDE_NAME}{path}"


def world(honest_port: int, guide_port: int) -> dict[str, object]:
    """Returns the names and addresses of the simulated internet, in the format of e2e_kit/internet."""
    names = _NAMES | {_GUIDE_NAME: [[GUIDE]], "*": [[HONEST]]}
    return {"names": names, "addresses": {GUIDE: guide_port, "*": honest_port}}


def may_succeed(url: str) -> bool:
    """Whether the host name of a URL from `late_urls` or `redirects` has only public addresses at some moment."""
    if url == guide_url("/rebind"):
        return True
    answers = _NAMES.get(urlsplit(url).hostname or "", [])
    return any(set(answer) == {HONEST} for answer in answers)
