"""The webhook receiver without frappe: a WSGI program that keeps the books as files, a folder for each payment."""
import json
import os
import pathlib
import threading
from contextlib import contextmanager
from wsgiref.simple_server import make_server

from ebrc import connector

MAX_BYTES = 1_000_000
REASONS = {200: "200 OK", 401: "401 Unauthorized", 413: "413 Content Too Large", 503: "503 Service Unavailable"}


class Books:
    def __init__(self, folder, prefix=""):
        self.folder, self.prefix, self.lock = pathlib.Path(folder), prefix, threading.Lock()

    def of(self, reference, name):
        folder = self.folder / f"payment {connector.quoted(reference)}"
        folder.mkdir(parents=True, exist_ok=True)
        return folder / name

    def knows(self, reference):
        return reference.startswith(self.prefix)

    @contextmanager
    def locked(self, reference):
        with self.lock:
            yield

    def has_pdf(self, reference, number):
        return self.of(reference, f"{connector.quoted(number)}.pdf").exists()

    def attach(self, reference, number, pdf):
        part = self.of(reference, "part")
        part.write_bytes(pdf)
        part.replace(self.of(reference, f"{connector.quoted(number)}.pdf"))

    def attention(self, reference):
        shown = self.of(reference, "shown.json")
        return json.loads(shown.read_text())["attention"] if shown.exists() else ""

    def comment(self, reference, text):
        with self.of(reference, "comments.txt").open("a") as comments:
            comments.write(f"{text}\n")

    def show(self, reference, state, numbers, attention):
        shown = {"state": state, "numbers": numbers, "attention": attention}
        self.of(reference, "shown.json").write_text(json.dumps(shown, indent=2))


def application(api, books, secrets):
    def answer(environ, start_response):
        length = int(environ.get("CONTENT_LENGTH") or 0)
        status, text = 413, "Too large."
        if 0 <= length <= MAX_BYTES:
            body = environ["wsgi.input"].read(length)
            headers = {key[5:].lower().replace("_", "-"): value for key, value in environ.items() if key.startswith("HTTP_")}
            status, text = connector.receive(api, books, secrets, headers, body)
        start_response(REASONS[status], [("Content-Type", "text/plain; charset=utf-8")])
        return [text.encode()]

    return answer


if __name__ == "__main__":
    own = connector.Api(os.environ["EBRC"], os.environ["TOKEN"])
    kept = Books(os.environ.get("FOLDER", "books"), os.environ.get("PREFIX", ""))
    port = int(os.environ.get("PORT", "8099"))
    print(f"http://127.0.0.1:{port}/")
    make_server("127.0.0.1", port, application(own, kept, os.environ["WEBHOOK_SECRETS"].split())).serve_forever()
