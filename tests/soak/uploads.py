"""Uploads that lie: contents and packs under wrong digests, cut packs, and bombs over HTTP and gRPC."""

import gzip
from collections import Counter
from collections.abc import Iterator

import grpc
import httpx
import psutil
import zstandard

from playhead.model.canonical import Content
from playhead.model.ref import ContentRef
from playhead.wire.pack import PACK, Pack, encode_pack
from playhead_collector.process import CollectorProcess
from tests.soak.conditions import Conditions
from tests.support.bar import Row, at_least, at_most
from tests.support.made_up_runs import PROTOBUF

_UPLOADS = 20_000
_BOMB_BYTES = 1 << 30
_EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"


def measure(conditions: Conditions) -> Iterator[Row]:
    """Wrong uploads that were taken, answers of 500, and memory."""
    random, count = conditions.random(), conditions.count(_UPLOADS)
    statuses: Counter[int] = Counter()
    stored: list[ContentRef] = []
    with CollectorProcess() as collector, httpx.Client(base_url=collector.url, timeout=60, trust_env=False) as http:
        for number in range(count):
            data = random.randbytes(random.randrange(1, 2_000))
            content = Content(data, "application/octet-stream")
            pack = bytearray(encode_pack(Pack((content,), ())))
            kind = number % 3
            if kind == 0:  # another digest than that of its bytes
                pack[-1] ^= 0xFF
            elif kind == 1:  # cut
                del pack[random.randrange(1, len(pack)) :]
            else:  # any byte
                pack[random.randrange(len(pack))] ^= 1 << random.randrange(8)
            answer = http.post("/v1/content", content=bytes(pack), headers={"content-type": PACK})
            statuses[answer.status_code] += 1
            if answer.status_code == 200:
                stored.append(content.ref)
        wrong = sum(_is_wrong(http, ref) for ref in stored)
        bombs = _bombs(http, collector)
        peak = psutil.Process(collector.pid).memory_info().rss
    against = ", ".join(f"{status}: {times:,}" for status, times in statuses.most_common())
    yield at_least("uploads", "wrong uploads", statuses.total(), count, unit="", against=against)
    yield at_most("uploads", "answered with 500", statuses[500], 0, unit="", against="")
    yield at_most("uploads", "stored under a ref that is not theirs", wrong, 0, unit="", against=f"{len(stored)} taken")
    yield at_most("uploads", "bombs that were taken or failed inside", bombs.pop("bad"), 0, unit="", against=str(bombs))
    yield at_most("uploads", "memory at the end", peak / 1e6, 600, unit="MB", against="")


def _is_wrong(http: httpx.Client, ref: ContentRef) -> bool:
    """Whether the bytes stored under a ref do not have its digest. (Not stored is right, too.)"""
    answer = http.get(f"/api/v1/content/{ref}")
    return answer.status_code == 200 and ContentRef.of(answer.content) != ref


def _bombs(http: httpx.Client, collector: CollectorProcess) -> dict[str, int]:
    """A gibibyte of zeros in little: gzip and zstd over HTTP, gzip over gRPC. Counts of answers; `bad`: wrong ones."""
    zeros = b"\0" * _BOMB_BYTES
    packed = {"gzip": gzip.compress(zeros, 9), "zstd": zstandard.compress(zeros, 19)}
    counts: Counter[str] = Counter(bad=0)
    for encoding, body in packed.items():
        for path, kind in (("/v1/traces", PROTOBUF), ("/v1/content", PACK)):
            answer = http.post(path, content=body, headers={"content-type": kind, "content-encoding": encoding})
            counts[f"{path} {encoding} {answer.status_code}"] += 1
            counts["bad"] += answer.status_code not in (400, 413)
    target = (collector.grpc_url or "").partition("//")[2]
    options = [("grpc.max_send_message_length", -1)]
    with grpc.insecure_channel(target, options=options, compression=grpc.Compression.Gzip) as channel:
        call = channel.unary_unary(_EXPORT)
        try:
            call(zeros[: 256 * 1024 * 1024], timeout=60)
            counts["bad"] += 1
        except grpc.RpcError as error:
            code = error.code()
            counts[f"gRPC {code.name}"] += 1
            counts["bad"] += code in (grpc.StatusCode.UNKNOWN, grpc.StatusCode.INTERNAL)
    return dict(counts)
