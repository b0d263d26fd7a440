"""Files that records move in, between collectors and from other tools.  Pure: values and bytes, no files, no network.

layout      the files of our own export, its manifest, and lines of its files
records     spans and log records on their way from a file to a collector
documents   JSON documents in a stream of bytes     protobuf  OTLP requests in protobuf in one
detect      which format a file has                 rows      values in rows of other tools
phoenix     rows of Phoenix → spans                 langfuse  rows of Langfuse → spans
"""
