"""Pure parts: validation, statistics, limits, signatures."""

from __future__ import annotations

import datetime as dt
import ipaddress
import shutil
import subprocess
from pathlib import Path
from typing import Any

import fleet
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brisk_fleet import columns, minisign, robust, submission
from brisk_fleet.errors import FleetError
from brisk_fleet.limits import RateLimit, Votes

TODAY = dt.date(2026, 11, 25)


def test_what_the_device_makes_is_accepted_with_its_id() -> None:
    for one in fleet.samples():
        accepted = fleet.accepted(one)
        row = submission.row(accepted, TODAY)
        assert list(row) == [column.name for column in columns.ALL]
        assert row["model"] == "galaxy-s5-emmc"
        assert submission.document(row["document"]) == one["submission"]


def test_each_kind_gives_its_columns() -> None:
    filled = {}
    for one in fleet.samples():
        row = submission.row(fleet.accepted(one), TODAY)
        kind = one["submission"]["results"][0]["kind"]
        filled[kind] = {column.name for column in columns.MEASURES if row[column.name] is not None} | (
            {"settings"} if row["settings"] else set()
        )
    assert "settings" in filled["frontier"]
    assert {"total_bytes_per_s", "random_read_us_p50", "fsync_us_p99", "iowait_percent"} <= filled["bench"]
    assert "sequential_read_slowdown_4_ratio" in filled["slowdown"]
    assert "random_write_speedup_32_ratio" in filled["concurrency"]
    assert filled["launch"] == {"launch_cold_ms", "launch_storage_percent"}
    assert filled["prove"] == {"prove_loaded_ratio", "prove_idle_ratio"}
    assert filled["profile"] == {"profile_energy_ratio"}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda one: one["submission"].update(host="x"), "schema"),
        (lambda one: one["submission"]["storage"].update(serial="x"), "schema"),
        (lambda one: one["submission"]["results"][0].update(path="/x"), "schema"),
        (lambda one: one["submission"].update(day="2026-02-30"), "schema"),
        (lambda one: one["submission"].update(day="2026-02-28"), "id"),
        (lambda one: one["submission"].update(results=[]), "schema"),
        (lambda one: one["submission"]["results"][0]["jobs"][0].update(latency_us_p50=-1), "schema"),
        (lambda one: one["submission"]["results"][0]["jobs"][0].update(latency_us_p50=1e300), "schema"),
        (lambda one: one.update(id="0" * 64), "id"),
        (lambda one: one.update(deletion_key_sha256="x"), "schema"),
    ],
)
def test_what_is_not_of_the_form_is_refused(change: object, why: str) -> None:
    one = fleet.samples()[0]
    change(one)  # type: ignore[operator]
    with pytest.raises(submission.InvalidError, match=why):
        fleet.accepted(one)


@pytest.mark.parametrize(
    "body",
    [b"", b"[", b"NaN", b'{"id": 1, "id": 2}', b"[" * 100_000, b"x" * (257 << 10), b"\xff\xfe"]
    # Deeper than the validator goes, and than Python does.
    + [b"[" * depth + b"]" * depth for depth in (255, 256, 900, 5_000)],
)
def test_bytes_that_are_no_submission_are_refused(body: bytes) -> None:
    with pytest.raises(submission.InvalidError):
        submission.check(body)


@given(st.binary(max_size=300))
def test_no_bytes_end_the_check_otherwise(body: bytes) -> None:
    with pytest.raises(submission.InvalidError):
        submission.check(body)


# What JSON can write and a text cannot be: halves of surrogate pairs anywhere.
TEXTS = st.text(st.characters(codec=None), max_size=20)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda below: st.lists(below, max_size=4) | st.dictionaries(TEXTS, below, max_size=4),
    max_leaves=12,
)


@settings(max_examples=300)
@given(st.data())
def test_no_json_in_place_of_a_value_ends_the_check_otherwise(data: st.DataObject) -> None:
    one = data.draw(st.sampled_from(fleet.samples()))
    parent: Any = one
    while True:
        keys = list(parent) if isinstance(parent, dict) else list(range(len(parent)))
        key = data.draw(st.sampled_from(keys))
        if not isinstance(parent[key], dict | list) or not parent[key] or data.draw(st.integers(0, 4)) == 0:
            break
        parent = parent[key]
    if isinstance(parent, dict) and data.draw(st.booleans()):
        parent[data.draw(TEXTS)] = parent.pop(key)
    else:
        parent[key] = data.draw(VALUES)
    try:
        submission.check(fleet.body(one))
    except submission.InvalidError as error:
        # The answer is sent in UTF-8.
        str(error).encode()


@pytest.mark.parametrize("text", ["\ud800", "x\udfff", "\udc00\ud800"])
def test_half_of_a_surrogate_pair_is_refused_wherever_it_is(text: str) -> None:
    for place in ("value", "name"):
        one = fleet.samples()[0]
        inner = one["submission"]["machine"]
        if place == "value":
            inner["model"] = text
        else:
            inner[text] = "x"
        with pytest.raises(submission.InvalidError, match="surrogate"):
            fleet.accepted(one)


def test_flags_exclude_what_is_not_the_storages() -> None:
    def excluded(one: dict[str, object]) -> bool:
        return bool(submission.row(fleet.accepted(one), TODAY)["excluded"])

    assert not excluded(fleet.envelope([fleet.bench(1.0)]))
    assert not excluded(fleet.envelope([fleet.bench(1.0, ("few_repeats",))]))
    assert excluded(fleet.envelope([fleet.bench(1.0, ("cpu_pressure",))]))
    assert excluded(fleet.envelope([fleet.bench(1.0) | {"cache": "memory"}]))
    # Faster than the interface of an eMMC.
    assert excluded(fleet.envelope([fleet.bench(10.0)]))
    assert not excluded(fleet.envelope([fleet.bench(10.0)], kind="ufs"))


def test_many_results_of_a_submission_count_once() -> None:
    one = submission.row(fleet.accepted(fleet.envelope([fleet.bench(1.0)])), TODAY)
    many = submission.row(fleet.accepted(fleet.envelope([fleet.bench(1.0)] * 2 + [fleet.bench(3.0)])), TODAY)
    assert many["total_bytes_per_s"] == one["total_bytes_per_s"]


@given(st.lists(st.floats(0.1, 1e9), min_size=5, max_size=60), st.floats(0.01, 100.0))
def test_summaries_scale_and_forget_order(values: list[float], scale: float) -> None:
    array = np.array(values)
    whole, scaled = robust.summary(array), robust.summary(array[::-1] * scale)
    assert np.allclose(np.array(whole[:3]) * scale, scaled[:3], rtol=1e-6)
    assert whole[3] + whole[4] == len(values)
    assert array.min() * (1 - 1e-9) <= whole[0] <= array.max() * (1 + 1e-9)


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(20, 200),
    st.sampled_from([1e-3, 0.5, 0.8, 0.95, 1.02, 1.1, 1.2, 1.35, 1.6, 3.0, 1e3]),
    st.floats(0, 0.3),
)
def test_a_fifth_of_poison_moves_no_median_by_five_percent(seed: int, devices: int, lie: float, scatter: float) -> None:
    random = np.random.default_rng(seed)
    # The true centre is of devices that are honest: their own sampling error is not the liars'.
    honest = np.exp(0.1 * _normal_scores(devices))
    liars = devices // 4
    poison = lie * np.exp(scatter * random.standard_normal(liars))
    median = robust.summary(np.concatenate([honest, poison]))[0]
    assert liars / (devices + liars) <= 0.2
    assert abs(median / robust.summary(honest)[0] - 1) < 0.05


def _normal_scores(count: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    from statistics import NormalDist

    return np.array([NormalDist().inv_cdf((index + 0.5) / count) for index in range(count)])


def _estimated(values: list[np.ndarray[tuple[int], np.dtype[np.float64]]]) -> robust.Estimates:
    rows = np.array([robust.summary(one)[:3] for one in values])
    counts = np.array([float(robust.summary(one)[3]) for one in values])
    return robust.estimate(rows[:, 0], rows[:, 1], rows[:, 2], counts, larger_is_better=True)


@pytest.mark.parametrize("devices", [5, 8, 20, 60])
def test_intervals_cover_the_true_median(devices: int) -> None:
    random = np.random.default_rng(devices)
    covered = total = 0.0
    for _ in range(60):
        truth = np.exp(0.15 * random.standard_normal(12))
        found = _estimated([one * np.exp(0.1 * random.standard_normal(devices)) for one in truth])
        covered += float(np.sum((found.low <= truth) & (truth <= found.high)))
        total += len(truth)
    assert covered / total >= 0.93


@pytest.mark.parametrize(("between", "most"), [(0.03, 0.75), (0.15, 1.03)])
def test_shrinkage_pays_where_models_are_alike_and_costs_nothing_where_not(between: float, most: float) -> None:
    random = np.random.default_rng(1)
    shrunk = plain = 0.0
    for _ in range(80):
        truth = np.exp(between * random.standard_normal(12))
        found = _estimated([one * np.exp(0.1 * random.standard_normal(6)) for one in truth])
        plain += float(np.sum(np.log(found.median / truth) ** 2))
        shrunk += float(np.sum(np.log(found.shrunk / truth) ** 2))
    assert shrunk / plain < most


def test_ranks_need_devices_and_have_ranges() -> None:
    random = np.random.default_rng(3)
    centres, counts = [1.0, 1.005, 2.0, 9.0], [30, 30, 30, 4]
    found = _estimated([c * np.exp(0.1 * random.standard_normal(n)) for c, n in zip(centres, counts, strict=True)])
    assert found.rank[3] == 0
    assert found.rank[2] == 1
    assert sorted(found.rank[:2].tolist()) == [2, 3]
    assert (found.rank_low[0], found.rank_high[0]) == (2, 3)
    assert (found.rank_low[2], found.rank_high[2]) == (1, 1)


@given(st.lists(st.floats(0, 1000), min_size=1, max_size=60))
def test_a_rate_limit_holds_over_any_window(times: list[float]) -> None:
    limit = RateLimit(per_s=1.0, burst=5.0)
    passed = [now for now in sorted(times) if limit.wait_s("a", now) == 0.0]
    for begin in passed:
        assert sum(begin <= now <= begin + 10 for now in passed) <= 15 + 1


def test_a_client_is_an_address_of_ipv4_and_a_64_of_ipv6() -> None:
    limit = RateLimit(per_s=0.1, burst=1.0)
    addresses = ["203.0.113.1", "203.0.113.2", "2001:db8:1:2::1", "2001:db8:1:3::1", ""]
    assert [limit.wait_s(one, 0.0) for one in addresses] == [0.0] * 5
    for same in ("203.0.113.1", "::ffff:203.0.113.1", "2001:db8:1:2:ffff::7", "2001:db8:1:2::1%eth0", ""):
        assert limit.wait_s(same, 0.0) > 0, same


def test_votes_are_of_networks_and_days_and_memory_is_bounded() -> None:
    votes = Votes([ipaddress.ip_network("10.0.0.0/8")], voters_max=2)
    first = votes.voter("203.0.113.1", TODAY)
    assert first is not None
    assert votes.voter("10.1.2.3", TODAY) is None
    assert votes.voter("::ffff:10.1.2.3", TODAY) is None
    assert not votes.has_voted(first)
    votes.count({first})
    other = votes.voter("203.0.114.1", TODAY)
    assert other is not None
    assert votes.voter("203.0.113.200", TODAY) == first != other
    assert (votes.has_voted(first), votes.has_voted(other)) == (True, False)
    votes.count({other})
    third = votes.voter("203.0.115.1", TODAY)
    assert third is not None
    assert votes.has_voted(third)
    # Of another day nothing is known, not even that it is the same network.
    tomorrow = votes.voter("203.0.113.1", TODAY + dt.timedelta(1))
    assert tomorrow is not None
    assert tomorrow != first
    assert not votes.has_voted(tomorrow)


def test_clients_have_limits_of_their_own_and_memory_is_bounded() -> None:
    limit = RateLimit(per_s=0.1, burst=1.0, clients_max=10)
    for client in range(100):
        assert limit.wait_s(str(client), 0.0) == 0.0
    assert limit.wait_s("99", 0.0) == pytest.approx(10.0)
    assert limit.wait_s("99", 10.0) == 0.0


@given(st.binary(max_size=200), st.text(alphabet=st.characters(codec="ascii", categories=["L", "N"]), max_size=40))
def test_a_signature_holds_for_its_content_alone(content: bytes, comment: str) -> None:
    key = minisign.Key.parse(minisign.Key.generate().secret_text())
    signature = key.sign(content, comment)
    assert minisign.verify(key.public_text(), content, signature) == comment
    for public, other, signed in [
        (key.public_text(), content + b"x", signature),
        (minisign.Key.generate().public_text(), content, signature),
        (key.public_text(), content, signature.replace("trusted comment: ", "trusted comment: x")),
    ]:
        with pytest.raises(FleetError):
            minisign.verify(public, other, signed)


def test_keys_are_private_and_never_overwritten(tmp_path: Path) -> None:
    public = minisign.write_pair(tmp_path / "fleet.key")
    assert (tmp_path / "fleet.key").stat().st_mode & 0o777 == 0o600
    assert public.read_text(encoding="utf-8").startswith("untrusted comment: minisign public key ")
    with pytest.raises(FleetError, match="exists"):
        minisign.write_pair(tmp_path / "fleet.key")
    with pytest.raises(FleetError, match="secret key"):
        minisign.Key.parse("x")


@pytest.mark.skipif(
    shutil.which("minisign") is None, reason="minisign is not installed (Debian: minisign; scripts/setup fleet)"
)
def test_minisign_and_this_package_accept_each_others_keys_and_signatures(tmp_path: Path) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["minisign", *arguments], cwd=tmp_path, capture_output=True, text=True, check=False, input=""
        )

    public = minisign.write_pair(tmp_path / "ours.key")
    content = b'{"kind": "fleet_profiles"}\n'
    (tmp_path / "profiles.json").write_bytes(content)
    key = minisign.Key.parse((tmp_path / "ours.key").read_text(encoding="utf-8"))
    (tmp_path / "profiles.json.minisig").write_text(
        key.sign(content, "timestamp:1\tfile:profiles.json\thashed"), encoding="utf-8"
    )
    said = run("-Vm", "profiles.json", "-p", public.name)
    assert said.returncode == 0, said.stderr
    assert "comment signature verified" in said.stdout
    (tmp_path / "profiles.json").write_bytes(content + b" ")
    assert run("-Vm", "profiles.json", "-p", public.name).returncode != 0
    # The other way round: minisign signs by our key, and by a key of its own.
    assert run("-G", "-W", "-p", "theirs.pub", "-s", "theirs.key").returncode == 0
    for name in ("ours", "theirs"):
        signed = run("-S", "-s", f"{name}.key", "-m", "profiles.json", "-t", "timestamp:2", "-x", f"{name}.minisig")
        assert signed.returncode == 0, signed.stderr
        comment = minisign.verify(
            (tmp_path / f"{name}.pub").read_text(encoding="utf-8"),
            (tmp_path / "profiles.json").read_bytes(),
            (tmp_path / f"{name}.minisig").read_text(encoding="utf-8"),
        )
        assert comment == "timestamp:2"
        minisign.Key.parse((tmp_path / f"{name}.key").read_text(encoding="utf-8"))
