"""Puts a job in over HTTP and waits for its end. Needs nothing but Python."""

import json
import os
import random
import time
import urllib.error
import urllib.request
import uuid

URL = os.environ.get("MILLRACE_URL", "http://127.0.0.1:3000")
HEADERS = {"content-type": "application/json"}
if token := os.environ.get("MILLRACE_TOKEN"):
    HEADERS["authorization"] = f"Bearer {token}"


def enqueue(kind, payload, **options):
    """One key for all tries: whatever of them came through, the answer is the same job."""
    key = options.pop("idempotency_key", str(uuid.uuid4()))
    return call("POST", "/jobs", {"kind": kind, "payload": payload, **options}, {"idempotency-key": key})


def wait_for(job_id):
    """Each request is held for up to 20 seconds, and answered when the job ends."""
    while True:
        job = call("GET", f"/jobs/{job_id}?wait=20")
        if job["status"] in ("completed", "dead", "cancelled"):
            return job
        time.sleep(1)


def call(method, path, body=None, headers={}, tries=6):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(URL + path, data, HEADERS | headers, method=method)
    for n in range(1, tries + 1):
        pause = random.uniform(0, 0.2 * 2**n)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            later = error.headers.get("retry-after")
            if n == tries or not (later or error.code in (429, 502, 503, 504)):
                raise RuntimeError(f"{error.code}: {error.read().decode()}") from None
            pause += float(later or 0)
        except OSError:
            if n == tries:
                raise
        time.sleep(pause)


job = enqueue("hello.greet", {"name": "Ada"}, subject="customer:7")
print(job["id"], wait_for(job["id"])["status"])
