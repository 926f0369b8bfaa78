"""The security page: each of its promises is proved by tests, some of which are in this module."""

from __future__ import annotations

import ast
import os
import re
import shutil
import socket
import subprocess
import sys
import unicodedata
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shardcore
from shardcore import FormatError, RemoteError, RemoteOptions
from shardcore.cli.program import run
from shardcore.formats.des.routing import Zones
from shardcore.sources.remote.http import VARIABLES
from shardcore.sources.remote.s3 import signer_of, store_of
from tests.bench.inputs import sharding
from tests.remote.servers import RangeServer, RedirectServer
from tests.remote.tls import TlsServer, certificate
from tests.shardcore.formats.des.made import Stored, shard
from tests.shardcore.model.test_pasted import HOSTILE
from tests.volumes import scale_of, write_info

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "security.md"
PROOF = {
    "The program trusts you": "you_agree get_into_what_is_no_file",
    "It trusts no file": "every_command_stays_within_the_bounds",
    "It trusts no folder": (
        "a_planted_journal_changes_nothing_and_is_not_recommended no_command_connects_unasked "
        "files_in_the_folder_say_nothing an_info_that_is_a_link_or_a_pipe"
    ),
    "It trusts no server": "a_listing_that_is_none answers_to_other_requests",
    "It trusts no lesson": "a_fresh_file_names_no_place a_sample_lies_beside_the_lesson",
    "It reads the environment": "the_environment_is_read_for_nothing_else",
    "Nothing is allocated": "a_size_beyond_all_files_damages_its_part_alone every_command_stays_within_the_bounds",
    "Compressed bytes are expanded": "bombs_stop_at_their_limit hostile_containers_are_bounded",
    "The decoder process is bounded": "a_task_that_is_cancelled_ends_with_its_process memory_and_results_are_bounded",
    "No module, plugin": "no_module_of_the_current_folder_is_loaded",
    "Pipes, devices and folders": "pipes_and_folders_are_refused files_without_a_size_are_refused",
    "The settings of the window": (
        "an_invalid_file_is_renamed_and_reported values_of_another_kind_are_those_of_the_first_start"
    ),
    "On Linux this also holds": "a_folder_that_becomes_a_link_meanwhile_is_not_followed",
    "A notes file is bounded": (
        "notes.limits a_link_in_place_of_the_notes_is_not_followed a_damaged_notes_file_is_an_error_and_stays"
    ),
    "Keys and archive members": "no_key_leads_out_of_the_folder every_path_is_safe",
    "A file with several names": "a_file_with_several_names_is_edited_only_when_asked",
    "A temporary file is readable": "temporary_files_are_private private_and_removed_with_the_process",
    "No preview, page, note": (
        "no_view_loads_resources pictures_and_notes_load_nothing nothing_of_a_text_becomes_part_of_the_page"
    ),
    "A drop opens files": "other_drags_show_nothing",
    "Certificates are verified": "each_variable_serves_both_transports nothing_turns_verification_off",
    "The program does not check for updates": "only_sources_connect local_files_cause_no_connection",
    "Tickets for workers": "keys_stay_here keys_are_sent_where_the_line_is_encrypted",
    "No content of a file is executed": (
        "yaml_gives_plain_values arrays_that_are_none_are_named what_is_no_volume_is_refused"
    ),
    "A file of at most 10 MB": "every_command_stays_within_the_bounds every_click_stays_within_the_bounds",
    "XML of a store": "a_listing_that_is_none",
    "Chunks that could crash": (
        "damaged_chunks_never_kill_the_process a_dead_process_is_an_error_and_replaced "
        "pictures_are_decoded_in_a_process_of_their_own"
    ),
    "A name inside a file": (
        "names_that_leave_the_folder_are_refused names_in_an_info_do_not_lead_outside "
        "addresses_inside_files_open_nothing a_zone_elsewhere_is_asked_about no_command_connects_unasked"
    ),
    "A key with `..`": "a_key_beside_the_info_is_opened_with_consent the_window_asks_before_a_folder_beside_the_info",
    "Links in a folder": "links_below_a_folder_are_not_followed folder.links_are_not_followed",
    "Opening a side file": (
        "side_files_are_opened_without_links_and_without_waiting side_files_that_you_name_never_block "
        "an_info_that_is_a_link_or_a_pipe"
    ),
    "No format is recognised": "local_files_cause_no_connection",
    "Extracted objects": "every_key_has_a_safe_name_of_its_own every_path_is_safe",
    "Links are never written through": (
        "planted_links_are_not_followed folders_and_links_are_never_replaced_or_followed get_over_a_link"
    ),
    "Nothing is renamed over": "get_into_what_is_no_file no_command_renames_over_a_device",
    "Temporary names are random": (
        "names_are_not_known_before what_was_changed_is_not_trusted files_in_the_folder_say_nothing"
    ),
    "An undo journal is only used": (
        "a_planted_journal_changes_nothing_and_is_not_recommended a_copied_pair_is_undone_only_when_it_is_trusted "
        "a_journal_of_another_user_is_not_used"
    ),
    "`undo` is not recommended": "a_planted_journal_changes_nothing_and_is_not_recommended",
    "Journals, locks and audit logs": (
        "what_is_no_journal_blocks_no_command journals_have_the_mode_of_the_file "
        "the_audit_log_has_a_line_for_each_deletion what_cannot_be_opened"
    ),
    "Packing reads": "no_link_and_no_name_leads_out_of_the_folder",
    "A lesson reads and writes": (
        "a_fresh_file_names_no_place every_option_with_a_text_says_whether_it_names_a_file "
        "a_sample_lies_beside_the_lesson"
    ),
    "No control character": "nothing_that_acts_reaches_the_terminal text_never_moves_the_cursor",
    "None reaches the window": "nothing_out_of_a_file_acts labels_do_not_guess",
    "A line that is copied": (
        "a_shell_reads_back_every_word the_line_of_a_card_gets_the_object a_name_that_begins_with_a_dash_is_no_option"
    ),
    "A key with such characters": "the_line_of_a_card_gets_the_object",
    "Copied text has none": "text_reaches_the_clipboard_through_one_place copied_text_does_not_act",
    "Markdown that is copied": "nothing_that_is_copied_acts",
    "No request goes to a store": (
        "no_command_connects_unasked one_store_agreed_to_is_not_another the_window_asks_before_it_connects"
    ),
    "The question names": "the_refusal_names_store_and_way the_terminal_is_asked the_window_asks_before_it_connects",
    "A file on another machine": "a_changed_object_is_told_and_never_mixed",
    "Your logins, tokens": (
        "a_login_goes_to_its_own_server_only headers_of_a_server_go_to_it_alone no_redirect_leaves_encryption"
    ),
    "No message, title": (
        "a_signed_address_is_read_and_never_shown no_command_shows_a_secret "
        "keys_are_in_no_text_of_the_options_or_of_errors lines_of_cards_have_no_secrets"
    ),
    "Restored tabs, and": "no_secret_is_written_down no_credential_is_sent_or_taken",
    "Only you can write to the socket": (
        "only_the_user_writes_to_the_socket what_is_no_file_is_refused nonsense_is_ended_without_an_answer"
    ),
    "Keys are never stored": "no_secret_is_kept",
}
"""Names of the tests that prove a promise, by its first words; `module.name` if several tests have the name."""


def sentences() -> list[str]:
    """Return the promises on the page, which are its list items."""
    return re.findall(r"^- (.*)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)


@cache
def everywhere() -> dict[str, bool]:
    """Return the names of all tests, with and without module name, and whether each runs on every machine."""
    found: dict[str, bool] = {}
    some = re.compile(r"mark\.(skip|skipif|xfail|interop|display)\b")
    for path in (ROOT / "tests").rglob("test_*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef):
                runs = not any(some.search(ast.unparse(mark)) for mark in node.decorator_list)
                module, name = path.stem.removeprefix("test_"), node.name.removeprefix("test_")
                found |= {name: runs, f"{module}.{name}": runs}
    return found


def test_every_sentence_has_a_test() -> None:
    """Each promise has exactly one entry in `PROOF`, and each entry belongs to one promise."""
    found = sentences()
    assert len(found) > 30
    for sentence in found:
        assert len([begin for begin in PROOF if sentence.startswith(begin)]) == 1, sentence
    for begin in PROOF:
        assert len([sentence for sentence in found if sentence.startswith(begin)]) == 1, begin


@pytest.mark.parametrize("begin", PROOF)
def test_the_tests_are_there(begin: str) -> None:
    """The tests named for a promise exist, and at least one of them runs on every machine."""
    runs = [everywhere()[name] for name in PROOF[begin].split()]
    assert any(runs)


# --- what has no test elsewhere -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "n_bits: !!python/object/apply:os.system ['touch pwned']\nzones: []\n",
        "n_bits: 8\nzones: !!python/name:os.system\n",
        "n_bits: 8\nzones: &a [*a]\n",
        "n_bits: 8\na: &a [x, x]\nzones: [*a, *a]\n",
    ],
)
def test_yaml_gives_plain_values(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """YAML with Python tags or aliases is refused, and no code in it runs."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FormatError):
        Zones.parse(text)
    (tmp_path / "zones.yaml").write_text(text)
    assert run(["info", "zones.yaml"]) in (3, 4)
    assert [path.name for path in tmp_path.iterdir()] == ["zones.yaml"]


@pytest.fixture
def no_connections(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """Make connections and host name lookups fail; the test fails if one was tried."""
    asked: list[Any] = []

    def refuse(*arguments: Any, **_: Any) -> Any:
        asked.append(arguments)
        raise OSError("no connections here")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    yield asked
    assert not asked


@pytest.mark.usefixtures("no_connections")
def test_local_files_cause_no_connection(capsys: pytest.CaptureFixture[str]) -> None:
    """`info`, `ls` and `verify` of samples try no connection."""
    for folder in sorted((ROOT / "resources" / "samples").iterdir()):
        for path in sorted(folder.iterdir())[:4]:
            for command in (["info"], ["ls", "--limit", "5"], ["verify"]):
                run([command[0], str(path), *command[1:]])
    capsys.readouterr()


def test_addresses_inside_files_open_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No request is sent to an address that is a name in an info file, or a uid."""
    with RangeServer() as server:
        for address in (f"{server.url}/x", "s3://bucket/x", "//evil/x", "file:///etc/passwd"):
            folder = tmp_path / re.sub(r"\W", "_", address)
            scale = scale_of(np.zeros((8, 8, 8)), (8, 8, 8), address, sharding("identity", 0, 0))
            write_info(folder, "uint8", scale, mesh=address, skeletons=address)
            (folder / "a.des").write_bytes(shard([Stored(address.encode(), b"x", "none", {"url": address})]))
            for uri in (folder, folder / "info", folder / "a.des"):
                for command in (["info"], ["ls"], ["verify"], ["get", "0"], ["trace", address], ["extract", "out"]):
                    more = [str(tmp_path / "out")] if command[0] == "extract" else command[1:]
                    run([command[0], str(uri), *more])
        assert not list(server.log)
    assert "root:" not in capsys.readouterr().out


def test_nothing_that_acts_reaches_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Commands print no control characters of a file whose name, keys and metadata contain terminal sequences."""
    stored = [Stored(key.encode(), b"content" * 9, "zstd", {key: key}) for key in HOSTILE]
    path = tmp_path / "n\x1b[31m\u202e\x9b2J.des"
    path.write_bytes(shard(stored))
    key = HOSTILE[0]
    commands = [
        *(["info"], ["tree"], ["ls"], ["ls", "--json"], ["verify"], ["verify", "--json"], ["trace", key]),
        *(["trace", key, "--json"], ["get", f"{key}absent"], ["explain", "40"], ["search", "content"], ["draw"]),
        *(["draw", "--text"], ["chart"], ["leads", "40"], ["extract", str(tmp_path / "out"), "--conflict", "skip"]),
        *(["salvage", "--plan"], ["delete", key, "--dry-run"], ["undo"], ["tombstone", key, "--dry-run"]),
        *(["truncate"], ["append", key], ["get", key, "--part", key], ["ls", "--kind", key], [key]),
    ]
    for command in commands:
        run([command[0], str(path), *command[1:]])
        told = capsys.readouterr()
        for text in (told.out, told.err):
            acts = {letter for letter in text if letter != "\n" and unicodedata.category(letter) in ("Cc", "Cf", "Cs")}
            assert not acts, (command, acts)


def test_options_do_not_show_what_they_trust() -> None:
    """The texts that describe the access to a store contain no access key or password."""
    remote = RemoteOptions(access_key="AKIA", secret_key="hunter2", endpoint_url="https://me:hunter2@host")
    store, signer = store_of(remote), signer_of(remote)
    for text in (store, signer, str(shardcore.StoreUntrusted(file="f", stores=(store,), who=signer))):
        assert "hunter2" not in text
        assert "AKIA" not in text


# --- what the source says -----------------------------------------------------------------------------------


@cache
def sources() -> dict[str, str]:
    """Return the text of all modules of the program, without `shardcore/testing`."""
    paths = [*(ROOT / "shardcore").rglob("*.py"), *(ROOT / "app").rglob("*.py")]
    names = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in paths}
    return {name: text for name, text in names.items() if not name.startswith("shardcore/testing/")}


def test_the_environment_is_read_for_nothing_else() -> None:
    """The program reads only the environment variables on the page; listed modules compute the names they read."""
    named = re.compile(r"environ(?:\.get\(|\[)([^,)\]]+)")
    read = {(name, what) for name, text in sources().items() for what in named.findall(text)}
    literal = {what.strip("\"'") for _, what in read if what[0] in "\"'"}
    allowed = r"XDG_\w+|APPDATA|AWS_\w+|HF_\w+|SSL_CERT_FILE|DISPLAY|WAYLAND_DISPLAY|QT_\w+|PYTHONSAFEPATH"
    assert not [what for what in (*literal, *VARIABLES) if not re.fullmatch(allowed, what)]
    others = {name for name, what in read if what[0] not in "\"'"}
    assert others <= {
        "shardcore/sources/remote/http.py",  # VARIABLES, and those that headers.toml names
        "shardcore/system.py",  # XDG_*, APPDATA
        "shardcore/cli/program.py",  # completion
        "app/shardscope/startup/single_instance.py",  # of the display
        "app/shardscope/__main__.py",
    }


def test_nothing_turns_verification_off() -> None:
    """No module and no option of a store turns off the verification of certificates."""
    off = re.compile(r"CERT_NONE|verify\s*=\s*False|check_hostname|_create_unverified|assert_hostname|cert_reqs")
    assert not [name for name, text in sources().items() if off.search(text)]
    assert not [name for name in vars(RemoteOptions()) if re.search("tls|ssl|verify|insecure", name)]


def test_only_sources_connect() -> None:
    """Only remote sources import network modules, except for the local socket of the window."""
    modules = r"socket|ssl|http\.|urllib3|urllib\.request|requests|boto|PySide6\.QtNetwork"
    network = re.compile(rf"^\s*(?:import|from) (?:{modules})")
    found = {name for name, text in sources().items() if any(map(network.match, text.splitlines()))}
    assert {name for name in found if not name.startswith("shardcore/sources/remote/")} == {
        "app/shardscope/startup/single_instance.py",
    }
    assert "QNetworkAccessManager" not in "".join(sources().values())


def test_no_view_loads_resources() -> None:
    """Rich text is shown only by a class that loads no resources; Markdown of lessons passes `without_resources`."""
    for name, text in sources().items():
        if name != "app/shardscope/widgets/plain_text.py":
            assert not re.search(r"\bQTextBrowser\b|[^\w.]QTextEdit\(", text), name
        assert "MarkdownText" not in text or "without_resources(" in text, name


# --- what is planted ----------------------------------------------------------------------------------------


def test_no_module_of_the_current_folder_is_loaded(tmp_path: Path) -> None:
    """Modules in the current folder are not imported, even with names that Python or the decoder process imports."""
    for name in ("multiprocessing", "pickle", "signal", "numpy", "blosc", "sitecustomize", "shardcore", "typer"):
        (tmp_path / f"{name}.py").write_text("open('loaded', 'w').close()\n")
    shutil.copy(ROOT / "resources" / "samples" / "bloscpack" / "array.blp", tmp_path)
    code = "import sys; from shardcore.cli.program import run; sys.exit(run(sys.argv[1:]))"
    command = [sys.executable, "-P", "-c", code, "show", "array.blp", "[24,40]"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    environment.pop("PYTHONSAFEPATH", None)
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert "10,240 bytes" in done.stdout, done.stderr
    assert not (tmp_path / "loaded").exists()


NAMES = ("../up", "/root", "C:\\drive", "c:stream", "..\\back", "a/../../b", "NUL", "con.txt", r"\\host\share", "x/./y")


def test_no_key_leads_out_of_the_folder(tmp_path: Path) -> None:
    """Keys and zip members with names such as `../up` or `/root` become files inside the target folder."""
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for name in NAMES:
            archive.writestr(zipfile.ZipInfo(name), b"content")
    (tmp_path / "a.des").write_bytes(shard([Stored(name.encode(), b"content", "none", {}) for name in NAMES]))
    before = {*tmp_path.iterdir()}
    for source in ("a.zip", "a.des"):
        for flags in ((), ("--folders",)):
            out = tmp_path / "out"
            run(["extract", str(tmp_path / source), str(out), *flags])
            files = [path for path in out.rglob("*") if path.is_file()]
            assert len(files) >= len(NAMES) - 1, (source, flags, files)
            assert not [path for path in files if re.search(r"[:\\]|^(nul|con)(\.|$)", path.name, re.IGNORECASE)]
            shutil.rmtree(out)
            assert {*tmp_path.iterdir()} == before


def test_temporary_files_are_private(tmp_path: Path) -> None:
    """A temporary file that will replace a private file has the same permissions."""
    for name in ("swh", "des"):
        path = tmp_path / name / "a.shard"
        path.parent.mkdir()
        path.touch(0o600)
        with shardcore.create(path, format=name, force=True) as writer:
            writer.add("00" * 32, bytes(1 << 20))
            modes = [one.stat().st_mode & 0o777 for one in path.parent.iterdir() if one != path]
        assert set(modes) == {0o600}, name
        assert path.stat().st_mode & 0o777 == 0o600


def test_no_redirect_leaves_encryption(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A redirect from HTTPS to HTTP is not followed."""
    made = certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(made))
    with RangeServer() as plain, TlsServer(made) as safe, RedirectServer(plain.url) as answers:
        safe.answer = answers.answer
        with pytest.raises(RemoteError, match="from https to http"):
            shardcore.open(f"{safe.url}/a.shard")
        assert not list(plain.log)
