from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinyon.ai.model import THINKING_LEVELS
from pinyon.cli.args import (
    CliArgs,
    check_args,
    conflict_problems,
    parse_args,
    planned_problems,
    unknown_flag_problems,
)
from pinyon.cli.flag import FLAGS, LEVELS, Flag

ALL_FLAGS = list(dict.fromkeys(FLAGS.values()))
VALUE_FLAGS = [name for name, flag in FLAGS.items() if flag.kind not in {"switch", "message", "search"}]


def sample(flag: Flag) -> str:
    """A value that the flag takes."""
    if flag.kind in ("count", "amount", "duration"):
        return "3"
    return flag.choices[-1] if flag.choices else "value"


def errors(args: CliArgs) -> list[str]:
    return [problem.message for problem in args.problems if problem.type == "error"]


def conflicts(*argv: str) -> list[str]:
    return [problem.message for problem in conflict_problems(parse_args(argv))]


@pytest.mark.parametrize("name", FLAGS)
def test_every_flag_sets_its_attribute_and_nothing_else(name: str) -> None:
    flag, args = FLAGS[name], parse_args([name])
    if name in VALUE_FLAGS:
        args = parse_args([name, sample(flag)])
    changed = {key for key, value in vars(args).items() if value != vars(CliArgs())[key]}
    assert changed == {flag.attribute}
    assert args.problems == []


@pytest.mark.parametrize("name", VALUE_FLAGS)
def test_a_value_stands_in_the_next_argument_only(name: str) -> None:
    args = parse_args([f"{name}={sample(FLAGS[name])}"])
    assert getattr(args, FLAGS[name].attribute) in (None, [])
    if name.startswith("--"):
        [problem] = unknown_flag_problems(args)
        assert name in problem.message
        assert "next argument" in problem.message
    else:
        assert name in errors(args)[0]


@pytest.mark.parametrize(
    ("name", "value", "attribute", "parsed"),
    [
        ("--max-turns", "12", "max_turns", 12),
        ("--max-tokens", "1", "max_tokens", 1),
        ("--max-cost", "0.5", "max_cost", 0.5),
        ("--max-time", "90", "max_time_s", 90),
        ("--max-time", "1.5m", "max_time_s", 90),
        ("--max-time", "2h", "max_time_s", 7200),
        ("--max-time", "30s", "max_time_s", 30),
    ],
)
def test_limits_are_numbers(name: str, value: str, attribute: str, parsed: float) -> None:
    args = parse_args([name, value])
    assert getattr(args, attribute) == parsed
    assert args.problems == []


@pytest.mark.parametrize("name", ["--max-turns", "--max-tokens", "--max-cost", "--max-time"])
@pytest.mark.parametrize("value", ["0", "none", "1e999", "", "nan", "1,5"])
def test_a_limit_that_is_no_positive_number_is_refused(name: str, value: str) -> None:
    assert name in errors(parse_args([name, value]))[0]


def test_the_thinking_levels_are_those_of_the_models() -> None:
    assert LEVELS == THINKING_LEVELS


def test_options_and_prompts_may_stand_in_any_order() -> None:
    args = parse_args(["first", "--model", "m", "@a.txt", "second", "-nt", "@b.txt"])
    assert args.messages == ["first", "second"]
    assert args.files == ["a.txt", "b.txt"]
    assert args.model == "m"
    assert args.no_tools


@pytest.mark.parametrize("name", [n for n in VALUE_FLAGS if FLAGS[n].kind in {"text", "repeat", "list"}])
def test_a_value_may_look_like_an_option(name: str) -> None:
    args = parse_args([name, "--x"])
    assert getattr(args, FLAGS[name].attribute) in ("--x", ["--x"])
    assert args.unknown_flags == {}


@pytest.mark.parametrize("name", ["--mode", "--use-theme", "--tui-mode"])
@pytest.mark.parametrize("rest", [[], ["-p"], ["--model", "m"]])
def test_some_flags_refuse_an_option_as_their_value(name: str, rest: list[str]) -> None:
    args = parse_args([name, *rest])
    assert name in errors(args)[0]
    assert args.print is ("-p" in rest)


@pytest.mark.parametrize(("name", "value"), [("--mode", "xml"), ("--mode", "JSON"), ("--tui-mode", "window")])
def test_a_value_that_is_no_choice_is_refused_with_the_choices(name: str, value: str) -> None:
    [message] = errors(parse_args([name, value]))
    assert all(text in message for text in (name, repr(value), *FLAGS[name].choices))


def test_an_unknown_thinking_level_is_told_and_passed_over() -> None:
    args = parse_args(["--thinking", "hard"])
    assert args.thinking is None
    assert not args.has_errors
    assert "'hard'" in args.problems[0].message


@pytest.mark.parametrize("name", [n for n in VALUE_FLAGS if not FLAGS[n].needs_value])
def test_a_value_flag_at_the_end_is_an_error_that_names_it(name: str) -> None:
    args = parse_args(["-p", "hi", name])
    messages = errors(args) + [problem.message for problem in unknown_flag_problems(args)]
    assert len(messages) == 1
    assert name in messages[0]


def test_a_name_without_text_is_an_error() -> None:
    assert errors(parse_args(["--name"])) == ["--name needs a value"]
    assert parse_args(["-n", "-x"]).name == "-x"
    assert conflicts("--name", "  ") == ["--name needs a text that is not blank"]


@pytest.mark.parametrize("name", ["-p", "--print"])
@pytest.mark.parametrize(
    ("following", "messages"),
    [
        (["hi"], ["hi"]),
        ([""], [""]),
        (["---\nname: x\n---\nhello"], ["---\nname: x\n---\nhello"]),
        (["---text"], ["---text"]),
        (["@file"], []),
        (["-c"], []),
        (["--model", "m"], []),
        (["hi", "there"], ["hi", "there"]),
        ([], []),
    ],
)
def test_print_takes_the_next_argument_as_its_prompt(name: str, following: list[str], messages: list[str]) -> None:
    args = parse_args([name, *following])
    assert args.print
    assert args.messages == messages
    assert args.problems == []
    assert args.unknown_flags == {}


def test_a_word_of_three_dashes_is_text_only_behind_print() -> None:
    args = parse_args(["---text"])
    assert args.messages == []
    assert args.unknown_flags == {"-text": True}


@pytest.mark.parametrize(
    ("following", "search"), [([], None), (["son"], "son"), (["-p"], None), (["@x"], None), (["--offline"], None)]
)
def test_listing_models_takes_a_search_text(following: list[str], search: str | None) -> None:
    args = parse_args(["--list-models", *following])
    assert args.list_models
    assert args.list_models_search == search


def test_two_dashes_end_the_options() -> None:
    args = parse_args(["-p", "--", "-x", "--model", "--", "@f", "plain"])
    assert args.messages == ["-x", "--model", "--", "plain"]
    assert args.files == ["f"]
    assert args.model is None


@pytest.mark.parametrize("argv", [["--offline"], ["--", "--offline"], ["-p", "hi", "--offline"]])
def test_offline_counts_wherever_it_stands(argv: list[str]) -> None:
    assert parse_args(argv).offline


@pytest.mark.parametrize(
    ("argv", "flags", "messages"),
    [
        (["--plan"], {"plan": True}, []),
        (["--plan", "Say hi"], {"plan": "Say hi"}, []),
        (["--plan", "--", "Say hi"], {"plan": True}, ["Say hi"]),
        (["Say hi", "--plan"], {"plan": True}, ["Say hi"]),
        (["--plan=a=b", "hi"], {"plan": "a=b"}, ["hi"]),
        (["--plan=", "hi"], {"plan": ""}, ["hi"]),
        (["--plan", "@f"], {"plan": True}, []),
        (["--plan", "-c"], {"plan": True}, []),
        (["--=x"], {"": "x"}, []),
        (["--a", "--b", "1"], {"a": True, "b": "1"}, []),
    ],
)
def test_unknown_long_options_are_kept_for_extensions(
    argv: list[str], flags: dict[str, str | bool], messages: list[str]
) -> None:
    args = parse_args(argv)
    assert args.unknown_flags == flags
    assert args.messages == messages
    assert args.problems == []


def test_unknown_options_that_nobody_registered_are_one_error() -> None:
    args = parse_args(["--one", "--two=2", "--three"])
    [problem] = unknown_flag_problems(args, registered={"three"})
    assert problem.type == "error"
    assert "--one, --two" in problem.message
    assert "--three" not in problem.message
    assert list(unknown_flag_problems(args, registered={"one", "two", "three"})) == []


def test_a_switch_with_a_value_is_an_error_that_says_so() -> None:
    [problem] = unknown_flag_problems(parse_args(["--print=hi"]))
    assert "--print" in problem.message
    [problem] = unknown_flag_problems(parse_args(["--no-tools=1"]))
    assert "takes no value" in problem.message


@pytest.mark.parametrize("word", ["-x", "-", "-pc", "-ntx", "-help", "-e=x"])
def test_unknown_short_options_are_errors_and_do_not_cluster(word: str) -> None:
    [message] = errors(parse_args([word]))
    assert repr(word) in message


def test_a_lone_at_sign_is_an_error() -> None:
    assert "'@'" in errors(parse_args(["@"]))[0]


def test_the_last_of_a_repeated_option_wins_and_lists_grow() -> None:
    args = parse_args(["--model", "a", "--model", "b", "-e", "x", "-e", "y", "-a", "-na"])
    assert args.model == "b"
    assert args.extensions == ["x", "y"]
    assert args.project_trust is False
    repeated = [flag for flag in ALL_FLAGS if flag.kind == "repeat"]
    assert {flag.names[0] for flag in repeated} == {
        "--append-system-prompt",
        "--extension",
        "--skill",
        "--prompt-template",
        "--theme",
    }


@pytest.mark.parametrize(
    ("value", "entries"),
    [("read,grep", ["read", "grep"]), (" read , ,grep,", ["read", "grep"]), (",", []), ("+ls,-bash", ["+ls", "-bash"])],
)
def test_lists_are_split_at_commas_without_blanks(value: str, entries: list[str]) -> None:
    args = parse_args(["--tools", value, "--models", value, "-xt", value])
    assert args.tools == args.models == args.exclude_tools == entries
    assert args.problems == []


def test_tool_names_and_tool_changes_do_not_mix() -> None:
    assert "'+ls,read'" in errors(parse_args(["-t", "+ls,read"]))[0]


@pytest.mark.parametrize(
    ("argv", "named"),
    [
        (["--fork", "a", "--session", "b"], ["--fork", "--session"]),
        (["--fork", "a", "-c", "-r", "--no-session"], ["--fork", "--continue", "--resume", "--no-session"]),
        (["--session-id", "a", "--session", "b"], ["--session-id", "--session"]),
        (["--session-id", "a", "-c"], ["--session-id", "--continue"]),
        (["--session-id", "a", "-r"], ["--session-id", "--resume"]),
        (["--mode", "rpc", "@f"], ["--mode rpc", "@file"]),
        (["--provider", "fake"], ["--provider", "--model"]),
        (["--api-key", "k"], ["--api-key", "--model"]),
    ],
)
def test_flags_that_do_not_go_together_are_named_in_one_error(argv: list[str], named: list[str]) -> None:
    [message] = conflicts(*argv)
    assert all(name in message for name in named)
    assert "--offline" not in message


@pytest.mark.parametrize(
    "argv",
    [
        ["--session-id", "a", "--fork", "b"],
        ["--session-id", "a", "--no-session"],
        ["--provider", "p", "--model", "m"],
        ["--api-key", "k", "--models", "p/*"],
        ["--api-key", "k", "--model", "m"],
        ["--mode", "json", "@f"],
        ["-c", "--name", "n"],
    ],
)
def test_flags_that_go_together_are_no_conflict(argv: list[str]) -> None:
    assert conflicts(*argv) == []


@pytest.mark.parametrize("value", ["", "../../../evil", "a/b", "a\\b", "-a", "a-", ".a", "a b", "ä", "a\n", "."])
def test_a_session_id_that_could_leave_its_folder_is_refused(value: str) -> None:
    [message] = conflicts("--session-id", value)
    assert repr(value) in message


@pytest.mark.parametrize("value", ["a", "A1", "a.b_c-d", "0193-x"])
def test_a_plain_session_id_is_accepted(value: str) -> None:
    assert conflicts("--session-id", value) == []


@pytest.mark.parametrize("flag", [flag for flag in ALL_FLAGS if flag.planned], ids=lambda flag: flag.names[0])
def test_what_is_not_there_yet_is_refused_and_not_passed_over(flag: Flag) -> None:
    argv = [flag.names[0]] if flag.kind == "switch" else [flag.names[0], "x"]
    [problem] = planned_problems(parse_args(argv))
    assert flag.names[0] in problem.message


def test_switches_for_what_is_not_there_yet_are_taken() -> None:
    argv = ["--mode", "rpc", "--no-extensions", "--no-skills", "--no-themes", "--no-prompt-templates", "--no-mcp"]
    assert list(planned_problems(parse_args(argv))) == []


def test_one_check_finds_conflicts_missing_features_and_unknown_options() -> None:
    args = parse_args(["--provider", "p", "-e", "x", "--plan=1", "--own=1"])
    messages = [problem.message for problem in check_args(args, registered={"own"})]
    assert len(messages) == 3
    assert all(any(name in message for message in messages) for name in ("--provider", "--extension", "--plan"))
    assert check_args(parse_args(["-p", "hi", "--model", "m"])) == []


words = st.one_of(
    st.sampled_from([*FLAGS, "--", "-", "@", "@f", "---", "--unknown", "--a=b", "text", "", "read,ls", "json", "high"]),
    st.text(max_size=4),
)


@given(st.lists(words, max_size=8))
def test_no_command_line_raises_and_nothing_is_lost(argv: list[str]) -> None:
    args = parse_args(argv)
    list(conflict_problems(args)), list(planned_problems(args)), list(unknown_flag_problems(args))
    kept = len(args.messages) + len(args.files) + len(args.unknown_flags) + len(args.problems)
    assert kept <= len(argv)


@given(st.lists(st.text(max_size=5), max_size=5))
def test_after_two_dashes_every_argument_is_kept_in_order(argv: list[str]) -> None:
    args = parse_args(["--", *argv])
    named = [word for word in argv if not word.startswith("@")]
    assert args.messages == named
    assert args.files == [word[1:] for word in argv if word.startswith("@") and word != "@"]
