#!/usr/bin/env python3
"""Mutated requests against veloce-serve. Each must get an answer of a sensible status (never 500), errors of the
documented shape, valid JSON and UTF-8, within a time; the server must live on, keep below a bound of memory, report
nothing to a sanitizer, and end well when asked to.

    tests/serve/fuzz/run.py BUILD_DIR                      a few hundred requests (CTest: serve/fuzz)
    tests/serve/fuzz/run.py BUILD_DIR --runs 10000         the long run
    tests/serve/fuzz/run.py BUILD_DIR --seed 7 --only 42   one case again

A case depends on --seed and its number alone. Python's standard library is all that is needed."""
import argparse, concurrent.futures, json, os, pathlib, random, re, signal, socket, struct, subprocess, sys, tempfile, threading, time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import mutate, seeds

SOURCE = pathlib.Path(__file__).resolve().parents[3]
STATUSES = {200, 400, 401, 404, 405, 408, 413, 414, 415, 417, 431, 501, 503}
REPORTS = re.compile(r"(ERROR: \w+Sanitizer|WARNING: ThreadSanitizer|runtime error:|Segmentation|Assertion|terminate called|handler failed|stream failed).*")


class Finding(Exception):
    pass


def with_infill(model, out):
    """A copy of a GGUF file in which three control tokens are those of fill-in-the-middle, which small models lack."""
    data = pathlib.Path(model).read_bytes()
    at = 8
    tensors, keys = struct.unpack_from("<QQ", data, at)
    at += 16
    sizes = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}

    def skip_text(at): return at + 8 + struct.unpack_from("<Q", data, at)[0]

    def skip(kind, at):
        if kind in sizes: return at + sizes[kind]
        if kind == 8: return skip_text(at)
        kind, count = struct.unpack_from("<IQ", data, at)
        at += 12
        for _ in range(count): at = skip(kind, at)
        return at

    for _ in range(keys):
        at = skip_text(at)
        at = skip(struct.unpack_from("<I", data, at)[0], at + 4)
    end_of_keys = at
    for _ in range(tensors):
        at = skip_text(at)
        at += 4 + 8 * struct.unpack_from("<I", data, at)[0] + 12
    more = b"".join(struct.pack("<Q", len(k)) + k + struct.pack("<II", 4, v) for k, v in
                    ((b"tokenizer.ggml.fim_pre_token_id", 508), (b"tokenizer.ggml.fim_suf_token_id", 509), (b"tokenizer.ggml.fim_mid_token_id", 510)))
    infos = data[end_of_keys:at]
    head = data[:8] + struct.pack("<QQ", tensors, keys + 3) + data[24:end_of_keys] + more + infos
    out.write_bytes(head + b"\0" * (-len(head) % 32) + data[at + (-at % 32):])


class Server:
    """veloce-serve with everything on, its log watched."""

    def __init__(self, options):
        self.folder = tempfile.TemporaryDirectory(prefix="veloce-fuzz-")
        folder = pathlib.Path(self.folder.name)
        (folder / "slots").mkdir()
        model = folder / "model.gguf"
        with_infill(options.model or next(p for p in (SOURCE / "tests/golden").glob("llama-q*/model.gguf")), model)
        (folder / "template.jinja").write_text(seeds.AGENT_TEMPLATE)
        command = [os.path.join(options.build, options.server), "-m", str(model), "--port", "0", "-np", "4", "-c", "1024", "-t", "1", "--metrics", "--props", "--embeddings",
                   "--body-limit", "4", "--slot-save-path", str(folder / "slots"), "--queue-limit", "64", "--threads-http", "32", "--chat-template-file", str(folder / "template.jinja")]
        environment = {"ASAN_OPTIONS": "quarantine_size_mb=16:malloc_context_size=12", "UBSAN_OPTIONS": "print_stacktrace=1", "TSAN_OPTIONS": "second_deadlock_stack=1", **os.environ}
        self.log_path = folder / "log"
        self.process = subprocess.Popen(command + options.flag, stderr=open(self.log_path, "wb"), env=environment)
        self.log = open(self.log_path, errors="replace")
        self.reported, self.most_rss, self.lock = [], 0, threading.Lock()
        text = self.until(lambda text: re.search(r"\bready\b", text))
        self.address = re.search(r"listening address=http://([^:\s]+):(\d+)", text).groups()
        self.start_rss = self.rss()

    def until(self, found):
        text = ""
        for _ in range(6000):
            text += self.log.read()
            if found(text): return text
            if self.process.poll() is not None: break
            time.sleep(0.02)
        raise SystemExit("the server does not start:\n" + text)

    def rss(self):
        try:
            mib = int(pathlib.Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
        except (OSError, IndexError):
            return 0
        self.most_rss = max(self.most_rss, mib)
        return mib

    def check(self, bound):
        """Raises what is wrong with the server itself."""
        with self.lock:
            for line in self.log.read().splitlines():
                if REPORTS.search(line): self.reported.append(line)
            if self.reported: raise Finding("the server's log: " + self.reported.pop(0)[:500])
        if self.process.poll() is not None: raise Finding(f"the server is gone, status {self.process.returncode}")
        if self.rss() > bound: raise Finding(f"{self.rss():.0f} MiB resident, more than {bound:.0f}")

    def connect(self):
        return socket.create_connection((self.address[0], int(self.address[1])), timeout=10)

    def busy(self):
        with self.connect() as c:
            c.sendall(b"GET /slots HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            return sum(slot["is_processing"] for slot in json.loads(receive(c, 10).split(b"\r\n\r\n", 1)[1]))

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise Finding("does not end within a minute of SIGTERM")


def receive(connection, seconds):
    """Everything until the server closes, or the time is up."""
    out, end = b"", time.monotonic() + seconds
    while True:
        left = end - time.monotonic()
        if left <= 0: raise TimeoutError
        connection.settimeout(left)
        try:
            piece = connection.recv(1 << 20)
        except ConnectionResetError:
            return out
        if not piece: return out
        out += piece


def answers(data):
    """(status, headers, body) of each answer in what came; the last may be cut off, then its body is None."""
    out = []
    while data:
        head, found, rest = data.partition(b"\r\n\r\n")
        match = re.match(rb"HTTP/1\.[01] (\d{3})[^\r\n]*(?:\r\n|$)", head)
        if not match: raise Finding(f"not an answer: {data[:80]!r}")
        if not found: return out + [(int(match[1]), {}, None)]
        headers = {k.strip().lower(): v.strip() for k, _, v in (line.partition(b":") for line in head.split(b"\r\n")[1:])}
        status = int(match[1])
        if status == 100:
            data = rest
            continue
        if headers.get(b"transfer-encoding") == b"chunked":
            body, rest = dechunk(rest)
        elif b"content-length" in headers:
            size = int(headers[b"content-length"])
            body, rest = (rest[:size], rest[size:]) if len(rest) >= size else (None, b"")
        else:
            body, rest = rest, b""
        out.append((status, headers, body))
        data = rest
    return out


def dechunk(data):
    body = b""
    while True:
        line, found, rest = data.partition(b"\r\n")
        if not found: return None, b""
        size = int(line, 16)
        if size == 0: return body, rest[2:]
        if len(rest) < size + 2: return None, b""
        body += rest[:size]
        data = rest[size + 2:]


def strict_json(text):
    def refuse(name): raise Finding(f"{name} in the answer")
    try:
        return json.loads(text.decode("utf-8"), parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise Finding(f"the answer is not JSON: {error}: {text[:200]!r}")


def check_error(value, status):
    error = value.get("error") if isinstance(value, dict) else None
    if not isinstance(error, dict): raise Finding(f"{status} without an error object: {value}")
    if status is not None and error.get("code") != status: raise Finding(f"code {error.get('code')} in an answer of {status}")
    if not isinstance(error.get("message"), str) or not error["message"] or not isinstance(error.get("type"), str): raise Finding(f"error of another shape: {error}")
    if len(error["message"]) > 4000: raise Finding(f"a message of {len(error['message'])} characters")
    if error.get("code") == 500: raise Finding(f"500: {error['message']}")


def check_answer(status, headers, body, half_closed=False):
    # Whoever closes his half of the connection is taken to have left.
    if status not in STATUSES and not (status == 499 and half_closed): raise Finding(f"status {status}: {(body or b'')[:300]!r}")
    if body is None: return
    kind = headers.get(b"content-type", b"")
    if status != 200 and (body or status != 405): return check_error(strict_json(body), status)
    if kind.startswith(b"text/event-stream"):
        for block in body.split(b"\n\n"):
            for line in block.split(b"\n"):
                if not line.startswith(b"data: ") or line == b"data: [DONE]": continue
                value = strict_json(line[6:])
                if isinstance(value, dict) and "error" in value and value["error"] is not None: check_error(value, None)
    elif kind.startswith(b"application/json"):
        strict_json(body)


def exchange(server, pieces, hang_up, seconds):
    """Sends the pieces and gives what came back; b"" where the client left first."""
    with server.connect() as c:
        try:
            for i, piece in enumerate(pieces):
                if i: time.sleep(0.002)
                c.settimeout(seconds)
                c.sendall(piece)
            if hang_up: c.shutdown(socket.SHUT_WR)
        except (BrokenPipeError, ConnectionResetError):
            pass
        return receive(c, seconds)


class Case:
    def __init__(self, seed, number):
        self.rng = rng = random.Random(f"{seed}/{number}")
        all_seeds = seeds.seeds()
        method, path, body = rng.choice(all_seeds)
        self.what = f"{method} {path}"
        if rng.random() < 0.25:
            self.pieces, self.hang_up, self.strict = *mutate.wire(rng, method, path, body), False
        else:
            path = mutate.path_of(rng, path)
            data = mutate.whole_body(rng, body)
            self.pieces, self.hang_up, self.strict = [mutate.request_bytes(method, path, data, [b"Connection: close"])], False, True
        self.statuses = []
        # A client that goes away in the middle of the answer.
        self.impatient = rng.random() < 0.03

    def run(self, server, options):
        start = time.monotonic()
        if self.impatient:
            with server.connect() as c:
                try:
                    c.sendall(b"".join(self.pieces))
                    c.settimeout(self.rng.random() * 0.05 + 0.001)
                    c.recv(100)
                except OSError:
                    pass
            return 0
        try:
            data = exchange(server, self.pieces, self.hang_up, options.seconds if self.strict else 1.5)
        except TimeoutError:
            # Half a request may be waited for; a whole one is answered.
            if self.strict: raise Finding(f"no whole answer within {options.seconds} s")
            return 0
        took = time.monotonic() - start
        if self.strict and not data: raise Finding("no answer")
        if not data: return took
        if self.pieces and self.pieces[0].startswith(b"HEAD "):
            for status, _, _ in answers(data.split(b"\r\n\r\n")[0] + b"\r\nContent-Length: 0\r\n\r\n"): check_answer(status, {}, None)
            return took
        if b"HEAD " in self.pieces[0] or b"Range" in self.pieces[0]: return took
        for status, headers, body in answers(data):
            self.statuses.append(status)
            if self.strict and body is None: raise Finding(f"the answer is cut off: {data[-100:]!r}")
            check_answer(status, headers, body, self.hang_up)
        return took


def run_case(server, options, number, tally):
    if tally["over"]: return
    case = Case(options.seed, number)
    try:
        took = case.run(server, options)
        server.check(options.memory)
    except Exception as finding:   # a fault of the fuzzer itself must not end the run
        with server.lock:
            tally["findings"].append(f"case {number} ({case.what}): {finding or type(finding).__name__}")
            print(tally["findings"][-1], flush=True)
            tally["over"] = server.process.poll() is not None or len(tally["findings"]) > 50
            if options.keep:
                pathlib.Path(options.keep).mkdir(parents=True, exist_ok=True)
                (pathlib.Path(options.keep) / f"{options.seed}-{number}.bin").write_bytes(b"".join(case.pieces))
        return
    with server.lock:
        tally["done"] += 1
        for status in case.statuses: tally["statuses"][status] = tally["statuses"].get(status, 0) + 1
        if took > tally["slowest"][0]: tally["slowest"] = (took, number, case.what)
        if tally["done"] % 500 == 0: print(f"{tally['done']} done, {server.most_rss:.0f} MiB at most, slowest {tally['slowest']}", flush=True)


def finish(server, options, tally):
    """The slots are free again soon, and the server ends in order."""
    try:
        for _ in range(600):
            if server.busy() == 0: break
            time.sleep(0.1)
        else: raise Finding("slots are still busy a minute after the last request")
        server.check(options.memory)
        status = server.stop()
        if status != 0: raise Finding(f"ends with status {status}")
        rest = server.log.read()
        if REPORTS.search(rest): raise Finding("at its end: " + REPORTS.search(rest)[0])
    except (Finding, OSError) as finding:
        tally["findings"].append(str(finding))
        print(finding)
        if server.process.poll() is None: server.process.kill()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("build", help="build folder")
    parser.add_argument("--server", default="bin/veloce-serve", help="program below it")
    parser.add_argument("--model", help="a small GGUF file (default: one of tests/golden)")
    parser.add_argument("--flag", action="append", default=[], help="further argument of the server")
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--only", type=int, help="run this case alone")
    parser.add_argument("--jobs", type=int, default=4, help="clients at a time")
    parser.add_argument("--seconds", type=float, default=60, help="longest time of an answer")
    parser.add_argument("--memory", type=float, default=400, help="MiB of resident memory that the server may come to")
    parser.add_argument("--keep", help="folder for the bytes of requests that found something")
    options = parser.parse_args()
    server = Server(options)
    tally = {"done": 0, "slowest": (0, 0, ""), "statuses": {}, "findings": [], "over": False}
    numbers = [options.only] if options.only is not None else range(options.first, options.first + options.runs)
    start = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for future in [pool.submit(run_case, server, options, n, tally) for n in numbers]:
            future.result()
    if server.process.poll() is None: finish(server, options, tally)
    server.folder.cleanup() if not tally["findings"] else print(server.log_path.read_text(errors="replace")[-6000:])
    print(f"{tally['done']} requests in {time.monotonic() - start:.0f} s, {len(tally['findings'])} findings, resident {server.start_rss:.0f} MiB at the start, {server.most_rss:.0f} at most; "
          f"slowest {tally['slowest'][0]:.1f} s (case {tally['slowest'][1]}, {tally['slowest'][2]}); answers {dict(sorted(tally['statuses'].items()))}")
    return 1 if tally["findings"] else 0


if __name__ == "__main__":
    sys.exit(main())
