"""From an OpenAI-compatible server, through a file, to a choice and its scores."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

import dragoman as dm

openai = pytest.importorskip("openai")

ANSWERS = {
    "le chat dort": ["the cat sleeps", "a cat sleeps", "dogs", "the cat sleeps"],
    "un chien court": ["a dog runs", "the dog runs", "a dog ran"],
}
REFERENCES = ["the cat sleeps", "a dog runs"]


class Server(BaseHTTPRequestHandler):
    """Answers chats and completions as the types of the official client describe them."""

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        chat = self.path.endswith("/chat/completions")
        texts = ANSWERS[asked["messages"][-1]["content"] if chat else asked["prompt"]][: asked["n"]]
        body = {
            "id": "x",
            "created": 1,
            "model": asked["model"],
            "object": "chat.completion" if chat else "text_completion",
        }
        body["choices"] = [self._choice(i, text, chat) for i, text in enumerate(texts)]
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    @staticmethod
    def _choice(index, text, chat):
        words = text.split()
        if chat:
            tokens = [{"token": word, "logprob": -0.5, "bytes": None, "top_logprobs": []} for word in words]
            logprobs = {"content": tokens, "refusal": None}
            own = {"message": {"role": "assistant", "content": text, "refusal": None}, "logprobs": logprobs}
        else:
            own = {"text": text, "logprobs": {"tokens": words, "token_logprobs": [-0.5] * len(words)}}
        return {"index": index, "finish_reason": "stop", **own}

    def log_message(self, *_):
        pass


@pytest.fixture
def client():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield openai.OpenAI(base_url=f"http://127.0.0.1:{server.server_port}/v1", api_key="none")
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("chat", [True, False])
def test_samples_of_a_server(client, tmp_path, chat):
    path = tmp_path / "samples.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for source in ANSWERS:
            if chat:
                messages = [{"role": "user", "content": source}]
                found = client.chat.completions.create(model="m", messages=messages, n=4, logprobs=True)
            else:
                found = client.completions.create(model="m", prompt=source, n=4, logprobs=0)
            print(found.model_dump_json(), file=file)
    chosen = dm.mbr(path, utility="chrf", weights_from="uniform")
    assert chosen == REFERENCES
    assert dm.score(chosen.texts, REFERENCES, "chrf").value == 100
    by_length = dm.rerank(path, {"logprob": 1.0})  # each word costs as much
    assert by_length == ["dogs", "a dog runs"]
