"""Files by starting a workflow, without the HTTP API. Python 3.10, `pip install temporalio cryptography`."""
import asyncio, base64, hashlib, json, os, pathlib, sys, time, urllib.parse
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from temporalio.api.common.v1 import Payload
from temporalio.client import Client
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.converter import DataConverter, DefaultFailureConverterWithEncodedAttributes, PayloadCodec
from temporalio.exceptions import WorkflowAlreadyStartedError

MODE, EXPORTER = "test", "accounts@kaveri.example"
QUEUE = os.environ.get("EBRC_TASK_QUEUE", "ebrc")
REF = os.environ.get("REF", f"PYT-{int(time.time())}")


class Codec(PayloadCodec):
    """Of what `ebrc keys payload` prints, the current key first; without keys plain text. docs/callers.md has the format."""

    def __init__(self, keys):
        pairs = [key.strip().split(":", 1) for key in keys.split(",") if key.strip()]
        self.keys = {name: AESGCM(base64.b64decode(key)) for name, key in pairs}
        self.current = next(iter(self.keys), None)

    async def encode(self, payloads):
        return [self.encrypted(payload) for payload in payloads] if self.keys else list(payloads)

    async def decode(self, payloads):
        return [self.decrypted(payload) for payload in payloads]

    def encrypted(self, payload):
        nonce = os.urandom(12)
        data = self.keys[self.current].encrypt(nonce, payload.SerializeToString(), b"temporal payload")
        metadata = {"encoding": b"binary/encrypted", "encryption-key-id": self.current.encode()}
        return Payload(metadata=metadata, data=nonce + data)

    def decrypted(self, payload):
        if payload.metadata.get("encoding") != b"binary/encrypted":
            return payload
        name = payload.metadata["encryption-key-id"].decode()
        if name not in self.keys:
            raise RuntimeError(f"EBRC_PAYLOAD_KEY lacks the key {name}: take what `ebrc keys payload` prints.")
        return Payload.FromString(self.keys[name].decrypt(payload.data[:12], payload.data[12:], b"temporal payload"))


async def connected():
    codec = Codec(os.environ.get("EBRC_PAYLOAD_KEY", ""))
    print("payloads", "encrypted" if codec.keys else "in plain text")
    converter = DataConverter(payload_codec=codec, failure_converter_class=DefaultFailureConverterWithEncodedAttributes)
    return await Client.connect(os.environ.get("TEMPORAL_ADDRESS", "127.0.0.1:7233"),
                                namespace=os.environ.get("TEMPORAL_NAMESPACE", "default"), data_converter=converter)


async def exporter_id(client):
    """Of an exporter that was onboarded, by its e-mail."""
    digest = hashlib.sha256(EXPORTER.strip().lower().encode()).hexdigest()[:32]
    return (await client.get_workflow_handle(f"onboard/{MODE}/{digest}").query("exporter"))["exporterId"]


def message(document):
    """The push message of this folder, with a document of its own."""
    given = json.loads(pathlib.Path(__file__).with_name("push-message.json").read_text())
    [row] = given["ebrcBulkGenDtos"]
    row.update(sbCumInvoiceNumber=document, billNo=document, mappedIRMAmountFCC=10)
    return given


async def filed(client, exporter, document):
    """What stands under the reference: the start may be repeated, nothing is filed twice."""
    workflow = f"file/{MODE}/{urllib.parse.quote(REF, '')}"
    given = {"mode": MODE, "exporterId": exporter, "reference": REF, "message": message(document), "madeBy": "books"}
    try:
        run = await client.start_workflow(
            "fileRemittances", given, id=workflow, task_queue=QUEUE,
            id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE, id_conflict_policy=WorkflowIDConflictPolicy.FAIL)
    except WorkflowAlreadyStartedError:
        run = client.get_workflow_handle(workflow)  # it is running: this one waits for its end too
        print("under way", (await run.query("filing"))["state"])
    return await run.result()


async def main():
    client = await connected()
    exporter = await exporter_id(client)
    first, second = await asyncio.gather(*[filed(client, exporter, f"{REF}-A") for _ in range(2)])
    print("ended", first["state"], first["filingId"], [row["eBRCNumber"] for row in first["rows"]])
    again = await filed(client, exporter, f"{REF}-A")
    same = first["requestId"] == second["requestId"] == again["requestId"] and first["filingId"] == again["filingId"]
    print("again", again["state"], "filed once" if same else "FILED TWICE", again["requestId"])
    other = await filed(client, exporter, f"{REF}-B")
    print("other content", other["state"], [error["code"] for error in other["errors"]], other["recorded"]["filingId"])


if __name__ == "__main__":
    asyncio.run(main())
    sys.stdout.flush()
    os._exit(0)  # temporalio's threads can abort Python on its way out (temporalio/sdk-python issue 300)
