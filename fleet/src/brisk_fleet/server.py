"""`brisk-fleet serve`: receives submissions.

`openapi` has the operations and their answers; `GET /openapi.json` gives them to programs.

No address is logged or stored. TLS, and timeouts of request heads, are a reverse proxy's (README).
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import errno
import hashlib
import queue
import re
import socket
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass

import uvicorn
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST, generate_latest
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from brisk_fleet import openapi, submission
from brisk_fleet.errors import FleetError
from brisk_fleet.limits import Network, RateLimit
from brisk_fleet.table import Table
from brisk_fleet.writer import Deletion, Writer

BODY_TIMEOUT_S = 10.0
# A client reads an answer only once it has sent its body: so much of one that is refused is read and dropped.
DRAIN_BYTES_MAX = 8 << 20
_RETRY_S = 5


@dataclass(frozen=True)
class Options:
    """What `serve` is started with: rates are requests of one client; `proxies` tell the client's address by
    X-Forwarded-For; from an `own` network each submission has a vote."""

    per_minute: float = 30.0
    burst: int = 30
    connections_max: int = 1000
    proxies: tuple[Network, ...] = ()
    own: tuple[Network, ...] = ()


class Refusal(Exception):  # it is an answer, not a fault
    """An answer other than success."""

    def __init__(self, status: int, why: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(why)
        self.status, self.why, self.headers = status, why, headers


def _refused(error: submission.InvalidError) -> Refusal:
    status = {submission.WrongIdError: 409, submission.DeletedError: 410}.get(type(error), 422)
    return Refusal(status, f"the submission is refused: {error}")


def _retry(after_s: int) -> dict[str, str]:
    return {"retry-after": str(after_s)}


async def _no_route(_request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise error
    return JSONResponse({"error": error.detail}, error.status_code, error.headers)


class Receiver:
    """The routes over a writer."""

    def __init__(self, writer: Writer, options: Options) -> None:
        self._writer = writer
        self._limit = RateLimit(options.per_minute / 60.0, float(options.burst))
        self._registry = CollectorRegistry()
        name = "brisk_fleet"
        self._answers = Counter(
            f"{name}_requests", "Requests by route and status", ["route", "status"], registry=self._registry
        )
        self._seconds = Histogram(
            f"{name}_store_seconds", "Time from a submission's arrival to its answer", registry=self._registry
        )
        stored = Gauge(f"{name}_submissions", "Submissions in the table", registry=self._registry)
        stored.set_function(lambda: float(writer.count))
        files = Gauge(f"{name}_table_files", "Files of the table", registry=self._registry)
        files.set_function(lambda: float(writer.files))
        commits = Gauge(f"{name}_commits", "Commits since the start", registry=self._registry)
        commits.set_function(lambda: float(writer.commits))

    def app(self) -> Starlette:
        """Gives the ASGI application."""

        @contextlib.asynccontextmanager
        async def lifespan(_app: Starlette) -> AsyncIterator[None]:
            self._writer.start()
            try:
                yield
            finally:
                await asyncio.to_thread(self._writer.stop)

        return Starlette(
            routes=[Route(one.path, getattr(self, one.name), methods=[one.method]) for one in openapi.OPERATIONS],
            lifespan=lifespan,
            # Another path or method: in the form of all refusals.
            exception_handlers={HTTPException: _no_route},
        )

    async def submit(self, request: Request) -> Response:
        """Stores a submission."""
        begun = time.monotonic()
        answer = await self._answered("submit", self._submit(request))
        self._seconds.observe(time.monotonic() - begun)
        return answer

    async def delete(self, request: Request) -> Response:
        """Deletes a submission by its secret."""
        return await self._answered("delete", self._delete(request))

    async def schema(self, _request: Request) -> Response:
        """Gives the JSON Schema."""
        return JSONResponse(submission.schema())

    async def openapi(self, _request: Request) -> Response:
        """Gives the OpenAPI document."""
        return JSONResponse(openapi.document())

    async def health(self, _request: Request) -> Response:
        """Says whether submissions can be stored."""
        failure = self._writer.failure or (None if self._writer.is_alive() else "the writer has ended")
        body = {"status": "ok"} if failure is None else {"status": "failing", "error": failure}
        return JSONResponse(body, 200 if failure is None else 503)

    async def metrics(self, _request: Request) -> Response:
        """Gives counters in OpenMetrics."""
        return Response(
            generate_latest(self._registry),  # type: ignore[no-untyped-call]
            media_type=CONTENT_TYPE_LATEST,
        )

    async def _answered(self, route: str, work: object) -> Response:
        try:
            answer: Response = await work  # type: ignore[misc]
        except Refusal as refusal:
            answer = JSONResponse({"error": refusal.why}, refusal.status, refusal.headers)
        self._answers.labels(route, str(answer.status_code)).inc()
        return answer

    def _admit(self, request: Request) -> str:
        """Gives the client's address, if its rate allows the request."""
        client = request.client.host if request.client else ""
        wait_s = self._limit.wait_s(client, time.monotonic())
        if wait_s > 0:
            raise Refusal(429, "too many requests from one address", _retry(int(wait_s) + 1))
        return client

    async def _submit(self, request: Request) -> Response:
        client = self._admit(request)
        body = await _body(request)
        try:
            accepted = submission.check(body)
        except submission.InvalidError as error:
            raise _refused(error) from error
        try:
            is_new = await asyncio.wrap_future(self._writer.add(accepted, client))
        except queue.Full as error:
            raise Refusal(503, "too many submissions wait", _retry(_RETRY_S)) from error
        except submission.InvalidError as error:
            raise _refused(error) from error
        except Exception as error:  # the writer's: it has kept the reason for /healthz
            raise Refusal(503, "the table cannot be written now", _retry(_RETRY_S)) from error
        return JSONResponse({"id": accepted.id, "status": "stored" if is_new else "known"}, 201 if is_new else 200)

    async def _delete(self, request: Request) -> Response:
        self._admit(request)
        submission_id = request.path_params["id"]
        scheme, _, secret = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not secret:
            why = "the secret of the receipt is needed: Authorization: Bearer SECRET"
            raise Refusal(401, why, {"www-authenticate": "Bearer"})
        if not re.fullmatch(openapi.ID_PATTERN, submission_id):
            raise Refusal(404, "there is no such submission")
        digest = hashlib.sha256(secret.encode()).hexdigest()
        try:
            outcome = await asyncio.wrap_future(self._writer.delete(submission_id, digest))
        except Exception as error:
            raise Refusal(503, "the table cannot be written now", _retry(_RETRY_S)) from error
        if outcome is not Deletion.DONE:
            raise Refusal(404 if outcome is Deletion.MISSING else 403, outcome.value)
        return JSONResponse({"id": submission_id, "status": outcome.value})


async def _body(request: Request) -> bytes:
    """Gives the body, up to the limits of size and time."""
    limit = submission.BODY_BYTES_MAX
    declared = request.headers.get("content-length", "0")
    is_too_large = not declared.isdigit() or int(declared) > limit
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(BODY_TIMEOUT_S):
            async for part in request.stream():
                size += len(part)
                is_too_large = is_too_large or size > limit
                if size > DRAIN_BYTES_MAX:
                    break
                if is_too_large:
                    parts.clear()
                else:
                    parts.append(part)
    except TimeoutError as error:
        raise Refusal(408, f"the body took more than {BODY_TIMEOUT_S:.0f} s") from error
    except ClientDisconnect as error:
        raise Refusal(400, "the client has left") from error
    if is_too_large:
        raise Refusal(413, f"a submission has at most {limit} bytes")
    return b"".join(parts)


def serve(place: str, host: str, port: int, options: Options) -> None:
    """Serves until SIGINT or SIGTERM; prints the address once it listens."""
    table = Table.create(place)
    with table.writing(), socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as listener:
        with table.failures("read"):
            writer = Writer(table, lambda: dt.datetime.now(dt.UTC).date(), options.own)
        app = Receiver(writer, options).app()
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            server_header=False,
            # Any client can send the header: it is read where a proxy sends it that the operator named.
            proxy_headers=bool(options.proxies),
            forwarded_allow_ips=[str(proxy) for proxy in options.proxies],
            limit_concurrency=options.connections_max,
            timeout_keep_alive=10,
            timeout_graceful_shutdown=20,
        )
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
            listener.listen(config.backlog)
        except OSError as error:
            hint = "; --port 0 takes any free one" if error.errno == errno.EADDRINUSE else ""
            raise FleetError(f"cannot listen at {host}, port {port}: {error.strerror}{hint}") from error
        shown = f"[{host}]" if ":" in host else host
        # It serves also where no one reads this.
        with contextlib.suppress(OSError):
            sys.stdout.write(
                f"listening at http://{shown}:{listener.getsockname()[1]}, {writer.count} submissions in {place}\n"
            )
            sys.stdout.flush()
        uvicorn.Server(config).run([listener])
