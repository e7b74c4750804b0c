"""Mail: subject and text are veiled, and nothing else of a message is written."""

from __future__ import annotations

import email
import email.policy
import mailbox
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest

from wordveil.errors import InputError, OptionError
from wordveil.io import Reading, Veils, format_named

RAW = "Zanzibar"


def message(subject: str = "the old mill", body: str = "Dear all,\n\nFrom now on by the river.\n") -> EmailMessage:
    made = EmailMessage()
    made["From"], made["To"], made["Subject"] = f"{RAW} <{RAW}@example.org>", f"{RAW}@example.com", subject
    made["Message-ID"], made["X-Mailer"] = f"<{RAW}@host>", RAW
    made.set_content(body)
    made.add_alternative(f"<p>{RAW}</p>", subtype="html")
    made.add_attachment(RAW.encode(), maintype="application", subtype="pdf", filename=f"{RAW}.pdf")
    return made


def test_a_message_keeps_its_subject_and_text_alone(tmp_path: Path, idle: Veils, through: Any) -> None:
    path = tmp_path / "in.eml"
    path.write_bytes(message("Grüße vom Fluss").as_bytes(policy=email.policy.SMTP))
    raw = through(idle, path, "eml")
    assert RAW.encode() not in raw
    assert b"\r\n" in raw
    made = email.message_from_bytes(raw, policy=email.policy.default)
    assert (made["Subject"], made.get_content()) == (
        "Grüße vom Fluss",
        "Dear all,\r\n\r\nFrom now on by the river.\r\n",
    )
    assert set(made.keys()) == {"Subject", "Content-Type", "Content-Transfer-Encoding", "MIME-Version"}


def test_a_mailbox_is_read_by_others_and_goes_on_from_every_message(tmp_path: Path, idle: Veils, through: Any) -> None:
    path = tmp_path / "in.mbox"
    box = mailbox.mbox(path)
    bodies = [f"number {n}\n\nFrom here on\n>From there\n" for n in range(5)]
    for body in bodies:
        box.add(message(body=body))
    box.close()
    written = tmp_path / "out.mbox"
    written.write_bytes(through(idle, path, "mbox"))
    assert RAW.encode() not in written.read_bytes()
    others = mailbox.mbox(written)
    payloads: list[Any] = [one.get_payload(decode=True) for one in others]
    found = [payload.decode().replace("\n>From", "\nFrom") for payload in payloads]
    others.close()
    assert [text.strip() for text in found] == [body.replace("\n>From", "\nFrom").strip() for body in bodies]
    with format_named("mbox").open_reader(path, Reading(batch_words=1)) as reader:
        blocks = list(reader.blocks())
    assert len(blocks) == 5
    for index, block in enumerate(blocks):
        with format_named("mbox").open_reader(path, Reading(batch_words=1), block.end) as reader:
            assert [later.records for later in reader.blocks()] == [later.records for later in blocks[index + 1 :]]


def test_a_page_is_read_as_the_text_it_shows(tmp_path: Path) -> None:
    made = EmailMessage()
    page = f"<html><head><title>{RAW}</title></head><body><p>The river &amp; mill</p><script>{RAW}</script>old<br>town"
    made.set_content(page, subtype="html")
    (tmp_path / "in.eml").write_bytes(made.as_bytes())
    with format_named("eml").open_reader(tmp_path / "in.eml", Reading()) as reader:
        assert [block.records for block in reader.blocks()] == [[["The river & mill\nold\ntown\n"]]]


@pytest.mark.parametrize(
    "raw",
    [
        b"Subject: =?no-such?B?xx?=\nContent-Type: text/plain; charset=no-such\n\nthe mill \xff\n",
        b"From: <<<>>>,,\nSubject:\n\n",
        b"no header at all",
        b"Content-Type: multipart/mixed; boundary=x\n\n--x\n\nthe mill\n",
    ],
)
def test_broken_mail_is_read_or_refused_but_never_passed_on(
    tmp_path: Path, seeded: Veils, through: Any, raw: bytes
) -> None:
    (tmp_path / "in.eml").write_bytes(raw)
    try:
        assert b"mill" not in through(seeded, tmp_path / "in.eml", "eml")
    except InputError as error:
        assert "mill" not in str(error)  # noqa: PT017


def test_what_is_no_mailbox_is_refused(tmp_path: Path, idle: Veils, through: Any) -> None:
    (tmp_path / "in.mbox").write_text("the old mill\n")
    with pytest.raises(InputError):
        through(idle, tmp_path / "in.mbox", "mbox")
    with pytest.raises(OptionError):
        through(idle, tmp_path / "in.mbox", "mbox", columns=("text",))
