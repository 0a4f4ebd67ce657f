"""TLS: a certificate of our own, the official client over it, and what must not work."""
import json, ssl, subprocess, urllib.error, urllib.request
import openai, pytest
from conftest import BUILD, chat_body, fake


# The client's own name for its HTTP library, which differs between its versions.
Http = getattr(openai, "DefaultHttpx2Client", openai.DefaultHttpxClient)


def certificate(folder, name):
    key, cert = str(folder / f"{name}.key"), str(folder / f"{name}.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-keyout", key, "-out", cert,
                    "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
    return key, cert


def test_tls(tmp_path):
    key, cert = certificate(tmp_path, "server")
    _, other = certificate(tmp_path, "other")
    s = fake("--ssl-key-file", key, "--ssl-cert-file", cert, "--api-key", "right", wait=False)
    try:
        assert s.url.startswith("https://")
        trusting = ssl.create_default_context(cafile=cert)
        ask = lambda path, context, **more: urllib.request.urlopen(urllib.request.Request(s.url + path, **more), context=context, timeout=30)
        assert s.until(lambda: loaded(s.url, trusting))
        client = openai.OpenAI(base_url=s.url + "/v1", api_key="right", http_client=Http(verify=trusting), max_retries=0)
        messages = [{"role": "user", "content": "Hi"}]
        answer = client.chat.completions.create(model="x", messages=messages, max_tokens=5, temperature=0)
        assert answer.usage.completion_tokens == 5
        chunks = list(client.chat.completions.create(model="x", messages=messages, max_tokens=5, temperature=0, stream=True))
        assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices).strip() == answer.choices[0].message.content.strip()
        # a wrong or missing API key, a certificate that is not trusted, plain HTTP, an old protocol
        with pytest.raises(openai.AuthenticationError):
            openai.OpenAI(base_url=s.url + "/v1", api_key="wrong", http_client=Http(verify=trusting), max_retries=0).chat.completions.create(model="x", messages=messages)
        with pytest.raises(urllib.error.URLError, match="CERTIFICATE_VERIFY_FAILED"): ask("/health", ssl.create_default_context(cafile=other))
        with pytest.raises(Exception): urllib.request.urlopen(s.url.replace("https", "http") + "/health", timeout=10)
        old = ssl.create_default_context(cafile=cert)
        old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1
        with pytest.raises(urllib.error.URLError): ask("/health", old)
        assert ask("/health", trusting).status == 200
    finally:
        assert s.stop() == 0


def loaded(url, context):
    try:
        return urllib.request.urlopen(url + "/health", context=context, timeout=5).status == 200
    except urllib.error.HTTPError:
        return False


def test_bad_certificates_are_named(tmp_path):
    key, cert = certificate(tmp_path, "server")
    other_key, _ = certificate(tmp_path, "other")
    program = BUILD + "/tests/veloce-serve-fake"
    for flags, word in ((["--ssl-key-file", key], "--ssl-cert-file"), (["--ssl-cert-file", cert], "--ssl-key-file"),
                        (["--ssl-key-file", other_key, "--ssl-cert-file", cert], "key"), (["--ssl-key-file", cert, "--ssl-cert-file", key], key),
                        (["--ssl-key-file", str(tmp_path / "none"), "--ssl-cert-file", cert], "none")):
        done = subprocess.run([program, "-m", "x.gguf", "--port", "0", *flags], capture_output=True, text=True, timeout=30)
        assert done.returncode == 1 and word in done.stderr + done.stdout, (flags, done.stderr)
