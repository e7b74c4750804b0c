"""``wordveil proxy``: an OpenAI-compatible endpoint that veils what users write."""

from __future__ import annotations

from typing import Annotated

import typer
from typer import Option

from wordveil.cli.options import Epsilon, MechanismName, Options, SpaceName, build_mechanism, never_drawing
from wordveil.cli.serve import check_address, log_config
from wordveil.extras import needs


def proxy(
    upstream: Annotated[
        str, Option(metavar="URL", help="The model's API, with its version, such as https://api.example.com/v1.")
    ],
    mechanism: MechanismName = "graph",
    epsilon: Epsilon = None,
    space: SpaceName = "glove-50k",
    option: Options = None,
    select: Annotated[str, Option(help="Which words are veiled: content, or all.")] = "content",
    system: Annotated[str, Option(help="System messages: leave, veil or refuse.")] = "leave",
    assistant: Annotated[str, Option(help="Replies that the proxy did not deliver itself: veil or leave.")] = "veil",
    results: Annotated[str, Option(help="Results of tools: veil, leave or refuse.")] = "veil",
    tools: Annotated[str, Option(help="Descriptions of tools: leave or refuse.")] = "leave",
    other: Annotated[str, Option(help="Pictures, files and unknown fields: refuse or drop.")] = "refuse",
    restore: Annotated[bool, Option("--restore", help="Put identifiers and numbers back into replies.")] = False,
    host: Annotated[str, Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, Option("--port", "-p", min=1, max=65_535, help="The port to listen on.")] = 8766,
    name: Annotated[
        list[str] | None, Option("--name", help="Another host name that clients may use; may be repeated.")
    ] = None,
    timeout: Annotated[float, Option(help="Seconds to wait for the model.")] = 120.0,
    plain_http: Annotated[
        bool, Option("--plain-http", help="Allow an upstream on another machine without TLS.")
    ] = False,
    access_log: Annotated[bool, Option("--access-log", help="Log path, status and time of requests.")] = False,
) -> None:
    """Veil what users write on its way to a language model, and restore its replies.

    Clients of OpenAI's chat completions and responses APIs use it as their base URL, with their own key. A message
    that is sent again with the next turn is not drawn again while the proxy runs. Whatever cannot be veiled is refused.

    Examples:

      wordveil proxy --upstream https://api.openai.com/v1 --epsilon 4

      wordveil proxy --upstream http://127.0.0.1:11434/v1 --epsilon 4 --restore --system veil
    """
    for module in ("httpx", "starlette", "uvicorn", "orjson"):
        needs(module, "proxy", "the proxy")
    import uvicorn

    from wordveil.errors import OptionError
    from wordveil.proxy import Settings, create_app
    from wordveil.proxy.settings import is_loopback
    from wordveil.service import Settings as Service
    from wordveil.service.connections import Connection, Limits
    from wordveil.service.processes import hangup_as_sigterm
    from wordveil.text import Veil
    from wordveil.text.conversation import Policy

    if select not in ("content", "all"):
        raise OptionError("--select must be content or all.")
    settings = Settings(
        upstream, policy=Policy(system, assistant, results, tools, other), restore=restore, hosts=tuple(name or ()),
        timeout=timeout, plain_http=plain_http, access_log=access_log,
    )  # fmt: skip
    check_address(host, port)
    made = never_drawing(build_mechanism(mechanism, epsilon, space, False, option), None)
    app = create_app(settings, Veil(made, select=select, once="person"))
    app.limits = Limits(Service())  # the service's limits on headers and connections
    typer.echo(f"wordveil: http://{host}:{port}/v1 (stop with Ctrl-C)", err=True)
    if not is_loopback(host):
        typer.echo(
            "wordveil: other machines can reach it, and callers' keys travel without TLS: put a TLS server in front.",
            err=True,
        )
    with hangup_as_sigterm():
        uvicorn.run(
            app, host=host, port=port, http=Connection, ws="none", proxy_headers=False, access_log=False,
            log_level="info" if access_log else "warning", log_config=log_config(), server_header=False,
            date_header=False, timeout_graceful_shutdown=10,
        )  # fmt: skip
