#!/usr/bin/env python3
"""The chat page end to end in headless Chromium, against a server that says what the test wants.

  ui_test.py SOURCE_DIR ASSET_LIST [NAME…]      VELOCE_UI_SHOTS=FOLDER also takes pictures there
"""
import json
import sys
import traceback
from pathlib import Path

import fake_server
from page import PHONE, DESKTOP, Keys, Page, find_axe

ROWS = "\n".join(f"| {i} | {'x' * 60} | **b{i}** |" for i in range(3000))
CODE = "Here is a function:\n\n```python\ndef prime(n):\n    # a comment\n    return all(n % i for i in range(2, n))\n```\n\nIt is `slow`, see [the docs](https://example.com/docs)."
RICH = ("## Sorting, compared\n\nThree common ways, with *different* costs:\n\n| Way | Average | Worst | Stable |\n| --- | :---: | :---: | --- |\n"
        "| Quicksort | n log n | n² | no |\n| Mergesort | n log n | n log n | yes |\n| Insertion sort | n² | n² | yes |\n\n"
        "1. **Quicksort** is fast in practice.\n2. **Mergesort** is steady:\n   - it needs more memory\n   - it is *stable*\n\n> Measure before you choose.\n\n" + CODE)
HOSTILE = """<script>window.pwned = 1</script>
<img src=x onerror="window.pwned = 2"> <svg onload="window.pwned = 3"><a xlink:href="javascript:window.pwned=4"><text>x</text></a></svg>

[click](javascript:window.pwned=5) [two](JaVaScRiPt:window.pwned=6) [three](data:text/html,<script>window.pwned=7</script>) [four](vbscript:x)
<a href="java&#115;cript:window.pwned=8">five</a> <a href="https://example.org" onclick="window.pwned=9" style="position:fixed">six</a>

![pixel](https://tracker.example/pixel.png "t") ![local](/v1/models) ![](javascript:window.pwned=10)

<iframe src="https://evil.example"></iframe> <form action="https://evil.example"><input name=q autofocus onfocus="window.pwned=11"><button>send</button></form>
<style>body { display: none }</style> <link rel=stylesheet href="https://evil.example/x.css"> <base href="https://evil.example/">
<details open ontoggle="window.pwned=12"><summary>s</summary>d</details> <math><mtext><img src=x onerror=window.pwned=13></mtext></math>

<b onmouseover="window.pwned=14" id="composer" class="dialog">bold</b> H<sub>2</sub>O a<br>b <kbd>x</kbd>

```"><img src=x onerror=window.pwned=15>
<script>window.pwned = 16</script>
```

```html
<script>window.pwned = 17</script><img src=x onerror=alert(1)>
```

""" + ">" * 3000 + " deep\n\n" + "- " * 2000 + "x\n\n" + "[" * 3000 + "\n\n| a | b | c |\n| - | - | - |\n" + ROWS + "\n\nlast <words>"

fake_server.REPLIES.update({
    "hostile": lambda _: HOSTILE, "code": lambda _: CODE, "table": lambda _: RICH,
    "think": lambda _: ("First I *consider* the question.\n\nThen I answer it. " * 3, "The answer is **42**."),
    "slowly": lambda _: "One two three four five six seven eight nine ten. " * 400,
    "cut": lambda _: "This answer ends too"})


# What stands out of the window to the right, where it is not within something that scrolls.
OUTSIDE = """
  const scrolls = (n) => n && (/auto|scroll/.test(getComputedStyle(n).overflowX) || scrolls(n.parentElement));
  const out = document.documentElement.scrollWidth > innerWidth ? ['the page is ' + document.documentElement.scrollWidth] : [];
  for (const n of document.querySelectorAll('body *')) {
    const r = n.getBoundingClientRect();
    if (r.width && r.height && r.right > innerWidth + 1 && !scrolls(n.parentElement)) out.push((n.id || n.className || n.tagName) + ' ' + r.right);
  }
  return out;"""

LIBRARIES = ("/ui/lib-marked.js", "/ui/lib-purify.js", "/ui/lib-highlight.js")


def needs_libraries(test):
    """Skipped where the page was built without one of its libraries and so shows plain text."""
    test.needs_libraries = True
    return test


def test_streams_and_shows_speed(page, server):
    page.ask("slowly tell me a story", wait=False)
    first = page.until(lambda: page.texts("assistant") and page.texts("assistant")[-1], "the first words")
    page.until(lambda: len(page.texts("assistant")[-1]) > len(first) + 20, "more words")
    assert page.busy()
    page.until(lambda: "tok/s" in page.one("#composer-stats").text, "live speed")
    assert "tok/s" in page.one(".message:last-child .speed").text
    page.until(lambda: page.js("return document.getElementById('live').textContent"), "words for screen readers")
    page.shot("streaming")
    page.key(Keys.ESCAPE)
    page.idle()
    page.until(lambda: server.state.gone == 1, "the server to see that nobody listens")
    assert "Stopped" in page.one(".message:last-child .message-foot").text
    stopped = page.texts("assistant")[-1]
    page.button("Continue this answer")
    page.until(lambda: len(page.texts("assistant")[-1]) > len(stopped) + 20, "the rest")
    body = server.state.requests[-1]
    assert body["continue_final_message"] is True and body["messages"][-1]["role"] == "assistant"
    page.click("#stop")
    page.idle()
    assert page.focused() == "composer-text", page.focused()


@needs_libraries
def test_markdown_and_code(page, server):
    page.new_chat()
    page.ask("show code please")
    page.until(lambda: page.all(".code-block .hljs-keyword"), "coloured code")
    assert page.one(".code-block code").text.startswith("def prime(n):\n    # a comment")
    link = page.one(".answer-text a")
    assert link.get_attribute("rel") == "noopener noreferrer nofollow" and link.get_attribute("target") == "_blank"
    page.ask("compare in a table")
    assert len(page.all(".message:last-child .table-frame td")) == 12
    assert page.one(".message:last-child ol li ul li")
    assert page.one(".message:last-child td:nth-child(2)").value_of_css_property("text-align") == "center"
    page.button("Copy code", ".message:last-child .code-head")
    page.until(lambda: page.js("return document.getElementById('live').textContent") == "Copied", "the copy")


@needs_libraries
def test_thoughts_are_folded(page, server):
    page.new_chat()
    page.ask("think about it")
    assert page.texts("assistant") == ["The answer is 42."]
    thought = page.one(".thought")
    assert not thought.get_attribute("open") and not page.visible(".thought-text")
    page.click(".thought summary")
    page.until(lambda: page.visible(".thought-text em"), "the thoughts")


def test_edit_branch_regenerate(page, server):
    page.new_chat()
    page.ask("first question")
    page.ask("second question")
    page.button("Edit", ".message.user:nth-child(1)")
    area = page.one(".editor textarea")
    area.send_keys(Keys.CONTROL, "a")
    area.send_keys("other question", Keys.ENTER)
    page.until(lambda: page.texts("user") == ["other question"], "the edited question")
    page.idle()
    assert page.one(".message.user .position").text == "2 / 2"
    assert [m["content"] for m in server.state.requests[-1]["messages"]] == ["other question"]
    page.shot("branches")
    page.button("Previous version", ".message.user")
    page.until(lambda: page.texts("user") == ["first question", "second question"], "the first version")
    page.button("Regenerate", ".message:nth-child(4)")
    page.until(lambda: page.visible(".message:nth-child(4) .position"), "a second answer")
    page.idle()
    assert page.one(".message:nth-child(4) .position").text == "2 / 2"
    page.button("Edit", ".message:nth-child(4)")
    area = page.one(".editor textarea")
    area.send_keys(Keys.CONTROL, "a")
    area.send_keys("my own answer", Keys.CONTROL, Keys.ENTER)
    page.until(lambda: page.texts("assistant")[-1] == "my own answer", "the edited answer")
    assert page.one(".message:nth-child(4) .position").text == "3 / 3"
    page.button("Branch into a new chat", ".message:nth-child(2)")
    page.until(lambda: page.one("#chat-title").text.endswith("(branch)"), "the new chat")
    assert page.texts("user") == ["first question"] and len(page.texts("assistant")) == 1
    # The last message is edited from the empty field.
    page.one("#composer-text").send_keys(Keys.ARROW_UP)
    page.until(lambda: page.visible(".editor"), "the editor")
    page.one(".editor textarea").send_keys(Keys.ESCAPE)
    page.until(lambda: not page.visible(".editor"), "the editor to go")


def test_reload_keeps_chats(page, server):
    before = (page.texts("user"), page.texts("assistant"), page.one("#chat-title").text)
    names = [n.text for n in page.all(".chat-name")]
    page.reload()
    page.until(lambda: page.texts("user"), "the messages")
    assert (page.texts("user"), page.texts("assistant"), page.one("#chat-title").text) == before
    assert [n.text for n in page.all(".chat-name")] == names
    page.new_chat()
    page.ask("slowly, while the page closes", wait=False)
    page.until(lambda: page.texts("assistant") and len(page.texts("assistant")[-1]) > 120, "some words")
    page.js("return new Promise((done) => setTimeout(done, 1600))")
    page.reload()
    page.until(lambda: page.texts("assistant"), "the messages")
    assert page.texts("assistant")[-1].startswith("One two") and "Stopped" in page.one(".message:last-child .message-foot").text


def test_search_rename_delete(page, server):
    page.new_chat()
    page.ask("a walrus in the bath")
    page.key(Keys.CONTROL, "k")
    assert page.focused() == "search"
    page.one("#search").send_keys("WALRUS")
    page.until(lambda: len(page.all(".chat-item")) == 1, "one chat found")
    page.one("#search").send_keys(Keys.CONTROL, "a")
    page.one("#search").send_keys("consider the nothing")
    page.until(lambda: not page.all(".chat-item"), "no chat found")
    page.one("#search").send_keys(Keys.ESCAPE)
    page.until(lambda: len(page.all(".chat-item")) > 0, "all chats again")
    page.js("document.querySelector('.chat-item.current .chat-open').focus()")
    page.key(Keys.F2)
    page.key(Keys.CONTROL, "a")
    page.key("Sea animals")
    page.key(Keys.ENTER)
    page.until(lambda: page.one("#chat-title").text == "Sea animals", "the new title")
    number = len(page.all(".chat-item"))
    page.button("Delete Sea animals", ".sidebar")
    page.click("dialog .button.danger")
    page.until(lambda: len(page.all(".chat-item")) == number - 1, "the chat to go")
    page.button("Undo", ".toast")
    page.until(lambda: "Sea animals" in [n.text for n in page.all(".chat-name")], "the chat again")


@needs_libraries
def test_export_and_import(page, server):
    page.new_chat()
    page.ask("export me\n".strip() + " with code")
    page.one("#open-transfer").click()
    page.click("dialog .row-button:nth-of-type(1)")
    file = page.until(lambda: next(page.folder.glob("export-me*.md"), None), "the Markdown file")
    text = page.until(lambda: file.read_text(), "its text")
    assert "<!-- veloce:user -->\n## You\n\nexport me with code" in text and "```python" in text
    page.one("#open-transfer").click()
    page.click("dialog .row-button:nth-of-type(2)")
    whole = page.until(lambda: next(page.folder.glob("export-me*.json"), None), "the JSON file")
    data = json.loads(page.until(lambda: whole.read_text(), "its text"))
    assert data["format"] == "veloce-chats" and len(data["chats"][0]["messages"]) == 2
    number = len(page.all(".chat-item"))
    for path in (file, whole):
        page.one("#open-transfer").click()
        page.until(lambda: page.all("#import-file"), "the dialog")[0].send_keys(str(path))
        number += 1
        page.until(lambda: len(page.all(".chat-item")) == number, "the imported chat")
        page.until(lambda: page.texts("user") == ["export me with code"] and page.all(".code-block"), "its messages")
    broken = page.folder / "broken.json"
    broken.write_text('{"format": "veloce-chats", "version": 1, "chats": [{"title": 5, "leaf": "a", "settings": {"temperature": "hot", "system": 3},'
                      ' "messages": [{"id": "a", "parent": "b", "role": "user", "content": "loop a"}, {"id": "b", "parent": "a", "role": "assistant", "content": 7,'
                      ' "images": [{"data": "https://evil.example/x.png"}]}, 5, null, {"id": "c", "role": "root"}]}]}')
    page.one("#open-transfer").click()
    page.until(lambda: page.all("#import-file"), "the dialog")[0].send_keys(str(broken))
    page.until(lambda: page.texts("user") == ["loop a"], "what the damaged file holds")
    page.one("#open-transfer").click()
    broken.write_text("{not json")
    page.until(lambda: page.all("#import-file"), "the dialog")[0].send_keys(str(broken))
    page.until(lambda: page.visible(".toast") and "not JSON" in page.all(".toast")[-1].text, "the reason")
    # What Markdown gives back is what was written, marks in texts included.
    assert page.js_async("""
      const {toMarkdown, readChats} = await import('/ui/transfer.js');
      const text = 'a\\n<!-- veloce:user -->\\n\\\\<!-- veloce:assistant -->\\n# b';
      const m = new Map([['1', {id: '1', parent: null, role: 'user', content: text}], ['2', {id: '2', parent: '1', role: 'assistant', content: 'ok'}]]);
      const [{messages, chat}] = readChats(toMarkdown({title: 'T', leaf: '2', settings: {system: 'be brief'}}, m));
      return JSON.stringify([[...messages.values()].map((x) => x.content), chat.settings.system, chat.title]) === JSON.stringify([[text, 'ok'], 'be brief', 'T'])""")


@needs_libraries
def test_hostile_output(page, server):
    page.new_chat()
    server.state.paths.clear()
    page.js("window.pwned = 0")
    page.ask("be hostile", wait=False)
    page.idle(90)
    page.until(lambda: "last <words>" in page.texts("assistant")[-1], "all of it")
    assert page.js("return window.pwned") == 0
    faults = page.js("""
      const out = [];
      for (const node of document.querySelectorAll('.messages *')) {
        if (/^(SCRIPT|IFRAME|FORM|INPUT|STYLE|LINK|BASE|OBJECT|EMBED|MATH|META)$/.test(node.tagName)) out.push(node.tagName);
        if (node.tagName === 'IMG') out.push('img ' + node.src);
        if (node.closest('.answer-text')) for (const {name, value} of node.attributes) {
          if (/^on|^style$|^srcset$|^id$/.test(name)) out.push(name);
          if (name.endsWith('href') && !/^(https:|ui\\/icons)/.test(value)) out.push(value);
        }
      }
      return out;""")
    assert not faults, faults
    for link in page.all(".answer-text a"):
        assert "noopener" in link.get_attribute("rel")
    assert "window.pwned = 1" in page.texts("assistant")[-1], "tags that do nothing are shown, not dropped"
    assert page.all(".answer-text sub") and page.all(".answer-text kbd")
    assert "tracker.example" in page.one(".answer-text a.remote-image").text
    assert len(page.all(".answer-text .table-frame tr")) <= 210
    page.button("Show all 3000 rows", ".answer-text")
    page.until(lambda: page.js("return document.querySelectorAll('.answer-text .table-frame tr').length") == 3001, "all rows")
    assert page.js("return document.documentElement.scrollWidth <= innerWidth")
    outside = page.js("return performance.getEntriesByType('resource').map((e) => e.name).filter((n) => !n.startsWith(location.origin) && !/^(data|blob):/.test(n))")
    assert not outside, outside
    assert set(server.state.paths) <= {"/v1/chat/completions", "/health", "/props", "/slots", "/metrics", "/ui/icons.svg", "/ui/lib-highlight.js"}, server.state.paths
    # The policy holds where the sanitiser would not: markup put in by force does nothing.
    page.console()
    assert page.js_async("""try { const d = document.createElement('div'); d.innerHTML = '<b>x</b>'; return 'taken'; } catch (e) { return e.name; }""") == "TypeError"
    assert page.js_async("""const i = new Image(); return await new Promise((r) => { i.onload = () => r('loaded'); i.onerror = () => r('refused'); i.src = 'https://example.com/x.png'; })""") == "refused"
    page.console()


def test_settings_reach_the_server(page, server):
    page.new_chat()
    page.click("#chat-settings")
    page.one("dialog [name=system]").send_keys("Be brief.")
    page.one("dialog [name=temperature]").send_keys("0.3")
    page.one("dialog [name=top_k]").send_keys("7")
    page.one("dialog [name=seed]").send_keys("42")
    page.one("dialog [name=max_tokens]").send_keys("64")
    page.shot("settings")
    page.click("dialog .button.primary")
    page.ask("with settings")
    body = server.state.requests[-1]
    assert body["messages"][0] == {"role": "system", "content": "Be brief."}
    assert (body["temperature"], body["top_k"], body["seed"], body["max_tokens"]) == (0.3, 7, 42, 64)
    assert "top_p" not in body and "min_p" not in body
    page.click("#chat-settings")
    page.one("dialog [name=top_p]").send_keys("5")
    page.click("dialog .button.primary")
    assert page.visible("dialog"), "a value out of range is not taken"
    page.key(Keys.ESCAPE)
    page.until(lambda: not page.visible("dialog"), "the dialog to close")


def test_faults_are_told(page, server):
    page.new_chat()
    page.ask("please fail")
    assert "the device went away" in page.one(".message:last-child .problem").text
    page.ask("an overflow", wait=False)
    page.until(lambda: page.visible(".message:last-child .problem"), "the fault")
    assert "9,000" in page.one(".message:last-child .problem").text
    page.ask("be cut")
    assert "Cut off" in page.one(".message:last-child .message-foot").text
    page.shot("faults")
    page.console()


def test_images(page, server):
    page.new_chat()
    assert not page.visible("#attach")
    server.state.vision = True
    page.reload()
    page.until(lambda: page.visible("#attach"), "the button for images")
    picture = page.folder / "dot.png"
    picture.write_bytes(bytes.fromhex("89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c63606060f80f0001040100"
                                      "5fe5c34b0000000049454e44ae426082"))
    page.one("#attach-file").send_keys(str(picture))
    page.until(lambda: page.visible(".attachment img"), "the image")
    page.ask("what is this?")
    content = server.state.requests[-1]["messages"][0]["content"]
    assert content[0]["image_url"]["url"].startswith("data:image/png;base64,iVBOR") and content[1]["text"] == "what is this?"
    assert page.visible(".message.user img")
    server.state.vision = False


def test_server_status(page, server):
    page.click("#open-status")
    page.until(lambda: page.all(".slots li"), "the slots")
    text = page.one("dialog").text
    for wanted in ("Tiny-Chat-1B-Q4_K_M", "8,192 tokens", "Drafts accepted", "75 %", "From the cache", "33 %", "2,310 / 8,192"):
        assert wanted in text, (wanted, text)
    page.shot("status")
    page.key(Keys.ESCAPE)


def test_key_and_loading(page, server):
    server.state.key = "secret"
    page.reload()
    page.until(lambda: page.visible("dialog"), "the question for the key")
    page.one("dialog input").send_keys("wrong", Keys.ENTER)
    page.until(lambda: page.visible("dialog") and "does not know" in page.one("dialog").text, "the second question")
    page.one("dialog input").send_keys("secret", Keys.ENTER)
    page.until(lambda: page.one("#server-name").text.startswith("Tiny"), "the server's answer")
    page.new_chat()
    page.ask("with the key")
    server.state.key = None
    server.state.loading = True
    page.reload()
    page.until(lambda: "loading its model" in page.one("#notice").text, "the notice")
    server.state.loading = False
    page.until(lambda: not page.visible("#notice"), "the model")
    page.console()


def test_without_storage_or_libraries(page, server):
    script = page.cdp("Page.addScriptToEvaluateOnNewDocument", source="delete window.indexedDB; Object.defineProperty(window, 'indexedDB', {value: undefined});"
                      "Object.defineProperty(window, 'localStorage', {get() { throw new Error('no'); }});")["identifier"]
    kept = {path: server.assets.pop(path) for path in LIBRARIES if path in server.assets}
    try:
        page.open()
        page.until(lambda: "until it is closed" in page.one("#notice").text, "the notice")
        page.ask("be hostile", wait=False)
        page.idle()
        assert page.js("return document.querySelectorAll('.answer-text *').length") == 1 and "<script>" in page.texts("assistant")[-1]
    finally:
        server.assets.update(kept)
        page.cdp("Page.removeScriptToEvaluateOnNewDocument", identifier=script)
        page.open()
    page.console()


@needs_libraries
def test_accessibility_and_looks(page, server):
    if not find_axe():
        print("  SKIP of axe: its Python package is missing")
    shows = {"welcome": lambda: page.new_chat(), "chat": lambda: (page.new_chat(), page.ask("think and compare in a table")),
             "settings-dialog": lambda: page.click("#chat-settings"), "about": lambda: page.js("document.getElementById('open-about').click()"),
             "server": lambda: page.js("document.getElementById('open-status').click()")}
    fake_server.REPLIES["think and compare"] = lambda _: ("The user wants a comparison.", RICH)
    fake_server.REPLIES = dict(sorted(fake_server.REPLIES.items(), key=lambda item: -len(item[0])))
    faults = []
    for scheme in ("light", "dark"):
        for name, size in (("desktop", DESKTOP), ("phone", PHONE)):
            page.scheme(scheme)
            page.size(*size)
            for what, show in shows.items():
                if what not in ("welcome", "chat") and page.visible("dialog"):
                    page.key(Keys.ESCAPE)
                    page.until(lambda: not page.visible("dialog"), "the dialog to close")
                show()
                page.until(lambda: what in ("welcome", "chat") or page.visible("dialog"), what)
                if what == "server":
                    page.until(lambda: page.all(".slots li"), "the slots")
                page.shot(f"{what}-{name}-{scheme}")
                for width in (320, 360, 390) if name == "phone" else (600, 800, 1280):
                    page.size(width, size[1])
                    over = page.js(OUTSIDE)
                    assert not over, (what, width, over)
                page.size(*size)
                if find_axe():
                    faults += [(what, name, scheme, *fault) for fault in page.axe()]
            page.key(Keys.ESCAPE)
            if name == "phone":
                page.until(lambda: not page.visible("dialog"), "the dialog to close")
                page.click("#sidebar-open")
                assert page.visible(".sidebar") and page.focused() == "sidebar-close"
                page.shot(f"drawer-phone-{scheme}")
                if find_axe():
                    faults += [("drawer", name, scheme, *fault) for fault in page.axe()]
                page.key(Keys.ESCAPE)
                page.until(lambda: not page.visible(".sidebar"), "the drawer to close")
                assert page.focused() == "sidebar-open"
    for fault in faults:
        print("  axe:", *fault)
    assert not faults, f"{len(faults)} violations"
    page.size(*DESKTOP)


def test_keyboard_alone(page, server):
    page.size(*DESKTOP)
    page.open()
    seen, ends = [], 0
    for _ in range(90):
        page.key(Keys.TAB)
        here = page.js("const n = document.activeElement; if (n === document.body) return null;"
                       "const s = getComputedStyle(n), c = getComputedStyle(n.closest('.composer') ?? n), r = n.getBoundingClientRect();"
                       "return [n.id || n.className || n.tagName, s.outlineStyle !== 'none' || c.boxShadow !== 'none', r.width > 0]")
        if here is None:   # the end of the page; the first time it is that after the message field
            ends += 1
            if ends == 2:
                break
            continue
        assert here[1] and here[2], f"focus cannot be seen on {here[0]}"
        seen.append(here[0])
    for wanted in ("new-chat", "search", "chat-open", "open-settings", "theme", "open-status", "scroller", "composer-text", "chat-settings"):
        assert wanted in seen, (wanted, seen)


TESTS = [value for name, value in globals().items() if name.startswith("test_")]


def main():
    source, listing, *wanted = sys.argv[1:]
    server = fake_server.FakeServer(source, listing)
    page = Page(server.url)
    failed = 0
    try:
        page.open()
        for test in TESTS:
            if wanted and not any(word in test.__name__ for word in wanted):
                continue
            missing = [path for path in LIBRARIES if path not in server.assets]
            if missing and getattr(test, "needs_libraries", False):
                print("SKIP", test.__name__, "without", *missing, flush=True)
                continue
            try:
                test(page, server)
                complaints = page.console()
                assert not complaints, complaints
                print("ok  ", test.__name__, flush=True)
            except Exception:
                failed += 1
                print("FAIL", test.__name__, flush=True)
                traceback.print_exc()
                page.shot("failed-" + test.__name__)
                server.state.__init__()
                page.open()
                page.console()
    finally:
        page.close()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
