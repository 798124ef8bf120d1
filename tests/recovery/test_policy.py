"""The policy: its defaults are those of the documentation, wrong values are refused, modes are chosen."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from seamstream.environment import apply_environment
from seamstream.errors import ConfigurationError
from seamstream.recovery.policy import DEFAULT_CONTINUATION_PROMPT, BackoffPolicy, RecoveryPolicy


def test_documented_defaults() -> None:
    policy = RecoveryPolicy()
    expected = {
        "mode": "recover",
        "sample": 1.0,
        "allow_after_start": True,
        "max_recoveries": 2,
        "max_recoveries_without_progress": 2,
        "max_recovery_s": 120,
        "max_retry_after_s": 120,
        "connect_s": 10,
        "first_content_s": 600,
        "idle_s": 120,
        "quiet_s": 600,
        "stall_warn_s": 30,
        "hold_preamble_s": 2.0,
        "hold_tools_s": 2.0,
        "hold_tools_bytes": 4096,
        "hold_seam_s": 1.5,
        "terminal_grace_s": 0.25,
        "keepalive_s": 10,
        "seam": "strict",
        "repair_history": True,
        "max_retained_request_bytes": 8_388_608,
        "on_store_error": "continue",
        "fallbacks": (),
    }
    assert {name: getattr(policy, name) for name in expected} == expected


def test_it_is_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        RecoveryPolicy().mode = "off"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("mode", "on"),
        ("seam", "loose"),
        ("on_store_error", "ignore"),
        ("sample", 1.5),
        ("sample", -0.1),
        ("sample", float("nan")),
        ("max_recoveries", -1),
        ("hold_tools_s", -0.5),
        ("max_recovery_s", float("nan")),
        ("idle_s", 0),
        ("connect_s", -1),
        ("keepalive_s", float("nan")),
        ("max_event_bytes", 0),
        ("backoff", BackoffPolicy(first_s=2.0, max_s=1.0)),
        ("backoff", BackoffPolicy(factor=0.5)),
        ("backoff", BackoffPolicy(first_s=-1.0)),
        ("continuation_prompt", "go on"),
        ("continuation_prompt", "{quote} and {quote}"),
        ("continuation_prompt", 'say "hello" then {quote}'),
    ],
)
def test_wrong_values_are_refused_by_name(field: str, value: Any) -> None:
    with pytest.raises(ConfigurationError, match=field):
        RecoveryPolicy(**{field: value})


@pytest.mark.parametrize("field", ["hold_preamble_s", "hold_tools_s", "max_recoveries", "terminal_grace_s"])
def test_zero_switches_holds_and_recoveries_off(field: str) -> None:
    assert getattr(RecoveryPolicy().replace(**{field: 0}), field) == 0


def test_an_unknown_field_is_a_configuration_error() -> None:
    with pytest.raises(ConfigurationError, match="max_retries"):
        RecoveryPolicy().replace(max_retries=3)


class TestPresets:
    @pytest.mark.parametrize("preset", ["chat", "agent", "json", "batch"])
    def test_a_preset_is_a_policy_that_can_be_changed(self, preset: str) -> None:
        make = getattr(RecoveryPolicy, preset)
        assert make().mode == "recover"
        assert make(mode="observe", idle_s=7.0) == make().replace(mode="observe", idle_s=7.0)
        assert make() != RecoveryPolicy()

    def test_presets_never_tighten_the_timers_of_healthy_streams(self) -> None:
        ordinary = RecoveryPolicy()
        for policy in (
            RecoveryPolicy.chat(),
            RecoveryPolicy.agent(),
            RecoveryPolicy.json(),
            RecoveryPolicy.batch(),
        ):
            for timer in ("first_content_s", "idle_s", "quiet_s"):
                assert getattr(policy, timer) >= getattr(ordinary, timer)

    def test_an_agent_holds_calls_for_longer(self) -> None:
        assert RecoveryPolicy.agent().hold_tools_s > RecoveryPolicy().hold_tools_s
        assert RecoveryPolicy.agent().hold_tools_bytes > RecoveryPolicy().hold_tools_bytes


class TestMode:
    def test_runs_outside_the_sample_are_off(self) -> None:
        policy = RecoveryPolicy(sample=0.25)
        assert policy.effective_mode(0.249) == "recover"
        assert policy.effective_mode(0.25) == "off"

    def test_the_whole_and_the_empty_sample(self) -> None:
        assert RecoveryPolicy(mode="observe").effective_mode(0.999999) == "observe"
        assert RecoveryPolicy(sample=0.0).effective_mode(0.0) == "off"

    @pytest.mark.parametrize("value", ["off", "observe", " Recover "])
    def test_the_environment_overrides_the_mode(self, value: str) -> None:
        start = RecoveryPolicy(mode="observe", sample=0.5)
        changed = start.with_environment({"SEAMSTREAM_MODE": value})
        assert changed == start.replace(mode=value.strip().lower())

    @pytest.mark.parametrize("environment", [{}, {"SEAMSTREAM_MODE": ""}, {"OTHER": "off"}])
    def test_without_the_variable_nothing_changes(self, environment: dict[str, str]) -> None:
        assert RecoveryPolicy(mode="observe").with_environment(environment).mode == "observe"

    def test_a_wrong_value_in_the_environment_is_named(self) -> None:
        with pytest.raises(ConfigurationError, match="SEAMSTREAM_MODE"):
            RecoveryPolicy().with_environment({"SEAMSTREAM_MODE": "on"})

    def test_the_process_environment_is_what_is_read(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SEAMSTREAM_MODE", "observe")
        assert apply_environment(RecoveryPolicy()).mode == "observe"
        monkeypatch.delenv("SEAMSTREAM_MODE")
        assert apply_environment(RecoveryPolicy()).mode == "recover"


def test_the_default_prompt_neither_forbids_tools_nor_quotes_before_the_quote() -> None:
    before, _, after = DEFAULT_CONTINUATION_PROMPT.partition("{quote}")
    assert '"' not in before
    assert "tool calls included" in after
    filled = DEFAULT_CONTINUATION_PROMPT.replace("{quote}", json.dumps("end"))
    assert filled.count('"') == 2
