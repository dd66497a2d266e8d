"""The template of every page of /docs, and their style sheet. Pages load no other file and run no script."""

STYLE = """\
:root{color-scheme:light dark;--line:#8885;--code:#8881;--link:#1f54a3;--get:#2a7d46;--write:#a15c00;--delete:#b3372f}
@media(prefers-color-scheme:dark){:root{--link:#8ab4ff;--get:#6fcf8f;--write:#f0b060;--delete:#ff8f86}}
*{box-sizing:border-box}body{font:1rem/1.55 system-ui,sans-serif;margin:0;overflow-wrap:anywhere}
header,main,footer{max-width:60rem;margin:0 auto;padding:1rem}header{border-bottom:1px solid var(--line)}
nav{display:flex;flex-wrap:wrap;gap:.2rem 1rem}a{color:var(--link)}nav a{padding:.35rem 0}
nav a[aria-current]{font-weight:700;text-decoration:none}
a:focus-visible,summary:focus-visible{outline:3px solid #d98f00}
h1{line-height:1.2;margin:.5rem 0}h2{margin:2.5rem 0 .3rem;border-top:1px solid var(--line);padding-top:1.2rem}
h3{margin:1.2rem 0 .3rem;font-size:1rem}code,pre{font:.875rem/1.5 ui-monospace,monospace;background:var(--code)}
code{padding:.1rem .25rem;border-radius:.2rem}pre{padding:.7rem;overflow:auto;border-radius:.4rem;overflow-wrap:normal}
pre code{padding:0;background:none}dl{margin:0}dt{margin-top:.5rem}dd{margin:0 0 0 1.2rem}small{opacity:.8}
summary{cursor:pointer;padding:.45rem 0}.method{font-weight:700}.GET{color:var(--get)}.DELETE{color:var(--delete)}
.POST,.PATCH,.PUT{color:var(--write)}ul{padding-left:1.2rem}li{margin:.3rem 0}
table{display:block;overflow:auto;border-collapse:collapse;margin:.8rem 0}nav b{padding:.35rem 0}
th,td{border:1px solid var(--line);padding:.3rem .6rem;text-align:left;vertical-align:top;min-width:6rem;
overflow-wrap:normal}
@media(max-width:40rem){nav{flex-wrap:nowrap;overflow-x:auto;white-space:nowrap}}
"""

PAGE = """\
{%- macro fields(rows) -%}
<dl>{% for row in rows %}<dt><code>{{ row.name }}</code>
<small>{{ row.type }}{{ ", required" if row.required }}</small></dt>
{%- if row.text %}<dd>{{ row.text | prose }}</dd>{% endif %}{% endfor %}</dl>
{%- endmacro -%}
<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{{ title }} – Posthaste API</title>
<meta name="viewport" content="width=device-width"><link rel="stylesheet" href="/docs/style.css"></head><body>
<header><nav aria-label="Guides"><a href="/docs"{{ " aria-current=page" if not path }}>Posthaste API {{ version }}</a>
{%- for each in guides %}<a href="{{ each.path }}"{{ " aria-current=page" if path == each.path }}>{{ each.name }}</a>
{%- endfor %}</nav><nav aria-label="Reference"><b>Reference</b>
{%- for each in tags %}<a href="/docs/{{ each.slug }}"{{ " aria-current=page" if path == "/docs/" ~ each.slug }}>
{{- each.name }}</a>{% endfor %}</nav></header><main><h1>{{ title }}</h1>
{%- if guide %}{{ guide }}{% else %}<p>{{ about | prose }}</p>{% endif %}
{%- if not path %}
<p>Send <code>Authorization: Bearer &lt;token&gt;</code> to <code>{{ server }}</code>. For programs:
<a href="{{ server }}/openapi.json">openapi.json</a>, <a href="{{ server }}/errors">errors</a>,
<a href="/docs/postman.json">Postman collection</a>, <a href="/llms.txt">llms.txt</a>.</p>
{%- for each in tags %}<h2><a href="/docs/{{ each.slug }}">{{ each.name }}</a></h2><p>{{ each.about | prose }}</p><ul>
{%- for one in each.operations %}<li><a href="/docs/{{ each.slug }}#{{ one.id }}"><span class="method {{ one.method }}">
{{- one.method }}</span> {{ one.path }}</a><br>{{ one.summary | prose }}</li>{% endfor %}</ul>{% endfor %}
{%- endif %}
{%- for one in operations %}<section><h2 id="{{ one.id }}">{{ one.summary | prose }}</h2>
<p><code><span class="method {{ one.method }}">{{ one.method }}</span> {{ one.path }}</code></p>
{%- if one.about %}<p>{{ one.about | prose }}</p>{% endif %}
{%- if one.parameters %}<h3>Parameters</h3>{{ fields(one.parameters) }}{% endif %}
{%- for body in one.bodies %}<h3>Body{{ ": " ~ body.name if body.name }}</h3>{{ fields(body.fields) }}{% endfor %}
{%- for record in one.records %}<details><summary><code>{{ record.name }}</code></summary>
{{ fields(record.fields) }}</details>{% endfor %}
{%- for sample in one.samples %}<details{{ " open" if loop.first }}><summary>{{ sample.label }}</summary>
<pre tabindex="0">{{ sample.source }}</pre></details>{% endfor %}
{%- for example in one.examples %}<details><summary>{{ example.title }}</summary>
<pre tabindex="0">{{ example.text }}</pre></details>{% endfor %}
{%- if one.errors %}<details><summary>Errors</summary><dl>{% for status, texts in one.errors %}<dt>{{ status }}</dt>
{%- for text in texts %}<dd>{{ text | prose }}</dd>{% endfor %}{% endfor %}</dl></details>{% endif %}</section>
{%- endfor %}</main></body></html>
"""
