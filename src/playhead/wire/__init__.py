"""What the SDK and the collector exchange over HTTP and in exported files.

operations     answer types of the query API        pack           the body of a content upload
otlp_json      spans and log events as OTLP's JSON  export_layout  the files of an export
loopback       which URLs mean this machine
delays         how long to wait before something is tried again, and `Retry-After`
retries        what a sender raises, waits with and reports when requests fail
"""
