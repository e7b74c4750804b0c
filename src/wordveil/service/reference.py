"""``/docs``: the API reference as one page, made here so that no browser loads scripts from another host."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response
from jinja2 import Environment

from wordveil.service.problems import CODES, TYPE

__all__ = ["router"]

router = APIRouter(include_in_schema=False)

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{{ info.title }} API</title><link rel="stylesheet" href="docs.css"></head><body>
<h1>{{ info.title }} API {{ info.version }}</h1>
<p>{{ info.summary }} {{ info.description }} The same as a file: <a href="openapi.json">openapi.json</a>.</p>
{% macro kind(schema) %}
{%- if schema["$ref"] %}{% set name = schema["$ref"].rpartition("/")[2] %}<a href="#{{ name }}">{{ name }}</a>
{%- elif schema.anyOf %}{% for one in schema.anyOf %}{{ kind(one) }}{{ " or " if not loop.last }}{% endfor %}
{%- elif schema.type == "array" %}list of {{ kind(schema["items"] or {}) }}
{%- elif schema.enum %}{{ schema.enum | join(", ") }}
{%- else %}{{ schema.type or "anything" }}{% endif %}
{%- endmacro %}
<nav><ul>{% for path, methods in paths.items() %}{% for method, one in methods.items() -%}
<li><a href="#{{ one.operationId }}"><code>{{ method | upper }} {{ path }}</code></a> {{ one.summary }}</li>
{% endfor %}{% endfor %}</ul></nav>
{% for path, methods in paths.items() %}{% for method, one in methods.items() %}
<section id="{{ one.operationId }}"><h2><code>{{ method | upper }} {{ path }}</code></h2>
<p>{{ one.description }}</p>
{% if one.parameters %}<table><tr><th>parameter</th><th>in</th><th>what</th></tr>
{% for told in one.parameters %}<tr><td><code>{{ told.name }}</code>{{ " (required)" if told.required }}</td>
<td>{{ told["in"] }}</td><td>{{ kind(told["schema"]) }} {{ told.description or told["schema"].description }}</td></tr>
{% endfor %}</table>{% endif %}
{% for type, body in (one.requestBody or {}).get("content", {}).items() %}
<p>Body: <code>{{ type }}</code>, {{ kind(body["schema"]) }}</p>{% endfor %}
<table><tr><th>answer</th><th>what</th></tr>
{% for status, told in one.responses.items() %}<tr><td>{{ status }}</td><td>{{ told.description }}
{% for type, body in (told.content or {}).items() %} <code>{{ type }}</code> {{ kind(body["schema"]) }}{% endfor %}
{% for name, about in (told.headers or {}).items() %}<br><code>{{ name }}</code>: {{ about.description }}{% endfor %}
</td></tr>{% endfor %}</table></section>
{% endfor %}{% endfor %}
<h2 id="problems">Problems</h2><table><tr><th>type</th><th>status</th><th>what</th></tr>
{% for code, (status, told) in codes.items() %}<tr><td><code>{{ type_of }}{{ code }}</code></td><td>{{ status }}</td>
<td>{{ told }}</td></tr>{% endfor %}</table>
{% for name, schema in components.schemas.items() %}<section id="{{ name }}"><h3>{{ name }}</h3>
<p>{{ schema.description }}</p><table><tr><th>field</th><th>what</th></tr>
{% for field, told in (schema.properties or {}).items() %}<tr><td><code>{{ field }}</code>
{{- " (required)" if field in (schema.required or []) }}</td><td>{{ kind(told) }} {{ told.description }}</td></tr>
{% endfor %}</table></section>{% endfor %}
</body></html>
"""

_STYLE = """body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
h2{margin-top:2.5rem;border-top:1px solid #8884;padding-top:1rem}table{border-collapse:collapse;width:100%}
td,th{text-align:left;vertical-align:top;padding:.3rem .6rem .3rem 0;border-bottom:1px solid #8884}
code{font-family:ui-monospace,monospace}:root{color-scheme:light dark}
"""

_TEMPLATE = Environment(autoescape=True).from_string(_PAGE)


@router.get("/docs")
async def docs(request: Request) -> Response:
    """Serve the API reference."""
    described: dict[str, Any] = request.app.openapi()
    return Response(_TEMPLATE.render(**described, codes=CODES, type_of=TYPE), media_type="text/html")


@router.get("/docs.css")
async def style() -> Response:
    """Serve its style sheet."""
    return Response(_STYLE, media_type="text/css")
