"""Which URLs and addresses count as public ones."""

from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given
from hypothesis.strategies import ip_addresses

from chassis.http.addresses import UnsafeAddress, check_url, is_allowed, is_public, parse_allowed_network


def _words(table: str) -> list[str]:
    return table.split()


HOSTILE = _words("""
http://localhost/  http://LOCALHOST/  http://localhost./  http://localhost:8080/  http://a.localhost/
http://localhost.localdomain/  http://ip6-localhost/  http://printer.local/  http://db.internal/
http://metadata.google.internal/computeMetadata/v1/  http://router.home.arpa/  http://nas.lan/
http://intranet/
http://rabbitmq:15672/  http://localhosT。/  http://ｌｏｃａｌｈｏｓｔ/  http://lo\u00adcalhost/
http://127.0.0.1/  http://127.0.0.1:80/  http://127.0.0.1./  http://127.255.255.254/
http://127.1/  http://127.0.1/
http://2130706433/  http://017700000001/  http://0x7f000001/  http://0x7f.0.0.1/  http://0X7F.1/
http://0177.0.0.1/
http://127.0.0.01/  http://0/  http://0.0.0.0/  http://0.0.0.0:8000/  http://00000.0.0.0/  http://127.0.0.1.../
http://１２７.０.０.１/  http://127。0。0。1/  http://①②⑦.⓪.⓪.①/  http://127．0．0．1/  http://1２7.0.0.1/
http://١٢٧.0.0.1/
http://10.0.0.1/  http://10.255.255.255/  http://172.16.0.1/  http://172.31.255.255/  http://192.168.1.1/
http://100.64.0.1/  http://100.127.255.255/  http://169.254.169.254/latest/meta-data/  http://2852039166/
http://0xa9fea9fe/  http://169.254.43518/  http://0251.0376.0251.0376/  http://192.0.0.8/  http://192.0.0.170/
http://192.0.2.1/  http://198.51.100.7/  http://203.0.113.9/  http://198.18.0.1/  http://198.19.255.255/
http://192.88.99.1/  http://192.31.196.1/  http://192.52.193.1/  http://192.175.48.1/  http://224.0.0.1/
http://239.255.255.250/  http://240.0.0.1/  http://255.255.255.255/  http://256.1.1.1/  http://1.2.3/
http://1.2.3.4.5/
http://[::1]/  http://[::1]:8080/  http://[0:0:0:0:0:0:0:1]/  http://[0000::0001]/  http://[::]/
http://[::ffff:127.0.0.1]/  http://[::ffff:7f00:1]/  http://[::ffff:10.0.0.1]/  http://[::ffff:8.8.8.8]/
http://[::127.0.0.1]/  http://[::ffff:0:127.0.0.1]/  http://[64:ff9b::127.0.0.1]/  http://[64:ff9b::7f00:1]/
http://[64:ff9b::8.8.8.8]/  http://[64:ff9b:1::a00:1]/  http://[2002:7f00:1::]/  http://[2002:c0a8:101::1]/
http://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/  http://[2001::1]/  http://[2001:20::1]/  http://[2001:db8::1]/
http://[3fff::1]/  http://[5f00::1]/  http://[100::1]/  http://[fc00::1]/  http://[fd12:3456::1]/
http://[fe80::1]/
http://[fe80::1%25eth0]/  http://[fe80::1%eth0]/  http://[2606:4700::1111%eth0]/  http://[fec0::1]/
http://[ff02::1]/
http://[2620:4f:8000::1]/  http://[4000::1]/  http://[::1]evil.com/  http://[::1/  http://::1/  http://[127.0.0.1]/
http://user@example.com/  http://user:pass@example.com/  http://example.com@127.0.0.1/  http://@example.com/
http://example.com:80@127.0.0.1/  http://127.0.0.1#@example.com/  http://example.com\\@127.0.0.1/
http://127.0.0.1\\.example.com/  http://example.com＠127.0.0.1/  http://example.com／@127.0.0.1/
http://%31%32%37.0.0.1/  http://127.0.0.1%2f.example.com/  http://loc%61lhost/  http://example%2ecom/
http://example.com:0/  http://example.com:65536/  http://example.com:http/  http://example.com:/
http://example.com:-1/
http:///path  http://  http:example.com  http:/example.com  //example.com/  example.com/a.jpg  http://.example.com/
http://example..com/  http://-example.com/  http://example-.com/  http://exa*mple.com/  http://ex;ample.com/
ftp://example.com/  file:///etc/passwd  gopher://example.com/  data:text/plain,hi  javascript:alert(1)
ws://example.com/
jar:http://example.com!/  dict://example.com/  ldap://example.com/  http+unix://socket/
""")

SPACED = [
    "", " http://example.com/", "http://example.com/ ", "http://exam ple.com/", "http://example.com/a b.jpg",
    "http://example.com\t/", "http://127.0.0.1\t.example.com/", "ht\ntp://example.com/",
    "http://example.com/\r\nHost: x",
    "http://example.com/\0", "\x01http://example.com/", "http://example.com/\x7f", "http://example.com/\ud800",
    "http://example.com/\u3000", "http://example.com/\u2028", "http://example.com/" + "a" * 2048,
    "http://" + "a" * 64 + ".com/", "http://" + "a." * 130 + "com/",
]  # fmt: skip

PUBLIC = _words("""
http://example.com  https://example.com/  HTTPS://EXAMPLE.COM/A.JPG  https://example.com:8443/a.jpg
http://example.com:80/  https://sub.domain.example.co.uk/p/a.png?x=1&y=2  https://example.com./a.jpg
https://cdn-1.example.com/  https://my_bucket.s3.eu-central-1.amazonaws.com/a.jpg?X-Amz-Signature=ab%2Fcd
https://münchen.de/bild.jpg  https://xn--mnchen-3ya.de/  https://例え.jp/  https://пример.рф/  https://faß.de/
https://example。com/  https://1.example.com/  https://123.com/  https://0x7f.com/  https://10.0.0.1.example.com/
https://127.0.0.1.nip.io/  https://localhost.example.com/  https://mylocalhost.com/  https://internal.example.com/
https://lan.example.org/  http://8.8.8.8/  http://8.8.8.8:8080/a  http://1.1.1.1/  http://93.184.216.34/
http://9.9.9.9/
http://11.0.0.1/  http://100.63.255.255/  http://100.128.0.1/  http://172.15.255.255/  http://172.32.0.1/
http://169.253.255.255/  http://192.167.255.255/  http://192.0.1.1/  http://198.17.255.255/  http://198.20.0.1/
http://223.255.255.255/  http://126.255.255.255/  http://128.0.0.1/  http://[2606:4700:4700::1111]/
http://[2001:4860:4860::8888]:8080/a  http://[2a00:1450:4001:81b::200e]/  http://[2001:200::1]/  http://[2003::1]/
https://example.com/ä.jpg  https://example.com/a@b.jpg  https://example.com/?q=http://127.0.0.1/
https://example.com/#@127.0.0.1  https://example.com?x  https://example.com/%00  https://example.com/a/../b
""")


@pytest.mark.parametrize("url", HOSTILE + SPACED)
def test_a_url_that_is_not_plainly_public_is_refused(url: str) -> None:
    with pytest.raises(UnsafeAddress) as refusal:
        check_url(url)
    assert refusal.value.reason.endswith(".")


@pytest.mark.parametrize("url", PUBLIC)
def test_a_public_url_is_accepted(url: str) -> None:
    target = check_url(url)
    assert target.target.startswith("/")
    assert check_url(target.url) == target


def test_the_tables_are_as_long_as_they_should_be() -> None:
    assert len(set(HOSTILE + SPACED)) >= 60
    assert len(set(PUBLIC)) >= 30


@pytest.mark.parametrize(
    ("url", "authority", "target"),
    [
        ("http://Example.COM", "example.com", "/"),
        ("http://example.com.:80/a", "example.com", "/a"),
        ("https://example.com:80/a?b#c", "example.com:80", "/a?b"),
        ("https://bücher.example/ü?q=ü%20+", "xn--bcher-kva.example", "/%C3%BC?q=%C3%BC%20+"),
        ("http://[2001:4860:4860:0:0:0:0:8888]:81/", "[2001:4860:4860::8888]:81", "/"),
        ("http://example.com?x=[1]", "example.com", "/?x=[1]"),
    ],
)
def test_a_url_is_taken_apart_as_it_goes_on_the_wire(url: str, authority: str, target: str) -> None:
    parsed = check_url(url)
    assert (parsed.authority, parsed.target) == (authority, target)


def test_a_host_the_deployment_routes_itself_passes_and_no_other() -> None:
    routed = {"media.posthaste.test": "127.0.0.1:9", "minio": "10.0.0.5:9000"}
    assert check_url("http://MEDIA.posthaste.test/a.jpg", routed).host == "media.posthaste.test"
    assert check_url("http://minio/a.jpg", routed).host == "minio"
    for url in (
        "http://minio2/",
        "http://user@minio/",
        "ftp://minio/",
        "http://127.0.0.1/",
        "http://x.minio.local/",
    ):
        with pytest.raises(UnsafeAddress):
            check_url(url, routed)


@pytest.mark.parametrize(
    "text", ["", "example.com", "127.1", "0x7f.0.0.1", "010.0.0.1", "1.2.3.4/32", " 1.1.1"]
)
def test_what_is_no_address_is_not_public(text: str) -> None:
    assert not is_public(text)


@given(ip_addresses())
def test_nothing_that_python_holds_for_special_is_public(address: IPv4Address | IPv6Address) -> None:
    assert not is_public(address) or (address.is_global and not address.is_multicast)


ALLOWED = [
    parse_allowed_network(text)
    for text in ("127.0.0.1/32:9000", "10.1.0.0/16:80", "fd00::/8:443", "10.3.0.0/16:8000-8099")
]


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:9000/hook", "http://10.1.2.3/", "http://10.1.2.3:80/", "https://[fd12::1]/",
        "http://10.3.0.1:8000/", "http://10.3.0.1:8099/", "http://hooks.internal/", "https://hooks:8050/",
    ],
)  # fmt: skip
def test_networks_a_deployment_allows_pass_at_their_ports(url: str) -> None:
    check_url(url, allowed=ALLOWED)
    with pytest.raises(UnsafeAddress):
        check_url(url)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.2:9000/", "http://10.2.0.1/", "https://[::1]/", "http://0x7f.1:9000/",
        "http://[::ffff:127.0.0.1]:9000/", "http://127.0.0.1/", "http://127.0.0.1:9001/", "https://10.1.2.3/",
        "http://10.1.2.3:9000/", "http://[fd12::1]/", "http://10.3.0.1:7999/", "http://10.3.0.1:8100/",
        "http://hooks.internal:81/", "http://localhost:9001/",
    ],
)  # fmt: skip
def test_their_neighbours_and_their_other_ports_do_not_pass(url: str) -> None:
    with pytest.raises(UnsafeAddress):
        check_url(url, allowed=ALLOWED)


def test_an_address_that_a_name_leads_to_is_allowed_at_its_networks_port() -> None:
    assert is_allowed("10.1.255.255", 80, ALLOWED)
    assert not is_allowed("10.1.255.255", 81, ALLOWED)
    assert not is_allowed("hooks.internal", 80, ALLOWED)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("127.0.0.1/8:80", "has host bits set"), ("10.0.0.0/8", "with a port"), ("10.0.0.1:80", "with a port"),
        ("fd00::1:80", "with a port"), ("10.0.0.0/8:", "with a port"), ("10.0.0.0/8:*", "with a port"),
        ("10.0.0.0/33:80", "not a valid netmask|does not appear"), ("10.0.0.0/8:0", "ports must be"),
        ("10.0.0.0/8:65536", "ports must be"), ("10.0.0.0/8:90-80", "ports must be"), ("hooks/8:80", "with a port"),
        ("", "with a port"),
    ],
)  # fmt: skip
def test_what_is_no_network_with_a_port_is_refused(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_allowed_network(text)
