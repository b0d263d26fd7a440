"""Files in which records are moved between collectors, and exports of other tools. Pure: values and bytes, no files, no
network.

records     spans and log records from a file, and the requests that send them to a collector
documents   JSON documents in a stream of bytes, and the format of a file
protobuf    OTLP requests in protobuf in a stream
rows        values in rows of other tools
phoenix     rows of Phoenix → spans
langfuse    rows of Langfuse → spans

The files of our own export are described in `playhead.wire.export_layout`.
"""
