"""Every name that programs are promised exists where they import it from, and says what it is."""

import importlib
import inspect

import pytest

NAMES: dict[str, str] = {
    "pinyon.tools.truncate": "DEFAULT_MAX_LINES DEFAULT_MAX_BYTES GREP_MAX_LINE_LENGTH format_size truncate_head "
    "truncate_tail truncate_line TruncationResult",
    "pinyon.config": "CONFIG_DIR_NAME DEFAULT_MODEL_SPEC DEFAULT_THINKING_LEVEL agent_dir agents_skills_dir "
    "package_dir readme_path docs_path examples_path are_experimental_features_enabled",
    "pinyon.session": "CURRENT_SESSION_VERSION default_session_dir load_session_messages SessionRecorder SessionTree "
    "SessionEntry BranchContext SessionInfo list_sessions latest_session Session LocalSessionManager "
    "InMemorySessionManager SessionManager parse_session_entries load_entries_from_file migrate_session_entries "
    "build_session_context build_session_projection build_context_entries session_entry_to_context_messages "
    "get_latest_compaction_entry get_default_session_dir assert_valid_session_id export_session_to_jsonl",
    "pinyon.compaction": "DEFAULT_COMPACTION_SETTINGS CompactionSettings estimate_messages_tokens estimate_tokens "
    "compaction_transform prepare_compaction serialize_conversation retry_assistant_call",
    "pinyon.tools": "TOOL_NAMES TOOL_SNIPPETS get_experimental_tool_sampling create_all_tools create_coding_tools "
    "create_tool create_read_only_tools create_read_tool create_bash_tool create_powershell_tool create_edit_tool "
    "create_write_tool create_grep_tool create_find_tool create_ls_tool",
    "pinyon.prompt": "build_system_prompt BuildSystemPromptOptions",
    "pinyon.resources": "ContextFile load_project_context_files Skill ResourceDiagnostic "
    "format_skills_for_prompt SettingsManager load_skills load_skills_with_diagnostics load_skills_with_trust",
    "pinyon.images": "detect_supported_image_mime_type_from_file ProcessImageResult ResizeResult resize_image_decision",
    "pinyon.models": "resolve_model ResolvedModel resolve_model_pattern",
    "pinyon.tools.operations": "BashExecOptions BashOperations create_local_bash_operations env_bash_operations "
    "ReadOperations default_read_operations env_read_operations EditOperations default_edit_operations "
    "env_edit_operations WriteOperations default_write_operations env_write_operations FindOperations "
    "default_find_operations env_find_operations GrepOperations default_grep_operations env_grep_operations "
    "LsOperations default_ls_operations env_ls_operations",
    "pinyon.env": "ExecutionEnv FileSystem Shell FileInfo FileKind LocalEnv ShellExecOptions ShellResult "
    "ShellTimeoutError ShellAbortedError",
    "pinyon": "PiAgent AgentSession RunResult AuthStorage ModelRegistry SettingsManager define_tool SessionOptions "
    "CodingSession create_coding_session Limits SessionHooks",
}

METHODS: dict[str, str] = {
    "pinyon.AgentSession": "agent model cwd session run run_messages run_print continue_run abort wait_for_idle "
    "subscribe reset steer follow_up messages load_history get_last_assistant_text set_model set_thinking_level "
    "enable_compaction attach_recorder prompt compact navigate_tree set_label append_entry execute_bash "
    "get_session_stats get_context_usage set_session_name export_to_jsonl export_to_html cycle_model "
    "cycle_thinking_level send_custom_message send_user_message clear_queue dispose",
    "pinyon.PiAgent": "create create_agent_session new_session switch_session fork clone import_from_jsonl dispose "
    "session diagnostics cwd set_rebind_session set_before_session_invalidate take_unreported_diagnostics",
    "pinyon.env.LocalEnv": "absolute_path append_file canonical_path cleanup cwd exec exists join_path list_dir "
    "read_binary_file read_text_file read_text_lines rename_file stat write_file",
    "pinyon.session.SessionRecorder": "start resume close fork_from id last_entry_id path record_message "
    "record_model_change record_thinking_level",
    "pinyon.session.SessionTree": "load header entries leaf_id branch build_context build_context_null leaves",
}


@pytest.mark.parametrize(
    ("module", "name"), [(module, name) for module, names in NAMES.items() for name in names.split()]
)
def test_a_promised_name_exists_and_says_what_it_is(module: str, name: str) -> None:
    value = getattr(importlib.import_module(module), name)
    if inspect.isclass(value) or inspect.isfunction(value):
        assert value.__doc__


@pytest.mark.parametrize(
    ("owner", "name"), [(owner, name) for owner, names in METHODS.items() for name in names.split()]
)
def test_a_promised_method_exists(owner: str, name: str) -> None:
    module, _, class_name = owner.rpartition(".")
    found = getattr(importlib.import_module(module), class_name)
    assert hasattr(found, name) or name in getattr(found, "__annotations__", {}) or _is_set_in_init(found, name)


def _is_set_in_init(owner: type, name: str) -> bool:
    return f"self.{name} = " in inspect.getsource(owner)
