"""The page in a real, headless Chromium."""

from __future__ import annotations

import ast
import csv
import io
import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

import wordveil
from tests.later import later
from tests.service.browser import chromium
from tests.service.conftest import Service, running
from wordveil.calibration import strongest
from wordveil.service import Key, Settings
from wordveil.service.attacker import EXAMPLES
from wordveil.service.keys import hash_key, new_key
from wordveil.service.schemas import Way

playwright = later("playwright.sync_api", reason="the page is not tested: playwright is not installed")

pytestmark = pytest.mark.skipif(chromium() is None, reason="the page is not tested: there is no Chromium here")

TEXT = "The surgeon left the clinic. Her sister works at a bank."
WORDS = 6  # of it that are drawn


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as started:
        one = started.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        yield one
        one.close()


@pytest.fixture
def open_page(browser: Any, service: Service) -> Iterator[Callable[..., Any]]:
    """Open the page; at the end nothing must have gone wrong in it, and no other host have been asked."""
    contexts, wrong = [], []

    def go(fragment: str = "", *, address: str = service.address, **how: Any) -> Any:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **how})
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda said: wrong.append(said.text) if is_fault(said) else None)

        def asked(request: Any) -> None:
            if (
                not request.url.startswith(("blob:", "data:"))
                and urlsplit(request.url).netloc != urlsplit(address).netloc
            ):
                wrong.append(request.url)
            if "surgeon" in request.url:
                wrong.append("a word of the text stands in an address")

        page.on("request", asked)
        page.goto(f"{address}/{fragment}")
        return page

    yield go
    for context in contexts:
        context.close()
    if wrong:
        pytest.fail("\n".join(wrong), pytrace=False)


def is_fault(said: Any) -> bool:
    """Whether the console was told of a fault of the page, such as a breach of its policy, and not of a refusal."""
    return said.type in ("error", "warning") and not said.text.startswith("Failed to load resource")


def wait(page: Any, condition: str, arg: Any = None) -> None:
    """Wait until something is true of the page; Playwright's own way needs eval, which the page forbids."""
    for _ in range(1200):
        if page.evaluate(condition, arg):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"never came true: {condition}")


@contextmanager
def holding(page: Any, pattern: str, *, drops: bool = False) -> Iterator[Callable[[], None]]:
    """Hold such requests until the end of the block, or drop them there; gives what waits for the first of them."""
    held: list[Any] = []

    def hold(route: Any) -> None:
        held.append(route)

    def first() -> None:
        for _ in range(200):
            if held:
                return
            page.wait_for_timeout(50)
        raise AssertionError("the page never asked")

    page.route(pattern, hold)
    yield first
    for route in held:
        route.abort() if drops else route.continue_()
    page.unroute(pattern)


def settled(page: Any, state: str = "done") -> None:
    """Wait until the page shows what was last asked of it: a change is marked at once, before anything is asked."""
    wait(page, "state => document.body.dataset.state === state", state)


def type_text(page: Any, text: str = TEXT) -> None:
    page.fill("#text", text)
    settled(page)


def releasing(page: Any) -> Any:
    settled(page)
    page.click("text=Release once")
    settled(page)
    return page


def drawn(page: Any) -> str:
    return str(page.text_content("#out"))


def test_the_question_is_answered_for_this_very_text(open_page: Callable[..., Any]) -> None:
    page = open_page()
    settled(page)
    type_text(page)
    assert re.search(rf"of {WORDS}", page.text_content("#answer"))
    assert page.locator("#attacker mark").count() <= WORDS
    right = int(page.locator("#attacker mark.right").count())
    assert (str(right) if right > 1 else {0: "None", 1: "one"}[right]) in page.text_content("#answer")
    assert re.search(r"the (context|table) reader", page.text_content("#answer-more"))
    assert f"({WORDS} draws" in page.text_content("#loss")
    epsilon = float(page.input_value("#number"))
    usual = strongest(wordveil.mechanism("graph", wordveil.load_space("glove-50k"), epsilon=epsilon))
    assert usual is not None
    assert usual.sentence() in page.text_content("#public")  # what `wordveil explain` says
    assert re.fullmatch(r"The \S+ \S+ the \S+\. Her \S+ \S+ at a \S+\.", drawn(page))
    first = drawn(page)
    type_text(page, TEXT + " Nobody noticed.")
    assert drawn(page).startswith(first)  # words stay as they are while somebody types
    page.click("#again")
    settled(page)
    assert not drawn(page).startswith(first)
    assert page.evaluate("getComputedStyle(document.querySelector('#out')).userSelect") == "none"
    type_text(page, "")
    assert not page.is_visible("#out")
    assert page.is_disabled("#again")
    type_text(page)
    assert page.is_visible("#out")


def test_presets_come_before_epsilon(open_page: Callable[..., Any]) -> None:
    page = open_page()
    settled(page)
    assert page.is_checked("[name=preset][value=balanced]")
    seen = []
    for preset in ("strong", "balanced", "light"):
        page.check(f"[name=preset][value={preset}]", force=True)
        settled(page)
        seen.append(float(page.input_value("#number")))
        assert f"e={seen[-1]:g}" in page.url
    assert seen == sorted(set(seen))
    page.focus("#epsilon")
    page.keyboard.press("ArrowRight")
    settled(page)
    assert float(page.input_value("#number")) > seen[-1]
    assert page.is_checked("[name=preset][value='']")
    page.fill("#number", "5000")
    wait(page, "document.querySelector('#used').textContent.includes('ε = 1000:')")
    settled(page, "failed")  # at so large an ε all words would stay
    page.wait_for_selector("#problem", state="visible")
    page.fill("#number", "2")
    settled(page)
    assert not page.is_visible("#problem")
    assert "exp(2·d" in page.text_content("#promise")
    assert page.text_content("#title").endswith("ε = 2")


def test_treatment_and_warnings_count(open_page: Callable[..., Any]) -> None:
    page = open_page("#m=graph&e=4")
    settled(page)
    for name in EXAMPLES:
        page.click(f"#examples >> text={name}")
        settled(page)
        assert page.input_value("#text") == EXAMPLES[name]
    assert "German" in page.text_content("#warnings")
    type_text(page, "In May zqxjv paid 49.90 to Paris, jane@example.com.")
    assert re.search(r"1 word of \d+ words to veil is unknown", page.text_content("#warnings"))
    told = page.text_content("#treatment")
    assert "1 number" in told
    assert "1 identifier" in told
    assert "names" in told
    assert page.locator("#out .placeholder").count() == 2
    assert "example.com" not in drawn(page)
    type_text(page, "Zqxjv brrkl the clinic.")
    assert "another language" in page.text_content("#warnings")
    type_text(page, "surgeon " * 1000)  # cut within a word, which would then be unknown
    assert "7,900 letters" in page.text_content("#warnings")
    assert "unknown" not in page.text_content("#warnings")


def test_an_answer_that_comes_late_is_not_shown(open_page: Callable[..., Any]) -> None:
    page = open_page("#m=graph&e=4")
    settled(page)
    held: list[Any] = []
    page.route(
        "**/v1/explore",
        lambda route: held.append(route) if route.request.post_data_json["epsilon"] == 3 else route.continue_(),
    )
    page.fill("#number", "3")
    for _ in range(200):
        if held:
            break
        page.wait_for_timeout(50)
    page.fill("#number", "6")
    settled(page)
    assert page.text_content("#title").endswith("ε = 6")
    held[0].continue_()
    page.fill("#number", "5")
    settled(page)
    assert page.text_content("#title").endswith("ε = 5")
    page.route("**/v1/explore", lambda route: route.abort())
    page.fill("#number", "7")
    settled(page, "failed")
    page.wait_for_selector("#problem", state="visible")
    assert page.text_content("#title").endswith("ε = 5")  # what stands there says what it is of
    page.unroute("**/v1/explore")
    page.click("#retry")
    settled(page)
    assert page.text_content("#title").endswith("ε = 7")
    assert not page.is_visible("#problem")


def test_a_reader_that_is_not_ready_is_waited_for_with_progress(open_page: Callable[..., Any]) -> None:
    page = open_page("#m=graph&e=4")
    settled(page)
    with holding(page, "**/v1/explore") as held:
        page.fill("#number", "3")
        held()
        page.wait_for_selector("#busy", state="visible")
        assert "graph" in page.text_content("#busy-told")
    settled(page)
    assert not page.is_visible("#busy")
    with holding(page, "**/v1/explore", drops=True) as held:  # to make it would take a while
        page.click("#more summary")
        page.select_option("#mechanism", "diffractor")
        wait(page, "document.querySelector('#number').value === ''")
        page.wait_for_selector("#out", state="hidden")  # nothing is shown that is not of these settings
        page.fill("#number", "3")
        held()
        wait(page, "/About \\d+ s left/.test(document.querySelector('#busy-told').textContent)")


def test_only_equal_protection_is_compared_or_carried_over(open_page: Callable[..., Any]) -> None:
    page = open_page("#m=graph&e=5")
    settled(page)
    page.click("#more summary")
    page.select_option("#compare", "laplace")
    page.wait_for_selector("#other-card", state="visible")
    settled(page)
    wait(page, "document.querySelectorAll('#plot svg .now').length > 1 && location.hash.includes('vs=laplace')")
    dots = [float(one.get_attribute("cx")) for one in page.query_selector_all("#plot svg .now")]
    assert dots[0] == pytest.approx(dots[1], abs=2.0)  # guessed equally often
    page.fill("#number", "1")  # where nothing was measured
    settled(page)
    page.wait_for_selector("#other-card", state="hidden")
    assert "not compared" in page.text_content("#compare-told")
    page.fill("#number", "5")
    settled(page)
    page.select_option("#mechanism", "laplace")
    wait(page, "location.hash.includes('m=laplace') && !location.hash.includes('vs=')")  # not with itself
    assert page.locator("#compare option[value=laplace]").count() == 0
    wait(page, "!['', '0', '5'].includes(document.querySelector('#number').value)")  # which is of another unit
    wait(page, "document.querySelector('#title').textContent.includes('laplace')")
    page.select_option("#mechanism", "knn-truncated")  # of which nothing comes with the package
    wait(page, "document.querySelector('#number').value === ''")
    wait(page, "document.querySelector('#answer').textContent.includes('knn-truncated')")
    page.wait_for_selector("#plot button >> text=Measure knn-truncated")
    wait(page, "document.querySelector('[name=preset][value=strong]').disabled")


def test_a_curve_is_measured_on_demand(open_page: Callable[..., Any]) -> None:
    page = open_page("#m=graph&e=2&s=toy.txt")
    settled(page)
    page.click("#plot button >> text=Measure graph")
    page.wait_for_selector("#plot svg .curve", state="attached", timeout=60_000)
    assert page.locator("#plot svg .dot").count() >= 4
    assert " 60 words." in page.text_content("#plot")


def test_the_keyboard_is_enough(open_page: Callable[..., Any]) -> None:
    page = open_page("#m=graph&e=3")
    settled(page)
    type_text(page)
    page.focus("#out [tabindex='0']")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    wait(page, "document.querySelector('#word .big')?.textContent === 'left'")
    assert page.locator("#map svg circle.node.own").count() == 1
    assert page.locator("#map svg circle").count() == page.locator("#map svg text").count()  # no dot without a label
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('#out') === null")  # one stop for all words
    page.focus("[name=mode]:checked")
    page.keyboard.press("ArrowRight")
    settled(page)
    assert page.get_attribute("body", "data-mode") == "release"
    page.focus("#release")
    page.keyboard.press("Enter")
    wait(page, "document.activeElement.id === 'released'")
    names = page.evaluate(
        "[...document.querySelectorAll('input, select, textarea, button, a')]"
        ".filter(one => !(one.labels?.length || one.ariaLabel || one.textContent.trim())).map(one => one.outerHTML)"
    )
    assert names == []


def test_a_text_is_released_once(open_page: Callable[..., Any]) -> None:
    page = open_page("#m=graph&e=4", permissions=["clipboard-read", "clipboard-write"])
    settled(page)
    type_text(page)
    asked: list[Any] = []
    page.on("request", lambda one: asked.append(one.post_data_json["text"]) if "privatize" in one.url else None)
    page = releasing(page)
    assert f"{WORDS} draws" in page.text_content("#price")
    assert not page.is_visible("#again")
    page.click("#release")
    page.wait_for_selector("#released-part", state="visible")
    settled(page)
    text = page.input_value("#released")
    assert re.fullmatch(r"The \S+ \S+ the \S+\. Her \S+ \S+ at a \S+\.", text)
    assert page.is_disabled("#release")
    assert [one for one in asked if one] == [TEXT]
    page.click("#copy")
    wait(page, "document.querySelector('#toast').textContent !== ''")
    assert page.evaluate("navigator.clipboard.readText()") == text
    with page.expect_download() as download:
        page.click("#download")
    assert Path(download.value.path()).read_text(encoding="utf-8") == text
    page.reload()
    page = releasing(page)
    type_text(page)
    page.click("#release")
    page.wait_for_selector("#released-part", state="visible")
    assert page.input_value("#released") == text  # not another draw
    other = page.context.new_page()
    other.goto(page.url)
    other = releasing(other)
    type_text(other)
    assert "Nothing new is drawn" in other.text_content("#price")
    other.click("#release")
    other.wait_for_selector("#released-part", state="visible")
    assert other.input_value("#released") == text  # nor in another tab
    other.close()
    type_text(page, "The surgeon left.")
    assert page.is_enabled("#release")


def test_what_the_page_shows_can_be_run(open_page: Callable[..., Any], tmp_path: Path) -> None:
    page = releasing(open_page("#m=graph&e=4&w=all&o=drop&c=lower"))
    sent = json.loads(shlex.split(page.text_content("#snippet"))[-1])
    assert sent == {
        "text": "Your text.", "mechanism": "graph", "epsilon": 4, "space": "glove-50k",
        "select": "all", "oov": "drop", "case": "lower",
    }  # fmt: skip
    if shutil.which("curl"):
        done = subprocess.run(["sh", "-c", page.text_content("#snippet")], capture_output=True, check=True)
        assert len(json.loads(done.stdout)["results"]) == 1
    page.click("text=As Python")
    call = ast.parse(page.text_content("#snippet").splitlines()[-1].removeprefix("print(").removesuffix(".text)"))
    given = {one.arg: ast.literal_eval(one.value) for one in call.body[0].value.keywords}
    assert given == {name: value for name, value in sent.items() if name != "text"}
    out = io.StringIO()
    with redirect_stdout(out):
        exec(page.text_content("#snippet"), {})  # noqa: S102 - what the page tells people to run
    assert out.getvalue().strip()
    page.click("text=As a command")
    told = shlex.split(page.text_content("#snippet").replace("\\\n", " "))
    assert told[:2] == ["wordveil", "privatize"]
    (tmp_path / "text.txt").write_text("Some text.\n", encoding="utf-8")
    subprocess.run(
        [sys.executable, "-m", *told, "--report", "report.json"], cwd=tmp_path, check=True, capture_output=True
    )
    assert (tmp_path / "veiled.txt").read_text(encoding="utf-8").strip()
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    usual = Way(**{name: value for name, value in sent.items() if name != "text"})
    for name in ("mechanism", "epsilon", "select", "oov", "case", "identifiers", "numbered", "numbers", "markup"):
        assert report[name] == getattr(usual, name)


def test_a_key_is_asked_for_kindly(open_page: Callable[..., Any], toy_file: Path) -> None:
    key = new_key()
    with running(Settings(spaces=(str(toy_file),), keys=(Key("ann", hash_key(key)),))) as one:
        page = open_page(address=one.address)
        settled(page, "locked")
        assert page.is_visible("#key-form")
        assert not page.is_visible("#problem")
        assert page.text_content("#key-told") == ""
        page.fill("#key", "Schlüssel€")
        page.press("#key", "Enter")
        wait(page, "document.querySelector('#key-told').textContent.includes('character')")
        page.fill("#key", new_key())
        page.press("#key", "Enter")
        wait(page, "document.querySelector('#key-told').textContent.includes('not accepted')")
        page.fill("#key", key)
        page.press("#key", "Enter")
        settled(page)
        assert not page.is_visible("#key-form")
        assert key not in page.url


def test_a_budget_is_spent_by_releases_alone(open_page: Callable[..., Any], toy_file: Path, tmp_path: Path) -> None:
    key = new_key()
    keys = (Key("ann", hash_key(key), 5000.0, user_budget=4000.0),)
    with running(Settings(spaces=(str(toy_file),), keys=keys, ledgers=str(tmp_path))) as one:

        def left() -> float:
            return float(one.get("/v1/budget", authorization=f"Bearer {key}").json["budgets"][0]["left"])

        page = open_page("#m=graph&e=2", address=one.address)
        settled(page, "locked")
        page.fill("#key", key)
        page.press("#key", "Enter")
        settled(page)
        assert page.locator("#out [role=button]").count() > 0  # an example
        asked: list[str] = []
        page.on("request", lambda sent: asked.append(sent.url) if sent.method == "POST" else None)
        type_text(page, "zqa zqb.")
        assert page.locator("#out [role=button]").count() == 0
        assert not any("explore" in url for url in asked)
        own = {"text": "zqa zqb.", "epsilon": 2.0, "draw": "1"}
        refused = one.post("/v1/explore", own, authorization=f"Bearer {key}")  # nor by any other way
        assert (refused.status, refused.json["code"]) == (403, "examples-only")
        assert left() == 5000.0
        page = releasing(page)
        assert not any("price" in url for url in asked)  # which would be refused
        page.fill("#user", "jane")
        settled(page)
        assert left() == 5000.0  # the price costs nothing
        page.click("#release")
        page.wait_for_selector("#released-part", state="visible")
        settled(page)
        assert left() < 5000.0
        assert "left" in page.text_content("#budget")


def test_settings_are_shared_by_address_and_the_text_is_not(open_page: Callable[..., Any]) -> None:
    page = open_page("#m=graph&e=3", permissions=["clipboard-read", "clipboard-write"])
    settled(page)
    type_text(page)
    page.click("#share")
    wait(page, "document.querySelector('#toast').textContent !== ''")
    link = page.evaluate("navigator.clipboard.readText()")
    assert "m=graph&e=3" in link
    assert "surgeon" not in link
    assert "surgeon" not in page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}, history.state])")
    page.evaluate("Object.defineProperty(navigator, 'clipboard', {value: undefined})")  # as over plain HTTP
    page.click("#share")
    wait(page, "document.querySelector('#toast').textContent.includes('address bar')")


def test_a_word_of_a_hyperbolic_space_is_drawn_on_the_disk(open_page: Callable[..., Any], tmp_path: Path) -> None:
    from tests.conftest import make_poincare, names

    make_poincare(60, 3).save(tmp_path / "ball")
    with running(Settings(spaces=(str(tmp_path / "ball"),))) as one:
        page = open_page("#m=hyperbolic&e=4", address=one.address)
        settled(page)
        type_text(page, names(60)[3])
        page.click("#out [role=button]")
        page.wait_for_selector("#map svg circle.disk")
        assert "Poincaré disk" in page.text_content("#map")


@pytest.mark.parametrize(("width", "scheme"), [(375, "dark"), (740, "light")])
def test_it_fits_narrow_screens(open_page: Callable[..., Any], width: int, scheme: str) -> None:
    page = open_page("#m=graph&e=4", viewport={"width": width, "height": 700}, color_scheme=scheme)
    settled(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("#epsilon").bounding_box()["width"] >= 128  # no stub
    if width < 640:  # the answer is in sight while ε moves
        for part in ("#docked", "#epsilon", "#answer"):
            box = page.locator(part).bounding_box()
            assert 0 <= box["y"] <= 700 - box["height"]
        dock = page.locator(".controls").bounding_box()["y"]
        assert page.locator("#answer").bounding_box()["y"] < dock
    type_text(page, "Zqxjv left the clinic.")
    for one in (
        "body", ".note", ".answer", ".legend .right", ".legend .wrong", ".legend .changed", ".legend .placeholder",
        ".presets input:checked + span", ".presets small", ".told-facts dt", ".treatment li", ".warnings li", "#again",
        "#to-release", "h2",
    ):  # fmt: skip
        ink, paper = page.evaluate(
            """one => {
                let place = document.querySelector(one);
                const ink = getComputedStyle(place).color;
                while (getComputedStyle(place).backgroundColor === 'rgba(0, 0, 0, 0)') place = place.parentElement;
                return [ink, getComputedStyle(place).backgroundColor];
            }""",
            one,
        )
        assert contrast(ink, paper) >= 4.5, one
    for wide in (360, 660, 700, 820, 1024):
        page.set_viewport_size({"width": wide, "height": 700})
        assert page.evaluate("document.documentElement.scrollWidth") <= wide
        assert page.locator("#epsilon").bounding_box()["width"] >= 128
    page.set_viewport_size({"width": 360, "height": 700})
    page = releasing(page)
    assert page.evaluate("getComputedStyle(document.querySelector('.controls')).position") == "static"


def test_a_table_goes_up_and_comes_down_veiled(open_page: Callable[..., Any], tmp_path: Path) -> None:
    rows = [["id", "answer, in words"]] + [
        [str(number), f'The "surgeon" left,\nsaid clinic {number}'] for number in range(230)
    ]
    source = tmp_path / "survey.csv"
    with source.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    page = releasing(open_page("#m=graph&e=1"))
    settled(page)
    page.set_input_files("#file", str(source))
    wait(page, "document.querySelector('#column').options.length === 2")
    assert page.input_value("#column") == "1"  # the longest column
    page.click("#table-go")
    page.wait_for_selector("#table-done", state="visible")
    with page.expect_download() as download:
        page.click("#table-done")
    assert download.value.suggested_filename == "survey-veiled.csv"
    out = list(csv.reader(io.StringIO(Path(download.value.path()).read_bytes().decode(), newline="")))
    assert [row[0] for row in out] == [row[0] for row in rows]
    assert out[0] == rows[0]
    assert all(re.fullmatch(r'The "\S+" \S+,\n\S+ \S+ \d{1,3}', row[1]) or "\n" in row[1] for row in out[1:])
    assert sum(a[1] != b[1] for a, b in zip(out[1:], rows[1:], strict=True)) > 200


def test_what_is_downloaded_is_what_the_panel_says(open_page: Callable[..., Any], tmp_path: Path) -> None:
    source = tmp_path / "one.csv"
    source.write_text("name,answer\n" + "Paris,the surgeon left the clinic\n" * 130, encoding="utf-8")
    page = releasing(open_page("#m=graph&e=0.1"))
    settled(page)
    page.set_input_files("#file", str(source))
    wait(page, "document.querySelector('#column').options.length === 2")
    with holding(page, "**/v1/privatize") as held:
        page.click("#table-go")
        held()
        for one in ("#file", "#column", "#table-go"):  # no other file or column while this one is veiled
            assert page.is_disabled(one)
    page.wait_for_selector("#table-done", state="visible")
    assert page.is_enabled("#file")
    assert page.is_enabled("#column")
    assert "130 cells of answer" in page.text_content("#table-told")
    page.select_option("#column", "0")
    assert not page.is_visible("#table-done")


def test_what_is_wrong_with_a_table_is_said_beside_it(open_page: Callable[..., Any], tmp_path: Path) -> None:
    source = tmp_path / "one.csv"
    source.write_text("name,answer\nParis,the surgeon left the clinic\n", encoding="utf-8")
    page = releasing(open_page("#m=graph&e=1"))
    settled(page)
    page.set_input_files("#file", str(source))
    wait(page, "document.querySelector('#column').options.length === 2")
    page.route("**/v1/privatize", lambda route: route.abort())
    page.click("#table-go")
    wait(
        page,
        """() => {
        const [said, beside] = ["#problem", "#table-told"].map((one) => document.querySelector(one).textContent);
        return said !== "" && said === beside;
    }""",
    )
    assert not page.is_visible("#table-progress")
    page.unroute("**/v1/privatize")
    page.click("#table-go")
    wait(page, "document.querySelector('#table-told').textContent.startsWith('1 cell of answer')")


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours, as WCAG defines it."""

    def light(colour: str) -> float:
        parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    darker, lighter = sorted((light(one), light(other)))
    return (lighter + 0.05) / (darker + 0.05)
