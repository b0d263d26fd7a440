"""[receive]: OTLP requests as they travel, JSON or protobuf → spans and log events; and OTLP's replies.  Pure."""
