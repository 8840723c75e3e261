"""The receiver's interface: its operations with all answers, from which `server` takes its routes, as an OpenAPI 3.1
document. Pure.

The form of a submission is the one schema by which `submission` validates: what is valid by it is accepted, if its id
is that of its content; what is not is refused. Limits of bytes, rate and time stand outside of it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Final

from brisk_fleet import __version__, submission

ID_PATTERN: Final = "^[0-9a-f]{64}$"
_JSON: Final = "application/json"
_METRICS: Final = "application/openmetrics-text"

_REASON: Final = {
    "type": "object",
    "properties": {"error": {"type": "string", "description": "A sentence that says why"}},
    "required": ["error"],
    "additionalProperties": False,
}


def _done(*words: str) -> dict[str, Any]:
    """Gives what a client reads of a request that was done: a sign-in page of a network has another form."""
    return _json(
        {
            "type": "object",
            "properties": {"id": {"type": "string", "pattern": ID_PATTERN}, "status": {"enum": list(words)}},
            "required": ["id", "status"],
            "additionalProperties": False,
        }
    )


_HEALTH: Final = {
    "type": "object",
    "properties": {"status": {"enum": ["ok", "failing"]}, "error": {"type": "string"}},
    "required": ["status"],
    "additionalProperties": False,
}
_RETRY: Final = {
    "Retry-After": {"description": "Seconds to wait", "required": True, "schema": {"type": "integer", "minimum": 1}}
}


@dataclass(frozen=True)
class Answer:
    """One status of an operation: a refusal unless `content` says otherwise."""

    about: str
    content: dict[str, Any] | None = field(
        default_factory=lambda: {_JSON: {"schema": {"$ref": "#/components/schemas/Reason"}}}
    )
    headers: dict[str, Any] | None = None


@dataclass(frozen=True)
class Operation:
    """One method of a path; `name` is that of its handler."""

    method: str
    path: str
    name: str
    about: str
    answers: dict[int, Answer]
    takes: dict[str, Any] = field(default_factory=dict)


_TOO_OFTEN: Final = Answer("Too many requests from this address", headers=_RETRY)
_NOT_NOW: Final = Answer("The table cannot be written now, or too many submissions wait", headers=_RETRY)


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {_JSON: {"schema": schema}}


OPERATIONS: Final = (
    Operation(
        "POST",
        "/v1/submissions",
        "submit",
        "Store a submission",
        {
            200: Answer("It was stored before", _done("known")),
            201: Answer("It is stored: flushed to the disk", _done("stored")),
            400: Answer("The client has left"),
            408: Answer("The body took too long"),
            409: Answer("The id is not the SHA-256 of the canonical JSON (RFC 8785) of the content"),
            410: Answer("It was stored before and deleted: a deletion stays"),
            413: Answer(f"The body has more than {submission.BODY_BYTES_MAX} bytes"),
            422: Answer(
                "The body is no JSON, has a name twice in an object or half of a surrogate pair in a text, "
                "or is not of the schema"
            ),
            429: _TOO_OFTEN,
            503: _NOT_NOW,
        },
        {"requestBody": {"required": True, "content": _json({"$ref": "#/components/schemas/Envelope"})}},
    ),
    Operation(
        "DELETE",
        "/v1/submissions/{id}",
        "delete",
        "Delete a submission, by the secret of its receipt",
        {
            200: Answer("It is deleted, from the disk too", _done("deleted")),
            401: Answer(
                "The secret is missing: Authorization: Bearer SECRET",
                headers={"WWW-Authenticate": {"required": True, "schema": {"type": "string"}}},
            ),
            403: Answer("The secret is another submission's"),
            404: Answer("There is no such submission"),
            429: _TOO_OFTEN,
            503: _NOT_NOW,
        },
        {
            "parameters": [
                {"name": "id", "in": "path", "required": True, "schema": {"type": "string", "pattern": ID_PATTERN}}
            ],
            "security": [{"receipt": []}],
        },
    ),
    Operation(
        "GET",
        "/v1/schema",
        "schema",
        "The JSON Schema of a submission in its envelope",
        {200: Answer("JSON Schema, draft 2020-12", _json({"type": "object"}))},
    ),
    Operation(
        "GET",
        "/healthz",
        "health",
        "Whether submissions can be stored",
        {200: Answer("They can", _json(_HEALTH)), 503: Answer("They cannot; the reason is given", _json(_HEALTH))},
    ),
    Operation(
        "GET",
        "/metrics",
        "metrics",
        "Counters, in OpenMetrics",
        {200: Answer("OpenMetrics", {_METRICS: {"schema": {"type": "string"}}})},
    ),
    Operation(
        "GET", "/openapi.json", "openapi", "This document", {200: Answer("OpenAPI 3.1", _json({"type": "object"}))}
    ),
)


def document() -> dict[str, Any]:
    """Gives the OpenAPI document."""
    # Within it, names are looked up from its own root.
    envelope = json.loads(json.dumps(submission.schema()).replace('"#/$defs/', '"#/components/schemas/'))
    schemas: dict[str, Any] = envelope.pop("$defs")
    envelope.pop("$schema")
    paths: dict[str, Any] = {}
    for one in OPERATIONS:
        paths.setdefault(one.path, {})[one.method.lower()] = {
            "operationId": one.name,
            "summary": one.about,
            **one.takes,
            "responses": {str(status): _response(answer) for status, answer in one.answers.items()},
        }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "brisk-fleet",
            "version": __version__,
            "summary": "Receives storage results of many devices",
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": {**schemas, "Envelope": envelope, "Reason": _REASON},
            "securitySchemes": {
                "receipt": {"type": "http", "scheme": "bearer", "description": "The secret of the receipt"}
            },
        },
    }


def _response(answer: Answer) -> dict[str, Any]:
    found: dict[str, Any] = {"description": answer.about}
    if answer.content is not None:
        found["content"] = answer.content
    if answer.headers is not None:
        found["headers"] = answer.headers
    return found
