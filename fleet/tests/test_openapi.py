"""The interface: one schema for the document, the server and the device's side, and answers as the document has
them."""

from __future__ import annotations

import copy
import datetime as dt
import itertools
import json
import re
from typing import Any

import fleet
import jsonschema
import pyarrow as pa
import pytest
from conftest import Start
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brisk_fleet import columns, openapi, submission

SCHEMA = submission.schema()
# Another implementation than the server's.
ORACLE = jsonschema.Draft202012Validator(SCHEMA)


def of(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Documents that are valid by a schema, as far as this one goes; another keyword is an error."""
    rest = {
        key: value for key, value in schema.items() if key not in ("description", "title", "format", "$schema", "$defs")
    }
    if "$ref" in rest:
        base = of(SCHEMA["$defs"][rest.pop("$ref").removeprefix("#/$defs/")])
        if not rest:
            return base
        # What stands beside a reference adds properties to an object.
        return st.tuples(base, of(rest | {"type": "object"})).map(lambda pair: pair[0] | pair[1])
    if "oneOf" in rest:
        return st.one_of([of(choice) for choice in rest["oneOf"]])
    if "const" in rest:
        return st.just(rest["const"])
    if "enum" in rest:
        return st.sampled_from(rest["enum"])
    kind = rest.pop("type")
    if kind == "string":
        return st.from_regex(rest["pattern"], fullmatch=True) if "pattern" in rest else st.text()
    if kind == "integer":
        whole = st.integers(rest["minimum"], rest["maximum"])
        # A number without a fraction is an integer of JSON Schema.
        return st.one_of(whole, whole.map(float))
    if kind == "number":
        return st.one_of(
            st.floats(rest["minimum"], rest["maximum"]), st.integers(rest["minimum"], int(rest["maximum"]))
        )
    if kind == "boolean":
        return st.booleans()
    if kind == "array":
        return st.lists(of(rest["items"]), min_size=rest.get("minItems", 0), max_size=min(3, rest.get("maxItems", 3)))
    assert kind == "object", schema
    if "patternProperties" in rest:
        ((pattern, value),) = rest["patternProperties"].items()
        return st.dictionaries(st.from_regex(pattern, fullmatch=True), of(value), max_size=3)
    required = set(rest.get("required", ()))
    properties = {name: of(value) for name, value in rest["properties"].items()}
    return st.fixed_dictionaries(
        {name: value for name, value in properties.items() if name in required},
        optional={name: value for name, value in properties.items() if name not in required},
    )


SUBMISSIONS = of(SCHEMA["$defs"]["Submission"])
# No text ends with a line feed: for Python's own patterns, and so for this oracle, `$` stands before it too. Not in
# JSON Schema.
OTHER: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, -1, 0, 1.5, 1e300, "", "ünï", "/etc/passwd", [], [[]], {}, {"x": 1}]
)


def enveloped(inner: Any) -> dict[str, Any]:
    return {"id": submission.identity(inner), "deletion_key_sha256": "0" * 64, "submission": inner}


def is_accepted(one: Any) -> bool:
    try:
        submission.check(json.dumps(one).encode())
    except submission.InvalidError:
        return False
    return True


@settings(max_examples=150, suppress_health_check=list(HealthCheck))
@given(SUBMISSIONS)
def test_what_is_valid_by_the_schema_is_accepted_and_has_a_row(inner: dict[str, Any]) -> None:
    one = enveloped(inner)
    assert ORACLE.is_valid(one)
    accepted = submission.check(json.dumps(one).encode())
    row = submission.row(accepted, dt.date(2026, 11, 25))
    assert pa.Table.from_pylist([row], schema=columns.SCHEMA).num_rows == 1


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, below in items for place in ((*path, key), *places(below, (*path, key)))]


@settings(max_examples=400, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_what_the_server_says_of_a_changed_document_is_what_the_schema_says(data: st.DataObject) -> None:
    one = copy.deepcopy(data.draw(st.sampled_from(fleet.samples())))
    inner = one["submission"]
    for _ in range(data.draw(st.integers(1, 2))):
        *way, key = data.draw(st.sampled_from(places(inner)))
        parent: Any = inner
        for step in way:
            parent = parent[step]
        if data.draw(st.booleans()):
            parent[key] = copy.deepcopy(data.draw(OTHER))
        elif isinstance(parent, dict):
            del parent[key]
            if data.draw(st.booleans()):
                parent[data.draw(st.sampled_from(["x", key.upper(), ""]))] = 1
    try:
        one["id"] = submission.identity(inner)
    except submission.InvalidError:
        return
    assert is_accepted(one) == ORACLE.is_valid(one)


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        ("prove", ("results", 0, "gains", 0, "idle_ratio")),
        ("bench", ("machine", "model")),
        ("launch", ("results", 0, "sets", 0, "storage_ms")),
    ],
)
def test_null_is_of_no_field(kind: str, path: tuple[Any, ...]) -> None:
    one = next(one for one in fleet.samples() if one["submission"]["results"][0]["kind"] == kind)
    parent: Any = one["submission"]
    for step in path[:-1]:
        parent = parent[step]
    parent.pop(path[-1], None)
    assert is_accepted(enveloped(one["submission"]))
    parent[path[-1]] = None
    assert not ORACLE.is_valid(one)
    assert not is_accepted(enveloped(one["submission"]))


def test_days_are_those_of_the_calendar() -> None:
    pattern = re.compile(SCHEMA["$defs"]["Day"]["pattern"])
    for year, month, day in itertools.product(range(1999, 2101), range(20), range(40)):
        text = f"{year}-{month:02}-{day:02}"
        try:
            is_day = str(dt.date(year, month, day)) == text and year // 100 == 20
        except ValueError:
            is_day = False
        assert bool(pattern.fullmatch(text)) == is_day, text


def test_the_document_is_whole(start: Start) -> None:
    server = start("--per-minute", "1000000", "--burst", "1000000")
    document = server.client.get("/openapi.json").json()
    assert document == json.loads(json.dumps(openapi.document()))
    text = json.dumps(document)
    schemas = document["components"]["schemas"]
    assert all(f'"{name}"' in text for name in SCHEMA["$defs"])
    for part in text.split('"$ref": "')[1:]:
        assert part.split('"')[0].removeprefix("#/components/schemas/") in schemas
    # Each path answers, and another path or method is refused in the form of all refusals.
    for path, methods in document["paths"].items():
        for method in ("get", "put", "post", "delete"):
            answer = server.client.request(method.upper(), path.replace("{id}", "0" * 64))
            if method in methods:
                assert str(answer.status_code) in methods[method]["responses"]
            else:
                assert (answer.status_code, list(answer.json())) == (405, ["error"])
                assert answer.headers["allow"]
    assert (server.client.get("/v1").status_code, list(server.client.get("/v1").json())) == (404, ["error"])


def test_a_text_with_a_line_feed_at_its_end_is_no_word() -> None:
    one = fleet.samples()[0]["submission"]
    one["machine"]["architecture"] += "\n"
    assert not is_accepted(enveloped(one))


def test_a_wrong_id_and_a_missing_secret_have_statuses_of_their_own(start: Start) -> None:
    server = start()
    one = fleet.samples()[0]
    answer = server.client.post("/v1/submissions", content=fleet.body(one | {"id": "0" * 64}))
    assert (answer.status_code, answer.json()["error"]) == (
        409,
        "the submission is refused: its id is not that of its content",
    )
    answer = server.client.delete("/v1/submissions/" + "0" * 64)
    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
